"""One subject, all the evidence: ledger, audits, promises. A certificate says what is proved and what is not.

    certificate = certify(subject, claim=PureDP(1.0))

`certified` fails closed. It is True only where all of this holds:
    the ledger proves the claim, the code was seen to add this noise, no audit refutes the claim, neither a trial nor
    the code contradicts the ledger, every audit and every check of a promise could have found some violation, and no
    promise was broken. Where all but the second holds, the word is ACCOUNTED.

A subject is anything with `release(data, *, rng, size)`, such a function, or a `Subject`. It may have
    log_ratio(outputs, pair)        then the audit is white-box
    ledger                          then it is accounted
    pairs, neighbours()             see `pairs`
    promises(data, *, beta)         promises about utility (`promises.Promise`), or
    exact(data), noise_bound(beta)  then "every released number is within noise_bound of the exact one, except
                                    with probability beta" is checked as one
"""

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dpverify.auditing.finding import without_trials
from dpverify.auditing.pipeline import audit
from dpverify.auditing.record import AuditRecord
from dpverify.auditing.statuses import Accept, Grade, Status, Verdict, weakest
from dpverify.auditing.subject import pairs_for, Subject
from dpverify.auditing.tape_record import CONFORMS, CONTRADICTED, EXACT, Taped, UNMATCHED
from dpverify.auditing.tracing import FULL, taped_pair
from dpverify.base import require
from dpverify.base.plain_values import decoded
from dpverify.base.seeding import derive, fresh_seed
from dpverify.claims.claim import Claim
from dpverify.claims.neighbours import Pair
from dpverify.errors import EXIT_FAILED, EXIT_OK, EXIT_UNEXPECTED, ParameterError
from dpverify.execution.sources import environment, Identity, identity
from dpverify.ledger.description import COLUMNS
from dpverify.promises import BROKEN, check_promise, INCONCLUSIVE, KEPT, Outcomes, Promise, PromiseCheck
from dpverify.trials.target import as_target, name_of, Target

# ----------------------------------------------------------------------------------------------------------------------
# What a certificate is about and what it rests on, in the fields that NIST SP 800-226 asks of a guarantee.
#
# Unit of privacy with the precise adjacency, trust model, what is released, the implementation and its defences against
# floating point, what was validated and how, and what is not proved. All of it follows from records; nothing is
# evidence.


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


# ----------------------------------------------------------------------------------------------------------------------
# What a certificate does not prove, in sentences: by what was looked at, and what that leaves open.


CODE_IN_USE = "that the audited code is the code in use, with a cryptographic source of randomness"
WORST = "that the audited pairs are the worst ones, and that no event rarer than the trials can show leaks"
CHANNELS = "that nothing leaks through timing, memory or exceptions elsewhere"
BITS = "that the low bits of floating-point noise hide what the ideal noise hides: laws are taken as ideal reals"
LEDGER = "that the ledger lists everything that is released; the audits can only contradict it"


def not_proved(tapes: Sequence[Taped | None], *, pairs: int) -> tuple[str, ...]:
    """One sentence for each kind of gap; the second is about the code and what was traced of it."""
    return CODE_IN_USE, _code([tape for tape in tapes if tape is not None], pairs), WORST, CHANNELS, BITS


def _code(tapes: list[Taped], pairs: int) -> str:
    if len(tapes) < pairs or not tapes:
        return f"{LEDGER} (the code was not traced)"
    lost = next((tape for tape in tapes if not tape.traced), None)
    if lost is not None:
        return f"{LEDGER}; the code could not be traced: {lost.first_reason}"
    if any(tape.status == CONTRADICTED for tape in tapes):
        return "anything from above: the code contradicts the claim or the ledger"
    masses = [tape.delta_k for tape in tapes if tape.delta_k is not None]
    seen = "1 pair" if pairs == 1 else f"{pairs} pairs"
    beyond = f" rarer than {max(masses):.2g} (at {tapes[0].confidence:.0%} on each of {seen})" if masses else ""
    if all(tape.status == EXACT for tape in tapes):
        return "anything about pairs that were not enumerated"
    if all(tape.status == CONFORMS for tape in tapes):
        return f"that the code adds the noise of its ledger on pairs that were not traced, or in transcripts{beyond}"
    if any(tape.ledger for tape in tapes):
        return f"that what no draw of the code shows is as its ledger says, and what it does in transcripts{beyond}"
    return f"that the noise which the code adds is the same on pairs that were not traced, or in transcripts{beyond}"


