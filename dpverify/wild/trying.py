"""Trials on pairs made from a schema: pairs are fixed before anything is drawn; then a race of each relation."""

import contextlib
import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dpverify.auditing.tape_record import Taped, together
from dpverify.auditing.tracing import refute_by_law, taped_pair
from dpverify.base import require
from dpverify.base.rounding import text_above
from dpverify.base.seeding import Stage, stream
from dpverify.claims.claim import Claim, WholeProfile
from dpverify.claims.neighbours import Pair, Relation
from dpverify.errors import InvalidTrials, RunError, TargetError, UsageError
from dpverify.wild import climbing, datasets, pairs, refutation
from dpverify.wild.datasets import Candidate
from dpverify.wild.fields import Narrowed
from dpverify.wild.interpreter import Elsewhere
from dpverify.wild.local import Here, on_wire, ReleaseSource
from dpverify.wild.pair_audit import Budget, Contender, LARGEST_BLOCK, MOST_EACH, PASS, Race, SAMPLE, timed
from dpverify.wild.record import PairResult, Row, TryRecord
from dpverify.wild.refutation import Shown, shown_of
from dpverify.wild.schema import as_schema, fit_claim, Schema

# ----------------------------------------------------------------------------------------------------------------------
# How it looks, and where its releases come from.


SEED = 20260
OUTSIDE = ("report", "judge", "off")


@dataclass(frozen=True)
class Options:
    """How trials are made; see the help of `dpverify certify`."""

    relation: str | None = None  # replace, add-remove, both; None: both, and the verdict says under which it stands
    minutes: float | None = None  # of wall time; None: the number of releases is fixed, whatever time they take
    significance: float = 0.05
    seed: int = SEED
    out: tuple[str, ...] = ()
    public: tuple[str, ...] = ()
    out_of_domain: str = "report"
    trials: int = MOST_EACH  # of each pair, on average, as long as nothing falls
    repro: str | None = None

    def __post_init__(self) -> None:
        require.positive(minutes=10.0 if self.minutes is None else self.minutes)
        require.open_unit(significance=self.significance)
        require.integer(at_least=0, seed=self.seed)
        require.integer(at_least=1, trials=self.trials)
        if self.relation not in (None, "replace", "add-remove", "both"):
            raise UsageError(f"relation {self.relation!r}: must be replace, add-remove or both")
        if self.out_of_domain not in OUTSIDE:
            raise UsageError(f"out_of_domain {self.out_of_domain!r}: must be one of " + ", ".join(OUTSIDE))


def source_of(
    target: Any,
    *,
    call: str,
    arguments: dict[str, Any] | None,
    encode: Any,
    python: str,
    cwd: str | None,
    timeout_s: float,
    memory: int | None = None,
) -> ReleaseSource:
    """Where releases come from: this process for an object, an interpreter of its own for a text."""
    if isinstance(target, str):
        return Elsewhere(
            python,
            target,
            cwd=cwd,
            call=call,
            timeout_s=timeout_s,
            arguments=arguments,
            encode=encode or "",
            memory=memory,
        )
    if hasattr(target, "fields") and hasattr(target, "hello"):
        return target  # type: ignore[no-any-return]
    if python:
        raise UsageError("python: only for a target MODULE:OBJECT")
    return Here(target, call=call, arguments=arguments, encode=encode)


# ----------------------------------------------------------------------------------------------------------------------


TIMED_AT_ONCE = 3  # releases on each dataset, before pairs are searched for and traced
LONGEST_SEARCH, LONGEST_TRACES = 30.0, 90.0  # seconds; numbers of pairs are halved until they fit
RUNS_OF_TRACE = 225  # releases of the trace of a pair
TIMED = 20  # releases on each dataset
TIMED_SECONDS = 10.0
BLOCK_SECONDS = 0.5
IN_SHARE, OUT_SHARE = 0.75, 0.1  # of the minutes: the race, pairs out of the domain; witnesses get the rest
WITNESSES = 1  # pairs of each relation that get one, and of those out of the domain
SEVERITY = 0.2  # of the significance, see `Trial._severity`
TRIED_DELTA = 0.05  # of a claim that has no delta of its own: a few thousand trials see little of what is rarer
LONGEST_RACE = 600.0  # seconds of processor time, where no minutes are given
WAITS = 20  # times its processor time, from which on a release waits for something else
ROOM = 4  # times the releases that the pairs of the grid may need: for random pairs, witnesses and scripts
SCRIPT_SECONDS = 20.0  # of releases on each dataset in a script, at most
UNSEEDED = "the source of randomness is not seeded: the same seed gives other trials"
REPEATED = 8  # releases that are made twice to see that
Say = Callable[[str], None]
Code = dict[str, Taped]  # by relation: what the tape says of the grid's pairs
Pairs = dict[Relation, list[Candidate]]  # those that are traced and tried, in their order


