"""What examples hardly show: costs of noise that is used twice, lattices, rare rows and branches, hidden state."""

import operator

import numpy as np

rng = np.random.default_rng()


# ----------------------------------------------------------------------------------------------------------------------
# Costs


def whole_numbers_clipped_between_them(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.3; b"""
    return max((x > 5).sum(), 2.5) + round(rng.laplace(scale=5.0))


def whole_numbers_clipped_at_one_of_them(x):
    """vector: real 0..10, rows 5..50; replace; 0.2; 1.3; b; exact"""
    return max((x > 5).sum(), 2) + round(rng.laplace(scale=5.0))


def more_data_after_a_choice(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.17; b"""
    noisy = np.histogram(x, bins=[0, 2, 5, 10])[0] + rng.laplace(scale=100, size=3)
    place = np.argmax(noisy)
    return place, noisy + np.array([(x > 3).sum(), (x > 4).sum(), (x > 6).sum()])


def noise_completed_after_a_choice(x):
    """vector: real 0..10, rows 5..50; add-remove; 0.03; 1.17; b"""
    noisy = np.histogram(x, bins=[0, 2, 5, 10])[0] + rng.exponential(scale=100, size=3)
    place = np.argmax(noisy)
    return place, noisy - rng.exponential(scale=100, size=3)


def two_choices_by_one_draw(a):
    """array: integer 0..1 x 21, rows 5..50; replace; 0.185; 1.2; b"""
    noisy = a.sum(axis=0) + rng.laplace(scale=100, size=21)
    first = np.array([0.0] * 11 + [-1e6] * 10)
    second = np.array([0.0] + [1e6] * 10 + [0.0] * 10)
    return np.argmax(noisy + first), np.argmin(noisy + second)


def coin_of_a_value_over_a_released_one(value):
    """value: real 0.2..0.4; replace; inf; 1.11; b"""
    bound = np.maximum(rng.laplace(scale=1.0), 0.4)
    return bound, rng.random() < value / bound


def divided_by_what_may_be_zero(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.14; b"""
    bound = np.maximum(x.sum() + rng.laplace(scale=100), 0.0)
    other = rng.laplace(scale=bound)
    return other * 0 + x.sum() / bound + rng.laplace(scale=1 / bound)


def rows_up_to_a_label(frame):
    """frame: x real 0..10, y real 0..10, rows 12..12; replace; 2; 1.12; b"""
    x = frame["x"]
    return x.loc[:6].sum() + rng.laplace(scale=10), x.loc[6:].sum() + rng.laplace(scale=10)


def rows_turned_round(x):
    """vector: integer 0..9, rows 12..12; replace; 1; 1.23; b"""
    return ((x[3::-1] == 5) & (x[:4] == 3)).sum() + rng.laplace()


# ----------------------------------------------------------------------------------------------------------------------
# Paths, numbers of rows, and rows that no example has


def a_branch_that_is_rarely_taken(a):
    """array: real 0..1 x 3, rows 5..9; replace; inf; 1.4; b"""
    if rng.laplace() < 30:
        return 0
    return (a.sum(keepdims=True) * np.array([1.0, 2.0, 3.0])).sum(axis=0) + rng.laplace(scale=100)


def one_number_of_rows(a):
    """array: real 0..1 x 3, rows 5..50; replace; inf; 1.4; b"""
    if len(a) != 33:
        return 0
    return (a.sum(keepdims=True) * np.array([1.0, 2.0, 3.0])).sum(axis=0) + rng.laplace(scale=100)


def one_of_eight_paths(a):
    """array: real 0..1 x 3, rows 5..9; replace; inf; 1.4; b"""
    coins = [rng.random() < 0.5, rng.random() < 0.5, rng.random() < 0.5]
    if coins[0]:
        if coins[1]:
            if coins[2]:
                return (a.sum(keepdims=True) * np.array([1.0, 2.0, 3.0])).sum(axis=0) + rng.laplace(scale=100)
            return 1
        return 2
    return 3


def after_a_filter_of_released_values(a):
    """array: real 0..1 x 3, rows 5..9; replace; inf; 1.4; b"""
    noisy = [a[:, i].sum() + rng.laplace() for i in range(2)]
    large = [v for v in noisy if v > 3]
    return large, (a.sum(keepdims=True) * np.array([1.0, 2.0, 3.0])).sum(axis=0) + rng.laplace(scale=100)


def flag_of_a_rare_row(rows):
    """records: age integer 18..90, rows 5..50; replace; inf; 1.23; b"""
    for r in rows:
        if r["age"] != 37:

            def flag():
                return 0
        else:

            def flag():
                return 1

    return flag()


def written_for_a_rare_row(rows):
    """records: age integer 18..90, rows 5..50; replace; inf; 1.23; b"""
    state = [0]
    for r in rows:
        if r["age"] != 37:
            operator.setitem(state, 0, 0)
        else:
            operator.setitem(state, 0, 1)
    return state[0]


def written_by_a_function_of_a_row(rows):
    """records: age integer 18..90, rows 5..50; replace; inf; 1.23; b"""
    state = [0]

    def one(r):
        if r["age"] != 37:
            operator.setitem(state, 0, 0)
            return 1
        operator.setitem(state, 0, 1)
        return 1

    total = sum([one(r) for r in rows])
    return state[0] + 0 * total


def settings_of_a_rare_row(rows):
    """records: age integer 18..90, rows 5..50; replace; inf; 1.23; b"""
    for r in rows:
        if r["age"] != 37:
            np.set_printoptions(precision=8)
        else:
            np.set_printoptions(precision=3)
    return np.get_printoptions()["precision"]


def written_into_its_own_result(x):
    """vector: real 0..1000, rows 5..50; replace; 0.1; 1.17; b"""
    y = np.clip(x, 0, 900, out=x)
    y[y == 500] = 100_000
    return x.sum() + rng.laplace(scale=1e6)


# ----------------------------------------------------------------------------------------------------------------------
# What the rewritten program might do otherwise than Python


class Base:
    def __init__(self, value):
        self.__value = value

    def get(self):
        return self.__value


class Child(Base):
    def __init__(self, value):
        super().__init__(value)
        self.__value = 0.0


def private_names(x):
    """vector: real 0..10, rows 5..50; replace; inf; 3a; b"""
    return Child(x.sum()).get()


def closures_see_the_last_value(x):
    """vector: real 0..10, rows 5..50; replace; inf; 3a; b"""
    kept = [0.0, x.sum()]
    made = [(kept[i] for _ in [0]) for i in range(2)]
    return next(made[0])


def generator_that_a_loop_leaves(x):
    """vector: real 0..10, rows 5..50; replace; inf; 3a; b"""

    def both():
        yield 0.0
        yield x.sum()

    made = both()
    for _ in made:
        break
    return list(made)


def read_after_it_was_changed(x):
    """vector: real 0..10, rows 5..50; replace; inf; 3a; b"""
    noisy = [x.sum() + rng.laplace(scale=10), x.sum() + rng.laplace(scale=10)]
    pairs = zip(noisy, "ab")  # noqa: B905
    noisy[0] = x.sum()
    return [value for value, _ in pairs]


def joined_in_place(x):
    """vector: real 0..10, rows 5..50; replace; inf; 3a; b"""
    first = {"k": x.sum() + rng.laplace(scale=10)}
    second = first
    first |= {"k": x.sum()}
    return second


class Failure(Exception):
    pass


def exception_that_holds_data(x):
    """vector: real 0..10, rows 5..50; replace; inf; 3a; b"""
    return Failure(x.sum())


def class_that_holds_data(value):
    """value: integer 0..3; replace; inf; 3a; b"""

    class Result:
        content = value

    return Result()
