"""Lower bound and ledger side by side, at the size of the experiments; bugs planted there must be caught.

    python -m benchmarks.full_size [--only NAME]... [--planted] [--seed S] [--json F]

One row a learner: the ledger's eps, the witness (exact, given the noise laws), the tap (those laws, tested on all other
noise at significance 1e-6), CPU seconds and peak memory; each row in a process of its own. `--planted` adds half of the
noise, 99 % of it, one draw for all cells and one draw for all steps. Exit code 1 where an honest row is above its
ledger, more than 2 % below it or fails its tap, where a planted one is not caught, or where a row needs more than 120 s
or 2 GB.
"""

import argparse
import json
import resource
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from algorithms.instances import full_size, NAMES
from algorithms.noise_tap import SIGNIFICANCE
from audits.planted.node_noise import OneDrawForAll, SharedByCells, SlightlyLess
from mechanisms.counters.node_noise import Laplace, Noise

SECONDS, MEGABYTES, SHARE = 120.0, 2048.0, 0.98
Law = Callable[[Laplace], Noise]
LAWS: dict[str, Law] = {
    "99 % of the noise": lambda node: SlightlyLess(node.scale),
    "shared by cells": lambda node: SharedByCells(node.scale),
    "one draw for all": lambda node: OneDrawForAll(node.scale),
}
HALF = "half the noise"


class Row(NamedTuple):
    """One line of the table."""

    name: str
    bug: str | None
    users: int
    claimed: float
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

    @property
    def caught_by(self) -> str:
        """What contradicts the ledger."""
        found = [*(["witness"] * (self.lower > self.upper)), *([] if self.tap else ["tap"])]
        return ", ".join(found) or "-"

    @property
    def as_expected(self) -> bool:
        """Honest rows within 2 % below the ledger, planted ones caught; all within time and memory."""
        good = self.caught_by != "-" if self.bug else self.caught_by == "-" and self.lower >= SHARE * self.upper
        return good and self.seconds <= SECONDS and self.peak_mb <= MEGABYTES


def row(name: str, bug: str | None, seed: int, users: int | None = None) -> Row:
    """Runs one line; meant for a process of its own, whose peak memory it reports."""
    instance = full_size(name, noise=0.5 if bug == HALF else 1.0, law=LAWS.get(bug or ""), users=users)
    found = instance.witness(seed)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return Row(
        name,
        bug,
        instance.users,
        instance.claim.eps,
        found.lower,
        instance.upper,
        found.moved,
        found.nodes,
        found.tap.draws,
        found.tap.ok,
        found.tap.ratio,
        found.tap.p_values,
        found.seconds,
        peak,
        found.transcript,
    )


def rows(only: list[str], planted: bool, seed: int) -> list[tuple[str, str | None, int]]:
    """What is run: honest rows, then half the noise everywhere and hidden bugs on a tree."""
    found: list[tuple[str, str | None, int]] = [(name, None, seed) for name in only]
    if planted:
        found += [(name, HALF, seed) for name in only]
        found += [(name, bug, seed) for name in only if name == "dp-ucbvi-jdp" for bug in LAWS]
    return found


def main() -> int:
    """Prints the table; see the module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=NAMES)
    parser.add_argument("--planted", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    print(f"{'learner':16}{'bug':20}{'users':>7}{'lower':>8}{'ledger':>8}{'tap: draws':>12}{'|z|/b':>8}", end="")
    print(f"{'least p':>9}  {'caught by':14}{'CPU s':>6}{'MB':>6}")
    done: list[Row] = []
    with ProcessPoolExecutor(max_workers=1, max_tasks_per_child=1) as pool:
        for each in pool.map(row, *zip(*rows(given.only or list(NAMES), given.planted, given.seed), strict=True)):
            done.append(each)
            least = min(each.tap_p_values.values())
            print(f"{each.name:16}{each.bug or '':20}{each.users:7}{each.lower:8.4f}{each.upper:8.4f}", end="")
            print(f"{each.draws:12}{each.tap_ratio:8.4f}{least:9.1e}  {each.caught_by:14}", end="")
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
