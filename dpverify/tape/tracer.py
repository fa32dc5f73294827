"""`trace`: what the code of a release does with its random numbers, on one pair of neighbouring datasets.

    NOT_TRACED     a bad transcript that proves nothing, randomness outside of the tape, an unfaithful opaque layer, an
                   unknown law, a time limit; pilots that are not to be trusted, too. Never a number
    CONTRADICTED   the claim falls by one transcript (`witness`, significance 0), or transcripts lose more than the
                   ledger allows (`against_ledger`), or a library's call breaks its own declaration
                   (`instruments.calls`): both contradict the ledger and not the claim
    UNDECIDED      a moved draw has no event of its own in the ledger: no contradiction, and nothing is shown
    CONFORMS       every transcript in both orders is what the ledger says (F7)
    DERIVED        no bad transcript; there is no ledger, or it has events that no draw shows

A trace is about its pair, about the transcripts that were drawn, and about ideal real numbers; laws of NumPy's samplers
are assumed. It is made in this process: what depends on a process (hash seeds) is seen once. A program that recognises
the tape and behaves otherwise deceives it.
"""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

from dpverify.accounting import accountant
from dpverify.base import require
from dpverify.base.seeding import Stage, stream
from dpverify.base.sites import Site, site_text
from dpverify.claims.claim import ApproxDP, Claim, GaussianDP, PureDP, ZCDP
from dpverify.claims.curves import RenyiDP
from dpverify.claims.neighbours import Pair, Relation
from dpverify.errors import AccountingError, ParameterError
from dpverify.ledger.events import Ledger
from dpverify.tape import alignments, outputs, trace_result, witness
from dpverify.tape.decisions import Change, far_out, forced, Key, together
from dpverify.tape.forced import Forced, Moved, OutOfTime, Pairing, transcript_log_ratio
from dpverify.tape.ledger_matching import compares, conforms, MATCHED_EVENTS
from dpverify.tape.outside import outside_reads
from dpverify.tape.randomness import Arena, Diverged, MANY
from dpverify.tape.running import keeps_state
from dpverify.tape.theorem_laws import missing_laws, SeenLaws
from dpverify.tape.trace_result import Certified as Certified
from dpverify.tape.trace_result import summaries
from dpverify.tape.trace_result import Trace as Trace
from dpverify.tape.transcript import Reason
from dpverify.tape.witness import errors, log_ratio_at_most, Witness
from dpverify.trials.health.provenance import unseen_draws
from dpverify.trials.target import as_target, declaration, name_of

