"""No random program is proved below what brute force finds; and the truth by brute force is tried by itself."""

import importlib.util
import math
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from proof.random_programs import Grammar, programs
from proof.truth_by_force import chances_of_the_largest, Draw, Program, Space, Truth, truth

from dpverify.errors import UsageError
from dpverify.proof import prove
from dpverify.wild.datasets import built
from dpverify.wild.one_line import data_schema

SHARE = 0.3  # of the programs with a finite eps, at least so many are proved
MARGIN = 1e-9


def _written(program: Program, folder: Path, number: int) -> Callable[..., Any]:
    """The function of a module on disk."""
    name = f"random_program_{number}"
    path = folder / f"{name}.py"
    path.write_text(program.source)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module.release


def _claim(known: Truth) -> str:
    """A claim that is false."""
    return f"pure:{0.999 * known.eps!r}" if math.isfinite(known.eps) else "pure:1e6"


def _below(result: Any, known: Truth) -> list[str]:
    """What is proved and false."""
    found = []
    if not result.eps >= known.eps * (1 - 1e-12) - MARGIN:
        found.append(f"eps {result.eps} is proved, the truth is at least {known.eps}")
    if not result.mu >= known.mu * (1 - 1e-9):
        found.append(f"mu {result.mu} is proved, the truth is at least {known.mu}")
    if not result.rho >= known.mu**2 / 2 * (1 - 1e-9):
        found.append(f"rho {result.rho} is proved, the truth is at least {known.mu**2 / 2}")
    if result.holds:
        found.append(f"{_claim(known)} holds, the truth is at least {known.eps}")
    return found


def _tried(prove: Callable[..., Any], seed: int, count: int, folder: Path) -> None:
    start, finite, proved, tight, false = time.monotonic(), 0, 0, 0, []
    for number, (program, known) in enumerate(programs(seed, count)):
        function = _written(program, folder, number)
        try:
            result = prove(function, data=program.space.data, relation=program.relation, claim=_claim(known))
        except UsageError:
            result = SimpleNamespace(eps=math.inf, mu=math.inf, rho=math.inf, holds=False)
        finally:
            del sys.modules[function.__module__]
        false += [
            f"{each}\n# {program.space.data}; {program.relation}\n{program.source}" for each in _below(result, known)
        ]
        finite += math.isfinite(known.eps)
        proved += math.isfinite(result.eps)
        tight += known.exact and (result.eps == known.eps or abs(result.eps - known.eps) < MARGIN)
    seconds = time.monotonic() - start
    print(f"seed {seed}: {count} programs, {finite} of finite eps, {proved} proved, {tight} exactly; {seconds:.0f} s")
    assert not false, f"{len(false)} false proofs\n\n" + "\n\n".join(false[:5])
    assert proved >= SHARE * finite, f"{proved} of {finite} programs of finite eps are proved"


def test_no_random_program_is_proved_below_its_truth(tmp_path: Path) -> None:
    _tried(prove, 18, 300, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1018, 1028))
def test_none_of_ten_thousand_random_programs_is_proved_below_its_truth(tmp_path: Path, seed: int) -> None:
    _tried(prove, seed, 1_000, tmp_path)


# ----------------------------------------------------------------------------------------------------------------------
# The test itself.


@pytest.mark.parametrize("share", [1 - 1e-6, 0.5, 0.0])
def test_a_prover_that_is_a_little_too_low_is_caught(tmp_path: Path, share: float) -> None:
    truths = iter([known for _, known in programs(5, 25)])

    def low(function: Any, **_: Any) -> Any:
        return SimpleNamespace(eps=next(truths).eps * share, mu=math.inf, rho=math.inf, holds=False)

    with pytest.raises(AssertionError, match="false proofs"):
        _tried(low, 5, 25, tmp_path)


def test_a_prover_that_proves_nothing_is_caught(tmp_path: Path) -> None:
    def mute(function: Any, **_: Any) -> Any:
        return SimpleNamespace(eps=math.inf, mu=math.inf, rho=math.inf, holds=False)

    with pytest.raises(AssertionError, match="of finite eps are proved"):
        _tried(mute, 5, 25, tmp_path)


def test_a_prover_that_knows_the_truth_passes(tmp_path: Path) -> None:
    truths = iter([known for _, known in programs(5, 25)])

    def wise(function: Any, **_: Any) -> Any:
        known = next(truths)
        return SimpleNamespace(eps=known.eps, mu=known.mu, rho=known.mu**2 / 2, holds=False)

    _tried(wise, 5, 25, tmp_path)


def test_the_same_seed_gives_the_same_programs() -> None:
    assert [each for each, _ in programs(3, 8)] == [each for each, _ in programs(3, 8)]
    assert [each for each, _ in programs(3, 8)] != [each for each, _ in programs(4, 8)]


