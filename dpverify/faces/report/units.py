"""One currency: every number of a claim in the claim's own unit, eps beside it only as a marked second view.

pure, approx     eps, of (eps, delta) claims with their delta
zcdp, gdp        rho, mu
rdp, tradeoff    a factor of the claimed curve; 1 is the claim
"""

import math
from decimal import Context, Decimal, localcontext, ROUND_FLOOR

from dpverify.claims.claim import digits
from dpverify.verdicts.record import AuditRecord
from dpverify.verdicts.verdict import Verdict

SYMBOLS = {
    "pure": "eps",
    "approx": "eps",
    "zcdp": "rho",
    "gdp": "mu",
    "rdp": "factor of the claimed divergences",
    "tradeoff": "factor of the claimed power",
}
ABOUT_EPS = ("pure", "approx")  # claims whose own unit is eps; of all others eps is a second view, at a stated delta


def number(value: float | None) -> str:
    """Four significant figures; a dash where there is no number."""
    if value is None:
        return "-"
    return "inf" if math.isinf(value) else f"{value:.4g}"


def unit(record: AuditRecord) -> str:
    """The claim's own unit, in one word, for tables: eps, rho, mu or factor."""
    return SYMBOLS[record.notion].partition(" ")[0]


def at_delta(record: AuditRecord) -> str:
    """What belongs to every eps of an (eps, delta) claim; nothing to other numbers."""
    return f" at delta = {record.delta:g}" if record.notion == "approx" else ""


def quantity(record: AuditRecord, sign: str, value: float | None) -> str:
    """`rho >= 0.61`, `eps >= 1.2 at delta = 1e-05`: a number of the claim's own kind, with all that it needs."""
    written = at_least(value, record.claimed) if sign == ">=" and value is not None else number(value)
    return f"{SYMBOLS[record.notion]} {sign} {written}{at_delta(record)}"


def claimed(record: AuditRecord) -> str:
    """The claimed number without loss: what is shown is what is judged."""
    return digits(record.claimed)


def at_least(value: float, limit: float) -> str:
    """A lower bound in writing: four figures, rounded down; more where it exceeds `limit` and would not seem to.

    Less than 1e-9 of it is no reason to write 1.999 for 2.
    """
    if not 0 < value < math.inf:
        return number(value)
    for figures in range(4, 18):
        with localcontext(Context(prec=figures, rounding=ROUND_FLOOR)):
            down = float(+Decimal(value * (1 + 1e-9)))
        if down > limit or not value > limit:
            break
    return f"{down:.{figures}g}"


def lower(record: AuditRecord) -> str:
    """The certified lower bound in the claim's own unit, whatever it comes from; a dash where there is no evidence."""
    if not record.trials and record.verdict is not Verdict.REFUTED:
        return "-"
    return at_least(record.number_lower, record.claimed)


def eps_view(record: AuditRecord) -> str:
    """What is known of eps where the claim is not about it, with the delta; empty where it is, or nothing is known.

    It is no part of the verdict: a claim about rho can be false while its eps at one delta is not contradicted.
    """
    if record.notion in ABOUT_EPS:
        return ""
    ends = [f"eps >= {number(record.trials_eps)} by the trials"] if record.trials else []
    ends += [] if record.eps_upper is None else [f"eps <= {number(record.eps_upper)} by the ledger"]
    return f"at delta = {record.delta:g}: {', '.join(ends)}" if ends else ""
