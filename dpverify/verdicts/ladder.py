"""Measured power: what the same audit does to violations of known kinds, run and not computed.

`detectable` is about the most favourable violation. What a run refutes of this subject is asked of this subject:
    noise     targets with `with_noise(factor)`, which gives the same target with so much of its noise
    planted   the subject's own planted twins, `subject!bug`
Each rung is audited RUNS times exactly as the subject is, with seeds of its own, and refuted so many times. It costs
that many times the subject's time. The twins of a suite are audited anyway: one run each is always told.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Protocol, runtime_checkable, Self

from dpverify.base.errors import TargetError
from dpverify.base.seeding import derive
from dpverify.evidence.bounds import clopper_pearson
from dpverify.verdicts.record import AuditRecord, Rung
from dpverify.verdicts.verdict import Verdict

RUNS = 8
LEVEL = 0.05  # with which a rung's interval of its power misses it
FACTORS = (0.8, 0.5)  # of the noise: a violation by a quarter, and by half
NOISE, PLANTED = "noise", "planted"
Again = Callable[[Any, int], AuditRecord]  # audits a target with a seed, all else as for the subject


@runtime_checkable
class Rescalable(Protocol):
    """A target that can be had with less noise."""

    def with_noise(self, factor: float) -> Self:
        """The same target with every noise it adds multiplied by `factor` > 0; its claim is not made again."""


def climb(target: Any, again: Again, seed: int) -> tuple[Rung, ...]:
    """One rung for each of FACTORS; none for a target without `with_noise`."""
    if not isinstance(target, Rescalable):
        return ()
    rungs = []
    for factor in FACTORS:
        less = target.with_noise(factor)
        if not hasattr(less, "release"):
            raise TargetError(f"with_noise({factor:g}) returned a {type(less).__name__}, not a target")
        records = [again(less, derive(seed, f"ladder/{factor:g}/{run}")) for run in range(RUNS)]
        rungs.append(rung(NOISE, f"{factor:g} of the noise", records))
    return tuple(rungs)


def silence(rungs: Sequence[Rung]) -> tuple[str, ...]:
    """The note of a record whose ladder was asked for and has no rung of less noise; nothing where it has one."""
    if any(each.kind == NOISE for each in rungs):
        return ()
    return ("the power was asked for and is not measured: the target has no `with_noise(factor)`; planted twins count",)


def repeated(target: Any, first: AuditRecord, again: Again, seed: int, name: str) -> tuple[Rung, ...]:
    """The rung of a planted bug: its own audit and RUNS - 1 more."""
    more = [again(target, derive(seed, f"ladder/planted/{run}")) for run in range(1, RUNS)]
    return (rung(PLANTED, name, [first, *more]),)


def rung(kind: str, name: str, records: Sequence[AuditRecord]) -> Rung:
    """How often these runs refuted their claim, with the Clopper-Pearson interval of that rate."""
    refuted = sum(record.verdict is Verdict.REFUTED for record in records)
    return Rung(
        kind=kind,
        name=name,
        size=_size(records[0]),
        lower=max(record.number_lower for record in records),
        runs=len(records),
        refuted=refuted,
        power_lower=clopper_pearson.lower(refuted, len(records), LEVEL / 2),
        power_upper=clopper_pearson.upper(refuted, len(records), LEVEL / 2),
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
