"""The eight rules of a replay, on the matched calls of one pair; each finding names rule, call, place, declared, moved.

    alignment      calls are matched, see above
    control flow   a call that only one dataset makes: UNDECIDED by itself, a draw of the same law may replace it
    declaration    eps, delta or sensitivity differ;   setting: scale, bounds, divisor, support differ
    sensitivity    the input moves by more than is declared, in the declared norm; NaN on one side alone: infinitely far
    loss           the sum of the calls' losses on this pair is above the claim
    budget         the calls that move, each at its full declaration, add up to more than the claim, or than what the
                   library's own accountant was told
    opaque         a call of which nothing can be said: UNDECIDED
    unprotected    the outputs differ although all noisy values are equal

Calls whose input does not move cost nothing: histograms and groups need no rule of their own. A vector (calls of one
mechanism object at one line with equal settings) is charged once where its distances add up to its sensitivity.
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from dpverify.base.sites import site_text
from dpverify.claims.claim import ApproxDP, Claim, PureDP
from dpverify.claims.neighbours import Relation
from dpverify.tape.instruments.calls import distance, equal, NoiseCall, shown_value, SLACK, steps, told_for, ulp, ULPS
from dpverify.wild.record import Found
from dpverify.wild.replay_calls.recorded import Plan, RecordedRun, Step

# ----------------------------------------------------------------------------------------------------------------------
# Which call on one dataset is which on the other: within one place, by minimum cost, in order.
#
# Matching two calls costs the distance of their inputs in units of the sensitivity, at most `LARGEST`; skipping one
#   costs
# 1. Position alone is wrong: a skipped group shifts all later calls.


LARGEST, SKIP = 1.5, 1.0
MOST = 4_000_000  # cells of the table of costs: beyond, position


def aligned(first: RecordedRun, second: RecordedRun) -> tuple[list[tuple[Step, Step]], list[Step], Plan]:
    """(matched steps, steps without a partner, the plan that plays them back)."""
    ours, theirs = first.by_key(), second.by_key()
    pairs: list[tuple[Step, Step]] = []
    alone: list[Step] = []
    plan: Plan = {}
    for key in ours | theirs:
        one, two = ours.get(key, []), theirs.get(key, [])
        matches = _matched(one, two)
        taken = dict((b, a) for a, b in matches)
        pairs += [(one[a], two[b]) for a, b in matches]
        alone += [step for at, step in enumerate(one) if at not in set(taken.values())]
        for at, step in enumerate(two):
            plan[key, at] = taken.get(at)
            if at not in taken:
                alone.append(step)
    order = {id(step): at for at, step in enumerate(first.steps)}
    return sorted(pairs, key=lambda each: order[id(each[0])]), alone, plan


def gap_of(one: Step, two: Step) -> float:
    """Distance of two calls' inputs, inf where they cannot be compared; 0 for steps without a call."""
    if one.call is None or two.call is None:
        return 0.0
    if one.call.opaque or not (one.call.value.size or two.call.value.size):
        return 0.0
    return distance(one.call.value, two.call.value, one.call.norm)


def _cost(one: Step, two: Step) -> float:
    gap = gap_of(one, two)
    unit = one.call.sensitivity if one.call is not None else None
    if gap == 0:
        return 0.0
    return min(LARGEST, gap / unit) if unit else LARGEST if not math.isfinite(gap) else min(LARGEST, gap)


def _matched(one: Sequence[Step], two: Sequence[Step]) -> list[tuple[int, int]]:
    n, m = len(one), len(two)
    if n * m > MOST or n * m == 0:
        return list(zip(range(n), range(m), strict=False)) if n == m else []
    straight = [_cost(a, b) for a, b in zip(one, two, strict=False)]
    if n == m and max(straight) < LARGEST:
        return [(at, at) for at in range(n)]
    costs = np.array([[_cost(a, b) for b in two] for a in one])
    table = np.zeros((n + 1, m + 1))
    table[:, 0], table[0, :] = np.arange(n + 1) * SKIP, np.arange(m + 1) * SKIP
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            table[i, j] = min(table[i - 1, j - 1] + costs[i - 1, j - 1], table[i - 1, j] + SKIP, table[i, j - 1] + SKIP)
    found, i, j = [], n, m
    while i and j:
        if table[i, j] == table[i - 1, j - 1] + costs[i - 1, j - 1]:
            found.append((i - 1, j - 1))
            i, j = i - 1, j - 1
        elif table[i, j] == table[i - 1, j] + SKIP:
            i -= 1
        else:
            j -= 1
    return found[::-1]


