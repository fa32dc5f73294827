"""The plots of one record: trade-off, privacy profile, convergence. Drawn from the record alone.

Curves measured from trials are estimates and say so; only the certified bound of the record is a certificate.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from html import escape

from dpverify.auditing.record import AuditRecord
from dpverify.claims.claim import ApproxDP, Claim, GaussianDP, PureDP, ZCDP
from dpverify.claims.curves import parse_claim
from dpverify.errors import DpverifyError, RunError
from dpverify.promises import PromiseCheck
from dpverify.report.words import ABOUT_EPS, at_delta, at_least_words, claimed, number, unit

# ----------------------------------------------------------------------------------------------------------------------
# A small plot as SVG text: axes, lines, marks. Colours come from the page's style sheet, by class.
#
# Hand-written, because a page with many plots must stay small and sharp, follow dark mode, and be the same
# bytes for the same records on every machine.


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


# ----------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Figure:
    """A drawing, what it shows, and the same numbers as a table."""

    title: str
    caption: str
    svg: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def figures(record: AuditRecord) -> list[Figure]:
    """The plots for which the record has numbers; none of a record whose numbers make no claim."""
    try:
        plotted_claim(record)
    except DpverifyError:
        return []
    drawn = [_course(record), _trade_off(record), _profile(record)]
    return [figure for figure in drawn if figure is not None]


def plotted_claim(record: AuditRecord) -> Claim:
    """The claim's privacy profile; relation and view do not matter for a plot."""
    match record.notion:
        case "pure":
            return PureDP(record.claimed)
        case "approx":
            return ApproxDP(record.claimed, record.delta)
        case "zcdp":
            return ZCDP(record.claimed, record.delta)
        case "rdp" | "tradeoff":
            return parse_claim(record.claim, delta=record.delta)
        case "gdp":
            return GaussianDP(record.claimed, record.delta)
    raise RunError(f"claims of the notion {record.notion!r} are not drawn")


def rates(record: AuditRecord) -> list[Point]:
    """(false positive, true positive) rates of the attack's cuts.

    With a rule that guesses both datasets the average over the two directions; with a one-sided rule only
    the trials of one dataset can be guessed right, so shares of all trials are doubled.
    """
    factor = 2.0 if record.one_sided else 1.0
    return [(factor * wrong, factor * right) for wrong, right in record.curve]


def _trade_off(record: AuditRecord) -> Figure | None:
    measured = rates(record)
    if not measured:
        return None
    bound = _allowed(plotted_claim(record))
    plot = Plot(
        Axis(0, 1, "false positive rate"),
        Axis(0, 1, "false negative rate"),
        "Trade-off curve",
        f"Error rates of the attack against the least that the claim {record.claim} allows.",
    )
    plot.area([(0, 0), *bound, (1, 0)], "forbidden")
    plot.line([(0, 1), (1, 0)], "chance")
    plot.line(bound, "claim")
    points = [(x, 1 - y) for x, y in measured]
    if not record.one_sided:  # averaged over both directions, so the mirrored rule is there too
        points += [(y, x) for x, y in reversed(points)]
    plot.line([(0.0, 1.0), *points, *([] if record.one_sided else [(1.0, 0.0)])], "seen")
    plot.dots(points, "seen")
    event = _event(record)
    if event is not None:
        plot.dots([(event[0], 1 - event[1])], "event", 4.5)
    limit = plotted_claim(record).accuracy_limit
    rows = tuple((f"{x:.5f}", f"{1 - y:.5f}", f"{1 - _limited(limit, x):.5f}") for x, y in measured)
    return Figure(
        "Trade-off",
        "Measured error rates of the attack (thin line with dots; an estimate"
        + ("" if record.one_sided else ", averaged over both directions")
        + ") and what the claim allows (thick line): points in the shaded region contradict the claim. "
        "The large dot is the event that was frozen before the certifying trials.",
        plot.svg(),
        ("false positive rate", "false negative rate, measured", "least allowed by the claim"),
        rows,
    )


