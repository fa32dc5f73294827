"""The evidence of one audit as a value: everything needed to read it, to judge it and to run it again."""

import math
from dataclasses import asdict, dataclass, field, replace
from html import escape
from typing import Any

from dpverify.auditing.statuses import Accept, Grade, judge, Status, Verdict
from dpverify.auditing.tape_record import CONFORMS, CONTRADICTED, EXACT, Taped
from dpverify.base.plain_values import decoded
from dpverify.base.rounding import digits_up, text_above
from dpverify.evidence.tally import Working
from dpverify.ledger.description import Charged

COMPARED = ("LaplaceNoise", "GaussianNoise", "DiscreteLaplaceNoise", "DiscreteGaussianNoise", "BinomialNoise")


# ----------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Rung:
    """Measured power against one violation: so many runs of its audit, so many that refuted the claim.

    kind     "planted" (a bug put in on purpose) or "noise" (the same target with less noise)
    size     what the violation's own ledger says in the claim's unit; None where it has none or is contradicted
    lower    the largest lower bound that a run certified, in the claim's unit
    power_lower, power_upper   95 % Clopper-Pearson interval of the probability of being refuted
    """

    kind: str
    name: str
    size: float | None
    lower: float
    runs: int
    refuted: int
    power_lower: float
    power_upper: float


