# ruff: noqa: NPY002 - global random states are one of the things that foreign code changes
"""What foreign code may do to the process that runs it; called by name in watched children."""

import builtins
import contextlib
import ctypes
import decimal
import gc
import locale
import logging
import math
import os
import random
import resource
import signal
import sys
import threading
import time
import warnings

import numpy as np


def fine(**found):
    return {"pid": os.getpid(), **found}


def raises():
    raise ValueError("no")


def leaves():
    sys.exit(0)


def interrupts():
    raise KeyboardInterrupt


def ends(code):
    os._exit(code)


def dies(by):
    os.kill(os.getpid(), getattr(signal, by))


def reads_nowhere():
    ctypes.string_at(0)


def aborts():
    os.abort()


def rings_and_waits():
    signal.alarm(1)
    while True:
        signal.pause()


def waits():
    while True:
        time.sleep(1000)


def spins():
    while True:
        pass


def stops():
    os.kill(os.getpid(), signal.SIGSTOP)


def waits_and_blocks_signals():
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    waits()


def closes_everything():
    os.closerange(0, 4096)
    return fine()


def writes_everywhere():
    for descriptor in range(3, 128):
        with contextlib.suppress(OSError):
            os.write(descriptor, b"0000000a 00000000\nsomething else")
    return fine()


def returns_no_value():
    return object()


def floods():
    line = b"x" * 1023 + b"\n"
    for _ in range(4096):
        os.write(1, line)
        os.write(2, line)
    return fine()


def grows():
    held = []
    while True:
        held.append(bytearray(10**7))


def forks_and_goes_on():
    child = os.fork()
    if child == 0:
        waits()
    return fine(child=child)


def forks_and_dies(note):
    child = os.fork()
    if child == 0:
        waits()
    with open(note, "w") as file:
        file.write(str(child))
    os._exit(3)


def forks_and_forgets():
    os.fork()
    return fine()


def tells_and_waits():
    from dpverify.execution.isolated import emit

    emit({"pid": os.getpid()})
    waits()


def kills_its_parent():
    os.kill(os.getppid(), signal.SIGKILL)
    waits()


def starts_a_thread():
    threading.Thread(target=waits).start()
    return fine()


_kept = []


# --- what a task may do to its process without a word, and what another one could see of it


def state():
    """As plain values: equal for processes that behave alike."""
    return {
        "folder": os.getcwd(),
        "variables": dict(os.environ),
        "path": sys.path,
        "modules": sorted(sys.modules),
        "functions": [
            f"{module.__name__}.{name} {value!r}"
            for module in (builtins, math, np, os, sys, time)
            for name, value in sorted(vars(module).items())
            if callable(value)
        ],
        "handlers": [str(signal.getsignal(number)) for number in sorted(signal.valid_signals())],
        "blocked": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ())),
        "timers": [signal.getitimer(timer) for timer in range(3)],
        "files": sorted(os.listdir("/proc/self/fd")),
        "mask": _mask(),
        "limits": resource.getrlimit(resource.RLIMIT_NOFILE),
        "threads": threading.active_count(),
        "streams": [repr(sys.stdin), repr(sys.stdout), repr(sys.stderr)],
        "warnings": repr(warnings.filters),
        "logging": [logging.root.level, logging.root.disabled, len(logging.root.handlers)],
        "numpy": [np.geterr(), repr(np.get_printoptions())],
        "random": [repr(random.getstate()), repr(np.random.get_state())],
        "decimal": repr(decimal.getcontext()),
        "locale": locale.setlocale(locale.LC_ALL),
        "recursion": [sys.getrecursionlimit(), sys.getswitchinterval(), sys.getprofile() is None],
        "collector": [gc.isenabled(), gc.get_threshold()],
        "nice": os.nice(0),
        "imported": len(sys.meta_path),
    }


def _mask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def state_after(poison):
    POISONS[poison]()
    return state()


def _lambda(*_, **__):
    return float("nan")


POISONS = {
    "clock": lambda: [setattr(time, name, _lambda) for name in ("monotonic", "perf_counter", "time", "sleep")],
    "numpy function": lambda: setattr(np, "log", _lambda),
    "numpy errors": lambda: np.seterr(all="raise"),
    "numpy printing": lambda: np.set_printoptions(precision=1),
    "numpy random": lambda: np.random.seed(1),
    "random": lambda: random.seed(1),
    "module path": lambda: sys.path.insert(0, "/nowhere"),
    "modules": lambda: sys.modules.update(numpy_of_mine=np),
    "warnings": lambda: warnings.simplefilter("error"),
    "variable": lambda: os.environ.update(DPVERIFY_HOSTILE="1"),
    "folder": lambda: os.chdir("/"),
    "builtin": lambda: setattr(builtins, "sum", _lambda),
    "library": lambda: setattr(math, "log", _lambda),
    "handler": lambda: signal.signal(signal.SIGTERM, signal.SIG_IGN),
    "blocked signals": lambda: signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM]),
    "alarm": lambda: signal.alarm(1000),
    "hook": lambda: setattr(sys, "excepthook", _lambda),
    "standard files": lambda: [os.close(each) for each in (0, 1)],
    "output": lambda: setattr(sys, "stdout", None),
    "open file": lambda: _kept.append(open(__file__)),
    "mask": lambda: os.umask(0o777),
    "limit": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (50, 50)),
    "thread": starts_a_thread,
    "logging": lambda: logging.basicConfig(level=1),
    "decimal": lambda: decimal.getcontext().__setattr__("prec", 2),
    "recursion": lambda: sys.setrecursionlimit(300),
    "profile": lambda: sys.setprofile(lambda *_: None),
    "collector": gc.disable,
    "nice": lambda: os.nice(3),
    "finder": lambda: sys.meta_path.append(None),
}
