"""A certificate, or the records of a suite, made again from the evidence in it, by the code that wrote it.

`dpverify/check.py` judges the evidence and imports nothing of ours. This module is about all the rest of a file: the
evidence is read, every field that follows from other fields is computed again, the file is written again, and both
texts are compared leaf by leaf. A name that no record has differs as well, and so does a name that is missing.

What follows from nothing else in the file is listed in `TAKEN`: the reader has the author's word for it.
"""

import json
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any

from dpverify.auditing.canaries import SCORE as CANARIES
from dpverify.auditing.certificate import Certificate
from dpverify.auditing.certificate import SCHEMA as CERTIFICATE
from dpverify.auditing.finding import DETECTABLE, nothing, POWER
from dpverify.auditing.record import AuditRecord
from dpverify.auditing.sequential import in_own_unit
from dpverify.auditing.statuses import Accept
from dpverify.auditing.tape_record import EXACT, numbers_of_claim, Taped, TapeTerm
from dpverify.auditing.tracing import CONFIDENCE
from dpverify.base.plain_values import decoded
from dpverify.base.rounding import digits_up
from dpverify.check import PROOF_KEYS
from dpverify.claims.claim import Claim, WholeProfile
from dpverify.claims.curves import parse_claim
from dpverify.claims.neighbours import Relation, Unit, View
from dpverify.errors import DpverifyError
from dpverify.evidence.betting import eps_grid, FOLLOWING_EXACT, FOLLOWING_LEARNED
from dpverify.evidence.bounds.binomial import BonferroniTest
from dpverify.evidence.bounds.tradeoff_curve import CurveTest
from dpverify.evidence.tally import Working
from dpverify.ledger.compound_events import AboveThreshold
from dpverify.ledger.description import CLOSED
from dpverify.promises import detectable_rate, PromiseCheck
from dpverify.report import json_file
from dpverify.report.html_page import certificate_json
from dpverify.suite.result import check_words, FAMILIES, SuiteResult
from dpverify.tape import families, trace_result
from dpverify.tape.tracer import SURE
from dpverify.wild.record import Found, PairResult, Row
from dpverify.wild.record import SCHEMA as TRIED

# What follows from nothing else in a file: plans and samples, which only the code can make again, words of the author,
# and where and when it was made. "[]" is every item of a list, and all that is inside a path is taken as well.
_RECORD = (
    *("seconds", "notes", "ladder", "failed_trials", "witness", "one_sided", "course", "number_course"),
    *("detectable", "detectable_eps", "selection_trials", "working.events"),
    "working.bets[].predicted",
    *(f"tape.{name}" for name in ("reasons", "witness", "loss", "bad", "notes", "uncovered")),
    *(f"tape.draws[].{name}" for name in ("count", "moved", "shift_max", "shift_l1", "shift_l2")),
)
_PROMISE = (
    "bound",
    "tightness",
    "worst",
    "violations",
    "witness",
    "block",
    "paper",
    "statement",
    "active_share",
    "expected",
)
_SUITE = (  # what a certificate says twice
    *("relation", "unit", "view", "assumptions", "source", "pair", "pair_verified", "score", "paper", "statement"),
    *("file", "line", "source_digest", "expected", "expected_accounted", "accept", "planted", "refuted_by", "ledger"),
    *("tape.status", "tape.rounding", "tape.transcripts", "tape.paths", "tape.seed", "tape.pairs", "tape.alignment"),
    *("budget", "tape.draws", "tape.delta_k", "tape.confidence"),
)
TAKEN = {
    CERTIFICATE: (
        *("command", "notes", "environment", "identity"),
        *(f"records[].{name}" for name in _RECORD),
        *(f"promises[].{name}" for name in _PROMISE),
    ),
    json_file.SCHEMA: (
        *("environment", "identity", "failures", "asked", "interrupted", "require_tape"),
        *(f"records[].{name}" for name in (*_RECORD, *_SUITE)),
        *(f"promises[].{name}" for name in _PROMISE),
    ),
    TRIED: (
        *("again", "versions", "seed", "seconds", "predicted_seconds", "notes", "repro", "pairs", "findings", "code"),
        *("matrix[].trials", "matrix[].detectable"),
        *(f"proof[].{name}" for name in ("seconds", "ended", "notes", "pair", "mend", "problem")),
        "proof[].derivation.columns[].name",
        "proof[].derivation.rows",
        "proof[].derivation.paths[].terms[].args",
        "proof[].derivation.paths[].terms[].extra",
        "proof[].derivation.paths[].groups[].events[].moves[].term",
        *(f"proof[].derivation.paths[].groups[].events[].{name}" for name in ("noise_powers", "data_powers", "bar")),
    ),
}
# The fields of `Working` beside counts that each test uses; the others are as they are without it.
WORKING = {
    "binomial": (),
    "threshold": (),
    "shared binomial": ("events",),
    "one run": ("events",),
    "one run curve": ("events",),
    "weighted": ("weights",),
    "unconditional": ("nuisance", "order"),
    "curve": ("nuisance", "order", "abstains"),
    "betting": ("grid", "following", "bets"),
}
RELATIONS = tuple(map(str, Relation))
ALIGNMENTS = ("value", "unscaled", "learned", "compared", "composed", "summed", "tracked", "coin")
ROOM = 1e-9  # of a number: libraries of another version round otherwise


