"""True claims that one transcript seemed to refute: where a transcript hides values, and where digits are lost."""

import math

import numpy as np
import pytest
from scipy import stats

from dpverify.claims.claim import ApproxDP, PureDP, ZCDP
from dpverify.claims.neighbours import Pair
from dpverify.tape.tracer import STATEFUL, trace

PAIR = Pair(1.0, 0.0)
WIDTH = 5.0


def redrawn(data, *, rng, size):
    """Out of range (0.8 %), a public uniform takes its place: there the output hides the noise."""
    noisy = float(data + rng.laplace())
    return np.array([noisy if -WIDTH < noisy < WIDTH else float(rng.uniform(-WIDTH, WIDTH))])


def eps_of_redrawn() -> float:
    """The largest log ratio of densities: f(v) and the mass outside, spread over the range."""
    out = [stats.laplace(mean).cdf(-WIDTH) + stats.laplace(mean).sf(WIDTH) for mean in (1, 0)]
    grid = np.linspace(-WIDTH, WIDTH, 100_001)
    one, two = (stats.laplace(mean).pdf(grid) + mass / (2 * WIDTH) for mean, mass in zip((1, 0), out, strict=True))
    return float(np.abs(np.log(one / two)).max())


@pytest.mark.parametrize("seed", range(2))
def test_a_rare_branch_that_hides_the_noise(seed: int) -> None:
    """The true eps is 0.9984; a transcript that is shown has 1, of which the branch takes some."""
    eps = eps_of_redrawn()
    assert 0.998 < eps < 0.9985
    found = trace(redrawn, pair=PAIR, claim=PureDP(eps + 1e-6), transcripts=10, seed=seed)
    assert found.status != "CONTRADICTED"
    assert found.witness is None


def rough(data, *, rng, size):
    """The sum of 0.3 and noise, twice: the second time by rounding errors of its own; exact beyond 300 (5e-14)."""
    noisy = np.asarray(data + rng.laplace(0.0, 10.0, size))
    return np.stack([noisy, np.where(np.abs(noisy) > 300.0, data, (noisy * data) / data)])


def test_roundings_are_not_counted_as_outputs_that_differ() -> None:
    """In ideal reals the leak has probability 1e-13: the claim is true, and rounding is another matter."""
    found = trace(rough, pair=Pair(0.3, 1.3), claim=ApproxDP(0.2, 1e-3), transcripts=40, seed=0)
    assert found.rounding == "reals"
    assert found.status == "NOT_TRACED"


def hidden(data, *, rng, size):
    """Mostly shown; where a digit says so (2 %), a noisy sign of a sum; beyond 200 (4e-9) the exact value."""
    noisy = float(data + rng.laplace(0.0, 10.0))
    if abs(noisy) > 200.0:
        return np.array([noisy, data])
    if math.sin(1000 * noisy) > 0.998:
        return np.array([0.0, np.sign(float(data + rng.laplace(0.0, 10.0)) + float(rng.laplace(0.0, 10.0)))])
    return np.array([noisy, 0.0])


@pytest.mark.parametrize("seed", [0, 2])
def test_outputs_that_differ_and_hide_are_not_counted(seed: int) -> None:
    """Signs of sums may differ and are private: only what the output shows is evidence."""
    found = trace(hidden, pair=PAIR, claim=ApproxDP(0.5, 1e-3), transcripts=30, seed=seed)
    assert found.status != "CONTRADICTED"
    assert found.witness is None


@pytest.mark.parametrize(("base", "scale"), [(1e6 + 0.1, 10.0), (1e9 + 0.3, 10.0), (1e12, 7.0), (0.1, 1e6)])
def test_lost_digits_refute_nothing(base: float, scale: float) -> None:
    """A count of 1e9 and noise of scale 10: z has nine digits, and log ratios above the true eps are rounding."""
    pair = Pair(base, base + 1.0)

    def counted(data, *, rng, size):
        return data + rng.laplace(0.0, scale, size)

    true = trace(counted, pair=pair, claim=PureDP(1 / scale), transcripts=10)
    assert true.status == "DERIVED", true.reasons
    false = trace(counted, pair=pair, claim=PureDP(0.98 / scale), transcripts=10)
    assert false.status == "CONTRADICTED"
    assert 0.98 / scale < false.witness.log_ratio <= 1 / scale


@pytest.mark.parametrize("claim", [PureDP(5.0), ZCDP(5.0), ApproxDP(5.0, 1e-3)], ids=lambda claim: claim.notion)
def test_a_release_without_any_value_shows_all_of_them(claim) -> None:
    """F4 with the empty transcript: what is released is a function of the data, and differs."""

    def bare(data, *, rng, size):
        rng.laplace(0.0, 1.0, size)  # drawn, and used nowhere
        return np.full(size, data)

    found = trace(bare, pair=PAIR, claim=claim, transcripts=10)
    assert found.status == "CONTRADICTED"
    assert found.witness.log_ratio == math.inf


@pytest.mark.parametrize("shared", [True, False])
def test_noise_that_cells_share_falls_where_the_cells_show_it(shared: bool) -> None:
    """Under the first rule the shared noise is a public coin, which nothing shows; in a tracked array cells show it."""

    def cells(data, *, rng, size):
        found = np.zeros((size, 2))
        noise = rng.laplace(0.0, 1.0, size)
        found[:, 0] += noise
        found[:, 1] += noise
        found += np.array([1.0, 2.0]) * data
        return found

    def apart(data, *, rng, size):
        found = np.zeros((size, 2))
        found[:, 0] += rng.laplace(0.0, 1.0, size)
        found[:, 1] += rng.laplace(0.0, 1.0, size)
        found += np.array([1.0, 2.0]) * data
        return found

    found = trace(cells if shared else apart, pair=PAIR, claim=PureDP(3.0), transcripts=10)
    assert found.alignment == "tracked"
    assert found.status == ("CONTRADICTED" if shared else "DERIVED"), found.reasons


class Own:
    """Private: the noise of the first cell is fresh, from a generator of the target's own. Copies of it repeat it."""

    def __init__(self, make, *, beside: bool) -> None:
        self.own, self.beside = make(), beside

    def release(self, data, *, rng, size):
        first = np.array([data + self.own.normal() for _ in range(size)])
        return np.stack([first, data + rng.laplace(0.0, 1.0, size)], axis=1) if self.beside else first


class Counting:
    """Noise from a state that is no generator's: a congruence, written by hand."""

    def __init__(self) -> None:
        self.state = 12345

    def normal(self) -> float:
        self.state = (1103515245 * self.state + 12345) % 2**31
        return math.log(self.state / 2**31)


@pytest.mark.parametrize("beside", [True, False])
@pytest.mark.parametrize(
    "make", [np.random.default_rng, np.random.RandomState, Counting], ids=lambda make: make.__name__
)
def test_noise_of_the_targets_own_refutes_nothing(make, beside: bool) -> None:
    found = trace(Own(make, beside=beside), pair=PAIR, claim=PureDP(3.0), transcripts=10)
    assert found.status == "NOT_TRACED", found.reasons
    assert found.witness is None
    assert STATEFUL in found.notes


def test_a_target_that_caches_is_refuted_all_the_same() -> None:
    class Caching:
        def release(self, data, *, rng, size):
            self.cached = 3.0
            return np.stack([np.full(size, data), rng.laplace(0.0, 1.0, size)], axis=1)

    assert trace(Caching(), pair=PAIR, claim=PureDP(3.0), transcripts=10).status == "CONTRADICTED"