def relations(schema: Schema, word: str | None) -> list[Relation]:
    """Those that are tried; UsageError for one that the schema does not allow."""
    replace_one, add_remove = Relation.REPLACE_ONE, Relation.ADD_OR_REMOVE_ONE
    if schema.local or schema.public_size:
        if word in ("add-remove", "both"):
            why = (
                "one record has no neighbours of another number"
                if schema.local
                else "the number of records is public ([public] size)"
            )
            raise UsageError(f"--relation {word}: {why}; use replace")
        return [replace_one]
    return {"replace": [replace_one], "add-remove": [add_remove]}.get(str(word), [replace_one, add_remove])


def _search_stream(seed: int, kind: int, relation: Relation) -> Any:
    """Of the grid (0), of pairs out of the domain (1), of random pairs (2), of the climb (3)."""
    return stream(seed, Stage.SEARCH, kind, list(Relation).index(relation))


def release_seconds(source: ReleaseSource, schema: Schema, inside: Pairs) -> float:
    """Seconds of a release, on the slower dataset of the first pair: of processor time, by the clock where it waits.

    0 where it dies or hangs: the trials say so.
    """
    worst, first = 0.0, next((grid[0] for grid in inside.values() if grid), None)
    for each in () if first is None else (first.first, first.second):
        with contextlib.suppress(TargetError):
            worst = max(worst, _release_seconds(source, datasets.wire(schema, each)))
    return worst


def _release_seconds(source: ReleaseSource, data: bytes) -> float:
    source.fields(data, [1])  # which loads and caches
    started = time.perf_counter()
    busy: float = source.fields(data, list(range(2, 2 + TIMED_AT_ONCE)))["seconds"] / TIMED_AT_ONCE
    once = (time.perf_counter() - started) / TIMED_AT_ONCE
    return once if once > WAITS * busy else busy


def halved_for(releases: int, once: float, limit: float) -> int:
    """How often so many releases of `once` seconds are halved until they take `limit` seconds at most."""
    return max(0, math.ceil(math.log2(max(releases * once / limit, 1e-9))))


def grids(schema: Schema, word: str | None, seed: int) -> Pairs:
    """The pairs of each relation that the schema gives, without a run of the target."""
    return {each: pairs.grid(schema, each, _search_stream(seed, 0, each)) for each in relations(schema, word)}


def searched_pairs(source: ReleaseSource, schema: Schema, word: str | None, seed: int, once: float = 0.0) -> Pairs:
    """The pairs of each relation, with those that paired runs of `source` have found; see `wild.climbing`.

    Fewer runs are made where a release takes long (`once` seconds, see `release_seconds`).
    """
    found = grids(schema, word, seed)
    for each, grid in found.items():
        if grid:
            source.check(datasets.wire(schema, grid[0].first))
            halved = halved_for(2 * climbing.SEEDS * (len(grid) + climbing.STEPS), once, LONGEST_SEARCH)
            found[each] = climbing.search_from(source, schema, grid, _search_stream(seed, 3, each), halved)
    return found


