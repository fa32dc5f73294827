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
from dataclasses import dataclass
from typing import Any

from dpverify.accounting.ledger import Ledger
from dpverify.base import require
from dpverify.base.errors import ParameterError
from dpverify.base.seeding import Stage, stream
from dpverify.claims.claim import Claim
from dpverify.claims.neighbours import Pair, Relation
from dpverify.tape import alignments, conclusions, derive, rows, witness
from dpverify.tape.arena import Diverged
from dpverify.tape.conclusions import SURE as SURE
from dpverify.tape.conform import conforms
from dpverify.tape.forced import Forced, Pairing
from dpverify.tape.rounding import at_most
from dpverify.tape.running import keeps_state
from dpverify.tape.summary import summaries
from dpverify.tape.traced import Certified as Certified
from dpverify.tape.traced import Trace as Trace
from dpverify.tape.transcript import Reason
from dpverify.trials.target import as_target, declaration, name_of

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


STATEFUL = "the target has a generator or a state of its own: every run here had a copy of it, so nothing is refuted"


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
            late = conclusions.strange(pilots)
            known = late is not None or (self._nothing_asked and conclusions.against(pilots))
            if known or conclusions.beyond(pilots):  # more transcripts would show nothing more
                shown = [("pilot", run) for order in pilots for run in order]
                return self._concluded(runs, pilots, shown, alignment, late, start)
            runs, chosen = self._transcripts(pairings, 0, start)
            seen = [*runs[0], *runs[1], *(run for _, run in chosen)]
            if conclusions.agreement(seen) == "reals" and (again := alignments.unscaled(pairings)) is not None:
                alignment, pilots = "unscaled", again  # the runs so far were pilots; those that count are fresh
                runs, chosen = self._transcripts(pairings, FRESH, start)
        except (Exception, Diverged) as error:  # foreign code, copied and run in ways that it was not made for
            late = Reason("ERROR", "", f"{type(error).__name__}: {error}")
        enough = conclusions.hopeless(runs) or bool(conclusions.against(runs))
        if late is None and len(runs[0]) < self.transcripts and not enough:
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
            if self._settled(runs) or time.monotonic() - start > self.timeout:
                break
        if self._settled(runs):
            return runs, []
        chosen = self._chosen(pairings, base, runs)
        return runs, [*chosen, *self._confirming(pairings, base, runs, chosen)]

    def _keeps_state(self) -> bool:
        return keeps_state(self.target, self.pair.first, stream(self.seed, Stage.TAPE, CONFIRM, 0))

    def _settled(self, runs: tuple[list[Forced], list[Forced]]) -> bool:
        """Nothing can be concluded any more, or a finding about a library's call is enough."""
        return conclusions.hopeless(runs) or (self._nothing_asked and bool(conclusions.against(runs)))

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
        if conclusions.refuted(self.claim, found, where, runs) is None:
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
        stateful = found is not None and self._keeps_state()
        if stateful:
            found = None
        proved = found is not None and math.isinf(found.log_ratio)
        unproved = [run for run in bad if not (proved and run.trusted)]
        good = [run for run in (*runs[0], *runs[1]) if run.bad is None]
        moved = tuple(run.oriented for run in good)
        ledger, fixed, conformity = None, False, None
        if not bad and late is None and good:
            ledger = derive.envelope(run.oriented for order in pilots for run in order)
            fixed = ledger is not None and conforms(moved, ledger, Relation.REPLACE_ONE).status == "CONFORMS"
            if not fixed:
                ledger = None
            conformity = None if self.ledger is None else conforms(moved, self.ledger, self.relation)
        against = conclusions.reasons(conclusions.against((every,)))
        reasons = conclusions.reasons([run.bad for run in (unproved or bad) if run.bad is not None])
        refuted = conclusions.refuted(self.claim, found, where, runs)
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
        notes = [STATEFUL] if stateful else []
        if any(run.changed for run in every):
            notes.append("MUTATED: a run changes its data; every run here had a copy, trials do not")
        if any(run.rough for run in good):
            notes.append(ROUGH)
        if conformity is not None and conformity.unmatched_events:
            notes.append(f"not matched by draws: {', '.join(conformity.unmatched_events)}")
        notes += conclusions.bounds(good)
        if status == "CONFORMS":  # what a library declares is less than what the ledger does
            notes += [str(reason) for reason in against]
        shown = [run for run in good if not run.row] or every
        return Trace(
            name=name_of(self.target), status=status, reasons=reasons, draws=summaries(shown, alignment),
            ledger=ledger, fixed=fixed,
            log_ratio=(tuple(_ratio(run) for run in runs[0]), tuple(_ratio(run) for run in runs[1])),
            witness=found, conformity=conformity, transcripts=min(len(runs[0]), len(runs[1])), bad=len(bad),
            confidence=self.confidence, relation=self.relation, alignment=alignment,
            rounding=conclusions.agreement(every),
            seed=self.seed, seconds=time.monotonic() - start, notes=tuple(notes), _moved=moved,
            _at_most=(tuple(map(at_most, runs[0])), tuple(map(at_most, runs[1]))),
        )  # fmt: skip


def _ratio(run: Forced) -> float:
    """The log ratio, inf for a bad transcript, nan where a library promises no pure bound of a call."""
    return run.log_ratio if run.bad is None else math.inf
