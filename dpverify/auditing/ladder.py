"""Measured power: what the same audit does to violations of known kinds, run and not computed.

`detectable` is about the most favourable violation. What a run refutes of this subject is asked of this subject:
    noise     the same target with less of its noise, by its own `with_noise(factor)` or on the tape (`less_noise`)
    planted   the subject's own planted twins, `subject!bug`
Each rung is audited RUNS times exactly as the subject is, with seeds of its own, and refuted so many times. It costs
that many times the subject's time. The twins of a suite are audited anyway: one run each is always told. It is the
power of trials: what the tape refutes without any says nothing about them.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol, runtime_checkable, Self

import numpy as np
import numpy.typing as npt

from dpverify.auditing.record import AuditRecord, Rung
from dpverify.auditing.statuses import Verdict
from dpverify.base import require
from dpverify.base.seeding import derive, Stage, stream
from dpverify.claims.neighbours import Pair
from dpverify.errors import ParameterError, TargetError
from dpverify.tape.families import FAMILIES
from dpverify.tape.generator import Streamed, streaming
from dpverify.trials.target import as_target, declaration, LoopedTarget, name_of, Target

# ----------------------------------------------------------------------------------------------------------------------
# The same target with less noise: its own `with_noise(factor)`, or its code with every noise scaled on the way.
#
# A target without that method draws from a generator of the tape (`tape.sources`), which multiplies what normal,
# Laplace, exponential, Gumbel and other continuous laws with a scale give, and leaves uniform draws and whole numbers
# as they are: coins, choices, seeds. So the code is unchanged, and so are claim and ledger. It has no `log_ratio` of
# its own: scores are learned. There is no such target where a call of the code draws nothing that can be scaled, draws
# from other laws (discrete noise, which has no scale), or past the tape: noise that is scaled in part would mislead.


Array = npt.NDArray[Any]

SCALED = frozenset(name for name, family in FAMILIES.items() if family.symmetric and not family.lattice)
SCALED |= {"exponential", "gumbel"}
LEFT = frozenset({"uniform", "integers"})  # what environments, samplers and seeds are made of


@runtime_checkable
class Rescalable(Protocol):
    """A target that can be had with less noise."""

    def with_noise(self, factor: float) -> Self:
        """The same target with every noise it adds multiplied by `factor`; its claim is not made again."""


@dataclass(frozen=True)
class OnceWithLessNoise:
    """A function for `loop_trials` with `factor` times the noise."""

    once: Any
    factor: float

    def __call__(self, data: Any, *, rng: np.random.Generator) -> Any:
        return self.once(data, rng=streaming(rng, partial(_scaled, self.factor))[0])

    @property
    def reproducible(self) -> bool:
        """What the function declares."""
        return declaration(self.once, "reproducible") is not False

    @property
    def __name__(self) -> str:
        return name_of(self.once)


class WithLessNoise:
    """A target with `factor` times the noise."""

    def __init__(self, target: Target, factor: float) -> None:
        self._target, self.factor, self.name = target, factor, name_of(target)
        for declared in ("trials_per_block", "reproducible"):
            if (said := declaration(target, declared)) is not None:
                setattr(self, declared, said)

    def release(self, data: Any, *, rng: np.random.Generator, size: int) -> Any:
        """The target's releases from a generator whose noise is scaled."""
        return self._target.release(data, rng=streaming(rng, partial(_scaled, self.factor))[0], size=size)


def rescalable(target: Any, pair: Pair, *, seed: int) -> bool:
    """Whether `less_noise` has an answer: the target says so itself, or a call of its code shows noise to scale."""
    if isinstance(target, Rescalable):
        return True
    seen: set[str] = set()

    def look(family: str, z: Array, start: int) -> Array:
        seen.add(family)
        return z

    sources: list[Streamed] = []
    for data, name in ((pair.first, "first"), (pair.second, "second")):
        generator, source = streaming(stream(derive(seed, f"ladder/{name}"), Stage.EXPERIMENT), look)
        try:
            as_target(target).release(data, rng=generator, size=1)
        except Exception:  # foreign code; the audit itself says what fails
            return False
        sources.append(source)
    return bool(seen & SCALED) and seen <= SCALED | LEFT and not any(source.notes for source in sources)


def score_of_less(target: Any, score: str) -> str:
    """The score for `less_noise(target, ...)` where `score` is asked: scaled on the tape it has no ratio of its own."""
    return "auto" if score in ("exact", "trace") and not isinstance(target, Rescalable) else score


def less_noise(target: Any, factor: float) -> Any:
    """The target with `factor` >= 0 times its noise; TargetError where its `with_noise` gives no target."""
    require.non_negative(factor=factor)
    if isinstance(target, Rescalable):
        try:
            less: Any = target.with_noise(factor)
        except ParameterError:
            if factor:
                raise
            less = _by_tape(target, factor)  # most laws have no scale 0
        if not hasattr(less, "release"):
            raise TargetError(f"with_noise({factor:g}) returned a {type(less).__name__}, not a target")
        return less
    return _by_tape(target, factor)


def _by_tape(target: Any, factor: float) -> Target:
    plain = as_target(target)
    if isinstance(plain, LoopedTarget):
        return LoopedTarget(OnceWithLessNoise(plain.once, factor))
    return WithLessNoise(plain, factor)


def _scaled(factor: float, family: str, z: Array, start: int) -> Array:
    return factor * z if family in SCALED else z


# ----------------------------------------------------------------------------------------------------------------------


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


def with_twins(records: Sequence[AuditRecord], failed: Iterable[str] = ()) -> tuple[AuditRecord, ...]:
    """The same records; each subject's ladder tells of its planted twins among them: `a!b` is a twin of `a`.

    `missed_twins` are those that were not refuted; what `failed`, by name, was not either.
    """
    twins: dict[str, list[Rung]] = {}
    left = [*failed, *(each.subject for each in records if each.planted and each.verdict != Verdict.REFUTED)]
    missed: dict[str, list[str]] = {}
    for name in left:
        parent, _, bug = name.rpartition("!")
        missed.setdefault(parent, []).append(bug)
    for record in records:
        parent, sign, bug = record.subject.rpartition("!")
        if record.planted and sign:
            own = [each for each in record.ladder if each.kind == PLANTED] or [rung(PLANTED, bug, [record])]
            twins.setdefault(parent, []).extend(replace(each, name=bug) for each in own)
    return tuple(
        record
        if record.planted
        else replace(
            record,
            ladder=(*twins.get(record.subject, ()), *(r for r in record.ladder if r.kind != PLANTED)),
            missed_twins=tuple(missed.get(record.subject, ())),
        )
        for record in records
    )


def _size(record: AuditRecord) -> float | None:
    """What the violation's own ledger says, where that is a violation and trials do not contradict it."""
    told = record.accounted is False and not record.ledger_contradicted
    return record.number_upper if told else None
