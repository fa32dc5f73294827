"""INCORRECT: SDP-PE with mistakes in what it explores and what it eliminates."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from algorithms.deployment import Mixture
from algorithms.sdp_pe import SDPPE


class UniformDesign(SDPPE):
    """INCORRECT: the fine exploration draws the remaining policies alike, instead of by the design of eq. (4)."""

    def _fine(self, stage: Any, phi: Any, crude: Any, field: Any, initial: Any) -> Any:
        alike: Any = _Alike(field, phi)
        return super()._fine(stage, phi, crude, alike, initial)


@dataclass(eq=False)
class _Alike:
    """A deployment that plays all remaining policies alike where weights are given."""

    inner: Any
    phi: Any

    def deploy(self, mixture: Mixture, number: int) -> None:
        if mixture.weights is not None:
            alive = self.phi.alive
            policies = np.broadcast_to(self.phi.policies, (*alive.shape[:-1], *self.phi.policies.shape))
            mixture = Mixture(policies, alive / alive.sum(axis=-1, keepdims=True))
        self.inner.deploy(mixture, number)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


class RewardsAsCosts(SDPPE):
    """INCORRECT: eliminates by 1 - r~: the best policies go first."""

    def _fine(self, stage: Any, phi: Any, crude: Any, field: Any, initial: Any) -> Any:
        law, rewards, report = super()._fine(stage, phi, crude, field, initial)
        return law, 1 - rewards, report
