"""For a refuted pair: a smaller one that falls as well, and an event in terms of fields, stated on fresh releases."""

from dataclasses import dataclass

from dpverify.claims.claim import Claim
from dpverify.wild import datasets
from dpverify.wild.candidate import Candidate
from dpverify.wild.contender import Contender, FEWEST
from dpverify.wild.here import Source
from dpverify.wild.race import Budget
from dpverify.wild.schema import Schema
from dpverify.wild.shrink import shrunk
from dpverify.wild.witness import search, stated, Witness

AGAIN = 300  # trials that must refute a smaller pair
LEVEL = 0.01  # of such a try: it decides what is shown, not what is true
SHRINK_SHARE, STATE_SHARE = 0.5, 0.4  # of the time of a witness
STATED = (100, 2000)  # fresh releases on each dataset: fewest, most
SPENT = 6  # releases for each of those: both datasets, choosing as well, on two pairs


@dataclass(frozen=True)
class Shown:
    """`candidate` may be smaller than the pair called `name`, whose bound is the certified one."""

    name: str
    candidate: Candidate
    witness: Witness | None
    note: str = ""


def shown_of(contender: Contender, schema: Schema, claim: Claim, budget: Budget, source: Source, *, seed: int) -> Shown:
    """The witness of a refuted pair, on the smallest pair that time allows; on the pair itself where that says less.

    `budget` is its own; the fewest releases are made in any case.
    """
    ends = SHRINK_SHARE * budget.seconds
    number = [contender.index + (1 << 24)]

    def on(candidate: Candidate) -> Contender:
        number[0] += 1
        data = datasets.wire(schema, candidate.first), datasets.wire(schema, candidate.second)
        return Contender(candidate, data, source, claim, share=LEVEL, seed=seed, index=number[0],
                         block=contender.block)  # fmt: skip

    def refutes(candidate: Candidate) -> bool:
        if budget.spent > ends:
            return False
        tried, left = on(candidate), ends - budget.spent
        tried.sample(max(FEWEST, len(contender.samples[0]) // 2), left / 4)
        if not tried.failing:
            tried.run(AGAIN, left / 2)
        return tried.refuted

    small = shrunk(schema, contender.candidate, refutes)
    each = contender.seconds or budget.release
    releases = int(min(STATED[1], max(STATED[0], STATE_SHARE * budget.seconds / (SPENT * each))))
    found = _witness(on(small), claim, releases)
    if small != contender.candidate and not (found is not None and found.eps(claim.delta) > claim.eps):
        whole = _witness(contender, claim, releases)
        if whole is not None and (found is None or whole.eps(claim.delta) > found.eps(claim.delta)):
            small, found = contender.candidate, whole
    note = "" if small == contender.candidate else "the pair shown is a smaller one, found by shrinking"
    return Shown(contender.candidate.name, small, found, note)


def _witness(contender: Contender, claim: Claim, releases: int) -> Witness | None:
    """Chosen on one half, stated on the other."""
    half = max(FEWEST, releases // 2)
    if contender.codebook is None:
        contender.sample(max(FEWEST, half // 2))
    assert contender.codebook is not None
    choose = [contender.codebook.rows(contender.samples[arm] + contender.releases(arm, half)) for arm in (0, 1)]
    event = search(contender.codebook, choose[0], choose[1], claim.eps, claim.delta)
    if event is None:
        return None
    rows = [contender.codebook.rows(contender.releases(arm, releases)) for arm in (0, 1)]
    return stated(event, rows[0], rows[1])
