"""Agents with coins or a memory that they declare: the evidence that functions of the counts have, and planted bugs."""

import copy

import numpy as np
import pytest

from algorithms.bernstein_vi.learner import central, local
from algorithms.core.checked_agent import CheckedAgent
from algorithms.core.environments import river_swim
from algorithms.nash_vi.markov_games import random_game
from algorithms.offline.learners import OfflineStudy
from algorithms.sdp_pe.batches import ShuffledBatches
from algorithms.study import Study
from dpverify import audit
from dpverify.errors import ParameterError
from dpverify.tape.tracer import trace
from mechanisms.datasets.visit_counts import CountLayout, PrivateCounts
from mechanisms.privatizers.central import Central
from mechanisms.privatizers.offline_tabular import OfflineTabularGaussian

LAYOUT = CountLayout(H=6, S=4, A=2, rewards=True)


class Greedy:
    """Half of the time the action that was played more, half of the time any."""

    def plan(self, counts, *, rng):
        more = (counts.visits[..., 1] > counts.visits[..., 0]).astype(int)
        return np.where(rng.random(more.shape) < 0.5, more, rng.integers(2, size=more.shape))


class Lazy:
    """Plans anew for every second user only."""

    def __init__(self):
        self.seen = []

    def plan(self, counts, *, state):
        self.seen.append(state is None)
        number, policy = state or (0, None)
        if number % 2 == 0:
            policy = (counts.visits[..., 1] > counts.visits[..., 0]).astype(int)
        return policy, (number + 1, policy)


def study(agent, users=4, **more):
    return Study(agent=agent, privatizer=central(LAYOUT, users, 1.0), users=users, eps=1.0, **more)


def conforms_and_half_the_noise_does_not(agent, *, transcripts, seed):
    few = study(agent)
    options = {"pair": few.pair(), "ledger": few.ledger, "claim": few.claim, "transcripts": transcripts, "seed": seed}
    assert trace(few.transcript, **options).status == "CONFORMS"
    assert trace(few.with_noise(0.5).transcript, **options).status != "CONFORMS"


@pytest.mark.parametrize("agent", [Greedy(), Lazy()])
def test_the_code_conforms_and_half_the_noise_does_not(agent):
    conforms_and_half_the_noise_does_not(agent, transcripts=4, seed=1)


def test_a_plan_that_mixes_runs_is_refused():
    class Mean:
        def plan(self, counts):
            return np.broadcast_to(np.argmax(counts.visits.mean(axis=0), axis=-1), counts.visits.shape[:-1])

    class Own:
        def plan(self, counts):
            return np.argmax(counts.visits, axis=-1)

    class CoinsUnused(Mean):
        def plan(self, counts, *, rng):
            return super().plan(counts)

    class CoinsOnTop(Mean):
        def plan(self, counts, *, rng):
            return np.where(rng.normal(size=counts.visits.shape[:-1]) > 1, 0, super().plan(counts))

    class InTheState(Own):
        def plan(self, counts, *, state):
            policy = super().plan(counts) if state is None else np.broadcast_to(state, counts.visits.shape[:-1])
            return policy, np.argmax(counts.visits.mean(axis=0), axis=-1)

    class Kept(Own):
        def plan(self, counts, *, state):
            policy = super().plan(counts)
            return policy if state is None else state, policy

    class ByRejection(Own):
        """Each run's gamma laws take as many coins as its counts ask for: the next run's begin elsewhere."""

        def plan(self, counts, *, rng):
            return np.argmax([rng.gamma(np.maximum(each, 0.1)) for each in counts.visits], axis=-1)

    class MeanButTheLast(Own):
        """One run is left as it should be, so that nobody looks."""

        def plan(self, counts):
            policy = np.broadcast_to(np.argmax(counts.visits.mean(axis=0), axis=-1), counts.visits.shape[:-1]).copy()
            policy[-1] = np.argmax(counts.visits[-1], axis=-1)
            return policy

    for mixing in (Mean, MeanButTheLast, CoinsUnused, CoinsOnTop, InTheState):
        with pytest.raises(ParameterError, match="whatever counts the other runs have"):
            study(mixing()).regret(river_swim(), runs=3, seed=2)
    for honest in (Own, Kept, ByRejection):
        study(honest()).regret(river_swim(), runs=3, seed=2)


def test_a_memory_of_the_largest_counts_is_refused():
    """Asked twice it answers alike: it is a copy without the memory that plans otherwise."""

    class Largest:
        most = 0.0

        def plan(self, counts):
            self.most = np.maximum(self.most, counts.rewards)
            return self.most.argmax(axis=-1)

    with pytest.raises(ParameterError, match="the same policies for the same counts, rng and state"):
        study(Largest()).regret(river_swim(), runs=3, seed=2)


