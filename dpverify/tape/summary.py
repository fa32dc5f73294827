"""The table of a trace: which line of code drew what, and how far the values moved that it was added to."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpverify.tape.forced import Forced, Moved
from dpverify.tape.transcript import site_text


@dataclass(frozen=True)
class DrawSummary:
    """The draws of one line of code in one law: how many, how many of them moved, and how far.

    `shift_max`, `shift_l1` and `shift_l2` are the largest over transcripts, in units of the value.
    """

    site: str
    family: str
    scale: float
    count: int
    moved: int
    shift_max: float
    shift_l1: float
    shift_l2: float
    alignment: str


def summaries(runs: Sequence[Forced], alignment: str) -> tuple[DrawSummary, ...]:
    """By site, law and scale: counts of the first run, largest shifts over all."""
    if not runs:
        return ()
    counts: dict[tuple[str, str], int] = {}
    for draw in runs[0].first.transcript.draws:
        key = site_text(draw.site), draw.family
        counts[key] = counts.get(key, 0) + draw.count
    for entry in runs[0].first.transcript.entries:
        if entry.given is not None and entry.site[0]:
            key = site_text(entry.site), entry.families[0]
            counts[key] = counts.get(key, 0) + 1
    found: dict[tuple[str, str], list[tuple[int, float, float, float, float, str]]] = {}
    for run in runs:
        by_key: dict[tuple[str, str], list[Moved]] = {}
        for moved in run.moved:
            by_key.setdefault((moved.site, moved.family), []).append(moved)
        for key, group in by_key.items():
            shifts = np.concatenate([each.shift for each in group])
            size = np.abs(shifts)
            width = float(np.concatenate([each.scale for each in group]).min())
            kind = group[0].kind
            row = len(size), float(size.max()), float(size.sum()), float(np.sqrt((size**2).sum())), width, kind
            found.setdefault(key, []).append(row)
    rows = []
    for key in {**counts, **dict.fromkeys(found)}:
        seen = found.get(key, [])
        kind = "decision" if any(each[5] == "decision" for each in seen) else alignment
        rows.append(
            DrawSummary(
                site=key[0],
                family=key[1],
                scale=min((each[4] for each in seen), default=math.nan),
                count=counts.get(key, 0),
                moved=max((each[0] for each in seen), default=0),
                shift_max=max((each[1] for each in seen), default=0.0),
                shift_l1=max((each[2] for each in seen), default=0.0),
                shift_l2=max((each[3] for each in seen), default=0.0),
                alignment=kind,
            )
        )
    return tuple(rows)