# ----------------------------------------------------------------------------------------------------------------------


SCHEMA = "dpverify/certificate/2"
SIGNIFICANCE = 0.01  # a tight and correct mechanism is refused with up to this probability
OTHERWISE = ("seconds",)
BETA = 0.01  # failure probability at which error bounds are checked
PROMISE_TRIALS = 20_000


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """The evidence about one subject. With probability >= 1 - significance no statement of the trials is wrong.

    `verdict` is about the privacy claim alone and has the values of an audit; `certified` needs everything.
    """

    subject: str
    claim: str
    records: tuple[AuditRecord, ...]  # one for each pair
    promises: tuple[PromiseCheck, ...]
    significance: float
    seed: int
    notes: tuple[str, ...]
    environment: dict[str, str]
    command: str = ""
    accept: Accept = Accept.CONFORMS  # the least evidence that makes the exit code 0
    statements: int = 0  # pairs and promises among which the significance was shared, also those not made in the end
    identity: Identity = field(default_factory=dict)  # which code this was, see `execution.sources`

    @property
    def verdict(self) -> Verdict:
        """INVALID where the trials of a pair are; REFUTED where a pair refutes the claim; INCONCLUSIVE where some pair
        could not have; else NOT_REFUTED.
        """
        verdicts = [record.verdict for record in self.records]
        if Verdict.INVALID in verdicts:  # a target that is not what it should be: nothing is known from any pair
            return Verdict.INVALID
        if Verdict.REFUTED in verdicts:
            return Verdict.REFUTED
        return Verdict.INCONCLUSIVE if Verdict.INCONCLUSIVE in verdicts or not verdicts else Verdict.NOT_REFUTED

    @property
    def status(self) -> Status:
        """What all of the evidence comes to."""
        if not self._missing:
            return Status.ACCOUNTED if self.unseen else Status.CERTIFIED
        if self.verdict is Verdict.NOT_REFUTED:
            return Status.INCONCLUSIVE if any(map(_mute, self.promises)) else Status.OPEN
        return Status(self.verdict)

    @property
    def unseen(self) -> str:
        """Why the code was not seen to do what its ledger says, on the first pair where it was not."""
        return next((record.unseen for record in self.records if record.unseen), "")

    @property
    def accounted(self) -> bool | None:
        """What the ledger says: True, False, or None without one, and where the code contradicts it."""
        if any(record.tape is not None and record.tape.unlike_ledger for record in self.records):
            return None
        return self.records[0].accounted if self.records else None

    @property
    def strongest(self) -> AuditRecord:
        """The record of the most telling pair, of an invalid one where there is one."""
        return max(self.records, key=lambda record: (bool(record.invalid), record.number_lower, -record.detectable))

    @property
    def objections(self) -> tuple[str, ...]:
        """Why this is not certified; empty where it is."""
        apart = (f"that the code adds the noise of its ledger was not seen: {self.unseen}",) if self.unseen else ()
        return self._missing or apart

    @property
    def _missing(self) -> tuple[str, ...]:
        """Why the claim is not proved, whatever was seen of the code."""
        found = list(dict.fromkeys(f"invalid trials: {record.invalid}" for record in self.records if record.invalid))
        if self.verdict is Verdict.REFUTED:
            found += [f"the code refutes the claim: {reason}" for reason in self._said(lambda tape: tape.refutes)]
            lowers = [record.trials_lower for record in self.records]
            if any(lower is not None and lower > self.records[0].claimed for lower in lowers):
                found.append("the trials refute the claim")
        if any(record.ledger_contradicted and record.audited is not None for record in self.records):
            found.append("the code contradicts the ledger: it shows more eps than the ledger allows")
        if any(record.eps_upper is not None and record.trials_eps > record.eps_upper for record in self.records):
            found.append("the trials contradict the ledger")
        unlike = self._said(lambda tape: tape.ledger == CONTRADICTED and not tape.refutes)
        found += [f"the code contradicts the ledger: {reason}" for reason in unlike]
        apart = self._said(lambda tape: tape.ledger == UNMATCHED)
        found += [f"the code does not match the ledger draw by draw: {reason}" for reason in apart]
        found += [f"promise broken: {check.name}" for check in self.promises if check.verdict == BROKEN]
        if self.verdict is Verdict.INCONCLUSIVE:
            found += [f"{name}, {said}" for name, said in UNDECIDED.items() if name in map(_undecided, self.records)]
        if self.accounted is None and not unlike and not apart:
            found.append("no account: nothing proves the claim from above")
        elif self.accounted is False:
            found.append("the ledger does not prove the claim")
        found += [f"promise never at risk of being found broken: {c.name}" for c in self.promises if _mute(c)]
        return tuple(found)

    def _said(self, which: Callable[[Taped], bool]) -> list[str]:
        """The first reasons of those traces, each once."""
        tapes = [record.tape for record in self.records if record.tape is not None and which(record.tape)]
        return list(dict.fromkeys(str(tape.reasons[0]) for tape in tapes if tape.reasons))

    @property
    def not_proved(self) -> tuple[str, ...]:
        """What none of this shows, by what was done."""
        return not_proved([record.tape for record in self.records], pairs=len(self.records))

    @property
    def certified(self) -> bool:
        """True where nothing is left to object."""
        return not self.objections

    @property
    def grade(self) -> Grade | None:
        """What the proof rests on, on the pair where that is weakest; None where nothing is proved."""
        return None if self._missing else weakest(record.grade for record in self.records)

    @property
    def headline(self) -> str:
        """The word, with the grade where it has one."""
        return str(self.status) if self.grade is None else f"{self.status} ({self.grade})"

    @property
    def exit_code(self) -> int:
        """0 where the evidence is what `accept` asks for, 1 where claim, ledger or a promise is refuted, else 3."""
        wrong = any(record.ledger_contradicted for record in self.records)
        if self.verdict is Verdict.REFUTED or wrong or any(check.verdict == BROKEN for check in self.promises):
            return EXIT_UNEXPECTED
        return EXIT_OK if self.accept.met_by(self.status, self.grade) else EXIT_FAILED

    def exit_code_allowing(self, *, open_claims: bool) -> int:
        """The exit code of somebody to whom a claim that is OPEN, or more than that, is good enough."""
        enough = open_claims and self.status in (Status.OPEN, Status.ACCOUNTED, Status.CERTIFIED)
        return EXIT_OK if enough and self.exit_code == EXIT_FAILED else self.exit_code

    def to_dict(self) -> dict[str, Any]:
        """Plain values, with `schema`, what follows from the evidence, a `statement` and a `digest`."""
        strongest = self.strongest
        plain = {
            "schema": SCHEMA,
            "subject": self.subject,
            "claim": self.claim,
            "verdict": str(self.verdict),
            "status": str(self.status),
            "grade": None if self.grade is None else str(self.grade),
            "certified": self.certified,
            "objections": list(self.objections),
            "accounted": self.accounted,
            "eps_lower": strongest.eps_lower,
            "eps_upper": strongest.eps_upper,
            "delta": strongest.delta,
            "detectable": max(record.detectable for record in self.records),
            "detectable_basis": strongest.detectable_basis,
            "detectable_eps": max(record.detectable_eps for record in self.records),
            "significance": self.significance,
            "seed": self.seed,
            "records": [record.to_dict() for record in self.records],
            "promises": [check.to_dict() for check in self.promises],
            "notes": list(self.notes),
            "not_proved": list(self.not_proved),
            "environment": self.environment,
            "command": self.command,
            "accept": str(self.accept),
            "statements": self.statements,
            "identity": self.identity,
            "statement": statement(self.records, self.promises, self.not_proved),
        }
        return {**plain, "digest": digest_of(plain)}

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> "Certificate":
        """Inverse of `to_dict`; ValueError for what is no certificate."""
        return decoded(cls, plain)


