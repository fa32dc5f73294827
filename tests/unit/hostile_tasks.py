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
import mmap
import os
import random
import resource
import signal
import subprocess
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
    signal.pthread_sigmask(signal.SIG_BLOCK, range(1, signal.NSIG))
    waits()


def closes_everything():
    os.closerange(3, 4096)


def writes_everywhere():
    for descriptor in range(3, 128):
        with contextlib.suppress(OSError):
            os.write(descriptor, b"0000000a 00000000\nsomething else")
    waits()


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


def forks_a_daemon(note):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            with open(note, "w") as file:
                file.write(str(os.getpid()))
            waits()
        os._exit(0)
    while not (os.path.exists(note) and os.path.getsize(note)):
        time.sleep(0.01)
    return fine()


def forks_and_forgets():
    os.fork()
    return fine()


def folder():
    return fine(folder=os.getcwd())


def tells_and_waits():
    from dpverify.runs import child

    child.emit({"pid": os.getpid()})
    waits()


def dies_the_first_time(note):
    if not os.path.exists(note):
        with open(note, "w"):
            pass
        os._exit(9)
    return fine()


def kills_its_parent():
    os.kill(os.getppid(), signal.SIGKILL)
    waits()


def stops_its_parent():
    os.kill(os.getppid(), signal.SIGSTOP)
    return fine()


def starts_a_thread():
    threading.Thread(target=waits).start()
    return fine()


# --- what tasks of one group begin with

_started = None
_kept = []


def starts(note="", does=""):
    """Leaves a line in `note`; does one of the things that cannot be copied."""
    global _started
    if note:
        with open(note, "a") as file:
            file.write("started\n")
    random.seed(3)
    np.random.seed(3)
    if does:
        _kept.append(globals()[does]())
    _started = os.getpid()


def started():
    return fine(started=_started)


def opens_a_file():
    return open(__file__)


def shares_memory():
    return mmap.mmap(-1, 4096)


def sets_a_timer():
    signal.setitimer(signal.ITIMER_VIRTUAL, 1000)


def starts_a_process():
    return subprocess.Popen(["sleep", "1000"])


def fails_to_start():
    raise ValueError("no start")


def dies_at_the_start():
    os._exit(5)


def patches_the_fork():
    os.fork = None


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
