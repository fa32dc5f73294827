"""OpenDP: calls of measurements, with the measurement's own map at the distance that its input moves on the pair.

The noise is compiled in, so the law of a release is not known here: the value of the run on D is given to the run on
D', and what it costs is the library's promise. For inputs at distance d_in in the measurement's own input metric, which
is measured on the pair and rounded up, `map(d_in)` bounds the divergence of the two laws of the release in its output
measure:

    MaxDivergence               PureStep(map(d_in)), also the bound of the log ratio
    ZeroConcentratedDivergence  rho = map(d_in); no event of the ledger, said in a note: no number is derived
    Approximate(..), others     said in a note as well

Equal inputs (bit for bit) have equal laws and cost nothing: so do the parts of a partition that hold no changed record.
The whole input of the call is compared, so a sum that was not clipped before the call moves by what it moves.

A measurement is only as good as its map. Constructors of users (`make_user_measurement`, post-processing aside) run
Python inside of the call or of the map: such a call is UNKNOWN_LAW. Answers of queryables (compositors, `dp.Context`)
are calls of their query on the queryable's data. Odometers and what is asked in another metric than those below are
OPAQUE. OpenDP cannot be seeded: the same trace has other values each time, and the same costs.
"""

import contextlib
import copy
import gc
import math
import sys
import sysconfig
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dpverify.base.sites import Site, site_text
from dpverify.tape.instruments.calls import CallLoss, Given, NoiseCall, pure
from dpverify.tape.instruments.host import Host
from dpverify.tape.outputs import parts, same_bits

TAPE = __file__.rpartition("/instruments/")[0] + "/"
NUMPY = np.__file__.rpartition("/")[0] + "/"
STANDARD = sysconfig.get_path("stdlib") + "/"


@dataclass(frozen=True, eq=False)
class _Asked:
    """A measurement and its input: what the law of a release depends on."""

    measurement: Any
    argument: Any
    text: str  # of the measurement: spaces and measure
    call: NoiseCall


@dataclass(frozen=True, eq=False)
class Transformed:
    """A transformation that was called by itself: `wrong(other)` says where it breaks its own map on two inputs."""

    site: Site
    inner: str
    transformation: Any
    argument: Any
    output: Any

    def wrong(self, other: "Transformed") -> tuple[float, float] | None:
        """(map of the distance of the inputs, distance of the outputs) where the second is larger; else None."""
        metrics = str(self.transformation.input_metric), str(self.transformation.output_metric)
        gap = input_distance(metrics[0], self.argument, other.argument)
        moved = input_distance(metrics[1], self.output, other.output)
        if gap is None or moved is None:
            return None
        whole = str(self.transformation.input_distance_type)[:1] in "ui"
        try:
            promised = float(self.transformation.map(math.ceil(gap) if whole else float(gap)))
        except Exception:  # the library's own refusal
            return None
        return (promised, float(moved)) if float(moved) > promised else None


@contextlib.contextmanager
def instrumented(host: Host) -> Iterator[None]:
    """Inside, measurements are called through `host`."""
    core = sys.modules.get("opendp.core")
    if core is None:
        yield
        return
    home = str(core.__file__).rpartition("/")[0] + "/"
    names = ("measurement_invoke", "queryable_eval", "odometer_invoke", "transformation_invoke")
    kept = {name: getattr(core, name) for name in names}
    held: dict[int, tuple[Any, Any]] = {}  # id of a queryable -> (itself, the data that it holds)

    def invoke(this: Any, arg: Any) -> Any:
        site, inner, within = host.caller(home)
        value, ran = _watching(home, lambda: kept["measurement_invoke"](this, arg))
        if _is_queryable(value):
            held[id(value.value)] = value, copy.deepcopy(arg)
            return value
        return _released(host, site, inner, within, this, arg, value, ran)

    def evaluate(queryable: Any, query: Any) -> Any:
        site, inner, within = host.caller(home)
        value, ran = _watching(home, lambda: kept["queryable_eval"](queryable, query))
        if id(queryable) not in held or type(query).__name__ != "Measurement":
            host.note(
                "OPAQUE",
                site,
                "opendp: a queryable that the tape has not seen being made, or a query that is no measurement",
            )
            return value
        data = held[id(queryable)][1]
        if _is_queryable(value):
            held[id(value.value)] = value, data
            return value
        return _released(host, site, inner, within, query, data, value, ran)

    def odometer(this: Any, arg: Any) -> Any:
        host.note("OPAQUE", host.caller(home)[0], "opendp: odometers are not known to the tape")
        return kept["odometer_invoke"](this, arg)

    def transform(this: Any, arg: Any) -> Any:
        site, inner, _ = host.caller(home)
        value = kept["transformation_invoke"](this, arg)
        host.transformed.append(Transformed(site, inner, this, copy.deepcopy(arg), copy.deepcopy(value)))
        return value

    try:
        for name, new in zip(names, (invoke, evaluate, odometer, transform), strict=True):
            setattr(core, name, new)
        yield
    finally:
        for name, function in kept.items():
            setattr(core, name, function)


