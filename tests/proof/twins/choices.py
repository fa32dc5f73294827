"""Choices and branches on noise. The docstring of a function is its row."""

import functools
import math

import numpy as np


def argmin_of_gumbel(x):
    """vector: integer 0..3, rows 20; replace; 1.99; 1.1; a"""
    return np.argmin(np.bincount(x, minlength=4) + np.random.default_rng().gumbel(scale=2.0, size=4))


def argmax_minus_gumbel(x):
    """vector: integer 0..3, rows 20; replace; 1.99; 1.1; a"""
    return np.argmax(np.bincount(x, minlength=4) - np.random.default_rng().gumbel(scale=2.0, size=4))


def argmax_of_the_negative(x):
    """vector: integer 0..3, rows 20; replace; 1.99; 1.1; a"""
    return np.argmax(-(np.bincount(x, minlength=4) + np.random.default_rng().gumbel(scale=2.0, size=4)))


def argmax_times_minus_one(x):
    """vector: integer 0..3, rows 20; replace; 1.99; 1.1; a"""
    z = -1 * np.random.default_rng().gumbel(scale=2.0, size=4)
    return (np.bincount(x, minlength=4) + z).argmax()


def argmin_minus_gumbel(x):
    """vector: integer 0..3, rows 20; replace; .9; 1.1; a; exact=1"""
    return np.argmin(np.bincount(x, minlength=4) - np.random.default_rng().gumbel(scale=2.0, size=4))


def argmax_of_gumbel(x):
    """vector: integer 0..3, rows 5..50; replace; .99; 1.1; a; exact=1
    vector: integer 0..3, rows 5..50; add-remove; .49; 1.1; a; exact=.5
    """
    return np.argmax(np.bincount(x, minlength=4) + np.random.default_rng().gumbel(scale=2.0, size=4))


def argmin_of_exponential(x):
    """vector: integer 0..4, rows 5..50; add-remove; 3.999; 1.1; a"""
    return np.argmin(np.bincount(x, minlength=5) + np.random.default_rng().exponential(1.0, size=5))


def argmax_of_exponential(x):
    """vector: integer 0..4, rows 5..50; add-remove; .99; 1.1; a; exact=1"""
    return np.argmax(np.bincount(x, minlength=5) + np.random.default_rng().exponential(1.0, size=5))


def argmin_of_gumbel_in_many_cells(x):
    """vector: integer 0..99, rows 100..101; add-remove; 6.48; 1.1; a"""
    return np.argmin(np.bincount(x, minlength=100) + np.random.default_rng().gumbel(scale=1.0, size=100))


def argmax_of_gumbel_in_many_cells(x):
    """vector: integer 0..99, rows 5..50; add-remove; .999; 1.2; a; exact=1
    vector: integer 0..99, rows 5..50; replace; 1.999; 1.2; a; exact=2
    """
    return np.argmax(np.bincount(x, minlength=100) + np.random.default_rng().gumbel(size=100))


def argmax_of_laplace(x):
    """vector: integer 0..3, rows 5..50; replace; 1.9; 1.2; a; exact=2"""
    return np.argmax(np.bincount(x, minlength=4) + np.random.default_rng().laplace(size=4))


def argmin_of_laplace(x):
    """vector: integer 0..3, rows 5..50; replace; 1.9; 1.2; a; exact=2"""
    return np.argmin(np.bincount(x, minlength=4) + np.random.default_rng().laplace(size=4))


def argmax_with_one_draw(x):
    """vector: integer 0..3, rows 5..50; replace; inf; 1.4; a"""
    return np.argmax(np.bincount(x, minlength=4) + np.random.default_rng().laplace(scale=2.0))


def argmax_and_the_maximum(x):
    """vector: integer 0..3, rows 5..50; replace; 1.99; 1.17; a"""
    noisy = np.bincount(x, minlength=4) + np.random.default_rng().laplace(size=4)
    return noisy.argmax(), noisy.max(), noisy


def argmax_and_bare_maximum(x):
    """vector: integer 0..3, rows 5..50; replace; inf; 3 outputs; a"""
    h = np.bincount(x, minlength=4)
    best = np.argmax(h + np.random.default_rng().laplace(size=4))
    return best, h[best]


def argmax_bare(x):
    """vector: integer 0..3, rows 5..50; replace; inf; 3 outputs; a"""
    return np.bincount(x, minlength=4).argmax()


def argmax_in_each_row(x):
    """vector: integer 0..3, rows 5..50; replace; 9.99; 3 axis; a"""
    return np.argmax(np.bincount(x, minlength=4) + np.random.default_rng().gumbel(scale=2.0, size=(10, 4)), axis=1)


def argmax_of_uniform(x):
    """vector: integer 0..3, rows 5..50; replace; inf; 1.1; a"""
    return np.argmax(np.bincount(x, minlength=4) + np.random.default_rng().random(4))


