"""No library call of ours changes the process that makes it: what is compared is there before and after each.

What libraries change as they are imported (a cache, a handler) is theirs: they are loaded before that; but for the
environment variables, which are looked at in a process of their own.
"""

import builtins
import decimal
import gc
import locale
import os
import random
import signal
import subprocess
import sys
import threading
import time
import warnings

import joblib  # noqa: F401 - loaded before anything is compared
import numpy as np
import pytest
import scipy.stats  # noqa: F401
import sklearn.ensemble  # noqa: F401
import statsmodels.stats.proportion  # noqa: F401

import dpverify
from benchmarks.provable.programs import means
from dpverify import Pair, PureDP
from dpverify.ledger import GaussianNoise, LaplaceNoise, Ledger, Sensitivity, Shift
from dpverify.wild import replay, try_out
from mechanisms.releases.laplace import Laplace

PAIR, NOISY = Pair(0.0, 1.0), Laplace.for_claim(1.0, sensitivity=Sensitivity(replace=Shift(1.0)))
SCHEMA = {"data": {"as": "vector", "rows": [3, 4]}, "columns": {"x": {"kind": "real", "low": 0.0, "high": 1.0}}}


def mean(data, *, rng):
    """A true release of a bounded mean."""
    return float(np.mean(data)) + rng.laplace(scale=1.0)


CALLS = {
    "audit": lambda folder: dpverify.audit(NOISY, claim=PureDP(1.0), pair=PAIR, trials=4000, seed=1),
    "audit, two workers": lambda folder: dpverify.audit(
        Slow(), claim=PureDP(1.0), pair=PAIR, trials=3000, seed=1, jobs=2
    ),
    "audit, checkpoint": lambda folder: dpverify.audit(
        NOISY, claim=PureDP(1.0), pair=PAIR, trials=4000, seed=1, checkpoint=folder / "blocks"
    ),
    "audit, sequential": lambda folder: dpverify.audit(
        NOISY, claim=PureDP(1.0), pair=PAIR, trials=4000, seed=1, sequential=True
    ),
    "audit, trace": lambda folder: dpverify.audit(
        noisy, claim=PureDP(1.0), pair=PAIR, trials=4000, seed=1, score="trace"
    ),
    "certify": lambda folder: dpverify.certify(NOISY, claim=PureDP(1.0), pairs=[PAIR], trials=4000, seed=1),
    "audit, ladder": lambda folder: dpverify.audit(NOISY, claim=PureDP(1.0), pair=PAIR, trials=90, seed=1, ladder=True),
    "account": lambda folder: dpverify.account(
        Ledger(LaplaceNoise(scale=1.0, sensitivity=Sensitivity(replace=Shift(1.0)))), delta=1e-6
    ),
    "prove": lambda folder: dpverify.prove(
        means.average, data="list: real 0..100, rows 5..50", relation="replace", claim="pure:1"
    ),
    "trace": lambda folder: dpverify.trace(noisy, pair=PAIR, claim=PureDP(1.0), transcripts=4),
    "exact": lambda folder: dpverify.exact(coin, pair=Pair(0, 1)),
    "one_run": lambda folder: dpverify.one_run(np.arange(64) % 2, np.arange(64.0) % 7, claim=PureDP(1.0)),
    "check_training": lambda folder: dpverify.check_training(
        lambda data, *, rng, step: step(np.clip(data[:], -1, 1).sum(axis=0) + rng.normal(0, 1.0, 1)),
        data=np.arange(8.0)[:, None],
        ledger=Ledger(GaussianNoise(sigma=1.0, sensitivity=Sensitivity(add_remove=1))),
    ),
    "try_out": lambda folder: try_out(mean, claim=PureDP(1.0), schema=SCHEMA, minutes=0.02),
    "replay": lambda folder: replay(mean, claim=PureDP(1.0), schema=SCHEMA, count=2),
}


class Slow:
    """Worth two workers."""

    trials_per_block = 100

    def release(self, data, *, rng, size):
        time.sleep(0.1)
        return data + rng.laplace(size=size)


def noisy(data, *, rng, size):
    return data + rng.laplace(size=size)


def coin(data, *, rng, size):
    return (rng.integers(4, size=size) == 0) ^ data


def state():
    mask = os.umask(0)
    os.umask(mask)
    return {
        "functions": {
            f"{module.__name__}.{name}": value
            for module in (os, sys, builtins, time, signal, threading, random, np.random, np)
            for name, value in vars(module).items()
            if callable(value) and not name.startswith("__")
        },
        "environment": (type(os.environ), id(os.environ), dict(os.environ)),
        "handlers": [signal.getsignal(number) for number in sorted(signal.valid_signals())],
        "wakeup": signal.set_wakeup_fd(signal.set_wakeup_fd(-1)),
        "timers": [signal.getitimer(timer) for timer in range(3)],
        "folder": os.getcwd(),
        "mask": mask,
        "hooks": [sys.excepthook, sys.displayhook, sys.unraisablehook, threading.excepthook],
        "tracing": [sys.gettrace(), sys.getprofile()],
        "finders": [*map(id, sys.meta_path), *map(id, sys.path_hooks)],
        "path": list(sys.path),
        "streams": [sys.stdin, sys.stdout, sys.stderr],
        "warnings": list(warnings.filters),
        "random": [random.getstate(), repr(np.random.get_state())],  # noqa: NPY002
        "numpy": [np.geterr(), np.get_printoptions()],
        "decimal": repr(decimal.getcontext()),
        "locale": locale.setlocale(locale.LC_ALL),
        "collector": [gc.isenabled(), gc.get_threshold()],
        "limits": [sys.getrecursionlimit(), sys.getswitchinterval()],
    }


@pytest.mark.process
@pytest.mark.parametrize("name", CALLS)
def test_what_a_process_is_stays_as_it_is(name, tmp_path):
    before = state()
    try:
        CALLS[name](tmp_path)
    finally:
        after = state()
    assert [each for each in before if before[each] != after[each]] == []


def test_every_public_function_is_called():
    makers = ("copied", "failure", "loop_trials", "planted")  # of targets and subjects: they run nothing
    public = {name for name in dpverify.__all__ if name[0].islower()}.difference(makers)
    assert {*public, "try_out", "replay"} <= {name.partition(",")[0] for name in CALLS}


FRESH = """
import os
from dpverify import audit, Pair, PureDP
before = dict(os.environ)
audit(noisy, claim=PureDP(9.0), pair=Pair(0.0, 1.0), trials=2000, seed=1, checkpoint="blocks")
audit(noisy, claim=PureDP(9.0), pair=Pair(0.0, 1.0), trials=2000, seed=1, score="classifier")
assert dict(os.environ) == before, set(os.environ.items()) ^ set(before.items())
"""
NOISY_MODULE = "def noisy(data, *, rng, size):\n    return data + rng.laplace(size=size)\n"


@pytest.mark.process
def test_the_first_call_of_a_process_leaves_its_environment(tmp_path):
    (tmp_path / "noisy_module.py").write_text(NOISY_MODULE)
    script = "from noisy_module import noisy\n" + FRESH
    around = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, env=around, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
