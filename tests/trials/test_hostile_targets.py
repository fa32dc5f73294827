"""Trials that are not independent draws, or not of the data that were handed out, give no bound: INVALID.

Every target here has marginals that meet the claim (or a leak that must not be hidden); what is wrong is how trials
hang together. Fixed seeds; the statistics exceed their thresholds by factors: power > 0.999.
"""

import numpy as np
import pytest

from dpverify import audit, certify, copied, loop_trials, Pair, PureDP
from dpverify.auditing.statuses import Status, Verdict

PAIR = Pair(0.0, 1.0)
TRIALS = 20_000


def arrays():
    return Pair(np.array([0.0, 1.0, 2.0]), np.array([1.0, 1.0, 2.0]))


class Alternates:
    """Data-independent: odd calls give ones, even calls zeros."""

    calls = 0

    def release(self, data, *, rng, size):
        self.calls += 1
        return np.full(size, self.calls % 2)


def one_draw(data, *, rng, size):
    return data + rng.laplace() + np.zeros(size)


def one_draw_and_more(data, *, rng, size):
    """A shared draw under fresh noise: half of the variance is common to a call."""
    return data + 0.5 * rng.laplace() + 0.5 * rng.laplace(size=size)


def own_seed(data, *, rng, size):
    return data + np.random.Generator(np.random.PCG64(7)).laplace(size=size)


class OwnGenerator:
    """A generator of its own, made once: equal streams differ."""

    def __init__(self):
        self.rng = np.random.Generator(np.random.PCG64(7))

    def release(self, data, *, rng, size):
        return data + self.rng.laplace(size=size)


def global_state(data, *, rng, size):
    return data + np.random.laplace(size=size)  # noqa: NPY002


def autoregressive(data, *, rng, size, rho=0.5):
    """Laplace marginals by the quantile transform of an AR(1) Gaussian."""
    from scipy import special

    z = rng.standard_normal(size)
    z[1:] *= np.sqrt(1 - rho**2)
    for i in range(1, size):
        z[i] += rho * z[i - 1]
    u = special.ndtr(z)
    return data - np.sign(u - 0.5) * np.log1p(-2 * np.abs(u - 0.5))


