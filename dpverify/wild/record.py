"""What `certify --data` and `replay` found: values, their words, and JSON."""

import hashlib
import itertools
import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from dpverify.base.imports import environment_kept
from dpverify.base.rounding import text_above
from dpverify.base.text import clean
from dpverify.errors import EXIT_FAILED, EXIT_OK, EXIT_UNEXPECTED
from dpverify.wild.fields import Codebook, FieldColumn

# ----------------------------------------------------------------------------------------------------------------------
# A readable event: thresholds and values of output fields, with its frequencies on fresh releases.
#
# Searched on one half of the releases, stated on the other: the best condition on a single field; where that says no
# more than the claim, a conjunction of two; then a path of a tree of depth 3.


LEVEL = 0.05  # of each interval
THRESHOLDS = 48  # of one field
KEPT = 24  # single conditions that are joined
DEPTH = 3
FAR = 1e300  # NaN and infinities, for a tree
MORE = 1.15  # by this factor a longer event has to say more
Array = npt.NDArray[np.float64]
Marks = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Condition:
    """One coordinate of the codebook: `op` is >=, <=, =, nan, inf or -inf; a text or a presence is = 1 or = 0."""

    place: int
    column: FieldColumn
    op: str
    number: float = 0.0

    def holds(self, rows: Array) -> Marks:
        """For each release."""
        values = rows[:, self.place]
        with np.errstate(invalid="ignore"):
            if self.op == "nan":
                return np.isnan(values)
            if self.op in ("inf", "-inf"):
                return np.asarray(values == float(self.op))
            return np.asarray(
                values >= self.number
                if self.op == ">="
                else values <= self.number
                if self.op == "<="
                else values == self.number
            )

    def __str__(self) -> str:
        name, yes = self.column.name, self.number == 1
        if self.column.kind == "other":
            return "any other field differs" if yes else "no other field differs"
        if name[0] == "!" and self.column.kind in ("present", "value"):
            return f"raises {name[1:]}" if yes or self.op == ">=" else f"does not raise {name[1:]}"
        if name[0] == "~" and self.column.kind in ("present", "value"):
            return f"warns {name[1:]}" if yes else f"does not warn {name[1:]}"
        if self.column.kind == "present":
            return f"has {name}" if yes else f"has no {name}"
        if self.column.kind == "text":
            return f"{name} {'=' if yes else 'is not'} {self.column.text!r}"
        if self.op in ("nan", "inf", "-inf"):
            return f"{name} is {'NaN' if self.op == 'nan' else self.op}"
        return f"{name} {self.op} {self.number:.12g}"


@dataclass(frozen=True)
class FieldEvent:
    """All conditions hold. `first_more`: it is the first dataset that makes it more likely."""

    conditions: tuple[Condition, ...]
    first_more: bool = True

    def holds(self, rows: Array) -> Marks:
        """For each release."""
        found = np.ones(len(rows), bool)
        for each in self.conditions:
            found &= each.holds(rows)
        return found

    def __str__(self) -> str:
        return " and ".join(map(str, self.conditions))


@dataclass(frozen=True)
class Frequency:
    """Hits among trials, with the exact (Clopper-Pearson) interval at 95 %."""

    hits: int
    trials: int

    @property
    def share(self) -> float:
        """Hits a trial."""
        return self.hits / self.trials

    def at(self, level: float) -> tuple[float, float]:
        """Both ends, each of which is wrong with probability level/2."""
        from scipy import stats  # on demand: a replay needs neither

        found = stats.binomtest(self.hits, self.trials).proportion_ci(1 - level, method="exact")
        return float(found.low), float(found.high)

    @property
    def interval(self) -> tuple[float, float]:
        """Both ends at 95 %."""
        return self.at(LEVEL)

    def __str__(self) -> str:
        low, high = self.interval
        return f"{self.share:.3g} [{low:.3g}, {high:.3g}]"

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"hits": self.hits, "trials": self.trials, "interval": list(self.interval)}


@dataclass(frozen=True)
class FieldWitness:
    """An event and its frequencies on releases that had no part in choosing it."""

    event: Any  # a FieldEvent, or another one that holds or not
    first: Frequency
    second: Frequency

    def eps(self, delta: float, level: float = LEVEL) -> float:
        """log((low end of the larger - delta) / high end of the smaller), of intervals at `level`; -inf if nothing."""
        more, less = (self.first, self.second) if self.event.first_more else (self.second, self.first)
        return _ratio(more.at(level)[0] - delta, less.at(level)[1])

    def __str__(self) -> str:
        return f"{self.event}: {self.first} against {self.second}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "text": str(self),
            "event": str(self.event),
            "first": self.first.to_dict(),
            "second": self.second.to_dict(),
        }