# ----------------------------------------------------------------------------------------------------------------------


DECLARED = ("epsilon", "delta", "sensitivity", "function_sensitivity", "data_sensitivity")
NUMBER = "stands only if the number of records is public"
OPAQUE = ("OPAQUE", "UNKNOWN_LAW", "NOISE")
SHOWN = 6  # fields
Pairs = Sequence[tuple[Step, Step]]


def control_flow(alone: Sequence[Step], pair: str) -> list[Found]:
    """Rule 2; one finding a place."""
    places: dict[tuple[str, str], int] = defaultdict(int)
    for step in alone:
        if step.call is not None:
            places[step.call.name, step.where] += 1
    return [
        Found(
            "control flow",
            name,
            where,
            None,
            count,
            pair,
            f"{name} at {where}: {count} call(s) are made on one dataset only",
            decided=False,
        )
        for (name, where), count in places.items()
    ]


def order(pairs: Pairs, first: RecordedRun, second: RecordedRun, pair: str) -> list[Found]:
    """Rule 2 as well: calls that come in another order may be for other things."""
    place = {id(step): at for at, step in enumerate(second.steps)}
    later = [place[id(two)] for _, two in pairs]
    if later == sorted(later):
        return []
    at = next(k for k in range(1, len(later)) if later[k] < later[k - 1])
    step = pairs[at][0]
    text = f"{step.key[0]} at {step.where}: calls come in another order on the other dataset"
    return [Found("control flow", step.key[0], step.where, None, None, pair, text, decided=False)]


def settings(pairs: Pairs, relation: Relation, pair: str) -> list[Found]:
    """Rule 3."""
    found = []
    for one, two in pairs:
        if one.call is None or two.call is None:
            continue
        for name in sorted(one.call.settings.keys() | two.call.settings.keys()):
            ours, theirs = one.call.settings.get(name), two.call.settings.get(name)
            if equal(ours, theirs):
                continue
            rule = "declaration" if name in DECLARED else "setting"
            why = f"; {NUMBER}" if relation is Relation.ADD_OR_REMOVE_ONE else ""
            found.append(
                Found(
                    rule,
                    one.call.name,
                    one.where,
                    _plain(ours),
                    _plain(theirs),
                    pair,
                    f"{one.call.name} at {one.where}: {name} is {shown_value(ours)} on one dataset and "
                    f"{shown_value(theirs)} on the other{why}",
                )
            )
    return found


def sensitivity(pairs: Pairs, relation: Relation, pair: str) -> list[Found]:
    """Rule 4, call by call; what vectors add up to is charged in `budget`."""
    found = []
    for one, two in pairs:
        declared = declared_of(one, relation)
        if declared is None or one.call is None or two.call is None or _chosen_apart(one.call, two.call):
            continue
        gap = gap_of(one, two)
        if gap > declared * (1 + SLACK) + ULPS * ulp(one.call, two.call):
            text = f"{one.call.name} at {one.where}: its input moves by {gap:g}, it declares {declared:g}"
            found.append(Found("sensitivity", one.call.name, one.where, declared, gap, pair, text))
    return found


def stability(first: RecordedRun, second: RecordedRun, pair: str) -> list[Found]:
    """Rule 4 for transformations (OpenDP): their outputs move by more than their own map says."""
    found = []
    for one, two in zip(first.transformed, second.transformed, strict=False):
        if (one.site, one.inner) != (two.site, two.inner):
            break
        if (broken := one.wrong(two)) is not None:
            where, (promised, gap) = site_text(one.site), broken
            text = f"opendp transformation at {where}: its output moves by {gap:g}, its map says {promised:g}"
            found.append(Found("sensitivity", "opendp transformation", where, promised, gap, pair, text))
    return found


def declared_of(step: Step, relation: Relation) -> float | None:
    """The sensitivity that a call declares; opacus clips one record to C, so that adding one moves the sum by C."""
    if step.call is None or step.call.sensitivity is None:
        return None
    half = relation is Relation.ADD_OR_REMOVE_ONE and step.call.name.startswith("opacus DPOptimizer")
    return step.call.sensitivity / 2 if half else step.call.sensitivity


def _chosen_apart(one: NoiseCall, two: NoiseCall) -> bool:
    """A choice among other candidates: its law says so."""
    return one.norm == math.inf and one.value.shape != two.value.shape


def moved(pairs: Pairs) -> list[tuple[Step, float]]:
    """Matched calls whose input moves, with the distance."""
    found = []
    for one, two in pairs:
        if one.call is None or two.call is None or one.call.opaque or _chosen_apart(one.call, two.call):
            continue
        gap = gap_of(one, two)
        if gap > ULPS * ulp(one.call, two.call):
            found.append((one, gap))
    return found


