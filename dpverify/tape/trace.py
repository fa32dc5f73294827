"""`trace`: what the code of a release does with its random numbers, on one pair of neighbouring datasets.

    NOT_TRACED     a bad transcript that proves nothing, randomness outside of the tape, an unfaithful opaque layer, an
                   unknown law, a time limit; pilots that are not to be trusted, too. Never a number
    CONTRADICTED   the claim falls by one transcript (`witness`, significance 0), or a moved draw has no event in the
                   ledger, or a library's call breaks its own declaration (`instruments.declared`): both contradict the
                   ledger and not the claim
    CONFORMS       every transcript in both orders is what the ledger says (F7)
    DERIVED        no bad transcript; there is no ledger, or it has events that no draw shows

A trace is about its pair, about the transcripts that were drawn, and about ideal real numbers; laws of NumPy's samplers
are assumed. It is made in this process: what depends on a process (hash seeds) is seen once. A program that recognises
the tape and behaves otherwise deceives it.
"""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from scipy import special

from dpverify.accounting import accountant
from dpverify.accounting.ledger import Ledger
from dpverify.base import require
from dpverify.base.errors import ParameterError
from dpverify.claims.claim import ApproxDP, Claim, GaussianDP, PureDP, ZCDP
from dpverify.claims.neighbours import Pair, Relation
from dpverify.tape import alignments, derive, rows, witness
from dpverify.tape.arena import Diverged
from dpverify.tape.conform import Conformity, conforms
from dpverify.tape.forced import Forced, Moved, Pairing
from dpverify.tape.summary import DrawSummary, summaries
from dpverify.tape.transcript import Reason
from dpverify.tape.witness import Witness
from dpverify.trials.target import as_target, declaration, name_of

STATUSES = ("NOT_TRACED", "CONTRADICTED", "CONFORMS", "DERIVED")
STRESSED = 16  # transcripts with values from a wider law, at most
SINGLE = 64  # transcripts that are made one by one; more of them are rows of calls, where the program allows it
CHOSEN = 1_000_000  # index of the first transcript of a wider law
CONFIRMED = 16  # transcripts in each order that must show all values before a claim falls, beside all others
CONFIRM = 2_000_000  # index of the first of them
FRESH = 3_000_000  # index of the first transcript after a change of the alignment
ROUGH = (
    "rounding: as plain numbers the outputs on both datasets agree, but not to the last digits: sums in other orders, "
    "or low bits that tell the datasets apart"
)
SURE = 1e-9  # error of a refutation that rests on a frequency (F4 against a claim with delta)


@dataclass(frozen=True)
class Certified:
    """V is (eps, delta_total)-indistinguishable on this pair, both orders, at this confidence; by which fact."""

    eps: float
    delta_total: float
    confidence: float
    fact: str


