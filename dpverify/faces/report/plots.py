"""The plots of one record: trade-off, privacy profile, convergence. Drawn from the record alone.

Curves measured from trials are estimates and say so; only the certified bound of the record is a certificate.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from dpverify.base.errors import DpverifyError
from dpverify.claims.claim import ApproxDP, Claim, GaussianDP, PureDP, ZCDP
from dpverify.claims.parse import parse_claim
from dpverify.faces.report.axes import Axis, Plot, Point, spread
from dpverify.faces.report.units import ABOUT_EPS, at_delta, at_least, claimed, number, unit
from dpverify.verdicts.record import AuditRecord


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
        claim_of(record)
    except DpverifyError:
        return []
    drawn = [_course(record), _trade_off(record), _profile(record)]
    return [figure for figure in drawn if figure is not None]


def claim_of(record: AuditRecord) -> Claim:
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
    return GaussianDP(record.claimed, record.delta)


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
    bound = _allowed(claim_of(record))
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
    limit = claim_of(record).accuracy_limit
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
    claim, about_eps = claim_of(record), record.notion in ABOUT_EPS
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


def course(record: AuditRecord) -> list[tuple[float, float]]:
    """(certifying trials, lower bound) in the claim's own unit; the last point is the certificate of the trials.

    Empty where there is none: records of older versions kept only eps.
    """
    told = record.course if record.notion in ABOUT_EPS else record.number_course
    if not told or record.trials_lower is None:
        return []
    before = [(float(trials), bound) for trials, bound in told[:-1]]
    return [*before, (float(told[-1][0]), record.trials_lower)]


def _course(record: AuditRecord) -> Figure | None:
    points = course(record)
    if not points:
        return None
    last, lower, symbol = points[-1][0], points[-1][1], unit(record)
    first = min(points[0][0], last / 10)
    upper = [record.number_upper] if record.number_upper is not None else []
    low, high = spread([record.claimed, *upper, *(bound for _, bound in points)])
    plot = Plot(
        Axis(first, max(last, first * 1.01), "certifying trials", log=True),
        Axis(low, high, symbol),
        "Convergence",
        f"Lower bound on {symbol}: {at_least(lower, record.claimed)} after {last:,.0f} trials; "
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
        tuple((f"{trials:,.0f}", at_least(bound, record.claimed)) for trials, bound in points),
    )
