"""The rehearsal ends a proof wherever a rule is wrong: rules are broken one by one, and each break has to be seen."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpverify import prove
from dpverify.proof import arithmetic, functions, Proof, proving, rehearsal
from dpverify.proof.arithmetic import apply, moved_node
from dpverify.proof.functions import METHODS, RULES
from dpverify.proof.rows import Domain
from dpverify.proof.terms import Public, Rows, Sum

DATA = "vector: real 0..10, rows 5..50"
rng = np.random.default_rng()


def clipped_mean(x):
    return np.clip(x, 0, 5).mean() + rng.laplace(scale=5 / len(x))


def total_of_a_copy(x):
    y = x.copy()
    y[y > 5] = 5
    return x.sum() + rng.laplace(scale=10)


def released_scale(x):
    scale = np.maximum(x.sum() + rng.laplace(scale=10), 3.0)
    return x.sum() + rng.laplace(scale=scale)


def two_sums(x):
    return np.array([x.sum(), (x > 5).sum()]) + rng.laplace(scale=10, size=2)


def checked(x):
    if x.max() > 9:
        return 0.0
    return x.sum() + rng.laplace(scale=10)


def by_type(x):
    return (x.sum() if isinstance(x, np.ndarray) else 0.0) + rng.laplace(scale=10)


def in_a_loop(x):
    total = 0.0
    for v in x:
        if v > 5:
            total += v
    return total + rng.laplace(scale=10)


def looked_at(x):
    return len([v for v in x if v > 5]) + rng.laplace(scale=1)


def of_a_dict(x):
    found = {"low": (x < 5).sum(), "high": (x > 5).sum()}
    return {name: count + rng.laplace(scale=2) for name, count in found.items()}


def _with(rule: Callable[..., Any], change: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def broken(run: Any, *args: Any, **kwargs: Any) -> Any:
        return change(run, rule(run, *args, **kwargs))

    return broken


def _twice(run: Any, found: Any) -> Any:
    return apply(run, "multiply", found, 2.0)


def _in_one_axis_more(run: Any, found: Any) -> Any:
    term = found.term
    if isinstance(term, Sum):
        node = moved_node(run, term.node, lambda each: np.asarray(each).reshape((1, *term.shape)))
        return run.symbol(Sum(node, term.powers, term.offset))
    return found


def _above_ten(run: Any, found: Any) -> Any:
    if isinstance(found.term, Public):
        found.term.low = max(found.term.low, 1e6)
    return found


def _without_its_condition(run: Any, found: Any) -> Any:
    return run.symbol(Rows(found.term.node), found.guise) if isinstance(found.term, Rows) else found


BROKEN = {  # a rule, its program, and how it is broken
    "a sum is twice as large": (METHODS, "sum", two_sums, _twice),
    "a mean is twice as large": (METHODS, "mean", clipped_mean, _twice),
    "nothing is clipped": (RULES, np.clip, clipped_mean, None),
    "a sum has one axis more": (METHODS, "sum", by_type, _in_one_axis_more),
    "a lower end is too high": (RULES, np.maximum, released_scale, _above_ten),
}


def proved(function: Callable[..., Any]) -> Proof:
    return prove(function, data=DATA)


def is_seen(proof: Proof) -> bool:
    return proof.ended is not None and "on example data" in str(proof.ended)


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_rule_is_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table, key, program, change = BROKEN[name]
    right = proved(program)
    assert right.ended is None
    rule = table[key]
    broken = _with(rule, change) if change else lambda run, value, *args, **kwargs: value
    monkeypatch.setitem(table, key, broken)
    assert is_seen(proved(program))


def test_a_rule_that_copies_nothing_does_no_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METHODS, "copy", lambda run, value: value)
    assert proved(total_of_a_copy).eps == 1.0


def test_conditions_that_are_taken_for_certain_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    never = lambda op, ranges: (np.zeros(()), np.zeros(()))  # noqa: E731
    monkeypatch.setattr(arithmetic, "_truth_range", never)
    assert is_seen(proved(checked))


def test_types_that_are_mistaken_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    assert proved(by_type).eps == 1.0
    monkeypatch.setattr(functions, "real_type", lambda run, value: list)
    assert is_seen(proved(by_type))


def test_sums_that_a_loop_collects_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    from dpverify.proof import programs

    assert proved(in_a_loop).eps == 1.0
    monkeypatch.setattr(programs, "path_mask", lambda run, scope: scope.mask)  # both branches for all rows
    assert is_seen(proved(in_a_loop))


def test_rows_that_a_condition_chooses_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    from dpverify.proof import programs

    assert proved(looked_at).eps == 1.0
    right = programs._of_rows
    monkeypatch.setattr(programs, "_of_rows", _with(right, _without_its_condition))
    assert is_seen(proved(looked_at))


def test_moves_that_are_too_small_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    from dpverify.proof import moves

    right = moves.Pairs.moves
    monkeypatch.setattr(moves.Pairs, "moves", lambda *given: tuple(0.5 * each for each in right(*given)))
    assert "moves by" in str(proved(two_sums).ended)


def test_the_order_of_keys_is_compared() -> None:
    examples = rehearsal.Examples(Domain([]), (), None)
    said = {"low": 1, "high": 2}
    assert examples.difference(said, {"low": 1, "high": 2}) == ""
    assert examples.difference(said, {"high": 2, "low": 1}) == "a dict with other keys than in the proof"


@pytest.mark.parametrize("program", [clipped_mean, released_scale, of_a_dict, in_a_loop])
def test_it_says_the_same_each_time_and_leaves_no_trace(program, monkeypatch, capsys) -> None:
    states = repr(np.random.get_state()), random.getstate()  # noqa: NPY002
    first, second = proved(program), proved(program)
    assert (first.eps, first.ended) == (second.eps, second.ended)
    assert states == (repr(np.random.get_state()), random.getstate())  # noqa: NPY002
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr(proving, "rehearse", lambda *given: None)
    assert proved(program).eps == first.eps


def test_a_program_that_prints_and_draws_from_the_generator_of_the_process(tmp_path: Path, capsys) -> None:
    import importlib.util

    path = tmp_path / "printing.py"
    path.write_text(
        "import numpy as np\n\n\ndef f(x):\n    noisy = x.sum() + np.random.laplace(scale=10)\n"
        "    print(noisy)\n    return noisy\n"
    )
    spec = importlib.util.spec_from_file_location("printing", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    state = repr(np.random.get_state())  # noqa: NPY002
    assert proved(module.f).eps == 1.0
    assert repr(np.random.get_state()) == state  # noqa: NPY002
    assert capsys.readouterr() == ("", "")


def test_an_error_of_the_prover_is_no_proof_and_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*given: Any) -> None:
        raise IndexError("list index out of range")

    monkeypatch.setattr(proving, "rehearse", broken)
    proof = proved(clipped_mean)
    assert not proof.holds
    assert proof.eps == float("inf")
    assert "an error of the prover, please report it (IndexError" in str(proof.ended)


def in_many_steps(x):
    steps = 0
    for _ in range(30_000):
        steps += 1
    return x.sum() + rng.laplace(scale=10)


def test_what_is_too_large_to_be_rehearsed_is_not_proved_and_says_so() -> None:
    assert "more than 20,000 operations in one run" in str(proved(in_many_steps).ended)
    many = prove(two_sums, data="vector: real 0..10, rows 30000..50000")
    assert "the schema has 30,000 rows at least" in str(many.ended)
