"""Assumption 3.1 of DP-Nash-VI for a whole stream of the Central privatizer, as a `Promise` that trials can break.

With probability >= 1 - beta, after every episode and in every cell at once (Qiao, Wang 2024, Lemma 5.1):
    |N~(s,a,b,s') - N(s,a,b,s')| <= E,   |N~(s,a,b) - N(s,a,b)| <= E,   N~(s,a,b) >= N(s,a,b)
always:
    N~(s,a,b,s') > 0,   N~(s,a,b) = sum over s' of N~(s,a,b,s')

E here is four times the exact quantile of the noise (`Central.numerical_noise_bound`: exact tails, union bound over
cells and episodes), so the noise alone exceeds E/4 with probability close to beta.
A bound N~ >= N is active where it could fail. Every released count is at least E/(2S), so a pair count is at least E/2
and cannot lie below a true count of at most E/2: with E larger than twice the number of users the promise says nothing.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from dpverify.errors import ParameterError
from dpverify.promises import Outcomes, Promise
from mechanisms.datasets.trajectories import Trajectories
from mechanisms.privatizers.central import Central
from mechanisms.privatizers.consistency import consistent, never_underestimating

Array = npt.NDArray[Any]


def central_promise(
    central: Central, data: Trajectories, beta: float, *, error_scale: float = 1.0, shift: bool = True, **options: Any
) -> Promise:
    """A trial is one stream of private counts of the same users.

    Breaks: `error_scale` times E is told to post-processing and promised; without `shift` the slack E/4 is kept and
    nothing is added. ParameterError without final states: the last step's counts cannot be consistent.
    """
    if data.final_states is None:
        raise ParameterError("data.final_states", None, "present: every visit needs its transition")
    layout = central.layout
    exact = layout.unpack(np.cumsum(layout.pack(data.per_user())[: central.releases].astype(np.float64), axis=0))
    bound = error_scale * 4 * central.numerical_noise_bound(beta)
    active = float((exact.visits > (bound / 2 if shift else 0.0)).mean())

    def draw(*, rng: np.random.Generator, size: int) -> Outcomes:
        raw = layout.unpack(central.release(data, rng=rng, size=size))
        if shift:
            done = never_underestimating(raw.transitions, raw.visits, bound)
        else:
            done = consistent(raw.transitions, raw.visits, bound / 2)
        gaps = (done.pair_counts - exact.visits, done.next_counts - exact.transitions)
        invariants = {"pair count is the sum of next-state counts": done.pair_counts == done.next_counts.sum(axis=-1)}
        if shift:
            invariants["counts > 0"] = done.next_counts > 0
        return Outcomes(
            errors=np.maximum.reduce([np.abs(each).reshape(size, -1).max(axis=1) for each in gaps]),
            failed=np.asarray((gaps[0] < 0).reshape(size, -1).any(axis=1)),
            invariants={name: held.reshape(size, -1).all(axis=1) for name, held in invariants.items()},
            active=np.full(size, active),
        )

    return Promise(draw=draw, bound=bound, failure_probability=beta, **{"block": 128, **options})
