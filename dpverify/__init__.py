"""dpverify: checks privacy claims instead of repeating them.

Names are resolved on first use, so that `import dpverify` (and the pytest plugin) loads no numpy.
"""

from importlib import import_module
from typing import Any, TYPE_CHECKING

if TYPE_CHECKING:
    from dpverify.accounting.accountant import account as account
    from dpverify.claims.claim import ApproxDP as ApproxDP
    from dpverify.claims.claim import Claim as Claim
    from dpverify.claims.claim import GaussianDP as GaussianDP
    from dpverify.claims.claim import PureDP as PureDP
    from dpverify.claims.claim import ZCDP as ZCDP
    from dpverify.claims.neighbours import Pair as Pair
    from dpverify.claims.neighbours import Records as Records
    from dpverify.claims.neighbours import Relation as Relation
    from dpverify.claims.neighbours import Unit as Unit
    from dpverify.claims.neighbours import View as View
    from dpverify.trials.target import loop_trials as loop_trials
    from dpverify.verdicts.audit import audit as audit
    from dpverify.verdicts.certificate import Certificate as Certificate
    from dpverify.verdicts.certificate import certify as certify
    from dpverify.verdicts.record import AuditRecord as AuditRecord
    from dpverify.verdicts.subject import planted as planted
    from dpverify.verdicts.subject import Subject as Subject

_HOMES = {
    "AuditRecord": "verdicts.record",
    "account": "accounting.accountant",
    "audit": "verdicts.audit",
    "Certificate": "verdicts.certificate",
    "certify": "verdicts.certificate",
    "ApproxDP": "claims.claim",
    "Claim": "claims.claim",
    "GaussianDP": "claims.claim",
    "PureDP": "claims.claim",
    "ZCDP": "claims.claim",
    "Pair": "claims.neighbours",
    "Records": "claims.neighbours",
    "Relation": "claims.neighbours",
    "Unit": "claims.neighbours",
    "View": "claims.neighbours",
    "loop_trials": "trials.target",
    "Subject": "verdicts.subject",
    "planted": "verdicts.subject",
}

__all__ = sorted(_HOMES)
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'dpverify' has no attribute {name!r}")
    value = getattr(import_module(f"dpverify.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
