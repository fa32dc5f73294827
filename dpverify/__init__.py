"""dpverify: checks privacy claims instead of repeating them.

Names are resolved on first use, so that `import dpverify` (and the pytest plugin) loads no numpy.
"""

from importlib import import_module

TYPE_CHECKING = False  # that of `typing`, which a file in the current folder could hide
if TYPE_CHECKING:
    from typing import Any

    from dpverify.accounting.accountant import account as account
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
    from dpverify.faces.certified import Certificate as Certificate
    from dpverify.faces.certified import certify as certify
    from dpverify.tape.exact import Exact as Exact
    from dpverify.tape.exact import exact as exact
    from dpverify.tape.trace import Trace as Trace
    from dpverify.tape.trace import trace as trace
    from dpverify.trials.outcomes import Outcomes as Outcomes
    from dpverify.trials.target import copied as copied
    from dpverify.trials.target import failure as failure
    from dpverify.trials.target import loop_trials as loop_trials
    from dpverify.verdicts.audit import audit as audit
    from dpverify.verdicts.measured_ladder import measured_ladder as measured_ladder
    from dpverify.verdicts.record import AuditRecord as AuditRecord
    from dpverify.verdicts.subject import planted as planted
    from dpverify.verdicts.subject import Subject as Subject

_HOMES = {
    "Exact": "tape.exact",
    "exact": "tape.exact",
    "Trace": "tape.trace",
    "trace": "tape.trace",
    "AuditRecord": "verdicts.record",
    "account": "accounting.accountant",
    "audit": "verdicts.audit",
    "measured_ladder": "verdicts.measured_ladder",
    "Certificate": "faces.certified",
    "certify": "faces.certified",
    "ApproxDP": "claims.claim",
    "Claim": "claims.claim",
    "GaussianDP": "claims.claim",
    "PureDP": "claims.claim",
    "ZCDP": "claims.claim",
    "RenyiDP": "claims.curves",
    "TradeOff": "claims.curves",
    "Pair": "claims.neighbours",
    "Records": "claims.neighbours",
    "Relation": "claims.neighbours",
    "Unit": "claims.neighbours",
    "View": "claims.neighbours",
    "copied": "trials.target",
    "failure": "trials.target",
    "loop_trials": "trials.target",
    "Outcomes": "trials.outcomes",
    "Subject": "verdicts.subject",
    "planted": "verdicts.subject",
}

__all__ = sorted(_HOMES)
__version__ = "0.1.0"


def __getattr__(name: str) -> "Any":
    if name not in _HOMES:
        raise AttributeError(f"module 'dpverify' has no attribute {name!r}")
    value = getattr(import_module(f"dpverify.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