def digest_of(plain: dict[str, Any]) -> str:
    """SHA-256 of the canonical JSON (sorted names, no spaces, ASCII) of all but the digest and what a second run of the
    same seed has otherwise: `seconds` of records.
    """
    records = [{name: value for name, value in each.items() if name not in OTHERWISE} for each in plain["records"]]
    body = {**{name: value for name, value in plain.items() if name != "digest"}, "records": records}
    text = json.dumps(body, sort_keys=True, separators=(",", ":"))
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


NO_POWER = "NO_POWER"
MOST_FAILED = "MOST_FAILED"
UNDECIDED = {
    NO_POWER: "some audit could not have refuted any violation",
    MOST_FAILED: "at least half of the trials on a dataset failed",
}


def _undecided(record: AuditRecord) -> str:
    """Why an audit is INCONCLUSIVE, by name; empty where it is not."""
    if record.verdict is not Verdict.INCONCLUSIVE:
        return ""
    return MOST_FAILED if record.detectable < math.inf and any(record.failed_trials.values()) else NO_POWER


def _mute(check: PromiseCheck) -> bool:
    """True where the trials could neither keep nor break the promise. (A tight promise is never KEPT.)"""
    return check.verdict == INCONCLUSIVE or (check.verdict not in (KEPT, BROKEN) and check.detectable_rate is None)


