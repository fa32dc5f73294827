"""A target with the log ratio that the tape gives it: white-box audits of code that has none of its own."""

from typing import Any

import numpy as np

from dpverify.claims.neighbours import Pair
from dpverify.tape.likelihood import Likelihood, likelihood
from dpverify.trials.target import Array, name_of, Target

TRACE = "trace"  # the score's name


class TracedTarget:
    """The target, and `log_ratio` by forcing its code on both datasets; for the one pair that it was made for."""

    def __init__(self, target: Target, ratio: Likelihood) -> None:
        self._target, self._ratio = target, ratio
        self.name = name_of(target)

    def release(self, data: Any, *, rng: np.random.Generator, size: int) -> Array:
        """The target's own."""
        return self._target.release(data, rng=rng, size=size)

    def log_ratio(self, outputs: Array, pair: Pair) -> Array:
        """Exact for transcripts like those that were looked at; see `tape.likelihood`."""
        return self._ratio(outputs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # while it is unpickled
            raise AttributeError(name)
        return getattr(self._target, name)


def traced_target(target: Target, pair: Pair, seed: int) -> TracedTarget:
    """ParameterError, which says why, where what is released does not determine the transcript."""
    return TracedTarget(target, likelihood(target, pair, seed=seed))
