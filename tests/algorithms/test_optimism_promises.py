"""Where optimism can fail, and what a plan may be asked about."""

import pytest

from algorithms.bernstein_vi.learner import BernsteinVI
from algorithms.core.optimism import optimism_of_plan
from audits import audit_optimism as audit
from dpverify.base.seeding import Stage, stream
from dpverify.errors import ParameterError
from dpverify.promises import check_promise, INCONCLUSIVE


def test_a_cell_whose_optimal_value_is_0_is_not_active():
    """`sure` pays 1 in one of the last step's two states: Q is at its cap there, and Q* = 0 in the other."""
    promise = audit.bernstein_vi("sure", error=0.0, environment=audit.sure)
    found = promise.draw(rng=stream(5, Stage.EXPERIMENT), size=4)
    assert (found.active == 4 / 8).all()


def test_without_rewards_nothing_can_fail():
    learner = BernsteinVI(layout=audit.layout, episodes=1_000, error=0.0)
    promise = optimism_of_plan(audit.fair("nothing", 0.0), learner, 1_000, noise=0.0, name="n", failure_probability=0.5)
    assert check_promise(promise, seed=1, trials=64).verdict == INCONCLUSIVE


@pytest.mark.parametrize("visits", [0, 1_001])
def test_a_cell_has_at_most_as_many_visits_as_there_are_episodes(visits):
    learner = BernsteinVI(layout=audit.layout, episodes=1_000, error=0.0)
    with pytest.raises(ParameterError, match="visits"):
        optimism_of_plan(audit.small, learner, visits, noise=0.0, name="n", failure_probability=0.5)
