"""What the offline paper (Qiao, Wang 2023) promises about its noise and its data, as `Promise`s that trials can break.

    noise_promise      Lemma D.2: with probability 1 - beta, |phi_i| <= L_i for the three vectors and |W|_2 <= t for the
                       Gram noise: L_i = sigma_i (sqrt d + sqrt(2 ln(5/beta))), t = `gram_operator_bound(beta/5)`
    coverage_promise   Assumption 2.2: kappa = min_h lambda_min(E phi_h phi_h^T) > 0 under the behaviour policy, for
                       instances drawn at random as Appendix F draws them

No bound here has a cap at which it cannot fail.
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from algorithms.offline.data import appendix_mdp, leaning_policy
from dpverify.promises import Outcomes, Promise
from mechanisms.privatizers.linear_noise import LinearNoise

Array = npt.NDArray[np.float64]
DEAD = 1e-9  # of kappa: rounding of eigenvalues of at most 7


def noise_promise(
    noise: LinearNoise, beta: float, *, dimension: bool = True, told: LinearNoise | None = None, **options: Any
) -> Promise:
    """Errors are the largest norm over its bound. Breaks: no sqrt d (`dimension`), bounds of another noise (`told`)."""
    stated, log = noise if told is None else told, math.log(5 / beta)
    root = math.sqrt(noise.d) if dimension else 0.0
    lengths = [sigma * (root + math.sqrt(2 * log)) for sigma in stated.vector_sigmas]
    gram = stated.gram_operator_bound(beta / 5)

    def draw(*, rng: np.random.Generator, size: int) -> Outcomes:
        drawn = noise.draw(size, rng=rng)
        vectors = (drawn.phi1, drawn.phi2, drawn.phi3)
        shares = [np.linalg.norm(each, axis=-1) / most for each, most in zip(vectors, lengths, strict=True)]
        shares += [np.abs(np.linalg.eigvalsh(each)).max(axis=-1) / gram for each in (drawn.gram1, drawn.gram2)]
        return Outcomes(errors=np.max(shares, axis=0))

    return Promise(draw=draw, bound=1.0, failure_probability=beta, **options)


def feature_coverage_promise(
    *, horizon: int, columns: slice = slice(None), scaled: bool = False, **options: Any
) -> Promise:
    """A trial is an instance of Appendix F; `columns` of the features are kept. Fails where kappa is 0."""

    def draw(*, rng: np.random.Generator, size: int) -> Outcomes:
        missing = [float(not kappa(int(rng.integers(2**31)), horizon, columns, scaled) > DEAD) for _ in range(size)]
        return Outcomes(errors=np.array(missing))

    return Promise(draw=draw, bound=0.5, failure_probability=0.05, **options)


def kappa(seed: int, horizon: int, columns: slice = slice(None), scaled: bool = False) -> float:
    """The smallest eigenvalue over all steps."""
    linear = appendix_mdp(seed, horizon)
    linear = linear.scaled() if scaled else linear
    model, policy = linear.model, leaning_policy(horizon, 2, linear.features.shape[1])
    features, here, found = linear.features[..., columns], model.initial, math.inf
    for h in range(horizon):
        weights = here[:, None] * policy[h]
        found = min(found, float(np.linalg.eigvalsh(np.einsum("sa,sai,saj->ij", weights, features, features))[0]))
        here = np.einsum("sa,sat->t", weights, model.transitions[h])
    return found