def _is_queryable(value: Any) -> bool:
    return type(value).__name__ == "Queryable"


def _known(file: str, home: str) -> bool:
    """Whether a line is the library's, NumPy's, the tape's or the standard library's."""
    standard = file.startswith(STANDARD) and "-packages/" not in file
    return standard or file.startswith((home, "<", TAPE, NUMPY))


def _watching(home: str, call: Callable[[], Any]) -> tuple[Any, str]:
    """What the call gives, and the first line of Python outside of the library that it ran: a user's own function.

    The garbage collector rests: finalizers of anybody's objects would run inside of the call.
    """
    ran: list[str] = []
    collecting = gc.isenabled()

    def look(frame: Any, event: str, argument: Any) -> None:
        file = frame.f_code.co_filename
        if event == "call" and not ran and not _known(file, home):
            ran.append(site_text((file, frame.f_lineno)))

    before = sys.getprofile()
    gc.disable()
    sys.setprofile(look)
    try:
        value = call()
    finally:
        sys.setprofile(before)
        if collecting:
            gc.enable()
    return value, ran[0] if ran else ""


def _released(
    host: Host, site: Site, inner: str, within: int | None, measurement: Any, argument: Any, value: Any, ran: str
) -> Any:
    metric, measure = str(measurement.input_metric), str(measurement.output_measure)
    name = f"opendp {measure}"
    if ran:
        host.note(
            "UNKNOWN_LAW",
            site,
            f"opendp: the measurement runs a function of its author's ({ran}); the library does not prove its map",
        )
    call = NoiseCall(
        name=name,
        site=site,
        inner=inner,
        value=np.zeros(0),
        settings={"metric": metric, "measure": measure},
        sensitivity=None,
        norm=1.0,
        eps=math.inf,
        delta=0.0,
        part=(host.identity(measurement), inner),
        within=within,
        opaque=True,
    )
    host.calls.append(call)
    kept = copy.deepcopy(argument)
    given = Given(name, _Asked(measurement, kept, f"{metric} -> {measure}", call), _loss)
    return copy.deepcopy(host.bound(site, name, value, given))


def _loss(here: _Asked, there: _Asked) -> CallLoss | str | None:
    """The measurement's own promise at the distance of the two inputs, from either dataset's measurement the larger."""
    try:
        same = same_bits(parts(here.argument), parts(there.argument))
    except Exception:  # foreign objects: nothing can be said of their distance
        return f"{here.call.name}: an input of type {type(here.argument).__name__} cannot be compared"
    if here.text != there.text:
        return f"{here.call.name}: the measurement is another one on the other dataset ({here.text}; {there.text})"
    metric = here.call.settings["metric"]
    gap = 0 if same else input_distance(metric, here.argument, there.argument)
    if gap is None:
        return f"{here.call.name}: the distance of two inputs is not known for {metric}"
    losses = [_mapped(each, gap) for each in (here, there)]
    for each in losses:
        if isinstance(each, str):
            return each
    if losses[0] != losses[1] or (same and _maps(here) != _maps(there)):
        return f"{here.call.name}: the measurement's map depends on the data"
    return None if same else _event(here, gap, losses[0])


def _maps(asked: _Asked) -> tuple[Any, ...]:
    """The map at some distances: two measurements whose inputs agree may still have other scales."""
    return tuple(_mapped(asked, distance) for distance in (1, 3))


