"""Lower bound and ledger side by side, at the size of the experiments; bugs planted there must be caught.

    python -m benchmarks.full_size [--only NAME]... [--planted] [--seed S] [--json F]

One row a learner: the ledger, the witness (in the ledger's unit; exact given the noise laws, or as `kind` says), the
tap (those laws, tested on all other noise at significance 1e-6), the code's own scales against the ledger's (online
rows: CONFORMS or CONTRADICTED), CPU seconds and peak memory; local rows with the eps of one-run canaries; each row in a
process of its own. `--planted` adds half of the noise, 99 % of it, one draw
for all cells and one draw for all steps to every learner, and features as printed to DP-VAPVI. Exit code 1 where an
honest row is above its ledger, below the share of it that is asked (.98; DP-VAPVI .3) or fails its tap, where a planted
one is not caught, or where a row needs more than 120 s or 2 GB.
"""

import argparse
import json
import resource
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from algorithms.instances import full_size, FullSizeOnline, NAMES
from algorithms.noise_tap import SIGNIFICANCE
from audits.planted.draws import OneDrawForAll, shared_by_cells, SlightlyLess
from dpverify.tape.sources import Change

SECONDS, MEGABYTES = 120.0, 2048.0
CHANGES: dict[str, Callable[[], Change]] = {
    "99 % of the noise": SlightlyLess,
    "shared by cells": lambda: shared_by_cells,
    "one draw for all": OneDrawForAll,
}
HALF, LONG = "half the noise", "features as printed"


class Row(NamedTuple):
    """One line of the table."""

    name: str
    bug: str | None
    users: int
    claim: str
    unit: str
    kind: str
    least: float
    canaries: float | None
    lower: float
    upper: float
    moved: int
    nodes: int
    draws: int
    tap: bool
    tap_ratio: float
    tap_p_values: dict[str, float]
    seconds: float
    peak_mb: float
    transcript: str
    code: str = ""

    @property
    def caught_by(self) -> str:
        """What contradicts the ledger."""
        found = [*(["witness"] * (self.lower > self.upper)), *(["code"] * (self.code == "CONTRADICTED"))]
        found += [] if self.tap else ["tap"]
        return ", ".join(found) or "-"

    @property
    def as_expected(self) -> bool:
        """Honest rows at or close below the ledger, planted ones caught; all within time and memory."""
        good = self.caught_by != "-" if self.bug else self.caught_by == "-" and self.lower >= self.least * self.upper
        return good and self.seconds <= SECONDS and self.peak_mb <= MEGABYTES


def row(name: str, bug: str | None, seed: int, users: int | None = None) -> Row:
    """Runs one line; meant for a process of its own, whose CPU seconds and peak memory it reports."""
    begin = time.process_time()
    change = CHANGES[bug]() if bug in CHANGES else None
    features: Any = "printed" if bug == LONG else "scaled"
    instance = full_size(name, noise=0.5 if bug == HALF else 1.0, change=change, users=users, features=features)
    found = instance.witness(seed)
    guessed = instance.canaries(seed) if isinstance(instance, FullSizeOnline) and instance.local else None
    return Row(
        name=name,
        bug=bug,
        users=instance.users,
        claim=str(instance.claim),
        unit=found.unit,
        kind=found.kind,
        least=instance.least,
        canaries=guessed.eps_lower if guessed else None,
        lower=found.lower,
        upper=instance.upper,
        moved=found.moved,
        nodes=found.nodes,
        draws=found.tap.draws,
        tap=found.tap.ok,
        tap_ratio=found.tap.ratio,
        tap_p_values=found.tap.p_values,
        seconds=time.process_time() - begin,
        peak_mb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        transcript=found.transcript,
        code=found.code,
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
    print(f"{'learner':16}{'bug':20}{'users':>7} {'unit':17}{'lower':>8}{'ledger':>8}{'canaries':>9}", end="")
    print(f"{'tap: draws':>12}{'scale':>8}{'least p':>9}  {'code':13}{'caught by':20}{'CPU s':>6}{'MB':>6}")
    done: list[Row] = []
    with ProcessPoolExecutor(max_workers=1, max_tasks_per_child=1) as pool:
        for each in pool.map(row, *zip(*rows(given.only or list(NAMES), given.planted, given.seed), strict=True)):
            done.append(each)
            least = min(each.tap_p_values.values())
            guessed = "" if each.canaries is None else f"{each.canaries:.2f}"
            print(f"{each.name:16}{each.bug or '':20}{each.users:7} {each.unit:17}{each.lower:8.4f}", end="")
            print(
                f"{each.upper:8.4f}{guessed:>9}{each.draws:12}{each.tap_ratio:8.4f}{least:9.1e}  ",
                end="",
            )
            print(f"{each.code:13}{each.caught_by:20}", end="")
            print(
                f"{each.seconds:6.1f}{each.peak_mb:6.0f}{'' if each.as_expected else '  NOT AS EXPECTED'}", flush=True
            )
    print(f"lower: exact, given the laws; they are tested on the draws shown, at significance {SIGNIFICANCE:g} a row")
    if given.json:
        content: Any = [{**each._asdict(), "caught_by": each.caught_by} for each in done]
        given.json.write_text(json.dumps({"seed": given.seed, "rows": content}, indent=1) + "\n", encoding="utf-8")
    return 0 if all(each.as_expected for each in done) else 1


if __name__ == "__main__":
    raise SystemExit(main())