class Trial:
    """One run: its pairs are fixed before anything is drawn."""

    def __init__(
        self,
        source: ReleaseSource,
        claim: Claim,
        schema: Schema,
        asked: Options,
        arguments: dict[str, Any],
        say: Say,
        cwd: str | None,
        code: Code | None = None,
        inside: Pairs | None = None,
    ) -> None:
        self.code = code or {}
        self.origin, self.schema, self.asked, self.say, self.cwd = source, schema, asked, say, cwd
        self.arguments = arguments
        self.source = Narrowed(source, asked.out, asked.public)
        self.claim = fit_claim(claim, schema)
        self.notes: list[str] = []
        if isinstance(self.claim, WholeProfile) and math.isfinite(self.claim.eps_at(TRIED_DELTA)):
            self.claim = replace(self.claim, delta=TRIED_DELTA)  # type: ignore[call-arg]
            self.notes.append(
                f"the claim is tried where it implies eps {self.claim.eps:.4g} at delta {TRIED_DELTA:g}; "
                "all eps of this run are at that delta"
            )
        given = searched_pairs(self.source, schema, asked.relation, asked.seed) if inside is None else inside
        self.inside = {relation: found for relation, found in given.items() if found}
        if not self.inside:
            raise UsageError(f"{schema.source}: {pairs.NONE}")
        self.outside: list[Candidate] = []
        if asked.out_of_domain != "off" and not schema.local:
            relation = next(iter(self.inside))
            self.outside = pairs.outside(schema, relation, self._rng(1, relation))
        first = next(iter(self.inside.values()))[0]
        self.data = datasets.wire(schema, first.first), datasets.wire(schema, first.second)
        source.check(self.data[0])
        self.started = time.monotonic()
        self.release = self._timed()
        once = self._once()
        limit = LONGEST_RACE if asked.minutes is None else 60 * asked.minutes
        halved = halved_for(self._wanted, once, limit)
        if halved:  # few pairs with many trials refute, many with few do not: the first of a list are the best ones
            self._keep_pairs(halved)
            halved = halved_for(self._wanted, once, limit)
        self.releases = self._wanted // 2**halved if halved else ROOM * self._wanted
        self.block = int(min(LARGEST_BLOCK, max(1, round(BLOCK_SECONDS / self.release))))
        self.predicted = 0.0

    def _rng(self, kind: int, relation: Relation) -> Any:
        return _search_stream(self.asked.seed, kind, relation)

    @property
    def _wanted(self) -> int:
        """Releases of the whole race, by what is asked for."""
        return self.count * (2 * SAMPLE + max(PASS, self.asked.trials))

    def _keep_pairs(self, halved: int) -> None:
        """Tries the first pairs alone, at least `LEAST_PAIRS` of a relation."""
        for relation, found in self.inside.items():
            kept = found[: max(LEAST_PAIRS, len(found) >> halved)]
            if len(kept) < len(found):
                said = datasets.said(relation, self.schema.unit)
                self.notes.append(f"{said}: the code is slow: {len(kept)} of {len(found)} pairs are tried")
            self.inside[relation] = kept
        if self.asked.out_of_domain != "judge":
            self.outside = self.outside[:LEAST_PAIRS]

    def _once(self) -> float:
        """Seconds of a release: of processor time, so that other programs on the machine change no number.

        A release that takes twenty times as long waits for something; then it is what the clock says.
        """
        seeds = list(range(2, 2 + min(TIMED, max(1, int(TIMED_SECONDS / self.release / 2)))))
        busy = min(self.source.fields(each, seeds)["seconds"] / len(seeds) for each in self.data)
        return self.release if self.release > WAITS * busy else busy

    def _budget(self) -> Budget:
        if self.asked.minutes is None:
            return Budget(self.releases, 1.0, self._made)
        return Budget(60 * self.asked.minutes - (time.monotonic() - self.started), self.release)

    def _made(self) -> float:
        return float(self.source.made)

    def _timed(self) -> float:
        once = timed(self.source, self.data, 1)
        self.source.objection()
        return min(once, timed(self.source, self.data, max(1, min(TIMED, int(TIMED_SECONDS / once / 2)))))

    def _unseeded(self) -> bool:
        """Whether equal seeds give other releases."""
        seeds = list(range(1, 1 + REPEATED))
        once, again = (self.source.fields(self.data[0], seeds)["fields"] for _ in range(2))
        return repr(once) != repr(again)  # NaN is NaN

    @property
    def count(self) -> int:
        """Pairs that share the significance."""
        inside = sum(map(len, self.inside.values()))
        return inside + (len(self.outside) if self.asked.out_of_domain == "judge" else 0)

    def forecast(self) -> None:
        """Says how long it will take at most."""
        limit = self.asked.minutes
        budget = self._budget()
        most, cost = budget.predicted(self.count, self.asked.trials)
        self.predicted = cost * (self.release if limit is None else 1)
        most = most if limit is not None else int(cost)
        self.say(
            f"{_time(self.release)} a release; {self.count} pairs and random ones, about {most:,} releases: about "
            f"{_time(self.predicted)}; learning, witnesses and scripts come on top"
            + ("" if limit is None else f", {limit:g} min at most")
        )

    def run(self) -> TryRecord:
        """The whole of it."""
        self.forecast()
        total = self._budget()
        races = {relation: self._race(relation, at) for at, relation in enumerate(self.inside)}
        judged = self.asked.out_of_domain == "judge"
        budget = total.part(IN_SHARE * total.seconds)
        for relation, race in races.items():
            extra = [each for each in self.outside if judged and each.relation is relation]
            race.first_pass(self.inside[relation] + extra, budget, self.count)
            self._failing(race)
        for number, (relation, race) in enumerate(races.items()):
            if self._refuted_by_code(relation):  # trials are for the witness alone
                continue
            share = budget.part(budget.left / (len(races) - number))
            race.rounds(pairs.random_pairs(self.schema, relation, self._rng(2, relation)), share)
        apart = self._race(next(iter(races)), len(races))
        if not judged and self.outside:
            apart.planned = len(self.outside)
            apart.first_pass(self.outside, total.part(OUT_SHARE * total.seconds), len(self.outside))
        return self._recorded(races, apart, total)

    def _refuted_by_code(self, relation: Relation) -> bool:
        said = datasets.said(relation, self.schema.unit)
        return said in self.code and self.code[said].refutes

    def _race(self, relation: Relation, at: int) -> Race:
        alpha = (1 - SEVERITY) * self.asked.significance
        return Race(
            self.source,
            self.schema,
            replace(self.claim, relation=relation),
            alpha=alpha,
            planned=self.count,
            relations=len(self.inside),
            seed=self.asked.seed,
            block=self.block,
            first_index=at << 20,
            most_each=self.asked.trials,
            clock=time.monotonic if self.asked.minutes is not None else self._made,
        )

    def _failing(self, race: Race) -> None:
        if race.failing:
            fields = next(each.samples[0][0] for each in race.contenders)
            said = ", ".join(f"{name[1:]}" for name in fields if name[0] == "!" and name != "!message")
            place = f" at {self.source.raised}" if self.source.raised else ""
            raise TargetError(
                f"{self.source.name}: most releases raise {said or 'an exception'} "
                f"({fields.get('!message', '')}){place} on every pair; no verdict"
            )

    # what is said of it

    def _recorded(self, races: dict[Relation, Race], apart: Race, total: Budget) -> TryRecord:
        scripts: list[str] = []
        every = [each for race in (*races.values(), apart) for each in race.contenders]
        results = [self._result(each) for each in every]
        fallen = [each for race in (*races.values(), apart) for each in race.refuted[:WITNESSES]]
        share = max(0.0, total.left) / (len(fallen) + 1)  # the last one is for scripts
        words = [self._shown(each, total.part(share)) for each in fallen]
        for one, found in zip(fallen, words, strict=True):
            at = next(i for i, each in enumerate(every) if each is one)  # names are not: two pairs may share one
            results[at] = replace(
                results[at],
                witness=found.witness,
                note=found.note,
                first=tuple(datasets.shown_dataset(self.schema, found.candidate.first, found.candidate.second)),
                second=tuple(datasets.shown_dataset(self.schema, found.candidate.second, found.candidate.first)),
            )
            results[at] = self._severity(results[at], found)
            self._unsaid(results[at], found)
        for number, found in enumerate((each for each in words if each.candidate.domain == "in"), 1):
            seconds = share / 2 * (self.release if self.asked.minutes is None else 1)
            scripts += self._script(found, number, min(SCRIPT_SECONDS, seconds))
        rows = tuple(self._row(relation, race, results) for relation, race in races.items())
        verdict, relation = self._verdict(rows)
        return TryRecord(
            command="certify",
            target=self.source.name,
            claim=str(self.claim),
            relation=relation,
            verdict=verdict,
            versions={**self.source.versions(), "python": str(self.source.hello["python"])},
            predicted_seconds=self.predicted,
            seconds=time.monotonic() - self.started,
            seed=self.asked.seed,
            notes=tuple(dict.fromkeys([*self.notes, *self._remarks(races, apart)])),
            matrix=rows,
            pairs=tuple(results),
            repro=tuple(scripts),
            claimed_eps=self.claim.eps,
            code=self.code,
        )

    def _result(self, each: Contender) -> PairResult:
        verdict, note = "REFUTED" if each.refuted else "NOT_REFUTED", ""
        if each.failing or not each.process.trials:
            verdict, note = "INCONCLUSIVE", "no time for a trial"
        if each.failing:
            note = "most releases raise an exception on both datasets"
        try:
            each.check()
        except InvalidTrials as error:
            verdict, note = "INCONCLUSIVE", str(error)
            self.notes.append(f"{each.candidate.name}: {error}")
        return PairResult(
            name=each.candidate.name,
            relation=each.candidate.said,
            domain=each.candidate.domain,
            verdict=verdict,
            eps_lower=each.eps_lower,
            trials=each.process.trials,
            detectable=each.detectable,
            note=note,
        )

    def _shown(self, each: Contender, budget: Budget) -> Shown:
        return shown_of(each, self.schema, self.claim, budget, self.source, seed=self.asked.seed)

    def _severity(self, result: PairResult, found: Shown) -> PairResult:
        """The larger of what the trials and the run on fresh releases certify; trials end where the claim falls.

        Both hold: the races are run at (1 - SEVERITY) of the significance, and each relation's one run, settled before
        it begins, at its part of the rest: any number of them is too large with probability at most the significance.
        """
        if result.verdict != "REFUTED" or found.severest is None:
            return result
        eps = found.severest.eps(self.claim.delta, SEVERITY * self.asked.significance / len(self.inside))
        if not eps > result.eps_lower:
            return result
        releases = found.severest.first.trials + found.severest.second.trials
        what = "its event" if found.severest is found.witness else f"{found.severest.event}"
        return replace(result, eps_lower=eps, behind=f"{what} on {releases:,} fresh releases")

    def _unsaid(self, result: PairResult, found: Shown) -> None:
        if found.witness is not None and not found.witness.eps(self.claim.delta) > self.claim.eps:
            self.notes.append(
                f"{found.name}: no readable event says more than the claim by itself; the learned score "
                f"certifies eps >= {text_above(result.eps_lower, self.claim.eps)}"
            )

    def _script(self, found: Shown, number: int, seconds: float) -> list[str]:
        if self.asked.repro is None or found.witness is None:
            return []
        if not isinstance(self.origin, Elsewhere):
            self.notes.append("no script: the target was given as an object; give MODULE:OBJECT for one")
            return []
        path = Path(self.asked.repro, f"refuted_{number}.py")
        trials = int(min(max(found.witness.first.trials, 200), max(50, seconds / self.release)))
        try:
            text = refutation.script(
                spec=self.origin.spec,
                call=str(self.source.hello["call"]),
                stream=str(self.source.hello.get("stream", "")),
                arguments=self.arguments,
                schema=self.schema,
                candidate=found.candidate,
                claim=self.claim,
                witness=found.witness,
                hello=self.source.hello,
                versions=self.source.versions(),
                trials=trials,
            )
            refutation.write_checked(
                text,
                python=self.origin.python or sys.executable,
                cwd=self.cwd,
                path=path,
                seconds=60 + 6 * trials * self.release,
            )
        except (RunError, refutation.Inexpressible) as error:
            self.notes.append(f"no script for {found.name}: {error}")
            return []
        return [str(path)]

    def _row(self, relation: Relation, race: Race, results: list[PairResult]) -> Row:
        said = datasets.said(relation, self.schema.unit)
        mine = [each for each in results if each.relation == said and each.domain == "in"]
        if self.asked.out_of_domain == "judge":
            mine = [each for each in results if each.relation == said]
        refuted = [each for each in mine if each.verdict == "REFUTED"]
        reached = len([each for each in mine if each.verdict != "INCONCLUSIVE"])
        planned_pairs = len(self.inside[relation])
        verdict = "REFUTED" if refuted else "NOT_REFUTED" if 2 * reached > planned_pairs else "INCONCLUSIVE"
        if not refuted and len(race.contenders) < planned_pairs:
            self.notes.append(
                f"{said}: time for {len(race.contenders)} of {planned_pairs} pairs only; give --minutes, or more"
            )
        if not refuted and any("not independent" in each.note for each in mine):
            verdict = "INCONCLUSIVE"
        largest = max((each.eps_lower for each in refuted), default=0.0)
        if self._refuted_by_code(relation):
            largest = max(largest, self.code[said].lower or 0.0)
            return Row(said, "REFUTED", len(mine), len(refuted), race.trials, largest, math.inf)
        still = {each.candidate.name for each in race.contenders if each.still}
        caught = min(
            (each.detectable for each in mine if each.verdict == "NOT_REFUTED" and each.name not in still),
            default=math.inf,
        )
        if verdict == "NOT_REFUTED" and all(each.name in still for each in mine):
            self.notes.append(
                f"{said}: every trial returned the same output, on both datasets of every pair: check that the "
                "function returns its result, or give --data a wider range or more rows"
            )
            return Row(said, "INCONCLUSIVE", len(mine), 0, race.trials, 0.0, math.inf)
        if verdict == "NOT_REFUTED" and math.isinf(caught):
            verdict = "INCONCLUSIVE"
            self.notes.append(
                f"{said}: so few trials could not have caught anything; give more --trials, or "
                "--minutes where the time was over"
            )
        return Row(said, verdict, len(mine), len(refuted), race.trials, largest, caught)

    def _verdict(self, rows: tuple[Row, ...]) -> tuple[str, str]:
        """The verdict and the relation that it is about. A claim that names none stands if it stands under one."""
        verdicts = [row.verdict for row in rows]
        names = ", ".join(row.relation for row in rows)
        if self.asked.relation is not None or len(rows) == 1:
            worst = next(each for each in ("REFUTED", "INCONCLUSIVE", "NOT_REFUTED") if each in verdicts)
            return worst, names
        if all(each == "REFUTED" for each in verdicts):
            return "REFUTED", names
        standing = [row.relation for row in rows if row.verdict != "REFUTED"]
        if "REFUTED" in verdicts:
            fallen = ", ".join(row.relation for row in rows if row.verdict == "REFUTED")
            self.notes.append(
                f"the claim names no relation; it is REFUTED under {fallen}, and can stand under "
                f"{', '.join(standing)} only; --relation judges one"
            )
        return ("INCONCLUSIVE" if "INCONCLUSIVE" in verdicts else "NOT_REFUTED"), ", ".join(standing)

    def _remarks(self, races: dict[Relation, Race], apart: Race) -> list[str]:
        found = [] if self.schema.unit is None else [_units_in_words(self.schema, list(races))]
        if levels := pairs.covered_levels(self.schema):
            found.append(
                "crossed in the pairs: " + "; ".join(f"{name} {', '.join(each)}" for name, each in levels.items())
            )
        every = [each for race in (*races.values(), apart) for each in race.contenders]
        if any(each.changes for each in every):
            found.append("changes its input: every release got a fresh copy; the verdict is its copying twin's")
        if self.source.hello["call"] in ("data", "fit") and self._unseeded():
            found.append(UNSEEDED)
        types = sorted({name for each in every for name in each.notes})
        if types:
            found.append(f"encoded by repr: {', '.join(types)}; pass --encode MODULE:FUNCTION to say what is in them")
        if self.source.left_out:
            found.append("not looked at: " + self.source.not_shown)
        if apart.refuted:
            found.append(
                f"outside of the stated domain: {len(apart.refuted)} of {len(apart.contenders)} pairs tell "
                "the datasets apart; this does not count against the claim"
            )
        if not any(race.refuted for race in races.values()):
            found.append(
                "NOT REFUTED is no proof: see what would have been caught. --trials N makes more a pair; "
                "dpverify certify TARGET --pairs FILE.py:pairs takes pairs of your own"
            )
        if not self.schema.local and (rows := self.schema.rows[1]) > pairs.MOST:
            found.append(
                f"the largest datasets that were tried have {max(pairs.MOST, self.schema.rows[0])} rows; the "
                f"schema allows {rows:,}"
            )
        return found


