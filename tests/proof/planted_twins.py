"""The planted twins: programs each of which breaks one rule of a proof, and their right neighbours.

A program is a function of a module of `twins/`. A line of its docstring is a row of the table:

    DATA; RELATION; EPS; RULE; PART[; exact[=EPS]][; mu=MU][; rho=RHO][; claim=CLAIM][; PARAMETER=VALUE]...

EPS, MU, RHO are lower bounds of the truth, none of which a proof may fall below. Without MU or RHO an infinite EPS
means that no privacy of any kind holds. `exact`: the program is right, and a good prover finds the figures themselves;
with a value, that is the figure of the best known rule. RULE is a number of section 1 or a word of section 3 of the
rules. PART is `a` or `b`, the order in which rules are built, or `later`.
"""

import importlib
import inspect
import math
from ast import literal_eval
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MODULES = (
    "noise",
    "drawn",
    "gaps",
    "choices",
    "rows",
    "tables",
    "hiding",
    "imported",
    "seeded",
    "unseeded",
    "warned",
    "memory",
    "looking",
    "laws",
    "views",
    "slots",
    "scopes",
    "operands",
    "places",
    "truths",
    "pandas_ends",
    "axes",
    "checked",
    "meanings",
    "unseen",
    "numbers_beyond",
    "hidden_state",
    "called_back",
    "surroundings",
    "turned",
    "generators",
    "filled",
    "read_later",
    "identities",
)
PARTS = ("a", "b", "later")


@dataclass(frozen=True)
class Row:
    """One program under one schema and one relation."""

    function: Callable[..., Any]
    data: str
    relation: str
    eps: float
    rule: str
    part: str
    mu: float = 0.0
    rho: float = 0.0
    exact: float | None = None
    claim: str = ""
    arguments: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Of the row in lists and in the tests' names: module.function, then what tells it from others."""
        where = f"{self.function.__module__.rpartition('.')[2]}.{self.function.__name__}"
        given = "".join(f" {name}={value!r}" for name, value in self.arguments.items())
        return f"{where}{given} {self.relation} {self.data}"

    @property
    def right(self) -> bool:
        """The program has a proof."""
        return self.exact is not None

    @property
    def asked(self) -> str:
        """A claim that is false: next to nothing below the truth, or a million where nothing holds."""
        if self.claim:
            return self.claim
        return "pure:1e6" if math.isinf(self.eps) else f"pure:{0.999 * self.eps!r}"


def _number(text: str) -> float:
    return float(eval(text, {"__builtins__": {}}, vars(math)))


def _row(function: Callable[..., Any], line: str) -> Row:
    data, relation, eps, rule, part, *rest = (each.strip() for each in line.split(";"))
    known: dict[str, Any] = {}
    arguments = {}
    for each in rest:
        name, _, value = each.partition("=")
        if name == "exact":
            known[name] = _number(value or eps)
        elif name in ("mu", "rho"):
            known[name] = _number(value)
        elif name == "claim":
            known[name] = value
        else:
            arguments[name] = literal_eval(value)
    truth = _number(eps)
    if math.isinf(truth) and "mu" not in known:
        known |= {"mu": math.inf, "rho": math.inf}
    return Row(function, data, relation, truth, rule, part, arguments=arguments, **known)


def _functions(name: str) -> Iterator[Callable[..., Any]]:
    module = importlib.import_module(f"proof.twins.{name}")
    for each in list(vars(module).values()):
        if inspect.isfunction(each) and each.__module__ == module.__name__ and each.__doc__:
            yield each


def read_rows() -> list[Row]:
    """The rows of all modules, in their order; settings of NumPy, of generators and of warnings are as before."""
    import random
    import warnings

    import numpy as np

    errors, numbers, global_numbers = np.geterr(), random.getstate(), np.random.get_state()  # noqa: NPY002
    try:
        with warnings.catch_warnings():
            return [_row(each, line) for name in MODULES for each in _functions(name) for line in _lines(each)]
    finally:
        np.seterr(**errors)
        random.setstate(numbers)
        np.random.set_state(global_numbers)  # noqa: NPY002


def _lines(function: Callable[..., Any]) -> list[str]:
    return [line for line in inspect.cleandoc(function.__doc__ or "").splitlines() if line.strip()]


ROWS = read_rows()
FOLDER = Path(__file__).parent / "twins"
