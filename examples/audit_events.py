"""dp-accounting events as ledgers, with a target that does what they say: ten Gaussian releases of one count."""

import dp_accounting as dp
import numpy as np

from dpverify import ApproxDP, Pair, Relation, Subject
from dpverify.adapters.dp_accounting import ledger_of

ADD_REMOVE = Relation.ADD_OR_REMOVE_ONE
STEPS, NOISE = 10, 5.0
event = dp.SelfComposedDpEvent(dp.GaussianDpEvent(NOISE), STEPS)


class Repeated:
    """The count ten times, each with fresh Gaussian noise."""

    ledger = ledger_of(event)

    def release(self, data: float, *, rng: np.random.Generator, size: int) -> np.ndarray:
        """Shape (size, steps)."""
        return data + rng.normal(scale=NOISE, size=(size, STEPS))

    def log_ratio(self, outputs: np.ndarray, pair: Pair) -> np.ndarray:
        """Exact."""
        first, second = ((outputs - data) ** 2 for data in pair)
        return (second - first).sum(axis=1) / (2 * NOISE**2)


subjects = [
    Subject(
        name="ten-gaussians",
        target=Repeated(),
        claim=ApproxDP(2.6, 1e-5, relation=ADD_REMOVE),
        pairs=(Pair(0.0, 1.0, name="added"),),
        accounted=True,
    )
]