def _units_in_words(schema: Schema, relations: list[Relation]) -> str:
    assert schema.unit is not None
    column = schema.columns[schema.unit]
    found = f"neighbours differ in all rows of one user ({column.name}), at most {column.most}"
    tried = max(pairs.most_rows(schema, each) for each in relations)
    return found if tried == column.most else f"{found}; in the rows that the schema allows, a user had at most {tried}"


def _time(seconds: float) -> str:
    if seconds < 1:
        return f"{1000 * seconds:.2g} ms" if seconds < 0.1 else f"{1000 * seconds:.0f} ms"
    return f"{seconds:.2g} s" if seconds < 90 else f"{seconds / 60:.1f} min"


# ----------------------------------------------------------------------------------------------------------------------
# Trials on many generated pairs of a function that somebody else wrote.
#
# schema -> pairs -> a first pass of sequential audits -> rounds for the best -> witness -> a script without dpverify.


def try_out(
    target: Any,
    *,
    claim: Claim,
    schema: Schema | dict[str, Any] | str | Path,
    call: str = "auto",
    arguments: dict[str, Any] | None = None,
    encode: Any = None,
    python: str = "",
    cwd: str | None = None,
    timeout_s: float = 10.0,
    memory: int | None = None,
    say: Say | None = None,
    code: Code | None = None,
    inside: Pairs | None = None,
    **options: Any,
) -> TryRecord:
    """Tries a claim on pairs made from a schema.

    Raises UsageError for a request that is not allowed, TargetError for a target that fails; neither is a verdict.

    Parameters
    ----------
    target
        A function, a class with `fit` or an object with `release`, called in this process; or a text MODULE:OBJECT,
        which runs in an interpreter of its own (`python`, default this one), watched.
    claim, schema
        What is promised, and what data look like: a TOML file, its content, or a `Schema`.
    call, arguments, encode
        How it is called (see `worker.calling`), with which arguments, and a function output -> fields.
    timeout_s, memory
        Of a target in an interpreter of its own: seconds for a release, MiB beyond what it has once it is loaded.
    code
        What the tape says under each relation (`traced_grid`); a claim that it refutes is refuted.
    inside
        The pairs (`searched_pairs`); None: they are made here.
    options
        Fields of `Options`.
    """
    asked = Options(**options)
    found = as_schema(schema)
    source = source_of(
        target,
        call=call,
        arguments=arguments,
        encode=encode,
        python=python,
        cwd=cwd,
        timeout_s=timeout_s,
        memory=memory,
    )
    try:
        trial = Trial(source, claim, found, asked, arguments or {}, say or (lambda line: None), cwd, code, inside)
        return trial.run()
    finally:
        source.close()