def argmax_with_scales(x):
    """vector: integer 0..3, rows 5..50; replace; 1.9; 1.14; a"""
    return np.argmax(
        np.bincount(x, minlength=4) + np.random.default_rng().laplace(scale=np.array([9.0, 1.0, 1.0, 9.0]))
    )


def _softmax(s):
    w = np.exp(s)
    return w / w.sum()


def choice_of_softmax(x):
    """vector: integer 0..3, rows 5..50; replace; .999; 1.10; a; exact=1"""
    return np.random.default_rng().choice(4, p=_softmax(0.5 * np.bincount(x, minlength=4)))


def hundred_choices(x):
    """vector: integer 0..3, rows 5..50; replace; 99.9; 1.10; a"""
    return np.random.default_rng().choice(4, size=100, p=_softmax(0.5 * np.bincount(x, minlength=4)))


def choices_by_place(x):
    """vector: integer 0..3, rows 5..50; replace; 2.99; 1.10; a"""
    return np.random.default_rng().choice(4, 3, p=_softmax(0.5 * np.bincount(x, minlength=4)))


def two_without_replacement(x):
    """vector: integer 0..2, rows 5..50; replace; 1.49; 1.10; later"""
    p = _softmax(0.5 * np.bincount(x, minlength=3))
    return np.random.default_rng().choice(3, size=2, replace=False, p=p)


def rounded_probabilities(x):
    """vector: integer 0..3, rows 5..50; replace; inf; 1.10; a"""
    p = np.round(_softmax(0.5 * np.bincount(x, minlength=4)), 3)
    return np.random.default_rng().choice(4, p=p / p.sum())


def weights_that_underflow(x):
    """vector: integer 0..1, rows 5..50; replace; inf; 1.10; a"""
    h = np.bincount(x, minlength=2)
    return np.random.default_rng().choice(2, p=_softmax(100.0 * (h - h.max())))


def choice_of_frequencies(x):
    """vector: integer 0..3, rows 5..50; replace; inf; 1.10; a"""
    h = np.bincount(x, minlength=4)
    return np.random.default_rng().choice(4, p=h / h.sum())


def choice_of_smoothed_frequencies(x):
    """vector: integer 0..3, rows 5..50; replace; log(2); 1.10; b; exact"""
    return np.random.default_rng().choice(4, p=(np.bincount(x, minlength=4) + 1) / (len(x) + 4))


