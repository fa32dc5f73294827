"""One target under instruments: its calls on both datasets of a pair, judged by the rules."""

import contextlib
import functools
import itertools
import math
import random
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpverify.base.seeding import Stage, stream
from dpverify.base.sites import INSTALLED, site_text
from dpverify.base.text import clean
from dpverify.claims.claim import ApproxDP, Claim, PureDP
from dpverify.claims.neighbours import Relation
from dpverify.errors import AccountingError, TargetError, UsageError
from dpverify.wild import datasets, pairs
from dpverify.wild.datasets import Candidate
from dpverify.wild.fields import is_among
from dpverify.wild.local import Here
from dpverify.wild.record import Found, PairResult
from dpverify.wild.replay_calls import recorded, rules
from dpverify.wild.replay_calls.own_noise import own_noise, OwnNoise
from dpverify.wild.replay_calls.recorded import Plan, RecordedRun, recording
from dpverify.wild.schema import Schema
from dpverify.wild.worker import calling, codec, serving

TRANSCRIPTS = 2  # of a pair
PASSES = 3  # runs on the second dataset until the alignment is settled
CONFIRMED = 3  # findings that get trials
SAMPLE = 200
Say = Callable[[str], None]


@dataclass(frozen=True)
class Replayed:
    """One pair: what its calls cost, and what they broke."""

    candidate: Candidate
    eps: float | None
    findings: tuple[Found, ...]
    costs: tuple[recorded.Cost, ...] = ()
    calls: int = 0

    @property
    def verdict(self) -> str:
        """KEPT, OVER or UNDECIDED."""
        if any(each.decided for each in self.findings):
            return "OVER"
        return "UNDECIDED" if self.findings else "KEPT"


