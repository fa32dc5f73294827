"""What a certificate is about and what it rests on, in the fields that NIST SP 800-226 asks of a guarantee.

Unit of privacy with the precise adjacency, trust model, what is released, the implementation and its defences against
floating point, what was validated and how, and what is not proved. All of it follows from records; nothing is evidence.
"""

from collections.abc import Sequence
from typing import Any

from dpverify.accounting.describe import COLUMNS
from dpverify.evidence.promises import PromiseCheck
from dpverify.verdicts.record import AuditRecord

ADJACENCY = {
    "replace-one": "two datasets are neighbours where they have as many units and differ in one, which may be any",
    "add-or-remove-one": "two datasets are neighbours where one of them is the other with one unit more",
}
TRUST = {
    "central": "a curator who sees all data is trusted; the adversary sees the whole output",
    "joint": "a curator who sees all data is trusted; the adversary sees what all other users are sent",
    "local": "nobody is trusted with data; the adversary sees the message of one user",
    "shuffle": "a shuffler is trusted to hide senders; the adversary sees the multiset of all messages",
}
ROUNDING = {
    "bits": "results that are equal as reals were compared bit by bit",
    "dyadic": "results that are equal as reals differ in their last bits on ordinary draws, and not on dyadic ones",
}


def statement(
    records: Sequence[AuditRecord], promises: Sequence[PromiseCheck], not_proved: Sequence[str]
) -> dict[str, Any]:
    """The fields, as plain values."""
    first = records[0]
    return {
        "unit": {
            "unit": first.unit,
            "relation": first.relation,
            "adjacency": ADJACENCY[first.relation],
            "pairs_compared": all(record.pair_verified for record in records),
        },
        "trust_model": {"view": first.view, "means": TRUST[first.view]},
        "guarantee": {"claim": first.claim, "assumptions": list(first.assumptions), "source": first.source},
        "releases": {
            "one_release": "one call of release(data, rng=, size=1), its output as a whole",
            "columns": list(COLUMNS),
            "events": [list(row) for row in first.ledger],
        },
        "implementation": {
            "file": first.file,
            "line": first.line,
            "source_digest": first.source_digest,
            "randomness": "seeded generators, for verification; a deployment needs a cryptographic source",
            "draws": _draws(records),
            "floating_point": _floating_point(records),
        },
        "validated": _validated(records, promises),
        "not_proved": list(not_proved),
    }


def _draws(records: Sequence[AuditRecord]) -> list[dict[str, Any]]:
    """Lines of code that draw, once each, as the tape saw them."""
    rows = [row for record in records if record.tape is not None for row in record.tape.draws]
    known = {(row.site, row.family): {"site": row.site, "law": row.family, "scale": row.scale} for row in rows}
    return list(known.values())


def _floating_point(records: Sequence[AuditRecord]) -> list[str]:
    said = [
        ROUNDING.get(record.tape.rounding, record.tape.rounding)
        for record in records
        if record.tape is not None and record.tape.traced
    ]
    if any(record.score == "bits" for record in records):
        said.append("the audit looked at which floating-point numbers are reached")
    return [*dict.fromkeys(said), "laws are taken as ideal reals: the low bits of noise are not shown to hide anything"]


def _validated(records: Sequence[AuditRecord], promises: Sequence[PromiseCheck]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for record in records:
        if record.tape is not None:
            found.append(
                {
                    "what": f"code on pair {record.pair or 'unnamed'}",
                    "how": "the same random values on both datasets",
                    "result": record.tape.status,
                    "count": record.tape.paths or record.tape.transcripts,
                }
            )
        if record.trials:
            found.append(
                {
                    "what": f"claim on pair {record.pair or 'unnamed'}",
                    "how": f"{record.test} test of an event of the {record.score} score, fixed before",
                    "result": str(record.verdict),
                    "count": record.trials,
                }
            )
        if record.eps_upper is not None:
            found.append(
                {
                    "what": "claim for all neighbours",
                    "how": "account of the ledger",
                    "result": {True: "met", False: "not met"}.get(bool(record.accounted))
                    if record.accounted is not None
                    else "void",
                    "count": len(record.ledger),
                }
            )
    rows = [{"what": each.name, "how": "trials", "result": each.verdict, "count": each.trials} for each in promises]
    return [*{str(each): each for each in found}.values(), *rows]
