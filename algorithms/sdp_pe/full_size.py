"""SDP-PE at full size: the exact loss law of the batch that a replaced user is in, and a tap on all batches.

A replaced user is in one batch, by the time of her arrival. She stays in state 0 in one world and in state 1 in the
other and is paid 1, so whatever the policy she is given, 3H counters of that batch have one more and 3H one less.
Given the released counts of the other batches and the deployed policies the shifts are known, so the privacy loss is
that of independent binomials (`shift_certificates`): a lower bound on eps at delta, rounded down, given their law.
The batch is the fine one in which most is lost. Trials and chance are those that the code draws with, as they pass the
tape, once it is seen that what it releases is exact counts + what it drew - trials * chance; they are matched with the
ledger's as well (`code`).

Tap: the noise of all batches as normal scores, and whole vectors of it, of which no two are alike. A run has too few
draws to see 1 % of the scale, so every batch is released `AGAIN` times more, by the same code from the same episodes,
with fresh noise, for the tap alone.
"""

import hashlib
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special, stats

from algorithms.core import freshness
from algorithms.core.channels import ChannelStep
from algorithms.core.environments import river_swim
from algorithms.core.noise_tap import combined, NoiseTap, NORMAL, TapReport, with_test
from algorithms.core.one_run import RunWitness
from algorithms.core.protocol import drive, Served
from algorithms.core.shift_certificates import binomial_eps
from algorithms.core.transcripts import RunTranscript
from algorithms.core.users import Episodes, play, Replaced, TapeUsers, Tree, TreeUsers
from algorithms.sdp_pe.batches import ShuffledBatches
from algorithms.sdp_pe.elimination import SDPPE, Staged
from algorithms.sdp_pe.policy_sets import FactoredSet
from dpverify.accounting.accountant import account
from dpverify.base.seeding import derive, Stage, stream
from dpverify.claims import ApproxDP, Relation, Unit, View
from dpverify.errors import RunError
from dpverify.tape.forced import Moved
from dpverify.tape.generator import streaming
from dpverify.tape.ledger_matching import conforms
from dpverify.tape.sources import Change
from mechanisms.datasets.visit_counts import CountLayout

Array = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

AGAIN = 60
SMALLEST = 1e-15  # normal scores of probabilities beyond it are those of it