SIDES = {  # each rule and its negation, as they stand in sources
    "a draw for all coordinates": r"(minlength=\d\)|sum\(axis=0\)) [+-] rng\.laplace\((scale=)?[\d.]+\)",
    "a draw for each coordinate": r"bincount.*laplace\(.*size=",
    "more draws than coordinates": r"size=\(2, \d\)",
    "one draw in two sums": r"return a \+ z, b \+ z",
    "a draw taken back": r"return y - z",
    "steps of the noise": r"[234] \* \(rng\.geometric",
    "moves that are no steps": r"3 \* .*\+ 2 \* \(",
    "one geometric draw": r"[+-] rng\.geometric\([\d.]+\)\n",
    "two rates": r"geometric\(0\.5\) - rng\.geometric\(0\.25",
    "largest": r"argmax",
    "smallest": r"argmin",
    "smallest of Gumbel": r"argmin\(.*\+ rng\.gumbel",
    "largest minus Gumbel": r"argmax\(.*- rng\.gumbel",
    "axis of the choice": r"axis=1\)",
    "axis of rows": r"X\.sum\(axis=1\)",
    "axis of columns": r"X\.sum\(axis=0\)",
    "axis from the end": r"X\.sum\(axis=-2\)",
    "several choices": r"choice\(.*size=3",
    "rounded chances": r"np\.round\(w / w\.sum",
    "loc in place of scale": r"laplace\(\d+\.\d\)",
    "scale by place": r"laplace\(0, ",
    "scale of the size": r"scale=1\.0 / len\(",
    "scale zero": r"scale=0\.0",
    "scales": r"scale=np\.array",
    "keyword where": r"sum\(where=",
    "keyword ddof": r"ddof=1",
    "keyword dtype": r"dtype=np\.int8",
    "keyword density": r"density=True",
    "keyword a_max": r"a_min=None, a_max=1",
    "seed": r"default_rng\(\d\)",
    "bare on one side": r"if y > ",
    "mean of chosen rows": r"\]\.mean\(\)",
    "booleans added": r"\(\(x > [^()]*\) \+ \(x > [^()]*\)\)",
    "one-sided noise": r"\+ rng\.exponential\(",
    "noise that was rounded": r"np\.round\(rng\.laplace",
    "rows by place": r"\[::2\]",
    "break": r"break",
    "accumulator that is read": r"if v >= total",
    "normal": r"normal\(",
}


def test_the_grammar_has_each_rule_and_its_negation() -> None:
    grammar = Grammar(0)
    text = "\n".join(grammar.program().source for _ in range(4000))
    assert [name for name, pattern in SIDES.items() if not re.search(pattern, text)] == []


def test_half_of_the_programs_have_a_finite_eps() -> None:
    truths = [known for _, known in programs(7, 100)]
    assert 40 <= sum(math.isfinite(each.eps) for each in truths) <= 85
    assert sum(each.exact for each in truths) >= 30


def test_datasets_are_those_of_the_schema() -> None:
    for program, _ in programs(9, 60):
        space = program.space
        schema = data_schema(space.data)
        rows = max(space.datasets(), key=len)
        records = [row if isinstance(row, tuple) else (row,) for row in rows]
        expected = built(schema, records)
        assert type(space.built(rows)) is type(expected)
        np.testing.assert_array_equal(space.built(rows), expected)
        assert np.asarray(space.built(rows)).dtype == np.asarray(expected).dtype
        assert schema.rows == space.rows


# ----------------------------------------------------------------------------------------------------------------------
# The truth itself, where it is known by hand.

BITS = Space("vector", "integer 0..1", (0, 1), (1, 3), whole=True)
THREE = Space("vector", "integer 0..2", (0, 1, 2), (2, 3), whole=True)
FIXED = Space("vector", "integer 0..2", (0, 1, 2), (3, 3), whole=True)
REAL = Space("vector", "real 0..2", (0.0, 0.5, 2.0), (2, 3), whole=False)
PAIRS = Space("array", "real -1..1 x 2", ((-1.0, -1.0), (1.0, 1.0), (0.0, 0.0)), (2, 2), whole=False)
LIST = Space("list", "integer 0..2", (0, 1, 2), (1, 3), whole=True)
HIST = "np.bincount(x, minlength=3)"

