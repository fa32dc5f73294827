"""Ledgers of everyday mechanisms, each in one call: `dp_sgd(rate=.01, noise_multiplier=1.1, steps=10_000)`.

A `sensitivity` that is a number is how far the released value moves between two neighbours, whichever relation the
account is asked for. Where that differs - a histogram moves by 1 where a record is added, by 2 where one is replaced -
it is a `Sensitivity`, which states each relation apart.

That a vector may be charged for its distance (l1 for Laplace, l2 for Gaussian noise) as if one coordinate moved so far:
for Gaussians it is a rotation. For Laplace noise move one coordinate after the other; what two moves by a and b give,
one after the other, is the trade-off of one move by a + b (Dong, Roth, Su 2022, Theorems 3 and 4).
"""

from dpverify.base import require
from dpverify.ledger.compound_events import PoissonSampled
from dpverify.ledger.events import GaussianNoise, LaplaceNoise, Ledger, Sensitivity


def laplace(*, scale: float, sensitivity: float | Sensitivity) -> Ledger:
    """Make the ledger of one release with Laplace noise.

    Parameters
    ----------
    scale : float
        Of the noise on each coordinate, whose density is exp(-|x|/scale)/(2 scale).
    sensitivity : float or Sensitivity
        How far the released value moves between neighbours; a vector, in l1.

    Returns
    -------
    Ledger
        Of one event `LaplaceNoise`.

    Raises
    ------
    ParameterError
        For a scale that is not positive and finite, a sensitivity that is negative, and NaN.

    Examples
    --------
    >>> from dpverify import account
    >>> account(laplace(scale=2.0, sensitivity=1.0) * 3)
    1.5
    """
    return Ledger(LaplaceNoise(scale=scale, sensitivity=_stated(sensitivity)))


def gaussian(*, sigma: float, sensitivity: float | Sensitivity) -> Ledger:
    """Make the ledger of one release with Gaussian noise.

    Parameters
    ----------
    sigma : float
        Standard deviation of the noise on each coordinate.
    sensitivity : float or Sensitivity
        How far the released value moves between neighbours; a vector, in l2.

    Returns
    -------
    Ledger
        Of one event `GaussianNoise`.

    Raises
    ------
    ParameterError
        For a sigma that is not positive and finite, a sensitivity that is negative, and NaN.

    Examples
    --------
    >>> from dpverify import account
    >>> round(account(gaussian(sigma=4.0, sensitivity=1.0), delta=1e-5), 4)
    0.9263
    """
    return Ledger(GaussianNoise(sigma=sigma, sensitivity=_stated(sensitivity)))


def dp_sgd(*, rate: float, noise_multiplier: float, steps: int) -> Ledger:
    """Make the ledger of stochastic gradient descent with clipped gradients and Gaussian noise, all models released.

    Each step draws a fresh Poisson sample: every record joins by itself with chance `rate`. Libraries that shuffle and
    cut batches of one size do not, and this is no account of them. Under add-or-remove-one only, see `PoissonSampled`.
    The algorithm is that of Abadi et al. 2016.

    Parameters
    ----------
    rate : float
        Chance with which a record is in the batch of a step: the expected size of a batch over the number of records.
    noise_multiplier : float
        Standard deviation of the noise on the sum of the clipped gradients, over the norm that each is clipped to.
    steps : int
        How many: epochs over rate.

    Returns
    -------
    Ledger
        `steps` events `PoissonSampled`.

    Raises
    ------
    ParameterError
        For a rate outside [0, 1], noise that is not positive and finite, steps that are no whole number, and NaN.

    Examples
    --------
    >>> from dpverify import account, Relation
    >>> run = dp_sgd(rate=0.01, noise_multiplier=1.1, steps=10_000)
    >>> round(account(run, delta=1e-5, relation=Relation.ADD_OR_REMOVE_ONE), 3)
    5.193
    """
    require.integer(at_least=0, steps=steps)
    step = GaussianNoise(what="sum of clipped gradients", sigma=noise_multiplier, sensitivity=Sensitivity(add_remove=1))
    return Ledger(PoissonSampled(what="batch", rate=rate, inside=Ledger(step))) * steps


def composed(*ledgers: Ledger) -> Ledger:
    """Compose ledgers of releases from the same data, each of which may depend on what the earlier ones released.

    The composition of no ledgers is the empty one.

    Parameters
    ----------
    *ledgers : Ledger
        In any order: an account does not depend on it.

    Returns
    -------
    Ledger
        Their sum.

    Raises
    ------
    ParameterError
        For anything that is no ledger.

    Examples
    --------
    >>> from dpverify import account
    >>> from dpverify.ledger import laplace
    >>> account(composed(laplace(scale=2.0, sensitivity=1.0), laplace(scale=4.0, sensitivity=1.0)))
    0.75
    """
    require.several(Ledger, ledgers=ledgers)
    return sum(ledgers, Ledger())


def _stated(sensitivity: float | Sensitivity) -> Sensitivity:
    if isinstance(sensitivity, Sensitivity):
        return sensitivity
    require.non_negative(sensitivity=sensitivity)
    return Sensitivity(replace=sensitivity, add_remove=sensitivity)
