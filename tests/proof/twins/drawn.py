"""Laws of functions of draws: inverse transforms, sums, products, rounding, pads. The docstring of each is its row."""

import math
import random

import numpy as np
from scipy import stats

rng = np.random.default_rng()


def inverse_transform(x):
    """vector: real 0..1, rows 5..50; replace; 1; N15; b; exact"""
    u = rng.random() - 0.5
    return x.sum() - math.copysign(1.0, u) * math.log(1 - 2 * abs(u))


def inverse_transform_of_arrays(x):
    """vector: integer 0..3, rows 5..50; replace; 2; N15; b; exact"""
    u = rng.uniform(-0.5, 0.5, size=4)
    return np.bincount(x, minlength=4) - np.sign(u) * np.log1p(-2 * np.abs(u))


def inverse_transform_off_centre(x):
    """vector: real 0..1, rows 5..50; replace; inf; N15; b"""
    u = rng.random() - 0.4
    return x.sum() - math.copysign(1.0, u) * math.log(1.2 - abs(u))


def inverse_transform_of_one_side(x):
    """vector: real 0..1, rows 5..50; replace; inf; N15; b"""
    return x.sum() - math.log(1 - rng.random())


def inverse_transform_of_half(x):
    """vector: real 0..1, rows 5..50; replace; inf; N15; b"""
    u = rng.random() - 0.5
    return x.sum() - math.copysign(1.0, u) * math.log(1 - abs(u))


def inverse_transform_shown(x):
    """vector: real 0..1, rows 5..50; replace; inf; N15; b"""
    u = rng.random() - 0.5
    return x.sum() - math.copysign(1.0, u) * math.log(1 - 2 * abs(u)), u


def inverse_transform_of_a_known_size(x):
    """vector: real 0..1, rows 5..50; replace; inf; N15; b"""
    u = rng.random() - 0.5
    return x.sum() - math.copysign(1.0, u) * math.log(1 - 2 * abs(u)), abs(u)


def inverse_transform_of_a_known_sign(x):
    """vector: real 0..1, rows 5..50; replace; inf; N15; b"""
    u = rng.random() - 0.5
    positive = u > 0
    return x.sum() - math.copysign(1.0, u) * math.log(1 - 2 * abs(u)), bool(positive)


def inverse_transform_of_a_sign_shown_before(x):
    """vector: real 0..1, rows 5..50; replace; inf; N15; b"""
    u = rng.random() - 0.5
    sign = float(np.sign(u))
    print(sign)
    return x.sum() - sign * math.log(1 - 2 * abs(u))


def inverse_transform_twice(x):
    """vector: real 0..1, rows 5..50; replace; inf; N15; b"""
    u = rng.random() - 0.5
    first = x.sum() - math.copysign(1.0, u) * math.log(1 - 2 * abs(u))
    return first, (x > 0.5).sum() - math.copysign(1.0, u) * math.log(1 - 2 * abs(u))


def sign_of_another_uniform(x):
    """vector: real 0..1, rows 5..50; replace; 1; N15; b; exact"""
    u, v = rng.random() - 0.5, rng.random()
    return x.sum() + math.copysign(1.0, u) * math.log(v)


def logarithm_of_the_signed_size(x):
    """vector: real 0..1, rows 5..50; replace; inf; N15; b"""
    u = rng.uniform(-1, 1)
    return x.sum() + u * math.log(abs(u))


def logarithm_of_a_wide_uniform(x):
    """vector: real 0..1, rows 5..50; replace; 2.6; N15; b"""
    u = rng.random() - 0.5
    return x.sum() + math.copysign(1.0, u) * math.log(rng.uniform(0, 2))


def quantile_of_normal(x):
    """vector: real 0..1, rows 5..50; replace; inf; N15; b; exact; mu=1; rho=.5"""
    return x.sum() + stats.norm.ppf(rng.random())


def quantile_of_laplace(x):
    """vector: real 0..1, rows 5..50; replace; .5; N15; b; exact"""
    return x.sum() + stats.laplace.ppf(1 - rng.random(), scale=2.0)


def quantile_of_half_a_uniform(x):
    """vector: real 0..1, rows 5..50; replace; inf; N15; b"""
    return x.sum() + stats.laplace.ppf(rng.random() / 2)