def taken_from_file(document: dict[str, Any]) -> list[str]:
    """List the paths of `TAKEN` that this file has, and what was asked of a suite and has no outcome."""
    known = {named(path[:k]) for path, _ in leaves(document) for k in range(1, len(path) + 1)}
    listed = [path for path in TAKEN.get(document["schema"], ()) if path in known]
    if any(not each.get("holds") for each in document.get("proof", {}).values()):
        listed.append("proof[].derivation")  # only of a proof that holds everything is computed again
    outcomes = [*document.get("records", ()), *document.get("promises", ()), *document.get("failures", ())]
    done = {each.get("subject", each.get("name")) for each in outcomes}
    return listed + [
        f"nothing about {name}, which was asked" for name in document.get("asked") or () if name not in done
    ]


def named(path: tuple[str | int, ...]) -> str:
    """Write a path as `TAKEN` has it: ("records", 0, "seconds") is "records[].seconds", a relation is an item, too."""
    found = "".join("[]" if isinstance(step, int) or step in RELATIONS else f".{step}" for step in path)
    return found.removeprefix(".")


def leaves(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Walk over plain values: (path, value) of what has nothing inside."""
    inside: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    if not inside or (isinstance(value, list) and not value):
        yield path, value
    for step, each in inside:
        yield from leaves(each, (*path, step))


def differences(document: dict[str, Any]) -> list[str]:
    """List what the file says otherwise than its evidence; empty where it was written as it stands.

    A file that cannot be read as one of its schema has one difference, which says why.
    """
    try:
        again = _rebuild(document)
    except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError, DpverifyError) as error:
        return [f"not as the schema says ({error or type(error).__name__})"]
    stated, found = dict(leaves(document)), dict(leaves(again))
    wrong = []
    for path in dict.fromkeys([*stated, *found]):
        place = ".".join(map(str, path))
        if path == ("digest",):  # `check.py` computes it
            continue
        if path not in found:
            wrong.append(f"{place} does not follow from the evidence")
        elif path not in stated:
            wrong.append(f"{place} is missing: it is {found[path]!r}")
        elif not _same(stated[path], found[path]):
            wrong.append(f"{place} is {stated[path]!r}, from the evidence it is {found[path]!r}")
    return wrong


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, bool) or isinstance(other, bool) or not isinstance(one, int | float):
        return type(one) is type(other) and bool(one == other)
    return isinstance(other, int | float) and (one == other or abs(one - other) <= ROOM * abs(one) < math.inf)


def _rebuild(document: dict[str, Any]) -> Any:
    """Write the file again, from its evidence, and read it."""
    schema = document["schema"]
    if schema == TRIED:
        return _rebuild_tried(document)
    if schema == CERTIFICATE:
        certificate = Certificate.from_dict(document)
        first = certificate.records[0]
        if any(each.tape is not None and each.tape.pairs != 1 for each in certificate.records):
            raise ValueError("a trace of several pairs")
        same = {  # what is said once of all pairs, and what only a suite says
            **{name: getattr(first, name) for name in ("relation", "unit", "view", "assumptions", "source", "line")},
            **{name: getattr(first, name) for name in ("file", "source_digest", "ledger", "charged", "paper")},
            **{"subject": certificate.subject, "claim": certificate.claim, "pairs": len(certificate.records)},
            **{"expected": None, "expected_accounted": None, "accept": "", "planted": False, "missed_twins": ()},
            **{"refuted_by": "", "paper": "", "statement": ""},
        }
        certificate = replace(
            certificate,
            records=tuple(_rebuild_record(replace(record, **same)) for record in certificate.records),
            promises=tuple(_rebuild_promise(each) for each in certificate.promises),
        )
        return json.loads(certificate_json(certificate))
    result = decoded(SuiteResult, document)
    if result.family not in FAMILIES or any(record.refuted_by not in ("", result.family) for record in result.records):
        raise ValueError(f"records are refuted by another procedure than {result.family!r}")
    outcomes = [each.subject for each in result.records] + [each.name for each in result.promises]
    outcomes += [each.subject for each in result.failures]
    if result.asked is not None and set(outcomes) - {*result.asked}:
        raise ValueError("there is an outcome that nobody has asked for")
    if not outcomes and not result.interrupted:
        raise ValueError("nothing was judged, and nothing was interrupted")
    for level in [each.significance for each in result.records] + [each.significance for each in result.promises]:
        shares = result.family_wise_error / level
        if abs(shares - round(shares)) > ROOM * shares:
            raise ValueError(f"the significance {level} is no equal share of the family-wise error")
    result = replace(
        result,
        records=tuple(_rebuild_record(record) for record in result.records),
        promises=tuple(_rebuild_promise(each) for each in result.promises),
    )
    return json.loads(json_file.render(result))


def _rebuild_record(record: AuditRecord) -> AuditRecord:
    """Compute again what follows from the claim, from the working, from the charges and from the trace."""
    check_words(record)
    claim = parse_claim(
        record.claim, relation=Relation(record.relation), unit=Unit(record.unit), view=View(record.view)
    )
    if record.accept and record.accept not in tuple(Accept):
        raise ValueError(f"accept is {record.accept!r}")
    kinds = {kind.__name__ for kind in CLOSED}
    written: Counter[str] = Counter()
    for times, event, *_ in record.ledger:
        written[event] += int(times.replace(",", ""))
    charged: Counter[str] = Counter()
    for each in record.charged or ():
        charged[each.event] += each.times
        if (each.comparisons is None) == (each.event == AboveThreshold.__name__):
            raise ValueError(f"{each.event} has comparisons {each.comparisons}")
    if (record.charged is not None or (record.ledger and set(written) <= kinds)) and charged != written:
        raise ValueError(f"the ledger has {dict(written)}, {dict(charged)} is charged")
    if record.trials and not record.sequential and record.budget not in (record.trials, 0):
        raise ValueError(f"budget is {record.budget}, and {record.trials} trials were made")
    if record.budget < record.trials:
        raise ValueError(f"budget is {record.budget}, less than the {record.trials} trials that were made")
    if record.working is None:
        record = _rebuild_without_trials(record)
    if record.sequential and record.working is not None:
        if record.working.following not in (FOLLOWING_EXACT, FOLLOWING_LEARNED):
            raise ValueError(f"the share {record.working.following} of a wager follows predictions")
        record = replace(record, working=replace(record.working, grid=tuple(eps_grid(claim.eps).tolist())))
        if record.audited is None:
            record = replace(record, number_lower=in_own_unit(claim, record.eps_lower))
    implied = record.detectable
    if isinstance(claim, WholeProfile):  # only of this test it is computed from `detectable`, and not the other way
        implied = record.detectable_eps
        if record.test == CurveTest.name and record.detectable < math.inf:
            implied = digits_up(claim.with_number(record.detectable).eps)
    return replace(
        record,
        claim=str(claim),
        notion=claim.notion,
        claimed=claim.number,
        claimed_eps=claim.eps,
        delta=claim.delta,
        power=POWER,
        detectable_basis=DETECTABLE,
        detectable_eps=implied,
        e_value=record.e_value if record.sequential else None,
        working=None if record.working is None else _rebuild_working(record.working, record.test),
        tape=None if record.tape is None else _rebuild_tape(record.tape, claim),
    )


def _rebuild_without_trials(record: AuditRecord) -> AuditRecord:
    """Put what holds before any trial in the place of all that trials say, as `make_record` does."""
    trivial = nothing(sequential=record.sequential and bool(record.invalid))
    bound = trivial.bound
    return replace(
        record,
        trials=trivial.trials,
        selection_trials=trivial.selection,
        budget=record.budget if record.invalid or record.score == CANARIES else 0,
        sequential=bound.e_value is not None,
        score=record.score if record.score == CANARIES else trivial.score,
        witness=trivial.witness,
        one_sided=trivial.one_sided,
        curve=trivial.curve,
        course=trivial.course,
        number_course=trivial.number_course,
        failed_trials=dict(zip(("first", "second"), trivial.failed, strict=True)),
        test=bound.test,
        detectable=bound.detectable,
        detectable_eps=bound.detectable_eps,
        p_value=bound.p_value,
        log10_p_value=bound.log10_p_value,
        e_value=bound.e_value,
    )


def _rebuild_working(working: Working, test: str) -> Working:
    """Keep the counts and what this test is computed from; the rest of the fields are what they are without it."""
    if not 1 <= working.pooled <= len(working.levels):
        raise ValueError(f"{working.pooled} of {len(working.levels)} levels are pooled")
    if test == BonferroniTest.name and abs(math.fsum(share for _, share in working.events) - 1) > ROOM:
        raise ValueError("the shares of events do not add up to 1")
    counts = ("trials", "levels", "pooled", "blocks", *WORKING[test])
    return Working(**{name: getattr(working, name) for name in counts})


def _rebuild_tape(found: Taped, claim: Claim) -> Taped:
    """Compute again the account of the events, the mass that is left open, and the witness's log ratio."""
    if found.pairs > 1:  # of a suite, which keeps the worst of its pairs: no account of one trace
        return found
    if found.alignment not in ALIGNMENTS:
        raise ValueError(f"alignment is {found.alignment!r}")
    if (found.paths is not None) != (found.status == EXACT or (found.refutes and found.transcripts == 0)):
        raise ValueError(f"{found.status} with {found.paths} enumerated paths and {found.transcripts} transcripts")
    for each in found.terms or ():
        if not math.isfinite(_log_ratio(each)):
            raise ValueError(f"a value of {each.family} has no log ratio")
    if found.paths is not None:
        plain = Taped(status=found.status)  # an enumerated law leaves nothing open: it has no transcripts
        as_before = ("error", "events", "loss", "delta_k", "confidence", "transcripts", "bad", "pairs", "terms")
        return replace(found, **{name: getattr(plain, name) for name in as_before})
    lower = found.lower if found.refutes or (claim.notion in ("pure", "approx") and claim.delta == 0) else None
    eps = number = None
    if found.events is not None:
        try:
            eps, number = numbers_of_claim(claim, found.events)
        except DpverifyError:  # a ledger that has no account under this claim
            if not any(note.startswith("derived ledger not accounted") for note in found.notes):
                raise
    missed = None
    if found.traced and found.transcripts and not found.bad:
        missed = trace_result.failure_mass(found.transcripts, (1 - found.confidence) / 2)
    return replace(
        found,
        error=SURE if found.refutes and claim.notion == "approx" and claim.delta > 0 else 0.0,
        confidence=CONFIDENCE,
        lower=lower,
        terms=None if lower is None else found.terms,
        eps=eps,
        number=number,
        delta_k=missed,
        loss=None if missed is None else found.loss,
        pairs=1,
    )


def _log_ratio(term: TapeTerm) -> float:
    law = families.FAMILIES[term.family].log_mass
    both = law(term.z, *term.parameters) - law(term.other_z, *term.other_parameters)
    return float(both) - math.log(term.scale / term.other_scale)


def _rebuild_promise(check: PromiseCheck) -> PromiseCheck:
    """Compute again the rate that would be found; a witness is there where an invariant failed."""
    if (check.witness is not None) != any(check.violations.values()) or not check.tightness <= check.worst:
        raise ValueError(f"{check.name}: violations {check.violations}, witness {check.witness}")
    if check.worst > 1 and not check.failures:
        raise ValueError(f"{check.name}: an error above the bound, and no failure")
    return replace(
        check,
        failure_rate=check.failures / check.trials,
        detectable_rate=detectable_rate(check.trials, check.failure_probability, check.significance),
    )


def _rebuild_tried(document: dict[str, Any]) -> dict[str, Any]:
    """Read every part of a record of `certify --data` or `replay` as its type; count its pairs again."""
    pairs = [
        decoded(PairResult, {**{name: value for name, value in each.items() if name != "witness"}, "witness": None})
        for each in document["pairs"]
    ]
    rows = [decoded(Row, each) for each in document["matrix"]]
    code = {relation: decoded(Taped, each) for relation, each in document["code"].items()}
    if document["command"] == "certify":
        judged = any(each.domain == "out" for each in pairs) and "--out-of-domain judge" in document["again"]
        rows = [
            _rebuild_row(row, [each for each in pairs if judged or each.domain == "in"], code.get(row.relation))
            for row in rows
        ]
        proofs = document["proof"]
        proved = any(each.get("holds") for each in proofs.values())
        if not proofs and "--python" not in document["again"]:
            raise ValueError("nothing is said of a proof")
        for relation, each in proofs.items():
            if each.keys() not in (PROOF_KEYS, {"problem"}) or relation not in RELATIONS:
                raise ValueError(f"a proof under {relation} with the keys {sorted(each)}")
            if not each.get("ended", True) and not each["derivation"]:
                raise ValueError("a proof without its derivation")
            nothing_proved = {"holds": False, "steps": [], "paths": 0, "derivation": {}, "pair": None, "mend": ""}
            if each.get("ended") and any(each[name] != value for name, value in nothing_proved.items()):
                raise ValueError("a proof that has ended, and proves something")
            if each.get("ended") and {each[name] for name in ("eps", "rho", "mu")} != {math.inf}:
                raise ValueError("a proof that has ended has no number")
        if any(each.verdict not in ("REFUTED", "NOT_REFUTED", "INCONCLUSIVE") for each in pairs):
            raise ValueError("a pair has a verdict that is none")
        verdicts = {row.verdict for row in rows}
        if rows and not proved and document["verdict"] not in verdicts:
            raise ValueError(f"the verdict {document['verdict']} is that of no relation")
        if len(rows) == 1 and document["relation"] != rows[0].relation:
            raise ValueError(f"the relation {document['relation']!r} is not that of the trials")
    again = {
        "matrix": [asdict(row) for row in rows],
        "pairs": [
            {**each.to_dict(), "witness": stated["witness"]}
            for each, stated in zip(pairs, document["pairs"], strict=True)
        ],
        "findings": [asdict(decoded(Found, each)) for each in document["findings"]],
        "code": {relation: asdict(each) for relation, each in code.items()},
    }
    written: dict[str, Any] = json.loads(json_file.strict({**document, **again}))
    return written


def _rebuild_row(row: Row, pairs: list[PairResult], code: Taped | None) -> Row:
    """Count the pairs of a relation and those that refute the claim; the largest bound is that of pairs or code."""
    mine = [each for each in pairs if each.relation == row.relation]
    refuted = [each for each in mine if each.verdict == "REFUTED"]
    shown = (code.lower or 0.0) if code is not None and code.refutes else 0.0
    fallen = bool(refuted) or shown > 0
    if row.verdict not in (("REFUTED",) if fallen else ("NOT_REFUTED", "INCONCLUSIVE")):
        raise ValueError(f"{row.relation}: the verdict is {row.verdict}, and {len(refuted)} pairs refute the claim")
    largest = max(shown, *(each.eps_lower for each in refuted), 0.0)
    return replace(row, pairs=len(mine), refuted=len(refuted), eps_lower=largest)
