"""Which neighbouring pair shows most: by trials (`evidence.search`), or by the tape, without any.

By the tape a pair is worth what its code adds to it: the account of the derived ledger at the claim's delta, in the
claim's own unit; without one the largest log ratio of its transcripts. A pair on which the outputs or the draws differ
although all values are the same ranks before all of them: it is where to look. One that cannot be traced for another
reason comes last. Ties go to the pair that comes first. The value is a function of the pair, the claim and the seed:
equal arguments give equal pairs. No certifying trial is touched, so no significance is spent.
"""

from collections.abc import Iterable
from typing import Any

from dpverify.base import require
from dpverify.base.errors import ParameterError
from dpverify.base.seeding import Stage, stream
from dpverify.claims.claim import Claim
from dpverify.claims.neighbours import Pair
from dpverify.evidence import search
from dpverify.evidence.search import Move
from dpverify.verdicts.taped import Taped
from dpverify.verdicts.tracing import taped_pair

BY = ("trials", "tape")
STEPS = 50  # changes that `move` makes, at most
TRANSCRIPTS = 2  # of a pair, in each order: more than one, or nothing is seen of shifts that differ
LIKE = 1000  # trials that a pair's time is a share of
DIFFERS = ("OUTPUTS_DIFFER", "INFINITE", "MORE_DRAWS", "FEWER_DRAWS", "OTHER_DRAWS")
Rank = tuple[int, float]


def worst_pair(
    target: Any,
    *,
    claim: Claim,
    pairs: Iterable[Pair],
    by: str = "trials",
    trials: int = 100_000,
    seed: int = 0,
    move: Move | None = None,
    score: str = "auto",
    steps: int = STEPS,
) -> Pair:
    """The most telling of `pairs`, and of pairs that `move` makes of it.

    by      "trials": see `evidence.search.worst_pair`; "tape": see the module, `trials` and `score` are not used
    steps   by "tape": changes that are tried, one after the other; one stays where it shows more
    Raises ParameterError for no pairs or an unknown `by`, NeighbourError for a pair that the claim's relation refuses.
    """
    if by not in BY:
        raise ParameterError("by", by, "one of " + ", ".join(BY))
    if by == "trials":
        return search.worst_pair(target, claim=claim, pairs=pairs, trials=trials, seed=seed, move=move, score=score)
    require.integer(at_least=0, seed=seed, steps=steps)
    left = [claim.check(pair) for pair in pairs]
    if not left:
        raise ParameterError("pairs", left, "at least one pair")
    found = [(_rank(target, claim, pair, seed), pair) for pair in left]
    rank, best = max(found, key=lambda each: each[0])
    rng = stream(seed, Stage.SEARCH)
    for _ in range(steps if move is not None else 0):
        assert move is not None
        changed = claim.check(move(best, rng))
        other = _rank(target, claim, changed, seed)
        if other > rank:
            rank, best = other, changed
    return best


def _rank(target: Any, claim: Claim, pair: Pair, seed: int) -> Rank:
    return rank(taped_pair(target, claim=claim, pair=pair, seed=seed, trials=LIKE, transcripts=TRANSCRIPTS))


def rank(tape: Taped) -> Rank:
    """Outputs or draws that differ, then what has a number, by that; then what is not traced."""
    if any(reason.code in DIFFERS for reason in tape.reasons):
        return 2, 0.0
    value = tape.number if tape.number is not None else tape.loss
    return (0, 0.0) if value is None else (1, value)
