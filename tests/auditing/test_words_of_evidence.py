"""Every word of evidence beside programs over which it must be said, and programs over which it must not.

The registry: words -> programs. A program is a release of one number d (0 or 1), or of a vector, with the ledger that
its author would declare for the claim. False claims are true ones with one thing wrong; true ones include those that
look wrong. Trials are few: what is tested is the word, not its power.
"""

import functools
import itertools
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from dpverify.auditing.certificate import certify
from dpverify.auditing.pipeline import audit
from dpverify.auditing.statuses import Status
from dpverify.auditing.subject import Subject
from dpverify.claims.claim import Claim, PureDP
from dpverify.claims.neighbours import Pair
from dpverify.ledger.events import KaryResponse, LaplaceNoise, Ledger, PureStep, Sensitivity, Shift
from dpverify.tape.tracer import trace

NUMBER, VECTOR = Pair(0.0, 1.0), Pair(np.array([0.0, 2.0]), np.array([1.0, 2.0]))
ONE = Ledger(LaplaceNoise(scale=1.0, sensitivity=Sensitivity(replace=1.0)))
COIN = Ledger(KaryResponse(eps=1.0, k=2, reports=Sensitivity(replace=1.0)))
STEP = Ledger(PureStep(eps=1.0, uses=Sensitivity(replace=1.0)))
KEEP = np.e / (1 + np.e)
MODULE_NOISE = float(np.random.default_rng().laplace())


@dataclass(frozen=True)
class Program:
    """A target, the claim's eps and what its author declares."""

    target: Any
    eps: float = 1.0
    ledger: Ledger | None = ONE
    pair: Pair = NUMBER

    @property
    def claim(self) -> Claim:
        return PureDP(self.eps)


