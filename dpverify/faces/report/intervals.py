"""The interval plot lower / claim / upper: one bar a subject, all on one scale, in multiples of the claim.

A bar stands in its table row beside the numbers it draws, so the table is the plot's alternative.
"""

import math
from dataclasses import dataclass

from dpverify.verdicts.record import AuditRecord

LOW, HIGH = 1 / 4, 8.0  # multiples of the claim at the ends of the scale; beyond them an arrow is drawn
TICKS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
HEIGHT, PAD = 22, 4.0  # pixels; per cent of the width left free at each end


@dataclass(frozen=True)
class End:
    """One end of an interval: its place in per cent of the width, and whether it lies beyond the scale."""

    at: float
    beyond: bool


def place(value: float, claimed: float) -> End:
    """Where `value` lies on the scale; a non-positive or tiny value is beyond the left end."""
    ratio = value / claimed if claimed > 0 else math.inf
    inside = LOW <= ratio <= HIGH
    share = math.log(min(max(ratio, LOW), HIGH) / LOW) / math.log(HIGH / LOW)
    return End(PAD + share * (100 - 2 * PAD), not inside)


def bar(record: AuditRecord) -> str:
    """The subject's interval as a small SVG, as wide as its cell: lengths along it are per cents.

    Everything in it is in the claim's own unit. The numbers stand in the same row, so it is hidden from readers aloud.
    """
    lower, claim = place(record.number_lower, record.claimed), place(record.claimed, record.claimed)
    upper = None if record.number_upper is None else place(record.number_upper, record.claimed)
    right = upper.at if upper is not None else 100 - PAD
    refuted = record.number_lower > record.claimed
    parts = [_along(PAD, 100 - PAD, "scale")]
    parts.append(_along(min(lower.at, right), max(lower.at, right), "span" if upper is not None else "span unproved"))
    parts.append(_upright(claim.at, "claim", 1))
    if upper is not None:
        parts.append(_arrow(upper.at, "upper", 1) if upper.beyond else _upright(upper.at, "upper", 5))
    kind = "bad" if refuted else "open"
    if lower.beyond:
        parts.append(_arrow(lower.at, kind, 1 if refuted else -1))
    else:
        parts.append(f'<circle class="{kind}" cx="{lower.at:.1f}%" cy="{HEIGHT // 2}" r="4.5"/>')
    return f'<svg class="bar" aria-hidden="true">{"".join(parts)}</svg>'


def _along(start: float, end: float, kind: str) -> str:
    return f'<line class="{kind}" x1="{start:.1f}%" x2="{end:.1f}%" y1="{HEIGHT // 2}" y2="{HEIGHT // 2}"/>'


def _upright(at: float, kind: str, gap: int) -> str:
    return f'<line class="{kind}" x1="{at:.1f}%" x2="{at:.1f}%" y1="{gap}" y2="{HEIGHT - gap}"/>'


def _arrow(at: float, kind: str, way: int) -> str:
    tip = f'<path class="{kind}" d="M0 -5L{8 * way} 0L0 5z"/>'
    return f'<svg x="{at:.1f}%" y="{HEIGHT // 2}" overflow="visible">{tip}</svg>'


def scale() -> list[tuple[float, str]]:
    """(place in per cent, label) of the ticks of the common scale."""
    return [
        (round(place(tick, 1.0).at, 1), "claim" if tick == 1 else f"\N{MULTIPLICATION SIGN}{tick:g}") for tick in TICKS
    ]
