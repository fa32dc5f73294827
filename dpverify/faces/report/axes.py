"""A small plot as SVG text: axes, lines, marks. Colours come from the page's style sheet, by class.

Hand-written, because a page with many plots must stay small and sharp, follow dark mode, and be the same
bytes for the same records on every machine.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

WIDTH, HEIGHT = 340, 230
LEFT, RIGHT, TOP, BOTTOM = 52, 14, 10, 40

Point = tuple[float, float]


@dataclass(frozen=True)
class Axis:
    """A range of values on a line; logarithmic where `log`."""

    low: float
    high: float
    label: str
    log: bool = False

    def place(self, value: float) -> float:
        """Position in [0, 1]; values outside are drawn on the border."""
        if self.log:
            value, low, high = (math.log(max(each, 1e-300)) for each in (value, self.low, self.high))
        else:
            low, high = self.low, self.high
        return min(1.0, max(0.0, (value - low) / (high - low)))

    def ticks(self) -> list[float]:
        """A few round values inside the range."""
        if self.log:
            return self._powers()
        rough = (self.high - self.low) / 5
        unit = 10.0 ** math.floor(math.log10(rough))
        step_size = next(unit * factor for factor in (1, 2, 2.5, 5, 10) if unit * factor >= rough * (1 - 1e-9))
        first = math.ceil(self.low / step_size - 1e-9)
        return [(first + i) * step_size for i in range(int((self.high - first * step_size) / step_size + 1e-9) + 1)]

    def _powers(self) -> list[float]:
        first, last = math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9)
        if last - first >= 2:
            step = (last - first + 4) // 5
            return [10.0**power for power in range(first, last + 1, step)]
        fine = [factor * 10.0**power for power in range(first - 1, last + 1) for factor in (1, 2, 5)]
        return [value for value in fine if self.low <= value <= self.high] or [self.low, self.high]


def spread(values: Sequence[float], *, low: float = 0.0) -> tuple[float, float]:
    """A linear range from `low` over all finite values, with some air above."""
    finite = [value for value in values if math.isfinite(value)]
    high = max([low, *finite])
    return min([low, *finite]), high + 0.12 * (high - low) if high > low else low + 1.0


@dataclass
class Plot:
    """Collects marks and writes them as one `<svg>`; `title` and `text` are read aloud by screen readers."""

    x: Axis
    y: Axis
    title: str
    text: str = ""
    parts: list[str] = field(default_factory=list)

    def at(self, point: Point) -> str:
        """`x,y` in the drawing's units."""
        across = LEFT + self.x.place(point[0]) * (WIDTH - LEFT - RIGHT)
        down = TOP + (1 - self.y.place(point[1])) * (HEIGHT - TOP - BOTTOM)
        return f"{across:.1f},{down:.1f}"

    def line(self, points: Sequence[Point], kind: str) -> None:
        """A polyline; repeated positions are dropped."""
        places = [self.at(point) for point in points]
        kept = [place for i, place in enumerate(places) if i == 0 or place != places[i - 1]]
        self.parts.append(f'<polyline class="l {kind}" points="{" ".join(kept)}"/>')

    def area(self, points: Sequence[Point], kind: str) -> None:
        """A filled polygon."""
        self.parts.append(f'<polygon class="{kind}" points="{" ".join(map(self.at, points))}"/>')

    def dots(self, points: Sequence[Point], kind: str, radius: float = 2) -> None:
        """A dot at every point: all of them one path, of strokes without length and with round ends."""
        marks = "".join(f"M{self.at(point).replace(',', ' ')}h0" for point in points)
        if marks:
            self.parts.append(f'<path class="d {kind}" stroke-width="{2 * radius:g}" d="{marks}"/>')

    def level(self, value: float, kind: str, word: str) -> None:
        """A horizontal line with a word above its right end."""
        self.line([(self.x.low, value), (self.x.high, value)], kind)
        _, down = self.at((self.x.high, value)).split(",")
        above = float(down) - 4 if float(down) > TOP + 14 else float(down) + 12
        self.parts.append(
            f'<text class="{kind}" x="{WIDTH - RIGHT - 2}" y="{above:.1f}" text-anchor="end">{escape(word)}</text>'
        )

    def svg(self) -> str:
        """The drawing."""
        return (
            f'<svg class="plot" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(self.title)}. '
            f'{escape(self.text)}">{self._frame()}{"".join(self.parts)}</svg>'
        )

    def _frame(self) -> str:
        bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
        out: list[str] = []
        grid: list[str] = []
        for value in self.x.ticks():
            across = LEFT + self.x.place(value) * (right - LEFT)
            grid.append(f"M{across:.1f} {TOP}V{bottom}")
            out.append(f'<text x="{across:.1f}" y="{bottom + 14}" text-anchor="middle">{tick(value)}</text>')
        for value in self.y.ticks():
            down = TOP + (1 - self.y.place(value)) * (bottom - TOP)
            grid.append(f"M{LEFT} {down:.1f}H{right}")
            out.append(f'<text x="{LEFT - 5}" y="{down + 4:.1f}" text-anchor="end">{tick(value)}</text>')
        out.append(f'<path class="f" d="M{LEFT} {TOP}V{bottom}H{right}"/>')
        middle = (LEFT + right) / 2
        out.append(f'<text x="{middle:g}" y="{HEIGHT - 6}" text-anchor="middle">{escape(self.x.label)}</text>')
        half = (TOP + bottom) / 2
        out.append(
            f'<text transform="translate(11 {half:g}) rotate(-90)" text-anchor="middle">{escape(self.y.label)}</text>'
        )
        return f'<path class="g" d="{"".join(grid)}"/>{"".join(out)}'


def tick(value: float) -> str:
    """A short label: small numbers as 1e-5, thousands as 10k."""
    if value == 0:
        return "0"
    if abs(value) >= 1e6 or abs(value) < 1e-2:
        return f"{value:.0e}".replace("e-0", "e-").replace("e+0", "e").replace("e+", "e")
    if abs(value) >= 1e4 and value % 1000 == 0:
        return f"{value / 1000:g}k"
    return f"{value:.6g}"