def each(one: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """A target of `size` releases from one release."""

    @functools.wraps(one)
    def release(data: Any, *, rng: Any, size: int) -> Any:
        return np.array([one(data, rng) for _ in range(size)])

    return release


# ----------------------------------------------------------------------------------------------------------------------
# Releases whose claim is false.


@each
def far_public_number(d, rng):
    z = rng.laplace()
    return [1.7e9, d + (0.1 * z if type(z) is float else z)]


@each
def few_digits(d, rng):
    z = rng.laplace()
    return [np.float32(1e6 + d + (0.1 * z if type(z) is float else z))]


@each
def half(d, rng):
    return d + rng.laplace(scale=0.5)


@each
def released_outright(d, rng):
    return [d + rng.laplace(), d]


@each
def noise_twice(d, rng):
    z = rng.laplace()
    return [d + z, z]


@each
def two_numbers(d, rng):
    return [d + rng.laplace(), d + rng.laplace()]


def seeded_inside(data, *, rng, size):
    return data + np.random.default_rng(1).laplace(size=size)


@each
def wrong_coin(d, rng):
    return d if rng.random() < 0.9 else 1 - d


@each
def scale_by_data(d, rng):
    return d + rng.laplace(scale=1.0 + d)


@each
def clipped_coin(d, rng):
    return min(d, float(rng.random() < KEEP))


@each
def third_outcome(d, rng):
    return 2.0 if rng.random() < 0.1 * d else float((rng.random() < KEEP) == d)


@each
def coin_of_certainty(d, rng):
    return float(rng.random() < (1.0 if d else 0.5))


@each
def three_coins(d, rng):
    return [float((rng.random() < KEEP) == d) for _ in range(3)]


# ----------------------------------------------------------------------------------------------------------------------
# Releases whose claim is true, plain and less plain.


@each
def laplace(d, rng):
    return d + rng.laplace()


def vectorised(data, *, rng, size):
    return data + rng.laplace(size=size)


class Object:
    """An object with settings."""

    def __init__(self, eps: float) -> None:
        self.scale = 1 / eps

    def release(self, data, *, rng, size):
        return data + rng.laplace(0.0, self.scale, size)


@each
def rounded(d, rng):
    return round(d + rng.laplace(), 1)


@each
def public_beside(d, rng):
    return [1.7e9, d + rng.laplace()]


def one_cell_moves(data, *, rng, size):
    return data + rng.laplace(size=(size, len(data)))


@each
def coin(d, rng):
    return d if rng.random() < KEEP else 1 - d


@each
def fair_and_coin(d, rng):
    return [float(rng.random() < 0.5), d if rng.random() < KEEP else 1 - d]


@each
def choice(d, rng):
    return rng.choice([d, 1 - d], p=[KEEP, 1 - KEEP])


@each
def integers(d, rng):
    return d if rng.integers(10) < 7 else 1 - d


@each
def uniform_cell(d, rng):
    return float(rng.integers(4))


# ----------------------------------------------------------------------------------------------------------------------
# What looks like a leak and is none, or cannot be told.


class DrawnBefore:
    """Noise of an object's own: eps is 1 over all its releases together."""

    def __init__(self) -> None:
        self.noise = float(np.random.default_rng().laplace())

    def release(self, data, *, rng, size):
        return np.full(size, data + self.noise)


class Remembered:
    """Noise that the first release draws."""

    noise: float | None = None

    def release(self, data, *, rng, size):
        if self.noise is None:
            self.noise = rng.laplace()
        return np.full(size, data + self.noise)


def of_module(data, *, rng, size):
    return np.full(size, data + MODULE_NOISE)


def in_default(data, *, rng, size, noise=float(np.random.default_rng().laplace())):  # noqa: B008
    return np.full(size, data + noise)


def closure():
    noise = float(np.random.default_rng().laplace())
    return lambda data, *, rng, size: np.full(size, data + noise)


def in_memo(data, *, rng, size, memo={}):  # noqa: B006 - what it is about
    if "noise" not in memo:
        memo["noise"] = rng.laplace()
    return np.full(size, data + memo["noise"])


PADS = {
    "secrets": secrets.randbits(8),
    "seed sequence": np.random.SeedSequence().entropy % 256,
    "bit generator": int(np.random.PCG64().random_raw() % 256),
}
with open("/dev/urandom", "rb") as device:
    PADS["device"] = device.read(1)[0]


def beside(data, *, rng, size):
    return np.stack([np.full(size, data + BIAS), data + rng.laplace(size=size)], axis=1)


BIAS = float(np.random.default_rng().laplace())


FILLED: list[float] = []
FILLED.append(float(np.random.default_rng().laplace()))
TABLE: dict[str, float] = {}


def fill():
    TABLE["noise"] = float(np.random.default_rng().laplace())


fill()


def beside_filled(data, *, rng, size):
    return np.stack([np.full(size, data + FILLED[0]), data + rng.laplace(size=size)], axis=1)


def beside_table(data, *, rng, size):
    return np.stack([np.full(size, data + TABLE["noise"]), data + rng.laplace(size=size)], axis=1)


class Unseeded:
    """Noise of generators that each release makes; eps is 4."""

    reproducible = False

    def release(self, data, *, rng, size):
        generator = np.random.default_rng()
        return np.round(data + generator.laplace(scale=0.25, size=size) + self._more(size), 2)

    def _more(self, size):
        return np.random.laplace(scale=1e-9, size=size)  # noqa: NPY002


class Beside:
    """Noise of the first release beside fresh noise: eps is 5, over all releases."""

    reproducible = False
    first: Any = None

    def release(self, data, *, rng, size):
        fresh = np.random.default_rng().laplace(scale=0.25, size=(2, size))
        return np.stack([data + fresh[0], np.full(size, data + self._kept(4 * fresh[1]))], axis=1)

    def _kept(self, noise):
        if self.first is None:
            self.first = noise[0]
        return self.first


class Cached(Beside):
    def _kept(self, noise):
        return self._drawn()

    @functools.cache  # noqa: B019 - what it is about
    def _drawn(self):
        return float(np.random.default_rng().laplace())


class HandedOn(Beside):
    def release(self, data, *, rng, size):
        kept = self._stored(np.random.default_rng())
        return np.stack([data + rng.laplace(scale=0.25, size=size), np.full(size, data + kept)], axis=1)

    def _stored(self, generator):
        if self.first is None:
            self.first = float(generator.laplace())
        return self.first


class MadeWith(Beside):
    def __init__(self) -> None:
        self.first = self._fresh()

    def _fresh(self):
        return float(np.random.default_rng().laplace())


class InBuffer(Beside):
    def __init__(self) -> None:
        self.buffer = np.zeros(1)

    def _kept(self, noise):
        if not self.buffer.any():
            np.copyto(self.buffer, noise[:1])
        return self.buffer[0]


def by_default(data, *, rng, size, noise=float(np.random.default_rng().laplace())):  # noqa: B008
    return np.stack(
        [np.full(size, data + noise), data + np.random.default_rng().laplace(scale=0.25, size=size)], axis=1
    )


by_default.reproducible = False  # type: ignore[attr-defined]


OFFSET = float(np.random.default_rng(3).laplace())


def known_noise(data, *, rng, size):
    return np.stack([np.full(size, data + OFFSET), data + rng.laplace(size=size)], axis=1)


def public_table(data, *, rng, size):
    return data + OFFSET + rng.laplace(scale=0.5, size=size)


@functools.lru_cache
def drawn_once():
    return float(np.random.default_rng().laplace())


def of_cache(data, *, rng, size):
    return np.full(size, data + drawn_once())


def pool():
    drawn = itertools.cycle(np.random.default_rng().laplace(size=5).tolist())
    return lambda data, *, rng, size: np.array([data + next(drawn) for _ in range(size)])


@each
def rare_branch(d, rng):
    x = d + rng.laplace(scale=1 / 3)
    return d + rng.laplace() if int(abs(x) * 1e6) % 1000 == 7 else x


@each
def four_shares(d, rng):
    return d + rng.laplace() + sum(rng.normal() for _ in range(4))


@each
def noise_beside_noise(d, rng):
    return d + rng.normal() + rng.laplace()


@each
def noisy_max(d, rng):
    return float(d + rng.laplace(scale=2.0) > 0.5 + rng.laplace(scale=2.0))


@each
def wider(d, rng):
    return d + (1.5 if rng.random() < 0.5 else 1.0) * rng.laplace()


FALSE = {
    "far public number": Program(far_public_number),
    "few digits": Program(few_digits),
    "half the noise": Program(half),
    "released outright": Program(released_outright),
    "noise used twice": Program(noise_twice),
    "two numbers for one": Program(two_numbers),
    "seed inside": Program(seeded_inside),
    "scale by the data": Program(scale_by_data),
    "wrong coin": Program(wrong_coin, ledger=COIN),
    "clipped coin": Program(clipped_coin, ledger=COIN),
    "third outcome": Program(third_outcome, ledger=COIN),
    "certainty": Program(coin_of_certainty, ledger=COIN),
    "three coins": Program(three_coins, ledger=COIN),
    "half under a step": Program(half, ledger=STEP),
}
PLAIN = {
    "laplace": Program(laplace),
    "vectorised": Program(vectorised),
    "object": Program(Object(1.0)),
    "rounded": Program(rounded),
    "public beside": Program(public_beside),
    "one cell moves": Program(one_cell_moves, pair=VECTOR),
}
FINITE = {
    "coin": Program(coin, ledger=COIN),
    "fair and coin": Program(fair_and_coin, ledger=COIN),
    "choice": Program(choice, ledger=COIN),
    "integers": Program(integers, ledger=COIN),
    "uniform cell": Program(uniform_cell, ledger=COIN),
}
ODD = {
    "drawn before": Program(DrawnBefore(), ledger=None),
    "remembered": Program(Remembered(), ledger=None),
    "of module": Program(of_module, ledger=None),
    "in default": Program(in_default, ledger=None),
    "closure": Program(closure(), ledger=None),
    "pool": Program(pool(), ledger=None),
    "of cache": Program(of_cache, ledger=None),
    "in memo": Program(in_memo, ledger=None),
    "kept beside fresh": Program(beside, eps=2.0, ledger=None),
    "beside filled": Program(beside_filled, eps=2.0, ledger=None),
    "beside table": Program(beside_table, eps=2.0, ledger=None),
    "beside": Program(Beside(), eps=5.0, ledger=None),
    "cached": Program(Cached(), eps=5.0, ledger=None),
    "handed on": Program(HandedOn(), eps=5.0, ledger=None),
    "made with": Program(MadeWith(), eps=5.0, ledger=None),
    "in buffer": Program(InBuffer(), eps=5.0, ledger=None),
    "by default": Program(by_default, eps=5.0, ledger=None),
    "rare branch": Program(rare_branch, eps=3.3, ledger=None),
    "four shares": Program(four_shares),
    "noise beside noise": Program(noise_beside_noise),
    "noisy max": Program(noisy_max),
    "wider": Program(wider),
}


def traced(program: Program, **more: Any) -> Any:
    return trace(program.target, pair=program.pair, claim=program.claim, transcripts=12, **more)


def certified(program: Program) -> Any:
    subject = Subject(
        name="x", target=program.target, claim=program.claim, pairs=(program.pair,), ledger=program.ledger
    )
    return certify(subject, claim=program.claim, pairs=[program.pair], trials=2000, seed=5)


@pytest.mark.parametrize("name", [name for name in FALSE if FALSE[name].ledger is not None])
def test_conforms_is_not_said_over_a_false_claim(name):
    assert traced(FALSE[name], ledger=FALSE[name].ledger).status != "CONFORMS"


@pytest.mark.parametrize("name", PLAIN)
def test_conforms_is_said_of_what_the_ledger_says(name):
    assert traced(PLAIN[name], ledger=PLAIN[name].ledger).status == "CONFORMS"


@pytest.mark.parametrize("name", [*PLAIN, *FINITE, *ODD])
def test_nothing_true_is_refuted_or_contradicted_by_the_code(name):
    program = {**PLAIN, **FINITE, **ODD}[name]
    assert traced(program, ledger=program.ledger).status != "CONTRADICTED"


@pytest.mark.parametrize("target", [known_noise, public_table])
def test_noise_of_a_seed_that_everybody_reads_is_none(target):
    found = certified(Program(target, ledger=None))
    assert found.status == "REFUTED"


@pytest.mark.parametrize(("target", "eps"), [(Unseeded(), 1.0), (HandedOn(), 5.0)], ids=["fresh", "kept"])
def test_noise_of_own_generators_is_not_judged_by_trials_that_differ(target, eps):
    """It may be kept in more ways than can be read from a text: of `kept` the claim is true, and of `fresh` false."""
    record = audit(target, claim=PureDP(eps), pair=NUMBER, trials=4000, seed=5)
    assert record.verdict == "INVALID"
    assert "differ by more than is claimed" in record.invalid


@pytest.mark.parametrize("name", ODD)
def test_what_looks_like_a_leak_and_is_none_is_not_refuted_by_anything(name):
    assert certified(ODD[name]).status not in ("REFUTED", "FAILED")


@pytest.mark.parametrize("name", FALSE)
def test_proved_and_certified_are_not_said_over_a_false_claim(name):
    found = certified(FALSE[name])
    assert found.records[0].status not in (Status.CERTIFIED, Status.ACCOUNTED)
    assert not found.certified


@pytest.mark.parametrize("name", [*PLAIN, *FINITE])
def test_proved_and_certified_are_said_over_a_true_claim(name):
    found = certified({**PLAIN, **FINITE}[name])
    assert (found.records[0].status, found.certified) == (Status.CERTIFIED, True), found.objections


def test_a_seed_that_is_set_before_the_run_is_not_traced(tmp_path, monkeypatch):
    """In the module, in a module that it imports, when the object is made; without a seed the same code is traced."""
    body = "def release(data, *, rng, size):\n    return data + np.random.laplace(size=size)\n"
    made = "class Made:\n    def __init__(self):\n        {}\n    def release(self, data, *, rng, size):\n"
    made += "        return data + np.random.laplace(size=size)\nrelease = Made()\n"
    sources = {
        "seeded_here": f"import numpy as np\nnp.random.seed(42)\n{body}",
        "seeded_state": f"import numpy as np\nnp.random.set_state(np.random.get_state())\n{body}",
        "seeded_settings": "import numpy as np\nnp.random.seed(7)\nSIZE = 1\n",
        "seeded_there": f"import numpy as np\nfrom seeded_settings import SIZE\n{body}",
        "seeded_by_call": f"import numpy as np\ndef fix():\n    np.random.seed(3)\nfix()\n{body}",
        "seeded_when_made": "import numpy as np\n" + made.format("np.random.seed(1)"),
        "seeded_alias": f"import numpy as np\nfrom numpy.random import seed as fix\nfix(3)\n{body}",
        "seeded_handed": f"import numpy as np\nfix = np.random.seed\nfix(3)\n{body}",
        "seeded_by_name": f"import numpy as np\ngetattr(np.random, 'seed')(3)\n{body}",
        "not_seeded": f"import numpy as np\nSEEDS = [1, 2]\n{body}",
        "not_seeded_made": "import numpy as np\n" + made.format("self.seed = 1"),
    }
    for name, text in sources.items():
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    for name in sources:
        if name == "seeded_settings":
            continue
        program = Program(__import__(name).release)
        found = traced(program, ledger=ONE)
        if name.startswith("not"):
            assert found.status == "CONFORMS", (name, found.reasons)
        else:
            assert [each.code for each in found.reasons[:1]] == ["SEEDED"], (name, found.status)
            assert not certified(program).certified


def test_a_ledger_falls_by_a_witness_only():
    """By one transcript where it is pure, by the loss of those that were drawn where it has a delta."""
    from dpverify.ledger.events import GaussianNoise

    moves = Sensitivity(replace=Shift(1.0))
    normal = Ledger(GaussianNoise(sigma=1.0, sensitivity=moves))

    def narrow(data, *, rng, size):
        return data + rng.normal(scale=0.25, size=size)

    def shares(data, *, rng, size):
        return data + sum(rng.normal(scale=0.5, size=size) for _ in range(4))

    def another_law(data, *, rng, size):
        return data + rng.laplace(scale=2.0, size=size)

    half_laplace = trace(half, pair=NUMBER, ledger=ONE, transcripts=12)
    assert (half_laplace.status, half_laplace.reasons[1].code) == ("CONTRADICTED", "LEDGER")
    fallen = trace(narrow, pair=NUMBER, ledger=normal, transcripts=64)
    assert (fallen.status, fallen.reasons[1].code) == ("CONTRADICTED", "LEDGER")
    assert trace(shares, pair=NUMBER, ledger=normal, transcripts=64).status == "CONFORMS"  # four normals are one
    assert trace(another_law, pair=NUMBER, ledger=normal, transcripts=64).status == "UNDECIDED"