def _ratio(more: float, less: float) -> float:
    if not more > 0:
        return -math.inf
    return math.inf if less <= 0 else math.log(more / less)


def stated(event: Any, first: Array, second: Array) -> FieldWitness:
    """The event on these releases."""
    return FieldWitness(
        event,
        Frequency(int(event.holds(first).sum()), len(first)),
        Frequency(int(event.holds(second).sum()), len(second)),
    )


def search_event(codebook: Codebook, first: Array, second: Array, eps: float, delta: float) -> FieldEvent | None:
    """The event that says most, the simplest that says more than `eps` or nearly as much as the best; None for none."""
    singles = sorted(_scored(_conditions(codebook, first, second), first, second, delta), key=lambda each: -each[0])
    if not singles:
        return None
    spoken = [each for each in singles if each[1].conditions[0].column.name[0] != "~"]  # a warning only where needed
    best = spoken[0] if spoken and spoken[0][0] > eps else singles[0]
    if best[0] > eps:
        return _readable(best[1], first, second, delta)
    joined = _scored(
        [
            (*a.conditions, *b.conditions)
            for (_, a), (_, b) in itertools.combinations(singles[:KEPT], 2)
            if a.conditions[0].place != b.conditions[0].place
        ],
        first,
        second,
        delta,
    )
    for more in (joined, _scored(_paths(codebook, first, second), first, second, delta)):
        top = max(more, key=lambda each: each[0], default=best)
        if top[0] > max(best[0], 0.0) * MORE:
            best = top
        if best[0] > eps:
            break
    return _readable(best[1], first, second, delta)


def _scored(
    events: Sequence[tuple[Condition, ...]], first: Array, second: Array, delta: float
) -> list[tuple[float, FieldEvent]]:
    """Certified log ratio of each event, in the direction in which it says more."""
    from scipy import stats  # on demand: a replay needs neither

    if not events:
        return []
    hits = np.array([[FieldEvent(each).holds(rows).sum() for rows in (first, second)] for each in events], dtype=float)
    sizes = np.array([len(first), len(second)], dtype=float)
    low = np.where(hits > 0, stats.beta.ppf(LEVEL, hits, sizes - hits + 1), 0.0)
    high = np.where(hits < sizes, stats.beta.ppf(1 - LEVEL, hits + 1, sizes - hits), 1.0)
    found = []
    for each, ends_low, ends_high in zip(events, low, high, strict=True):
        one, two = _ratio(ends_low[0] - delta, ends_high[1]), _ratio(ends_low[1] - delta, ends_high[0])
        found.append((max(one, two), FieldEvent(each, one >= two)))
    return found


def _conditions(codebook: Codebook, first: Array, second: Array) -> list[tuple[Condition, ...]]:
    found: list[tuple[Condition, ...]] = []
    both = np.vstack([first, second])
    for place, column in enumerate(codebook.labels):
        values = both[:, place]
        if column.kind != "value":
            found += [(Condition(place, column, "=", number),) for number in (1.0, 0.0)]
            continue
        found += [(Condition(place, column, op),) for op in ("nan", "inf", "-inf")]
        finite = np.unique(values[np.isfinite(values)])
        if not len(finite):
            continue
        if len(finite) <= THRESHOLDS:
            found += [(Condition(place, column, "=", float(each)),) for each in finite]
        cuts = finite[np.unique(np.linspace(0, len(finite) - 1, THRESHOLDS).astype(int))]
        found += [(Condition(place, column, op, float(each)),) for each in cuts for op in (">=", "<=")]
    return found