TRACED_PAIRS, LEAST_PAIRS = 40, 4
ENOUGH_PAIRS = 12  # after which no more pairs are traced; where one of them refutes the claim


def traced_grid(
    found: Any,
    *,
    claim: Claim,
    schema: Schema,
    call: str,
    arguments: dict[str, Any],
    name: str,
    seed: int,
    trials: int,
    inside: Pairs,
    known_law: bool = False,
    once: float = 0.0,
) -> Code:
    """What the tape says of the first pairs, by relation: so many, fewer where a release takes long (`once` seconds).

    `known_law`: in every run the output is data plus one draw, so that its law refutes (`refute_by_law`).
    """
    claim = fit_claim(claim, schema)
    target = on_wire(found, call=call, arguments=arguments, name=name)
    code: Code = {}
    most = max(LEAST_PAIRS, TRACED_PAIRS >> halved_for(RUNS_OF_TRACE * TRACED_PAIRS, once, LONGEST_TRACES))
    for each, grid in inside.items():
        blocks: list[Taped] = []
        for number, candidate in enumerate(grid[:most], 1):
            wires = datasets.wire(schema, candidate.first), datasets.wire(schema, candidate.second)
            pair = Pair(*wires, relation=each, name=candidate.name, mixed=True)
            taped = taped_pair(target, claim=replace(claim, relation=each), pair=pair, seed=seed, trials=trials)
            blocks.append(refute_by_law(taped, claim) if known_law else taped)
            if number >= ENOUGH_PAIRS and any(block.refutes for block in blocks):
                break
        if blocks:
            code[datasets.said(each, schema.unit)] = together(blocks)
    return code


def planned(
    target: Any,
    *,
    claim: Claim,
    schema: Any,
    say: Say,
    python: str = "",
    cwd: str | None = None,
    timeout_s: float = 10.0,
    call: str = "auto",
    arguments: dict[str, Any] | None = None,
    encode: Any = None,
    memory: int | None = None,
    **options: Any,
) -> None:
    """Says which pairs there would be, and how long they would take."""
    source = source_of(
        target,
        call=call,
        arguments=arguments,
        encode=encode,
        python=python,
        cwd=cwd,
        timeout_s=timeout_s,
        memory=memory,
    )
    try:
        trial = Trial(source, claim, as_schema(schema), Options(**options), arguments or {}, say, cwd)
        for group in (*trial.inside.values(), trial.outside):
            for each in group:
                say(f"{each.said}: {each.name}" + ("" if each.domain == "in" else " (outside of the domain)"))
        trial.forecast()
    finally:
        source.close()
