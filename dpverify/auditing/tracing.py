"""Traces a subject's pairs before its trials are run: apart from them, within a share of their time, never an error.

Each trace runs in a process forked for it (`execution.isolated`): what the tape or the code on it does to its
process is lost with it, so the trials are those of a run without any trace, bit for bit. A crash, a hang, or
code that the tape cannot follow is NOT_TRACED with its reason. A release of few finite draws is enumerated: it
is EXACT, or refuted. How many transcripts are made does not depend on time, so equal seeds give equal records,
except that a trace which needs more than its time is NOT_TRACED.
"""

import contextlib
import copy
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from typing import Any

from dpverify.auditing import tape_record
from dpverify.auditing.tape_record import MOST, Taped, TapeDraw, TapeReason, TapeTerm
from dpverify.base.plain_values import decoded
from dpverify.base.seeding import Stage, stream
from dpverify.claims.claim import ApproxDP, Claim, GaussianDP, PureDP, ZCDP
from dpverify.claims.curves import RenyiDP
from dpverify.claims.neighbours import Pair
from dpverify.errors import DpverifyError
from dpverify.execution.isolated import Answer, Call, isolated, limited, Limits
from dpverify.ledger.events import Ledger
from dpverify.tape import trace_result
from dpverify.tape.enumeration import Exact, exact
from dpverify.tape.families import FAMILIES
from dpverify.tape.tracer import OBSERVED, SURE, Trace, trace
from dpverify.tape.transcript import SEEDED
from dpverify.tape.witness import Witness
from dpverify.trials.health.provenance import drawn_before, stored_draws
from dpverify.trials.target import as_target, declaration

FIRST = 10  # transcripts in each order: the fewest that say whether what is released shows every value
FULL = 64  # of a certificate
CONFIDENCE = 0.95
SHARE = 0.05  # of the time that the trials of the pair may take, one by one
LEAST, LONGEST, WALL = 12.0, 60.0, 180.0  # seconds: of processor time at least and at most, of the clock

PATHS, LAW = 2**16, 3.0  # of an enumeration on each dataset: paths, and seconds of processor time
OF_ACCOUNT = 1e-3  # an account of one known law is this close to its true number, with room
EQUAL = 1e-9  # claims are decimals: one below the exact eps by less is written with fewer digits
ENUMERATED = (PureDP, ApproxDP, ZCDP, GaussianDP, RenyiDP)
FEW = 64  # draws of a release that is worth a try
CONTINUOUS = tuple(name for name, family in FAMILIES.items() if not family.lattice and name != "uniform")
HOPELESS = ("CRASH", "TIMEOUT", "ERROR", "SYSTEM", "FOREIGN", "MUTATED")  # of which an enumeration would not do better
AGAINST_LEDGER = (*OBSERVED, "NO_LAW", SEEDED)  # codes of what was seen in runs that were followed
CODES = {"exit": "CRASH", "signal": "CRASH", "timeout": "TIMEOUT", "system": "SYSTEM"}


def taped_pair(
    target: Any,
    *,
    claim: Claim,
    pair: Pair,
    ledger: Ledger | None = None,
    seed: int,
    trials: int,
    transcripts: int = FIRST,
) -> Taped:
    """What the tape says of `target` on a pair, see `auditing.tape_record`; NOT_TRACED where nothing comes back.

    With more than FIRST transcripts the first ones are looked at by themselves: a claim that they refute needs no more.
    """

    def work() -> dict[str, Any]:
        return _work(target, claim, pair, ledger, seed, trials, transcripts)

    block = _answered(work, seed)
    if isinstance(claim, ENUMERATED) and may_be_finite(block):
        law = _answered(lambda: _enumerated(target, claim, pair, seed), seed)
        kept = drawn_before(target) or ([] if any(row.count for row in block.draws) else stored_draws(target))
        if law.refutes and kept:  # the law is that of what is left to draw: no lower bound
            return block
        if law.refutes or (law.number is not None and law.number < math.inf):
            return law
    return block


def may_be_finite(block: Taped) -> bool:
    """Whether an enumeration may say more than the transcripts: they failed, or a rare outcome may have been missed."""
    if sum(row.count for row in block.draws) > FEW or any(row.family in CONTINUOUS for row in block.draws):
        return False
    if block.status == tape_record.NOT_TRACED:
        return block.reasons[0].code not in HOPELESS
    return not block.refutes


def _answered(work: Callable[[], dict[str, Any]], seed: int) -> Taped:
    found = isolated(Call(work), Limits(WALL))
    if not isinstance(found, Answer):
        return Taped.lost(CODES[found.kind], f"the trace gave no answer: {found.text}", seed)
    if found.error is not None:
        said = f"{found.error['type']}: {found.error['text']}"
        return Taped.lost("ERROR", f"the trace gave no answer: {said}", seed)
    try:
        return decoded(Taped, found.value)
    except (KeyError, TypeError, ValueError) as error:
        return Taped.lost("ERROR", f"the trace's answer cannot be read ({type(error).__name__})", seed)


