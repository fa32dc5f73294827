"""Instruments: what libraries do with randomness that the tape cannot see, one file for each library.

    diffprivlib   `DPMechanism.randomise` of every class, with its declaration; `BudgetAccountant.spend`
    opendp        calls of a measurement, with its own map at the distance that its input moves on the pair
    opacus        the noise of `DPOptimizer`, its divisor, and torch's generator
    pydp          answers of python-dp's algorithms: compiled, so entries and settings are compared, no law is known

An instrument is at work for the duration of one run, and only if the audited code has imported its library: nothing
here imports one. It wraps the library's point of randomness and gives the tape either an exact law (`Host.noise`,
`Host.law`) or an opaque event with the library's own bound (`Host.bound`). What it does not know, it notes: the run is
then NOT TRACED, with the line of the caller.
"""

import contextlib
import sys
from collections.abc import Iterator
from importlib import import_module

from dpverify.tape.instruments.host import Host as Host

LIBRARIES = ("diffprivlib", "opendp", "opacus", "pydp")


@contextlib.contextmanager
def at_work(host: Host) -> Iterator[None]:
    """Inside, the libraries that are imported draw through `host`."""
    with contextlib.ExitStack() as stack:
        for name in LIBRARIES:
            if name in sys.modules:
                stack.enter_context(import_module(f"{__name__}.{name}").instrumented(host))
        yield
