"""The interval plot lower / claim / upper: one bar a subject, all on one scale, in multiples of the claim.

A bar stands in its table row beside the numbers it draws, so the table is the plot's alternative.
"""

import math
from dataclasses import dataclass

from dpverify.faces.report.words import number
from dpverify.verdicts.record import AuditRecord

LOW, HIGH = 1 / 4, 8.0  # multiples of the claim at the ends of the scale; beyond them an arrow is drawn
TICKS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
WIDTH, HEIGHT, PAD = 240, 22, 10


@dataclass(frozen=True)
class End:
    """One end of an interval: its place on the scale, and whether it lies beyond it."""

    at: float
    beyond: bool


def place(value: float, claimed: float) -> End:
    """Where `value` lies on the scale; a non-positive or tiny value is beyond the left end."""
    ratio = value / claimed if claimed > 0 else math.inf
    inside = LOW <= ratio <= HIGH
    share = math.log(min(max(ratio, LOW), HIGH) / LOW) / math.log(HIGH / LOW)
    return End(PAD + share * (WIDTH - 2 * PAD), not inside)


def bar(record: AuditRecord) -> str:
    """The subject's interval as a small SVG."""
    middle = HEIGHT / 2
    lower, claim = place(record.number_lower, record.claimed), place(record.claimed, record.claimed)
    upper = None if record.number_upper is None else place(record.number_upper, record.claimed)
    kind = "bad" if record.number_lower > record.claimed else "open"
    right = upper.at if upper is not None else WIDTH - PAD
    parts = [f'<path class="scale" d="M{PAD} {middle:g}H{WIDTH - PAD}"/>']
    left, end = min(lower.at, right), max(lower.at, right)
    shade = "span" if upper is not None else "span unproved"
    parts.append(f'<path class="{shade}" d="M{left:.1f} {middle:g}H{end:.1f}"/>')
    parts.append(f'<path class="claim" d="M{claim.at:.1f} 2V{HEIGHT - 2}"/>')
    parts.append(_end(lower, f"lower {kind}", "<" if record.number_lower < record.claimed else ">"))
    if upper is not None:
        parts.append(_end(upper, "upper", ">"))
    said = (
        f"certified lower bound {number(record.number_lower)}, claimed {number(record.claimed)}, "
        f"upper bound {number(record.number_upper) if upper is not None else 'none'}"
    )
    return (
        f'<svg class="bar" viewBox="0 0 {WIDTH} {HEIGHT}" preserveAspectRatio="none" role="img" aria-label="{said}">'
        f"{''.join(parts)}</svg>"
    )


def _end(end: End, kind: str, arrow: str) -> str:
    x, y = end.at, HEIGHT / 2
    if end.beyond:
        tip = 7 if arrow == ">" else -7
        return f'<path class="end {kind}" d="M{x:.1f} {y - 5:g}l{tip} 5l{-tip} 5z"/>'
    if kind == "upper":
        return f'<path class="end upper" d="M{x:.1f} {y - 5:g}v10"/>'
    return f'<circle class="end {kind}" cx="{x:.1f}" cy="{y:g}" r="4.5"/>'


def scale() -> list[tuple[float, str]]:
    """(place in per cent, label) of the ticks of the common scale."""
    places = [(100 * place(tick, 1.0).at / WIDTH, f"{tick:g}") for tick in TICKS]
    return [(round(at, 2), "claim" if label == "1" else f"×{label}") for at, label in places]