ABOVE = 4  # transcripts in each order whose comparisons are all positive: a run must stop there, too
STRESSED = 16  # transcripts with values from a wider law, at most
SIDES = 64  # transcripts that take the other side of a decision, at most
BETWEEN = 8  # transcripts in each order whose noisy sums lie between numbers of both datasets, at most
SINGLE = 64  # transcripts that are made one by one; more of them are rows of calls, where the program allows it
CHOSEN = 1_000_000  # index of the first transcript of a wider law
CONFIRMED = 16  # transcripts in each order that must show all values before a claim falls, beside all others
CONFIRM = 2_000_000  # index of the first of them
FRESH = 3_000_000  # index of the first transcript after a change of the alignment
ONE_SIDED = "no run took the other side of this decision on noise"
OBSERVED = ("OUTPUTS_DIFFER", "UNPROTECTED", "OTHER_DRAWS", "MORE_DRAWS", "FEWER_DRAWS", "INFINITE")
BY_THEOREM = "THEOREM"  # code of a difference that a ledger of theorems allows
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
    """Run the code of a release on two neighbouring datasets with the same random values, and compare the runs.

    The noise that the second run needs to release the same output as the first shows how much privacy the code loses.
    No statistics are needed. One such pair of runs is a transcript.

    Parameters
    ----------
    target : object or callable
        A target as for `audit`.
    pair : Pair
        The two datasets.
    claim : Claim, optional
        Is refuted if one transcript contradicts it.
    ledger : Ledger, optional
        What the code is compared with. None takes the target's own, if it has one.
    transcripts : int
        How many to make in each order of the datasets.
    confidence : float
        Of the statements about transcripts that were not drawn, in (0, 1).
    seed : int
        Of the random values.
    stress : bool
        Also make transcripts with values from a wider law. They can refute, and never count for an upper bound.
    timeout : float
        Seconds. It is looked at before each run: a single run is not interrupted.

    Returns
    -------
    Trace
        `status` is its answer in one word, `eps()` the account of the noise that the code adds on this pair.

    Raises
    ------
    ParameterError
        For a pair or a claim that is none, and for a parameter outside of its range.
    NeighbourError
        For a pair that is not one of neighbours under the claim.

    Examples
    --------
    >>> import numpy as np
    >>> from dpverify import Pair, trace
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


UNSEEN = (
    "the target's own source draws random numbers where no run came by, before the release or in a branch that was not "
    "met: nothing is refuted without statistics"
)


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
    uncovered: tuple[str, ...] = ()  # what the code may do with noise that no run shows, each with its line

    @property
    def _nothing_asked(self) -> bool:
        """Neither a claim to refute nor a ledger to compare: a finding about a library's call is then enough."""
        return self.claim is None and self.ledger is None

    def run(self) -> Trace:
        start = time.monotonic()
        deadline = start + self.timeout
        pairings = (
            Pairing(self.target, self.pair.first, self.pair.second, seed=self.seed, order=0, deadline=deadline),
            Pairing(self.target, self.pair.second, self.pair.first, seed=self.seed, order=1, deadline=deadline),
        )
        runs: tuple[list[Forced], list[Forced]] = ([], [])
        chosen: list[tuple[str, Forced]] = []
        pilots: tuple[list[Forced], list[Forced]] = ([], [])
        alignment, late = "value", None
        try:
            alignment, pilots = alignments.choose(
                pairings,
                found_is_enough=self._nothing_asked,
                compared=self.ledger is not None and compares(self.ledger),
            )
            late = strange(pilots)
            known = late is not None or (self._nothing_asked and contradictions(pilots))
            if known or beyond(pilots):  # more transcripts would show nothing more
                shown = [("pilot", run) for order in pilots for run in order]
                return self._concluded(runs, pilots, shown, alignment, late, start)
            runs, chosen = self._transcripts(pairings, 0, start)
            seen = [*runs[0], *runs[1], *(run for _, run in chosen)]
            if agreement(seen) == "reals" and (again := alignments.unscaled(pairings)) is not None:
                alignment, pilots = "unscaled", again  # the runs so far were pilots; those that count are fresh
                runs, chosen = self._transcripts(pairings, FRESH, start)
        except OutOfTime:
            late = self._timed_out(runs)
        except (Exception, Diverged) as error:  # foreign code, copied and run in ways that it was not made for
            late = Reason("ERROR", "", f"{type(error).__name__}: {error}")
        enough = hopeless(runs) or bool(contradictions(runs))
        if late is None and len(runs[0]) < self.transcripts and not enough:
            late = self._timed_out(runs)
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
                many = [batch(pairing, index, ROWS) for pairing in pairings]
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
        chosen += self._other_sides(pairings, base, runs, chosen)
        chosen += self._between(pairings, base, runs)
        return runs, [*chosen, *self._confirming(pairings, base, runs, chosen)]

    def _timed_out(self, runs: tuple[list[Forced], list[Forced]]) -> Reason:
        return Reason("TIMEOUT", "", f"{len(runs[1])} of {self.transcripts} transcripts in {self.timeout:g} s")

    def _keeps_state(self) -> bool:
        return keeps_state(self.target, self.pair.first, stream(self.seed, Stage.TAPE, CONFIRM, 0))

    def _settled(self, runs: tuple[list[Forced], list[Forced]]) -> bool:
        """Nothing can be concluded any more, or a finding about a library's call is enough."""
        return hopeless(runs) or (self._nothing_asked and bool(contradictions(runs)))

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
        if refutation(self.claim, found, where, runs) is None:
            return []
        more: list[tuple[str, Forced]] = []
        for index in range(CONFIRMED):
            for pairing in pairings:
                wide = witness.stress(self.seed, CONFIRM + index, pairing.order) if index % 2 else None
                more.append(
                    ("stress" if index % 2 else "sampled", pairing.transcript(CONFIRM + base + index, change=wide))
                )
        return more

    def _chosen(
        self, pairings: tuple[Pairing, Pairing], base: int, runs: tuple[list[Forced], list[Forced]]
    ) -> list[tuple[str, Forced]]:
        """Transcripts with chosen values: wide ones, and those of the density witness (F3): of the first that counts,
        which stands at index `base`, with other signs. And those whose comparisons are all positive.
        """
        found: list[tuple[str, Forced]] = []
        for pairing, order in zip(pairings, runs, strict=True):
            if self.stress:
                for index in range(min(max(2, self.transcripts // 4), STRESSED)):
                    wide = witness.stress(self.seed, index, pairing.order)
                    found.append(("stress", pairing.transcript(CHOSEN + index, change=wide)))
            if pairing.align.compared:
                found += [
                    ("above", pairing.transcript(CHOSEN + STRESSED + index, above=True)) for index in range(ABOVE)
                ]
            if order[0].trusted and order[0].moved:
                found.append(("signs", pairing.transcript(base, change=witness.signs(order[0]))))
        return found

    def _other_sides(
        self,
        pairings: tuple[Pairing, Pairing],
        base: int,
        runs: tuple[list[Forced], list[Forced]],
        chosen: list[tuple[str, Forced]],
    ) -> list[tuple[str, Forced]]:
        """Transcripts that take the other side of each decision on noise of which no run took it (`decisions`).

        And, where numbers have left the tape inside of the program, three with all noise far out.
        """
        seen: dict[Key, set[bool]] = {}
        waiting: list[tuple[Key, int, int, dict[int, float], Change | None]] = []  # decision, and how it is met
        queued: set[Key] = set()
        found: list[tuple[str, Forced]] = []

        def learn(run: Forced, index: int, values: dict[int, float] | None, change: Change | None = None) -> None:
            """Outcomes of a run with this `change` and these forced `values`; None where it is not made again."""
            for key, decision in run.first.decisions.found.items():
                known = seen.setdefault(key, set())
                known |= decision.outcomes
                if len(known) == 1 and values is not None and key not in queued:
                    flip = decision.flips[next(iter(known))]
                    if flip is None:
                        known |= {True, False}  # the other side is impossible
                    elif flip[0] not in values:
                        queued.add(key)
                        waiting.append((key, run.order, index, {**values, flip[0]: flip[1]}, change))

        for each in runs:
            for index, run in enumerate(each):
                if not run.row and run.trusted:
                    learn(run, base + index, {})
        for _, run in chosen:
            learn(run, 0, None)
        looked = any(entry.site[0] for run in (*runs[0][:1], *runs[1][:1]) for entry in run.first.transcript.entries)
        if looked and self.stress:
            for order, sign in ((0, 1.0), (0, -1.0), (1, 0.0)):
                change = far_out(sign, runs[order][0].first.size)
                run = pairings[order].transcript(base, change=change)
                found.append(("far", run))
                learn(run, base, {}, change)
        while waiting and len(found) < SIDES:
            key, order, index, values, before = waiting.pop(0)
            if len(seen[key]) == 1:
                run = pairings[order].transcript(index, change=forced(values, before))
                found.append(("side", run))
                learn(run, index, values, before)
        for order, each in enumerate(runs):
            for place, value in each[0].second.splits.items() if each and not each[0].row else ():
                if len(found) < 2 * SIDES:
                    found.append(("side", pairings[order].transcript(base, change=forced({place: value}))))
        first = next((run for run in runs[0] if not run.row and run.trusted), None)
        if first is not None:
            rare = [each for each in first.first.decisions.found.values() if len(each.outcomes) == 1]
            flips = [{place: value} for each in rare for _, place, value in each.others]
            for values in [*first.first.decisions.between(), *together(flips)]:
                found.append(("side", pairings[0].transcript(base, change=forced(values))))
        said = [f"{site_text(key[0])}: {ONE_SIDED}" for key, sides in seen.items() if len(sides) == 1]
        every = [run.first for run in (*runs[0], *runs[1], *(run for _, run in (*chosen, *found))) if run.trusted]
        outside = outside_reads(pairings[0].plain_release)
        self.uncovered = tuple(
            dict.fromkeys(
                [
                    *said,
                    *(line for arena in every for line in arena.uncovered),
                    *_rare_outcomes(every),
                    *_coins_together(every),
                    *outside,
                ]
            )
        )
        return found

    def _between(
        self, pairings: tuple[Pairing, Pairing], base: int, runs: tuple[list[Forced], list[Forced]]
    ) -> list[tuple[str, Forced]]:
        """Where differences are made of sums that are numbers already: transcripts in which such a sum lies between
        numbers that are taken off it and that the datasets do not share.

        `y = x + noise; return y, y - x > 0` gives the same on both datasets, but where y lies between x and x'.
        """
        found: list[tuple[str, Forced]] = []
        for pairing, order in zip(pairings, runs, strict=True):
            if order[0].row or not order[0].trusted:
                continue
            arena = order[0].first
            values: dict[int, tuple[float, float]] = {}
            for entry in arena.transcript.entries:
                if entry.kind == "value":
                    off, coef = entry.off.astype(np.float64), entry.coef.astype(np.float64)
                    pairs = zip(off.tolist(), coef.tolist(), strict=True)
                    values |= dict(zip(entry.place.tolist(), pairs, strict=True))
            apart = {(met.place, met.zero) for met in arena.met} ^ {
                (met.place, met.zero) for met in order[0].second.met
            }
            wanted: list[tuple[int, float]] = []
            for place in sorted({place for place, _ in apart if place in values}):
                zeros = sorted(zero for each, zero in apart if each == place)
                wanted += [(place, (one + two) / 2) for one, two in pairwise(zeros)]
            for place, middle in wanted[:BETWEEN]:
                centre, width = values[place]
                change = forced({place: (middle - centre) / width}, None)
                found.append(("side", pairing.transcript(base, change=change)))
        return found

    def _missing_laws(self, every: Sequence[Forced]) -> tuple[Reason, ...]:
        """What the theorems of the ledger need and no run draws."""
        if self.ledger is None or not every:
            return ()
        seen = SeenLaws.of(arena for run in every for arena in (run.first, run.second))
        return tuple(Reason("NO_LAW", "", f"{text}; the code draws none") for text in missing_laws(self.ledger, seen))

    def _explained_by_theorem(self, reasons: tuple[Reason, ...]) -> tuple[Reason, ...]:
        """Differences that a ledger of theorems alone allows have a code of their own: they contradict nothing.

        Equal random numbers need not give equal outputs there: each user has a coin of a sample, noise is drawn again
        where it lies outside of an interval, a choice has other chances.
        """
        events = () if self.ledger is None else tuple(event for event, _ in self.ledger.counted)
        if not events or any(isinstance(each, MATCHED_EVENTS) for each in events):
            return reasons
        return tuple(replace(each, code=BY_THEOREM) if each.code in OBSERVED else each for each in reasons)

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
        hidden = (
            [] if found is None or stateful else unseen_draws(self.target, _lines([*pilots[0], *pilots[1], *every]))
        )
        if stateful or hidden:
            found = None
        proved = found is not None and math.isinf(found.log_ratio)
        unproved = [run for run in bad if not (proved and run.trusted)]
        good = [run for run in (*runs[0], *runs[1]) if run.bad is None]
        moved = tuple(run.oriented for run in good)
        sides = [run.oriented for kind, run in chosen if kind in ("side", "far") and run.bad is None]
        compared = [run.oriented for _, run in chosen if any(each.above is not None for each in run.moved)]
        ledger, fixed, conformity = None, False, None
        if not bad and late is None and good:
            ledger = trace_result.envelope([*(run.oriented for order in pilots for run in order), *sides])
            fixed = ledger is not None and conforms(moved, ledger, Relation.REPLACE_ONE).status == "CONFORMS"
            if not fixed:
                ledger = None
            conformity = (
                None if self.ledger is None else conforms((*moved, *compared, *sides), self.ledger, self.relation)
            )
        against = reasons_of(contradictions((every,)))
        reasons = reasons_of([run.bad for run in (unproved or bad) if run.bad is not None])
        refuted = refutation(self.claim, found, where, runs)
        if conformity is None or conformity.unmatched_events:
            missing = self._missing_laws([*pilots[0], *pilots[1], *every])
        else:  # every draw is matched by itself
            missing = ()
        if late is not None:
            status, reasons = "NOT_TRACED", (late, *reasons)
        elif refuted is not None:
            status, reasons = "CONTRADICTED", (refuted, *against, *reasons)
        elif against and (bad or conformity is None or conformity.status != "CONFORMS"):
            status, reasons = "CONTRADICTED", (*against, *reasons)
        elif unproved or (bad and not (self.claim is None and proved)):
            status, reasons = "NOT_TRACED", (*missing, *self._explained_by_theorem(reasons))
        elif conformity is not None and conformity.status == "UNMATCHED":
            over = against_ledger(self.ledger, self.relation, found, where, runs)
            status = "UNDECIDED" if over is None else "CONTRADICTED"
            witnessed = () if over is None else (over,)  # after the line that it is about
            reasons = (*conformity.unmatched_draws[:1], *witnessed, *conformity.unmatched_draws[1:])
        elif missing:
            status, reasons = "UNDECIDED", missing
            conformity = replace(conformity, status="UNMATCHED", unmatched_draws=missing) if conformity else None
        elif conformity is not None and conformity.status == "CONFORMS":
            status = "CONFORMS"
        else:
            status = "DERIVED"
        notes = [STATEFUL] if stateful else []
        if hidden:
            notes.append(f"{UNSEEN} ({', '.join(site_text(each) or each[0] for each in hidden[:3])})")
        notes += [f"not covered by any run: {line}" for line in self.uncovered[:3]]
        if any(run.changed for run in every):
            notes.append("MUTATED: a run changes its data; every run here had a copy, trials do not")
        if any(run.rough for run in good):
            notes.append(ROUGH)
        if conformity is not None and conformity.unmatched_events:
            notes.append(f"not matched by draws: {', '.join(conformity.unmatched_events)}")
        notes += bounds(good)
        if status == "CONFORMS":  # what a library declares is less than what the ledger does
            notes += [str(reason) for reason in against]
        shown = [run for run in good if not run.row] or every
        return Trace(
            name=name_of(self.target),
            status=status,
            reasons=reasons,
            draws=summaries(shown, alignment),
            ledger=ledger,
            fixed=fixed,
            log_ratio=(tuple(_ratio(run) for run in runs[0]), tuple(_ratio(run) for run in runs[1])),
            witness=found,
            conformity=conformity,
            transcripts=min(len(runs[0]), len(runs[1])),
            bad=len(bad),
            confidence=self.confidence,
            relation=self.relation,
            alignment=alignment,
            uncovered=self.uncovered,
            rounding=agreement(every),
            seed=self.seed,
            seconds=time.monotonic() - start,
            notes=tuple(notes),
            _moved=moved,
            _at_most=(tuple(map(log_ratio_at_most, runs[0])), tuple(map(log_ratio_at_most, runs[1]))),
        )


def _lines(runs: Sequence[Forced]) -> set[Site]:
    """The lines that draws of these runs belong to."""
    arenas = (arena for run in runs for arena in (run.first, run.second))
    return {draw.site for arena in arenas for draw in arena.transcript.draws}


def _coins_together(arenas: Sequence[Arena]) -> list[str]:
    """Lines of coins (uniforms that are compared) of which not every combination came.

    The outcomes of the coins of a run are a leaf of a binary tree; all leaves came where 2^-depth of them adds up to 1.
    """
    leaves: dict[bytes, str] = {}
    for arena in arenas:
        coins = [entry for entry in arena.transcript.entries if entry.kind == "decision" and entry.log_mass is not None]
        fair = [entry.forced[np.asarray(entry.log_mass) < 0] for entry in coins]
        leaf = np.concatenate([np.zeros(0, dtype=bool), *fair]).astype(np.uint8).tobytes()
        leaves[leaf] = site_text(coins[0].site) if coins else ""
    if all(not leaf for leaf in leaves) or math.fsum(2.0 ** -len(leaf) for leaf in leaves) >= 1:
        return []
    return [f"{max(leaves.values())}: not every combination of coins came"]


def _rare_outcomes(arenas: Sequence[Arena]) -> list[str]:
    """Lines that draw a value whole (a choice, a permutation) of which some outcome never came."""
    counts: dict[tuple[Site, str], int] = {}
    seen: dict[tuple[Site, str], set[bytes]] = {}
    for arena in arenas:
        for key, (count, outcomes) in arena.outcomes.items():
            counts[key] = max(count, counts.get(key, 0))
            seen.setdefault(key, set()).update(outcomes)
    return [
        f"{site_text(site)}: not every outcome of {family} came"
        for (site, family), count in counts.items()
        if len(seen[site, family]) < count or count >= MANY
    ]


def _ratio(run: Forced) -> float:
    """The log ratio, inf for a bad transcript, nan where a library promises no pure bound of a call."""
    return run.log_ratio if run.bad is None else math.inf


# ----------------------------------------------------------------------------------------------------------------------
# What runs show, without another one: whether a claim falls, what is hopeless, how outputs agree.


SURE = 1e-9  # error of a refutation that rests on a frequency (F4 against a claim with delta)


def refutation(
    claim: Claim | None,
    found: Witness | None,
    where: witness.Places | None,
    runs: tuple[list[Forced], list[Forced]],
) -> Reason | None:
    """Why the claim is false, or None."""
    if found is None or claim is None or where is None:
        return None
    shown = f"a transcript of the code has log ratio {found.log_ratio:g} ({found.kind}); what is released shows it"
    if isinstance(claim, PureDP) or (isinstance(claim, ApproxDP) and claim.delta == 0):
        return Reason("WITNESS", "", f"{shown}; claimed {claim.eps:g}") if found.log_ratio > claim.eps else None
    if not math.isinf(found.log_ratio):
        return None
    if isinstance(claim, ZCDP | GaussianDP | RenyiDP):
        return Reason("WITNESS", "", f"{shown}; the claim allows no infinite loss")
    if isinstance(claim, ApproxDP):
        for order in runs:
            hits = sum(witness.proves(run, where) for run in order)
            lower = float(special.betaincinv(hits, len(order) - hits + 1, SURE / 2)) if hits else 0.0
            if lower > claim.delta:
                text = f"{shown}; that happens with probability {lower:.3g} at least, claimed delta {claim.delta:g}"
                return Reason("WITNESS", "", text)
    return None


LEVELS = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)  # of eps at which transcripts are compared with a ledger's delta


def against_ledger(
    ledger: Ledger | None,
    relation: Relation,
    found: Witness | None,
    where: witness.Places | None,
    runs: tuple[list[Forced], list[Forced]],
) -> Reason | None:
    """What shows that the code loses more than the ledger allows, or None.

    One transcript with a larger log ratio than the ledger's pure eps; or, at one of LEVELS, a delta that transcripts
    which were drawn prove (error SURE, Bonferroni over levels and orders) and that is larger than the ledger's.
    """
    if ledger is None or found is None or where is None:
        return None
    try:
        eps = accountant.eps_upper(ledger, delta=0.0, relation=relation)
        if found.log_ratio > eps:
            text = (
                f"a transcript of the code has log ratio {found.log_ratio:g} ({found.kind}); the ledger allows {eps:g}"
            )
            return Reason("LEDGER", "", text)
        for order in runs:
            shown = [witness.shown_ratio(run, where) for run in order if not run.row]
            for level in LEVELS if shown and max(shown) > 0 else ():
                least = trace_result.delta_at_least(shown, level, SURE / (2 * len(LEVELS)))
                most = accountant.delta_upper(ledger, eps=level, relation=relation) if least > 0 else 1.0
                if least > most:
                    text = f"at eps {level:g} the code has delta {least:.3g} at least; the ledger allows {most:.3g}"
                    return Reason("LEDGER", "", text)
    except AccountingError:
        return None
    return None


def contradictions(runs: Sequence[Sequence[Forced]]) -> list[Reason]:
    """What calls of libraries do against their own declarations."""
    return [reason for order in runs for run in order if run.trusted for reason in run.findings]


def strange(pilots: Sequence[Sequence[Forced]]) -> Reason | None:
    """Why a pilot is not to be trusted. Pilots are the first runs of all: state that only a first run leaves shows here
    and nowhere else. Their losses and outputs never count, which is what the choice of a rule needs.
    """
    return next((run.bad for order in pilots for run in order if run.bad is not None and not run.trusted), None)


def beyond(runs: Sequence[Sequence[Forced]]) -> bool:
    """Whether the outputs of all runs differ, and what is released cannot show the transcript: it has whole values."""
    return all(
        run.bad is not None
        and run.bad.code == "UNPROTECTED"
        and any(entry.kind == "atom" for entry in run.first.transcript.entries)
        for order in runs
        for run in order
    )


def bounds(runs: Sequence[Forced]) -> list[str]:
    """What opaque calls cost that no event of the ledger says."""
    texts = (moved.loss.text for run in runs for moved in run.moved if moved.loss is not None and moved.loss.text)
    return list(dict.fromkeys(texts))[:5]


def hopeless(runs: tuple[list[Forced], list[Forced]]) -> bool:
    """Nothing can be concluded any more: a run is not to be trusted, or diverged."""
    return any(run.bad is not None and (not run.trusted or run.second.bad is not None) for each in runs for run in each)


def agreement(runs: Sequence[Forced]) -> str:
    """How outputs agree: in all bits; in all bits on a dyadic tape; or only but for the last digits."""
    if any(run.bad is not None and run.bad.code == "ROUNDING" for run in runs):
        return "reals"
    return "dyadic" if any(run.dyadic for run in runs) else "bits"


def reasons_of(found: Sequence[Reason]) -> tuple[Reason, ...]:
    """Five of them, one for each code and place."""
    return tuple({(each.code, each.site): each for each in found}.values())[:5]


# ----------------------------------------------------------------------------------------------------------------------
# Many transcripts from one call: the trials axis of a forced run, its losses row by row.
#
# Rows of a call are taken for independent releases, as trials take them. What can be checked is checked: every draw and
# the output have the trials axis, and PROBED rows, made again by themselves with their values, have the same outputs
# and the same log ratios. Where a program is not such a one (`None`), transcripts are made one by one. A row whose
# outputs differ is made again by itself as well, with all checks of a transcript.


Array = npt.NDArray[Any]

ROWS = 1021  # releases of a call: a prime, so that an axis of this length is the trials axis
PROBED = 4  # rows of a call that are made again
AGAIN = 16  # rows of a call whose outputs may differ, and are made again; with more, all are made one by one


def batch(pairing: Pairing, index: int, rows: int) -> list[Forced] | None:
    """`rows` transcripts of one call; None where the program is none for this."""
    pairing.size = rows
    try:
        whole = pairing.transcript(index)
    finally:
        pairing.size = 1
    if not whole.trusted or whole.second.bad is not None or whole.raised or not _rowwise(whole, rows):
        return None
    total, moved = _losses(whole, rows)
    lost = _lost(whole, rows)
    different = _different(whole, rows)
    if different is None or len(different) > AGAIN:
        return None
    width = [draw.count // rows for draw in whole.first.transcript.draws]
    found = [
        Forced(
            float(total[row]),
            None,
            whole.first,
            whole.second,
            None,
            None,
            order=pairing.order,
            trusted=True,
            moved=moved[row],
            changed=whole.changed,
            row=True,
            lost=float(lost[row]),
        )
        for row in range(rows)
    ]
    for row in {
        *np.linspace(0, rows - 1, PROBED).astype(int).tolist(),
        *different,
        *np.flatnonzero(~np.isfinite(total)),
    }:
        alone = pairing.transcript(index, change=_values(whole.first, width, int(row), rows))
        if int(row) in different or not math.isfinite(total[row]):
            if alone.bad is None and math.isfinite(total[row]):
                alone.log_ratio = float(total[row])  # it differs among others and not alone: seen below
            found[row] = alone
            alone.row = True
        if not _same(alone, whole, int(row), float(total[row])):
            return None
    return found


def _rowwise(whole: Forced, rows: int) -> bool:
    """Whether the draws, the entries and the outputs have the trials axis."""
    if any(draw.rows != rows for draw in whole.first.transcript.draws):
        return False
    if any(entry.kind in ("atom", "comparison") for entry in whole.first.transcript.entries):
        return False
    shown = (whole.output[1], whole.other_output[1])
    return all(
        type(each) is np.ndarray and each.dtype.kind in "biuf" and len(each) == rows for each in shown if np.ndim(each)
    ) and all(np.ndim(each) for each in shown)


def _row_of(arena: Arena, place: Array, rows: int) -> Array:
    draws = arena.transcript.draws
    which = arena.draws_of(place)
    starts = np.array([draw.start for draw in draws])[which]
    widths = np.array([max(draw.count // rows, 1) for draw in draws])[which]
    return np.asarray((place - starts) // widths)


def _losses(whole: Forced, rows: int) -> tuple[Array, list[tuple[Moved, ...]]]:
    """Log ratio and moved elements of every row."""
    _, every = transcript_log_ratio(whole.first, whole.second)
    terms: list[list[float]] = [[] for _ in range(rows)]
    moved: list[list[Moved]] = [[] for _ in range(rows)]
    for each in every:
        row_of = _row_of(whole.first, each.place, rows)
        order = np.argsort(row_of, kind="stable")
        cuts = np.flatnonzero(np.r_[True, np.diff(row_of[order]) > 0])
        for part in np.split(order, cuts[1:]):
            row = int(row_of[part[0]])
            terms[row] += each.terms[part].tolist()
            moved[row].append(each.part(part))
    total = np.array([math.fsum(each) if all(map(math.isfinite, each)) else math.inf for each in terms])
    return total, [tuple(each) for each in moved]


def _lost(whole: Forced, rows: int) -> Array:
    """How far the log ratio of every row may be off by rounding."""
    found = np.zeros(rows)
    for place, lost in errors(whole.first, whole.second):
        found += np.bincount(_row_of(whole.first, place, rows), lost, rows)
    return found


def _different(whole: Forced, rows: int) -> list[int] | None:
    """Rows whose outputs differ in a bit; None where the outputs differ in form."""
    first, second = whole.output[1], whole.other_output[1]
    if first.dtype != second.dtype or first.shape != second.shape:
        return None
    views = [
        np.frombuffer(np.ascontiguousarray(each).tobytes(), np.uint8).reshape(rows, -1) for each in (first, second)
    ]
    return [int(row) for row in np.flatnonzero((views[0] != views[1]).any(axis=1))]


def _values(arena: Arena, widths: list[int], row: int, rows: int) -> Change:
    """The values of one row, for a run that makes it alone."""
    parts = [
        arena.values(draw.start + row * width, width)
        for draw, width in zip(arena.transcript.draws, widths, strict=True)
    ]
    values = np.concatenate([np.zeros(0), *parts])

    def change(family: str, z: Array, start: int) -> Array:
        known = values[start : start + z.size]
        return known.reshape(z.shape) if known.size == z.size else z

    return change


def _same(alone: Forced, whole: Forced, row: int, total: float) -> bool:
    """Whether a release made alone is the row that it was among the others, on both datasets."""
    if not alone.trusted or alone.second.bad is not None:
        return False
    pairs = ((alone.output, whole.output), (alone.other_output, whole.other_output))
    for one, every in pairs:
        parts = outputs.parts(one[1]), outputs.parts(every[1][row : row + 1])
        if one[0] != every[0] or not outputs.close(*parts, noise=alone.first.smallest_noise):
            return False
    return alone.log_ratio == total or abs(alone.log_ratio - total) <= 1e-9 * max(1.0, abs(total))