def quantile_of_one_uniform_for_two(x):
    """vector: real 0..1, rows 5..50; replace; inf; N15; b"""
    u = rng.random()
    return x.sum() + stats.laplace.ppf(u), (x > 0.5).sum() + stats.laplace.ppf(u)


def quantile_and_mirror(x):
    """vector: real 0..1, rows 5..50; replace; inf; N15; b"""
    u = rng.random()
    return x.sum() + stats.laplace.ppf(u) + stats.laplace.ppf(1 - u)


def box_muller(x):
    """vector: real 0..1, rows 5..50; replace; inf; N15; b; exact; mu=1; rho=.5"""
    u, v = 1 - rng.random(), rng.random()
    return x.sum() + math.sqrt(-2 * math.log(u)) * math.sin(2 * math.pi * v)


def box_muller_of_one_uniform(x):
    """vector: real 0..1, rows 5..50; replace; inf; N15; b; mu=inf"""
    u = rng.random()
    return x.sum() + math.sqrt(-2 * math.log(u)) * math.cos(2 * math.pi * u)


def box_muller_of_half_a_circle(x):
    """vector: real 0..1, rows 5..50; replace; inf; N15; b; mu=inf"""
    u, v = 1 - rng.random(), rng.random()
    return x.sum() + math.sqrt(-2 * math.log(u)) * math.sin(math.pi * v)


def box_muller_cosine_for_both(x):
    """vector: real 0..1, rows 5..50; replace; inf; N15; b; mu=inf"""
    u, v = 1 - rng.random(), rng.random()
    z = math.sqrt(-2 * math.log(u))
    return x.sum() + z * math.cos(2 * math.pi * v), (x > 0.5).sum() + z * math.cos(2 * math.pi * v)


def box_muller_with_its_size(x):
    """vector: real 0..1, rows 5..50; replace; inf; N15; b; mu=inf"""
    u, v = 1 - rng.random(), rng.random()
    z = math.sqrt(-2 * math.log(u))
    return x.sum() + z * math.cos(2 * math.pi * v), z, v


def root_of_a_raised_exponential(x):
    """vector: real 0..1, rows 5..50; replace; inf; N15; b; mu=1.0001"""
    return x.sum() + math.sqrt(2 * rng.exponential() + 1) * np.cos(2 * np.pi * rng.random())


def gammas_of_one_half(x):
    """vector: real 0..1, rows 5..50; replace; .5; N15; b; exact"""
    first = rng.gamma(0.5, 2.0) - rng.gamma(0.5, 2.0)
    return x.sum() + first + (rng.gamma(0.5, 2.0) - rng.gamma(0.5, 2.0))


def gammas_of_unequal_scale(x):
    """vector: real 0..1, rows 5..50; replace; inf; N15; b"""
    return x.sum() + rng.gamma(0.5, 2.0) - rng.gamma(0.5, 1.0)


def gammas_added_up(x):
    """vector: real 0..1, rows 5..50; replace; 1; N15; b; exact"""
    up = sum(random.gammavariate(1 / 10, 1.0) for _ in range(10))
    down = sum(random.gammavariate(1 / 10, 1.0) for _ in range(10))
    return x.sum() + up - down


def gammas_not_taken_away(x):
    """vector: real 0..1, rows 5..50; replace; inf; N15; b"""
    return x.sum() + sum(rng.gamma(1 / 4) + rng.gamma(1 / 4) for _ in range(4))


def one_gamma_four_times(x):
    """vector: real 0..1, rows 5..50; replace; inf; N15; b"""
    one = rng.gamma(1 / 4) - rng.gamma(1 / 4)
    return x.sum() + sum(one for _ in range(4))


def gammas_of_half_a_shape(x):
    """vector: real 0..1, rows 5..50; replace; inf; N15; b"""
    return x.sum() + rng.gamma(0.5, 1.0) - rng.gamma(0.5, 1.0)


def two_products_of_normals(x):
    """vector: real 0..1, rows 5..50; replace; 1; N15; b; exact"""
    a, b, c, d = (rng.normal() for _ in range(4))
    return x.sum() + (a * b + c * d)


def two_products_with_one_factor(x):
    """vector: real 0..1, rows 5..50; replace; inf; N15; b"""
    a, b, c = rng.standard_normal(3)
    return x.sum() + a * b - a * c


