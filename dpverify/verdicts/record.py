"""The evidence of one audit as a value: everything needed to read it, to judge it and to run it again."""

from dataclasses import asdict, dataclass
from typing import Any

from dpverify.verdicts.verdict import Verdict


@dataclass(frozen=True, kw_only=True)
class AuditRecord:
    """Result of `dpverify.audit`.

    eps_lower       certified lower bound on eps at `delta`: holds with probability >= 1 - significance
    eps_upper       what the ledger proves at `delta`; None without a ledger
    accounted       True where the ledger proves the claim, False where it does not, None without a ledger
    number_lower    the certified lower bound in the claim's own unit (`notion`: eps, rho or mu)
    detectable_eps  smallest true eps that this run would have refuted with probability `power`, if the
                    log-ratio reaches it on the guessed mass; inf when none
    number_upper    the ledger's bound in the claim's own unit; None without a ledger
    trials          all trials with a part in the evidence; `selection_trials` of them (or, with the exact
                    score, on top of them) chose the event and certify nothing
    p_value         of the claim, all pairs of the subject together; at any time of stopping if sequential
    e_value         sequential: mean wealth of the pairs at the moment of stopping, at most 1 on average if the
                    claim holds; None otherwise
    refuted_by      the family procedure that refutes the claim although its own bound does not (`verdicts.family`)
    seconds         wall time; the only field that differs between two runs with the same seed
    """

    subject: str
    claim: str
    notion: str
    claimed: float
    claimed_eps: float
    delta: float
    relation: str
    unit: str
    view: str
    assumptions: tuple[str, ...]
    source: str
    pair: str
    pair_verified: bool
    verdict: Verdict
    accounted: bool | None
    eps_lower: float
    eps_upper: float | None
    number_lower: float
    number_upper: float | None
    trials: int
    selection_trials: int
    significance: float
    power: float
    detectable_eps: float
    seed: int
    score: str
    test: str
    right: int
    wrong: int
    one_sided: bool
    witness: str
    ledger: tuple[tuple[str, ...], ...] = ()  # rows of `accounting.describe.COLUMNS`
    curve: tuple[tuple[float, float], ...] = ()  # (wrong, right) shares beyond every cut; estimates, for plots
    course: tuple[tuple[int, float], ...] = ()  # (trials, eps_lower) at prefixes; one look only is a certificate
    notes: tuple[str, ...] = ()
    sequential: bool = False  # bound and verdict hold at any time of stopping
    budget: int = 0  # the trials that were asked for; a sequential audit may stop before
    p_value: float | None = None
    e_value: float | None = None
    refuted_by: str = ""
    seconds: float = 0.0
    # filled by a suite
    expected: str | None = None
    expected_accounted: bool | None = None
    planted: bool = False
    paper: str = ""
    statement: str = ""
    pairs: int = 1  # pairs of the subject; this record is that of the most telling one
    file: str = ""  # where the subject is declared
    line: int = 0  # the line there; 0 where the name is not written out in one place

    @property
    def ledger_contradicted(self) -> bool:
        """True where the trials certify more eps than the ledger allows: the ledger is not what happens."""
        return self.eps_upper is not None and self.eps_lower > self.eps_upper

    @property
    def as_expected(self) -> bool:
        """True where verdict and account are what the suite expects (a claim is expected to stand)."""
        wanted = self.expected or Verdict.NOT_REFUTED
        account = self.expected_accounted is None or self.accounted is self.expected_accounted
        honest = not self.ledger_contradicted or self.planted
        return self.verdict == wanted and account and honest

    def to_dict(self) -> dict[str, Any]:
        """Plain values under the field names, with `ledger_contradicted` and `as_expected`."""
        plain = asdict(self)
        plain["verdict"] = str(self.verdict)
        return {**plain, "ledger_contradicted": self.ledger_contradicted, "as_expected": self.as_expected}

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> "AuditRecord":
        """Inverse of `to_dict`, also after a trip through JSON."""
        fields = {name: plain[name] for name in cls.__dataclass_fields__ if name in plain}
        for name in ("assumptions", "notes"):
            fields[name] = tuple(fields.get(name, ()))
        for name in ("curve", "course"):
            fields[name] = tuple((a, b) for a, b in fields.get(name, ()))
        fields["ledger"] = tuple(tuple(row) for row in fields.get("ledger", ()))
        fields["verdict"] = Verdict(fields["verdict"])
        return cls(**fields)