@dataclass(frozen=True, kw_only=True)
class Proved:
    """What was proved from the code for all neighbours of a schema: a `dpverify.proof.Proof` as plain values.

    holds        whether the claim is proved
    eps, rho, mu the smallest proved numbers; infinite where none is
    ended        where the proof ended, and why; empty where it did not
    pair, mend   the pair that attains a number above the claim, and what would make the claim true
    derivation   from which `dpverify check` computes the numbers again
    """

    schema: str
    holds: bool
    eps: float
    rho: float
    mu: float
    ended: str = ""
    steps: tuple[str, ...] = ()
    paths: int = 0
    notes: tuple[str, ...] = ()
    pair: Any = None
    mend: str = ""
    derivation: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class AuditRecord:
    """An AuditRecord holds the result of one audit: everything needed to read it, to judge it and to run it again.

    `audit` and suites make it. `status` is the answer in one word. Where the notion is zCDP, "the
    claim's own unit" is rho, for Gaussian DP it is mu, for a curve it is the factor on it, else it is eps.

    Parameters
    ----------
    subject : str
        Name of the target, or `stem/name` in a suite.
    claim : str
        The claim in short form, such as "pure:1".
    notion : {"pure", "approx", "zcdp", "gdp", "rdp", "tradeoff"}
        Kind of the claim.
    claimed : float
        The claimed number in the claim's own unit.
    claimed_eps : float
        The eps that the claim implies at `delta`.
    delta : float
        At which eps is meant, in [0, 1).
    relation : {"replace-one", "add-or-remove-one"}
        Which datasets are neighbours.
    unit : {"record", "user", "trajectory"}
        Whose data is protected.
    view : {"central", "joint", "local", "shuffle"}
        What the adversary sees.
    assumptions : tuple of str
        What the claim rests on, in the words of its author.
    source : str
        Where the claim comes from.
    pair : str
        Name of the pair of datasets.
    pair_verified : bool
        Whether the datasets were compared and are neighbours; False where the caller's word was taken.
    verdict : Verdict
        What the trials say, or the code itself where it refutes the claim.
    accounted : bool or None
        True where the ledger proves the claim, False where it does not, None without a ledger.
    eps_lower : float
        Certified lower bound on eps at `delta`: holds with probability >= 1 - `significance`.
    eps_upper : float or None
        What the ledger proves at `delta`; None without a ledger.
    number_lower : float
        The certified lower bound in the claim's own unit.
    number_upper : float or None
        The ledger's bound in the claim's own unit; None without a ledger.
    trials : int
        All trials with a part in the evidence.
    selection_trials : int
        How many of them (or, with the exact score, on top of them) chose the event; they certify nothing.
    significance : float
        Probability with which the lower bound may be above the truth, in (0, 1).
    power : float
        Probability with which a violation of size `detectable` is refuted.
    detectable : float
        The most favourable violation, in the claim's own unit: the smallest true number that this run refutes with
        probability `power` *if* the mechanism attains its curve on the guessed mass; inf when none. Real violations of
        that size may well be missed: `ladder` is measured.
    detectable_basis : str
        What `detectable` is about, in words.
    detectable_eps : float
        The eps that `detectable` means at `delta`.
    seed : int
        Equal seeds give equal records, but for `seconds`.
    score : str
        What the attack looked at, see `audit`.
    test : str
        Name of the test that gave the bound.
    right, wrong : int
        Guesses of the attack that were right and wrong, on the event that decided; of all trials if sequential.
    one_sided : bool
        Whether the attack only ever guesses one of the two datasets.
    witness : str
        The event that tells the datasets apart, in words.
    ledger : tuple of tuple of str
        Rows of the ledger as `ledger.description.COLUMNS`; empty without one.
    curve : tuple of (float, float)
        Shares of wrong and of right guesses beyond every cut; estimates, for plots.
    course : tuple of (int, float)
        (trials, eps_lower) at prefixes; one look only is a certificate.
    number_course : tuple of (int, float)
        The same in the unit of a claim that is not about eps.
    notes : tuple of str
        What a reader has to know beside the numbers.
    sequential : bool
        Whether bound and verdict hold at any time of stopping.
    budget : int
        The trials that were asked for; a sequential audit may stop before.
    p_value : float or None
        Of the claim, all pairs of the subject together; at any time of stopping if sequential.
    log10_p_value : float or None
        Decimal logarithm of the p-value, from above, also where the p-value is below all doubles.
    e_value : float or None
        Sequential: mean wealth of the pairs at the moment of stopping, at most 1 on average if the claim holds.
    refuted_by : str
        The family procedure that refutes the claim although its own bound does not (`suite.result`); else empty.
    failed_trials : dict of str to dict of str to int
        {"first": {name: count}, "second": {name: count}}: certifying trials on each dataset that ended in an exception,
        or in a failure that the target returned.
    invalid : str
        Why no bound may be computed from the trials (verdict INVALID); empty otherwise. The bounds are those that hold
        without trials then, and no trial has a part in the evidence.
    seconds : float
        Wall time: what alone differs between two runs with the same seed.
    ladder : tuple of Rung
        How often violations of known kinds were refuted, measured (`auditing.ladder`).
    tape : Taped or None
        What the code shows (`auditing.tape_record`): the ledger that it adds, what it does not conform to. None where
        nobody looked.
    working : Working or None
        What the bound was computed from (`evidence.tally`); None where no bound was.
    charged : tuple of Charged, or None
        The ledger's events as numbers (`ledger.description`); None where some are more than noise.
    proof : Proved or None
        What was proved from the code for all neighbours of a schema. None where nobody asked for a proof.
    audited : tuple of (float, float), or None
        (eps_lower, number_lower) of the trials, where the tape refutes the claim by more than they do: `eps_lower` and
        `number_lower` are the tape's then, at significance 0. None otherwise.
    expected : str or None
        Filled by a suite, as all that follow: the verdict that its author expects.
    expected_accounted : bool or None
        What the ledger is expected to say; None where nobody asks.
    accept : {"", "ledger", "conforms", "proof"}
        The least evidence that is accepted, a member of `statuses.Accept`; empty: any.
    planted : bool
        Whether the bug was put in on purpose.
    paper, statement : str
        Where a published claim comes from.
    missed_twins : tuple of str
        Its planted bugs that were not refuted.
    pairs : int
        Number of pairs of the subject; this record is that of the most telling one.
    file : str
        Where the subject is declared.
    line : int
        The line there; 0 where the name is not written out in one place.
    source_digest : str
        Digest of the audited sources: the project's files behind the subject, see `execution.sources`.

    Examples
    --------
    >>> from dpverify import audit, Pair, PureDP
    >>> def count(data, *, rng, size):
    ...     return sum(data) + rng.laplace(scale=0.25, size=size)  # this is 4-DP
    >>> record = audit(count, claim=PureDP(1.0), pair=Pair([0, 1], [1, 1]), trials=4_000, seed=1)
    >>> record.claim, record.claimed, str(record.status), 1 < record.eps_lower < 4
    ('pure:1', 1.0, 'REFUTED', True)
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
    detectable: float
    detectable_basis: str
    detectable_eps: float
    seed: int
    score: str
    test: str
    right: int
    wrong: int
    one_sided: bool
    witness: str
    ledger: tuple[tuple[str, ...], ...] = ()  # rows of `ledger.description.COLUMNS`
    curve: tuple[tuple[float, float], ...] = ()  # (wrong, right) shares beyond every cut; estimates, for plots
    course: tuple[tuple[int, float], ...] = ()  # (trials, eps_lower) at prefixes; one look only is a certificate
    number_course: tuple[tuple[int, float], ...] = ()  # the same in the unit of a claim that is not about eps
    notes: tuple[str, ...] = ()
    sequential: bool = False  # bound and verdict hold at any time of stopping
    budget: int = 0  # the trials that were asked for; a sequential audit may stop before
    p_value: float | None = None
    log10_p_value: float | None = None
    e_value: float | None = None
    refuted_by: str = ""
    failed_trials: dict[str, dict[str, int]] = field(default_factory=lambda: {"first": {}, "second": {}})
    invalid: str = ""
    seconds: float = 0.0
    ladder: tuple[Rung, ...] = ()
    tape: Taped | None = None
    working: Working | None = None
    charged: tuple[Charged, ...] | None = None
    proof: Proved | None = None
    audited: tuple[float, float] | None = None
    # filled by a suite
    expected: str | None = None
    expected_accounted: bool | None = None
    accept: str = ""  # the least evidence that is accepted, a member of `Accept`; empty: any
    planted: bool = False
    paper: str = ""
    statement: str = ""
    missed_twins: tuple[str, ...] = ()  # its planted bugs that were not refuted
    pairs: int = 1  # pairs of the subject; this record is that of the most telling one
    file: str = ""  # where the subject is declared
    line: int = 0  # the line there; 0 where the name is not written out in one place
    source_digest: str = ""  # of the audited sources: the project's files behind the subject, see `execution.sources`

    @property
    def p_text(self) -> str:
        """The p-value in writing, rounded up: four digits, or a power of ten where it is below 1e-4; "-" for none."""
        if self.p_value is None:
            return "-"
        if self.p_value >= 1e-4 or (self.log10_p_value is None and self.p_value == 0):
            return f"{digits_up(self.p_value):.4g}"
        log = math.log10(self.p_value) if self.log10_p_value is None else self.log10_p_value
        return f"10^{math.ceil(10 * log) / 10:.1f}"

    def _repr_html_(self) -> str:
        """For notebooks: the word, the interval in the claim's own unit, and what it rests on."""
        unit = {"zcdp": "rho", "gdp": "mu", "rdp": "factor", "tradeoff": "factor"}.get(self.notion, "eps")
        lower = text_above(self.number_lower, self.claimed) if self.trials or self.tape is not None else "0"
        upper = "?" if self.number_upper is None else f"{self.number_upper:.4g}"
        rests = f"{self.trials:,} trials, confidence {1 - self.significance:.6g}"
        why = f"<br>{escape(self.invalid)}" if self.invalid else ""
        return (
            f"<b>{escape(str(self.status))}</b> {escape(self.subject)}: {escape(self.claim)} ({escape(self.relation)})"
            f"<br><code>{unit} in [{lower}, {upper}]</code>, claimed {self.claimed:.6g}; {rests}{why}"
        )

    @property
    def status(self) -> Status:
        """What is known, from all evidence together; a verdict that judges nothing is never OPEN, and never proved.

        A proof by the author's word is none where a planted bug was missed: nothing looked at the code then.
        """
        if self.verdict != Verdict.NOT_REFUTED:
            return Status(self.verdict)
        if self._is_proved and not self.ledger_contradicted:
            return Status.CERTIFIED
        blind = bool(self.missed_twins) and self._rests_on is not Grade.CODE
        proved = self.accounted is True and not self.ledger_contradicted and not blind
        if not proved:
            return Status.OPEN
        return Status.CERTIFIED if self._rests_on is Grade.CODE else Status.ACCOUNTED

    @property
    def grade(self) -> Grade | None:
        """What the proof rests on; None where the claim is not proved."""
        if self.status not in (Status.CERTIFIED, Status.ACCOUNTED):
            return None
        return Grade.PROOF if self._is_proved else self._rests_on

    @property
    def unseen(self) -> str:
        """Why the code was not seen to do what its ledger says; empty where it was, and where nothing is proved."""
        if self.status is not Status.ACCOUNTED:
            return ""
        if self.tape is None:
            return "the code was not traced"
        if not self.tape.traced:
            return f"the code could not be traced: {self.tape.first_reason}"
        if self.tape.uncovered:
            return self.tape.uncovered[0]
        if self.grade is Grade.THEOREM:
            return "the ledger rests on a theorem, which nothing compares with the code"
        return "the draws that were traced do not decide it"

    @property
    def _is_proved(self) -> bool:
        return self.proof is not None and self.proof.holds

    @property
    def _rests_on(self) -> Grade:
        seen = self.tape is not None and self.tape.covers
        if seen and self.tape is not None and self.tape.status in (CONFORMS, EXACT):
            return Grade.CODE
        if any(row[1].partition(" ")[0] not in COMPARED for row in self.ledger):
            return Grade.THEOREM
        if self.tape is None or self.tape.number is None or not seen:
            return Grade.LEDGER
        return Grade.CODE if self.tape.number <= self.claimed else Grade.LEDGER

    @property
    def proved_number(self) -> float | None:
        """What is proved from the code in the claim's own unit; None without a proof, and for a claim of a curve."""
        name = {"pure": "eps", "approx": "eps", "zcdp": "rho", "gdp": "mu"}.get(self.notion)
        return None if self.proof is None or name is None else float(getattr(self.proof, name))

    @property
    def upper_bound(self) -> float | None:
        """The smaller of what the ledger and the proof from the code allow, in the claim's own unit; None for none."""
        proved = self.proved_number
        known = [] if proved is None or math.isinf(proved) else [proved]
        return min([*known, *([] if self.number_upper is None else [self.number_upper])], default=None)

    @property
    def ledger_contradicted(self) -> bool:
        """True where trials or tape show more eps than the ledger allows, or the code a draw that is not in it."""
        shown = self.eps_upper is not None and self.eps_lower > self.eps_upper
        return shown or self.unlike_ledger

    @property
    def unlike_ledger(self) -> bool:
        """True where the code adds other noise than the ledger says, or adds it to something else."""
        return self.tape is not None and self.tape.ledger == CONTRADICTED

    @property
    def trials_lower(self) -> float | None:
        """What the trials certify in the claim's own unit; None where there are none."""
        if not self.trials:
            return None
        return self.number_lower if self.audited is None else self.audited[1]

    @property
    def refuted_by_trials(self) -> bool:
        """True where the trials alone refute the claim, whatever the tape says."""
        lower = self.trials_lower
        return self.verdict is Verdict.REFUTED and lower is not None and lower > self.claimed

    @property
    def trials_eps(self) -> float:
        """The eps that the trials certify at `delta`; 0 where there are none."""
        return self.eps_lower if self.audited is None else self.audited[0]

    def with_tape(self, tape: Taped) -> "AuditRecord":
        """The same evidence and the tape's: a claim that it refutes is refuted, without statistics.

        A ledger that the code does not match accounts for nothing. Invalid trials stay invalid: such a target is not
        what it says. Nothing else of a verdict changes.
        """
        accounted = None if tape.unlike_ledger else self.accounted
        if apart := self._contradiction(tape):
            if self.verdict is Verdict.REFUTED:
                return replace(self, tape=tape, accounted=accounted, verdict=Verdict.INVALID, invalid=apart)
            return replace(self, tape=tape, accounted=accounted, notes=(*self.notes, apart))
        lower = tape.lower if tape.refutes else None
        if lower is None or lower <= self.number_lower or self.verdict == Verdict.INVALID:
            return replace(self, tape=tape, accounted=accounted)
        verdict = judge(number_lower=lower, claimed=self.claimed, detectable=self.detectable)
        return replace(
            self,
            tape=tape,
            accounted=accounted,
            verdict=verdict,
            eps_lower=lower if self.notion in ("pure", "approx") or math.isinf(lower) else self.eps_lower,
            number_lower=lower,
            audited=(self.eps_lower, self.number_lower),
        )

    def with_proof(self, proof: Proved) -> "AuditRecord":
        """Add what was proved from the code.

        A lower bound of trials or tape above a number that is proved is a contradiction. The record is INVALID then: no
        evidence of it can be relied on.
        """
        with_it = replace(self, proof=proof)
        proved, lower = with_it.proved_number, self.number_lower
        if proved is None:
            proved, lower = proof.eps, self.eps_lower
        refuted = proof.holds and self.verdict is Verdict.REFUTED
        if self.verdict is Verdict.INVALID or not (refuted or lower > proved * (1 + 1e-9)):
            return with_it
        shown = f"this pair shows at least {lower:.6g}" if lower > self.claimed or not refuted else self.notes[-1]
        apart = (
            f"two pieces of evidence contradict each other: the code is proved to be at most {proved:.6g} for every "
            f"pair of {proof.schema!r}; {shown}. The pair may be none of the schema"
        )
        return replace(with_it, verdict=Verdict.INVALID, invalid=apart)

    def _contradiction(self, tape: Taped) -> str:
        """How the trials contradict what the code shows on this pair, with both figures; empty where they do not.

        The trials certify that the claimed number is at least so much; the draws of the code cost at most so much.
        """
        judged = self.trials and self.verdict is not Verdict.INVALID
        if not judged or tape.refutes or not tape.traced or tape.number is None:
            return ""
        if not self.number_lower > tape.number * (1 + 1e-9):
            return ""
        return (
            f"two pieces of evidence contradict each other: the trials certify at least {self.number_lower:.6g} "
            f"({self.notion}), the draws of the code cost at most {tape.number:.6g} on this pair. A law that depends "
            "on `size`, noise that is kept between calls, or a branch that no traced run has met would explain it"
        )

    @property
    def as_expected(self) -> bool:
        """True where verdict and account are what the suite expects (a claim is expected to stand)."""
        wanted = self.expected or Verdict.NOT_REFUTED
        account = self.expected_accounted is None or self.accounted is self.expected_accounted
        honest = not self.ledger_contradicted or self.planted
        enough = not self.accept or (
            self.accept in tuple(Accept) and Accept(self.accept).met_by(self.status, self.grade)
        )
        return self.verdict == wanted and account and honest and enough

    def to_dict(self) -> dict[str, Any]:
        """Plain values under the field names, with `status`, `grade`, `ledger_contradicted` and `as_expected`."""
        plain = asdict(self)
        plain["verdict"] = str(self.verdict)
        return {
            **plain,
            "status": str(self.status),
            "grade": None if self.grade is None else str(self.grade),
            "ledger_contradicted": self.ledger_contradicted,
            "as_expected": self.as_expected,
        }

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> "AuditRecord":
        """Inverse of `to_dict`, also after a trip through JSON; ValueError for what is no record."""
        return decoded(cls, plain)
