"""Half the noise, in one line of code at a time: is it contradicted, with that file and line?

    python -m benchmarks.tape_halved [--transcripts 10] [-k EXPR]

For every subject of the suite whose trace conforms to its ledger, every line that draws noise which moves is halved in
the source (the sampler's call is replaced by 0.5 * call, or its width or number of flips is halved where the law is one
of whole numbers), and the subject is traced again with its ledger as it is. A line is done when one subject has been
tried with it.
Exit code 1 where a line is not contradicted at its own place.
"""

import argparse
import ast
import importlib
import inspect
import types
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dpverify.tape.trace import trace
from dpverify.verdicts import discovery

ROOT = Path(__file__).parents[1]
REAL = {"laplace", "normal", "standard_normal", "_gamma_difference", "standard_gamma", "gamma", "laplace_sum"}
WHOLE = {"discrete_laplace": 2, "discrete_gaussian": 2}  # place of the width among the arguments


class _Halve(ast.NodeTransformer):
    """Halves the sampler's call in a line."""

    def __init__(self, line: int) -> None:
        self.line, self.done = line, False

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if self.done or not node.lineno <= self.line <= (node.end_lineno or node.lineno):
            return node
        half = ast.copy_location(ast.Constant(0.5), node)
        if name in REAL:
            self.done = True
            return ast.copy_location(ast.BinOp(half, ast.Mult(), node), node)
        if name == "binomial" and node.args:
            self.done = True
            node.args[0] = ast.copy_location(ast.BinOp(node.args[0], ast.FloorDiv(), ast.Constant(2)), node)
        elif name in WHOLE and len(node.args) > WHOLE[name]:
            self.done = True
            at = WHOLE[name]
            node.args[at] = ast.copy_location(ast.BinOp(half, ast.Mult(), node.args[at]), node.args[at])
        return node


@contextmanager
def halved(file: Path, line: int) -> Iterator[bool]:
    """Inside, the code of `file` has half the noise at `line`; False where no sampler is called there."""
    tree, change = ast.parse(file.read_text(encoding="utf-8")), _Halve(line)
    tree = ast.fix_missing_locations(change.visit(tree))
    module = importlib.import_module(".".join(file.relative_to(ROOT).with_suffix("").parts))
    codes = {(code.co_qualname, code.co_firstlineno): code for code in _codes(compile(tree, str(file), "exec"))}
    changed: list[tuple[types.FunctionType, types.CodeType]] = []
    try:
        for function in _functions(module) if change.done else []:
            code = function.__code__
            new = codes.get((code.co_qualname, code.co_firstlineno))
            if new is not None and new != code:
                changed.append((function, code))
                function.__code__ = new
        yield bool(changed)
    finally:
        for function, code in changed:
            function.__code__ = code


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            yield from _codes(each)


def _functions(module: Any) -> Iterator[types.FunctionType]:
    for value in vars(module).values():
        kinds = vars(value).values() if inspect.isclass(value) and value.__module__ == module.__name__ else [value]
        for each in kinds:
            found = inspect.unwrap(each.fget if isinstance(each, property) else getattr(each, "__func__", each)) if (
                callable(each) or isinstance(each, (property, classmethod, staticmethod))) else None  # fmt: skip
            if isinstance(found, types.FunctionType) and found.__module__ == module.__name__:
                yield found


def place(site: str) -> tuple[Path, int] | None:
    """The file and line of a trace's site, which has the last two parts of the path only."""
    name, _, line = site.rpartition(":")
    for folder in ("mechanisms", "algorithms"):
        for file in sorted((ROOT / folder).rglob("*.py")):
            if str(file).endswith("/" + name):
                return file, int(line)
    return None


def main() -> int:
    """Prints a line for each line of noise, and the counts."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--transcripts", type=int, default=10)
    options.add_argument("-k", dest="expression", default="")
    given = options.parse_args()
    tried: dict[str, bool] = {}
    for subject in discovery.discover([Path("audits")], given.expression).subjects:
        if subject.expected != "NOT_REFUTED":
            continue
        asked: dict[str, Any] = {"pair": subject.pairs[0], "ledger": subject.ledger, "transcripts": given.transcripts}
        found = trace(subject.target, **asked, timeout=600.0)
        for site in {row.site for row in found.draws if row.moved} - tried.keys() if found.status == "CONFORMS" else ():
            where = place(site)
            if where is None:
                continue
            with halved(*where) as changed:
                if not changed:
                    print(f"no sampler: {site}")
                    continue
                again = trace(subject.target, **asked, timeout=600.0)
            seen = {reason.site for reason in again.reasons}
            tried[site] = again.status == "CONTRADICTED" and site in seen
            print(f"{'seen' if tried[site] else 'MISSED'} {site} by {subject.name}: {again.status} {again.reasons[:1]}",
                  flush=True)  # fmt: skip
    print(f"{sum(tried.values())} of {len(tried)} lines are contradicted at their own place")
    return int(not all(tried.values()) or not tried)


if __name__ == "__main__":
    raise SystemExit(main())
