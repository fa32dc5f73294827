"""python-dp: `quick_result`, `result` and what was added before, with the constructor's declaration.

The algorithms are compiled, clipping included, so the law of an answer is not known: the value of the run on D is given
to the run on D'. Where entries and settings are the same on both datasets it costs nothing; where entries differ the
call is OPAQUE: the library promises eps at its own bounds, and trials decide. Settings (eps, delta, bounds,
sensitivities) that differ are findings of `calls`.
"""

import contextlib
import functools
import math
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from dpverify.tape.instruments.calls import CallLoss, Given, NoiseCall
from dpverify.tape.instruments.host import Host

KEPT = "_dpverify_seen"  # the attribute that holds what an algorithm was made with, and its entries
DECLARED = ("epsilon", "delta", "lower_bound", "upper_bound", "l0_sensitivity", "linf_sensitivity", "dtype")


@contextlib.contextmanager
def instrumented(host: Host) -> Iterator[None]:
    """Inside, algorithms answer through `host`."""
    module = sys.modules.get("pydp.algorithms._algorithm")
    if module is None:
        yield
        return
    home = str(module.__file__).rpartition("/algorithms/")[0] + "/"
    kind = module.MetaAlgorithm
    changes = {
        "__init__": _made,
        "add_entries": _added,
        "add_entry": _added,
        "reset": _reset,
        "merge": _merged,
        "quick_result": _answered,
        "result": _answered,
    }
    kept = {name: getattr(kind, name) for name in changes if hasattr(kind, name)}
    try:
        for name, function in kept.items():
            setattr(kind, name, changes[name](host, home, name, function))
        yield
    finally:
        for name, function in kept.items():
            setattr(kind, name, function)


def _made(host: Host, home: str, name: str, original: Any) -> Any:
    @functools.wraps(original)
    def init(self: Any, **kwargs: Any) -> None:
        settings = {each: kwargs[each] for each in DECLARED if kwargs.get(each) is not None}
        setattr(self, KEPT, (settings, []))
        original(self, **kwargs)

    return init


def _added(host: Host, home: str, name: str, original: Any) -> Any:
    @functools.wraps(original)
    def add(self: Any, data: Any) -> Any:
        _seen(self)[1].extend(list(data) if name == "add_entries" else [data])
        return original(self, data)

    return add


def _reset(host: Host, home: str, name: str, original: Any) -> Any:
    @functools.wraps(original)
    def reset(self: Any) -> Any:
        _seen(self)[1].clear()
        return original(self)

    return reset


def _merged(host: Host, home: str, name: str, original: Any) -> Any:
    @functools.wraps(original)
    def merge(self: Any, summary: Any) -> Any:
        host.note("OPAQUE", host.caller(home)[0], "pydp: merged summaries are not known to the tape")
        return original(self, summary)

    return merge


def _answered(host: Host, home: str, name: str, original: Any) -> Any:
    @functools.wraps(original)
    def answer(self: Any, *args: Any, **kwargs: Any) -> Any:
        site, inner, within = host.caller(home)
        settings, entries = _seen(self)
        held = list(args[0]) if name == "quick_result" else list(entries)
        value = original(self, *args, **kwargs)
        what = f"pydp {type(self).__name__}"
        host.calls.append(
            NoiseCall(
                name=what,
                site=site,
                inner=inner,
                value=np.zeros(0),
                settings=dict(settings),
                sensitivity=None,
                norm=1.0,
                eps=float(settings.get("epsilon", math.inf)),
                delta=float(settings.get("delta", 0.0)),
                part=(host.identity(self), inner),
                within=within,
                opaque=True,
            )
        )
        return host.bound(site, what, value, Given(what, (what, settings, held), _loss))

    return answer


def _seen(algorithm: Any) -> tuple[dict[str, Any], list[Any]]:
    found: tuple[dict[str, Any], list[Any]] = getattr(algorithm, KEPT, ({}, []))
    return found


def _loss(here: Any, there: Any) -> CallLoss | str | None:
    """Nothing where everything that it was given is the same; else what is known of the two."""
    (what, settings, ours), (_, others, theirs) = here, there
    if settings == others and repr(ours) == repr(theirs):
        return None
    return (
        f"{what} is compiled: it was given {len(ours)} entries on one dataset and {len(theirs)} on the other, and "
        f"declares eps {settings.get('epsilon', 'nothing')}; trials decide"
    )