@dataclass(frozen=True, kw_only=True)
class FullSizeBatches:
    """The row of SDP-PE."""

    name: str
    users: int
    claim: ApproxDP
    upper: float
    learner: SDPPE
    batches: ShuffledBatches
    stated: ShuffledBatches  # those of the ledger
    change: Change | None = None
    least: float = 0.98

    def witness(self, seed: int) -> RunWitness:
        """One run, and the loss law of its worst batch."""
        begin, size = time.process_time(), self.learner.layout
        environment = river_swim()
        model = environment.model
        everything = FactoredSet(model.horizon, model.actions, model.initial)
        agent = Staged(learner=self.learner, initial=tuple(model.initial), policies=everything)
        steps = [step for step in agent.steps() if step.releases]
        firsts = np.cumsum([0, *(step.users for step in steps)])
        whole = [
            (self._lower(step), int(first)) for step, first in zip(steps, firsts, strict=False) if step.part is None
        ]
        _, worst = max(whole, key=lambda each: each[0])
        trees = [Tree.steady((state,) * (size.H + 1), (1.0,) * size.H, size.A) for state in (0, 1)]
        users = Replaced(TapeUsers(environment, environment.tapes(seed, 1, self.users)).run(0), worst, trees[0])
        digest, taps = hashlib.sha256(), dict[int, NoiseTap]()
        drawn_twice = dict[int, list[tuple[Array, float]]]()  # whole vectors by length, and how likely one is
        drawn = [0]
        latest = np.zeros(0)  # of the run's own binomial draws
        again = streaming(self._noise(seed, 1), self.change)[0]
        lower, code, moved = 0.0, "", 0

        def count(family: str, z: Array, start: int) -> Array:
            nonlocal latest
            drawn[0] += z.size if family == "binomial" else 0
            latest = z if self.change is None else self.change(family, z, start)
            return latest

        def look(served: Served) -> None:
            nonlocal lower, code, moved
            if served.counts is None:
                return
            step, layout = served.step, served.step.layout
            digest.update(np.ascontiguousarray(served.counts).data)
            part, exact = step.seen(served.episodes), step.exact(served.episodes)
            if served.first == worst:
                shift = self._shift(served, trees)
                moved = int(np.count_nonzero(shift))
                lower, code = self._of_code(served.counts - exact, latest, tape.parameters, shift, step)
            tap = taps.setdefault(layout.cells, NoiseTap(layout.cells, law=NORMAL))
            arrays: list[Any] = [np.broadcast_to(each, (AGAIN, *each.shape)) for each in part]
            wide = Episodes(*arrays)
            scores = self._noise(seed, 2 + served.first)
            for released in (served.counts[None], self.batches.release(wide, layout, rng=again)):
                for row in self._scores(released - exact, layout, step.users, scores):
                    tap.add(row)
                drawn_twice.setdefault(layout.cells, []).append(self._whole(released - exact, layout, step.users))

        rng, tape = streaming(self._noise(seed, 0), count)
        drive(agent, self.batches, users, lead=(), rng=rng, observe=look)
        if tape.notes:
            raise RunError(f"draws left the tape: {tape.notes[0]}")
        twice = [
            freshness.vectors(np.concatenate([rows for rows, _ in each]), max(most for _, most in each))
            for each in drawn_twice.values()
        ]
        report = self._report(taps, twice, drawn[0], sum(step.layout.cells for step in steps))
        used = time.process_time() - begin
        unit = f"eps at delta {self.claim.delta:g}"
        told = digest.hexdigest()
        return RunWitness(lower, unit, "shift certificate", moved, 1, drawn[0], used, told, report, code, read="code")

    def _report(self, taps: dict[int, NoiseTap], twice: list[float], drawn: int, stated: int) -> TapReport:
        report = combined([each.report(drawn=drawn, stated=stated) for each in taps.values()])
        return with_test(report, "vectors", min(1.0, len(twice) * min(twice)))

    def _lower(self, step: ChannelStep) -> float:
        """Of a batch: a visit, a transition and, with all steps, a reward go up and down in each of its steps."""
        noise, layout = self.batches.noise(step.layout, step.users), step.layout
        assert noise is not None
        each_way = layout.H * (3 if layout.rewards else 2)
        return binomial_eps(noise.total(step.users), noise.probability, (each_way, each_way), self.claim.delta)

    def _of_code(
        self, noise: Array, drawn: Array, parameters: tuple[Any, ...], shift: Array, step: ChannelStep
    ) -> tuple[float, str]:
        """The loss of a batch with the trials and the chance that its code drew with, and whether the ledger has them.

        RunError where its noise is not what was drawn, centred.
        """
        trials, chance = parameters
        if drawn.size != noise.size or np.abs(noise.ravel() - (drawn.ravel() - trials * chance)).max() > 1e-6:
            raise RunError("the noise of the replaced user's batch is not the binomial that was drawn for it, centred")
        up, down = int((shift > 0).sum()), int((shift < 0).sum())
        cells = shift[shift != 0]
        one, law = np.ones(len(cells)), tuple(np.full(len(cells), each) for each in (trials, chance))
        row = Moved(0, "a batch", "binomial", "value", cells, one, one, law, law, np.zeros(len(cells)), np.sign(cells))
        found = conforms([(row,)], self.stated.ledger([(step.layout, step.users)]), Relation.REPLACE_ONE)
        return binomial_eps(int(trials), float(chance), (up, down), self.claim.delta), found.status

    def _shift(self, served: Served, trees: list[Tree]) -> Array:
        layout, hers, own = served.step.layout, served.policies[0], []
        for tree in trees:
            seen = play(TreeUsers((tree,)), np.arange(1), hers[None], actions=layout.A)
            own.append(served.step.exact(seen))
        shift = own[0] - own[1]
        each_way = layout.H * (3 if layout.rewards else 2)
        if (shift == 1).sum() != each_way or (shift == -1).sum() != each_way or (np.abs(shift) > 1).any():
            raise RunError("the replaced user's moves are not those that the certificate is about")
        return np.asarray(shift).ravel()

    def _scores(self, noise: Array, layout: CountLayout, users: int, rng: np.random.Generator) -> Array:
        """Normal scores of centred binomial noise; exact under the stated law."""
        stated = self.stated.noise(layout, users)
        assert stated is not None
        q = np.rint(noise + stated.mean(users))  # estimates are centred: the mean is public
        law = stats.binom(stated.total(users), stated.probability)
        below = law.cdf(q - 1) + rng.random(q.shape) * law.pmf(q)
        return np.asarray(special.ndtri(np.clip(below, SMALLEST, 1 - SMALLEST)))

    def _whole(self, noise: Array, layout: CountLayout, users: int) -> tuple[Array, float]:
        """Twice the distances from the mean, in integers, and the largest probability of a multiset of them."""
        stated = self.stated.noise(layout, users)
        assert stated is not None
        total, mean = stated.total(users), stated.mean(users)
        values = np.arange(total + 1)
        masses = stats.binom(total, stated.probability).pmf(values)
        by_distance = np.asarray(
            np.bincount(np.rint(2 * np.abs(values - mean)).astype(np.int64), weights=masses), dtype=np.float64
        )
        return np.rint(2 * np.abs(noise)), freshness.multiset_bound(by_distance[by_distance > 0], layout.cells)

    def _noise(self, seed: int, part: int) -> np.random.Generator:
        return stream(derive(seed, self.name), Stage.EXPERIMENT, part)


def sdp_pe(users: int, drawn: ShuffledBatches, honest: ShuffledBatches, change: Change | None) -> FullSizeBatches:
    """The row, with the constants of the learning curves; `honest` are the batches that the ledger is about."""
    learner = SDPPE(
        layout=honest.layout,
        episodes=users,
        threshold_scale=0.003,
        privacy_scale=3e-7,
        infrequent_scale=5e-4,
        error_scale=0.03,
        tolerance=0.5,
    )
    agent = Staged(learner=learner, initial=tuple(river_swim().model.initial))
    stated = RunTranscript(agent=agent, privatizer=honest)
    return FullSizeBatches(
        name="sdp-pe",
        users=users,
        claim=ApproxDP(honest.eps, honest.beta, unit=Unit.TRAJECTORY, view=View.SHUFFLE),
        upper=account(stated, delta=honest.beta),
        learner=learner,
        batches=drawn,
        stated=honest,
        change=change,
    )