KNOWN = [
    (THREE, "replace", "return x.sum() + rng.laplace(scale=2.0)", 1.0, 0.0),
    (THREE, "add-remove", "return x.sum() + rng.laplace(scale=4.0)", 0.5, 0.0),
    (THREE, "replace", "return x.mean() + rng.laplace(scale=2 / len(x))", 1.0, 0.0),
    (THREE, "replace", "return x.mean() + rng.laplace(scale=1.0)", 1.0, 0.0),
    (THREE, "add-remove", "return x.mean() + rng.laplace(scale=1.0)", 2 / 3, 0.0),
    (THREE, "add-remove", "return x.mean() + rng.laplace(scale=2 / len(x))", math.inf, math.inf),
    (THREE, "replace", "return x.sum()", math.inf, math.inf),
    (THREE, "add-remove", "return len(x)", math.inf, math.inf),
    (FIXED, "add-remove", "return x.sum() + rng.laplace(scale=2.0)", math.inf, math.inf),
    (THREE, "replace", f"return {HIST} + rng.laplace(scale=2.0, size=3)", 1.0, 0.0),
    (THREE, "add-remove", f"return {HIST} + rng.laplace(scale=2.0, size=3)", 0.5, 0.0),
    (THREE, "replace", f"return {HIST} + rng.laplace(scale=2.0)", math.inf, math.inf),
    (THREE, "replace", f"return {HIST} + rng.laplace(scale=np.array([2.0, 2.0, 0.001]))", 1000.5, 0.0),
    (THREE, "replace", "return x.sum() + rng.laplace(scale=2.0, size=5)", 5.0, 0.0),
    (THREE, "replace", "return x.sum() + rng.laplace(2.0)", 2.0, 0.0),
    (THREE, "replace", "return 3 * x.sum() - rng.laplace(scale=2.0) / 2", 6.0, 0.0),
    (THREE, "replace", f"z = rng.laplace(size=3)\n    return {HIST} + z, z[0]", math.inf, math.inf),
    (THREE, "replace", f"return ({HIST} + rng.laplace(size=3))[0]", 1.0, 0.0),
    (THREE, "replace", "z = rng.laplace(scale=2.0)\n    y = x.sum() + z\n    return y - z", math.inf, math.inf),
    (THREE, "replace", "z = rng.laplace(scale=2.0)\n    return x.sum() + z, x.sum() + z", 1.0, 0.0),
    (THREE, "replace", "z = rng.laplace(scale=2.0)\n    return x.sum() + z, (x > 0).sum() + z", math.inf, math.inf),
    (THREE, "replace", "return x.sum() + rng.laplace(scale=1.0, size=4).mean()", 8.0, 0.0),
    (THREE, "replace", "return x.sum() + np.random.default_rng(1).laplace(scale=2.0)", math.inf, math.inf),
    (THREE, "replace", "return x.sum() + rng.normal(scale=2.0)", math.inf, 1.0),
    (THREE, "replace", f"return {HIST} + rng.normal(scale=1.0, size=3)", math.inf, math.sqrt(2)),
    (THREE, "replace", "return x.sum() + rng.geometric(0.5) - rng.geometric(0.5)", 2 * math.log(2), 0.0),
    (THREE, "replace", "return x.sum() + 2 * (rng.geometric(0.5) - rng.geometric(0.5))", math.inf, math.inf),
    (THREE, "replace", "return 2 * x.sum() + 2 * (rng.geometric(0.5) - rng.geometric(0.5))", 2 * math.log(2), 0.0),
    (THREE, "replace", "return x.sum() + rng.geometric(0.5)", math.inf, math.inf),
    (THREE, "replace", "return x.sum() + rng.geometric(0.5) - rng.geometric(0.25)", 2 * math.log(2), 0.0),
    (THREE, "replace", "return x.sum() + rng.exponential(4.0) - rng.exponential(2.0)", 1.0, 0.0),
    (THREE, "replace", "return x.sum() + rng.gumbel(scale=2.0)", math.inf, math.inf),
    (REAL, "replace", "return np.floor(x.sum()) + rng.laplace(scale=1.0)", 2.0, 0.0),
    (BITS, "replace", "return ((x > 0) + (x > 0.5) - 2 * (x > 0.5)).sum() + rng.laplace(scale=1.0)", 1.0, 0.0),
    (REAL, "replace", "return x[x > 1].mean() + rng.laplace(scale=1.0)", math.inf, math.inf),
    (
        REAL,
        "replace",
        "return np.clip(x, 0, 1).sum() + rng.laplace(scale=1.0), (x > 1).sum() + rng.laplace()",
        2.0,
        0.0,
    ),
    (REAL, "add-remove", "return (x <= 0.5).sum() + rng.laplace(), (x >= 0.5).sum() + rng.laplace()", 2.0, 0.0),
    (PAIRS, "replace", "return x.sum(axis=0) + rng.laplace(scale=1.0, size=2)", 4.0, 0.0),
    (PAIRS, "replace", "return x.sum(axis=1) + rng.laplace(scale=1.0, size=2)", 4.0, 0.0),
    (LIST, "replace", "return sum(v for v in x if v > 1) + rng.laplace(scale=1.0)", 2.0, 0.0),
    (LIST, "add-remove", "return {k: x.count(k) + rng.laplace() for k in (0, 1, 2)}", 1.0, 0.0),
    (LIST, "add-remove", "return {k: 0 for k in x}", math.inf, math.inf),
    (BITS, "replace", "w = np.exp(x.sum() * np.array([0.0, 1.0]))\n    return rng.choice(2, p=w / w.sum())", None, 0.0),
    (BITS, "replace", "p = np.array([x.mean(), 1 - x.mean()])\n    return rng.choice(2, p=p)", math.inf, math.inf),
]