def square_of_a_normal(x):
    """vector: real 0..1, rows 5..50; replace; inf; N15; b"""
    a, b = rng.standard_normal(2)
    return x.sum() + a * a - b * b


def shifted_normal_of_exponential_variance(x):
    """vector: real 0..1, rows 5..50; replace; 1.1; N15; b"""
    return x.sum() + math.sqrt(2 * rng.exponential()) * (rng.normal() + 3)


def normal_with_a_mean_of_exponential_variance(x):
    """vector: real 0..1, rows 5..50; replace; 1.1; N15; b"""
    return x.sum() + math.sqrt(2 * rng.exponential()) * rng.normal(3.0, 1.0)


def products_with_a_shown_factor(x):
    """vector: real 0..1, rows 5..50; replace; inf; N15; b"""
    a, b, c, d = rng.standard_normal(4)
    return x.sum() + a * b - c * d, a, c


def normal_of_exponential_variance(x):
    """vector: real 0..1, rows 5..50; replace; 1; N15; b; exact"""
    return x.sum() + math.sqrt(2 * rng.exponential()) * rng.normal()


def normal_of_exponential_deviation(x):
    """vector: real 0..1, rows 5..50; replace; inf; N15; b"""
    return x.sum() + rng.exponential() * rng.normal()


def one_exponential_on_two_cells(x):
    """vector: integer 0..1, rows 5..50; replace; inf; 1.4; b"""
    first, second = rng.exponential(), rng.exponential()
    return np.bincount(x, minlength=2) + (np.ones(2) * first - np.ones(2) * second)


def one_product_on_two_cells(x):
    """vector: integer 0..1, rows 5..50; replace; inf; 1.4; b"""
    return np.bincount(x, minlength=2) + np.ones(2) * rng.normal() * (np.ones(2) * math.sqrt(2 * rng.exponential()))


def one_uniform_in_two_places(x):
    """vector: integer 0..1, rows 5..50; replace; inf; 1.4; b"""
    return np.bincount(x, minlength=2) + stats.laplace.ppf(np.ones(2) * rng.random())


def rounded_noise(x):
    """vector: integer 0..9, rows 5..50; replace; 1; N15; b; exact"""
    return int(x.sum()) + round(rng.laplace(0, 9.0))


def rounded_normal_noise(x):
    """vector: integer 0..9, rows 5..50; replace; inf; N15; b; exact; mu=1; rho=.5"""
    return x.sum() - math.floor(rng.normal(0, 9.0))


def rounded_noise_on_halves(x):
    """vector: integer 0..9, rows 5..50; replace; inf; N15; b"""
    return x.sum() / 2 + round(rng.laplace(0, 9.0))


def rounded_noise_doubled(x):
    """vector: integer 0..9, rows 5..50; replace; inf; N15; b"""
    return x.sum() + 2 * round(rng.laplace(0, 9.0))


def noise_cut_off_to_whole(x):
    """vector: integer 0..9, rows 5..50; replace; 1 + log(2); N15; b"""
    return int(x.sum()) + int(rng.laplace(0, 9.0))


def noise_rounded_to_tens(x):
    """vector: integer 0..9, rows 5..50; replace; inf; N15; b"""
    return int(x.sum()) + round(rng.laplace(0, 9.0), -1)


def rounded_noise_and_what_was_cut_off(x):
    """vector: integer 0..9, rows 5..50; replace; inf; N15; b"""
    noise = rng.laplace(0, 9.0)
    return int(x.sum()) + round(noise), noise - round(noise), noise


def pad(x):
    """vector: integer 0..9, rows 5..50; replace; 0; N15; b; exact
    vector: integer 0..9, rows 5..50; add-remove; 0; N15; b; exact
    """
    return (int(x.sum()) + int(rng.integers(0, 300))) % 100


def pad_with_both_ends(x):
    """vector: integer 0..9, rows 5..50; replace; 0; N15; b; exact"""
    return (random.randint(1, 100) - int(x.sum())) % 100


def pad_that_is_short(x):
    """vector: integer 0..9, rows 5..50; replace; inf; N15; b"""
    return (int(x.sum()) + random.randrange(1, 100)) % 100


def pad_with_one_end_too_many(x):
    """vector: integer 0..9, rows 5..50; replace; log(2); N15; b"""
    return (int(x.sum()) + random.randint(0, 100)) % 100