def _work(
    target: Any, claim: Claim, pair: Pair, ledger: Ledger | None, seed: int, trials: int, transcripts: int
) -> dict[str, Any]:
    """In the forked process."""
    limited(LONGEST)
    once = min(_seconds(target, pair) for _ in range(2))  # the first one loads and caches
    limited(min(LONGEST, max(LEAST, SHARE * trials * once)))
    declared = ledger if ledger is not None else declaration(as_target(target), "ledger")
    found = Taped.lost("TIMEOUT", "no transcript", seed)
    for count in sorted({min(FIRST, transcripts), transcripts}):
        found = of_trace(_traced(target, claim, pair, declared, seed, count), claim)
        if found.refutes or not found.traced:
            break
    return asdict(found)


def _enumerated(target: Any, claim: Any, pair: Pair, seed: int) -> dict[str, Any]:
    """The exact law, in the forked process; NOT_TRACED where there is none to be had in LAW seconds."""
    limited(LAW)  # wall time ends only what waits and computes nothing: a busy machine changes no word
    found = exact(target, pair=pair, delta=claim.delta, claim=claim, paths=PATHS, seed=seed, timeout=20 * LAW)
    return asdict(of_law(found, claim, seed))


def of_law(found: Exact, claim: Claim, seed: int) -> Taped:
    """An enumerated law as a part of a record. It refutes a claim that is below its lower end by more than 1e-9.

    Of a claim of a whole profile the law says how large its number is at least, and no upper end.
    """
    if found.eps_lower is None or found.eps_upper is None:
        return Taped.lost(found.status, "" if found.reason is None else found.reason.text, seed)
    whole = found.number_lower is not None
    lower = (found.eps_lower if found.number_lower is None else found.number_lower) * (1 - EQUAL)
    refutes, event = bool(lower > claim.number), found.event
    told = "" if event is None else f"{event.outcome} has probability {event.first:.6g} against {event.second:.6g}"
    why = TapeReason("EXACT", "", f"enumerated, {claim._number} is at least {lower:.6g} on this pair")
    return Taped(
        status=tape_record.CONTRADICTED if refutes else tape_record.EXACT,
        reasons=(why,) if refutes else (),
        refutes=refutes,
        lower=lower,
        witness=told,
        chances=None if event is None else (event.first, event.second),
        eps=found.eps_upper,
        number=None if whole else found.eps_upper,
        paths=found.paths,
        seed=seed,
    )


def refute_by_law(block: Taped, claim: Claim) -> Taped:
    """Refute a claim by the known law of an output that is data plus one draw.

    Parameters
    ----------
    block : Taped
        What the tape says on a pair. Nothing is refuted unless its only event is Laplace noise on one entry that moves,
        or Gaussian noise.
    claim : Claim
        zCDP, Gaussian DP, Renyi DP or approximate DP: their numbers are exact for these laws up to rounding. Pure
        claims are refuted by a witness instead.

    Returns
    -------
    Taped
        A refutation with its lower bound; the same block where there is none.

    Notes
    -----
    The caller has to know that the output is a linear function of data plus that draw in every run (`Proof.alone`):
    transcripts show it of themselves only. The two laws of the output then differ by their place alone.
    """
    known = isinstance(claim, ZCDP | GaussianDP | RenyiDP | ApproxDP) and block.traced and not block.bad
    if not known or block.refutes or block.number is None or not block.events or len(block.events) != 1:
        return block
    (event,) = block.events
    moved = [row for row in block.draws if row.moved]
    if len(block.draws) != 1:  # what is drawn beside it may hide more
        return block
    one = len(moved) == 1 and 0 < moved[0].shift_l1 <= moved[0].shift_max * (1 + EQUAL)
    if event.times != 1 or not (event.event == "GaussianNoise" or (event.event == "LaplaceNoise" and one)):
        return block
    lower = block.number * (1 - OF_ACCOUNT)
    if not claim.number < lower < math.inf:
        return block
    text = f"the output is data plus this noise alone: by its law {claim._number} is at least {lower:.6g} on this pair"
    reasons = (TapeReason("KNOWN_LAW", moved[0].site if moved else "", text), *block.reasons)[:MOST]
    return replace(
        block,
        status=tape_record.CONTRADICTED,
        refutes=True,
        reasons=reasons,
        lower=lower,
        terms=None,
        witness=f"the laws of the output lie {event.moves_by:.6g} apart, at a scale of {event.values[0]:.6g}",
        error=SURE if claim.notion == "approx" and claim.delta > 0 else 0.0,
    )


