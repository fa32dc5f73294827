"""Noise: laws, scales, signs, lattices, broadcasting, draws used twice, seeds. The docstring of each is its row."""

import copy
import math
import random

import numpy as np
from scipy import stats


def scales_on_cells(x):
    """vector: integer 0..3, rows 5..50; replace; 1000.5; 1.14; a; exact
    vector: integer 0..3, rows 5..50; add-remove; 1000; 1.14; a; exact
    """
    rng = np.random.default_rng()
    return np.bincount(x, minlength=4) + rng.laplace(scale=np.array([2.0, 2.0, 2.0, 0.001]))


def one_scale_on_cells(x):
    """vector: integer 0..3, rows 5..50; replace; 1; 1.14; a; exact
    vector: integer 0..3, rows 5..50; add-remove; .5; 1.14; a; exact
    """
    return np.bincount(x, minlength=4) + np.random.default_rng().laplace(scale=2.0, size=4)


def sum_and_ten_draws(x):
    """vector: real 0..10, rows 5..50; replace; 10; 1.4; a; exact"""
    return x.sum() + np.random.default_rng().laplace(scale=10.0, size=10)


def sum_and_a_matrix_of_draws(x):
    """vector: real 0..10, rows 5..50; replace; 6; 1.4; a; exact"""
    return x.sum() + np.random.default_rng().laplace(scale=10.0, size=(2, 3))


def cells_and_one_draw(x):
    """vector: integer 0..3, rows 5..50; replace; inf; 1.4; a"""
    return np.bincount(x, minlength=4) + np.random.default_rng().laplace(scale=2.0)


def cells_and_a_draw_of_size_one(x):
    """vector: integer 0..3, rows 5..50; replace; inf; 1.4; a"""
    return np.bincount(x, minlength=4) + np.random.default_rng().laplace(scale=2.0, size=1)


def one_draw_in_a_list(x):
    """vector: integer 0..3, rows 5..50; replace; inf; 1.4; a"""
    return np.bincount(x, minlength=4) + np.array([np.random.default_rng().laplace(scale=2.0)] * 4)


def one_draw_filled(x):
    """vector: integer 0..3, rows 5..50; replace; inf; 1.4; a"""
    return np.bincount(x, minlength=4) + np.full(4, np.random.default_rng().laplace(scale=2.0))


def one_draw_repeated(x):
    """vector: integer 0..3, rows 5..50; replace; inf; 1.4; a"""
    return np.bincount(x, minlength=4) + np.repeat(np.random.default_rng().laplace(scale=2.0, size=2), 2)


def draws_picked_twice(x):
    """vector: integer 0..3, rows 5..50; replace; inf; 1.4; a"""
    z = np.random.default_rng().laplace(scale=2.0, size=2)
    return np.bincount(x, minlength=4) + z[[0, 0, 1, 1]]


def draws_tiled(x):
    """vector: integer 0..3, rows 5..50; replace; inf; 1.4; a"""
    return np.bincount(x, minlength=4) + np.tile(np.random.default_rng().laplace(scale=2.0, size=2), 2)


def draws_with_an_axis(x):
    """vector: integer 0..3, rows 5..50; replace; inf; 1.4; a"""
    h = np.bincount(x, minlength=4)
    return np.array([h, h]) + np.random.default_rng().laplace(scale=2.0, size=2)[:, None]


def cells_in_columns(x):
    """vector: integer 0..3, rows 5..50; replace; 3; 1.4; a; exact"""
    return np.bincount(x, minlength=4)[:, None] + np.random.default_rng().laplace(scale=2.0, size=(4, 3))


def draws_reversed_twice(x):
    """vector: integer 0..3, rows 5..50; replace; inf; 1.4; a"""
    h = np.bincount(x, minlength=4)
    z = np.random.default_rng().laplace(scale=2.0, size=4)
    return h + z, h + z[::-1]