def budget(pairs: Pairs, first: RecordedRun, claim: Claim, pair: str) -> list[Found]:
    """Rule 6: against the claim, and against what the library's accountant was told."""
    calls = moved(pairs)
    found = []
    if isinstance(claim, PureDP | ApproxDP):
        eps, delta = _declared(calls)
        if math.isfinite(eps) and (eps > claim.eps * (1 + SLACK) or delta > claim.delta * (1 + SLACK)):
            found.append(_over(calls, eps, delta, claim, pair))
    for within, (told, told_delta) in told_for(first.spends).items():
        mine = [(step, gap) for step, gap in calls if step.call is not None and step.call.within == within]
        eps, delta = _declared(mine)
        if math.isfinite(eps) and (eps > told * (1 + SLACK) or delta > told_delta * (1 + SLACK)):
            step = mine[0][0]
            found.append(
                Found(
                    "budget",
                    _names(mine),
                    step.where,
                    told,
                    eps,
                    pair,
                    f"the calls that move ({_names(mine)}) declare eps {eps:g} in all, and the library's "
                    f"accountant is told {told:g}",
                )
            )
    return found


def _over(calls: list[tuple[Step, float]], eps: float, delta: float, claim: Any, pair: str) -> Found:
    much = f"eps {eps:g}" if eps > claim.eps * (1 + SLACK) else f"delta {delta:g}"
    limit = claim.eps if eps > claim.eps * (1 + SLACK) else claim.delta
    return Found(
        "budget",
        _names(calls),
        calls[0][0].where,
        limit,
        eps,
        pair,
        f"the calls' own declarations ({_names(calls)}) add up to {much}, claimed {limit:g}",
    )


def _names(calls: list[tuple[Step, float]]) -> str:
    return ", ".join(dict.fromkeys(step.key[0] for step, _ in calls))


def _declared(calls: Sequence[tuple[Step, float]]) -> tuple[float, float]:
    """(eps, delta) of calls that move, a vector once where it is one."""
    parts: dict[Any, list[tuple[Step, float]]] = defaultdict(list)
    for step, gap in calls:
        assert step.call is not None
        parts[step.call.part, tuple(sorted((name, str(each)) for name, each in step.call.settings.items()))].append(
            (step, gap)
        )
    eps, delta = [], []
    for group in parts.values():
        call = group[0][0].call
        assert call is not None
        whole = (
            call.sensitivity is not None
            and call.norm == 1
            and (math.fsum(gap for _, gap in group) <= call.sensitivity * (1 + SLACK))
        )
        for step, _ in group[:1] if whole else group:
            assert step.call is not None
            eps.append(step.call.eps)
            delta.append(step.call.delta)
    return math.fsum(eps), math.fsum(delta)


def steps_told(first: RecordedRun, pair: str) -> list[Found]:
    """Noisy steps against those that the library's accountant was told of."""
    calls = [step.call for step in first.steps if step.call is not None]
    seen = SimpleNamespace(steps=first.told, calls=calls)
    return [Found("budget", "accountant", each.site, None, None, pair, each.text) for each in steps(seen)]


def opaque(first: RecordedRun, second: RecordedRun, texts: Sequence[tuple[Step, str]], pair: str) -> list[Found]:
    """Rule 7."""
    found = [
        Found("opaque", "", each.site, None, None, pair, each.text, decided=False)
        for run in (first, second)
        for each in run.notes
        if each.code in OPAQUE
    ]
    found += [Found("opaque", step.key[0], step.where, None, None, pair, text, decided=False) for step, text in texts]
    return list({(each.where, each.text): each for each in found}.values())


def unprotected(one: dict[str, Any], two: dict[str, Any], pair: str) -> list[Found]:
    """Rule 8."""
    names = sorted(name for name in one.keys() | two.keys() if not _same(one.get(name), two.get(name)))
    if not names:
        return []
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    text = f"the outputs differ although all noisy values are equal: {', '.join(names[:SHOWN])}{more}"
    return [Found("unprotected", "", "", None, None, pair, text)]


def _same(one: Any, two: Any) -> bool:
    if isinstance(one, float) and isinstance(two, float):
        return one == two or (math.isnan(one) and math.isnan(two))
    return type(one) is type(two) and bool(one == two)


def _plain(value: Any) -> float | str | None:
    return float(value) if isinstance(value, int | float | np.number) else None if value is None else str(value)[:60]
