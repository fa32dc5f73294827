"""Exact laws: against closed forms, against rationals, with planted bugs; what is not finite is said, and in time."""

import itertools
import json
import math
import textwrap
import time
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import dpverify
from dpverify.claims.neighbours import Pair
from dpverify.cli.main import run
from dpverify.errors import ParameterError
from dpverify.tape import enumeration as module
from dpverify.tape import supports
from dpverify.tape.enumeration import exact
from dpverify.trials.target import loop_trials
from mechanisms.releases.randomised_response import RandomisedResponse

BIT = Pair([0], [1])


def coin(chance):
    """1 with probability `chance` on bit 0, with 1 - chance on bit 1."""

    def release(data, *, rng, size):
        return (rng.random(size) < (1 - chance if data[0] else chance)).astype(np.int64)

    return release


def as_implemented(chance: float) -> Fraction:
    return Fraction(math.ceil(Fraction(chance) * 2**53), 2**53)


@pytest.mark.parametrize("chance", [0.5, 0.25, 0.1, 0.3, 1e-3, 1e-9, 0.7310585786300049])
def test_a_coin_is_between_the_ends_in_rationals(chance: float) -> None:
    found = exact(coin(chance), pair=BIT)
    p, q = as_implemented(chance), as_implemented(1 - chance)
    truth = max(abs(math.log(p / q)), abs(math.log((1 - p) / (1 - q))))
    assert found.status == "EXACT"
    assert found.eps_lower <= truth * (1 + 1e-15)
    assert found.eps_upper >= truth * (1 - 1e-15)
    assert found.eps_upper - found.eps_lower < 2e-14 * max(1.0, truth)


def test_a_probability_wrong_by_a_millionth_is_seen() -> None:
    """The claim log 3 of a fair answer with probability 3/4, with 3/4 + 1e-6 planted."""
    good, wrong = (exact(coin(chance), pair=BIT) for chance in (0.75, 0.75 + 1e-6))
    assert good.eps_upper <= math.log(3) + 1e-13
    assert wrong.eps_lower > math.log(3) + 5e-6


