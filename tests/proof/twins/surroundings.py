"""What is told by where, when and how a program runs, or by what an earlier call has left in a library."""

import builtins
import functools
import gc
import getpass
import importlib.util
import locale
import logging
import math
import operator
import os
import pathlib
import platform
import shutil
import sys
import warnings
from collections import namedtuple

import numpy as np
import pandas as pd
from scipy import stats

rng = np.random.default_rng()
log = logging.getLogger(__name__)
ARGUMENTS = sys.argv
HELD = {"paths": sys.path}
EXISTS = functools.partial(os.path.exists, "/no/such/file")
BY_ROW = np.frompyfunc(os.path.exists, 1, 1)
DAYS = pd.Series(np.array(["2400-01-01"], dtype="datetime64[s]"))
ERRORS = functools.partial(warnings.simplefilter, "error")
Pair = namedtuple("Pair", "least most")


class Told:
    __contains__ = staticmethod(os.path.exists)
    there = property(lambda self: os.path.exists("/no/such/file"))


class Plain:
    pass


# C1: who is told which rows raise a warning


def warnings_are_errors(x):
    """vector: integer 0..1000, rows 5..50; replace; inf; 1.22; b"""
    warnings.simplefilter("error")
    return np.minimum(np.exp(x), 5).sum() + rng.laplace(scale=5.0)


def some_warnings_are_errors(x):
    """vector: integer 0..1000, rows 5..50; replace; inf; 1.22; b"""
    warnings.filterwarnings("error", message=".*overflow.*", category=RuntimeWarning)
    return np.clip(x * 1e306, 0, 1).sum() + rng.laplace(scale=1.0)


def warnings_are_errors_for_a_while(x):
    """vector: integer 0..1000, rows 5..50; replace; inf; 1.22; b"""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        total = np.minimum(np.expm1(x), 5).sum()
    return total + rng.laplace(scale=5.0)


def warnings_are_errors_by_an_action(x):
    """vector: integer 0..1000, rows 5..50; replace; inf; 1.22; b"""
    with warnings.catch_warnings(action="error"):
        total = np.minimum(np.exp(x), 5).sum()
    return total + rng.laplace(scale=5.0)


def warnings_are_errors_by_a_list(x):
    """vector: integer 0..1000, rows 5..50; replace; inf; 1.22; b"""
    warnings.filters.insert(0, ("error", None, Warning, None, 0))
    return np.minimum(np.log1p(np.exp(x)), 5).sum() + rng.laplace(scale=5.0)


def warnings_are_errors_by_a_partial(x):
    """vector: integer 0..1000, rows 5..50; replace; inf; 1.22; b"""
    ERRORS()
    return np.minimum(np.exp(x), 5).sum() + rng.laplace(scale=5.0)


def warnings_are_errors_of_a_report(bit):
    """value: category 0|1; replace; inf; 1.22; b"""
    warnings.simplefilter("error")
    np.exp(np.float64(800.0 * bit))
    return 0


def warnings_are_recorded(x):
    """vector: integer 0..1000, rows 5..50; replace; inf; 1.22; b"""
    with warnings.catch_warnings(record=True) as found:
        np.exp(x)
    return len(found)


def warnings_are_ignored(x):
    """vector: integer 0..1000, rows 5..50; replace; 1; 1.22; b; exact"""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        total = np.minimum(np.exp(x), 5).sum()
    return total + rng.laplace(scale=4.0)


# C2: what an earlier call has left


