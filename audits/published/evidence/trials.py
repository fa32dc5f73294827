"""What audits certify: a subject of this repository's suite on a budget of its own, or a transcription of the atlas."""

from importlib import import_module
from typing import Any

from dpverify import audit, Pair
from dpverify.claims import ApproxDP, PureDP

SEED = 20260


def certified(subject: str, trials: int, score: str | None = None) -> float:
    """The certified lower bound of `stem/name` in the claim's own unit over the claimed number, at 95 %."""
    stem, _, name = subject.partition("/")
    (found,) = [each for each in import_module(f"audits.audit_{stem}").subjects if each.name == name]
    record = audit(
        found.target, claim=found.claim, pair=found.pairs[0], trials=trials, seed=SEED, score=score or found.score
    )
    bound = record.eps_lower if record.number_lower is None else record.number_lower
    return float(bound / found.claim.number)


def lower(
    target: Any, first: Any, second: Any, *, eps: float, delta: float = 0.0, trials: int, seed: int = SEED
) -> float:
    """Certified lower bound on eps of a transcription, at 95 %."""
    claim = PureDP(eps) if delta == 0 else ApproxDP(eps, delta)
    return audit(target, claim=claim, pair=Pair(first, second), trials=trials, seed=seed).eps_lower
