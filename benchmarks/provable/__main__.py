"""How many programs are proved: `python -m benchmarks.provable [NAME]`.

Right programs: proved, with the exact number where one is known; else the line that stands in the way. Wrong ones:
none may be proved. A NAME shows one program with its proof.
"""

import importlib
import math
import statistics
import sys
from dataclasses import dataclass
from typing import Any

from benchmarks.provable.table import PROGRAMS, Row, ROWS
from dpverify.errors import UsageError
from dpverify.proof import Proof, prove


@dataclass(frozen=True)
class Result:
    """A row and what was proved of it; `problem` where it is no program with neighbours."""

    row: Row
    proof: Proof | None
    problem: str = ""

    @property
    def holds(self) -> bool:
        """Whether the claim was proved."""
        return self.proof is not None and self.proof.holds

    @property
    def why(self) -> str:
        """What stands in the way, or the numbers that are proved."""
        if self.proof is None:
            return self.problem
        if self.proof.ended is not None:
            return str(self.proof.ended)
        return f"proved: eps {self.proof.eps:g}, rho {self.proof.rho:g}, mu {self.proof.mu:g}"

    @property
    def exact(self) -> bool | None:
        """Whether the proved number is the closed form to 1e-9; None where none is known."""
        if self.row.exact is None or self.proof is None or not self.holds:
            return None
        notion = self.row.claim.partition(":")[0]
        found = {"pure": self.proof.eps, "zcdp": self.proof.rho, "gdp": self.proof.mu}.get(notion)
        return None if found is None else math.isclose(found, self.row.exact, rel_tol=1e-9)


def function_of(row: Row) -> Any:
    """The program of a row."""
    module = importlib.import_module(f"benchmarks.provable.programs.{row.path.relative_to(PROGRAMS).stem}")
    return getattr(module, row.function)


def prove_row(row: Row) -> Result:
    """One row."""
    try:
        found = prove(function_of(row), data=row.data, relation=row.relation, claim=row.claim)
    except UsageError as error:
        return Result(row, None, str(error))
    return Result(row, found)


def main(names: list[str]) -> int:
    """Prints the table; 1 where a wrong program is proved."""
    results = [prove_row(row) for row in ROWS if not names or row.name in names]
    right = [each for each in results if each.row.right]
    wrong = [each for each in results if not each.row.right]
    for each in right:
        if not each.holds or each.exact is False or names:
            mark = "proved" if each.holds else "open"
            print(
                f"{mark:<7} {each.row.file}:{each.row.name}: {each.why}"
                + (f" (exact {each.row.exact:g})" if each.exact is False else "")
            )
    for each in wrong:
        if each.holds or names:
            print(f"{'FALSE' if each.holds else 'refused':<7} {each.row.file}:{each.row.name}: {each.why}")
    seconds = [each.proof.seconds for each in results if each.proof is not None]
    exact = [each.exact for each in right if each.exact is not None]
    print(
        f"right: {sum(each.holds for each in right)} of {len(right)} proved, "
        f"{sum(exact)} of {len(exact)} with the exact number"
    )
    print(f"wrong: {sum(each.holds for each in wrong)} of {len(wrong)} proved")
    if seconds:
        print(f"seconds: median {statistics.median(seconds):.3f}, largest {max(seconds):.3f}")
    return int(any(each.holds for each in wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
