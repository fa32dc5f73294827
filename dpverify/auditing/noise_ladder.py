"""How little noise the same audit catches: one sequential audit for each of a list of factors."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dpverify.accounting.accountant import account
from dpverify.auditing.ladder import less_noise, rescalable
from dpverify.auditing.pipeline import audit
from dpverify.base.seeding import derive
from dpverify.claims.claim import Claim
from dpverify.claims.neighbours import Pair
from dpverify.errors import ParameterError
from dpverify.trials.target import as_target, name_of

RUNGS = (0.7, 0.5, 1 / 3, 0.25, 0.125, 0.05, 0.0)


@dataclass(frozen=True)
class NoiseRung:
    """One audit of the target with `noise` times its noise.

    eps_true   what the ledger of that target says at the claim's delta; None without one
    verdict, eps_lower, trials   of its sequential audit, which stops once the claim is refuted, or hardly can be
    """

    noise: float
    eps_true: float | None
    verdict: str
    eps_lower: float | None
    trials: int


@dataclass(frozen=True)
class Ladder:
    """`rungs`, most noise first.

    Power need not grow as noise shrinks: with little noise a decision may never flip. So every rung is run.
    """

    rungs: tuple[NoiseRung, ...]

    @property
    def caught(self) -> float | None:
        """The largest noise such that its rung and all rungs of less noise are refuted; None where the least is not."""
        found = None
        for rung in reversed(self.rungs):
            if rung.verdict != "REFUTED":
                break
            found = rung.noise
        return found


def measured_ladder(
    target: Any,
    *,
    claim: Claim,
    pair: Pair,
    trials: int = 100_000,
    seed: int,
    significance: float = 0.05,
    rungs: Sequence[float] = RUNGS,
) -> Ladder:
    """Which share of the target's noise an audit of `claim` on `pair` refutes with at most `trials` trials a rung.

    Less noise is the target's own `with_noise(factor)`, or its code with its noise scaled on the way (`less_noise`).
    Noise that is made from uniform draws by hand, or by a generator that the code seeds itself, is not scaled then.
    One audit a rung, each at `significance`: what is caught are twins, so nothing is taken from the claim's own. Equal
    seeds give equal ladders. ParameterError for a target without a scale and for factors that are no numbers >= 0.
    """
    target = as_target(target)
    if not rescalable(target, claim.check(pair), seed=seed):
        what = "a target with with_noise(factor), or whose code draws continuous noise, and no other, from its rng"
        raise ParameterError("target", name_of(target), what)
    factors = sorted({float(factor) for factor in rungs}, reverse=True)
    if not factors:
        raise ParameterError("rungs", tuple(rungs), "at least one factor")
    found = []
    for factor in factors:
        less = less_noise(target, factor)
        record = audit(
            less,
            claim=claim,
            pair=pair,
            trials=trials,
            significance=significance,
            seed=derive(seed, f"rung/{factor:g}"),
            sequential=True,
        )
        ledger = getattr(less, "ledger", None)
        true = None if ledger is None else account(ledger, delta=claim.delta)
        found.append(NoiseRung(factor, true, str(record.verdict), record.eps_lower, record.trials))
    return Ladder(tuple(found))
