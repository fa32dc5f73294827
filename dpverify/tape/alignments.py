"""Which rule z -> z' a target needs, chosen on pilot seeds that never count.

The facts of `trace_result` hold for any rule that is fixed before the transcripts that count. Tried in this order:

    compared  only for a ledger with `AboveThreshold`, and before all others: see `comparisons`
    value     first use
    composed  draws that make up noise of a known law are one variable (`composition`); taken where it loses no more
    summed    a noisy sum becomes a number before anything is computed from it: `abs(v - noisy) < c` then costs what the
              sum does, and not what v moves. Taken where it loses less than "value", or as much in fewer kinds of
              events (a sum that is divided by what was released), or where "value" is not good
    coin      uniforms become public coins as they are drawn, instead of decisions
    unscaled  a noisy sum becomes a number before it is multiplied: its other uses are then equal in bits
    tracked   arrays of the target's own modules are opaque, see `running`; then with coins as well
    learned   constant shifts of the draws: the output's dependence on them is found by finite differences on a pilot,
              and the smallest shifts are taken that give the other dataset's output: in l1 over the scales (a linear
              program), or in l2 where all of the noise is normal. For mechanisms that mix their noises linearly
"""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy

from dpverify.base.sites import site_text
from dpverify.tape import witness
from dpverify.tape.families import FAMILIES
from dpverify.tape.forced import Forced, Pairing
from dpverify.tape.randomness import Alignment, GUMBEL_MAXIMUM

PILOTS = 4  # for each order and rule
LEARNED = 400  # draws at most
CLOSE = 1e-9  # of a solution to the outputs, relative to the largest
DYADIC, NEAR = 2.0**32, 1e-11  # a shift that is so near to a multiple of 2^-32 is one: so it is on a dyadic tape

Pilots = tuple[list[Forced], list[Forced]]


def choose(
    pairings: tuple[Pairing, Pairing], *, found_is_enough: bool = False, compared: bool = False
) -> tuple[str, Pilots]:
    """The name of the first rule whose pilots are all good, or "value", and its pilots in both orders.

    Good in bits is better than good on a dyadic tape only: such a rule is taken where no other one is good. Where none
    is good, the first one under which outputs that differ may prove something (F4), or else differ in their last digits
    alone. Where a finding about a library's
    call is enough, the first one ends it.
    """
    if compared:
        rule = Alignment("compared", compared=True)
        found = _pilots(pairings, (rule, rule))
        if _in_bits(found) and all(_compares(run) for order in found for run in order):
            return rule.name, found
    first = _pilots(pairings, (Alignment(), Alignment()), found_is_enough=found_is_enough)
    if found_is_enough and any(run.findings for order in first for run in order):
        return "value", first
    tried = [((Alignment(), Alignment()), first)]
    if not _foreign(first):
        rule = Alignment("composed", composed=True)
        whole = _pilots(pairings, (rule, rule), applies=_composes)
        if _in_bits(whole) and (not _in_bits(first) or _loss(whole) <= _loss(first)):
            return rule.name, whole
        tried.append(((rule, rule), whole))
        if any(run.first.resumed for order in first for run in order):
            rule = Alignment("summed", unscaled=True, summed=True)
            sums = _pilots(pairings, (rule, rule))
            if _in_bits(sums) and (not _in_bits(first) or _price(sums) < _price(first)):
                return rule.name, sums
        for pairing in pairings:
            pairing.align = Alignment()
    if _in_bits(first) and any(run.first.uncovered for order in first for run in order):
        rule = Alignment("tracked", tracked=True)  # noise that is written into an array stays on the tape
        kept = _pilots(pairings, (rule, rule))
        if _in_bits(kept) and not any(run.first.uncovered for order in kept for run in order):
            return rule.name, kept
        for pairing in pairings:
            pairing.align = Alignment()
    if not _in_bits(first) and not _foreign(first):
        for rules in _rules(pairings, first):
            tried.append((rules, _pilots(pairings, rules)))
            if _in_bits(tried[-1][1]):
                break
    rules, found = next(
        (each for each in reversed(tried) if _in_bits(each[1])),
        next((each for each in tried if _good(each[1])), tried[0]),
    )
    if not _good(found):
        telling = next((each for each in tried if _telling(each[1])), None)
        better = telling or next((each for each in tried if _rounds(each[1])), tried[0])
        if better is not tried[0]:
            rules, found = better[0], _pilots(pairings, better[0], whole=True)
    for pairing, rule in zip(pairings, rules, strict=True):
        pairing.align = rule
    return rules[0].name, found


