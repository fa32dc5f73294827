"""Programs rebuilt from public reports of privacy bugs: a wrong and a right twin of each, with the true eps.

Each program is a plain function of its data, as its users write them. `REPORTS` says what is claimed of it and how its
data look; `wrong` claims are false by the derivation in the docstring, `right` ones are true. The worst pair of most of
them is a special one (the first rows, a class that loses its last member, columns that move in opposite directions), so
they measure which pairs `dpverify certify --data` tries. The code is ours; reports are not quoted.

    dpverify certify benchmarks/public_reports.py:tree_of_three_levels --claim pure:1 \
        --data 'list: integer 0..1, rows 8' --relation replace
    python -m benchmarks.public_reports        # all of them, with three seeds each
"""
# ruff: noqa: NPY002 - people draw from numpy.random

import math
import random
import subprocess
import sys
import time
from collections import Counter
from typing import Any, NamedTuple

import numpy as np


class Report(NamedTuple):
    """A function of this file, whether its claim is false, the claim, its data and the relation."""

    function: str
    wrong: bool
    claim: str
    data: str
    relation: str


# ----------------------------------------------------------------------------------------------------------------------
# Prefix sums by a binary tree over eight bits.


def _tree(values: list[int], scale: float) -> list[float]:
    """Prefix sums; every node of the tree has one Laplace noise of this scale."""
    nodes: dict[tuple[int, int], float] = {}
    found = []
    for end in range(1, len(values) + 1):
        total, start = 0.0, 0
        for size in (8, 4, 2, 1):
            if end & size:
                if (start, size) not in nodes:
                    nodes[start, size] = sum(values[start : start + size]) + np.random.laplace(scale=scale)
                total, start = total + nodes[start, size], start + size
        found.append(total)
    return found


def tree_of_three_levels(values: list[int]) -> list[float]:
    """A bit is in up to four nodes (sizes 1, 2, 4, 8) and the noise is for three: eps 4/3, of the first bit alone.

    The first bit is in the nodes of the prefixes 1, 2, 4 and 8; the second one in those of 2, 4 and 8, and so on.
    """
    return _tree(values, 3.0)


def tree_of_four_levels(values: list[int]) -> list[float]:
    """Noise for four nodes: eps 1."""
    return _tree(values, 4.0)


# ----------------------------------------------------------------------------------------------------------------------
# Teachers who vote; the majority of noisy votes is released.


def _majority(parts: list[list[str]]) -> int:
    votes = sum(2 * part.count("y") > len(part) for part in parts)
    yes = votes + np.random.laplace(scale=2.0)
    no = len(parts) - votes + np.random.laplace(scale=2.0)
    return int(yes > no)