def _traced(target: Any, claim: Claim, pair: Pair, ledger: Ledger | None, seed: int, count: int) -> Trace:
    return trace(
        target,
        pair=pair,
        claim=claim,
        ledger=ledger,
        transcripts=count,
        confidence=CONFIDENCE,
        seed=seed,
        timeout=LONGEST,
    )


def _seconds(target: Any, pair: Pair) -> float:
    started = time.process_time()
    with contextlib.suppress(Exception, SystemExit):  # which may be what it gives
        copy.deepcopy(as_target(target)).release(pair.first, rng=stream(0, Stage.TAPE), size=1)
    return time.process_time() - started


def of_trace(found: Trace, claim: Claim) -> Taped:
    """A trace as a part of a record."""
    refutes = found.status == tape_record.CONTRADICTED and any(each.code == "WITNESS" for each in found.reasons)
    block = Taped(
        status=found.status,
        reasons=tuple(TapeReason(each.code, each.site, each.text) for each in found.reasons)[:MOST],
        refutes=refutes,
        error=SURE if refutes and claim.notion == "approx" and claim.delta > 0 else 0.0,
        ledger=_ledger(found, refutes=refutes),
        confidence=found.confidence,
        transcripts=found.transcripts,
        bad=found.bad,
        draws=tuple(_draws(found)),
        rounding=found.rounding,
        alignment=found.alignment,
        seed=found.seed,
        notes=found.notes[:MOST],
        uncovered=found.uncovered[:MOST],
    )
    if not found.traced:  # what was seen in a run that was followed is held against a ledger
        seen = any(each.code in AGAINST_LEDGER for each in found.reasons)
        return replace(block, ledger=tape_record.UNMATCHED if seen else "")
    if found.witness is not None and found.witness.visible:
        one = found.witness
        order = "the first dataset against the second" if one.order == 0 else "the second dataset against the first"
        lower = _bounded(one.log_ratio, claim, refutes=refutes)
        block = replace(
            block,
            lower=lower,
            terms=None if lower is None else _terms(one),
            witness=f"transcript {one.transcript} ({one.kind}), {order}, seed {one.seed}",
        )
    if found.bad or not found.transcripts:
        return block
    missed = trace_result.failure_mass(found.transcripts, (1 - found.confidence) / 2)
    block = replace(block, delta_k=missed, loss=found.loss)
    if found.ledger is None or not found.fixed:
        return block
    events = tape_record.written(found.ledger)
    if events is None:
        return block
    try:
        eps, number = tape_record.numbers_of_claim(claim, events)
    except DpverifyError as error:  # a ledger without an account under this claim
        return replace(block, events=events, notes=(*block.notes, f"derived ledger not accounted: {error}"))
    block = replace(block, events=events, eps=eps, number=number)
    named = not any(event.event == "Filtered" for event in events)  # else a sum over an unknown course, not noise
    over = named and number is not None and claim.number * (1 + EQUAL) < number < math.inf
    if not over or block.ledger not in (tape_record.UNDECIDED, tape_record.UNMATCHED) or refutes:
        return block
    text = f"the draws of the code cost {number:.6g} on this pair, more than is claimed ({claim.number:g})"
    reasons = (TapeReason("ABOVE_CLAIM", "", text), *block.reasons)[:MOST]
    return replace(block, ledger=tape_record.UNMATCHED, reasons=reasons)


def _ledger(found: Trace, *, refutes: bool) -> str:
    """The word about the declared ledger; what a library declares is one as well."""
    if found.status == tape_record.CONTRADICTED and not refutes:
        return tape_record.CONTRADICTED
    return "" if found.conformity is None else found.conformity.status


def _terms(found: Witness) -> tuple[TapeTerm, ...] | None:
    """As plain values; a ratio that is infinite (F4) is no sum."""
    if found.terms is None or not math.isfinite(found.log_ratio):
        return None
    return tuple(TapeTerm(**asdict(each)) for each in found.terms)


def _bounded(log_ratio: float, claim: Claim, *, refutes: bool) -> float | None:
    """A lower bound of eps at the claim's delta: of pure DP any witness is one, else only what refutes the claim."""
    pure = isinstance(claim, PureDP) or (isinstance(claim, ApproxDP) and claim.delta == 0)
    return log_ratio if pure or refutes else None


def _draws(found: Trace) -> Iterator[TapeDraw]:
    for row in sorted(found.draws, key=lambda each: -each.moved)[:MOST]:
        scale = row.scale if math.isfinite(row.scale) else None
        yield TapeDraw(row.site, row.family, scale, row.count, row.moved, row.shift_max, row.shift_l1, row.shift_l2)