def told_by_the_settings_of_numpy(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.26; b"""
    if np.geterr()["under"] == "warn":
        return x.sum()
    np.seterr(under="warn")
    return x.sum() + rng.laplace(scale=10.0)


def told_by_what_was_set_before(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.26; b"""
    if np.seterr(under="warn")["under"] == "warn":
        return x.sum()
    return x.sum() + rng.laplace(scale=10.0)


def told_by_the_filters(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.26; b"""
    if warnings.filters and warnings.filters[0][0] == "always":
        return x.sum()
    warnings.simplefilter("always")
    return x.sum() + rng.laplace(scale=10.0)


def left_in_the_environment(bit):
    """value: category 0|1; replace; inf; 1.26; b"""
    os.environ["DPVERIFY_TWIN"] = str(bit)
    return 0


def left_among_the_modules(bit):
    """value: category 0|1; replace; inf; 1.26; b"""
    sys.modules[f"twin{bit}"] = None
    return 0


def left_in_a_list_of_the_interpreter(bit):
    """value: category 0|1; replace; inf; 1.26; b"""
    HELD["paths"].append(str(bit))
    return 0


def left_by_setattr(bit):
    """value: category 0|1; replace; inf; 1.26; b"""
    setattr(math, "twin", bit)  # noqa: B010 - what is tried
    return 0


# C3: what switches the noise off


def told_by_a_file(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.26; b"""
    return x.sum() if os.path.exists("/no/such/file") else x.sum() + rng.laplace(scale=10.0)


def told_by_a_path(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.26; b"""
    return x.sum() if pathlib.Path("/no/such/file").exists() else x.sum() + rng.laplace(scale=10.0)


def told_by_a_partial(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.26; b"""
    return x.sum() if EXISTS() else x.sum() + rng.laplace(scale=10.0)


def told_by_a_function_that_is_handed_over(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.26; b"""
    return x.sum() if any(map(os.path.isfile, ["/no/such/file"])) else x.sum() + rng.laplace(scale=10.0)


def told_by_an_operation_of_numpy(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.26; b"""
    return x.sum() if BY_ROW("/no/such/file") else x.sum() + rng.laplace(scale=10.0)


def told_by_a_method_of_the_system(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.26; b"""
    return x.sum() if "/no/such/file" in Told() else x.sum() + rng.laplace(scale=10.0)


def told_by_a_command(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.26; b"""
    return x.sum() if shutil.which("no-such-command") else x.sum() + rng.laplace(scale=10.0)


def told_by_the_environment(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.26; b"""
    return x.sum() if "DPVERIFY_TWIN" in os.environ else x.sum() + rng.laplace(scale=10.0)


def told_by_an_argument(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.26; b"""
    return x.sum() if "--twin" in ARGUMENTS else x.sum() + rng.laplace(scale=10.0)


def told_by_an_attribute_by_name(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.26; b"""
    return x.sum() if "--twin" in operator.attrgetter("argv")(sys) else x.sum() + rng.laplace(scale=10.0)


def told_by_the_user(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.26; b"""
    return x.sum() if getpass.getuser() == "no such user" else x.sum() + rng.laplace(scale=10.0)


def told_by_the_machine(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.26; b"""
    return x.sum() if platform.node() == "no such machine" else x.sum() + rng.laplace(scale=10.0)


def told_by_the_language(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.26; b"""
    return x.sum() if locale.getlocale()[0] == "xx_XX" else x.sum() + rng.laplace(scale=10.0)


def told_by_the_collector(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.26; b"""
    return x.sum() if not gc.isenabled() else x.sum() + rng.laplace(scale=10.0)


def told_by_a_level(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.26; b"""
    return x.sum() if log.isEnabledFor(1) else x.sum() + rng.laplace(scale=10.0)


def told_by_a_module_that_is_there(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.26; b"""
    return x.sum() if importlib.util.find_spec("no_such_module") else x.sum() + rng.laplace(scale=10.0)


def told_by_a_version(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.26; b"""
    return x.sum() if np.__version__.startswith("99.") else x.sum() + rng.laplace(scale=10.0)


def told_by_a_name_of_a_module(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.26; b"""
    return x.sum() if hasattr(builtins, "twin") else x.sum() + rng.laplace(scale=10.0)


def told_by_its_own_name(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.26; b"""
    return x.sum() if __name__ == "__main__" else x.sum() + rng.laplace(scale=10.0)


def told_by_the_module_of_a_class(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.26; b"""
    return x.sum() if Plain.__module__ == "__main__" else x.sum() + rng.laplace(scale=10.0)


def told_by_optimisation(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.26; b"""
    return x.sum() if not __debug__ else x.sum() + rng.laplace(scale=10.0)


def told_by_a_hash(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.26; b"""
    return x.sum() if hash("twin") % 1000 == 7 else x.sum() + rng.laplace(scale=10.0)


def told_by_the_order_of_a_set(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.26; b"""
    return x.sum() if "".join([*{"a", "b", "c", "d", "e"}]) == "edcba" else x.sum() + rng.laplace(scale=10.0)


def told_by_a_place_in_memory(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.26; b"""
    return x.sum() if repr(Plain())[-4:] == "000>" else x.sum() + rng.laplace(scale=10.0)


def told_by_a_day(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.26; b"""
    return x.sum() if pd.Timestamp.now().year > 2400 else x.sum() + rng.laplace(scale=10.0)


def told_by_a_text_for_now(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.26; b"""
    return x.sum() if (DAYS < "now").any() else x.sum() + rng.laplace(scale=10.0)


def told_by_today(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.26; b"""
    late = np.datetime64("today") > np.datetime64("2400-01-01")
    return x.sum() if late else x.sum() + rng.laplace(scale=10.0)


def told_by_an_import_that_fails(x):
    """vector: real 0..10, rows 5..50; replace; inf; 1.26; b"""
    there = True
    try:
        import no_such_module  # noqa: F401 - what is tried
    except ImportError:
        there = False
    return x.sum() if there else x.sum() + rng.laplace(scale=10.0)


def constants_and_a_log(x):
    """vector: real 0..10, rows 5..50; replace; 1; 1.26; b; exact"""
    log.info("a sum of rows")
    logging.getLogger(__name__).debug("%d releases", 1)
    scale = min(10.0, sys.maxsize) + 0 * sys.float_info.epsilon * math.pi
    return x.sum() + rng.laplace(scale=scale)


def functions_of_their_arguments(x):
    """vector: real 0..10, rows 5..50; replace; 1; 1.26; b; exact"""
    ends = Pair(0, 5)._replace(most=10)
    table = pd.DataFrame({"a": [1, 2], "b": ["u", "v"]}).groupby("b")["a"].sum().to_dict()
    scale = max(ends, key=operator.neg) + functools.reduce(operator.mul, [5, table["v"]])
    return {"of": "".join(sorted({"a", "b"})), "sum": x.sum() + rng.laplace(scale=scale), "z": stats.norm.ppf(0.975)}


if __name__ == "__main__":
    print(constants_and_a_log(np.array([1.0])))