@lru_cache(maxsize=1024)
def _allowed(claim: Claim) -> list[Point]:
    """The claim's curve: the same for all subjects of one claim."""
    return _symmetric_bound(claim.accuracy_limit)


@lru_cache(maxsize=1 << 16)
def _delta(claim: Claim, eps: float) -> float:
    return claim.delta_at(eps)


@lru_cache(maxsize=1024)
def _eps(claim: Claim) -> float:
    return claim.eps


def _symmetric_bound(limit: Callable[[float], float]) -> list[Point]:
    """The claim's trade-off curve: up to its fixed point from `limit`, beyond it mirrored."""
    half = []
    for i in range(101):
        x = 0.5 * (i / 100) ** 2  # finer near 0, where the curves are steep
        y = 1 - _limited(limit, x)
        if y <= x:
            break
        half.append((x, y))
    return half + [(y, x) for x, y in reversed(half)]


def _limited(limit: Callable[[float], float], wrong: float) -> float:
    """Largest right rate at a wrong rate; beyond the fixed point of the curve the trivial 1 - wrong."""
    return limit(wrong) if 0 < wrong < 1 else limit(1e-12) if wrong <= 0 else 0.0


def _event(record: AuditRecord) -> Point | None:
    certifying = record.course[-1][0] if record.course else 0
    if certifying <= 0 or record.right + record.wrong == 0:
        return None
    factor = 2.0 if record.one_sided else 1.0
    return factor * record.wrong / certifying, factor * record.right / certifying


def _profile(record: AuditRecord) -> Figure | None:
    """The eps view. Of a claim that is about eps it holds the certificate; of others it is a second view, without it.

    What is certified about rho, mu or a factor is no eps, and the eps that is certified at one delta can lie below the
    claim's curve while the claim is refuted: side by side they would seem to contradict each other.
    """
    claim, about_eps = plotted_claim(record), record.notion in ABOUT_EPS
    lower = record.trials_eps
    top = max([_eps(claim), *(each for each in (lower,) if math.isfinite(each))])
    grid = [1.25 * top * i / 48 for i in range(49)]
    floor = 1e-7 if 0 < record.delta < 1e-3 else 1e-4
    allowed = [(eps, _delta(claim, eps)) for eps in grid]
    events = _cautious(record)
    seen = [(eps, max(right - math.exp(eps) * wrong for wrong, right in events)) for eps in grid]
    plot = Plot(
        Axis(0, grid[-1], "eps"),
        Axis(floor, 1, "delta(eps)", log=True),
        "Privacy profile",
        f"Failure mass delta at each eps: allowed by the claim {record.claim}, and measured.",
    )
    plot.line([point for point in allowed if point[1] > 0] + [point for point in allowed if point[1] <= 0][:1], "claim")
    visible = [point for point in seen if point[1] > 0]
    if visible:
        plot.line(visible + [point for point in seen if point[1] <= 0][:1], "seen")
    dotted = about_eps and record.delta >= floor and math.isfinite(lower)
    if dotted:
        plot.dots([(lower, record.delta)], "event", 4.5)
    rows = tuple(
        (f"{eps:.4g}", f"{a:.3g}", f"{b:.3g}") for (eps, a), (_, b) in zip(allowed[::4], seen[::4], strict=True)
    )
    return Figure(
        "Privacy profile" if about_eps else f"Second view: eps and delta (the claim is about {unit(record)})",
        "delta(eps) allowed by the claim (thick line) and reached by the best of the attack's events (thin line; an "
        "estimate, two standard errors taken off)." + (" The dot is the certified bound." if dotted else ""),
        plot.svg(),
        ("eps", "delta allowed by the claim", "delta measured"),
        rows,
    )


def _cautious(record: AuditRecord) -> list[Point]:
    """(wrong, right) with two standard errors taken off; rare events would else look like leaks.

    The empty event is among them, so that the best one is never negative.
    """
    trials = record.course[-1][0] if record.course else record.trials
    factor = 2.0 if record.one_sided else 1.0
    kept = [(0.0, 0.0)]
    for wrong, right in record.curve:
        high = wrong + 2 * math.sqrt(wrong / trials) + 3 / trials  # three: zero of n is below 3/n at 95 %
        kept.append((factor * high, factor * (right - 2 * math.sqrt(right / trials))))
    return kept


