"""The coverage plot of error bounds: the certified interval of a failure probability beside the promised one."""

import math

from dpverify.evidence.promises import PromiseCheck
from dpverify.faces.report.axes import tick

LOW, HIGH = 1e-5, 1.0  # ends of the logarithmic scale
HEIGHT, PAD = 22, 4.0  # pixels; per cent of the width left free at each end


def place(rate: float) -> float:
    """Per cent of the width at which a rate is drawn; smaller rates than the scale shows lie on its left end."""
    share = math.log(min(max(rate, LOW), HIGH) / LOW) / math.log(HIGH / LOW)
    return PAD + share * (100 - 2 * PAD)


def bar(check: PromiseCheck) -> str:
    """The check as a small SVG, as wide as its cell."""
    low, high, promised = place(check.rate_lower), place(check.rate_upper), place(check.failure_probability)
    kind = "bad" if check.verdict == "BROKEN" else "open"
    middle = HEIGHT // 2
    parts = [
        f'<line class="scale" x1="{PAD}%" x2="{100 - PAD}%" y1="{middle}" y2="{middle}"/>',
        f'<line class="span" x1="{low:.1f}%" x2="{high:.1f}%" y1="{middle}" y2="{middle}"/>',
        f'<circle class="{kind}" cx="{place(check.failure_rate):.1f}%" cy="{middle}" r="4"/>',
        f'<line class="claim" x1="{promised:.1f}%" x2="{promised:.1f}%" y1="1" y2="{HEIGHT - 1}"/>',
    ]
    return f'<svg class="bar" aria-hidden="true">{"".join(parts)}</svg>'


def scale() -> list[tuple[float, str]]:
    """(place in per cent, label) of the ticks."""
    return [(round(place(rate), 1), tick(rate)) for rate in (1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)]
