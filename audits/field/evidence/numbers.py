"""Exact numbers behind rows of the field report."""

import math

from scipy import stats

from dpverify.accounting.accountant import account
from dpverify.base.seeding import Stage, stream
from dpverify.ledger import GaussianNoise, Ledger, Sensitivity, Shift


def linear_regression_square(low: float, high: float) -> float:
    """How far one replaced x in [low, high] moves x^2, over the (low^2 - low high)-like bound that declares 0 at low 0.

    The library takes the lower bound of the square twice: it declares |low^2 - low^2| where low = 0.
    """
    return max(low * low, high * high) - (0.0 if low <= 0 <= high else min(low * low, high * high))


def unary_eps(eps: float, optimal: bool) -> float:
    """Exact loss of unary encoding as coded: at the true place a flip by q, and then 1 with probability p.

    P(1 | true place) = p + (1 - p) q in place of p; the other places are right. Two places differ between two values.
    """
    p = 0.5 if optimal else math.exp(eps / 2) / (math.exp(eps / 2) + 1)
    q = 1 / (math.exp(eps) + 1) if optimal else 1 - p
    really = p + (1 - p) * q
    return math.log(really / q) + math.log((1 - q) / (1 - really))


def privbayes_scale(rows: int, parents: int, attributes: int, eps: float) -> float:
    """True eps over claimed eps: noise 2 (d - k)/(n eps) is for probabilities, where one replaced row moves 2/n.

    It is added to counts, which one replaced row moves by 2: a factor n.
    """
    scale = 2 * (attributes - parents) / (rows * eps)
    return (attributes - parents) * 2 / scale / eps


def k_means_iteration(columns: int, eps: float, rho: float = 0.225) -> float:
    """What one iteration of k-means spends if the two parts of eps are swapped, over eps.

    The split means eps = e_count + d e_sum with e_count/e_sum = (4 d rho^2)^(1/3); swapped it is e_sum + d e_count.
    """
    ratio = math.cbrt(4 * columns * rho**2)
    part = eps / (columns + ratio)
    return (part + columns * ratio * part) / eps


def classical_delta(eps: float, delta: float) -> float:
    """Delta at eps of the Gaussian mechanism with sigma = sqrt(2 ln(1.25/delta))/eps (Balle and Wang 2018, Thm 8)."""
    mu = eps / math.sqrt(2 * math.log(1.25 / delta))
    norm = stats.norm
    return float(norm.cdf(mu / 2 - eps / mu) - math.exp(eps) * norm.cdf(-mu / 2 - eps / mu))


def classical_eps(eps: float, delta: float) -> float:
    """The eps that this sigma really has at delta, by the accountant, over the claimed one."""
    sigma = math.sqrt(2 * math.log(1.25 / delta)) / eps
    ledger = Ledger.of((GaussianNoise(sigma=sigma, sensitivity=Sensitivity(replace=Shift(1.0, 1))), 1))
    return float(account(ledger, delta=delta)) / eps


def one_sided_count(eps: float) -> float:
    """P(count + 0) of noise ceil(-ln(1 - U)/eps - 1): the true count's mass, impossible with one record more."""
    return 1 - math.exp(-eps)


def steps_of_batches(records: int, noise: float) -> float:
    """Exact eps at delta = 1e-3 of one step whose noise is noise/records against noise/(records + 1), 64 weights.

    The weights without gradient are centred normal with those two deviations: a threshold of their squared norm.
    """
    weights, delta = 64, 1e-3
    first, second = noise / records, noise / (records + 1)
    best = 0.0
    for part in range(1, 400):
        cut = (part / 200 * weights) * first * first
        p, q = (float(stats.chi2.sf(cut / scale**2, weights)) for scale in (first, second))
        if p > delta and q > 0:
            best = max(best, math.log((p - delta) / q))
    return best


def classical_certified(eps: float, delta: float, trials: int, seed: int) -> float:
    """Certified eps at delta of our own draws with that sigma: Clopper-Pearson on both sides, each at 0.025.

    The event, fixed beforehand, is a sum above 1 - 0.1 sigma; datasets with sums 1 and 0.
    """
    sigma = math.sqrt(2 * math.log(1.25 / delta)) / eps
    rng = stream(seed, Stage.ESTIMATE)
    cut = 1 - 0.1 * sigma
    hits = [int((value + sigma * rng.standard_normal(trials) > cut).sum()) for value in (1.0, 0.0)]
    low = float(stats.beta.ppf(0.025, hits[0], trials - hits[0] + 1))
    high = float(stats.beta.ppf(0.975, hits[1] + 1, trials - hits[1]))
    return math.log((low - delta) / high)


def rare_text(eps: float, rows: int) -> float:
    """Probability that a text which one of `rows` entries has comes out somewhere; candidates are it and one other."""
    keep = math.exp(eps / 2) / (math.exp(eps / 2) + 1)
    return 1 - (1 - keep) * keep ** (rows - 1)


def visits(count: int) -> float:
    """L2 movement of a level by a user with `count` visits in one place, over sqrt(2 count)."""
    return math.sqrt(2) * count / math.sqrt(2 * count)