def unscaled(pairings: tuple[Pairing, Pairing]) -> Pilots | None:
    """Changes the rule "value" to "unscaled", where its pilots are good; for roundings that pilots have not shown."""
    if any(pairing.align.name != "value" for pairing in pairings):
        return None
    found = _pilots(pairings, (Alignment("unscaled", unscaled=True),) * 2)
    return found if _good(found) else None


def _rules(pairings: tuple[Pairing, Pairing], seen: Pilots) -> Iterator[tuple[Alignment, Alignment]]:
    coins = frozenset(
        site_text(draw.site)
        for order in seen
        for run in order
        for draw in run.first.transcript.draws
        if draw.family == "uniform"
    )
    if coins:
        yield (Alignment("coin", coins),) * 2
    runs = [run for order in seen for run in order]
    if any(run.dyadic or (run.bad is not None and run.bad.code == "ROUNDING") for run in runs):
        yield (Alignment("unscaled", unscaled=True),) * 2
        if _good(seen):
            return
    if _draws(seen):
        yield (Alignment("tracked", tracked=True),) * 2
        yield (Alignment("tracked", tracked=True, unscaled=True),) * 2
        if coins:
            yield (Alignment("tracked", coins, tracked=True),) * 2
    if (shifts := _learned(pairings)) is not None:
        yield Alignment("learned", shifts=shifts[0]), Alignment("learned", shifts=shifts[1])


def _pilots(
    pairings: tuple[Pairing, Pairing],
    rules: tuple[Alignment, Alignment],
    *,
    found_is_enough: bool = False,
    whole: bool = False,
    applies: Callable[[Forced], bool] = lambda run: True,
) -> Pilots:
    """PILOTS in each order; under other rules than the first use they end with a bad one, unless they are `whole`.

    They end as well with one to which the rule does not apply.
    """
    found: Pilots = ([], [])
    for pairing, rule in zip(pairings, rules, strict=True):
        pairing.align = rule
    for index in range(PILOTS):
        for pairing, runs in zip(pairings, found, strict=True):
            runs.append(pairing.transcript(index, pilot=True))
            hopeless = rules[0].name != "value" and not whole and runs[-1].bad is not None
            if not applies(runs[-1]):
                return ([], [])
            if hopeless or (found_is_enough and runs[-1].findings):
                return found
    return found


def _good(runs: Pilots) -> bool:
    return all(len(order) == PILOTS and all(run.bad is None for run in order) for order in runs)


def _in_bits(runs: Pilots) -> bool:
    return _good(runs) and not any(run.dyadic for order in runs for run in order)


def _loss(runs: Pilots) -> float:
    return max(run.log_ratio if math.isfinite(run.log_ratio) else math.inf for order in runs for run in order)


def _price(runs: Pilots) -> tuple[float, int]:
    """The largest sum of movements over scales, and how many kinds of them there are; both rounded to nine digits."""
    sums: list[float] = []
    kinds: set[tuple[str, str, str]] = set()
    for run in (run for order in runs for run in order):
        parts: list[float] = []
        for moved in run.moved:
            if moved.kind != "value" or not moved.scale.all():
                parts += np.abs(moved.terms).tolist()
                continue
            parts += np.abs(moved.shift / moved.scale).tolist()
            pairs = zip(np.abs(moved.shift).tolist(), moved.scale.tolist(), strict=True)
            kinds |= {(moved.site, f"{shift:.9g}", f"{scale:.9g}") for shift, scale in pairs}
        sums.append(math.fsum(parts) if all(map(math.isfinite, parts)) else math.inf)
    return float(f"{max(sums, default=0.0):.9g}"), len(kinds)


def _composes(run: Forced) -> bool:
    """Whether noise of the transcript is made of several draws."""
    arena, draws = run.first, run.first.transcript.draws
    return any(
        entry.families == (GUMBEL_MAXIMUM,) or any(draws[at].made for at in np.unique(arena.draws_of(entry.place)))
        for entry in arena.transcript.entries
    )


