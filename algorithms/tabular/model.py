"""A finite-horizon model: transitions (..., H, S, A, S), rewards (..., H, S, A), initial law (..., S)."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpverify.errors import ParameterError

Array = npt.NDArray[np.float64]

ROUNDING = 1e-9  # how far a sum of probabilities may be from 1


@dataclass(frozen=True, eq=False)
class Model:
    """An episodic decision process, or a batch of them on leading axes.

    `transitions[..., h, s, a, t]` = Pr[next state t | s, a at step h]. A row may sum to less than 1: the
    missing mass goes to an absorbing state without reward, x-dagger of the SDP-PE papers (Definition 5).
    `complete` says that no mass is missing. `rewards` are means. ParameterError on NaN, negative
    probabilities, rows above 1 and shapes that do not fit.
    """

    transitions: Array
    rewards: Array
    initial: Array

    def __post_init__(self) -> None:
        law = np.asarray(self.transitions, dtype=np.float64)
        rewards = np.asarray(self.rewards, dtype=np.float64)
        initial = np.asarray(self.initial, dtype=np.float64)
        for name, value in (("transitions", law), ("rewards", rewards), ("initial", initial)):
            object.__setattr__(self, name, value)
        if law.ndim < 4 or law.shape[-1] != law.shape[-3]:
            raise ParameterError("transitions", law.shape, "an array (..., H, S, A, S)")
        if rewards.ndim < 3 or rewards.shape[-3:] != law.shape[-4:-1]:
            raise ParameterError("rewards", rewards.shape, f"an array (..., {', '.join(map(str, law.shape[-4:-1]))})")
        if initial.ndim < 1 or initial.shape[-1] != law.shape[-1]:
            raise ParameterError("initial", initial.shape, f"an array (..., {law.shape[-1]})")
        if not (np.all(law >= 0) and np.all(law.sum(axis=-1) <= 1 + ROUNDING)):
            raise ParameterError("transitions", law, "non-negative, rows summing to at most 1")
        if not (np.all(initial >= 0) and np.all(np.abs(initial.sum(axis=-1) - 1) <= ROUNDING)):
            raise ParameterError("initial", initial, "a probability vector")
        if not np.all(np.isfinite(rewards)):
            raise ParameterError("rewards", rewards, "finite numbers")

    @property
    def horizon(self) -> int:
        """H."""
        return int(self.transitions.shape[-4])

    @property
    def states(self) -> int:
        """S."""
        return int(self.transitions.shape[-1])

    @property
    def actions(self) -> int:
        """A."""
        return int(self.transitions.shape[-2])

    @property
    def mirrored(self) -> "Model":
        """The same with each state's actions in reversed order in the transitions; the rewards are known and stay."""
        return Model(self.transitions[..., ::-1, :], self.rewards, self.initial)

    @property
    def complete(self) -> bool:
        """True when every row of the transitions sums to 1."""
        return bool(np.all(np.abs(self.transitions.sum(axis=-1) - 1) <= ROUNDING))
