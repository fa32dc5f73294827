"""dpverify: checks privacy claims instead of repeating them.

Where to start reading, each one file:

    auditing/pipeline.py          `audit`, one function whose lines are the stages: from trials to a record
    evidence/__init__.py          how trials become a certified lower bound; a theorem a file in evidence/bounds
    accounting/accountant.py      `account`: from a ledger to an upper bound
    proof/proving.py              `prove`: the code on symbols that stand for all datasets of a schema
    tape/tracer.py                `trace`: the code itself on both datasets, with the same random values
    auditing/certificate.py       `certify`: all of this for one mechanism
    suite/run.py                  many subjects, each in a process of its own

docs/design.md has the twelve concepts and the file of each. Imports point one way, in the order of the list in
tests/architecture/test_imports.py.

Names are resolved on first use, so that `import dpverify` (and the pytest plugin) loads no numpy.
"""

from importlib import import_module

TYPE_CHECKING = False  # that of `typing`, which a file in the current folder could hide
if TYPE_CHECKING:
    from typing import Any

    from dpverify.accounting.accountant import account as account
    from dpverify.auditing.canaries import one_run as one_run
    from dpverify.auditing.pipeline import audit as audit
    from dpverify.auditing.record import AuditRecord as AuditRecord
    from dpverify.auditing.subject import planted as planted
    from dpverify.auditing.subject import Subject as Subject
    from dpverify.claims.claim import ApproxDP as ApproxDP
    from dpverify.claims.claim import Claim as Claim
    from dpverify.claims.claim import GaussianDP as GaussianDP
    from dpverify.claims.claim import PureDP as PureDP
    from dpverify.claims.claim import ZCDP as ZCDP
    from dpverify.claims.curves import RenyiDP as RenyiDP
    from dpverify.claims.curves import TradeOff as TradeOff
    from dpverify.claims.neighbours import Pair as Pair
    from dpverify.claims.neighbours import Records as Records
    from dpverify.claims.neighbours import Relation as Relation
    from dpverify.claims.neighbours import Unit as Unit
    from dpverify.claims.neighbours import View as View
    from dpverify.proof.proving import Proof as Proof
    from dpverify.proof.proving import prove as prove
    from dpverify.report.certified import Certificate as Certificate
    from dpverify.report.certified import certify as certify
    from dpverify.tape.enumeration import Exact as Exact
    from dpverify.tape.enumeration import exact as exact
    from dpverify.tape.tracer import Trace as Trace
    from dpverify.tape.tracer import trace as trace
    from dpverify.tape.training import check_training as check_training
    from dpverify.tape.training import TrainingCheck as TrainingCheck
    from dpverify.trials.outcomes import Outcomes as Outcomes
    from dpverify.trials.target import copied as copied
    from dpverify.trials.target import failure as failure
    from dpverify.trials.target import loop_trials as loop_trials

_HOMES = {
    "Proof": "dpverify.proof.proving",
    "prove": "dpverify.proof.proving",
    "Exact": "dpverify.tape.enumeration",
    "exact": "dpverify.tape.enumeration",
    "Trace": "dpverify.tape.tracer",
    "trace": "dpverify.tape.tracer",
    "TrainingCheck": "dpverify.tape.training",
    "check_training": "dpverify.tape.training",
    "AuditRecord": "dpverify.auditing.record",
    "account": "dpverify.accounting.accountant",
    "audit": "dpverify.auditing.pipeline",
    "one_run": "dpverify.auditing.canaries",
    "Certificate": "dpverify.report.certified",
    "certify": "dpverify.report.certified",
    "ApproxDP": "dpverify.claims.claim",
    "Claim": "dpverify.claims.claim",
    "GaussianDP": "dpverify.claims.claim",
    "PureDP": "dpverify.claims.claim",
    "ZCDP": "dpverify.claims.claim",
    "RenyiDP": "dpverify.claims.curves",
    "TradeOff": "dpverify.claims.curves",
    "Pair": "dpverify.claims.neighbours",
    "Records": "dpverify.claims.neighbours",
    "Relation": "dpverify.claims.neighbours",
    "Unit": "dpverify.claims.neighbours",
    "View": "dpverify.claims.neighbours",
    "copied": "dpverify.trials.target",
    "failure": "dpverify.trials.target",
    "loop_trials": "dpverify.trials.target",
    "Outcomes": "dpverify.trials.outcomes",
    "Subject": "dpverify.auditing.subject",
    "planted": "dpverify.auditing.subject",
}

__all__ = sorted(_HOMES)
__version__ = "0.1.0"


def __getattr__(name: str) -> "Any":
    if name not in _HOMES:
        raise AttributeError(f"module 'dpverify' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