def test_coins_drawn_by_rejection_are_never_held_against_an_agent():
    class ByRejection:
        def plan(self, counts, *, rng):
            return np.argmax([rng.gamma(np.maximum(each, 0.1)) for each in counts.visits], axis=-1)

    layout = CountLayout(H=1, S=2, A=2)
    agent, rng = CheckedAgent(ByRejection(), layout), np.random.default_rng(1)
    for trial in range(300):  # few draws, so that as many coins are often drawn by luck
        agent._plans = 0
        visits = rng.normal(2, 1, size=(2, 1, 2, 2))
        agent.plan(PrivateCounts(visits, np.zeros((*visits.shape, 2))), rng=np.random.default_rng(trial))


def test_coins_as_many_as_a_run_has_visits_are_never_held_against_an_agent():
    """One, two and three of them: together as many as three times two, and yet the second run's begin elsewhere."""

    class AsManyAsVisits:
        def plan(self, counts, *, rng):
            drawn = [rng.random(int(each.sum()) + 2)[-2:] for each in counts.visits]
            return (np.array(drawn)[:, None, :] < 0.5).astype(int)

    visits = np.zeros((3, 1, 2, 2))
    visits[:, 0, 0, 0] = 1, 2, 3
    checked = CheckedAgent(AsManyAsVisits(), CountLayout(H=1, S=2, A=2))
    for trial in range(100):
        checked._plans = trial % 8
        order = np.random.default_rng(trial).permutation(3)
        checked.plan(PrivateCounts(visits[order], np.zeros((*visits.shape, 2))), rng=np.random.default_rng(trial))


@pytest.mark.parametrize("agent", [Greedy(), Lazy()])
def test_one_run_of_all_users_shows_all_that_is_spent(agent):
    whole = study(agent, users=60)
    assert whole.witness(river_swim(), seed=1).lower == pytest.approx(1.0, rel=1e-6)
    assert whole.with_noise(0.5).witness(river_swim(), seed=1).lower == pytest.approx(2.0, rel=1e-6)


def test_what_coins_drew_is_shown_and_the_log_ratio_is_that_of_the_counts():
    few, rng = study(Greedy()), np.random.default_rng(1)
    pair = few.pair()
    outputs = few.transcript.release(pair.first, rng=rng, size=200)
    policies = outputs[:, 3 * LAYOUT.cells :]
    assert policies.shape == (200, 4 * 24)
    assert set(np.unique(policies)) == {0.0, 1.0}
    first = policies[:, :24]  # planned from no counts: coins alone, and as many are on each side
    assert 0.2 < first.mean() < 0.3  # 1/4; five standard deviations are .031
    ratio = few.transcript.log_ratio(outputs, pair)
    assert np.isfinite(ratio).all()
    assert ratio.max() <= 1.0 + 1e-9
    record = audit(few.with_noise(0.05).transcript, claim=few.claim, pair=pair, trials=2_000, seed=1)
    assert record.verdict == "REFUTED"


def test_a_memory_begins_anew_with_every_run():
    agent = Lazy()
    few = study(agent)
    for _ in range(2):
        few.transcript.release(few.pair().first, rng=np.random.default_rng(1), size=3)
    begun = [number for number, new in enumerate(agent.seen) if new]
    assert len(begun) == 2  # two runs: what looks at plans is a copy
    runs = [few.regret(river_swim(), runs=2, seed=3) for _ in range(2)]
    assert np.array_equal(*runs)


def test_a_batch_is_told_one_drawn_policy():
    batches = ShuffledBatches(layout=LAYOUT, eps=1.0, beta=1e-2, budget="calibrated")
    staged = Study(agent=Greedy(), privatizer=batches, users=6, deployments=3, eps=1.0, delta=1e-2)
    pair = staged.pair()
    outputs = staged.transcript.release(pair.first, rng=np.random.default_rng(1), size=20)
    assert outputs.shape == (20, 2 * LAYOUT.cells + 3 * 24)
    assert np.isfinite(staged.transcript.log_ratio(outputs, pair)).all()
    told = staged.actions(hidden=1).release(pair.first, rng=np.random.default_rng(1), size=20)
    assert told.shape == (20, 3 * 24 + 24)  # and the final policy


class OwnCoins(Greedy):
    """Declares coins, and has others of its own."""

    def __init__(self):
        self.own = np.random.default_rng(1)

    def plan(self, counts, *, rng):
        return super().plan(counts, rng=self.own)


class Forgotten(Lazy):
    """Declares a memory, and keeps another one."""

    def plan(self, counts, *, state):
        self.seen.append(1)
        return np.full(counts.visits.shape[:-1], len(self.seen) % 2), state


class Stateless:
    """Takes a state and gives none back."""

    def plan(self, counts, *, state):
        return np.zeros(counts.visits.shape[:-1], dtype=int)


@pytest.mark.parametrize("agent", [OwnCoins(), Forgotten()])
def test_what_is_not_declared_is_refused(agent):
    with pytest.raises(ParameterError, match="the same policies for the same counts, rng and state"):
        study(agent).regret(river_swim(), runs=2, seed=1)


