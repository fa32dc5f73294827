"""Reference subjects with a known likelihood ratio; `BlackBox` hides it, so that a score must be learned."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from dpverify import ApproxDP, Claim, Pair, PureDP

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Reference:
    """A target on the pair (0, 1): `draw(arm, rng, size)`, `ratio(outputs)` = log P/Q, P the law on 0."""

    name: str
    draw: Callable[[int, np.random.Generator, int], Array]
    ratio: Callable[[Array], Array]
    claim: Claim
    truth: float

    pair = Pair(0, 1, name="0, 1")

    def release(self, data: int, *, rng: np.random.Generator, size: int) -> Array:
        """`size` outputs on dataset 0 or 1."""
        return self.draw(data, rng, size)

    def log_ratio(self, outputs: Array, pair: Pair) -> Array:
        """Exact log-likelihood ratio."""
        return self.ratio(outputs)


@dataclass(frozen=True)
class BlackBox:
    """The same target without its likelihood ratio."""

    inner: Reference

    @property
    def name(self) -> str:
        """The inner name."""
        return self.inner.name

    def release(self, data: int, *, rng: np.random.Generator, size: int) -> Array:
        """The inner release."""
        return self.inner.release(data, rng=rng, size=size)


def laplace(eps: float) -> Reference:
    """x + Laplace(1/eps), x in {0, 1}."""
    return Reference(
        f"Laplace({eps:g})",
        lambda arm, rng, size: arm + rng.laplace(0.0, 1 / eps, size),
        # in a form without rounding noise on the flat parts
        lambda o: eps * -np.clip(2 * o - 1, -1, 1),
        PureDP(eps),
        eps,
    )


def composed(eps: float, folds: int) -> Reference:
    """`folds` Laplace releases of eps/folds each; the audit's claim is half of the truth."""
    one = eps / folds
    return Reference(
        f"Laplace({one:.3g}) x{folds}",
        lambda arm, rng, size: arm + rng.laplace(0.0, 1 / one, (size, folds)),
        lambda o: one * -np.clip(2 * o - 1, -1, 1).sum(axis=1),
        PureDP(eps / 2),
        eps,
    )


def randomised_response(eps: float) -> Reference:
    """Keeps the bit with probability e^eps/(1 + e^eps)."""
    return Reference(
        f"RR({eps:g})",
        lambda arm, rng, size: np.where(rng.random(size) < special.expit(eps), arm, 1 - arm),
        lambda o: np.where(o == 0, eps, -eps),
        PureDP(eps),
        eps,
    )


def geometric(eps: float) -> Reference:
    """x + two-sided geometric noise of ratio e^-eps."""
    p = -np.expm1(-eps)
    return Reference(
        f"Geometric({eps:g})",
        lambda arm, rng, size: arm + rng.geometric(p, size) - rng.geometric(p, size),
        lambda o: np.where(o <= 0, eps, -eps),
        PureDP(eps),
        eps,
    )


def gaussian(mu: float, eps: float, delta: float) -> Reference:
    """N(0, 1) against N(mu, 1); eps is the truth at delta."""
    return Reference(
        f"Gaussian({eps:g}, {delta:g})",
        lambda arm, rng, size: arm * mu + rng.standard_normal(size),
        lambda o: mu * mu / 2 - mu * o,
        ApproxDP(eps, delta),
        eps,
    )


def binomial(n: int, eps: float, delta: float) -> Reference:
    """x + Bin(n, 1/2); eps is the truth at delta."""

    def ratio(o: Array) -> Array:  # P(o)/Q(o) = C(n, o)/C(n, o - 1) = (n - o + 1)/o
        with np.errstate(divide="ignore"):
            return np.log(np.maximum(n - o + 1, 0)) - np.log(o)

    return Reference(
        f"Binomial({n}, {delta:g})",
        lambda arm, rng, size: arm + rng.binomial(n, 0.5, size),
        ratio,
        ApproxDP(eps, delta),
        eps,
    )


def rare(probability: float, eps: float) -> Reference:
    """Laplace(1/eps) that says 0.25 with the given probability on the first dataset only: true eps inf."""

    def draw(arm: int, rng: np.random.Generator, size: int) -> Array:
        out = arm + rng.laplace(0.0, 1 / eps, size)
        return np.where((rng.random(size) < probability) & (arm == 0), 0.25, out)

    def ratio(o: Array) -> Array:
        return np.where(o == 0.25, np.inf, eps * -np.clip(2 * o - 1, -1, 1) + np.log1p(-probability))

    return Reference(f"rare event {probability:g}", draw, ratio, PureDP(eps), float("inf"))


def hidden_parity(bits: int, eps: float) -> Reference:
    """Fair bits whose parity tells the data with eps: no part of them says anything."""

    def draw(arm: int, rng: np.random.Generator, size: int) -> Array:
        out = rng.integers(0, 2, (size, bits))
        parity = np.where(rng.random(size) < special.expit(eps), arm, 1 - arm)
        out[:, -1] = (out[:, :-1].sum(axis=1) + parity) % 2
        return out

    def ratio(o: Array) -> Array:
        return np.where(o.sum(axis=1) % 2 == 0, eps, -eps)

    return Reference(f"parity({eps:g}) of {bits} bits", draw, ratio, PureDP(eps), eps)


ALL = (
    laplace(0.1),
    laplace(1.0),
    laplace(4.0),
    randomised_response(1.0),
    geometric(1.0),
    gaussian(0.268, 1.0, 1e-5),
    binomial(1000, 0.207, 1e-5),
    rare(1e-3, 0.5),
    composed(2.0, 24),
    hidden_parity(4, 1.0),
)