def certify(
    subject: Any,
    *,
    claim: Claim,
    pairs: Any = None,
    trials: int = 100_000,
    significance: float = SIGNIFICANCE,
    seed: int | None = None,
    score: str = "auto",
    jobs: int = 1,
    beta: float = BETA,
    name: str = "",
    command: str = "",
    ladder: bool = False,
    outcomes: tuple[type[BaseException], ...] = (),
    tape: bool = True,
    accept: Accept | str = Accept.CONFORMS,
) -> Certificate:
    """Collect all evidence about a privacy claim: traces of the code, audits, the account, and checks of promises.

    Parameters
    ----------
    subject : object or callable
        A target as for `audit`, or a `Subject` of an audit suite.
    claim : Claim
        What is claimed, such as `PureDP(1.0)`.
    pairs : Pair, tuple of two datasets, sequence of them, or callable, optional
        Neighbouring datasets. Each of them is audited. None takes `pairs` or `neighbours()` of the subject.
    trials : int
        Number of trials for each pair.
    significance : float
        Of the whole certificate. Pairs and promises share it equally.
    seed : int, optional
        Equal seeds give equal certificates. None draws one.
    score : str
        What attacks look at, see `audit`.
    jobs : int
        Number of workers of an audit.
    beta : float
        Failure probability at which error bounds are checked, in (0, 1).
    name : str
        What the certificate calls the subject; "" takes the name of the target.
    command : str
        The command line, for the record.
    ladder : bool
        Measure how often less noise is refuted, see `audit`.
    outcomes : tuple of exception classes
        Exceptions that are answers of the mechanism, see `audit`.
    tape : bool
        Trace the code on every pair first. A claim that the code itself refutes gets no trials and no checks of
        promises.
    accept : {"ledger", "conforms", "proof"}
        The least evidence that makes the exit code 0, see `Accept`. It changes no other number and no word.

    Returns
    -------
    Certificate
        `status` is its answer in one word, `objections` say what is missing, `records` hold one audit for each pair.

    Raises
    ------
    ParameterError
        For a claim that is none, and for a parameter outside of its range.
    UsageError
        For a subject without pairs.
    RunError
        If an audit cannot be finished. There is no certificate then.

    Examples
    --------
    >>> from dpverify import certify, PureDP
    >>> from dpverify.ledger import laplace
    >>> class Count:
    ...     ledger = laplace(scale=2.0, sensitivity=1.0)
    ...     def release(self, data, *, rng, size):
    ...         return sum(data) + rng.laplace(scale=2.0, size=size)
    >>> found = certify(Count(), claim=PureDP(0.5), pairs=([0, 1], [1, 1]), trials=20_000, seed=1)
    >>> str(found.verdict), found.accounted
    ('NOT_REFUTED', True)
    """
    require.open_unit(significance=significance, beta=beta)
    if not isinstance(claim, Claim):
        raise ParameterError("claim", claim, "a claim such as PureDP(1.0)")
    if accept not in tuple(Accept):
        raise ParameterError("accept", accept, ", ".join(Accept))
    ledger = None
    if isinstance(subject, Subject):
        outcomes = (*subject.outcomes, *outcomes)
        subject, ledger, pairs = subject.target, subject.ledger, subject.pairs if pairs is None else pairs
    target = as_target(subject)
    seed = fresh_seed() if seed is None else seed
    chosen = pairs_for(subject, target, claim, pairs)
    promised, silence = _promises(target, chosen[0], beta)
    statements = len(chosen) + len(promised)
    level = significance / statements
    name = name or name_of(target)
    seeds = [derive(seed, f"{name}#{index}") for index in range(len(chosen))]
    tapes: list[Taped] = []
    if tape:
        tapes = [
            taped_pair(target, claim=claim, pair=pair, ledger=ledger, seed=own, trials=trials, transcripts=FULL)
            for pair, own in zip(chosen, seeds, strict=True)
        ]
    if any(each.refutes for each in tapes):
        records = [
            without_trials(target, claim=claim, pair=pair, ledger=ledger, significance=level, seed=own)
            for pair, own in zip(chosen, seeds, strict=True)
        ]
        promised, silence = [], "no trials were made and no promise was checked: the code refutes the claim"
    else:
        records = [
            audit(
                target,
                claim=claim,
                pair=pair,
                trials=trials,
                significance=level,
                seed=own,
                score=score,
                jobs=jobs,
                ledger=ledger,
                ladder=ladder,
                outcomes=outcomes,
            )
            for pair, own in zip(chosen, seeds, strict=True)
        ]
    if tapes:
        records = [record.with_tape(each) for record, each in zip(records, tapes, strict=True)]
    checks = tuple(
        check_promise(promise, seed=derive(seed, f"{name}/{promise.name}"), significance=level) for promise in promised
    )
    return Certificate(
        subject=name,
        claim=str(claim),
        records=tuple(replace(record, subject=name, pairs=len(chosen)) for record in records),
        promises=checks,
        significance=significance,
        seed=seed,
        notes=tuple(note for note in (silence, _hint(records)) if note),
        environment=environment(),
        command=command,
        accept=Accept(accept),
        statements=statements,
        identity=identity(),
    )


