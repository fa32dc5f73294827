"""The table of full size with bugs planted there, which must be caught.

    python -m benchmarks.full_size [--only NAME]... [--planted] [--seed S] [--json F]

The honest rows are those of `python -m algorithms.experiments full-size`. `--planted` adds half of the noise, 99 % of
it, one draw for all cells and one draw for all steps to every learner, and features as printed to DP-VAPVI. Exit code
1 where an honest row is not as expected, a planted one is not caught, or a row needs more than 120 s or 2 GB.
"""

import argparse
import json
from collections.abc import Callable
from pathlib import Path

from algorithms.core.noise_tap import SIGNIFICANCE
from algorithms.experiments import full_size
from algorithms.experiments.full_size import FullSizeRow
from algorithms.instances import NAMES
from audits.planted.draws import OneDrawForAll, shared_by_cells, SlightlyLess
from dpverify.tape.sources import Change

CHANGES: dict[str, Callable[[], Change]] = {
    "99 % of the noise": SlightlyLess,
    "shared by cells": lambda: shared_by_cells,
    "one draw for all": OneDrawForAll,
}
HALF, LONG = "half the noise", "features as printed"


def row(name: str, bug: str | None, seed: int, users: int | None = None) -> FullSizeRow:
    """One line, with `bug` planted."""
    return full_size.row(
        name,
        seed,
        users=users,
        bug=bug,
        noise=0.5 if bug == HALF else 1.0,
        change=CHANGES[bug]() if bug in CHANGES else None,
        features="printed" if bug == LONG else "scaled",
    )


def rows(only: list[str], planted: bool, seed: int) -> list[tuple[str, str | None, int]]:
    """What is run: honest rows, then half the noise and hidden bugs everywhere."""
    found: list[tuple[str, str | None, int]] = [(name, None, seed) for name in only]
    if planted:
        found += [(name, bug, seed) for name in only for bug in (HALF, *CHANGES)]
        found += [(name, LONG, seed) for name in only if name == "dp-vapvi"]
    return found


def main() -> int:
    """Prints the table; see the module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=NAMES)
    parser.add_argument("--planted", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    print(full_size.heading())
    done: list[FullSizeRow] = []
    for each in full_size.one_by_one(row, rows(given.only or list(NAMES), given.planted, given.seed)):
        done.append(each)
        print(full_size.line(each), flush=True)
    print(f"lower: exact, given the laws; they are tested on the draws shown, at significance {SIGNIFICANCE:g} a row")
    if given.json:
        given.json.write_text(json.dumps(full_size.as_json(done, given.seed), indent=1) + "\n", encoding="utf-8")
    return 0 if all(each.as_expected for each in done) else 1


if __name__ == "__main__":
    raise SystemExit(main())