def _compares(run: Forced) -> bool:
    return any(entry.kind == "comparison" for entry in run.first.transcript.entries)


def _telling(runs: Pilots) -> bool:
    """Whether outputs differ and show all values, in the last run of each order: `witness.visible` looks at all."""
    last = [order[-1] for order in runs if order]
    return any(run.bad is not None and run.differ for run in last) and all(_shows(run) for run in last)


def _rounds(runs: Pilots) -> bool:
    """Whether nothing but last digits speaks against the rule."""
    bad = [run.bad for order in runs for run in order if run.bad is not None]
    return bool(bad) and all(each.code == "ROUNDING" for each in bad)


def _shows(run: Forced) -> bool:
    entries = run.first.transcript.entries
    if not run.trusted or run.second.bad is not None or any(entry.kind != "value" for entry in entries):
        return False
    shown = witness.flat(run.output)
    return all(np.isin(np.asarray(entry.forced, dtype=np.float64), shown).all() for entry in entries)


def _foreign(runs: Pilots) -> bool:
    """Whether no rule can help: a run is not to be trusted."""
    return any(run.bad is not None and not run.trusted for order in runs for run in order)


def _draws(runs: Pilots) -> int:
    return max(run.first.size for order in runs for run in order)


def _learned(pairings: tuple[Pairing, Pairing]) -> tuple[Any, Any] | None:
    found = [_shifts(pairing) for pairing in pairings]
    return None if found[0] is None or found[1] is None else (found[0], found[1])


def _shifts(pairing: Pairing) -> Any:
    """Shifts of the draws under which the second dataset gives the first one's output, or None."""
    pairing.align = Alignment("learned")
    base = pairing.transcript(PILOTS, pilot=True, change=_short)
    draws = base.first.transcript.draws
    count = base.first.size
    if not base.trusted or base.second.bad is not None or base.other_output is None or not 0 < count <= LEARNED:
        return None
    entries = base.second.transcript.entries
    if any(entry.kind != "value" for entry in entries):
        return None
    scales = np.zeros(count)
    for entry in entries:
        scales[entry.place] = np.abs(entry.coef)
    wanted, there = witness.flat(base.output), witness.flat(base.other_output)
    if wanted.shape != there.shape or not np.isfinite(wanted).all() or not np.isfinite(there).all():
        return None
    columns = []
    for at in np.flatnonzero(scales):
        shown = witness.flat(pairing.shifted(base, np.eye(1, count, int(at))[0]))
        if shown.shape != there.shape or not np.isfinite(shown).all():
            return None
        columns.append((shown - there) * scales[at])
    solved = _smallest(np.array(columns).T, wanted - there, all(draw.family == "normal" for draw in draws))
    if solved is None:
        return None
    shifts = np.zeros(count)
    shifts[np.flatnonzero(scales)] = solved * scales[np.flatnonzero(scales)]
    near = np.rint(shifts * DYADIC) / DYADIC
    return np.where(np.abs(near - shifts) <= NEAR, near, shifts)


def _short(family: str, z: Any, start: int) -> Any:
    """Noise of few binary digits, of which single precision keeps all."""
    return z if family in ("uniform", "beta") or FAMILIES[family].lattice else np.rint(z * 1024 + 0.5) / 1024


def _smallest(matrix: Any, wanted: Any, normal: bool) -> Any:
    """The x with matrix x = wanted that has the smallest l2 norm (normal) or l1 norm; None where there is none."""
    if not matrix.size:
        return None
    if normal:
        found = np.linalg.lstsq(matrix, wanted, rcond=1e-12)[0]
    else:
        count = matrix.shape[1]
        solved = scipy.optimize.linprog(
            np.ones(2 * count), A_eq=np.hstack([matrix, -matrix]), b_eq=wanted, method="highs"
        )
        if solved.x is None:
            return None
        found = solved.x[:count] - solved.x[count:]
    good = np.abs(matrix @ found - wanted).max(initial=0.0) <= CLOSE * max(np.abs(wanted).max(initial=0.0), 1.0)
    return found if good and np.isfinite(found).all() else None