def _mapped(asked: _Asked, gap: Any) -> Any:
    """map(gap), or a text where the library refuses it or a user's function makes it."""
    home = str(sys.modules["opendp.core"].__file__).rpartition("/")[0] + "/"
    whole = str(asked.measurement.input_distance_type)[:1] in "ui"
    if whole and isinstance(gap, float):
        gap = math.ceil(gap)
    try:
        found, ran = _watching(home, lambda: asked.measurement.map(gap if whole else float(gap)))
    except Exception as error:  # the library's own refusal
        return f"{asked.call.name}: no map at d_in {gap:g} ({type(error).__name__}: {str(error)[:80]})"
    if ran:
        return f"{asked.call.name}: its map is a function of its author's ({ran})"
    return found


def _event(asked: _Asked, gap: Any, found: Any) -> CallLoss | str:
    measure, name = asked.call.settings["measure"], asked.call.name
    if measure.startswith("MaxDivergence"):
        eps = float(found)
        return CallLoss(pure(eps, name), eps, float(gap))
    text = f"{name} promises {found} at the distance {gap:g} that its input moves"
    return CallLoss(None, math.inf, float(gap), text)


def input_distance(metric: str, first: Any, second: Any) -> Any:
    """Of two inputs in a metric of OpenDP, rounded up; None where the tape does not know it.

    Lists of records: the multiset distance counts additions and removals (twice the number of records that are
    replaced), the others compare them place by place. Numbers: exact in rationals, then rounded up.
    """
    first, second = (each.tolist() if isinstance(each, np.ndarray) else each for each in (first, second))
    kind = metric.partition("(")[0]
    records = isinstance(first, list) and isinstance(second, list)
    try:
        if kind in ("SymmetricDistance", "InsertDeleteDistance") and records:
            if kind == "InsertDeleteDistance":
                return _insertions(first, second)
            ours, theirs = Counter(map(repr, first)), Counter(map(repr, second))
            return sum(((ours - theirs) + (theirs - ours)).values())
        if kind in ("ChangeOneDistance", "HammingDistance") and records:
            if len(first) != len(second):
                return None
            if kind == "HammingDistance":
                return sum(repr(a) != repr(b) for a, b in zip(first, second, strict=True))
            ours, theirs = Counter(map(repr, first)), Counter(map(repr, second))
            return sum((ours - theirs).values())
        if kind == "DiscreteDistance":
            return int(repr(first) != repr(second))
        if kind in ("AbsoluteDistance", "L1Distance", "L2Distance", "LInfDistance", "LpDistance"):
            return _norm(kind, metric, first, second)
    except (TypeError, ValueError, OverflowError):
        return None
    return None


def _insertions(first: list[Any], second: list[Any]) -> int:
    """Length of the two lists less twice their longest common subsequence, after the common ends."""
    ours, theirs = [repr(each) for each in first], [repr(each) for each in second]
    while ours and theirs and ours[0] == theirs[0]:
        del ours[0], theirs[0]
    while ours and theirs and ours[-1] == theirs[-1]:
        del ours[-1], theirs[-1]
    if len(ours) * len(theirs) > 10**6:
        return len(ours) + len(theirs)  # an upper bound
    lengths = [0] * (len(theirs) + 1)
    for each in ours:
        before = 0
        for at, other in enumerate(theirs, 1):
            lengths[at], before = (before + 1 if each == other else max(lengths[at], lengths[at - 1])), lengths[at]
    return len(ours) + len(theirs) - 2 * lengths[-1]


def _norm(kind: str, metric: str, first: Any, second: Any) -> Any:
    ours, theirs = (each if isinstance(each, list) else [each] for each in (first, second))
    if len(ours) != len(theirs):
        return None
    gaps = [abs(Fraction(a) - Fraction(b)) for a, b in zip(ours, theirs, strict=True)]
    if kind == "L2Distance":
        square = sum(each * each for each in gaps)
        root = math.sqrt(square)
        while Fraction(root) ** 2 < square:
            root = math.nextafter(root, math.inf)
        return root
    if kind in ("AbsoluteDistance", "L1Distance"):
        exact = sum(gaps, Fraction(0))
    elif kind == "LInfDistance":
        exact = max(gaps, default=Fraction(0))
    else:
        return None
    if exact.denominator == 1:
        return int(exact)
    found = float(exact)
    return found if Fraction(found) >= exact else math.nextafter(found, math.inf)
