"""The Gaussian noise of DP-VAPVI: five statistics a step, rho_0 = rho/(5H) meant for each.

    vectors  phi_1 ~ N(0, 2 H^4/rho_0 I_d),  phi_2, phi_3 ~ N(0, 2 H^2/rho_0 I_d)
    Grams    K_1, K_2 = W + shift I,  W = c (Z + Z^T),  Z_ij ~ N(0, z) independent

Law of W.   W_ii = 2 c Z_ii has variance 4 c^2 z, and W_ij = c (Z_ij + Z_ji) has 2 c^2 z for i < j, all
            independent. So the upper triangle with its off-diagonal entries times sqrt 2 is a vector with
            independent N(0, sigma_K^2) entries, sigma_K^2 = 4 c^2 z, and a symmetric change D moves it by
            sqrt(sum_i D_ii^2 + 2 sum_{i<j} D_ij^2) = ||D||_F. One Gram therefore costs ||D||_F^2/(8 c^2 z).
As printed  z = 1/(4 rho_0): rho_0 ||D||_F^2 for c = 1/sqrt 2 and 2 rho_0 ||D||_F^2 for c = 1/2 (both readings
            of the factor are kept; the arithmetic of Lemma D.1 needs c = 1/sqrt 2). Replacing a unit
            feature changes the Gram by up to ||D||_F^2 = 2: each Gram costs 2 rho_0 (4 rho_0), not the
            rho_0 of Lemma D.1.
Corrected   z = 1/(2 rho_0) with c = 1/sqrt 2: exactly rho_0.

The paper draws the noise in one line before its loop over h; the proof composes over h, so it must be fresh in
every step. Source: Algorithm 2, Lemma D.1.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from dpverify.base import require
from dpverify.base.rounding import sqrt_up

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class StepNoise:
    """One step's fresh noise: vectors (size, d), Gram noises (size, d, d) symmetric and without shift."""

    phi1: Array
    phi2: Array
    phi3: Array
    gram1: Array
    gram2: Array


@dataclass(frozen=True, kw_only=True)
class LinearNoise:
    """Noise scales for a zCDP budget rho, horizon H and dimension d.

    c_squared, z_rho0  the Gram noise: c^2, and z rho_0 (as printed 1/2 and 1/4), as exact fractions
    """

    rho: float
    H: int
    d: int
    c_squared: Fraction = Fraction(1, 2)
    z_rho0: Fraction = Fraction(1, 4)

    def __post_init__(self) -> None:
        require.own_numbers(self)
        require.positive(rho=self.rho, c_squared=self.c_squared, z_rho0=self.z_rho0)
        require.integer(at_least=1, H=self.H, d=self.d)

    @classmethod
    def as_printed(cls, rho: float, H: int, d: int, *, half: bool = False) -> Self:
        """z = 1/(4 rho_0) with c = 1/sqrt 2, or c = 1/2 where `half`."""
        return cls(rho=rho, H=H, d=d, c_squared=Fraction(1, 4) if half else Fraction(1, 2))

    @classmethod
    def corrected(cls, rho: float, H: int, d: int) -> Self:
        """z = 1/(2 rho_0) with c = 1/sqrt 2: every statistic costs at most rho_0 for unit features."""
        return cls(rho=rho, H=H, d=d, z_rho0=Fraction(1, 2))

    @property
    def rho0(self) -> Fraction:
        """rho/(5H), exactly."""
        return Fraction(self.rho) / (5 * self.H)

    @property
    def vector_sigmas(self) -> tuple[float, float, float]:
        """Standard deviations of phi_1, phi_2, phi_3, rounded up."""
        return _deviations(self)[:3]

    @property
    def gram_sigma(self) -> float:
        """sigma_K = 2 c sqrt z, the deviation of a diagonal entry, rounded up."""
        return _deviations(self)[3]

    @property
    def off_diagonal_sigma(self) -> float:
        """sigma_K/sqrt 2, rounded up."""
        return _deviations(self)[4]

    def draw(self, size: int, *, rng: np.random.Generator) -> StepNoise:
        """Fresh noise of one step for `size` runs; the Gram noise through its upper triangle."""
        vectors = [rng.normal(scale=sigma, size=(size, self.d)) for sigma in self.vector_sigmas]
        width = self.d * (self.d + 1) // 2
        grams = [symmetric(rng.normal(size=(size, width)) * self.triangle_sigmas, self.d) for _ in range(2)]
        return StepNoise(*vectors, *grams)

    def gram_operator_bound(self, beta: float) -> float:
        """t with Pr[||W||_2 > t] <= beta, failing with probability at most beta for each draw of W.

        W is sigma_K/sqrt 2 times a matrix with N(0,2) diagonal and N(0,1) off-diagonal entries (GOE), whose largest
        eigenvalue has mean at most 2 sqrt d (Chevet/Slepian) and is sqrt 2-Lipschitz in independent
        standard normals. Both ends: t = sigma_K/sqrt 2 (2 sqrt d + 2 sqrt(ln(2/beta))).
        A shift of t makes K positive semidefinite with probability 1 - beta.
        """
        require.open_unit(beta=beta)
        return self.off_diagonal_sigma * (2 * math.sqrt(self.d) + 2 * math.sqrt(math.log(2 / beta)))

    @property
    def triangle_sigmas(self) -> Array:
        """(d(d+1)/2,) deviations of the upper triangle in the order of numpy.triu_indices."""
        rows, columns = np.triu_indices(self.d)
        return np.where(rows == columns, self.gram_sigma, self.off_diagonal_sigma)


def symmetric(triangles: Array, d: int) -> Array:
    """(T, d, d) from upper triangles (T, d(d+1)/2) in the order of numpy.triu_indices."""
    rows, columns = np.triu_indices(d)
    full = np.zeros((len(triangles), d, d))
    full[:, rows, columns] = triangles
    full[:, columns, rows] = triangles
    return full


def upper_triangles(matrices: Array) -> Array:
    """(T, d(d+1)/2) from (T, d, d)."""
    rows, columns = np.triu_indices(matrices.shape[-1])
    return np.asarray(matrices[:, rows, columns])


@lru_cache(maxsize=256)  # exact arithmetic takes longer than the draws of a small run
def _deviations(noise: LinearNoise) -> tuple[float, float, float, float, float]:
    """Of phi_1, phi_2 and phi_3, of a diagonal and of another entry of the Gram noise."""
    first, second = (sqrt_up(Fraction(2 * noise.H**power) / noise.rho0) for power in (2, 4))
    gram = sqrt_up(4 * noise.c_squared * noise.z_rho0 / noise.rho0)
    return second, first, first, gram, sqrt_up(Fraction(gram) ** 2 / 2)