def teachers_of_the_first_rows(values: list[str]) -> int:
    """All five teachers see the same first fifth: one of its rows turns all votes, noise is for one: eps above 2."""
    part = values[: max(1, len(values) // 5)]
    return _majority([part] * 5)


def teachers_of_their_own_rows(values: list[str]) -> int:
    """Each row has one teacher: one vote turns, both counts move by one, two noises of scale 2: eps at most 1."""
    return _majority([values[at::5] for at in range(5)])


# ----------------------------------------------------------------------------------------------------------------------
# Which of two columns is farther from all zeros: a choice by scores.


def _chosen_column(rows: list[dict[str, int]], sensitivity: float) -> str:
    """Exponential mechanism of eps 1 for scores that move by `sensitivity`: the number of ones less that of zeros."""
    scores = [sum(1 if row[name] else -1 for row in rows) for name in ("x", "y")]
    weights = [math.exp((each - max(scores)) / (2 * sensitivity)) for each in scores]
    return random.choices(["x", "y"], weights=weights)[0]


def columns_of_sensitivity_one(rows: list[dict[str, int]]) -> str:
    """A score moves by 2, two scores by 2 in opposite directions: the log ratio of weights moves by 4/2 = 2.

    eps is above 1 only where one column rises while the other falls: 1.43 where both are balanced, near 2 at the ends.
    """
    return _chosen_column(rows, 1.0)


def columns_of_sensitivity_two(rows: list[dict[str, int]]) -> str:
    """Scores move by 2: eps 1."""
    return _chosen_column(rows, 2.0)


# ----------------------------------------------------------------------------------------------------------------------
# How many different items were bought; a user counts with one item.


def distinct_of_spread_users(rows: list[dict[str, Any]]) -> float:
    """Only rows of one user that stand side by side are bounded: spread ones count each, up to 4 items: eps 4."""
    items, last = set(), None
    for row in rows:
        if row["who"] != last:
            items.add(row["item"])
        last = row["who"]
    return len(items) + np.random.laplace()


def distinct_of_early_users(rows: list[dict[str, Any]]) -> float:
    """Bounding begins after the first four rows: a user who has them counts with up to 4 items: eps 4."""
    items, seen = set(), set()
    for at, row in enumerate(rows):
        if at < 4 or row["who"] not in seen:
            items.add(row["item"])
        seen.add(row["who"])
    return len(items) + np.random.laplace()


def distinct_of_bounded_users(rows: list[dict[str, Any]]) -> float:
    """Each user counts with the smallest of its items, and one user moves the number by one: eps 1."""
    own: dict[Any, str] = {}
    for row in rows:
        own[row["who"]] = min(own.get(row["who"], row["item"]), row["item"])
    return len(set(own.values())) + np.random.laplace()


# ----------------------------------------------------------------------------------------------------------------------
# Counts by group.


def counts_from_three_on(values: list[str]) -> dict[str, float]:
    """Groups of fewer than three are left out by their true count: from 2 to 3 a key appears: eps infinite."""
    return {group: count + np.random.laplace() for group, count in sorted(Counter(values).items()) if count >= 3}


def counts_of_all_groups(values: list[str]) -> dict[str, float]:
    """All public groups have a noisy count, and it is left out where it is small itself: eps 1."""
    noisy = {group: values.count(group) + np.random.laplace() for group in "abc"}
    return {group: count for group, count in noisy.items() if count >= 3}


def sums_of_present_classes(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Classes that occur have a noisy sum: the key goes when a class loses its last member: eps infinite."""
    classes = sorted({row["group"] for row in rows})
    return {each: sum(row["x"] for row in rows if row["group"] == each) + np.random.laplace() for each in classes}


def sums_of_public_classes(rows: list[dict[str, Any]]) -> dict[str, float]:
    """All classes of the schema have a noisy sum: one row moves one of them by at most 1: eps 1."""
    return {each: sum(row["x"] for row in rows if row["group"] == each) + np.random.laplace() for each in "abcd"}


# ----------------------------------------------------------------------------------------------------------------------
# One value of one user; noise is left out now and then.


def one_in_ten_passes(value: float) -> float:
    """With chance .1 the value itself is released: that output has chance .1 against 0: eps infinite."""
    return value if random.random() < 0.1 else value + np.random.laplace(scale=0.5)


def one_in_ten_passes_clipped(value: float) -> float:
    """The same with noisy values clipped to [0, 1]: the value itself has chance .1 against 0, eps infinite."""
    return value if random.random() < 0.1 else min(1.0, max(0.0, value + np.random.laplace(scale=0.5)))


def one_in_ten_is_dropped(value: float) -> float:
    """With chance .1 the middle is released instead, which is public: eps 2."""
    return 0.5 if random.random() < 0.1 else value + np.random.laplace(scale=0.5)


BITS, VOTES = "list: integer 0..1, rows 8", "list: category y|n, rows 5..20"
COLUMNS = "records: x integer 0..1, y integer 0..1, rows 6..20"
ITEMS = "records: who unit 4, item category a|b|c|d|e|f, rows 6..20"
GROUPS, CLASSES = "list: category a|b|c, rows 3..20", "records: group category a|b|c|d, x real 0..1, rows 4..20"
ONE = "value: real 0..1"
REPORTS = (
    Report("tree_of_three_levels", True, "pure:1", BITS, "replace"),
    Report("tree_of_four_levels", False, "pure:1", BITS, "replace"),
    Report("teachers_of_the_first_rows", True, "pure:1", VOTES, "replace"),
    Report("teachers_of_their_own_rows", False, "pure:1", VOTES, "replace"),
    Report("columns_of_sensitivity_one", True, "pure:1", COLUMNS, "replace"),
    Report("columns_of_sensitivity_two", False, "pure:1", COLUMNS, "replace"),
    Report("distinct_of_spread_users", True, "pure:1", ITEMS, "add-remove"),
    Report("distinct_of_early_users", True, "pure:1", ITEMS, "add-remove"),
    Report("distinct_of_bounded_users", False, "pure:1", ITEMS, "add-remove"),
    Report("counts_from_three_on", True, "pure:1", GROUPS, "add-remove"),
    Report("counts_of_all_groups", False, "pure:1", GROUPS, "add-remove"),
    Report("sums_of_present_classes", True, "pure:1", CLASSES, "add-remove"),
    Report("sums_of_public_classes", False, "pure:1", CLASSES, "add-remove"),
    Report("one_in_ten_passes", True, "pure:2", ONE, "replace"),
    Report("one_in_ten_passes_clipped", True, "pure:2", ONE, "replace"),
    Report("one_in_ten_is_dropped", False, "pure:2", ONE, "replace"),
)


def said_of(report: Report, seed: int) -> str:
    """The first line of what `dpverify certify --data` says with default settings."""
    command = [sys.executable, "-m", "dpverify", "certify", f"{__file__}:{report.function}", "--claim", report.claim]
    command += ["--data", report.data, "--relation", report.relation, "--seed", str(seed)]
    return subprocess.run(command, capture_output=True, text=True).stdout.partition("\n")[0]


def main() -> None:
    """Prints what is said of each program with three seeds, and after how many seconds."""
    for report in REPORTS:
        for seed in (1, 2, 3):
            started = time.monotonic()
            said = said_of(report, seed)
            print(
                f"{report.function:<28} {'wrong' if report.wrong else 'right'} seed {seed} "
                f"{time.monotonic() - started:5.1f} s  {said}",
                flush=True,
            )


if __name__ == "__main__":
    main()
