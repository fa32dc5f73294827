"""RLSVI without a privatizer: what its exploration noise hides, beside a formula that was published for it.

RLSVI (randomized least-squares value iteration) plans by dynamic programming from exact counts, and adds normal noise
to every value. Nothing else is random, so this noise is all the privacy that there is. The view is the joint one: what
all other users are told should hardly depend on one user's data.

    RLSVI              our implementation, with the noise of Russo (2019, arXiv 1906.02870)
    formula            the eps that the abstract of arXiv 2606.01952 states for RLSVI "as is"
    transcript_laws    exact laws of all policies but the hidden user's, where there is one state
    LogRatio           what the others see as one number, for a certified lower bound where laws are known
    Agreement          what the others see as a number per state, for a certified lower bound at larger sizes

Of arXiv 2606.01952 only the abstract was read. Which noise its RLSVI adds, whether it limits values to what rewards can
add up to, which datasets are its neighbours, and what its other users see is not known here. So a number above the
formula says something of this implementation and nothing of the paper.
"""

import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

from algorithms.core.counting import ExactSource
from algorithms.core.online import Planned
from algorithms.core.transcripts import Actions, replaced, users_of
from algorithms.core.users import Tree
from dpverify.base import require
from dpverify.claims import Pair, Records
from dpverify.errors import ParameterError
from mechanisms.datasets.visit_counts import CountLayout, PrivateCounts

Array = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

FINE = 4.0  # points of the quadrature for each standard deviation of the smallest noise
REACH = 9.0  # standard deviations of a value on each side


def noise_variance(layout: CountLayout, episode: int) -> float:
    """Compute beta_k = S H^3 log(2 H S A k) / 2, the variance of the noise in a cell that nobody has visited.

    Parameters
    ----------
    layout : CountLayout
        Sizes H, S and A.
    episode : int
        k, from 1.

    Returns
    -------
    float
        In squared units of reward. A cell with n visits gets noise of variance beta_k / (n + 1).

    Notes
    -----
    D. Russo, "Worst-case regret bounds for exploration via randomized value functions", 2019, Theorem 1.
    """
    size = layout.H * layout.S * layout.A
    return layout.S * layout.H**3 * math.log(2 * size * episode) / 2


def formula(layout: CountLayout, users: int, delta: float) -> float:
    """Compute eps(delta) = rho + 2 sqrt(rho log(1/delta)) with rho = 2 A K / (H^2 log(2 H S A)).

    Parameters
    ----------
    layout : CountLayout
        Sizes H, S and A.
    users : int
        K, the number of episodes.
    delta : float
        In (0, 1).

    Returns
    -------
    float
        As the abstract of arXiv 2606.01952 (version of 1 June 2026) has it; the text behind it was not read.

    Examples
    --------
    >>> print(round(formula(CountLayout(H=3, S=1, A=2), users=4, delta=1e-3), 2))
    5.16
    """
    require.integer(at_least=1, users=users)
    require.open_unit(delta=delta)
    rho = 2 * layout.A * users / (layout.H**2 * math.log(2 * layout.H * layout.S * layout.A))
    return rho + 2 * math.sqrt(rho * math.log(1 / delta))


@dataclass(frozen=True)
class RLSVI:
    """A learner that perturbs values instead of counts: Q(s, a) = r^(s, a) + sum_t P^(t | s, a) V(t) + noise.

    r^ and P^ are sums divided by n + 1, where n is the number of visits, so a cell without visits has the value 0
    before its noise. The noise is N(0, beta_k / (n + 1)), independent over steps, states and actions
    (`noise_variance`). V is the largest Q; values are not cut. `noise` other than 1 is a planted error: all
    noise times so much.
    """

    layout: CountLayout
    noise: float = 1.0

    def plan(self, counts: PrivateCounts, *, rng: np.random.Generator) -> IntArray:
        """Policies (runs, H, S) from exact counts with leading axis runs; the coins are those of `rng`."""
        assert counts.rewards is not None
        visits = np.asarray(counts.visits)
        episode = int(visits[0, 0].sum()) + 1
        beta = self.noise**2 * noise_variance(self.layout, episode)
        runs, horizon, states, _ = visits.shape
        policy, value = np.empty((runs, horizon, states), dtype=np.int64), np.zeros((runs, states))
        for h in reversed(range(horizon)):
            weight = visits[:, h] + 1
            ahead = np.einsum("rsat,rt->rsa", counts.transitions[:, h], value)
            q = (counts.rewards[:, h] + ahead) / weight + np.sqrt(beta / weight) * rng.normal(size=weight.shape)
            policy[:, h], value = q.argmax(axis=-1), q.max(axis=-1)
        return policy


def told_to_others(layout: CountLayout, hidden: int, *, noise: float = 1.0) -> Actions:
    """Make the target of an audit: policies of all users but `hidden`, from exact counts."""
    learner: Any = RLSVI(layout, noise)  # a learner with coins
    agent = Planned(learner=learner, layout=layout)
    return Actions(agent=agent, privatizer=ExactSource(layout), hidden=hidden)


def paid_or_not(layout: CountLayout, users: int) -> Pair:
    """Make a pair: nobody is paid but the first user, who is paid 1 in every step, or nothing.

    All users stay in state 0. This is all that one user can move where there is one state.
    """
    states = (0,) * (layout.H + 1)
    unpaid, paid = (Tree.steady(states, (each,) * layout.H, layout.choices) for each in (0.0, 1.0))
    return replaced([unpaid] * users, 0, paid, "the first user is paid 1 in every step instead of 0")


