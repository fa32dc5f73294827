"""A user's own agent that learns in batches: account, exact log ratio, planted bugs, regret."""

import numpy as np

from algorithms.sdp_pe.batches import ShuffledBatches
from algorithms.study import Study
from dpverify import audit, View
from dpverify.base.seeding import Stage, stream
from mechanisms.datasets.visit_counts import CountLayout

SMALL = CountLayout(H=1, S=2, A=2, rewards=True)
EPS, DELTA = 1.0, 1e-2


class Greedy:
    """The action that paid most on average."""

    def plan(self, counts):
        return (counts.rewards / np.maximum(counts.visits, 1)).argmax(axis=-1)


class Blind:
    def plan(self, counts):
        return np.zeros(counts.visits.shape[:-1], dtype=int)


def batches(layout=SMALL, **changes):
    return ShuffledBatches(**{"layout": layout, "eps": EPS, "beta": DELTA, "budget": "calibrated", **changes})


def study(agent=None, layout=SMALL, users=24, deployments=3, **changes):
    made = {"agent": agent or Greedy(), "privatizer": batches(layout), "eps": EPS, "delta": DELTA}
    return Study(users=users, deployments=deployments, **{**made, **changes})


def test_the_account_is_that_of_one_batch_and_half_the_noise_is_refuted_by_it_and_by_trials():
    mine = study()
    assert mine.claim.view is View.SHUFFLE
    assert mine.upper <= EPS
    half = mine.with_noise(0.5)
    assert half.upper > 2 * EPS
    record = audit(mine.transcript, claim=mine.claim, pair=mine.pair(), trials=20_000, seed=1)
    assert (record.verdict, record.accounted) == ("NOT_REFUTED", True)
    assert record.eps_lower > 0.4 * EPS
    record = audit(half.transcript, claim=half.claim, pair=half.pair(), trials=20_000, seed=1)
    assert (record.verdict, record.accounted) == ("REFUTED", False)
    assert record.eps_lower <= half.upper


def test_a_user_of_the_last_batch_is_in_no_release():
    mine = study()
    first, last = (
        audit(mine.transcript, claim=mine.claim, pair=mine.pair(user), trials=2_000, seed=1) for user in (0, 23)
    )
    assert first.eps_lower > 0 == last.eps_lower


def test_the_log_ratio_is_the_release_s_own():
    """E[exp(-log ratio)] = 1 under the first dataset: what an exact ratio of two laws of equal support satisfies."""
    mine = study()
    pair = mine.pair()
    outputs = mine.transcript.release(pair.first, rng=stream(3, Stage.EXPERIMENT), size=20_000)
    inverse = np.exp(-mine.transcript.log_ratio(outputs, pair))
    assert abs(inverse.mean() - 1) <= 5 * inverse.std() / np.sqrt(len(inverse))


def test_a_plan_is_made_from_what_was_released_before_and_nothing_else():
    asked = []

    class Asked(Blind):
        def plan(self, counts):
            asked.append(SMALL.pack(counts)[0].copy())
            return super().plan(counts)

    mine = study(Asked(), users=23)  # 8, 8 and 7 of them
    data = mine.pair().first
    rows = mine.transcript.release(data, rng=stream(1, Stage.EXPERIMENT), size=1)
    assert np.array_equal(asked[::2], asked[1::2])  # each plan is asked twice
    assert rows.shape == (1, 2, SMALL.cells)  # nobody reads the last batch's
    assert np.array_equal(np.stack(asked[::2]), np.cumsum([np.zeros(SMALL.cells), *rows[0]], axis=0))
