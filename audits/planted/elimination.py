"""INCORRECT: SDP-PE with mistakes in what it explores and what it eliminates."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from algorithms.core.mixtures import PolicyMixture
from algorithms.sdp_pe.elimination import SDPPE
from algorithms.tabular import Model


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


class NeverEliminates(SDPPE):
    """INCORRECT: keeps every policy for ever, whatever its counts say."""

    def gap(self, length: int, error: float) -> float:
        return float("inf")


@dataclass(frozen=True, kw_only=True)
class DataFree(SDPPE):
    """INCORRECT: eliminates by the law and the rewards of `known`, whatever its counts say."""

    known: Model

    def _fine(self, stage: Any, phi: Any, crude: Any, setting: Any, initial: Any) -> Any:
        law, rewards, report = yield from super()._fine(stage, phi, crude, setting, initial)
        exact = ((self.known.transitions, law.shape), (self.known.rewards, rewards.shape))
        return *(np.broadcast_to(table, shape) for table, shape in exact), report


class Myopic(SDPPE):
    """INCORRECT: eliminates by the rewards of each first step alone: no next state is worth anything."""

    def _fine(self, stage: Any, phi: Any, crude: Any, setting: Any, initial: Any) -> Any:
        law, *rest = yield from super()._fine(stage, phi, crude, setting, initial)
        return np.zeros_like(law), *rest


class Mirrored(SDPPE):
    """INCORRECT: eliminates by a law whose next states are in the wrong order."""

    def _fine(self, stage: Any, phi: Any, crude: Any, setting: Any, initial: Any) -> Any:
        law, *rest = yield from super()._fine(stage, phi, crude, setting, initial)
        return law[..., ::-1], *rest


class OnePolicy(SDPPE):
    """INCORRECT: the crude exploration plays the first of its policies alone, not one for every (h, x, a)."""

    def _uniform(self, policies: Any) -> PolicyMixture:
        return super()._uniform(np.broadcast_to(policies[..., :1, :, :], policies.shape))


class LeftInW(SDPPE):
    """INCORRECT: P~cru is 1/X in W instead of 0."""

    def _crude(self, *stage: Any) -> Any:
        found = yield from super()._crude(*stage)
        return found._replace(law=np.where(found.frequent, found.law, 1 / self.layout.S))
