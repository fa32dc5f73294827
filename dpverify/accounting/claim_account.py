"""What a ledger says about a claim: eps at its delta, its own number, and whether it is met."""

from dataclasses import dataclass
from fractions import Fraction

from dpverify.accounting import accountant, describe
from dpverify.accounting.charged import Charged, charged
from dpverify.accounting.ledger import Ledger
from dpverify.base.errors import AccountingError
from dpverify.base.rounding import float_up
from dpverify.claims.claim import Claim, GaussianDP, ZCDP
from dpverify.claims.curves import RenyiDP, TradeOff


@dataclass(frozen=True)
class Account:
    """What the ledger proves about the claim."""

    eps_upper: float | None = None
    number_upper: float | None = None
    accounted: bool | None = None
    rows: tuple[tuple[str, ...], ...] = ()
    note: str = ""
    charged: tuple[Charged, ...] | None = None


def account_of(claim: Claim, ledger: Ledger | None) -> Account:
    """The account of a ledger at the claim's delta and in its own unit; a note where the ledger is silent."""
    if ledger is None:
        return Account()
    try:
        upper = accountant.eps_upper(ledger, delta=claim.delta, relation=claim.relation)
    except AccountingError as error:  # the ledger is silent about this relation: no account, and said so
        return Account(rows=describe.rows(ledger, claim.relation), note=f"not accounted: {error}")
    return Account(
        eps_upper=upper,
        number_upper=number_upper_of(claim, ledger, upper),
        accounted=accountant.meets(claim, ledger),
        rows=describe.rows(ledger, claim.relation),
        charged=charged(ledger, claim.relation),
    )


def number_upper_of(claim: Claim, ledger: Ledger, eps_upper: float) -> float:
    """The ledger's bound in the claim's own unit; `eps_upper` where that is eps."""
    if isinstance(claim, GaussianDP):
        return accountant.mu_upper(ledger, relation=claim.relation)
    if isinstance(claim, RenyiDP | TradeOff):
        return accountant.factor_upper(claim, ledger)
    if isinstance(claim, ZCDP):
        rho = accountant.rho_upper(ledger, relation=claim.relation)
        return float_up(rho) if isinstance(rho, Fraction) else rho
    return eps_upper