def course_plot(record: AuditRecord) -> list[tuple[float, float]]:
    """(certifying trials, lower bound) in the claim's own unit; the last point is the certificate of the trials.

    Empty where there is none: records of older versions kept only eps.
    """
    told = record.course if record.notion in ABOUT_EPS else record.number_course
    if not told or record.trials_lower is None:
        return []
    before = [(float(trials), bound) for trials, bound in told[:-1]]
    return [*before, (float(told[-1][0]), record.trials_lower)]


def _course(record: AuditRecord) -> Figure | None:
    points = course_plot(record)
    if not points:
        return None
    last, lower, symbol = points[-1][0], points[-1][1], unit(record)
    first = min(points[0][0], last / 10)
    upper = [record.upper_bound] if record.upper_bound is not None else []
    low, high = spread([record.claimed, *upper, *(bound for _, bound in points)])
    plot = Plot(
        Axis(first, max(last, first * 1.01), "certifying trials", log=True),
        Axis(low, high, symbol),
        "Convergence",
        f"Lower bound on {symbol}: {at_least_words(lower, record.claimed)} after {last:,.0f} trials; "
        f"claimed {claimed(record)}.",
    )
    plot.level(record.claimed, "claim", f"claimed {claimed(record)}")
    if upper and math.isfinite(upper[0]) and abs(upper[0] - record.claimed) > 0.06 * (high - low):
        plot.level(upper[0], "upper", f"ledger {number(upper[0])}")
    plot.line(points, "seen")
    plot.dots(points, "seen", 2.5)
    plot.dots(points[-1:], "event", 4.5)
    return Figure(
        "Convergence",
        f"Lower bound on {symbol}{at_delta(record)} with growing trials. Only the last point is the certificate.",
        plot.svg(),
        ("certifying trials", f"{symbol} lower"),
        tuple((f"{trials:,.0f}", at_least_words(bound, record.claimed)) for trials, bound in points),
    )


# ----------------------------------------------------------------------------------------------------------------------
# The interval plot lower / claim / upper: one bar a subject, all on one scale, in multiples of the claim.
#
# A bar stands in its table row beside the numbers it draws, so the table is the plot's alternative.


_INTERVAL_LOW, _INTERVAL_HIGH = (
    1 / 4,
    8.0,
)  # multiples of the claim at the ends of the scale; beyond them an arrow is drawn
TICKS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
_INTERVAL_HEIGHT, _INTERVAL_PAD = 22, 4.0  # pixels; per cent of the width left free at each end


@dataclass(frozen=True)
class End:
    """One end of an interval: its place in per cent of the width, and whether it lies beyond the scale."""

    at: float
    beyond: bool


def _interval_place(value: float, claimed: float) -> End:
    """Where `value` lies on the scale; a non-positive or tiny value is beyond the left end."""
    ratio = value / claimed if claimed > 0 else math.inf
    inside = _INTERVAL_LOW <= ratio <= _INTERVAL_HIGH
    share = math.log(min(max(ratio, _INTERVAL_LOW), _INTERVAL_HIGH) / _INTERVAL_LOW) / math.log(
        _INTERVAL_HIGH / _INTERVAL_LOW
    )
    return End(_INTERVAL_PAD + share * (100 - 2 * _INTERVAL_PAD), not inside)