class Player:
    """One target under instruments."""

    def __init__(
        self,
        caller: Any,
        claim: Claim,
        schema: Schema,
        seed: int,
        public: tuple[str, ...],
        out: tuple[str, ...],
        instrument: str,
        say: Say,
    ) -> None:
        self.caller, self.claim, self.schema, self.seed = caller, claim, schema, seed
        self.public, self.out, self.instrument, self.say = public, out, instrument, say
        self.seen: set[str] = set()  # mechanisms
        self.runs, self.raising = 0, list[str]()  # runs, and what some of them raised

    def candidates(self, relation: Relation, count: int, given: list[Candidate] | None) -> list[Candidate]:
        """Ordinary random pairs, or those that were given."""
        if given is not None:
            return [datasets.of_schema(self.schema, each) for each in given if each.relation is relation]
        rng = stream(self.seed, Stage.SEARCH, 3, list(Relation).index(relation))
        return list(itertools.islice(pairs.random_pairs(self.schema, relation, rng), count))

    def check(self, candidate: Candidate) -> None:
        """UsageError where data of this form cannot be handed over."""
        try:
            self.caller.check(*serving.given(codec.unpacked(datasets.wire(self.schema, candidate.first))))
        except calling.Refused as error:
            raise UsageError(clean(error)) from None

    def objection(self) -> None:
        """UsageError where the library that was asked for made no call, TargetError where most runs raise."""
        if 2 * len(self.raising) > self.runs:
            raise TargetError(f"{self.caller.name}: most releases raise {self.raising[0]}; no verdict")
        libraries = {name.partition(" ")[0] for name in self.seen}
        if self.instrument not in ("auto", "numpy") and self.instrument not in libraries:
            raise UsageError(
                f"--calls {self.instrument}: no call of it was seen; seen: " + (", ".join(sorted(libraries)) or "none")
            )

    def run(self, data: bytes, seed: int, played: RecordedRun | None = None, plan: Plan | None = None) -> RecordedRun:
        """One run on data of its own; its outcome in fields."""
        mine = serving.given(codec.unpacked(data))
        try:
            with recording(seed, played, plan) as recorder:
                outcome = self.caller.outcome(mine, seed)
        except calling.RunFailed as error:
            raise TargetError(f"{self.caller.name}: {clean(error)}") from error
        found = recorder.run()
        shown = {name: value for name, value in outcome.items() if not is_among(name, self.public)}
        found.outcome = {
            name: value for name, value in shown.items() if name[0] in "!~" or not self.out or is_among(name, self.out)
        }
        self.seen |= {step.call.name for step in found.steps if step.call is not None}
        self.runs += 1
        raised = [name[1:] for name in outcome if name[0] == "!" and name != "!message"]
        if raised:
            self.raising.append(f"{raised[0]} ({outcome.get('!message', '')})")
        return found

    def replayed(self, candidate: Candidate) -> Replayed:
        """The calls on one pair, over several transcripts."""
        data = [datasets.wire(self.schema, each) for each in (candidate.first, candidate.second)]
        findings: list[Found] = []
        costs: list[recorded.Cost] = []
        calls, unaccounted = 0, False
        own: OwnNoise | None = None  # of the target's own draws, where there are any
        for transcript in range(TRANSCRIPTS):
            seed = int(stream(self.seed, Stage.TAPE, 1, transcript).integers(2**31))
            with _counted() as drawn:
                first = self.run(data[0], seed)
            again = self.run(data[0], seed, first)
            matched, alone, second = self._settled(data[1], seed, first)
            calls = len([step for step in first.steps if step.call is not None])
            made, charged = self._judged(candidate, first, second, matched, alone)
            findings += made
            broken = {(each.call, each.where) for each in made if each.rule in ("declaration", "setting")}
            said = [each for each in charged.infinite if (each[0].key[0], each[0].where) in broken]
            costs.append(replace(charged, infinite=tuple(each for each in charged.infinite if each not in said)))
            unaccounted |= bool(said)
            undecided = any(not each.decided for each in made)
            foreign = self._foreign(first, again, candidate.name)
            findings += foreign
            if drawn and own is None:
                own, places = own_noise(self.caller, (data[0], data[1]), self.public, self.out, self.seed), drawn
            apart = rules.unprotected(first.outcome, second.outcome, candidate.name)
            seen = own is not None and bool(own.costs)  # then nothing differs but by noise that has its cost
            unseen = self._unseen(data[0], seed, first, drawn, own, candidate.name) if apart and not seen else []
            if not undecided and not foreign and not seen:
                findings += unseen or apart
        eps, over = self._total(costs, replace(self.claim, relation=candidate.relation), candidate.name)
        if unaccounted or any(each.unknown for each in costs):
            eps = math.inf if unaccounted else None  # what is not known costs no number
        findings += over
        if own is not None and own.costs:
            eps, spent = self._overspent(eps, own, places, replace(self.claim, relation=candidate.relation), candidate)
            findings += [] if over else spent
        elif not calls and not findings:
            text = "no noise call of a library was seen, and the outputs are equal"
            findings.append(Found("opaque", "", "", None, None, candidate.name, text, decided=False))
        unique = {(each.rule, each.call, each.where, each.text): each for each in findings}
        return Replayed(candidate, eps, tuple(unique.values()), tuple(costs), calls)

    def _settled(self, data: bytes, seed: int, first: RecordedRun) -> tuple[Any, Any, RecordedRun]:
        """The run on the other dataset, played back by position, then by the alignment that this gives."""
        plan: Plan = {}
        for _ in range(PASSES):
            second = self.run(data, seed, first, plan)
            matched, alone, after = rules.aligned(first, second)
            if all(number == at for (_, at), number in after.items()) or after == plan:
                break
            plan = after
        return matched, alone, second

    def _judged(
        self, candidate: Candidate, first: RecordedRun, second: RecordedRun, matched: Any, alone: Any
    ) -> tuple[list[Found], recorded.Cost]:
        name, relation = candidate.name, candidate.relation
        skipped = {step.key for step in alone}
        compared = [each for each in matched if each[0].key not in skipped]
        charged = recorded.cost(compared)
        found = rules.control_flow(alone, name) + rules.order(compared, first, second, name)
        found += rules.settings(compared, relation, name)
        found += rules.sensitivity(compared, relation, name) + rules.budget(compared, first, self.claim, name)
        found += rules.stability(first, second, name)
        found += rules.steps_told(first, name) + rules.opaque(first, second, charged.unknown, name)
        return found, charged

    def _total(self, costs: list[recorded.Cost], claim: Claim, name: str) -> tuple[float | None, list[Found]]:
        """Rule 5."""
        infinite = [each for one in costs for each in one.infinite]
        if infinite:
            step, text = infinite[0]
            return math.inf, [
                Found("loss", step.key[0], step.where, claim.eps, None, name, f"{step.key[0]} at {step.where}: {text}")
            ]
        try:
            found = recorded.total(costs, claim)
        except AccountingError as error:
            return None, [Found("opaque", "", "", None, None, name, f"the calls cannot be accounted: {error}", False)]
        if found.kept:
            return found.eps, []
        text = f"the calls' losses on this pair add up to eps {found.eps:.4g}, claimed {claim}"
        return found.eps, [Found("loss", "", "", claim.eps, found.eps, name, text)]

    def _overspent(
        self, eps: float | None, own: OwnNoise, places: list[str], claim: Claim, candidate: Candidate
    ) -> tuple[float | None, list[Found]]:
        """What all draws are worth together on this pair: more than the claim is no refutation, what is released may
        hide it.
        """
        where, name = ", ".join(dict.fromkeys(places)), candidate.name
        try:
            found = recorded.total(own.costs, claim)
        except AccountingError as error:
            text = f"the code's own noise ({where}) cannot be accounted: {error}"
            return None, [Found("opaque", "numpy", places[0], None, None, name, text, decided=False)]
        much = None if eps is None else max(eps, found.eps)
        if found.kept:
            return much, []
        pure = isinstance(claim, PureDP | ApproxDP) and claim.eps > 0
        times = f", and your budget is spent {found.eps / claim.eps:.3g} times" if pure else ""
        text = f"the code's own noise ({where}) is worth eps {found.eps:.4g} on this pair: claim {claim} is OPEN{times}"
        return much, [Found("overspending", "numpy", places[0], claim.eps, found.eps, name, text, decided=False)]

    def _unseen(
        self, data: bytes, seed: int, first: RecordedRun, drawn: list[str], own: OwnNoise | None, name: str
    ) -> list[Found]:
        """Outputs differ, and there is randomness of the target's own, equal on both datasets: UNDECIDED."""
        if drawn:
            places = ", ".join(dict.fromkeys(drawn))
            why = "its input is not seen" if own is None else own.why
            text = f"noise is drawn from numpy.random or random itself ({places}), and is not traced: {why}"
            return [Found("opaque", "numpy", drawn[0], None, None, name, text, decided=False)]
        seen = any(step.call is not None for step in first.steps)
        if seen or not rules.unprotected(first.outcome, self.run(data, seed + 1).outcome, name):
            return []
        text = "no noise call of a library was seen, and the output is random"
        return [Found("opaque", "", "", None, None, name, text, decided=False)]

    def _foreign(self, first: RecordedRun, again: RecordedRun, name: str) -> list[Found]:
        """Randomness that no instrument follows: UNDECIDED."""
        found = []
        if rules.unprotected(first.outcome, again.outcome, name):
            text = (
                "two runs on the same data with the same noise calls differ: it draws from a source that no "
                "instrument sees"
            )
            found.append(Found("opaque", "", "", None, None, name, text, decided=False))
        return found

    def confirmed(self, every: list[Replayed], trials: int) -> list[PairResult]:
        """Trials on the pair that costs most, for each distinct finding."""
        from dpverify.wild.pair_audit import Contender, FEWEST  # what replay alone needs is light: see `--python`

        worst: dict[tuple[str, str, str], Replayed] = {}
        for each in every:
            for finding in each.findings:
                key = finding.rule, finding.call, finding.where
                if finding.decided and (key not in worst or (each.eps or 0.0) > (worst[key].eps or 0.0)):
                    worst[key] = each
        chosen = list({each.candidate.name + str(each.candidate.relation): each for each in worst.values()}.values())
        found = []
        source = Here(
            self.caller.target, call=self.caller.call, arguments=self.caller.arguments, encode=self.caller.encode
        )
        for number, each in enumerate(chosen[:CONFIRMED]):
            pair = each.candidate
            data = datasets.wire(self.schema, pair.first), datasets.wire(self.schema, pair.second)
            claim = replace(self.claim, relation=pair.relation)
            contender = Contender(
                pair,
                data,
                source,
                claim,
                share=0.05 / min(CONFIRMED, len(chosen)),
                seed=self.seed,
                index=(1 << 26) + number,
                block=trials,
            )
            contender.sample(max(FEWEST, min(SAMPLE, trials // 4)))
            contender.run(trials)
            found.append(
                PairResult(
                    name=pair.name,
                    relation=pair.said,
                    domain="in",
                    verdict="REFUTED" if contender.refuted else "OVER",
                    eps_lower=contender.eps_lower,
                    trials=contender.process.trials,
                    detectable=contender.detectable,
                    eps_upper=each.eps,
                    first=tuple(datasets.shown_dataset(self.schema, pair.first, pair.second)),
                    second=tuple(datasets.shown_dataset(self.schema, pair.second, pair.first)),
                )
            )
        return found

    def notes(self, every: list[Replayed], verdict: str) -> list[str]:
        """What the verdict means, and what was seen."""
        seen = ", ".join(sorted(self.seen)) or "none"
        found = [f"calls seen: {seen}; at most {max((each.calls for each in every), default=0)} a run"]
        if verdict == "KEPT":
            found.append(
                "KEPT is about the pairs tried, given that each primitive keeps its own promise; it is no "
                "proof for all pairs"
            )
        if verdict == "OVER":
            found.append(
                "OVER: the library's argument fails on these pairs. It is no refutation of the claim until "
                "trials on a pair refute it (--confirm N): what is released may hide the excess"
            )
        return found


# ----------------------------------------------------------------------------------------------------------------------
# Whether a run draws random numbers by itself, from `numpy.random` or `random`: places in the user's code, no values.
#
# Such noise is drawn apart and added later, so that its input is not seen here: `own_noise` follows it. Draws inside of
# installed packages are theirs: the choices that a library leaves to chance.


OURS = __file__.rpartition("/wild/")[0] + "/"
MAKER = "default_rng"
SEEDING = (MAKER, "seed", "getstate", "setstate", "get_state", "set_state")


@contextlib.contextmanager
def _counted() -> Iterator[list[str]]:
    """Inside, the list fills with the places of draws: of both modules' functions and of new generators."""
    places: list[str] = []

    def noted(function: Any) -> Any:
        @functools.wraps(function)
        def draw(*args: Any, **kwargs: Any) -> Any:
            code, line = sys._getframe(1).f_code, sys._getframe(1).f_lineno
            if not code.co_filename.startswith((*INSTALLED, OURS, "<")):
                places.append(site_text((code.co_filename, line)))
            return function(*args, **kwargs)

        return draw

    plain = ("bit_generator", "spawn")
    names = [name for name in dir(np.random.Generator) if not name.startswith("_") and name not in plain]
    drawing = {name: noted(getattr(np.random.Generator, name)) for name in names}
    seen = type("Generator", (np.random.Generator,), drawing)
    original = getattr(np.random, MAKER)

    def made(seed: Any = None) -> np.random.Generator:
        if isinstance(seed, np.random.Generator):
            return seed
        found: np.random.Generator = seen(original(seed).bit_generator)
        return found

    kept = []
    for module in (np.random, random):
        for name in dir(module):
            function = getattr(module, name)
            if isinstance(getattr(function, "__self__", None), np.random.RandomState | random.Random):
                if name not in SEEDING and not name.startswith("_"):
                    kept.append((module, name, function, noted(function)))
    kept.append((np.random, MAKER, original, made))
    try:
        for module, name, _, new in kept:
            setattr(module, name, new)
        yield places
    finally:
        for module, name, old, _ in kept:
            setattr(module, name, old)