def _paths(codebook: Codebook, first: Array, second: Array) -> list[tuple[Condition, ...]]:
    with environment_kept():
        from sklearn.tree import DecisionTreeClassifier  # on demand, like it

    rows = np.nan_to_num(np.vstack([first, second]), nan=2 * FAR, posinf=FAR, neginf=-FAR).clip(-1e30, 1e30)
    which = np.r_[np.ones(len(first)), np.zeros(len(second))]
    tree = DecisionTreeClassifier(max_depth=DEPTH, min_samples_leaf=max(5, len(rows) // 50), random_state=0)
    inner = tree.fit(rows, which).tree_
    found: list[tuple[Condition, ...]] = []

    def walk(node: int, path: tuple[Condition, ...]) -> None:
        if inner.children_left[node] < 0:
            if path:
                found.append(path)
            return
        place, cut = int(inner.feature[node]), float(inner.threshold[node])
        column = codebook.labels[place]
        below = Condition(place, column, "<=", cut) if column.kind == "value" else Condition(place, column, "=", 0.0)
        above = (
            Condition(place, column, ">=", float(np.nextafter(cut, np.inf)))
            if column.kind == "value"
            else (Condition(place, column, "=", 1.0))
        )
        walk(int(inner.children_left[node]), (*path, below))
        walk(int(inner.children_right[node]), (*path, above))

    walk(0, ())
    return found


def _readable(event: FieldEvent, first: Array, second: Array, delta: float) -> FieldEvent:
    """Thresholds with as few digits as say nearly the same."""
    ((best, _),) = _scored([event.conditions], first, second, delta)
    conditions = list(event.conditions)
    for at, each in enumerate(conditions):
        if each.op not in (">=", "<=") or each.number == 0:
            continue
        for digits in range(1, 7):
            rounded = Condition(each.place, each.column, each.op, float(f"{each.number:.{digits}g}"))
            tried = (*conditions[:at], rounded, *conditions[at + 1 :])
            ((score, _),) = _scored([tried], first, second, delta)
            if score >= best - 0.03 * abs(best) or score == best:
                conditions[at] = rounded
                break
    return FieldEvent(tuple(conditions), event.first_more)


# ----------------------------------------------------------------------------------------------------------------------


MOST = 12  # findings that are shown
CODES = {
    "REFUTED": EXIT_UNEXPECTED,
    "NOT_REFUTED": EXIT_FAILED,
    "INCONCLUSIVE": EXIT_FAILED,
    "INVALID": EXIT_FAILED,
    "CERTIFIED": EXIT_OK,
    "KEPT": EXIT_OK,
    "OVER": EXIT_UNEXPECTED,
    "UNDECIDED": EXIT_FAILED,
}


@dataclass(frozen=True)
class PairResult:
    """One pair: what its trials say (`certify`), or its calls (`replay`: `eps_upper`, the sum of their losses)."""

    name: str
    relation: str
    domain: str
    verdict: str
    eps_lower: float = 0.0
    trials: int = 0
    detectable: float = math.inf
    eps_upper: float | None = None
    first: tuple[str, ...] = ()
    second: tuple[str, ...] = ()
    witness: "FieldWitness | None" = None
    note: str = ""
    behind: str = ""  # the run on fresh releases that `eps_lower` is from; empty: the trials

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        found = {name: value for name, value in self.__dict__.items() if name != "witness"}
        return {
            **found,
            "first": list(self.first),
            "second": list(self.second),
            "witness": None if self.witness is None else self.witness.to_dict(),
        }


@dataclass(frozen=True)
class Found:
    """A rule of `replay` that a call broke on a pair."""

    rule: str
    call: str
    where: str
    declared: float | str | None
    moved: float | str | None
    pair: str
    text: str
    decided: bool = True  # False: by itself it is UNDECIDED


@dataclass(frozen=True)
class Row:
    """One relation: its verdict and the numbers behind it."""

    relation: str
    verdict: str
    pairs: int
    refuted: int
    trials: int
    eps_lower: float
    detectable: float


SCHEMA = "dpverify/tried/2"


@dataclass(frozen=True)
class WildRecord:
    """The result of `certify --data` or `replay`; `verdict` is REFUTED, NOT_REFUTED, KEPT, ..."""

    command: str
    target: str
    claim: str
    relation: str
    verdict: str
    versions: dict[str, str]
    predicted_seconds: float
    seconds: float
    seed: int
    notes: tuple[str, ...] = ()
    matrix: tuple[Row, ...] = ()
    pairs: tuple[PairResult, ...] = ()
    findings: tuple[Found, ...] = ()
    repro: tuple[str, ...] = ()
    ledger: Any = field(default=None, compare=False)
    code: dict[str, Any] = field(default_factory=dict)  # by relation: an `auditing.tape_record.Taped`
    claimed_eps: float = -math.inf  # what a refuted number is told apart from
    proof: dict[str, Any] = field(default_factory=dict)  # by relation: what was proved from the code
    again: str = ""  # the command that does the same once more
    called_with: str = field(default="", compare=False)  # for the screen, where the shapes are not what the line says

    @property
    def exit_code(self) -> int:
        """0 KEPT (`replay`), 1 REFUTED or OVER, 3 neither."""
        return CODES[self.verdict]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, the same keys for both commands, with a digest of all but the seconds."""
        plain = {
            "schema": SCHEMA,
            "command": self.command,
            "target": self.target,
            "claim": self.claim,
            "relation": self.relation,
            "verdict": self.verdict,
            "versions": self.versions,
            "predicted_seconds": self.predicted_seconds,
            "seconds": self.seconds,
            "seed": self.seed,
            "notes": list(self.notes),
            "matrix": [asdict(each) for each in self.matrix],
            "pairs": [each.to_dict() for each in self.pairs],
            "findings": [asdict(each) for each in self.findings],
            "repro": list(self.repro),
            "code": {relation: asdict(each) for relation, each in self.code.items()},
            "proof": self.proof,
            "again": self.again,
        }
        text = json.dumps(_without_seconds(plain), sort_keys=True, separators=(",", ":"))
        return {**plain, "digest": f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"}


def _without_seconds(value: Any) -> Any:
    """What a second run of the same seed has as well."""
    if isinstance(value, dict):
        return {k: _without_seconds(v) for k, v in value.items() if k not in ("seconds", "predicted_seconds")}
    return [_without_seconds(each) for each in value] if isinstance(value, list | tuple) else value


class TryRecord(WildRecord):
    """Trials on many pairs: REFUTED, NOT_REFUTED or INCONCLUSIVE."""


def lines(record: WildRecord) -> list[str]:
    """A record in words, for a terminal."""
    found = [f"{record.verdict.replace('_', ' ')}: {record.target}, claim {record.claim}"]
    for row in record.matrix if record.command == "replay" else ():
        cost = (
            f"the costliest pair's calls add up to eps {row.detectable:.4g}"
            if row.detectable < math.inf
            else ("no finite cost on some pair")
        )
        found.append(f"  {row.relation}: {row.verdict}; {row.refuted} of {row.pairs} pairs OVER; {cost}")
    for row in record.matrix if record.command == "certify" else ():
        said = (
            f"  {row.relation}: {row.verdict.replace('_', ' ')}; {row.refuted} of {row.pairs} pairs refuted, "
            f"{row.trials:,} trials"
        )
        if row.refuted:
            said += f"; eps >= {text_above(row.eps_lower, record.claimed_eps)}"
        elif row.trials:
            said += (
                f"; at best eps {row.detectable:.3g} would have been caught (the most favourable violation, on "
                "the best pair)"
                if row.detectable < math.inf
                else "; nothing could have been caught"
            )
        found.append(said)
    found += [
        f"  {each.rule}{'' if each.decided else ' (undecided)'}: {each.text} ({each.pair})"
        for each in record.findings[:MOST]
    ]
    if len(record.findings) > MOST:
        found.append(f"  and {len(record.findings) - MOST} more")
    for each in record.pairs:
        if each.witness is not None:
            found += _pair(each, record.claimed_eps)
        elif record.command == "replay" and each.trials:
            calls = "" if each.eps_upper is None else f"; calls <= {each.eps_upper:.4g}"
            text = f"pair {each.name} ({each.relation}): trials >= {each.eps_lower:.3g} after {each.trials:,}{calls}"
            found.append(f"{text}: {each.verdict}")
    rest = [each for each in record.pairs if each.verdict == "REFUTED" and each.witness is None]
    if rest and record.command == "certify":
        told = [text_above(each.eps_lower, record.claimed_eps) for each in rest]
        found.append(
            "also refuted: "
            + "; ".join(
                f"{each.name} (eps >= {eps}, {_where(each)})" for each, eps in zip(rest[:12], told, strict=False)
            )
        )
    found += [f"note: {each}" for each in record.notes]
    found += [f"script without dpverify: {each}" for each in record.repro]
    return [clean(line) for line in found]


def _where(each: PairResult) -> str:
    return each.relation if each.domain == "in" else f"{each.relation}, outside of the stated domain"


def _pair(each: PairResult, claimed: float) -> list[str]:
    found = [f"pair: {each.name} ({_where(each)})"]
    where = f"by {each.behind}; {each.trials:,} trials refuted it" if each.behind else f"after {each.trials:,} trials"
    found += [f"  eps >= {text_above(each.eps_lower, claimed)} {where}"]
    found += [f"  {each.note}, and its event on fresh releases:"] if each.note else []
    found += ["  first:", *(f"  {row}" for row in each.first), "  second:", *(f"  {row}" for row in each.second)]
    found.append(f"  {each.witness}")
    return found