@dataclass(frozen=True)
class Agreement:
    """In how many steps two of the others are told the same action, added up over their pairs: a number per state.

    It is a function of what the others see, so whatever it tells, they can tell. It shows in which state the hidden
    user was: the value of a later state is added to the cells that she visited there, so others are sent to the same
    action.
    """

    layout: CountLayout
    hidden: int = 0

    def release(self, data: Records, *, rng: np.random.Generator, size: int) -> Array:
        """Of `size` runs, (size, S)."""
        others = len(users_of(data).trees) - 1
        seen = told_to_others(self.layout, self.hidden).release(data, rng=rng, size=size)
        policies = seen[:, : others * self.layout.H * self.layout.S].reshape(size, others, self.layout.H, self.layout.S)
        alike = np.zeros((size, self.layout.S))
        for first, second in itertools.combinations(range(others), 2):
            alike += (policies[:, first] == policies[:, second]).sum(axis=1)
        return alike


@dataclass(frozen=True, eq=False)
class LogRatio:
    """The log ratio of a transcript's probabilities in two worlds, the best number to tell them apart by.

    `laws` are those of `transcript_laws`. It is a function of what the others see, and of laws that everybody can
    compute.
    """

    layout: CountLayout
    laws: tuple[Array, Array]

    def release(self, data: Records, *, rng: np.random.Generator, size: int) -> Array:
        """Of `size` runs, (size, 1)."""
        seen = told_to_others(self.layout, 0).release(data, rng=rng, size=size)
        digits = seen[:, : (len(users_of(data).trees) - 1) * self.layout.H].astype(np.int64)
        places = digits @ self.layout.A ** np.arange(digits.shape[1])[::-1]
        return np.asarray(np.log(self.laws[0] / self.laws[1])[places, None])


def transcript_laws(layout: CountLayout, pair: Pair) -> tuple[Array, Array]:
    """Compute the laws of all policies but the first user's, in both worlds, where there is one state.

    Parameters
    ----------
    layout : CountLayout
        S = 1; A^(H K) transcripts are listed.
    pair : Pair
        Trees that differ in the first user; with one state only their rewards matter.

    Returns
    -------
    tuple of array of float, (A^(H (K - 1)),)
        Probabilities of the same transcripts in the same order.

    Raises
    ------
    ParameterError
        For another number of states.

    Notes
    -----
    With one state a policy is a sequence of H actions. Given the counts, Q_h(a) is normal with a mean that is linear in
    V_{h+1} and independent over a, so the law of (actions from h on, V_h) follows from that of h + 1 by one integral
    over V_{h+1}. It is computed by the trapezoidal rule, which for smooth integrands that vanish at both ends
    converges faster than any power of the step. The first user's own actions are summed over.
    """
    if layout.S != 1:
        raise ParameterError("layout.S", layout.S, "1: laws of values are computed on a line")
    first, second = (_law_of_others(layout, users_of(world).trees) for world in pair)
    return first, second


def _law_of_others(layout: CountLayout, trees: Sequence[Tree]) -> Array:
    policies = list(itertools.product(range(layout.A), repeat=layout.H))

    @functools.cache
    def law_at(episode: int, counts: bytes) -> Array:
        visits, paid = np.frombuffer(counts).reshape(2, layout.H, layout.A)
        return policy_law(layout, visits, paid, episode)

    # for each transcript of the others so far: the first user's own policies, as (probability, visits and sums paid)
    groups = [[(1.0, np.zeros((2, layout.H, layout.A)))]]
    for number, tree in enumerate(trees):
        counted = [_counts_of(tree, policy) for policy in policies]
        grown = []
        for group in groups:
            followed: list[list[tuple[float, Array]]] = [[] for _ in policies]
            for mass, counts in group:
                for place, probability in enumerate(law_at(number + 1, counts.tobytes())):
                    followed[place].append((mass * probability, counts + counted[place]))
            grown += [list(itertools.chain(*followed))] if number == 0 else followed
        groups = grown
    return np.array([math.fsum(mass for mass, _ in group) for group in groups])


def _counts_of(tree: Tree, policy: Sequence[int]) -> Array:
    """Visits and sums paid of one user who plays a policy, (2, H, A)."""
    found, prefix = np.zeros((2, len(policy), tree.actions)), 0
    for h, (action, rewards) in enumerate(zip(policy, tree.rewards, strict=True)):
        prefix = prefix * tree.actions + action
        found[:, h, action] = 1, rewards[prefix % len(rewards)]
    return found


def policy_law(layout: CountLayout, visits: Array, paid: Array, episode: int) -> Array:
    """Compute the probability of each of the A^H policies, in lexicographic order, from counts (H, A); S = 1."""
    beta = noise_variance(layout, episode)
    mean, share, spread = paid / (visits + 1), visits / (visits + 1), np.sqrt(beta / (visits + 1))
    width = REACH * math.sqrt(beta * layout.H) + layout.H
    points, step = np.linspace(-width, width, math.ceil(2 * width * FINE / spread.min()), retstep=True)
    # ahead: probability of (actions after step h, V_{h+1} = value), (sequences, values); after the last step V is 0
    ahead, values = np.ones((1, 1)), np.zeros(1)
    for h in reversed(range(layout.H)):
        scaled = (points[:, None, None] - mean[h] - values[:, None] * share[h]) / spread[h]  # (points, values, A)
        below, at = special.ndtr(scaled), np.exp(-(scaled**2) / 2) / (math.sqrt(2 * math.pi) * spread[h])
        best = [at[..., a] * np.delete(below, a, axis=-1).prod(axis=-1) * step for a in range(layout.A)]
        ahead, values = np.concatenate([ahead @ each.T for each in best]), points
    return np.asarray(ahead.sum(axis=-1))