def antithetic(data, *, rng, size):
    half = rng.laplace(size=-(-size // 2))
    return data + np.concatenate([half, -half])[:size]


def sorted_noise(data, *, rng, size):
    return data + np.sort(rng.laplace(size=size))


class Shared:
    """Noise by a counter that starts anew for every dataset: both arms share it, equal streams agree once."""

    def release(self, data, *, rng, size):
        state = {"size": size, "high": rng.bit_generator.seed_seq.spawn_key[:2]}
        own = np.random.Generator(np.random.PCG64(hash((state["size"] // 10**6, state["high"])) % 2**32))
        return data + own.laplace(size=size)


class Batch:
    """Data-independent noise with a log ratio that looks at the company."""

    def release(self, data, *, rng, size):
        return rng.standard_normal(size)

    def log_ratio(self, outputs, pair):
        return outputs - outputs.mean()


class Sequence(Batch):
    """A log ratio that counts its rows."""

    def log_ratio(self, outputs, pair):
        return np.arange(len(outputs)) / len(outputs) - 0.5


def shifts_its_data(data, *, rng, size):
    data -= data.mean()
    return data[0] + rng.laplace(size=size)


def wipes_a_cell(data, *, rng, size):
    value = data[0]
    data[0] = 0.0
    return 7 * value + rng.laplace(size=size)


class Nested:
    """Data that are an object with an array in a list."""

    def __init__(self, value):
        self.rows = [np.array([value]), {"n": 1}]


def wipes_deep(data, *, rng, size):
    value = data.rows[0][0]
    data.rows[0][0] = 0.0
    return 7 * value + rng.laplace(size=size)


def masked(data, *, rng, size):
    return np.ma.array(rng.laplace(size=size), mask=np.full(size, data > 0))


class ChangesKind:
    def release(self, data, *, rng, size):
        return rng.integers(0, 3, size) if size % 2 else rng.integers(0, 3, size).astype(float)


def fails_in_company(data, *, rng, size):
    """Unfaithful: a vectorised call raises where single releases do not."""
    if size > 30:
        raise ValueError("too many at once")
    return data + rng.laplace(size=size)


DEPENDENT = {
    "alternates by call": (Alternates(), PAIR),
    "one draw a call": (one_draw, PAIR),
    "a shared draw a call": (one_draw_and_more, PAIR),
    "own fixed seed": (own_seed, PAIR),
    "own generator": (OwnGenerator(), PAIR),
    "global generator": (global_state, PAIR),
    "AR(1)": (autoregressive, PAIR),
    "antithetic": (antithetic, PAIR),
    "sorted": (sorted_noise, PAIR),
    "arms share noise": (Shared(), PAIR),
    "log_ratio of the batch": (Batch(), PAIR),
    "log_ratio of the row": (Sequence(), PAIR),
    "shifts its data": (shifts_its_data, arrays),
    "wipes a cell": (wipes_a_cell, arrays),
    "wipes a cell far down": (wipes_deep, lambda: Pair(Nested(0.0), Nested(1.0))),
    "masked": (masked, PAIR),
    "changes kind": (ChangesKind(), PAIR),
    "fails in company": (fails_in_company, PAIR),
}


# what is asked before trials are spent is asked once: of several that fall there, or by their ranks, one is sequential
SEQUENTIAL = ("AR(1)", "one draw a call", "log_ratio of the batch", "wipes a cell", "fails in company")


@pytest.mark.parametrize(
    ("name", "sequential"), [*((each, False) for each in DEPENDENT), *((each, True) for each in SEQUENTIAL)]
)
def test_dependent_trials_are_invalid(name, sequential):
    target, pair = DEPENDENT[name]
    pair = pair() if callable(pair) else pair  # data that a target changes are made anew
    trials = TRIALS // (2 if name == "AR(1)" else 5) if sequential else TRIALS
    record = audit(target, claim=PureDP(1.0), pair=pair, trials=trials, seed=5, sequential=sequential)
    assert record.verdict is Verdict.INVALID, record
    assert record.status is Status.INVALID
    assert record.invalid
    assert (record.eps_lower, record.number_lower, record.p_value, record.trials) == (0.0, 0.0, 1.0, 0)
    assert not record.as_expected


def test_a_certificate_of_dependent_trials_is_no_certificate():
    certificate = certify(autoregressive, claim=PureDP(1.0), pairs=PAIR, trials=TRIALS, seed=5)
    assert certificate.verdict is Verdict.INVALID
    assert certificate.exit_code == 3
    assert not certificate.certified
    assert any("not independent" in each for each in certificate.objections)


def test_a_reused_buffer_is_read_before_it_is_written_again():
    """True eps 4.6: outputs are copied at once, so the audit sees it. Certified at 0.05, power > 0.999."""

    class Buffer:
        out = np.empty(100_000)

        def release(self, data, *, rng, size):
            self.out[:size] = 4.6 * data + rng.laplace(size=size)
            return self.out[:size]

    record = audit(Buffer(), claim=PureDP(1.0), pair=PAIR, trials=TRIALS, seed=5)
    assert record.verdict is Verdict.REFUTED
    assert 3 < record.eps_lower <= 4.6


def test_a_copy_for_every_call_makes_a_target_that_changes_its_data_auditable():
    record = audit(copied(wipes_a_cell), claim=PureDP(1.0), pair=arrays(), trials=TRIALS, seed=5)
    assert record.verdict is Verdict.REFUTED

    def once(data, *, rng):
        value = data[0]
        data[0] = 0.0
        return value + rng.laplace()

    pair = arrays()
    record = audit(copied(loop_trials(once)), claim=PureDP(1.0), pair=pair, trials=4000, seed=5)
    assert record.verdict is Verdict.NOT_REFUTED
    assert pair.second[0] == 1.0


def test_operating_system_randomness_is_allowed_where_the_target_says_so():
    def secure(data, *, rng, size):
        own = np.random.Generator(np.random.PCG64())
        return data + own.laplace(size=size)

    refused = audit(secure, claim=PureDP(1.0), pair=PAIR, trials=TRIALS, seed=5)
    assert refused.verdict is Verdict.INVALID
    assert "reproducible = False" in refused.invalid
    secure.reproducible = False
    # true eps is 1, and these trials have no seed: at PureDP(1) every twentieth run may refute
    record = audit(secure, claim=PureDP(2.0), pair=PAIR, trials=TRIALS, seed=5)
    assert record.verdict is Verdict.NOT_REFUTED
    assert any("not reproducible" in note for note in record.notes)


class Lagged:
    """Data that cache what they computed: an attribute that was not there is no change of the data."""

    def __init__(self, value):
        self.value = np.array([value])

    @property
    def total(self):
        if not hasattr(self, "_total"):
            self._total = float(self.value.sum())
        return self._total


class Exact:
    def release(self, data, *, rng, size):
        return data + rng.laplace(size=size)

    def log_ratio(self, outputs, pair):
        return np.abs(outputs - pair.second) - np.abs(outputs - pair.first)


HONEST = {
    "constant": (lambda data, *, rng, size: np.zeros(size), PAIR),
    "ties": (lambda data, *, rng, size: rng.integers(0, 5, size), PAIR),
    "infinite": (lambda data, *, rng, size: np.where(rng.random(size) < 0.3, np.inf, rng.laplace(size=size)), PAIR),
    "not numbers": (lambda data, *, rng, size: np.where(rng.random(size) < 0.3, np.nan, 1.0), PAIR),
    "all NaN": (lambda data, *, rng, size: np.full(size, np.nan), PAIR),
    "huge constant beside noise": (
        lambda data, *, rng, size: np.stack([np.full(size, 1e12), rng.laplace(size=size)], axis=1),
        PAIR,
    ),
    "vector": (lambda data, *, rng, size: data + 20 * rng.laplace(size=(size, 20)), PAIR),
    "text": (lambda data, *, rng, size: np.where(rng.random(size) < 0.5, "yes", "perhaps"), PAIR),
    "loop": (loop_trials(lambda data, *, rng: data + rng.laplace()), PAIR),
    "exact": (Exact(), PAIR),
    "caches": (lambda data, *, rng, size: data.total + rng.laplace(size=size), lambda: Pair(Lagged(0.0), Lagged(1.0))),
    "empty output": (lambda data, *, rng, size: np.zeros((size, 0)), PAIR),
}


BETS = ("ties", "vector", "loop", "exact")  # one of each kind of output


@pytest.mark.parametrize(
    ("name", "sequential"), [*((each, False) for each in HONEST), *((each, True) for each in BETS)]
)
def test_honest_targets_are_not_called_invalid(name, sequential):
    target, pair = HONEST[name]
    record = audit(
        target,
        claim=PureDP(1.0),
        pair=pair() if callable(pair) else pair,
        trials=1000 if sequential else 3000,
        seed=11,
        sequential=sequential,
    )
    assert record.verdict in (Verdict.NOT_REFUTED, Verdict.INCONCLUSIVE), record
    assert not record.invalid