def test_where_coins_have_no_place_they_are_refused():
    game = random_game(0, 2, 2, 2, 2)
    both = Study(agent=Greedy(), privatizer=Central.corrected(1.0, game.layout, 4, releases=3), users=4, eps=1.0)
    with pytest.raises(ParameterError, match="without rng"):
        both.regret(game, runs=2, seed=1)
    with pytest.raises(ParameterError, match="without rng and state"):
        OfflineStudy(agent=Greedy(), privatizer=OfflineTabularGaussian(layout=CountLayout(H=2, S=2, A=2), rho=0.5))
    with pytest.raises(ParameterError, match=r"\(policies, state\)"):
        study(Stateless()).regret(river_swim(), runs=2, seed=1)


class Clipping:
    """Writes into the counts that it is handed."""

    def plan(self, counts):
        np.maximum(counts.visits, 50.0, out=counts.visits)
        return np.zeros((len(counts.visits), 6, 4), int)


class Plain:
    def plan(self, counts):
        return np.zeros((len(counts.visits), 6, 4), int)


def test_an_agent_that_writes_into_counts_changes_no_release_and_no_log_ratio():
    found = []
    for agent in (Clipping(), Plain()):
        few = Study(agent=agent, privatizer=local(LAYOUT, 4, 1.0), users=4, eps=1.0)
        outputs = few.transcript.release(few.pair().first, rng=np.random.default_rng(1), size=20)
        found += [(outputs, few.transcript.log_ratio(outputs.copy(), few.pair()))]
    assert all(np.array_equal(one, other) for one, other in zip(*found, strict=True))


class Posterior:
    """What was never seen looks alike: values tie but for rounding, and the last bit of a coin decides."""

    def plan(self, counts, *, rng):
        visits = np.maximum(counts.visits, 0)
        law = rng.standard_gamma(np.maximum(counts.transitions, 0) + 1.0)
        law /= law.sum(axis=-1, keepdims=True)
        rewards = np.minimum((np.maximum(counts.rewards, 0) + 0.5) / (visits + 1), 1)
        policy, value = np.zeros(visits.shape[:-1], int), np.zeros((len(visits), LAYOUT.S))
        for h in reversed(range(LAYOUT.H)):
            q = rewards[:, h] + np.einsum("rsat,rt->rsa", law[:, h], value)
            policy[:, h], value = q.argmax(axis=-1), q.max(axis=-1)
        return policy


def test_posterior_sampling_conforms_where_values_tie():
    conforms_and_half_the_noise_does_not(Posterior(), transcripts=8, seed=3)


def test_what_an_agent_writes_into_its_counts_does_not_look_like_a_memory():
    class Halves:
        def plan(self, counts):
            counts.visits[...] /= 2
            return np.argmax(counts.visits > 10.0, axis=-1)

    study(Halves()).regret(river_swim(), runs=3, seed=2)


class Peeks:
    """Draws the noise of the first release itself, from a copy of its generator or of its parent's."""

    def __init__(self, copies, source):
        self.copies, self.source, self.found = copies, source, []

    def plan(self, counts, *, rng, state):
        if state is None:
            return np.zeros(counts.visits.shape[:-1], dtype=int), self.copies(rng)
        noise = self.source.stream(1, rng=state).feed(np.zeros((1, LAYOUT.cells)))
        exact = LAYOUT.pack(counts) - noise
        self.found.append(float(np.abs(np.rint(exact) - exact).max()))
        raise ValueError("has seen enough")


def parent(rng):
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(rng.bit_generator.seed_seq.entropy)))


@pytest.mark.parametrize("copies", [copy.deepcopy, parent])
def test_no_agent_draws_the_noise_again(copies):
    """Whoever had the generator of the noise would be left with whole numbers, to 1e-9."""
    source = central(LAYOUT, 4, 1.0)
    agent = Peeks(copies, source)
    few = Study(agent=agent, privatizer=source, users=4, eps=1.0)
    with pytest.raises(ValueError, match="enough"):
        few.transcript.release(few.pair().first, rng=np.random.default_rng(5), size=1)
    assert agent.found[0] > 1e-3


class Thompson:
    def plan(self, counts, *, rng):
        visits = np.maximum(counts.visits, 0)
        won = np.clip(counts.rewards, 0, visits)
        return rng.beta(1 + won, 1 + visits - won).argmax(axis=-1)


class Chosen:
    def plan(self, counts, *, rng):
        weights = np.exp(np.clip(counts.rewards, -3, 3))
        weights /= weights.sum(axis=-1, keepdims=True)
        found = np.zeros(counts.visits.shape[:-1], int)
        for cell in np.ndindex(found.shape):
            found[cell] = rng.choice(LAYOUT.A, p=weights[cell])
        return found


class Added:
    """Adds its coins to the counts before it looks at them."""

    def plan(self, counts, *, rng, state):
        number = 0 if state is None else state
        return (counts.visits + (number % 3) * rng.normal(size=counts.visits.shape)).argmax(axis=-1), number + 1


class Permuted:
    def plan(self, counts, *, rng):
        order = rng.permutation(LAYOUT.A)
        return order[counts.rewards[..., order].argmax(axis=-1)]


@pytest.mark.parametrize("agent", [Thompson(), Chosen(), Added(), Permuted()])
def test_coins_of_every_kind_conform(agent):
    conforms_and_half_the_noise_does_not(agent, transcripts=4, seed=3)