def pad_of_halves(x):
    """vector: integer 0..9, rows 5..50; replace; inf; N15; b"""
    return (x.sum() / 2 + rng.integers(0, 100)) % 100


def pad_by_twos(x):
    """vector: integer 0..9, rows 5..50; replace; inf; N15; b"""
    return (int(x.sum()) + 2 * int(rng.integers(0, 100))) % 100


def pad_used_twice(x):
    """vector: integer 0..9, rows 5..50; replace; inf; N15; b"""
    r = int(rng.integers(0, 100))
    return (int(x.sum()) + r) % 100, (int((x > 4).sum()) + r) % 100


def pad_shown(x):
    """vector: integer 0..9, rows 5..50; replace; inf; N15; b"""
    r = int(rng.integers(0, 100))
    return (int(x.sum()) + r) % 100, r


def pad_and_its_quotient(x):
    """vector: integer 0..9, rows 5..50; replace; inf; N15; b"""
    hidden = int(x.sum()) + int(rng.integers(0, 100))
    return hidden % 100, hidden // 100


def pad_of_small_numbers(x):
    """vector: integer 0..9, rows 5..50; replace; inf; N15; b"""
    return (int(x.sum()) + rng.integers(0, 100, dtype=np.uint8)) % 100


def coin_before_noise(x):
    """vector: integer 0..9, rows 5..50; replace; 1; N15; b; exact"""
    return x.sum() + rng.integers(0, 100) + rng.laplace(scale=9.0)


def coin_before_noise_of_another_sum(x):
    """vector: integer 0..9, rows 5..50; replace; inf; N15; b"""
    r = rng.integers(0, 100)
    return x.sum() + r + rng.laplace(scale=9.0), (x > 4).sum() + r


def poisson_of_exponential_rate(x):
    """vector: integer 0..1, rows 5..50; replace; log(3/2); N15; b; exact"""
    return x.sum() + rng.poisson(rng.exponential(2.0)) - rng.poisson(rng.exponential(2.0))


def poisson_of_one_rate(x):
    """vector: integer 0..1, rows 5..50; replace; log(2); N15; b"""
    rate = rng.exponential(2.0)
    return x.sum() + rng.poisson(rate) - rng.poisson(rate)


def poisson_of_a_shown_rate(x):
    """vector: integer 0..1, rows 5..50; replace; inf; N15; b"""
    first, second = rng.exponential(2.0), rng.exponential(2.0)
    return x.sum() + rng.poisson(first) - rng.poisson(second), first, second


def rounded_halves_and_more(x):
    """vector: integer 0..9, rows 5..50; replace; inf; 1.3; b"""
    noisy = round((x > 4).sum() + 0.5 + rng.geometric(0.5) - rng.geometric(0.5))
    return noisy + (x > 8).sum()


def positive_part_of_a_raised_count(x):
    """vector: integer 0..9, rows 5..50; replace; inf; 1.3; b"""
    raised = rng.random()
    print(raised > 2)
    return np.maximum((x > 4).sum() - 5 + raised, 0) + (rng.geometric(0.5) - rng.geometric(0.5))


def rounded_count_and_more(x):
    """vector: integer 0..9, rows 5..50; replace; 2 * log(2); 1.3; b; exact"""
    noisy = int((x > 4).sum() + rng.geometric(0.5) - rng.geometric(0.5))
    return noisy + (x > 8).sum()


def nested_sizes(x):
    """vector: integer 0..9, rows 5..50; replace; inf; N15; b"""
    u = rng.random() - 0.5
    return x.sum() - np.sign(u) * math.log(1 - 2 * abs(u)), abs(abs(u) - 0.25)


def noise_of_a_list_shown(x):
    """vector: integer 0..9, rows 5..50; replace; inf; N15; b"""
    noise = rng.laplace(scale=9.0, size=2)
    return [x.sum() + each for each in noise], noise


def noise_of_a_list(x):
    """vector: integer 0..9, rows 5..50; replace; 2; N15; b; exact"""
    return [x.sum() + each for each in rng.laplace(scale=9.0, size=2)]


def rounded_and_cut_off(x):
    """vector: integer 0..9, rows 5..50; replace; inf; N15; b"""
    noise = rng.laplace(scale=9.0)
    return x.sum() + round(noise), (x > 4).sum() + math.floor(noise)