def choice_of_a_row(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.10; a"""
    return np.random.default_rng().choice(x)


def choice_of_a_weighted_row(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.10; a"""
    return np.random.default_rng().choice(x, p=_softmax(-x / 100))


def choice_with_a_foreign_sum(x):
    """vector: integer 0..3, rows 5..50; replace; inf; 1.10; a"""
    h = np.bincount(x, minlength=4)
    w = np.exp(0.5 * h)
    return np.random.default_rng().choice(4, p=w / np.exp(0.5 * (h + 1)).sum())


def candidates_of_the_data(x):
    """vector: integer 0..3, rows 5..50; replace; inf; 1.10; a"""
    h = np.bincount(x, minlength=4)
    return np.random.default_rng().choice(np.flatnonzero(h > 0))


def exponent_doubled(x):
    """vector: integer 0..3, rows 5..50; replace; 1.999; 1.10; a; exact=2"""
    return np.random.default_rng().choice(4, p=_softmax(1.0 * np.bincount(x, minlength=4)))


def coin_that_is_sure(x):
    """vector: real 0..1, rows 5..50; replace; inf; 1.11; b"""
    return np.random.default_rng().random() < np.exp(-x.mean() / 10)


def coin_that_clamps(x):
    """vector: real 0..1, rows 5..50; replace; inf; 1.11; b"""
    return np.random.default_rng().random() < x.sum() / 10


def coin_below_one_half(x):
    """vector: real 0..1, rows 5; replace; log(1.4); 1.11; b"""
    return np.random.default_rng().random() < 0.25 + 0.5 * x.mean()


def coin_in_three_parts(x):
    """vector: real 0..1, rows 5..50; replace; inf; 1.11; b"""
    u = np.random.default_rng().random()
    if u < 0.25 + 0.25 * x.mean():
        return 0
    if u < 0.5:
        return 1
    return 2


def coin_shown(x):
    """vector: real 0..1, rows 5..50; replace; inf; 1.11; b"""
    u = np.random.default_rng().random()
    return u < 0.25 + 0.5 * x.mean(), u


def coin_that_shows_the_sum(x):
    """vector: real 0..1, rows 5..50; replace; inf; 3 paths; a"""
    return x.sum() if np.random.default_rng().random() < 1e-9 else 0.0


def second_query_on_both_sides(x):
    """vector: real 0..100, rows 5..50; replace; 1; 3 paths; a; exact"""
    rng = np.random.default_rng()
    y = x.sum() + rng.laplace(scale=200.0)
    if y > 1000:
        return y, (x > 50).sum() + rng.laplace(scale=2.0)
    return y, x.sum() + rng.laplace(scale=200.0)


def more_on_the_rarer_side(x):
    """vector: real 0..100, rows 5..50; replace; 2; 3 paths; a; exact"""
    rng = np.random.default_rng()
    y = x.sum() + rng.laplace(scale=200.0)
    if y > 10000:
        return y, x.sum() + rng.laplace(scale=200.0 / 3)
    return y, 0.0


def bare_on_the_rarer_side(x):
    """vector: real 0..100, rows 5..50; replace; inf; 3 paths; a"""
    y = x.sum() + np.random.default_rng().laplace(scale=100.0)
    if y > 1e6:
        return x.sum()
    return y


def bare_in_a_conditional(x):
    """vector: real 0..100, rows 5..50; replace; inf; 3 paths; a"""
    y = x.sum() + np.random.default_rng().laplace(scale=100.0)
    return y if y < 1e6 else x.sum()


def bare_after_and(x):
    """vector: real 0..100, rows 5..50; replace; inf; 3 paths; a"""
    y = x.sum() + np.random.default_rng().laplace(scale=100.0)
    return (y > 1e6 and x.sum()) or y


def bare_in_a_chain(x):
    """vector: real 0..100, rows 5..50; replace; inf; 3 paths; a"""
    y = x.sum() + np.random.default_rng().laplace(scale=100.0)
    if 0 < y < 1e-3:
        return x.sum()
    return y


def bare_where_all_are_small(x):
    """vector: integer 0..3, rows 5..50; replace; inf; 3 paths; a"""
    h = np.bincount(x, minlength=4)
    noisy = h + np.random.default_rng().laplace(scale=2.0, size=4)
    if not any(v > -1000 for v in noisy):
        return h
    return noisy


def bare_in_a_match(x):
    """vector: real 0..100, rows 5..50; replace; inf; 3 paths; a"""
    y = x.sum() + np.random.default_rng().laplace(scale=100.0)
    match bool(y > 1e5):
        case True:
            return x.sum()
        case _:
            return y


def bare_after_an_exception(x):
    """vector: real 0..100, rows 5..50; replace; inf; 3 paths; a"""
    y = x.sum() + np.random.default_rng().laplace(scale=100.0)
    try:
        assert y < 1e5
        return y
    except AssertionError:
        return x.sum()


def bare_by_an_index(x):
    """vector: real 0..100, rows 5..50; replace; inf; 3 paths; a"""
    y = x.sum() + np.random.default_rng().laplace(scale=100.0)
    return [y, x.sum()][int(y > 1e5)]


def bare_by_where(x):
    """vector: real 0..100, rows 5..50; replace; inf; 3 paths; a"""
    y = x.sum() + np.random.default_rng().laplace(scale=100.0)
    return np.where(y > 1e5, x.sum(), y)


def bare_by_maximum(x):
    """vector: real 0..100, rows 5..50; replace; inf; 3 paths; a"""
    return np.maximum(x.sum() + np.random.default_rng().laplace(scale=100.0), x.sum())


def bare_by_the_smallest_key(x):
    """vector: real 0..100, rows 5..50; replace; inf; 3 paths; a"""
    noise = np.random.default_rng().laplace(scale=100.0)
    return min([(noise, x.sum()), (0.0, 0.0)], key=lambda pair: pair[0])


def bare_after_many_branches(x):
    """vector: real 0..100, rows 5..50; replace; inf; 3 paths; a"""
    rng = np.random.default_rng()
    heads = 0
    for _ in range(300):
        if rng.random() < 0.5:
            heads += 1
    return x.sum() if heads == 0 else heads


def bare_at_the_end_of_a_loop(x):
    """vector: real 0..100, rows 5..50; replace; inf; 3 paths; b"""
    rng = np.random.default_rng()
    while rng.random() < 0.5:
        if rng.random() < 1e-6:
            return x.sum()
    return 0.0


def repeated_until_positive(x):
    """vector: real 0..100, rows 5..50; replace; 1.489; N15; later"""
    rng = np.random.default_rng()
    while True:
        y = (x > 50).sum() + rng.laplace(scale=1.0)
        if y >= 0:
            return y


def best_of_ten(x):
    """vector: real 0..100, rows 5..50; replace; 9.999; N15; b; exact=10"""
    rng = np.random.default_rng()
    return max((x > 50).sum() + rng.laplace(scale=1.0) for _ in range(10))


def ten_answers(x):
    """vector: real 0..100, rows 5..50; replace; 10; 3 paths; a; exact"""
    rng = np.random.default_rng()
    return [x.sum() + rng.laplace(scale=100.0) for _ in range(10)]


def fact_of_another_path(x):
    """vector: real 0..10, rows 5..50; replace; inf; 3 facts; b"""
    rng = np.random.default_rng()
    y = x.sum() + rng.laplace(scale=10.0)
    b = y if y > 1 else abs(y)
    return y, x.sum() + rng.laplace(scale=b)


def clip_at_a_noisy_bound(x):
    """vector: real 0..100, rows 5..50; replace; 2; N5; b; exact"""
    rng = np.random.default_rng()
    c = max((x > 50).sum() + rng.laplace(scale=1.0), 1.0)
    return c, np.clip(x, 0, c).sum() + rng.laplace(scale=c)


def clip_at_a_noisy_bound_and_fixed_noise(x):
    """vector: real 0..100, rows 5..50; replace; 101; N5; b"""
    rng = np.random.default_rng()
    c = max((x > 50).sum() + rng.laplace(scale=1.0), 1.0)
    return c, np.clip(x, 0, c).sum() + rng.laplace(scale=1.0)


def clip_at_a_noisy_bound_that_may_be_negative(x):
    """vector: real 0..100, rows 5..50; replace; inf; N5; b"""
    rng = np.random.default_rng()
    c = (x > 50).sum() + rng.laplace(scale=1.0)
    return c, np.clip(x, 0, abs(c)).sum() + rng.laplace(scale=c**2)


def always_true_by_the_schema(x):
    """vector: real 0..100, rows 5..50; replace; 1; 3 bool; b; exact"""
    if x.min() >= 0:
        return x.sum() + np.random.default_rng().laplace(scale=100.0)
    return x.sum()


def true_for_most_data(x):
    """vector: real 0..100, rows 5..50; replace; inf; 3 bool; a"""
    if x.min() > 0:
        return 1
    return 0


def branch_on_data(x):
    """vector: real 0..100, rows 5..50; replace; inf; 3 bool; a"""
    noise = np.random.default_rng().laplace(scale=100.0)
    return (noise, "many") if x.sum() > 100 else (noise, "few")


def threshold_without_noise(x):
    """vector: real 0..100, rows 5..50; replace; 5; 1.13; b"""
    rng = np.random.default_rng()
    for at in range(10):
        if (x > 50).sum() + rng.laplace(scale=2.0) > 25:
            return at
    return None


def threshold_without_a_stop(x):
    """vector: real 0..100, rows 50; replace; 7.99; 1.13; later"""
    rng = np.random.default_rng()
    s, t = (x > 50).sum() - 25, rng.laplace(scale=2.0)
    return [bool((s if at % 2 else -s) + rng.laplace(scale=4.0) > t) for at in range(32)]


def threshold_and_bare_answer(x):
    """vector: real 0..100, rows 5..50; replace; inf; 1.13; b"""
    rng = np.random.default_rng()
    t = 25 + rng.laplace(scale=2.0)
    for at in range(10):
        q = (x > 10 * at).sum()
        if q + rng.laplace(scale=4.0) > t:
            return at, q
    return None


def threshold_without_noise_of_queries(x):
    """vector: real 0..100, rows 5..50; replace; inf; 1.13; b"""
    t = np.random.default_rng().laplace(scale=2.0)
    return [bool((x > bound).sum() > 10 + t) for bound in (20, 50, 50, 80)], t


def one_draw_for_all_queries(x):
    """vector: real 0..100, rows 5..50; replace; inf; 1.13; b"""
    rng = np.random.default_rng()
    t, z = rng.laplace(scale=2.0), rng.laplace(scale=4.0)
    return [bool((x > bound).sum() + z > 10 + t) for bound in (20, 50, 80)], t - z


def draw_cached(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.26; a"""

    @functools.cache
    def noise():
        return np.random.default_rng().laplace(scale=10.0)

    return x.sum() + noise(), (x > 5).sum() + noise()


def shown_where_large(x):
    """vector: integer 0..3, rows 5..50; replace; 1; 1.27; b; exact"""
    noisy = np.bincount(x, minlength=4) + np.random.default_rng().laplace(scale=2.0, size=4)
    return {k: v for k, v in enumerate(noisy) if v > 3}


def shown_where_occurring(x):
    """vector: integer 0..3, rows 5..50; replace; inf; 1.27; b"""
    h = np.bincount(x, minlength=4)
    return {k: h[k] + np.random.default_rng().laplace(scale=2.0) for k in range(4) if h[k] > 0}


def sampled_rows_of_five_to_six(x):
    """vector: real 5..6, rows 5..50; replace; .9957; 1.7; later"""
    rng = np.random.default_rng()
    return x[rng.random(len(x)) < 0.5].sum() + rng.laplace(scale=1.0)


def sampled_rows_at_a_tenth(x):
    """vector: real 5..6, rows 5..50; replace; .962; 1.7; later"""
    rng = np.random.default_rng()
    return x[rng.random(len(x)) < 0.1].sum() + rng.laplace(scale=1.0)


def two_sums_of_one_sample(x):
    """vector: real 0..1, rows 5..50; add-remove; .4937; 1.7; later"""
    rng = np.random.default_rng()
    s = x[rng.random(len(x)) < 0.1]
    return s.sum() + rng.laplace(scale=1.0), s.sum() + rng.laplace(scale=1.0)


def size_of_the_coins(x):
    """vector: real 0..1, rows 5..50; add-remove; inf; 1.7; a"""
    m = np.random.default_rng().random(len(x)) < 0.5
    return m.size


def coins_shown(x):
    """vector: real 0..1, rows 5..50; add-remove; inf; 1.7; a"""
    return np.random.default_rng().random(len(x)) < 0.5


def coins_of_the_rows(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.7; a"""
    return (np.random.default_rng().random(len(x)) < x / 10).sum()


def rows_drawn_with_replacement(x):
    """vector: real 0..100, rows 5..50; replace; 14.7; 1.24; later"""
    rng = np.random.default_rng()
    return x[rng.integers(0, len(x), 50)].sum() + rng.laplace(scale=100.0)


def _told(v, rng):
    return v if rng.random() < math.e / (1 + math.e) else 1 - v


def told_twice_or_leaked(v):
    """value: integer 0..1; replace; inf; 1.8; later; claim=approx:1,0.42"""
    rng = np.random.default_rng()
    first = _told(v, rng)
    if first == 1:
        return first, _told(v, rng)
    return first, v if rng.random() < 0.3378 else None


def told_twice(v):
    """value: integer 0..1; replace; 2; 1.8; later; exact"""
    rng = np.random.default_rng()
    return _told(v, rng), _told(v, rng)


def more_gaussian_noise_on_one_side(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.8; b; mu=sqrt(1.25); rho=.625"""
    rng = np.random.default_rng()
    y = x.sum() + rng.normal(scale=10.0)
    if y > 1e4:
        return y, x.sum() + rng.normal(scale=20.0)
    return y, x.sum() + rng.normal(scale=20.0)


def less_gaussian_noise_on_the_rarer_side(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.8; b; mu=90; rho=4000; claim=zcdp:100"""
    rng = np.random.default_rng()
    y = x.sum() + rng.normal(scale=10.0)
    if y > 250:
        return y, x.sum() + rng.normal(scale=0.1)
    return y, x.sum() + rng.normal(scale=20.0)


def choice_by_scaled_gaps(x):
    """vector: integer 0..3, rows 5..50; replace; .999; 1.10; a; exact=1"""
    h = np.bincount(x, minlength=4)
    w = np.exp(0.5 * (h - h.max()) / 1)
    return np.random.default_rng().choice(4, p=w / w.sum())


def choice_by_gaps_of_a_list(x):
    """vector: integer 0..2, rows 5..50; replace; .999; 1.10; a; exact=1"""
    h = [(x == k).sum() for k in range(3)]
    w = [math.exp(0.5 * (each - max(h))) for each in h]
    return np.random.default_rng().choice(3, p=[each / sum(w) for each in w])


def choice_by_gaps_to_different_scores(x):
    """vector: integer 0..2, rows 5..50; replace; 1.49; 1.10; a"""
    h = [(x == k).sum() for k in range(3)]
    w = [math.exp(0.5 * (h[0] - max(h[0], h[1]))), math.exp(0.5 * (h[1] - max(h[1], h[2])))]
    return np.random.default_rng().choice(2, p=[each / sum(w) for each in w])


def choice_by_gaps_of_two_scales(x):
    """vector: integer 0..2, rows 5..50; replace; 1.49; 1.10; a"""
    h = [(x == k).sum() for k in range(3)]
    w = [math.exp(0.5 * (h[0] - max(h))), math.exp(1.0 * (h[1] - max(h)))]
    return np.random.default_rng().choice(2, p=[each / sum(w) for each in w])


def mean_around_a_rough_one(x):
    """vector: real 0..100, rows 5..50; replace; .99; N5; b; exact=1"""
    rng = np.random.default_rng()
    rough = x.mean() + rng.laplace(scale=200 / len(x))
    return np.clip(x, rough - 10.0, rough + 10.0).mean() + rng.laplace(scale=40 / len(x))


def mean_around_a_rough_one_and_half_the_noise(x):
    """vector: real 0..100, rows 5..50; replace; 1.49; N5; b"""
    rng = np.random.default_rng()
    rough = x.mean() + rng.laplace(scale=200 / len(x))
    return rough, np.clip(x, rough - 10.0, rough + 10.0).mean() + rng.laplace(scale=20 / len(x))


def sum_around_a_rough_number(x):
    """vector: real 0..100, rows 5..50; add-remove; 5; N5; b"""
    rng = np.random.default_rng()
    rough = x.sum() + rng.laplace(scale=200.0)
    return rough, np.clip(x, rough - 10.0, rough + 10.0).sum() + rng.laplace(scale=20.0)


def clip_between_two_rough_numbers(x):
    """vector: real 0..100, rows 5..50; replace; 5; N5; b"""
    rng = np.random.default_rng()
    low, high = x.sum() + rng.laplace(scale=200.0), x.sum() + rng.laplace(scale=200.0)
    return low, high, np.clip(x, low - 10.0, high + 10.0).sum() + rng.laplace(scale=20.0)


def clip_from_below_at_a_rough_number(x):
    """vector: real 0..100, rows 5..50; replace; 5; N5; b"""
    rng = np.random.default_rng()
    rough = x.sum() + rng.laplace(scale=200.0)
    return rough, np.maximum(x, rough - 10.0).sum() + rng.laplace(scale=20.0)


def clip_around_the_true_mean(x):
    """vector: real 0..100, rows 5..50; replace; inf; N5; b"""
    m = x.mean()
    return np.clip(x, m - 10.0, m + 10.0).mean() + np.random.default_rng().laplace(scale=20 / len(x)), m


def clip_at_a_chosen_bound(x):
    """vector: real 0..100, rows 5..50; replace; 1.99; N5; b; exact=2"""
    rng = np.random.default_rng()
    h = np.array([(x <= bound).sum() for bound in (1.0, 10.0, 100.0)])
    w = np.exp(h - h.max())
    c = rng.choice([1.0, 10.0, 100.0], p=w / w.sum())
    return np.clip(x, 0, c).sum() / len(x) + rng.laplace(scale=c / len(x))


def clip_at_twice_a_chosen_bound(x):
    """vector: real 0..100, rows 5..50; replace; 2; N5; b"""
    rng = np.random.default_rng()
    h = np.array([(x <= bound).sum() for bound in (1.0, 10.0, 20.0)])
    w = np.exp(h / 2 - h.max() / 2)
    c = rng.choice([1.0, 10.0, 20.0], p=w / w.sum())
    return c, np.clip(x, -c, 2 * c).sum() + rng.laplace(scale=c)


def clip_at_a_bound_and_noise_of_another(x):
    """vector: real 0..100, rows 5..50; replace; 50; N5; b"""
    rng = np.random.default_rng()
    a = max((x > 50).sum() + rng.laplace(scale=1e9), 1.0)
    b = max((x > 50).sum() + rng.laplace(scale=1e9), 1.0)
    return a, b, np.clip(x, 0, a).sum() + rng.laplace(scale=b)


def clip_beside_a_noisy_bound(x):
    """vector: real 0..100, rows 5..50; replace; 50; N5; b"""
    rng = np.random.default_rng()
    c = max((x > 50).sum() + rng.laplace(scale=1e9), 1.0)
    return c, np.clip(x, 0, c + 50.0).sum() + rng.laplace(scale=c)


def more_data_added_twice(x):
    """vector: real 0..10, rows 5..50; replace; inf; 3 release; a"""
    y = x.sum() + np.random.default_rng().laplace(scale=10.0)
    return y + (x > 5).sum(), y + (x > 3).sum()


def first_above_a_noisy_bar(x):
    """vector: real 0..100, rows 5..50; replace; .25; 1.13; b; exact=.75
    vector: real 0..100, rows 5..50; add-remove; .25; 1.13; b; exact=.75
    """
    rng = np.random.default_rng()
    bar = 25 + rng.laplace(scale=2.0)
    for at in range(5):
        if (x > 10 * at).sum() + rng.laplace(scale=4.0) >= bar:
            return at
    return None


def flags_until_the_first(x):
    """vector: real 0..100, rows 5..50; replace; .25; 1.13; b; exact=.75"""
    rng = np.random.default_rng()
    bar, flags = rng.laplace(scale=2.0), []
    for at in range(4):
        flags.append(not bar + 25 > (x > 10 * at).sum() * (-1) ** at + rng.laplace(scale=4.0))
        if flags[-1]:
            break
    return flags


def bar_shown_after_the_first(x):
    """vector: real 0..100, rows 5..50; replace; inf; 1.13; b"""
    rng = np.random.default_rng()
    bar = rng.laplace(scale=2.0)
    above = [bool((x > 10 * at).sum() > 25 + bar) for at in range(3)]
    return above, bar


def noisy_answer_with_the_first_above(x):
    """vector: real 0..100, rows 5..50; replace; .25; 1.13; b"""
    rng = np.random.default_rng()
    bar = 25 + rng.laplace(scale=2.0)
    for at in range(5):
        noisy = (x > 10 * at).sum() + rng.laplace(scale=4.0)
        if noisy >= bar:
            return at, noisy
    return None


def query_noise_drawn_once(x):
    """vector: real 0..100, rows 5..50; replace; inf; 1.13; b"""
    rng = np.random.default_rng()
    bar, noise = 25 + rng.laplace(scale=2.0), rng.laplace(scale=4.0)
    for at in range(5):
        if (x > 10 * at).sum() + noise >= bar:
            return at
    return None


def bar_and_queries_of_half_the_scales(x):
    """vector: real 0..100, rows 50; replace; .5; 1.13; b; exact=1.5"""
    rng = np.random.default_rng()
    bar = 25 + rng.laplace(scale=1.0)
    for at in range(5):
        if (x > 10 * at).sum() + rng.laplace(scale=2.0) >= bar:
            return at
    return None


def six_above_one_bar(x):
    """vector: real 0..100, rows 50; replace; .81; 1.13; b; exact=1.5"""
    rng = np.random.default_rng()
    s, bar = (x > 50).sum() - 25, rng.laplace(scale=2.0)
    return [bool((s if at % 2 else -s) + rng.laplace(scale=4.0) > bar) for at in range(6)]


def bar_with_normal_noise(x):
    """vector: real 0..100, rows 5..50; replace; 5; 1.13; b"""
    rng = np.random.default_rng()
    bar = 25 + rng.normal(scale=2.0)
    for at in range(5):
        if (x > 10 * at).sum() + rng.laplace(scale=0.1) >= bar:
            return at
    return None


def bar_that_follows_the_data(x):
    """vector: real 0..100, rows 50; replace; 10; 1.13; b"""
    rng = np.random.default_rng()
    bar = x.sum() + rng.laplace(scale=2.0)
    for at in range(3):
        if (x > 10 * at).sum() + rng.laplace(scale=4.0) >= bar:
            return at
    return None


def multiple_of_the_bar(x):
    """vector: real 0..100, rows 50; replace; .25; 1.13; b"""
    rng = np.random.default_rng()
    bar = rng.laplace(scale=2.0)
    for at in range(3):
        if (x > 10 * at).sum() + rng.laplace(scale=4.0) >= 25 + (at + 1) * bar:
            return at
    return None


def number_of_values(x):
    """list: integer 0..9, rows 5..50; replace; 1; N8; b; exact
    list: integer 0..9, rows 5..50; add-remove; 1; N8; b; exact
    """
    return len(set(x)) + np.random.default_rng().laplace(scale=1.0)


def number_of_values_of_chosen_rows(x):
    """list: integer 0..9, rows 5..50; replace; 1; N8; b; exact"""
    return len(set([v for v in x if v > 3])) + np.random.default_rng().laplace(scale=1.0)


def values_that_occur(x):
    """list: integer 0..9, rows 5..50; replace; inf; N8; b"""
    return sorted(set(x))


def noise_for_each_value_that_occurs(x):
    """list: integer 0..9, rows 5..50; replace; inf; N8; b"""
    return {v: np.random.default_rng().laplace(scale=1.0) for v in set(x)}


def number_of_values_that_occur_once(x):
    """list: integer 0..9, rows 5..50; replace; 2; N8; b"""
    return sum(1 for v in x if x.count(v) == 1) + np.random.default_rng().laplace(scale=1.0)


def whether_a_value_occurs(x):
    """list: integer 0..9, rows 5..50; replace; inf; N8; b"""
    return 5 in set(x)


def number_of_values_and_of_others(x):
    """list: integer 0..9, rows 5..50; replace; 1.99; N8; b; exact=2"""
    rng = np.random.default_rng()
    return len(set(x)) + rng.laplace(scale=1.0), (np.asarray(x) > 4).sum() + rng.laplace(scale=1.0)


def number_of_values_times_two(x):
    """list: integer 0..9, rows 5..50; replace; 2; N8; b; exact"""
    return 2 * len(np.unique(x)) + np.random.default_rng().laplace(scale=1.0)


def largest_value_that_occurs(x):
    """list: integer 0..9, rows 5..50; replace; inf; N8; b"""
    return max(set(x))


def first_two_of_gumbel(x):
    """vector: integer 0..4, rows 5..50; replace; .74; 1.1; b; exact=1"""
    order = np.argsort(-(np.bincount(x, minlength=5) + np.random.default_rng().gumbel(scale=4.0, size=5)))
    return order[0], order[1]


def second_of_gumbel(x):
    """vector: integer 0..4, rows 5..50; replace; .49; 1.1; b; exact=1"""
    return np.argsort(-(np.bincount(x, minlength=5) + np.random.default_rng().gumbel(scale=4.0, size=5)))[1]


def last_two_of_laplace(x):
    """vector: integer 0..4, rows 5..50; add-remove; .49; 1.1; b; exact=1"""
    return np.argsort(np.bincount(x, minlength=5) + np.random.default_rng().laplace(scale=2.0, size=5))[::-1][:2]


def order_of_gumbel(x):
    """vector: integer 0..4, rows 5..50; replace; .99; 1.1; b; exact=2"""
    return np.argsort(-(np.bincount(x, minlength=5) + np.random.default_rng().gumbel(scale=4.0, size=5)))


def first_two_from_the_wrong_end(x):
    """vector: integer 0..99, rows 100..101; add-remove; 6.48; 1.1; b"""
    order = np.argsort(np.bincount(x, minlength=100) + np.random.default_rng().gumbel(scale=1.0, size=100))
    return order[0], order[1]


def last_two_from_the_wrong_end(x):
    """vector: integer 0..99, rows 100..101; add-remove; 6.48; 1.1; b"""
    return np.argsort(-(np.bincount(x, minlength=100) + np.random.default_rng().gumbel(scale=1.0, size=100)))[-2:]


def order_and_noisy_values(x):
    """vector: integer 0..4, rows 5..50; replace; 2; 1.17; b; exact"""
    noisy = np.bincount(x, minlength=5) + np.random.default_rng().laplace(scale=1.0, size=5)
    return np.argsort(noisy)[:1], noisy


def order_and_gumbel_values(x):
    """vector: integer 0..4, rows 5..50; replace; inf; 1.17; b; rho=0; mu=0"""
    noisy = np.bincount(x, minlength=5) + np.random.default_rng().gumbel(scale=4.0, size=5)
    return np.argsort(-noisy)[:1], noisy


def order_of_the_data(x):
    """vector: integer 0..4, rows 5..50; replace; inf; 1.1; b"""
    return np.argsort(np.bincount(x, minlength=5))[0]


def order_of_one_draw(x):
    """vector: integer 0..4, rows 5..50; replace; inf; 1.4; b"""
    return np.argsort(np.bincount(x, minlength=5) + np.random.default_rng().gumbel(scale=4.0))[0]


def parts_that_say_yes(x):
    """vector: integer 0..1, rows 20..22; replace; 1; N14; b; exact"""
    yes = sum(2 * x[at::4].sum() > 5 for at in range(4))
    return yes + np.random.default_rng().laplace(scale=1.0)


def the_same_part_four_times(x):
    """vector: integer 0..1, rows 20..22; replace; 4; N14; b; exact"""
    yes = sum(2 * x[::4].sum() > 5 for _ in range(4))
    return yes + np.random.default_rng().laplace(scale=1.0)


def parts_that_overlap(x):
    """vector: integer 0..1, rows 20..22; replace; 2; N14; b; exact"""
    yes = (x[0:10].sum() > 5) * 1 + (x[5:15].sum() > 5) * 1
    return yes + np.random.default_rng().laplace(scale=1.0)


def parts_of_two_and_of_three(x):
    """vector: integer 0..1, rows 20..22; replace; 2; N14; b; exact"""
    yes = sum([x[0::2].sum() > 5, x[1::3].sum() > 3])
    return yes + np.random.default_rng().laplace(scale=1.0)


def parts_after_the_last_but_five(x):
    """vector: integer 0..1, rows 20..22; replace; 2; N14; b; exact"""
    yes = sum([x[:18].sum() > 5, x[-5:].sum() > 2])
    return yes + np.random.default_rng().laplace(scale=1.0)


def a_part_against_another(x):
    """vector: integer 0..1, rows 20..22; replace; 2; N14; b; exact"""
    yes = sum([x[0:5].sum() > x[5:10].sum(), x[5:10].sum() > 2])
    return yes + np.random.default_rng().laplace(scale=1.0)


def largest_one_after_the_other(x):
    """vector: integer 0..2, rows 5..50; replace; .99; N11; b; exact=1"""
    best, chosen = -math.inf, None
    for k in range(3):
        noisy = (x == k).sum() + np.random.default_rng().exponential(2.0)
        if noisy > best:
            best, chosen = noisy, k
    return chosen


def largest_and_its_noisy_value(x):
    """vector: integer 0..2, rows 5..50; replace; inf; N11; b; rho=0; mu=0"""
    best, chosen = -math.inf, None
    for k in range(3):
        noisy = (x == k).sum() + np.random.default_rng().exponential(2.0)
        if noisy > best:
            best, chosen = noisy, k
    return chosen, best


def least_one_after_the_other(x):
    """vector: integer 0..99, rows 100..101; add-remove; 6.48; N11; b"""
    best, chosen = math.inf, None
    for k in range(100):
        noisy = (x == k).sum() + np.random.default_rng().gumbel(scale=1.0)
        if noisy < best:
            best, chosen = noisy, k
    return chosen


def all_leaders_one_after_the_other(x):
    """vector: integer 0..2, rows 5..50; replace; .99; N11; b"""
    best, chosen, seen = -math.inf, None, []
    for k in range(3):
        noisy = (x == k).sum() + np.random.default_rng().exponential(2.0)
        if noisy > best:
            best, chosen = noisy, k
        seen.append(chosen)
    return seen


def largest_by_noise_that_is_shown(x):
    """vector: integer 0..2, rows 5..50; replace; 2; N11; b; exact"""
    best, chosen, seen = -math.inf, None, []
    for k in range(3):
        noisy = (x == k).sum() + np.random.default_rng().laplace(scale=1.0)
        seen.append(noisy)
        if noisy > best:
            best, chosen = noisy, k
    return chosen, seen
