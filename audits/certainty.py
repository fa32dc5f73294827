"""Log ratios of releases that leave no doubt, for twins without noise."""

from typing import Any

import numpy as np

from dpverify.trials.target import Array


def certainty(first: Any, second: Any) -> Array:
    """+inf where only the first world is possible, -inf where only the second, 0 where both are, NaN where none."""
    return np.select([first & second, first, second], [0.0, np.inf, -np.inf], default=np.nan)