def draw_taken_back(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.17; a"""
    z = np.random.default_rng().laplace(scale=10.0)
    y = x.sum() + z
    return y - z


def two_sums_one_draw(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.17; a"""
    z = np.random.default_rng().laplace(scale=10.0)
    return x.sum() + z, (x > 5).sum() + z


def draw_shown_too(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.17; a"""
    z = np.random.default_rng().laplace(scale=10.0)
    return x.sum() + z, z


def sign_of_the_draw_shown(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.17; a"""
    z = np.random.default_rng().normal(scale=10.0)
    return x.sum() + z, np.round(z, 6)


def last_turns_draw(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.17; a"""
    rng = np.random.default_rng()
    z, found = rng.laplace(scale=10.0), []
    for bound in (2, 4, 6):
        found.append((x > bound).sum() + z)
        if bound == 4:
            z = rng.laplace(scale=10.0)
    return found


def draw_returned_from_a_helper(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.17; a"""
    kept = []
    y = x.sum() + _kept(kept)
    return y - kept[0]


def _kept(kept):
    kept.append(np.random.default_rng().laplace(scale=10.0))
    return kept[0]


def half_of_a_pair_taken_back(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.17; a"""
    z = np.random.default_rng().laplace(scale=10.0, size=2)
    y = np.array([x.sum(), (x > 5).sum()]) + z
    return y, z[1]


def generator_copied(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.17; a"""
    rng = np.random.default_rng()
    twin = copy.deepcopy(rng)
    return x.sum() + rng.laplace(scale=10.0), (x > 5).sum() + twin.laplace(scale=10.0)


def state_restored(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.17; a"""
    rng = np.random.default_rng()
    state = rng.bit_generator.state
    first = x.sum() + rng.laplace(scale=10.0)
    rng.bit_generator.state = state
    return first, (x > 5).sum() + rng.laplace(scale=10.0)


def global_state_restored(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.17; a"""
    state = random.getstate()
    first = x.sum() + random.gauss(0, 10)
    random.setstate(state)
    return first, (x > 5).sum() + random.gauss(0, 10)


def two_generators_of_one_seed(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.17; a"""
    seed = np.random.SeedSequence()
    one, two = np.random.default_rng(seed), np.random.default_rng(seed)
    return x.sum() + one.laplace(scale=10.0), (x > 5).sum() + two.laplace(scale=10.0)


def one_generator_twice(x):
    """vector: real 0..10, rows 5..50; replace; 1.1; 1.17; a; exact"""
    one = np.random.default_rng()
    two = np.random.default_rng(one.bit_generator)
    return x.sum() + one.laplace(scale=10.0), (x > 5).sum() + two.laplace(scale=10.0)


def two_fresh_draws(x):
    """vector: real 0..10, rows 5..50; replace; 1.1; 1.17; a; exact"""
    rng = np.random.default_rng()
    return x.sum() + rng.laplace(scale=10.0), (x > 5).sum() + rng.laplace(scale=10.0)


def released_value_used_again(x):
    """vector: real 0..10, rows 5..50; replace; 1; 1.17; a; exact"""
    y = x.sum() + np.random.default_rng().laplace(scale=10.0)
    return y, 2 * y, max(y, 0.0)


def seed_written_down(x):
    """vector: real 0..10, rows 5..50; replace; inf; 3 seeds; a"""
    return x.sum() + np.random.default_rng(7).laplace(scale=10.0)


def seed_from_the_caller(x, seed=None):
    """vector: real 0..10, rows 5..50; replace; inf; 3 seeds; a; seed=0
    vector: real 0..10, rows 5..50; replace; 1; 3 seeds; a; exact
    """
    return x.sum() + np.random.default_rng(seed).laplace(scale=10.0)


def seeded_by_default(x, rng=np.random.default_rng(0)):  # noqa: B008
    """vector: real 0..10, rows 5..50; replace; inf; 1.17; a"""
    return x.sum() + rng.laplace(scale=10.0)


def seeded_globally(x):
    """vector: real 0..10, rows 5..50; replace; inf; 3 seeds; a"""
    np.random.seed(0)  # noqa: NPY002
    return x.sum() + np.random.laplace(scale=10.0)  # noqa: NPY002


def seeded_in_a_helper(x):
    """vector: real 0..10, rows 5..50; replace; inf; 3 seeds; a"""
    _prepare()
    return x.sum() + random.gauss(0, 10)


def _prepare():
    random.seed(1)


def old_state_of_a_seed(x):
    """vector: real 0..10, rows 5..50; replace; inf; 3 seeds; a"""
    return x.sum() + np.random.RandomState(3).laplace(scale=10.0)


def seed_of_the_data(x):
    """vector: integer 0..10, rows 5..50; replace; inf; 3 seeds; a"""
    return x.sum() + np.random.default_rng(int(x[0])).laplace(scale=10.0)


def seeded_scipy(x):
    """vector: real 0..10, rows 5..50; replace; inf; 3 seeds; a"""
    return x.sum() + stats.laplace.rvs(scale=10.0, random_state=5)


def generator_or_none(x, rng=None):
    """vector: real 0..10, rows 5..50; replace; 1; 3 seeds; a; exact"""
    rng = np.random.default_rng() if rng is None else rng
    return x.sum() + rng.laplace(scale=10.0)


def twice_a_geometric_difference(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.3; a"""
    rng = np.random.default_rng()
    return (x > 5).sum() + 2 * (rng.geometric(0.5) - rng.geometric(0.5))


def geometric_difference(x):
    """vector: real 0..10, rows 5..50; replace; log(2); 1.3; a; exact"""
    rng = np.random.default_rng()
    return (x > 5).sum() + rng.geometric(0.5) - rng.geometric(0.5)


def moves_of_three_steps_of_two(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.3; a"""
    rng = np.random.default_rng()
    return 3 * (x > 5).sum() + 2 * (rng.geometric(0.5) - rng.geometric(0.5))


def moves_and_steps_of_two(x):
    """vector: real 0..10, rows 5..50; replace; log(2); 1.3; a; exact"""
    rng = np.random.default_rng()
    return 2 * (x > 5).sum() + 2 * (rng.geometric(0.5) - rng.geometric(0.5))


def moves_of_four_steps_of_two(x):
    """vector: real 0..10, rows 5..50; replace; 2*log(2); 1.3; a; exact"""
    rng = np.random.default_rng()
    return 4 * (x > 5).sum() + 2 * (rng.geometric(0.5) - rng.geometric(0.5))


def steps_between_halves(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.3; a"""
    rng = np.random.default_rng()
    return (x > 5).sum() / 2 + (rng.geometric(0.5) - rng.geometric(0.5))


def real_sum_and_steps(x):
    """vector: real 0..1, rows 5..50; replace; inf; 1.3; a"""
    rng = np.random.default_rng()
    return x.sum() + rng.geometric(0.5) - rng.geometric(0.5)


def mean_and_steps(x):
    """vector: integer 0..1, rows 5..50; replace; inf; 1.3; a"""
    return x.mean() + stats.dlaplace.rvs(0.5)


def floor_of_a_sum(x):
    """vector: real 0..0.9, rows 5..50; replace; log(2); 1.3; a; exact"""
    rng = np.random.default_rng()
    return np.floor(x.sum()) + rng.geometric(0.5) - rng.geometric(0.5)


def floor_that_moves_two(x):
    """vector: real 0..1.5, rows 5..50; replace; 2*log(2); 1.3; a; exact"""
    rng = np.random.default_rng()
    return np.floor(x.sum()) + rng.geometric(0.5) - rng.geometric(0.5)


def int_of_a_sum(x):
    """vector: real 0..0.9, rows 5..50; replace; log(2); 1.3; a; exact"""
    rng = np.random.default_rng()
    return int(x.sum()) + rng.geometric(0.5) - rng.geometric(0.5)


def rounded_sum(x):
    """vector: real 0..0.3, rows 5..50; replace; log(2); 1.3; a; exact"""
    rng = np.random.default_rng()
    return round(x.sum()) + rng.geometric(0.5) - rng.geometric(0.5)


def halves_rounded_to_even(x):
    """vector: real 0..1, rows 5..50; replace; 2; 1.3; a; exact"""
    return round(x.sum()) + np.random.default_rng().laplace(scale=1.0)


def halves_rounded_to_even_by_numpy(x):
    """vector: real 0..1, rows 5..50; replace; 2*log(2); 1.3; a; exact
    vector: real 0..3, rows 5..50; add-remove; 4*log(2); 1.3; a; exact
    """
    rng = np.random.default_rng()
    return np.round(x.sum()) + rng.geometric(0.5) - rng.geometric(0.5)


def halves_rounded_to_even_by_rint(x):
    """vector: real 0..1, rows 5..50; replace; inf; 1.3; a; mu=2; rho=2; exact"""
    return np.rint(x.sum()) + np.random.default_rng().normal()


def tenths_rounded_to_even(x):
    """vector: real 0..0.1, rows 5..50; replace; 0.2; 1.3; a"""
    return np.round(x.sum(), 1) + np.random.default_rng().laplace(scale=1.0)


def floor_of_whole_moves(x):
    """vector: real 0..1, rows 5..50; replace; 1; 1.3; a; exact"""
    return np.floor(x.sum()) + np.random.default_rng().laplace(scale=1.0)


def floor_and_laplace(x):
    """vector: real 0..0.25, rows 5..50; replace; 4; 1.3; a; exact"""
    return np.floor(x.sum()) + np.random.default_rng().laplace(scale=0.25)


def two_rates(x):
    """vector: real 0..10, rows 5..50; replace; log(2); 3 geometric; a; exact"""
    rng = np.random.default_rng()
    return (x > 5).sum() + rng.geometric(0.5) - rng.geometric(0.25)


def one_geometric_only(x):
    """vector: real 0..10, rows 5..50; replace; inf; 3 geometric; a"""
    return (x > 5).sum() + np.random.default_rng().geometric(0.5)


def sum_of_geometrics(x):
    """vector: real 0..10, rows 5..50; replace; inf; 3 geometric; a"""
    rng = np.random.default_rng()
    return (x > 5).sum() + rng.geometric(0.5) + rng.geometric(0.5)


def discrete_laplace(x):
    """vector: real 0..10, rows 5..50; replace; 2; 3 geometric; a; exact"""
    return (x > 5).sum() + stats.dlaplace.rvs(2)


def numpy_geometric_of_eps(x):
    """vector: real 0..10, rows 5..50; replace; .5; 3 geometric; a; exact"""
    rng = np.random.default_rng()
    p = 1 - math.exp(-0.5)
    return (x > 5).sum() + rng.geometric(p) - rng.geometric(p)


def scipy_geometric(x):
    """vector: real 0..10, rows 5..50; replace; log(2); 3 geometric; a; exact"""
    return (x > 5).sum() + stats.geom.rvs(0.5) - stats.geom.rvs(0.5, loc=3)


def scale_zero(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.14; a"""
    return x.sum() + np.random.default_rng().laplace(scale=0.0)


def scale_zero_in_one_cell(x):
    """vector: integer 0..3, rows 5..50; replace; inf; 1.14; a"""
    return np.bincount(x, minlength=4) + np.random.default_rng().laplace(scale=np.array([2.0, 2.0, 0.0, 2.0]))


def noise_half_of_the_time(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.14; a"""
    rng = np.random.default_rng()
    return x.sum() + rng.laplace(scale=10.0) * (rng.random() < 0.5)


def noise_times_zero(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.14; a"""
    return x.sum() + 0 * np.random.default_rng().laplace(scale=10.0)


def scale_of_the_data(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.14; a"""
    return x.sum() + np.random.default_rng().laplace(scale=x.max() + 1)


def scale_of_the_size(x):
    """vector: real 0..10, rows 5..50; add-remove; inf; 1.14; a
    vector: real 0..10, rows 5..50; replace; 50; 1.14; a; exact
    """
    return x.sum() + np.random.default_rng().laplace(scale=10 / len(x))


def noise_times_the_sum(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.20; a"""
    return x.sum() * np.random.default_rng().laplace(scale=10.0)


def noisy_scale(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.14; b"""
    rng = np.random.default_rng()
    y = x.sum() + rng.laplace(scale=10.0)
    return y, x.sum() + rng.laplace(scale=abs(y))


def scaled_sum_and_unscaled_noise(x):
    """vector: real 0..10, rows 5..50; replace; 3; 2 moves; a; exact"""
    return 3 * x.sum() + np.random.default_rng().laplace(scale=10.0)


def noise_scaled_down(x):
    """vector: real 0..10, rows 5..50; replace; 4; 2 moves; a; exact"""
    return x.sum() + np.random.default_rng().laplace(scale=10.0) / 4


def noise_scaled_and_turned(x):
    """vector: real 0..10, rows 5..50; replace; 2; 1.1; a; exact"""
    return x.sum() + -0.5 * np.random.default_rng().laplace(scale=10.0)


def loc_and_not_scale(x):
    """vector: real 0..10, rows 5..50; replace; 10; 3 keywords; a; exact"""
    return x.sum() + np.random.default_rng().laplace(10.0)


def loc_and_scale_by_place(x):
    """vector: real 0..10, rows 5..50; replace; 2; 3 keywords; a; exact"""
    return x.sum() + np.random.default_rng().laplace(10.0, 5.0)


def scipy_loc(x):
    """vector: real 0..10, rows 5..50; replace; 10; 3 Gaussian; a; exact"""
    return x.sum() + stats.laplace.rvs(10.0)


def scipy_normal_loc(x):
    """vector: real 0..10, rows 5..50; replace; inf; 3 Gaussian; a; mu=10; rho=50; exact"""
    return x.sum() + stats.norm.rvs(10.0)


def normal_loc(x):
    """vector: real 0..10, rows 5..50; replace; inf; 3 Gaussian; a; mu=10; rho=50; exact"""
    return x.sum() + np.random.default_rng().normal(10.0)


def normal_scale(x):
    """vector: real 0..10, rows 5..50; replace; inf; 3 Gaussian; a; mu=1; rho=.5; exact
    vector: real -10..5, rows 5..50; add-remove; inf; 3 Gaussian; a; mu=1; rho=.5; exact
    """
    return x.sum() + np.random.default_rng().normal(scale=10.0)


def gauss_of_random(x):
    """vector: real 0..10, rows 5..50; replace; inf; 3 Gaussian; a; mu=2; rho=2; exact"""
    return x.sum() + random.gauss(0, 5)


def covariance(x):
    """vector: integer 0..3, rows 5..50; replace; inf; 3 Gaussian; a; mu=sqrt(.5); rho=.25; exact"""
    return np.bincount(x, minlength=4) + np.random.default_rng().multivariate_normal(np.zeros(4), 4 * np.eye(4))


def gaussian_scales_on_cells(x):
    """vector: integer 0..3, rows 5..50; replace; inf; 1.19; a; mu=sqrt(1.25); rho=.625; exact"""
    return np.bincount(x, minlength=4) + np.random.default_rng().normal(scale=np.array([2.0, 2.0, 1.0, 2.0]))


def gaussian_counts_of_two_halves(x):
    """vector: real 0..100, rows 5..50; replace; inf; 1.19; a; mu=sqrt(2); rho=1; exact"""
    rng = np.random.default_rng()
    return (x <= 50).sum() + rng.normal(), (x > 50).sum() + rng.normal()


def logistic_noise(x):
    """vector: real 0..1, rows 5..50; replace; .999; 3 geometric; later"""
    return x.sum() + np.random.default_rng().logistic(scale=1.0)


def student_noise(x):
    """vector: real 0..1, rows 5..50; replace; .962; 3 geometric; later"""
    return x.sum() + np.random.default_rng().standard_t(1)


def uniform_noise(x):
    """vector: real 0..10, rows 5..50; replace; inf; 3 geometric; a"""
    return x.sum() + np.random.default_rng().uniform(-100, 100)


def whole_uniform_noise(x):
    """vector: integer 0..10, rows 5..50; replace; inf; 3 geometric; a"""
    return x.sum() + np.random.default_rng().integers(-100, 100)


def exponential_noise(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.1; a"""
    return x.sum() + np.random.default_rng().exponential(10.0)


def gumbel_noise(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.1; a"""
    return x.sum() + np.random.default_rng().gumbel(scale=10.0)


def exponential_difference(x):
    """vector: real 0..10, rows 5..50; replace; 1; 3 laws; a; exact"""
    rng = np.random.default_rng()
    return x.sum() + rng.exponential(10.0) - rng.exponential(10.0)


def exponential_minus_itself(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.17; a"""
    e = np.random.default_rng().exponential(10.0)
    return x.sum() + e - e


def rate_and_not_scale(x):
    """vector: real 0..1, rows 5..50; replace; 5; 3 laws; a; exact"""
    return x.sum() + random.expovariate(5) - random.expovariate(5)


def scipy_exponential_loc(x):
    """vector: real 0..1, rows 5..50; replace; 1; 3 laws; a; exact"""
    return x.sum() + stats.expon.rvs(5) - stats.expon.rvs(5)


def mean_of_four_draws(x):
    """vector: real 0..1, rows 5..50; replace; 3.999; 3 laws; later"""
    return x.sum() + np.random.default_rng().laplace(scale=1.0, size=4).mean()


def noise_squared(x):
    """vector: real 0..10, rows 5..50; replace; inf; 3 laws; a"""
    return x.sum() + np.random.default_rng().laplace(scale=10.0) ** 2


def noise_without_sign(x):
    """vector: real 0..10, rows 5..50; replace; inf; 3 laws; a"""
    return x.sum() + abs(np.random.default_rng().laplace(scale=10.0))


def noise_clipped(x):
    """vector: real 0..10, rows 5..50; replace; inf; 3 laws; a"""
    return x.sum() + np.clip(np.random.default_rng().laplace(scale=10.0), -30, 30)


def noise_rounded(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.28; a"""
    return x.sum() + round(np.random.default_rng().laplace(scale=10.0))


def noise_made_whole(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.28; a"""
    return x.sum() + int(np.random.default_rng().laplace(scale=10.0))


def noise_in_single_precision(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.28; a"""
    return x.sum() + np.float32(np.random.default_rng().laplace(scale=10.0))


def noise_outside_of_a_clip(x):
    """vector: real 0..10, rows 5..50; replace; 1; 1.28; a; exact"""
    return np.clip(x.sum() + np.random.default_rng().laplace(scale=10.0), 0, 100)


def noise_multiplied_by_noise(x):
    """vector: real 0..10, rows 5..50; replace; inf; 3 laws; a"""
    rng = np.random.default_rng()
    return (x.sum() + rng.laplace(scale=10.0)) * 0 + x.sum() * rng.laplace(scale=10.0)


def noise_on_one_of_two(x):
    """vector: real 0..10, rows 5..50; replace; inf; 3 outputs; a"""
    h = np.array([x.sum(), (x > 5).sum()], dtype=float)
    h[0] += np.random.default_rng().laplace(scale=10.0)
    return h


def noise_in_a_branch_of_where(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.22; a"""
    return np.where(x > 5, x + np.random.default_rng().laplace(scale=10.0), x).sum()


def joint_scales(x):
    """vector: real 0..10, rows 5..50; add-remove; 2; 1.19; a; exact"""
    rng = np.random.default_rng()
    return (x <= 5).sum() + rng.laplace(scale=1.0), (x > 5).sum() + rng.laplace(scale=0.5)