def _program(space: Space, relation: str, body: str, rule: str = "") -> Program:
    source = f"def release(x):\n    rng = np.random.default_rng()\n    {body}\n"
    return Program(space, relation, source, (source,), rule)


@pytest.mark.parametrize(("space", "relation", "body", "eps", "mu"), KNOWN)
def test_truth_is_what_is_known_by_hand(space: Space, relation: str, body: str, eps: float | None, mu: float) -> None:
    known = truth(_program(space, relation, body))
    assert known is not None
    if eps is None:  # two outcomes with odds e^s, s in 0..3: the largest step of a log chance
        chances = [1 / (1 + math.exp(s)) for s in range(4)]
        eps = max(math.log(one / other) for one, other in zip(chances, chances[1:], strict=False))  # noqa: RUF007
    assert known.eps == pytest.approx(eps, rel=1e-9)
    assert known.mu == pytest.approx(mu, rel=1e-9)


def test_what_is_not_affine_in_the_noise_has_no_truth() -> None:
    assert truth(_program(THREE, "replace", "return abs(x.sum() + rng.laplace())")) is None
    assert truth(_program(THREE, "replace", "return int(x.sum() + 1.5 * rng.laplace())")) is None


def test_one_sided_differences_have_the_slope_of_the_worse_tail_in_one_order_only() -> None:
    """Two releases whose worse tails lie on different sides cost less than twice the worse tail."""
    body = "return s + rng.exponential(1.0) - rng.exponential(2.0), s + rng.exponential(2.0) - rng.exponential(1.0)"
    known = truth(_program(BITS, "replace", f"s = x.sum()\n    {body}"))
    assert known is not None
    assert known.eps == pytest.approx(1.5)


def test_two_rates_by_enumeration() -> None:
    for p, q in ((0.5, 0.25), (0.3, 0.6)):
        one, two = ((1 - rate) ** np.arange(400) * rate for rate in (p, q))
        law = np.convolve(one, two[::-1])[399 - 50 : 399 + 51]
        steps = np.abs(np.diff(np.log(law)))
        known = truth(_program(BITS, "replace", f"return x.sum() + rng.geometric({p}) - rng.geometric({q})"))
        assert known is not None
        assert known.eps == pytest.approx(steps.max(), rel=1e-9)


def test_the_largest_with_gumbel_noise_is_softmax() -> None:
    values = np.array([0.0, 1.0, 2.5])
    found = chances_of_the_largest(values, [Draw("gumbel", 2.0)] * 3, np.ones(3))
    np.testing.assert_allclose(found, np.exp(values / 2) / np.exp(values / 2).sum(), rtol=1e-4)


def test_the_smallest_with_exponential_noise_costs_by_the_number_of_cells() -> None:
    even, odd = (
        chances_of_the_largest(-np.array([d, 0.0, 0.0]), [Draw("exponential", 1.0)] * 3, -np.ones(3))
        for d in (0.0, 1.0)
    )
    assert math.log(even[0] / odd[0]) == pytest.approx(2.0, abs=1e-3)
    assert even.sum() == pytest.approx(1, abs=1e-3)


def test_the_smallest_with_gumbel_noise_has_no_bounded_hazard() -> None:
    """(14, 2, 2, 2) and (15, 1, 2, 2) with scale 2: the log ratio is 1.993, nearly twice what argmax has."""
    draws, minus = [Draw("gumbel", 2.0)] * 4, -np.ones(4)
    one, other = (chances_of_the_largest(-np.array(each), draws, minus) for each in ([5.0] * 4, [6.0, 4.0, 5.0, 5.0]))
    assert abs(np.log(one / other)).max() == pytest.approx(0.902, abs=2e-3)


@pytest.mark.parametrize(
    ("rule", "noise", "least"),
    [
        ("argmax", "+ rng.laplace(scale=1.0, size=3)", 1.0),
        ("argmin", "+ rng.exponential(1.0, size=3)", 2.2),
        ("argmax", "+ rng.gumbel(scale=1.0, size=3)", 1.0),
        ("argmax", "+ rng.laplace(scale=1.0)", math.inf),
    ],
)
def test_choices_are_integrated(rule: str, noise: str, least: float) -> None:
    known = truth(_program(THREE, "replace", f"return {HIST} {noise}", rule))
    assert known is not None
    assert known.eps >= least
    assert not math.isinf(known.eps) or math.isinf(least)
