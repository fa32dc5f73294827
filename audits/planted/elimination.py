"""INCORRECT: SDP-PE with mistakes in what it explores and what it eliminates."""

from typing import Any

import numpy as np

from algorithms.core.mixtures import PolicyMixture
from algorithms.sdp_pe.elimination import SDPPE


class UniformDesign(SDPPE):
    """INCORRECT: the fine exploration draws the remaining policies alike, instead of by the design of eq. (4)."""

    def _explore(self, stage: Any, phi: Any, *rest: Any) -> Any:
        (_, again), *design = super()._explore(stage, phi, *rest)
        alive = phi.alive
        every = np.broadcast_to(phi.policies, (*alive.shape[:-1], *phi.policies.shape))
        return [PolicyMixture(every, alive / alive.sum(axis=-1, keepdims=True)), again], *design


class RewardsAsCosts(SDPPE):
    """INCORRECT: eliminates by 1 - r~: the best policies go first."""

    def _fine(self, stage: Any, phi: Any, crude: Any, setting: Any, initial: Any) -> Any:
        law, rewards, report = yield from super()._fine(stage, phi, crude, setting, initial)
        return law, 1 - rewards, report
