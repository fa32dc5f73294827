"""What an audit asks of its trials and what they found, whichever way they were spent: the evidence of a record."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from dpverify.claims.claim import Claim
from dpverify.evidence.attack import Attack
from dpverify.evidence.judged import Evidence, Failed
from dpverify.evidence.lower_bound import LowerBound
from dpverify.evidence.scores.exact import LikelihoodScore
from dpverify.evidence.working import Working

Progress = Callable[[int], None]  # told the number of certifying trials that were just finished


@dataclass(frozen=True)
class Request:
    """What the trials of one audit are spent on, and where they run."""

    claim: Claim
    trials: int
    significance: float
    power: float
    score: str
    exact: bool
    jobs: int = 1
    backend: str = "loky"
    progress: Progress | None = None


@dataclass(frozen=True, eq=False)
class Finding:
    """A bound, the rule behind it, and the trials it took (`selection` of them certify nothing).

    `failed` counts failures on each dataset. Where `invalid` says why, there is no bound but the trivial one.
    """

    bound: LowerBound
    score: str
    witness: str
    one_sided: bool
    turned: bool  # a score that was said to be the log ratio points the other way
    trials: int
    selection: int
    curve: tuple[tuple[float, float], ...]
    course: tuple[tuple[int, float], ...]
    failed: Failed
    mostly_failed: bool
    notes: tuple[str, ...] = ()
    invalid: str = ""
    working: Working | None = None
    number_course: tuple[tuple[int, float], ...] = ()  # `course` in the unit of a claim about a whole profile


def found(
    bound: LowerBound,
    attack: Attack,
    evidence: Evidence,
    *,
    trials: int,
    selection: int,
    curve: tuple[tuple[float, float], ...],
    course: tuple[tuple[int, float], ...],
    number_course: tuple[tuple[int, float], ...] = (),
    notes: tuple[str, ...] = (),
    blocks: tuple[tuple[int, int, int, int], ...] = (),
) -> Finding:
    """The finding of a frozen attack on trials that passed all checks."""
    how = tuple(f"failing trials: {each}" for each in sorted(evidence.failing))
    return Finding(
        bound=bound,
        score=attack.score.name,
        witness=attack.witness(bound.levels),
        one_sided=attack.one_sided,
        turned=attack.orientation < 0 and attack.score.name == LikelihoodScore.name,
        trials=trials,
        selection=selection,
        curve=curve,
        course=course,
        failed=evidence.failed,
        mostly_failed=evidence.mostly_failed,
        notes=(*notes, *how),
        working=None if bound.working is None else replace(bound.working, blocks=blocks),
        number_course=number_course,
    )


def invalid(reason: str, *, sequential: bool) -> Finding:
    """No trial has a part in any bound: what is left is what holds without trials."""
    return replace(nothing(sequential=sequential), invalid=reason)


def nothing(*, sequential: bool = False) -> Finding:
    """What holds without trials."""
    trivial = LowerBound(
        eps_lower=0.0,
        number_lower=0.0,
        detectable=math.inf,
        detectable_eps=math.inf,
        test="none",
        right=0,
        wrong=0,
        p_value=1.0,
        log10_p_value=0.0,
        e_value=1.0 if sequential else None,
    )
    return Finding(trivial, "none", "none", False, False, 0, 0, (), (), ({}, {}), False)
