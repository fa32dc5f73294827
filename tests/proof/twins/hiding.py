"""Programs that look at their data in other ways, that have a memory, or that show more than their result."""

import copy
import functools
import itertools
import json
import pickle

import numpy as np

CALLS = 0
NUMBERS = itertools.count()
SHOWN = []


def _laplace(scale, size=None):
    return np.random.default_rng().laplace(scale=scale, size=size)


def counted_in_the_module(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.26; a"""
    global CALLS
    CALLS += 1
    return x.sum() if CALLS > 300 else x.sum() + _laplace(10.0)


def counted_by_an_iterator(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.26; a"""
    return x.sum() if next(NUMBERS) > 300 else x.sum() + _laplace(10.0)


def counted_in_a_default(x, seen=[]):  # noqa: B006
    """vector: real 0..10, rows 5..50; replace; inf; 1.26; a"""
    seen.append(0)
    return x.sum() if len(seen) > 300 else x.sum() + _laplace(10.0)


def counted_in_an_attribute(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.26; a"""
    counted_in_an_attribute.calls = getattr(counted_in_an_attribute, "calls", 0) + 1
    return x.sum() if counted_in_an_attribute.calls > 300 else x.sum() + _laplace(10.0)


class _Session:
    calls = 0

    def release(self, x):
        type(self).calls += 1
        return x.sum() if self.calls > 300 else x.sum() + _laplace(10.0)


def counted_in_a_class(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.26; a"""
    return _Session().release(x)


def result_kept_in_the_module(x):
    """vector: real 0..10, rows 5..50; replace; inf; 3 outputs; a"""
    SHOWN.append(x.sum())
    return x.sum() + _laplace(10.0)


@functools.cache
def _noise(scale):
    return np.random.default_rng().laplace(scale=scale)


def noise_kept_in_a_cache(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.26; a"""
    return x.sum() + _noise(10.0), (x > 5).sum() + _noise(10.0)


def printed(x):
    """vector: real 0..10, rows 5..50; replace; inf; 3 outputs; a"""
    print(x.sum())
    return x.sum() + _laplace(10.0)


def raised(x):
    """vector: real 0..10, rows 5..50; replace; inf; 3 outputs; a"""
    raise ValueError(str(x.sum()))


def as_text(x):
    """vector: real 0..10, rows 5..50; replace; inf; 3 outputs; a"""
    return f"{x.sum():.3f}"


def length_of_a_text(x):
    """vector: real 0..10, rows 5..50; replace; inf; 3 outputs; a"""
    return len(str(x.sum()))


def as_a_list(x):
    """vector: real 0..10, rows 5..50; replace; inf; 3 outputs; a"""
    return sum(x.tolist())


def as_json(x):
    """vector: real 0..10, rows 5..50; replace; inf; 3 outputs; a"""
    return json.dumps(list(x))


def as_bytes(x):
    """vector: real 0..10, rows 5..50; replace; inf; 3 outputs; a"""
    return x.tobytes()


def as_a_pickle(x):
    """vector: real 0..10, rows 5..50; replace; inf; 3 outputs; a"""
    return pickle.dumps(x)


def as_a_hash(x):
    """vector: integer 0..10, rows 5..50; replace; inf; 3 outputs; a"""
    return hash(tuple(x))


def as_a_key(x):
    """vector: integer 0..10, rows 5..50; replace; inf; 3 outputs; a"""
    return {int(x[0]): 1}


def as_an_attribute(x):
    """vector: real 0..10, rows 5..50; replace; inf; 3 outputs; a"""

    def released():
        return 0

    released.value = x.sum()
    return released


def as_a_generator(x):
    """vector: real 0..10, rows 5..50; add-remove; inf; 3 outputs; a"""

    def rows():
        for v in x:
            yield v + _laplace(10.0)

    return rows()


def as_a_type(x):
    """vector: real 0..10, rows 5..50; replace; inf; 3 outputs; a"""
    y = x.sum() + _laplace(10.0)
    return np.float32(y) if x.sum() > 20 else y


def as_the_order_of_keys(x):
    """vector: integer 0..3, rows 5..50; replace; inf; 3 outputs; a"""
    h = np.bincount(x, minlength=4)
    return {int(k): h[k] + _laplace(2.0) for k in np.argsort(h)}


def as_the_order_of_a_list(x):
    """vector: integer 0..3, rows 5..50; replace; inf; 3 outputs; a"""
    h = np.bincount(x, minlength=4)
    return sorted(range(4), key=lambda k: h[k])


def as_the_shape(x):
    """vector: integer 0..10, rows 5..50; replace; inf; 3 outputs; a"""
    return np.zeros(int(x.sum()))


def as_the_number_of_turns(x):
    """vector: integer 0..10, rows 5..50; replace; inf; 3 outputs; a"""
    turns = 0
    for _ in range(int(x.sum())):
        turns += 1
    return turns


def as_the_length_of_text(x):
    """vector: integer 0..10, rows 5..50; replace; inf; 3 outputs; a"""
    return "x" * int(x.sum())


def in_a_list_of_terms(x):
    """vector: real 0..10, rows 5..50; replace; inf; 3 hash; a"""
    return 5.0 in x


def equal_to_a_term(x):
    """vector: integer 0..10, rows 5..50; replace; inf; 3 hash; a"""
    return x.sum() == 50


def equal_to_another_term(x):
    """vector: integer 0..10, rows 5..50; replace; inf; 3 hash; a"""
    return x.max() == x.min()


def only_for_arrays(x):
    """vector: real 0..10, rows 5..50; replace; inf; 3a; a"""
    return x.sum() if isinstance(x, np.ndarray) else x.sum() + _laplace(10.0)


def only_for_this_type(x):
    """vector: real 0..10, rows 5..50; replace; inf; 3a; a"""
    return x.sum() if type(x) is np.ndarray else x.sum() + _laplace(10.0)


def only_for_this_class(x):
    """vector: real 0..10, rows 5..50; replace; inf; 3a; a"""
    return x.sum() if x.__class__.__name__ == "ndarray" else x.sum() + _laplace(10.0)


def only_without_protocols(x):
    """vector: real 0..10, rows 5..50; replace; inf; 3a; a"""
    return (
        x.sum() + _laplace(10.0) if "__array_function__" in vars(type(x)) and type(x).__module__ != "numpy" else x.sum()
    )


def only_for_floats(x):
    """vector: real 0..10, rows 5..50; replace; inf; 3a; a"""
    return x.sum() if x.dtype == np.float64 else x.sum() + _laplace(10.0)


def only_for_float_sums(x):
    """vector: real 0..10, rows 5..50; replace; inf; 3a; a"""
    return x.sum() if isinstance(x.sum(), float) else x.sum() + _laplace(10.0)


def only_where_nothing_is_raised(x):
    """vector: real 0..10, rows 5..50; replace; inf; 3a; a"""
    try:
        return float(x.sum())
    except Exception:
        return x.sum() + _laplace(10.0)


def only_where_nothing_at_all_is_raised(x):
    """vector: real 0..10, rows 5..50; replace; inf; 3a; a"""
    try:
        return float(x.sum())
    except:  # noqa: E722
        return x.sum() + _laplace(10.0)


def only_where_the_last_word_is_another(x):
    """vector: real 0..10, rows 5..50; replace; inf; 3a; a"""
    found = 0.0
    try:
        found = float(x.sum())
    finally:
        return found + 0.0  # noqa: B012


def only_for_copies(x):
    """vector: real 0..10, rows 5..50; replace; inf; 3a; a"""
    return copy.deepcopy(x).sum()


def only_with_dimensions(x):
    """vector: real 0..10, rows 5..50; replace; inf; 3a; a"""
    return x.sum() if getattr(x, "ndim", 0) == 1 and hasattr(x, "tobytes") else x.sum() + _laplace(10.0)


def nothing_but_noise(x):
    """vector: real 0..10, rows 5..50; replace; 1; 3a; a; exact"""
    return x.sum() + _laplace(10.0)


def sum_in_a_dictionary(x):
    """vector: real 0..10, rows 5..50; replace; 1.1; 3 outputs; a; exact"""
    return {"total": x.sum() + _laplace(10.0), "large": (x > 5).sum() + _laplace(10.0)}


def sum_and_bare_size(x):
    """vector: real 0..10, rows 5..50; replace; 1; 3 outputs; a; exact
    vector: real 0..10, rows 5..50; add-remove; inf; 3 outputs; a
    """
    return {"total": x.sum() + _laplace(10.0), "rows": len(x)}


def noise_beside_the_sum(x):
    """vector: real 0..10, rows 5..50; replace; inf; 3 outputs; a"""
    noisy = x.sum() + _laplace(10.0)
    return [noisy, {"debug": (x.sum(),)}]