@dataclass(frozen=True, kw_only=True)
class Trace:
    """What the tape has seen; see the module for the words of `status`."""

    name: str
    status: str
    reasons: tuple[Reason, ...]
    draws: tuple[DrawSummary, ...]
    ledger: Ledger | None
    fixed: bool
    log_ratio: tuple[tuple[float, ...], tuple[float, ...]]
    witness: Witness | None
    conformity: Conformity | None
    transcripts: int
    bad: int
    confidence: float
    relation: Relation
    alignment: str
    rounding: str
    seed: int
    seconds: float
    notes: tuple[str, ...]
    _moved: tuple[tuple[Moved, ...], ...] = field(default=(), repr=False)

    @property
    def traced(self) -> bool:
        """Whether there is anything but a reason."""
        return self.status != "NOT_TRACED"

    def eps(self, delta: float = 0.0) -> float | None:
        """Account of the derived ledger on this pair at `delta`; inf where the witness proves it; None else."""
        require.delta(delta=delta)
        if self.witness is not None and math.isinf(self.witness.log_ratio) and delta == 0:
            return math.inf
        if not self.traced or self.bad or self.ledger is None:
            return None
        return accountant.eps_upper(self.ledger, delta=delta, relation=Relation.REPLACE_ONE)

    def certified(self, delta: float = 0.0) -> Certified | None:
        """F7/F8 where all transcripts are covered by the derived ledger, at `delta` plus delta_k; otherwise F5."""
        require.delta(delta=delta)
        if not self.traced or self.bad or not self.transcripts:
            return None
        if not self.fixed and any(math.isnan(each) for order in self.log_ratio for each in order):
            return None  # an opaque call of a library that promises no pure bound
        missed = derive.failure_mass(self.transcripts, (1 - self.confidence) / 2)
        if self.fixed and (eps := self.eps(delta)) is not None:
            return Certified(eps, delta + missed, self.confidence, "F7")
        return Certified(max(derive.largest(each) for each in self.log_ratio), missed, self.confidence, "F5")

    def delta(self, eps: float) -> float | None:
        """F6: a delta for this eps, both orders, at the confidence of the trace."""
        require.non_negative(eps=eps)
        if not self.traced or not self.transcripts:
            return None
        if any(math.isnan(each) for order in self.log_ratio for each in order):
            return None
        return max(derive.profile(each, eps, (1 - self.confidence) / 2) for each in self.log_ratio)

    def conforms(self, ledger: Ledger) -> Conformity:
        """F7 against another ledger; UNDECIDED where the trace has a bad transcript."""
        if not self.traced or self.bad:
            return Conformity("UNDECIDED", 0, self.reasons, ())
        return conforms(self._moved, ledger, self.relation)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON; infinities and NaN as their names."""
        certified = self.certified()
        return {
            "name": self.name,
            "status": self.status,
            "reasons": [vars(each) for each in self.reasons],
            "draws": [{key: _plain(value) for key, value in vars(each).items()} for each in self.draws],
            "ledger": None if self.ledger is None else [[repr(e), times] for e, times in self.ledger.counted],
            "fixed": self.fixed,
            "eps": _plain(self.eps()),
            "certified": None if certified is None else {key: _plain(v) for key, v in vars(certified).items()},
            "log_ratio": [[_plain(each) for each in order] for order in self.log_ratio],
            "witness": None if self.witness is None else _told(self.witness),
            "conformity": None if self.conformity is None else self.conformity.status,
            "transcripts": self.transcripts,
            "bad": self.bad,
            "confidence": self.confidence,
            "alignment": self.alignment,
            "rounding": self.rounding,
            "seed": self.seed,
            "seconds": self.seconds,
            "notes": list(self.notes),
        }


def _told(found: Witness) -> dict[str, Any]:
    return {name: _plain(value) for name, value in vars(found).items() if name != "terms"}


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def trace(
    target: Any,
    *,
    pair: Pair,
    claim: Claim | None = None,
    ledger: Ledger | None = None,
    transcripts: int = 64,
    confidence: float = 0.95,
    seed: int = 7,
    stress: bool = True,
    timeout: float = 60.0,
) -> Trace:
    """Runs `target` on both datasets of `pair` with the same random values, `transcripts` times in each order.

    The ledger is the target's own unless one is given. With `stress`, transcripts with values from a wider law are made
    as well; they count for refutations and as bad transcripts, never for an upper bound. `timeout` is looked at between
    transcripts: a single run is not interrupted. Raises UsageError for what cannot be traced at all: a target without
    `release`, a pair that is not one under the claim.

    >>> import numpy as np
    >>> def count(data, *, rng, size):
    ...     return np.sum(data) + rng.laplace(0.0, 2.0, size)
    >>> found = trace(count, pair=Pair([0, 1], [1, 1]), transcripts=8)
    >>> found.status, found.eps()
    ('DERIVED', 0.5)
    """
    require.integer(at_least=1, transcripts=transcripts)
    require.integer(at_least=0, seed=seed)
    require.open_unit(confidence=confidence)
    require.positive(timeout=timeout)
    if not isinstance(pair, Pair):
        raise ParameterError("pair", pair, "a dpverify.Pair of two neighbouring datasets")
    if claim is not None:
        if not isinstance(claim, Claim):
            raise ParameterError("claim", claim, "a claim such as PureDP(1.0)")
        pair = claim.check(pair)
    target = as_target(target)
    if ledger is None:
        ledger = declaration(target, "ledger")
    relation = claim.relation if claim is not None else pair.relation or Relation.REPLACE_ONE
    return _Tracing(target, pair, claim, ledger, relation, transcripts, confidence, seed, stress, timeout).run()


@dataclass
class _Tracing:
    target: Any
    pair: Pair
    claim: Claim | None
    ledger: Ledger | None
    relation: Relation
    transcripts: int
    confidence: float
    seed: int
    stress: bool
    timeout: float

    @property
    def _nothing_asked(self) -> bool:
        """Neither a claim to refute nor a ledger to compare: a finding about a library's call is then enough."""
        return self.claim is None and self.ledger is None

    def run(self) -> Trace:
        start = time.monotonic()
        pairings = (
            Pairing(self.target, self.pair.first, self.pair.second, seed=self.seed, order=0),
            Pairing(self.target, self.pair.second, self.pair.first, seed=self.seed, order=1),
        )
        runs: tuple[list[Forced], list[Forced]] = ([], [])
        chosen: list[tuple[str, Forced]] = []
        pilots: tuple[list[Forced], list[Forced]] = ([], [])
        alignment, late = "value", None
        try:
            alignment, pilots = alignments.choose(pairings, found_is_enough=self._nothing_asked)
            late = _strange(pilots)
            enough = late is not None or (self._nothing_asked and _against(pilots))
            if enough or _beyond(pilots):  # more transcripts would show nothing more
                shown = [("pilot", run) for order in pilots for run in order]
                return self._concluded(runs, pilots, shown, alignment, late, start)
            runs, chosen = self._transcripts(pairings, 0, start)
            seen = [*runs[0], *runs[1], *(run for _, run in chosen)]
            if _rounding(seen) == "reals" and (again := alignments.unscaled(pairings)) is not None:
                alignment, pilots = "unscaled", again  # the runs so far were pilots; those that count are fresh
                runs, chosen = self._transcripts(pairings, FRESH, start)
        except (Exception, Diverged) as error:  # foreign code, copied and run in ways that it was not made for
            late = Reason("ERROR", "", f"{type(error).__name__}: {error}")
        if late is None and len(runs[0]) < self.transcripts and not _hopeless(runs) and not _against(runs):
            late = Reason("TIMEOUT", "", f"{len(runs[0])} of {self.transcripts} transcripts in {self.timeout:g} s")
        if late is None and all(run.raised for each in runs for run in each):
            late = Reason("RAISES", "", f"every run raises {runs[0][0].output}")
        return self._concluded(runs, pilots, chosen, alignment, late, start)

    def _transcripts(
        self, pairings: tuple[Pairing, Pairing], base: int, start: float
    ) -> tuple[tuple[list[Forced], list[Forced]], list[tuple[str, Forced]]]:
        """Those that count, in both orders, as far as the time and a hopeless one allow; and those that are chosen."""
        runs: tuple[list[Forced], list[Forced]] = ([], [])
        vectorised = self.transcripts > SINGLE
        while len(runs[1]) < self.transcripts:
            index, left = base + len(runs[0]), self.transcripts - len(runs[0])
            if vectorised and len(runs[0]) >= SINGLE:
                many = [rows.batch(pairing, index, rows.ROWS) for pairing in pairings]
                vectorised = all(each is not None for each in many)
                for found, each in zip(runs, many, strict=True):
                    found += (each or [])[:left] if vectorised else []
            else:
                for pairing, found in zip(pairings, runs, strict=True):
                    found.append(pairing.transcript(index))
            if _hopeless(runs) or (self._nothing_asked and _against(runs)) or time.monotonic() - start > self.timeout:
                break
        if _hopeless(runs) or (self._nothing_asked and _against(runs)):
            return runs, []
        chosen = self._chosen(pairings, base, runs)
        return runs, [*chosen, *self._confirming(pairings, base, runs, chosen)]

    def _confirming(
        self,
        pairings: tuple[Pairing, Pairing],
        base: int,
        runs: tuple[list[Forced], list[Forced]],
        chosen: list[tuple[str, Forced]],
    ) -> list[tuple[str, Forced]]:
        """Where the claim would fall: more transcripts, every second one of a wider law. One that V does not show, or
        that cannot be followed, and nothing is refuted.
        """
        where = witness.visible(runs, [*runs[0], *runs[1], *(run for _, run in chosen)])
        found = None if where is None else witness.best(runs, chosen, where, self.seed)
        if self._refuted(found, where, runs) is None:
            return []
        more: list[tuple[str, Forced]] = []
        for index in range(CONFIRMED):
            for pairing in pairings:
                wide = witness.stress(self.seed, CONFIRM + index, pairing.order) if index % 2 else None
                more.append(("stress" if index % 2 else "sampled",
                             pairing.transcript(CONFIRM + base + index, change=wide)))  # fmt: skip
        return more

    def _chosen(
        self, pairings: tuple[Pairing, Pairing], base: int, runs: tuple[list[Forced], list[Forced]]
    ) -> list[tuple[str, Forced]]:
        """Transcripts with chosen values: wide ones, and those of the density witness (F3): of the first that counts,
        which stands at index `base`, with other signs.
        """
        found: list[tuple[str, Forced]] = []
        for pairing, order in zip(pairings, runs, strict=True):
            if self.stress:
                for index in range(min(max(2, self.transcripts // 4), STRESSED)):
                    wide = witness.stress(self.seed, index, pairing.order)
                    found.append(("stress", pairing.transcript(CHOSEN + index, change=wide)))
            if order[0].trusted and order[0].moved:
                found.append(("signs", pairing.transcript(base, change=witness.signs(order[0]))))
        return found

    def _concluded(
        self,
        runs: tuple[list[Forced], list[Forced]],
        pilots: tuple[list[Forced], list[Forced]],
        chosen: list[tuple[str, Forced]],
        alignment: str,
        late: Reason | None,
        start: float,
    ) -> Trace:
        every = [*runs[0], *runs[1], *(run for _, run in chosen)]
        bad = [run for run in every if run.bad is not None]
        where = witness.visible(runs, [*pilots[0], *pilots[1], *every])
        found = None if where is None else witness.best(runs, chosen, where, self.seed)
        proved = found is not None and math.isinf(found.log_ratio)
        unproved = [run for run in bad if not (proved and run.trusted)]
        good = [run for run in (*runs[0], *runs[1]) if run.bad is None]
        moved = tuple(run.moved for run in good)
        ledger, fixed, conformity = None, False, None
        if not bad and late is None and good:
            ledger = derive.envelope(run.moved for order in pilots for run in order)
            fixed = ledger is not None and conforms(moved, ledger, Relation.REPLACE_ONE).status == "CONFORMS"
            if not fixed:
                ledger = None
            conformity = None if self.ledger is None else conforms(moved, self.ledger, self.relation)
        against = _reasons(_against((every,)))
        reasons = _reasons([run.bad for run in (unproved or bad) if run.bad is not None])
        refuted = self._refuted(found, where, runs)
        if late is not None:
            status, reasons = "NOT_TRACED", (late, *reasons)
        elif refuted is not None:
            status, reasons = "CONTRADICTED", (refuted, *against, *reasons)
        elif against and (bad or conformity is None or conformity.status != "CONFORMS"):
            status, reasons = "CONTRADICTED", (*against, *reasons)
        elif unproved or (bad and not (self.claim is None and proved)):
            status = "NOT_TRACED"
        elif conformity is not None and conformity.status == "CONTRADICTED":
            status, reasons = "CONTRADICTED", conformity.unmatched_draws
        elif conformity is not None and conformity.status == "CONFORMS":
            status = "CONFORMS"
        else:
            status = "DERIVED"
        notes = []
        if any(run.changed for run in every):
            notes.append("MUTATED: a run changes its data; every run here had a copy, trials do not")
        if any(run.rough for run in good):
            notes.append(ROUGH)
        if conformity is not None and conformity.unmatched_events:
            notes.append(f"not matched by draws: {', '.join(conformity.unmatched_events)}")
        notes += _bounds(good)
        if status == "CONFORMS":  # what a library declares is less than what the ledger does
            notes += [str(reason) for reason in against]
        shown = [run for run in good if not run.row] or every
        return Trace(
            name=name_of(self.target), status=status, reasons=reasons, draws=summaries(shown, alignment),
            ledger=ledger, fixed=fixed,
            log_ratio=(tuple(_ratio(run) for run in runs[0]), tuple(_ratio(run) for run in runs[1])),
            witness=found, conformity=conformity, transcripts=min(len(runs[0]), len(runs[1])), bad=len(bad),
            confidence=self.confidence, relation=self.relation, alignment=alignment,
            rounding=_rounding(every),
            seed=self.seed, seconds=time.monotonic() - start, notes=tuple(notes), _moved=moved,
        )  # fmt: skip

    def _refuted(
        self, found: Witness | None, where: witness.Places | None, runs: tuple[list[Forced], list[Forced]]
    ) -> Reason | None:
        """Why the claim is false, or None."""
        claim = self.claim
        if found is None or claim is None or where is None:
            return None
        shown = f"a transcript of the code has log ratio {found.log_ratio:g} ({found.kind}); what is released shows it"
        if isinstance(claim, PureDP) or (isinstance(claim, ApproxDP) and claim.delta == 0):
            return Reason("WITNESS", "", f"{shown}; claimed {claim.eps:g}") if found.log_ratio > claim.eps else None
        if not math.isinf(found.log_ratio):
            return None
        if isinstance(claim, ZCDP | GaussianDP):
            return Reason("WITNESS", "", f"{shown}; the claim allows no infinite loss")
        if isinstance(claim, ApproxDP):
            for order in runs:
                hits = sum(witness.proves(run, where) for run in order)
                lower = float(special.betaincinv(hits, len(order) - hits + 1, SURE / 2)) if hits else 0.0
                if lower > claim.delta:
                    text = f"{shown}; that happens with probability {lower:.3g} at least, claimed delta {claim.delta:g}"
                    return Reason("WITNESS", "", text)
        return None


def _ratio(run: Forced) -> float:
    """The log ratio, inf for a bad transcript, nan where a library promises no pure bound of a call."""
    return run.log_ratio if run.bad is None else math.inf


def _against(runs: Sequence[Sequence[Forced]]) -> list[Reason]:
    """What calls of libraries do against their own declarations."""
    return [reason for order in runs for run in order if run.trusted for reason in run.findings]


def _strange(pilots: Sequence[Sequence[Forced]]) -> Reason | None:
    """Why a pilot is not to be trusted. Pilots are the first runs of all: state that only a first run leaves shows here
    and nowhere else. Their losses and outputs never count, which is what the choice of a rule needs.
    """
    return next((run.bad for order in pilots for run in order if run.bad is not None and not run.trusted), None)


def _beyond(runs: Sequence[Sequence[Forced]]) -> bool:
    """Whether the outputs of all runs differ, and what is released cannot show the transcript: it has whole values."""
    return all(
        run.bad is not None
        and run.bad.code == "UNPROTECTED"
        and any(entry.kind == "atom" for entry in run.first.transcript.entries)
        for order in runs
        for run in order
    )


def _bounds(runs: Sequence[Forced]) -> list[str]:
    """What opaque calls cost that no event of the ledger says."""
    texts = (moved.loss.text for run in runs for moved in run.moved if moved.loss is not None and moved.loss.text)
    return list(dict.fromkeys(texts))[:5]


def _hopeless(runs: tuple[list[Forced], list[Forced]]) -> bool:
    """Nothing can be concluded any more: a run is not to be trusted, or diverged."""
    return any(run.bad is not None and (not run.trusted or run.second.bad is not None) for each in runs for run in each)


def _rounding(runs: Sequence[Forced]) -> str:
    """How outputs agree: in all bits; in all bits on a dyadic tape; or only but for the last digits."""
    if any(run.bad is not None and run.bad.code == "ROUNDING" for run in runs):
        return "reals"
    return "dyadic" if any(run.dyadic for run in runs) else "bits"


def _reasons(found: Sequence[Reason]) -> tuple[Reason, ...]:
    return tuple({(each.code, each.site): each for each in found}.values())[:5]
