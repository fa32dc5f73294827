"""Whether what a record says of the tape follows from its own numbers: words, bounds, delta_k, and the account."""

import math

from dpverify.accounting.accountant import eps_upper
from dpverify.base.errors import DpverifyError
from dpverify.claims.claim import Claim, GaussianDP, ZCDP
from dpverify.claims.neighbours import Relation
from dpverify.claims.parse import parse_claim
from dpverify.tape.derive import failure_mass
from dpverify.tape.trace import SURE
from dpverify.verdicts.record import AuditRecord
from dpverify.verdicts.taped import CONFORMS, CONTRADICTED, DERIVED, EXACT, NOT_TRACED, numbers, read, Taped, UNDECIDED

WORDS = "its tape's word does not follow from what the tape found"
NUMBERS = "its tape's numbers do not follow from each other"
LOWER = "its bound does not follow from the tape's"
ACCOUNT = "the tape's account does not follow from the derived ledger"


def problem_of_tape(record: AuditRecord) -> str:
    """Why the record's tape, or what was made of it, cannot be; empty where it can, and where there is none."""
    tape = record.tape
    if tape is None:
        return "" if record.audited is None else LOWER
    if tape.transcripts < 0 or not 0 <= tape.bad or tape.pairs != record.pairs or not 0 < tape.confidence < 1:
        return NUMBERS
    return _words(record, tape) or _lower(record, tape) or _numbers(tape) or _account(record, tape)


def _words(record: AuditRecord, tape: Taped) -> str:
    """Which words go together."""
    wrong = (
        (tape.status == NOT_TRACED and (tape.refutes or not tape.reasons or tape.ledger == CONFORMS))
        or (tape.status == CONFORMS and tape.ledger != CONFORMS)
        or (tape.status == DERIVED and tape.ledger not in ("", UNDECIDED, CONFORMS))
        or (tape.status == CONTRADICTED) != (tape.refutes or tape.ledger == CONTRADICTED)
        or (tape.status == EXACT) != (tape.paths is not None and not tape.refutes)
        or (tape.paths is not None and (tape.ledger != "" or record.notion not in ("pure", "approx")))
        or (tape.status in (CONFORMS, DERIVED) and (tape.delta_k is None or tape.bad > 0))
        or (tape.ledger == CONTRADICTED and record.accounted is not None)
    )
    return WORDS if wrong else ""


def _lower(record: AuditRecord, tape: Taped) -> str:
    """A refutation exceeds the claim and is in the record's bound; nothing else is."""
    if not tape.refutes:
        exceeds = tape.error != 0 or (tape.lower is not None and tape.lower > record.claimed)
        return LOWER if exceeds or record.audited is not None else ""
    sampled = tape.paths is None and record.notion == "approx" and record.delta > 0  # an enumeration errs never
    if tape.error != (SURE if sampled else 0.0):
        return LOWER
    if tape.lower is None or not record.claimed < tape.lower <= record.number_lower:
        return LOWER
    if record.audited is None:
        return ""
    same = record.number_lower == record.eps_lower == tape.lower
    return "" if same and record.audited[1] < tape.lower else LOWER


def _numbers(tape: Taped) -> str:
    if tape.paths is not None:
        ends = tape.lower is not None and tape.number is not None and 0 <= tape.lower <= tape.number == tape.eps
        rest = (tape.delta_k, tape.loss, tape.events)
        fits = tape.status in (EXACT, CONTRADICTED) and tape.paths > 0 and not tape.transcripts
        return "" if ends and fits and not any(each is not None for each in rest) else NUMBERS
    open_mass = (tape.delta_k, tape.loss, tape.eps, tape.number, tape.events)
    if tape.status == NOT_TRACED or tape.delta_k is None:
        return NUMBERS if any(each is not None for each in open_mass) else ""
    fits = tape.transcripts > 0 and tape.delta_k == failure_mass(tape.transcripts, (1 - tape.confidence) / 2)
    return "" if fits and tape.loss is not None and not math.isnan(tape.loss) else NUMBERS


def _account(record: AuditRecord, tape: Taped) -> str:
    if tape.paths is not None:
        return ""  # enumerating again needs the code
    if tape.events is None:
        return ACCOUNT if tape.eps is not None or tape.number is not None else ""
    try:
        if record.notion in ("pure", "approx"):
            eps = eps_upper(read(tape.events), delta=record.delta, relation=Relation.REPLACE_ONE)
            found: tuple[float | None, float | None] = eps, eps
        else:
            found = numbers(_claim(record), tape.events)
    except (DpverifyError, ValueError, OSError):  # not accounted then, either
        found = None, None
    return "" if found == (tape.eps, tape.number) else ACCOUNT


def _claim(record: AuditRecord) -> Claim:
    kinds: dict[str, type[ZCDP] | type[GaussianDP]] = {ZCDP.notion: ZCDP, GaussianDP.notion: GaussianDP}
    if record.notion in kinds:
        return kinds[record.notion](record.claimed, record.delta)
    return parse_claim(record.claim)
