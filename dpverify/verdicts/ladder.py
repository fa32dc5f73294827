"""Measured power: what the same audit does to violations of known kinds, run and not computed.

`detectable` is about the most favourable violation. What a run refutes of this subject is asked of this subject:
    noise     the same target with less of its noise, by its own `with_noise(factor)` or on the tape (`less_noise`)
    planted   the subject's own planted twins, `subject!bug`
Each rung is audited RUNS times exactly as the subject is, with seeds of its own, and refuted so many times. It costs
that many times the subject's time. The twins of a suite are audited anyway: one run each is always told. It is the
power of trials: what the tape refutes without any says nothing about them.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from dpverify.base.seeding import derive
from dpverify.claims.neighbours import Pair
from dpverify.verdicts.less_noise import less_noise, rescalable
from dpverify.verdicts.record import AuditRecord, Rung

RUNS = 8
FACTORS = (0.8, 0.5)  # of the noise: a violation by a quarter, and by half
NOISE, PLANTED = "noise", "planted"
Again = Callable[[Any, int], AuditRecord]  # audits a target with a seed, all else as for the subject


def climb(target: Any, pair: Pair, again: Again, seed: int) -> tuple[Rung, ...]:
    """One rung for each of FACTORS; none for a target whose noise cannot be scaled (`less_noise`)."""
    if not rescalable(target, pair, seed=seed):
        return ()
    rungs = []
    for factor in FACTORS:
        less = less_noise(target, factor)
        records = [again(less, derive(seed, f"ladder/{factor:g}/{run}")) for run in range(RUNS)]
        rungs.append(rung(NOISE, f"{factor:g} of the noise", records))
    return tuple(rungs)


def silence(rungs: Sequence[Rung]) -> tuple[str, ...]:
    """The note of a record whose ladder was asked for and has no rung of less noise; nothing where it has one."""
    if any(each.kind == NOISE for each in rungs):
        return ()
    why = "the target has no `with_noise(factor)` and draws no continuous noise from its rng, or other noise too"
    return (f"the power was asked for and is not measured: {why}; planted twins count",)


def repeated(target: Any, first: AuditRecord, again: Again, seed: int, name: str) -> tuple[Rung, ...]:
    """The rung of a planted bug: its own audit and RUNS - 1 more."""
    more = [again(target, derive(seed, f"ladder/planted/{run}")) for run in range(1, RUNS)]
    return (rung(PLANTED, name, [first, *more]),)


def rung(kind: str, name: str, records: Sequence[AuditRecord]) -> Rung:
    """How often the trials of these runs refuted their claim."""
    from statsmodels.stats.proportion import proportion_confint  # here: it takes a second to load

    refuted = sum(record.refuted_by_trials for record in records)
    low, high = proportion_confint(refuted, len(records), alpha=0.05, method="beta")
    return Rung(
        kind=kind,
        name=name,
        size=_size(records[0]),
        lower=max(record.trials_lower or 0.0 for record in records),
        runs=len(records),
        refuted=refuted,
        power_lower=float(low),
        power_upper=float(high),
    )


def with_twins(records: Sequence[AuditRecord]) -> tuple[AuditRecord, ...]:
    """The same records; each subject's ladder tells of its planted twins among them: `a!b` is a twin of `a`."""
    twins: dict[str, list[Rung]] = {}
    for record in records:
        parent, sign, bug = record.subject.rpartition("!")
        if record.planted and sign:
            own = [each for each in record.ladder if each.kind == PLANTED] or [rung(PLANTED, bug, [record])]
            twins.setdefault(parent, []).extend(replace(each, name=bug) for each in own)
    return tuple(
        record
        if record.planted
        else replace(record, ladder=(*twins.get(record.subject, ()), *(r for r in record.ladder if r.kind != PLANTED)))
        for record in records
    )


def _size(record: AuditRecord) -> float | None:
    """What the violation's own ledger says, where that is a violation and trials do not contradict it."""
    told = record.accounted is False and not record.ledger_contradicted
    return record.number_upper if told else None