@pytest.mark.parametrize("eps", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("k", [2, 3, 7])
def test_randomised_response_has_its_eps(eps: float, k: int) -> None:
    found = exact(RandomisedResponse(eps=eps, k=k), pair=Pair(np.array([0, 1]), np.array([1, 1])))
    assert found.status == "EXACT"
    assert found.eps_lower == pytest.approx(eps, rel=1e-12)
    assert found.eps_upper == pytest.approx(eps, rel=1e-12)
    assert found.eps_lower <= found.eps_upper


def test_delta_is_that_of_the_hockey_stick_divergence() -> None:
    """A sum of ten bits, each turned with probability 1/4: delta(eps) in rationals, and the other way round."""

    def bits(data, *, rng, size):
        return (np.asarray(data) ^ (rng.random((size, 10)) < 0.25)).sum(axis=1)

    pair = Pair([0] * 10, [1] + [0] * 9)
    quarter = Fraction(1, 4)
    others = [math.comb(9, k) * quarter**k * (1 - quarter) ** (9 - k) for k in range(10)] + [Fraction(0)]
    laws = []
    for own in (quarter, 1 - quarter):
        laws.append([(1 - own) * others[k] + own * (others[k - 1] if k else 0) for k in range(11)])

    def delta(eps: float) -> float:
        terms = [(float(p) - math.exp(eps) * float(q)) for p, q in zip(*laws, strict=True)]
        return math.fsum(each for each in terms if each > 0)

    for eps in (0.05, 0.3, 0.6):
        found = exact(bits, pair=pair, delta=delta(eps))
        assert found.eps_lower == pytest.approx(eps, abs=1e-9)
        assert found.eps_upper == pytest.approx(eps, abs=1e-9)
        assert found.paths == 2 * 2**10


@pytest.mark.parametrize("bits", [4, 8])
def test_loops_and_vectorised_calls_agree(bits: int) -> None:
    def release(data, *, rng, size):
        return (np.asarray(data) ^ (rng.random((size, bits)) < 0.3)).sum(axis=1)

    pair = Pair([0] * bits, [1] + [0] * (bits - 1))
    one = exact(release, pair=pair, delta=1e-3)
    many = exact(loop_trials(lambda data, *, rng: release(data, rng=rng, size=1)[0]), pair=pair, delta=1e-3)
    assert (one.status, many.status) == ("EXACT", "EXACT")
    assert one.paths == many.paths == 2 ** (bits + 1)
    assert one.eps_upper == pytest.approx(many.eps_upper, rel=1e-12)


def geometric_by_hand(data, *, rng):
    count = int(data[0])
    while rng.random() < 0.5:
        count += 1
    return count


def test_a_loop_that_ends_with_probability_one_is_bounded() -> None:
    """The tail below 1e-18 is left out, said, and on the safe side: truth by the closed form."""
    found = exact(loop_trials(geometric_by_hand), pair=Pair([1], [0]), delta=0.25)
    assert found.status == "EXACT"
    assert 0 < found.lost_mass <= 1e-17
    assert found.eps_upper == math.inf  # the outcome 0 has mass 1/2 on one side only
    assert found.eps_lower > 30  # all that was left out could be there
    assert exact(loop_trials(geometric_by_hand), pair=Pair([1], [0]), delta=0.5 + 1e-9).eps_upper < 1e-8


def test_a_tail_that_is_cut_has_a_bound_beside_it() -> None:
    """Discrete Laplace noise of ratio 2 has eps log 2; a leak in its tail would be delta, and one elsewhere is inf."""

    def noisy(data, *, rng, size):
        return data[0] + rng.geometric(0.5, size) - rng.geometric(0.5, size)

    found = exact(noisy, pair=Pair([1], [0]))
    assert found.eps_upper == math.inf
    assert math.log(2) <= found.tail_eps <= math.log(2) * (1 + 1e-9)
    assert exact(loop_trials(geometric_by_hand), pair=Pair([1], [0])).tail_eps == math.inf
    assert exact(lambda data, *, rng, size: rng.integers(0, 2, size), pair=Pair([1], [0])).tail_eps is None


K = np.arange(-60, 160)
WIDE_LAWS = {
    "difference of geometrics": (
        lambda rng, size: rng.geometric(0.5, size) - rng.geometric(0.5, size),
        2.0 ** -np.abs(K) / 3,
        1e-4,
    ),
    "poisson": (lambda rng, size: rng.poisson(3.0, size), stats.poisson(3.0).pmf(K), 0.06),
    "binomial": (lambda rng, size: rng.binomial(50, 0.5, size), stats.binom(50, 0.5).pmf(K), 1e-4),
}


@pytest.mark.parametrize("name", WIDE_LAWS)
def test_unbounded_and_wide_laws(name: str) -> None:
    """Both ends have the delta that scipy's masses give at them."""
    noise, mass, delta = WIDE_LAWS[name]
    found = exact(lambda data, *, rng, size: data[0] + noise(rng, size), pair=BIT, delta=delta)
    assert found.status == "EXACT"
    shifted = np.roll(mass, 1)

    def truth(eps: float) -> float:
        return max(float(np.maximum(a - math.exp(eps) * b, 0).sum()) for a, b in ((mass, shifted), (shifted, mass)))

    assert truth(found.eps_upper) == pytest.approx(delta, rel=1e-6)
    assert truth(found.eps_lower) == pytest.approx(delta, rel=1e-6)


@pytest.mark.parametrize(
    ("family", "parameters", "law"),
    [
        ("integers", (3.0, 9.0), stats.randint(3, 9)),
        ("binomial", (40.0, 0.3), stats.binom(40, 0.3)),
        ("binomial", (5000.0, 0.01), stats.binom(5000, 0.01)),
        ("poisson", (7.3,), stats.poisson(7.3)),
        ("poisson", (0.01,), stats.poisson(0.01)),
        ("geometric", (0.2,), stats.geom(0.2)),
        ("negative_binomial", (3.0, 0.4), stats.nbinom(3, 0.4)),
        ("discrete_laplace", (2.0,), stats.dlaplace(0.5)),
    ],
)
def test_supports_hold_the_masses_of_their_laws(family, parameters, law) -> None:
    found = supports.of_family(family, parameters)
    want = law.pmf(found.values)
    assert (found.masses.low <= want * (1 + 1e-10)).all()
    assert (found.masses.high >= want * (1 - 1e-10)).all()
    big = want > 1e-15
    assert (found.masses.high[big] / found.masses.low[big] - 1).max() < 1e-10
    assert math.fsum(found.masses.high) + found.lost >= 1 >= math.fsum(found.masses.low)
    assert found.lost < 1e-18


def test_choice_is_numpys_on_its_grid() -> None:
    chances = np.array([0.1, 0.2, 0.7])
    found = supports.choice(3, chances)
    cut = np.cumsum(chances)
    cut /= cut[-1]
    want = [Fraction(math.ceil(Fraction(each) * 2**53), 2**53) for each in [0.0, *cut.tolist()]]
    assert [Fraction(each) for each in found.masses.low] == [b - a for a, b in itertools.pairwise(want)]


@pytest.mark.parametrize("seed", range(5))
def test_outward_rounding_holds_rationals(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.random(200) ** 20
    product, total = supports.exactly(1.0), supports.exactly(values).total()
    truth = Fraction(1)
    for each in values[:12]:
        product, truth = product * supports.exactly(each), truth * Fraction(each)
    assert Fraction(float(product.low)) <= truth <= Fraction(float(product.high))
    added = sum(Fraction(each) for each in values)
    assert Fraction(float(total.low)) <= added <= Fraction(float(total.high))
    quotient = supports.exactly(values[:5]) / supports.exactly(values[5:10])
    for low, high, a, b in zip(quotient.low, quotient.high, values[:5], values[5:10], strict=True):
        assert Fraction(float(low)) <= Fraction(a) / Fraction(b) <= Fraction(float(high))


NOT_FINITE = {
    "continuous noise": lambda data, *, rng, size: data[0] + rng.laplace(size=size),
    "the value of a uniform": lambda data, *, rng, size: data[0] + rng.random(size),
    "uniforms compared with each other": lambda data, *, rng, size: rng.random(size) < rng.random(size),
    "a uniform compared and shown": lambda data, *, rng, size: [(u := rng.random(size)) < 0.5, np.asarray(u)],
    "half precision": lambda data, *, rng, size: rng.random(size, dtype=np.float32) < 0.5,
    "a wide range": lambda data, *, rng, size: rng.integers(0, 2**40, size),
    "a long permutation": lambda data, *, rng, size: rng.permutation(20),
    "sorted uniforms": lambda data, *, rng, size: np.argsort(rng.random((size, 3)), axis=1),
}


@pytest.mark.parametrize("name", NOT_FINITE)
def test_what_is_not_finite_is_said(name: str) -> None:
    found = exact(NOT_FINITE[name], pair=BIT)
    assert found.status == "NOT_FINITE", found
    assert found.reason.text
    assert found.eps_lower is None
    assert found.eps_upper is None


def never(data, *, rng):
    count = 0
    while int(rng.integers(0, 1)) == 0:
        count += 1
    return count


def too_deep(data, *, rng):
    return [int(rng.integers(0, 2)) for _ in range(60)]


@pytest.mark.parametrize("program", [never, too_deep], ids=["never ends", "2^60 paths"])
def test_a_tree_that_is_not_finite_ends_in_time(program) -> None:
    start = time.monotonic()
    found = exact(loop_trials(program), pair=BIT, timeout=2.0)
    assert found.status == "TOO_MANY"
    assert found.eps_lower is None
    assert time.monotonic() - start < 30


COUNTER = itertools.count()
UNSEEN = {
    "own generator": lambda data, *, rng, size: (np.random.default_rng(5).random(size) < 0.5) ^ bool(data[0]),
    "state": lambda data, *, rng, size: (rng.random(size) < 0.5) ^ bool(next(COUNTER) % 2),
    "size": lambda data, *, rng, size: (rng.random(size) < 0.5) * (size > 1),
    "sees the tape": lambda data, *, rng, size: rng.random(size) < (0.5 if type(rng) is np.random.Generator else 0.4),
}


@pytest.mark.parametrize("name", UNSEEN)
def test_what_the_enumeration_does_not_see_is_not_exact(name: str) -> None:
    found = exact(UNSEEN[name], pair=BIT)
    assert found.status == "NOT_EXACT", found
    assert found.reason.code in ("FOREIGN", "UNFAITHFUL", "FIT")


def test_the_test_of_fit_has_its_level_and_its_power() -> None:
    """A right law passes; 3/4 against 0.77 fails: 20,000 releases are 6.6 standard errors away, 4.9 are needed."""
    right = module._law(module.as_target(coin(0.25)), [0], module.PathLimits(10, math.inf, "implemented"), 1)
    for chance, fits in ((0.25, True), (0.27, False)):
        fit = module._fit(module.as_target(coin(chance)), ([0], [0]), (right, right), 3, 1.0)
        assert fit.fits is fits


def test_equal_data_have_eps_zero_and_exceptions_are_outcomes() -> None:
    assert exact(coin(0.3), pair=Pair([0], [0])).eps_upper < 1e-14

    def raises(data, *, rng, size):
        if float(rng.integers(0, 4)) == 0:
            raise ValueError("no answer")
        return np.array([data[0] * 0])

    found = exact(raises, pair=BIT)
    assert found.status == "EXACT"
    assert found.outcomes == 2
    assert found.eps_upper < 1e-14

    def tells(data, *, rng, size):
        if int(rng.integers(0, 4)) == 0:
            raise ValueError(f"no answer for {data[0]}")
        return np.array([0])

    assert exact(tells, pair=BIT).eps_lower == math.inf


def test_it_is_public_and_validates() -> None:
    assert dpverify.exact is exact
    for wrong in ({"delta": math.nan}, {"delta": 1.5}, {"paths": 0}, {"timeout": math.nan}, {"seed": -1}, {"law": "x"}):
        with pytest.raises(ParameterError):
            exact(coin(0.25), pair=BIT, **wrong)
    with pytest.raises(ParameterError):
        exact(coin(0.25), pair=([0], [1]))


CODE = """
import numpy as np
from dpverify import Pair
PAIRS = [Pair(np.array([0]), np.array([1]))]
def coin(data, *, rng, size):
    return rng.random(size) < (0.75 if data[0] else 0.25)
def noise(data, *, rng, size):
    return data[0] + rng.laplace(size=size)
def killed(data, *, rng, size):
    import os
    os.kill(os.getpid(), 9)
def left(data, *, rng, size):
    import os
    os._exit(0)
"""


@pytest.mark.parametrize("command", [["trace"], ["trace", "--exact"]])
@pytest.mark.parametrize(("name", "why"), [("killed", "SIGKILL"), ("left", "ended with exit code 0")])
def test_code_that_ends_its_process_ends_no_command(tmp_path, capsys, command, name, why) -> None:
    file, out = tmp_path / "exact_code.py", tmp_path / "out.json"
    file.write_text(textwrap.dedent(CODE))
    out.write_text("of an earlier run")
    assert run([*command, f"{file}:{name}", "--pairs", f"{file}:PAIRS", "--json", str(out)]) == 3
    told = capsys.readouterr()
    assert why in told.out + told.err
    assert not out.exists() or name in out.read_text()  # nothing old that looks like new


@pytest.mark.parametrize(
    ("name", "options", "code", "words"),
    [
        ("coin", [], 0, ["EXACT", "1.0986122886", "0.75 against 0.25"]),
        ("coin", ["--claim", "pure:1.0986122886681098"], 0, ["holds on this pair"]),
        ("coin", ["--claim", "pure:1.098"], 1, ["CONTRADICTED"]),
        ("coin", ["--claim", "approx:0.5,0.4"], 0, ["holds on this pair"]),
        ("coin", ["--delta", "0.5"], 0, ["eps in [0, "]),
        ("coin", ["--claim", "zcdp:1"], 2, []),
        ("coin", ["--delta", "nan"], 2, []),
        ("coin", ["--claim", "pure:1", "--delta", "0.1"], 2, []),
        ("coin", ["--claim", "pure:1.098612288"], 0, ["holds on this pair up to its last digits"]),
        ("coin", ["--json", "/dev/full"], 3, []),
        ("coin", ["--json", "/dev/null/f.json"], 2, []),
        ("noise", [], 3, ["NOT FINITE"]),
        ("coin", ["--transcripts", "5"], 2, []),
    ],
)
def test_the_command(tmp_path, capsys, name, options, code, words) -> None:
    file = tmp_path / "exact_code.py"
    file.write_text(textwrap.dedent(CODE))
    assert run(["trace", "--exact", f"{file}:{name}", "--pairs", f"{file}:PAIRS", *options]) == code
    printed = capsys.readouterr().out
    for word in words:
        assert word in printed


def test_the_command_writes_json(tmp_path) -> None:
    file, out = tmp_path / "exact_code.py", tmp_path / "out.json"
    file.write_text(textwrap.dedent(CODE))
    assert run(["trace", "--exact", f"{file}:coin", "--pairs", f"{file}:PAIRS", "--json", str(out)]) == 0
    (found,) = json.loads(out.read_text())["exact"]
    assert found["status"] == "EXACT"
    assert found["eps_upper"] == pytest.approx(math.log(3))
