"""Whole algorithms as audit targets: what they release, and that their likelihood ratios are exact."""

import math
from dataclasses import replace

import numpy as np
import pytest

from algorithms.core.counting import LocalCounts, own_counts, TreeCounts
from algorithms.core.online import Planned
from algorithms.core.transcripts import Actions, replaced, RunTranscript, users_of
from algorithms.core.users import play, Tree
from algorithms.pucb.learner import corrected_counters, PUCB
from algorithms.sdp_pe.batches import ShuffledBatches
from algorithms.sdp_pe.elimination import SDPPE, Staged
from audits.planted.online import UnfedRewards
from dpverify import Records
from dpverify.base.seeding import Stage, stream
from dpverify.errors import ParameterError
from mechanisms.counters.tree import BinaryCounter
from mechanisms.datasets.visit_counts import CountLayout
from mechanisms.toolbox.noise_laws import LaplaceNoiseLaw

LAYOUT = CountLayout(H=1, S=2, A=2, rewards=True)
LOW, HIGH = Tree.steady((0, 0), (1.0,), 2), Tree.steady((1, 1), (1.0,), 2)
FICKLE = Tree(((0,), (1, 0)), ((0.0, 1.0),), 2)  # what she answers depends on the action
PAIR = replaced([FICKLE, LOW, FICKLE, LOW], 0, HIGH)
SOURCES = {
    "tree": TreeCounts(LAYOUT, corrected_counters(LAYOUT, 3, 3.0), 0.1),
    "local": LocalCounts(LAYOUT, 0.7, 0.1),
}


def rng(*key):
    return stream(4, Stage.EXPERIMENT, *key)


def transcript(source, **options):
    learner = PUCB(layout=LAYOUT, episodes=4, error=0.1, bonus_scale=0.01)
    return RunTranscript(agent=Planned(learner=learner, layout=LAYOUT, **options), privatizer=source)


@pytest.mark.parametrize("name", SOURCES)
def test_the_ratio_is_the_density_ratio_of_the_noise(name):
    """Against noise recomputed by hand: released minus exact, node by node, message by message."""
    target = transcript(SOURCES[name])
    for world in (0, 1):
        seen = target.release(PAIR[world], rng=rng(world), size=200)
        assert seen.shape == (200, 3, LAYOUT.cells)
        exact = []
        for data in PAIR:
            counts, increments = np.zeros((200, LAYOUT.cells)), []
            for t in range(3):
                policy = target.agent.learner.plan(LAYOUT.unpack(counts))
                increments.append(own_counts(play(users_of(data), t, policy, actions=2), LAYOUT))
                counts = seen[:, t]
            exact.append(np.cumsum(increments, axis=0))
        assert (exact[0][-1] - exact[0][-1][0]).any()  # runs differ: the policies are adaptive
        noise = [seen - np.moveaxis(each, 0, 1) for each in exact]
        if name == "tree":  # nodes of 3 prefixes: 1, 1..2, 3
            blocks = [np.stack([n[:, 0], n[:, 1], n[:, 2] - n[:, 1]]) for n in noise]
            scale = SOURCES[name].counter.noise.scale
        else:
            blocks = [np.stack([n[:, 0], n[:, 1] - n[:, 0], n[:, 2] - n[:, 1]]) for n in noise]
            scale = 0.7
        by_hand = (np.abs(blocks[1]) - np.abs(blocks[0])).sum(axis=(0, 2)) / scale
        np.testing.assert_allclose(target.log_ratio(seen, PAIR), by_hand, atol=1e-9)
        largest = target.ledger.events[0].sensitivity.replace[0].count / scale
        assert np.abs(by_hand).max() <= largest + 1e-9


@pytest.mark.parametrize(
    "target",
    [
        transcript(SOURCES["tree"]),
        transcript(SOURCES["tree"], last_transition=False),
        transcript(TreeCounts(LAYOUT, corrected_counters(LAYOUT, 4, 3.0), 0.1), feed_last=True),
        transcript(SOURCES["local"]),
        RunTranscript(
            agent=Staged(
                learner=SDPPE(layout=LAYOUT, episodes=4, version="conference", threshold_scale=0.01),
                initial=(0.5, 0.5),
            ),
            privatizer=ShuffledBatches(layout=LAYOUT, eps=8.0, beta=0.1),
        ),
    ],
    ids=["tree", "without last transition", "all releases", "local", "batches"],
)
def test_the_ratio_changes_the_measure(target):
    """E_second[f] = E_first[f exp(-ratio)] for f = 1{ratio <= c}, 8,000 runs in each world, five sigmas."""
    n = 8_000
    ratios = [target.log_ratio(target.release(data, rng=rng(arm), size=n), PAIR) for arm, data in enumerate(PAIR)]
    assert np.ptp(ratios[0]) > 0.1
    for c in np.quantile(ratios[1], [0.2, 0.5, 0.8]):
        weighted = np.where(ratios[0] <= c, np.exp(-ratios[0]), 0.0)
        direct = ratios[1] <= c
        error = math.sqrt((weighted.var() + direct.var()) / n)
        assert abs(weighted.mean() - direct.mean()) < 5 * error


def test_actions_leave_out_those_of_the_hidden_user():
    agent = Planned(learner=PUCB(layout=LAYOUT, episodes=4, error=0.1), layout=LAYOUT)
    seen = Actions(agent=agent, privatizer=SOURCES["tree"], hidden=0).release(PAIR.first, rng=rng(), size=7)
    assert seen.shape == (7, 3 * 1 + 2)
    everybody = Actions(agent=agent, privatizer=SOURCES["tree"], hidden=9).release(PAIR.first, rng=rng(), size=7)
    np.testing.assert_array_equal(everybody[:, 1:], seen)


def test_unfed_reward_counters_are_trees_with_clocks_of_their_own():
    """Without noise they count rewards exactly, at every time; with noise they move where a cell was visited."""
    from mechanisms.toolbox.noise_laws import NoNoise

    silent = UnfedRewards(LAYOUT, BinaryCounter(releases=16, noise=NoNoise(), cells=(LAYOUT.cells,), touches=3), 0.0)
    loud = replace(silent, counter=replace(silent.counter, noise=LaplaceNoiseLaw(2.0)))
    quiet, noisy = silent.stream(50, rng=rng()), loud.stream(50, rng=rng())
    total, before = np.zeros((50, LAYOUT.cells)), np.zeros((50, LAYOUT.cells))
    for t in range(16):
        policy = rng(t).integers(0, 2, size=(50, 1, 2))
        own = own_counts(play(users_of(Records([FICKLE, HIGH])), t % 2, policy, actions=2), LAYOUT)
        total += own
        np.testing.assert_allclose(quiet.feed(own), total)
        after = noisy.feed(own)
        np.testing.assert_array_equal(after[:, -4:] != before[:, -4:], own[:, :4] > 0)
        before = after
    spread = (before - total)[:, -4:].std()
    assert 2 < spread < 12  # a few nodes of Lap(2), not one for each step


def test_what_is_no_dataset_of_trees_is_refused():
    with pytest.raises(ParameterError):
        transcript(SOURCES["tree"]).release(Records([1, 2]), rng=rng(), size=1)
    with pytest.raises(ParameterError):
        users_of([LOW])