def _hint(records: Sequence[AuditRecord]) -> str:
    """What the author of code without a ledger can do with the one that was derived."""
    met = [
        record.tape is not None
        and record.tape.events is not None
        and record.tape.number is not None
        and record.tape.number <= record.claimed
        for record in records
    ]
    if all(met) and all(record.accounted is None and not record.ledger for record in records):
        return (
            "the ledger derived from the code meets the claim on every pair that was traced; if it holds for all "
            "neighbours, declare it as the subject's `ledger`, and it is accounted"
        )
    return ""


def _promises(target: Target, pair: Pair, beta: float) -> tuple[list[Promise], str]:
    """The subject's promises about utility, or a note that it makes none."""
    own = getattr(target, "promises", None)
    if own is not None:
        found = own(pair.first, beta=beta) if callable(own) else own
        listed = list(found) if isinstance(found, Iterable) else [found]
        if not all(isinstance(each, Promise) for each in listed):
            raise ParameterError("promises", found, "an iterable of dpverify.promises.Promise")
        return listed, ""
    if hasattr(target, "noise_bound") and hasattr(target, "exact"):
        return [_noise_promise(target, pair.first, beta)], ""
    return [], "no promise about utility was checked: the subject has neither `promises` nor `exact` and `noise_bound`"


def _noise_promise(target: Any, data: Any, beta: float) -> Promise:
    exact = np.asarray(target.exact(data), dtype=np.float64)
    bound = float(target.noise_bound(beta))
    if not math.isfinite(bound):
        raise ParameterError("noise_bound", bound, "a finite number")

    def draw(*, rng: np.random.Generator, size: int) -> Outcomes:
        released = np.asarray(target.release(data, rng=rng, size=size), dtype=np.float64)
        return Outcomes(np.abs(released - exact).reshape(size, -1).max(axis=1))

    return Promise(
        name=f"every released number within {bound:.4g} of the exact one, except with probability {beta:g}",
        draw=draw,
        bound=bound,
        failure_probability=beta,
        trials=PROMISE_TRIALS,
    )