def interval_bar(record: AuditRecord) -> str:
    """The subject's interval as a small SVG, as wide as its cell: lengths along it are per cents.

    Everything in it is in the claim's own unit. The numbers stand in the same row, so it is hidden from readers aloud.
    """
    lower, claim = _interval_place(record.number_lower, record.claimed), _interval_place(record.claimed, record.claimed)
    upper = None if record.upper_bound is None else _interval_place(record.upper_bound, record.claimed)
    right = upper.at if upper is not None else 100 - _INTERVAL_PAD
    refuted = record.number_lower > record.claimed
    parts = [_along(_INTERVAL_PAD, 100 - _INTERVAL_PAD, "scale")]
    parts.append(_along(min(lower.at, right), max(lower.at, right), "span" if upper is not None else "span unproved"))
    parts.append(_upright(claim.at, "claim", 1))
    if upper is not None:
        parts.append(_arrow(upper.at, "upper", 1) if upper.beyond else _upright(upper.at, "upper", 5))
    kind = "bad" if refuted else "open"
    if lower.beyond:
        parts.append(_arrow(lower.at, kind, 1 if refuted else -1))
    else:
        parts.append(f'<circle class="{kind}" cx="{lower.at:.1f}%" cy="{_INTERVAL_HEIGHT // 2}" r="4.5"/>')
    return f'<svg class="bar" aria-hidden="true">{"".join(parts)}</svg>'


def _along(start: float, end: float, kind: str) -> str:
    middle = _INTERVAL_HEIGHT // 2
    return f'<line class="{kind}" x1="{start:.1f}%" x2="{end:.1f}%" y1="{middle}" y2="{middle}"/>'


def _upright(at: float, kind: str, gap: int) -> str:
    return f'<line class="{kind}" x1="{at:.1f}%" x2="{at:.1f}%" y1="{gap}" y2="{_INTERVAL_HEIGHT - gap}"/>'


def _arrow(at: float, kind: str, way: int) -> str:
    tip = f'<path class="{kind}" d="M0 -5L{8 * way} 0L0 5z"/>'
    return f'<svg x="{at:.1f}%" y="{_INTERVAL_HEIGHT // 2}" overflow="visible">{tip}</svg>'


def interval_scale() -> list[tuple[float, str]]:
    """(place in per cent, label) of the ticks of the common scale."""
    return [
        (round(_interval_place(tick, 1.0).at, 1), "claim" if tick == 1 else f"\N{MULTIPLICATION SIGN}{tick:g}")
        for tick in TICKS
    ]


# ----------------------------------------------------------------------------------------------------------------------
# The coverage plot of error bounds: the certified interval of a failure probability beside the promised one.


_COVERAGE_LOW, _COVERAGE_HIGH = 1e-5, 1.0  # ends of the logarithmic scale
_COVERAGE_HEIGHT, _COVERAGE_PAD = 22, 4.0  # pixels; per cent of the width left free at each end


def _coverage_place(rate: float) -> float:
    """Per cent of the width at which a rate is drawn; smaller rates than the scale shows lie on its left end."""
    share = math.log(min(max(rate, _COVERAGE_LOW), _COVERAGE_HIGH) / _COVERAGE_LOW) / math.log(
        _COVERAGE_HIGH / _COVERAGE_LOW
    )
    return _COVERAGE_PAD + share * (100 - 2 * _COVERAGE_PAD)


def coverage_bar(check: PromiseCheck) -> str:
    """The check as a small SVG, as wide as its cell."""
    low, high, promised = (
        _coverage_place(check.rate_lower),
        _coverage_place(check.rate_upper),
        _coverage_place(check.failure_probability),
    )
    kind = "bad" if check.verdict == "BROKEN" else "open"
    middle = _COVERAGE_HEIGHT // 2
    parts = [
        f'<line class="scale" x1="{_COVERAGE_PAD}%" x2="{100 - _COVERAGE_PAD}%" y1="{middle}" y2="{middle}"/>',
        f'<line class="span" x1="{low:.1f}%" x2="{high:.1f}%" y1="{middle}" y2="{middle}"/>',
        f'<circle class="{kind}" cx="{_coverage_place(check.failure_rate):.1f}%" cy="{middle}" r="4"/>',
        f'<line class="claim" x1="{promised:.1f}%" x2="{promised:.1f}%" y1="1" y2="{_COVERAGE_HEIGHT - 1}"/>',
    ]
    return f'<svg class="bar" aria-hidden="true">{"".join(parts)}</svg>'


def coverage_scale() -> list[tuple[float, str]]:
    """(place in per cent, label) of the ticks."""
    return [(round(_coverage_place(rate), 1), tick(rate)) for rate in (1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)]
