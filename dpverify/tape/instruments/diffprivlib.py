"""diffprivlib: `randomise` of every mechanism, and what `BudgetAccountant.spend` is told.

The library draws from the operating system. Here its own `randomise` runs with a generator whose draws are known, and
what it gives is compared, call by call, with its declared law:

    Laplace                 value + scale z with z = -(log(1-u1) cos(pi u2) + log(1-u3) cos(pi u4)). E cos(pi U) with E
                            exponential has the characteristic function (1+t^2)^(-1/2): the sum of two is Laplace(1);
                            scale = sensitivity / (eps - log(1 - delta)). Truncated and folded: post-processing of it
    Gaussian (analytic)     value + sigma z, z = (n1 + n2)/sqrt 2; sigma must give delta(eps) at the sensitivity
                            (Balle, Wang 2018, Theorem 8)
    Geometric               value + z, z discrete Laplace of scale sensitivity/eps by inversion of u
    GaussianDiscrete        value + z, z discrete Gaussian; its sampler (Canonne, Kamath, Steinke 2020) is trusted
    LaplaceBoundedDomain    Laplace given that it lies in [lower, upper]: log mass -|o-v|/b - log C(v); the loss of the
                            pair is |v-v'|/b + |log C(v)/C(v')|, reached at o = v or o = v'
    LaplaceBoundedNoise     Laplace given that the noise lies in +-bound
    Staircase               density e^(-k eps) on [k s, (k + gamma) s), then e^(-(k+1) eps) (Geng, Viswanath 2014)
    Exponential             the index, with its probability, where candidates and measure are the same on both datasets
    Binary                  the label, with its probability
    PermuteAndFlip, ExponentialCategorical, ExponentialHierarchical, Snapping, Uniform, Bingham, Wishart, Vector
                            nothing is known of their laws here: where the input is the same on both datasets they cost
                            nothing, else OPAQUE. Vector (objective perturbation) is always: it returns a function

NOISE where the output is not what the law says, FOREIGN where the mechanism has a generator of its own (a seed).
"""

import contextlib
import copy
import functools
import math
import secrets
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

from dpverify.base.sites import Site
from dpverify.tape.generator import TapeGenerator, TapeRandomState
from dpverify.tape.instruments.calls import CallLoss, Given, NoiseCall, pure, Spend
from dpverify.tape.instruments.host import Host

Array = npt.NDArray[Any]

TESTED = ("0.6.",)
CLOSE = 1e-9  # of the library's output to its law, relative to the noise
MOST = 1e-6  # of a declared delta, by which a calibration by bisection may miss it

Randomise = Callable[..., Any]


class Script(secrets.SystemRandom):
    """A generator that remembers what it gave: the library takes it for the operating system's."""

    def __new__(cls, rng: np.random.Generator) -> "Script":
        """Without a seed: `random.Random` would hash what it is given."""
        return super().__new__(cls)

    def __init__(self, rng: np.random.Generator) -> None:
        super().__init__()
        self._rng = rng
        self.log: list[Any] = []

    def _kept(self, value: Any) -> Any:
        self.log.append(value)
        return value

    def random(self, size: Any = None) -> Any:
        return self._kept(self._rng.random(size))

    def normalvariate(self, mu: float = 0.0, sigma: float = 1.0) -> float:
        return float(self._kept(self._rng.normal(mu, sigma)))

    def getrandbits(self, k: int) -> int:
        return int.from_bytes(self._rng.bytes((k + 7) // 8), "big") >> (-k % 8)

    def __getattr__(self, name: str) -> Any:
        """NumPy's methods, for mechanisms that make a generator of NumPy's."""
        if name in ("geometric", "multivariate_normal"):
            return lambda *args, **kwargs: self._kept(getattr(self._rng, name)(*args, **kwargs))
        raise AttributeError(name)


@dataclass(frozen=True, eq=False)
class Conditions:
    """What the law of one call depends on; `numbers` in the order of its mechanism."""

    call: NoiseCall
    numbers: tuple[Any, ...]


@contextlib.contextmanager
def instrumented(host: Host) -> Iterator[None]:
    """Inside, mechanisms draw through `host`."""
    made = []
    library = sys.modules["diffprivlib"]
    if (base := sys.modules.get("diffprivlib.mechanisms.base")) is not None:
        home = str(base.__file__).rpartition("/mechanisms/")[0] + "/"
        version = getattr(library, "__version__", None)
        for kind in _below(base.DPMechanism):
            if kind.__module__.startswith("diffprivlib.mechanisms.") and "randomise" in vars(kind):
                if kind.__name__ not in THROUGH:
                    made.append((kind, "randomise", vars(kind)["randomise"], _wrapped(host, home, version, kind)))
    if (accountant := sys.modules.get("diffprivlib.accountant")) is not None:
        kind = accountant.BudgetAccountant
        home = str(accountant.__file__).rpartition("/")[0] + "/"
        made.append((kind, "spend", kind.spend, _spending(host, home, kind.spend)))
        made.append((kind, "_default", kind._default, copy.deepcopy(kind._default)))  # a run must leave nothing behind
    try:
        for kind, name, _, new in made:
            setattr(kind, name, new)
        yield
    finally:
        for kind, name, old, _ in made:
            setattr(kind, name, old)


def _below(kind: Any) -> list[Any]:
    found: list[Any] = []
    for child in kind.__subclasses__():
        found += [child, *_below(child)]
    return found


def _spending(host: Host, home: str, spend: Any) -> Any:
    @functools.wraps(spend)
    def told(self: Any, epsilon: Any, delta: Any) -> Any:
        found = spend(self, epsilon, delta)
        within = host.caller(home)[2]
        host.spends.append(Spend(host.identity(self), within, float(epsilon), float(delta)))
        return found

    return told


def _wrapped(host: Host, home: str, version: str | None, kind: type) -> Randomise:
    original: Any = vars(kind)["randomise"]

    @functools.wraps(original)
    def randomise(self: Any, *args: Any, **kwargs: Any) -> Any:
        site, inner, within = host.caller(home, "mechanisms/")
        name = f"diffprivlib {type(self).__name__}"
        if not original.__code__.co_filename.startswith(home):
            host.note("UNKNOWN_LAW", site, f"{name}: randomise is not the library's own")
        if version is not None and not version.startswith(TESTED):
            host.note("UNKNOWN_LAW", site, f"{name}: release {version} is not one that the instrument knows")
        ours = secrets.SystemRandom if host.taped else secrets.SystemRandom | np.random.Generator
        if not isinstance(self._rng, ours | TapeGenerator | TapeRandomState):
            host.note("FOREIGN", site, f"{name} has a generator with a seed of its own; leave random_state out")
        script, own = Script(host.rng), self._rng
        self._rng = script
        try:
            output = original(self, *args, **kwargs)
        finally:
            self._rng = own
        value = args[0] if args else kwargs.get("value")
        call = NoiseCall(
            name=name,
            site=site,
            inner=inner,
            value=_numbers(self, value),
            settings=_settings(self),
            sensitivity=_sensitivity(self),
            norm=norm_of(self),
            eps=float(self.epsilon),
            delta=float(self.delta),
            part=(host.identity(self), inner),
            within=within,
            opaque=kind.__name__ == "Vector",
        )
        host.calls.append(call)
        law: Randomise = LAWS.get(kind.__name__, _unknown)
        return law(host, site, self, value, output, script.log, call)

    return randomise


# The norm in which a mechanism's input moves by its sensitivity at most, with the reason. Of a number all norms agree.
NORMS: dict[str, tuple[float | str, str]] = {
    "Exponential": (math.inf, "each candidate's utility moves by the sensitivity"),
    "PermuteAndFlip": (math.inf, "each candidate's utility moves by the sensitivity"),
    "ExponentialCategorical": (math.inf, "each candidate's utility moves by the sensitivity"),
    "ExponentialHierarchical": (math.inf, "each candidate's utility moves by the sensitivity"),
    "Bingham": (
        "spectral",
        "an exponential mechanism whose score of a unit vector u is u'Cu: it moves by "
        "|u'(C - C')u|, of which the largest over u is the spectral norm of C - C'",
    ),
}
SCALARS = (1.0, "the input is a number, or a vector whose noise is Laplace's")


def norm_of(mechanism: Any) -> float | str:
    """The norm of `NORMS` for this mechanism, or for the nearest class that it comes from."""
    named = (NORMS[kind.__name__] for kind in type(mechanism).__mro__ if kind.__name__ in NORMS)
    return next(named, SCALARS)[0]


def _numbers(mechanism: Any, value: Any) -> Array:
    if hasattr(mechanism, "utility"):
        return np.asarray(mechanism.utility, dtype=np.float64)
    if isinstance(value, str):
        return np.frombuffer(value.encode(), dtype=np.uint8).astype(np.float64)
    try:
        return np.atleast_1d(np.asarray(value, dtype=np.float64))
    except (TypeError, ValueError):
        return np.zeros(0)


def _sensitivity(mechanism: Any) -> float | None:
    found = getattr(mechanism, "sensitivity", None)
    return None if found is None else float(found)


def _settings(mechanism: Any) -> dict[str, Any]:
    """Everything that the mechanism was made with but for its input: what must not depend on the data."""
    names = (
        "epsilon",
        "delta",
        "sensitivity",
        "lower",
        "upper",
        "gamma",
        "monotonic",
        "value0",
        "value1",
        "function_sensitivity",
        "data_sensitivity",
        "dimension",
        "alpha",
        "n",
        "_scale",
    )
    found = {name.lstrip("_"): getattr(mechanism, name) for name in names if getattr(mechanism, name, None) is not None}
    return {name: float(each) if isinstance(each, int | float | np.number) else each for name, each in found.items()}


# laws


def _mismatch(host: Host, site: Site, call: NoiseCall, output: Any, want: Any) -> None:
    text = f"{call.name}: its output is {float(output):.6g} where the law that it declares gives {float(want):.6g}"
    host.note("NOISE", site, text)


def _additive(
    host: Host, site: Site, call: NoiseCall, value: Any, output: Any, family: str, z: float, scale: float
) -> Any:
    """value + scale z of a continuous family, checked against the library's output."""
    off = float(value)
    want = off + scale * z
    if not abs(float(output) - want) <= CLOSE * abs(scale * z) + 4 * np.spacing(max(abs(want), abs(off))):
        if not (math.isnan(want) and math.isnan(float(output))):
            _mismatch(host, site, call, output, want)
    if scale == 0 or not math.isfinite(scale) or not math.isfinite(off):
        return output  # nothing is drawn: the input itself
    return type(output)(host.noise(site, family, z, off, scale))


def _laplace(host: Host, site: Site, mechanism: Any, value: Any, output: Any, log: list[Any], call: NoiseCall) -> Any:
    scale = mechanism.sensitivity / (mechanism.epsilon - math.log1p(-mechanism.delta)) if mechanism.delta < 1 else 0.0
    return _additive(host, site, call, value, output, "laplace", -_standard(log), scale)


def _standard(log: list[Any]) -> Any:
    """The library's construction of minus a standard Laplace variable, or of many, from uniforms."""
    one, two, three, four = log if np.ndim(log[-1]) == 0 else np.asarray(log[-1]).reshape(4, -1)
    return np.log(1 - one) * np.cos(np.pi * two) + np.log(1 - three) * np.cos(np.pi * four)


def _gaussian(host: Host, site: Site, mechanism: Any, value: Any, output: Any, log: list[Any], call: NoiseCall) -> Any:
    sigma, moves = float(mechanism._scale), float(mechanism.sensitivity)
    if moves > 0 and not gaussian_delta_of_shift(mechanism.epsilon, moves / sigma if sigma > 0 else math.inf) <= (
        mechanism.delta * (1 + MOST)
    ):
        host.note("NOISE", site, f"{call.name}: sigma {sigma:g} is too small for the (eps, delta) that it declares")
    return _additive(host, site, call, value, output, "normal", sum(log) / math.sqrt(2), sigma)


def gaussian_delta_of_shift(eps: float, mu: float) -> float:
    """delta of a Gaussian that moves by mu standard deviations (Balle, Wang 2018, Theorem 8)."""
    if math.isinf(mu):
        return 1.0
    first, second = mu / 2 - eps / mu, -mu / 2 - eps / mu
    return float(special.ndtr(first) - math.exp(eps + special.log_ndtr(second)))


def _geometric(host: Host, site: Site, mechanism: Any, value: Any, output: Any, log: list[Any], call: NoiseCall) -> Any:
    if not mechanism.sensitivity:
        return output
    rate = mechanism.epsilon / mechanism.sensitivity
    centred = (log[0] - 0.5) * (1 + math.exp(-rate))
    z = math.copysign(1, centred) * math.floor(math.log(abs(centred)) / -rate) if centred else 0.0
    if int(output) != int(value) + int(z) and abs(int(output)) < 2**53:
        _mismatch(host, site, call, output, int(value) + z)
    off = np.int64(value)
    return type(output)(host.noise(site, "discrete_laplace", np.float64(z), off, 1.0, (1 / rate,)))


def _discrete(host: Host, site: Site, mechanism: Any, value: Any, output: Any, log: list[Any], call: NoiseCall) -> Any:
    sigma = float(mechanism._scale)
    if sigma == 0:
        return output
    if not _discrete_delta(mechanism.epsilon, int(mechanism.sensitivity), sigma) <= mechanism.delta * (1 + 1e-3):
        host.note("NOISE", site, f"{call.name}: sigma {sigma:g} is too small for the (eps, delta) that it declares")
    z = np.float64(int(output) - int(value))
    return type(output)(host.noise(site, "discrete_gaussian", z, np.int64(value), 1.0, (sigma,)))


def _discrete_delta(eps: float, moves: int, sigma: float) -> float:
    """sum of max(0, p(k) - e^eps p(k - moves)) over 40 sigma."""
    k = np.arange(-math.ceil(40 * sigma) - moves, math.ceil(40 * sigma) + 1 + moves, dtype=np.float64)
    mass = np.exp(-k * k / (2 * sigma * sigma))
    other = np.exp(-((k - moves) ** 2) / (2 * sigma * sigma))
    return float(np.maximum(mass - math.exp(eps) * other, 0).sum() / mass.sum())


def _bounded_domain(
    host: Host, site: Site, mechanism: Any, value: Any, output: Any, log: list[Any], call: NoiseCall
) -> Any:
    scale, low, high = float(mechanism._scale), float(mechanism.lower), float(mechanism.upper)
    centre = max(min(float(value), high), low)
    if math.isnan(float(value)) or scale == 0:
        return output
    if not _one_of(output, centre + scale * _standard(log)):
        _mismatch(host, site, call, output, (centre + scale * _standard(log))[0])

    def log_mass(found: Any) -> Array:
        inside = low <= found <= high
        return np.array(
            -abs(found - centre) / scale - math.log(scale * _kept(centre, scale, low, high)) if inside else -math.inf
        )

    given = Given(call.name, Conditions(call, (centre, scale, low, high)), _bounded_loss)
    return type(output)(host.law(site, call.name, output, log_mass, given))


def _one_of(output: Any, made: Array) -> bool:
    return bool(np.isclose(float(output), made, rtol=CLOSE, atol=0).any())


def _kept(centre: float, scale: float, low: float, high: float) -> float:
    """Mass of Laplace(centre, scale) in [low, high]."""
    return 1 - (math.exp((low - centre) / scale) + math.exp((centre - high) / scale)) / 2


def _bounded_loss(here: Conditions, there: Conditions) -> CallLoss | str | None:
    if here.numbers == there.numbers:
        return None
    (centre, scale, low, high), other = here.numbers, there.numbers
    gap = abs(centre - other[0])
    if (scale, low, high) != other[1:]:
        return CallLoss(None, math.inf, gap)
    eps = gap / scale + abs(math.log(_kept(centre, scale, low, high)) - math.log(_kept(other[0], scale, low, high)))
    return CallLoss(pure(eps, here.call.name), eps, gap)


def _bounded_noise(
    host: Host, site: Site, mechanism: Any, value: Any, output: Any, log: list[Any], call: NoiseCall
) -> Any:
    scale, reach, off = float(mechanism._scale), float(mechanism._noise_bound), float(value)
    if scale == 0 or math.isnan(off):
        return output
    if not _one_of(float(output) - off, scale * _standard(log)) and not _one_of(output, off + scale * _standard(log)):
        _mismatch(host, site, call, output, off + (scale * _standard(log))[0])

    def log_mass(found: Any) -> Array:
        far = abs(found - off)
        return np.array(
            -far / scale - math.log(-2 * scale * math.expm1(-reach / scale))
            if far <= reach * (1 + 1e-12)
            else -math.inf
        )

    given = Given(call.name, Conditions(call, (off, scale, reach)), _unbounded)
    return type(output)(host.law(site, call.name, output, log_mass, given))


def _unbounded(here: Conditions, there: Conditions) -> CallLoss | str | None:
    """An exact law with no event of the ledger: only its log mass is used."""
    return None if here.numbers == there.numbers else CallLoss(None, math.inf, abs(here.numbers[0] - there.numbers[0]))


def _staircase(host: Host, site: Site, mechanism: Any, value: Any, output: Any, log: list[Any], call: NoiseCall) -> Any:
    eps, width, gamma, off = (
        float(mechanism.epsilon),
        float(mechanism.sensitivity),
        float(mechanism.gamma),
        float(value),
    )
    if width == 0:
        return output
    sign, steps, uniform, low = log
    near = low < gamma / (gamma + (1 - gamma) * math.exp(-eps))
    far = steps - 1 + (gamma * uniform if near else gamma + (1 - gamma) * uniform)
    want = off + (-1 if sign < 0.5 else 1) * far * width
    if not np.isclose(float(output), want, rtol=CLOSE):
        _mismatch(host, site, call, output, want)

    def log_mass(found: Any) -> Array:
        whole, part = divmod(abs(found - off) / width, 1.0)
        return np.array(-eps * (whole + (part >= gamma)))

    given = Given(call.name, Conditions(call, (off, eps, width, gamma)), _staircase_loss)
    return type(output)(host.law(site, call.name, output, log_mass, given))


def _staircase_loss(here: Conditions, there: Conditions) -> CallLoss | str | None:
    """A shift by j sensitivities, rounded up, is j of them one after the other: j eps."""
    if here.numbers == there.numbers:
        return None
    gap = abs(here.numbers[0] - there.numbers[0])
    if here.numbers[1:] != there.numbers[1:]:
        return CallLoss(None, math.inf, gap)
    eps = here.numbers[1] * math.ceil(gap / here.numbers[2] * (1 - 1e-12))
    return CallLoss(pure(eps, here.call.name), eps, gap)


def _exponential(
    host: Host, site: Site, mechanism: Any, value: Any, output: Any, log: list[Any], call: NoiseCall
) -> Any:
    utility = np.asarray(mechanism.utility, dtype=np.float64)
    scale = float(mechanism.epsilon) / mechanism.sensitivity / (2 - mechanism.monotonic) if mechanism.sensitivity else 0
    if not scale:
        return host.bound(site, call.name, output, Given(call.name, Conditions(call, _key(mechanism)), _same_input))
    measure = np.ones(len(utility)) if not mechanism.measure else np.asarray(mechanism.measure, dtype=np.float64)
    with np.errstate(divide="ignore"):
        logs = scale * (utility - utility.max()) + np.log(measure)
    logs -= special.logsumexp(logs)
    cumulated = np.cumsum(np.exp(logs))
    index = int(min(np.searchsorted(cumulated, log[0]), len(logs) - 1))
    candidates = mechanism.candidates
    if output != (candidates[index] if candidates else index) and np.abs(cumulated - log[0]).min() > CLOSE:
        host.note("NOISE", site, f"{call.name}: its choice is not the one that its utilities give")
    numbers = (tuple(logs.tolist()), tuple(measure.tolist()), repr(candidates))
    given = Given(call.name, Conditions(call, numbers), _choice_loss)
    if candidates:
        index = next(at for at, each in enumerate(candidates) if each is output or each == output)
    else:
        index = int(output)

    def log_mass(found: Any) -> Array:
        return np.array(logs[found] if found < len(logs) else -math.inf)

    found = host.law(site, call.name, index, log_mass, given)
    if found >= len(logs):
        return output  # the other dataset has fewer candidates: `_choice_loss` refuses the transcript
    return candidates[found] if candidates else type(output)(found)


def _choice_loss(here: Conditions, there: Conditions) -> CallLoss | str | None:
    if here.numbers == there.numbers:
        return None
    (ours, measure, candidates), (theirs, other, others) = here.numbers, there.numbers
    if candidates != others or measure != other:
        return (
            f"{here.call.name}: its candidates or their measure come from the data, and its choice alone shows nothing"
        )
    eps = max(abs(one - two) for one, two in zip(ours, theirs, strict=True) if one > -math.inf)
    return CallLoss(pure(eps, here.call.name), eps, float(np.abs(here.call.value - there.call.value).max()))


def _binary(host: Host, site: Site, mechanism: Any, value: Any, output: Any, log: list[Any], call: NoiseCall) -> Any:
    eps, delta = float(mechanism.epsilon), float(mechanism.delta)
    keep = min((math.exp(eps) + delta) / (math.exp(eps) + 1), 1.0)
    want = (
        value
        if log[0] * (math.exp(eps) + 1) <= math.exp(eps) + delta
        else (mechanism.value1 if value == mechanism.value0 else mechanism.value0)
    )
    if output != want:
        host.note("NOISE", site, f"{call.name}: its label is not the one that its probabilities give")

    def log_mass(found: Any) -> Array:
        chance = keep if found == value else 1 - keep
        return np.array(math.log(chance) if chance > 0 else -math.inf)

    given = Given(call.name, Conditions(call, (value, eps, delta)), _binary_loss)
    return host.law(site, call.name, output, log_mass, given)


def _binary_loss(here: Conditions, there: Conditions) -> CallLoss | str | None:
    if here.numbers == there.numbers:
        return None
    if here.numbers[1:] != there.numbers[1:]:
        return CallLoss(None, math.inf, 1.0)
    _, eps, delta = here.numbers
    worst = math.log((math.exp(eps) + delta) / (1 - delta)) if delta < 1 else math.inf
    return CallLoss(pure(worst, here.call.name), worst, 1.0)


def _unknown(host: Host, site: Site, mechanism: Any, value: Any, output: Any, log: list[Any], call: NoiseCall) -> Any:
    """Nothing is known of the law: it costs nothing where everything that it was given is the same."""
    if call.opaque:
        host.note(
            "OPAQUE",
            site,
            f"{call.name} perturbs an objective and returns a function: the tape cannot compare its inputs",
        )
        return output
    given = Given(
        call.name, Conditions(call, (value if isinstance(value, str) else None, *_key(mechanism))), _same_input
    )
    return host.bound(site, call.name, output, given)


def _key(mechanism: Any) -> tuple[Any, ...]:
    """All attributes of a mechanism but its generator, as text."""
    return tuple(
        f"{name}={each!r}" for name, each in sorted(vars(mechanism).items()) if name not in ("_rng", "random_state")
    )


def _same_input(here: Conditions, there: Conditions) -> CallLoss | str | None:
    same = here.numbers == there.numbers and here.call.value.tobytes() == there.call.value.tobytes()
    return None if same else f"{here.call.name}: its law is not known to the tape, and its input moves"


LAWS: dict[str, Callable[..., Any]] = {
    "Laplace": _laplace,
    "Gaussian": _gaussian,
    "Geometric": _geometric,
    "GaussianDiscrete": _discrete,
    "LaplaceBoundedDomain": _bounded_domain,
    "LaplaceBoundedNoise": _bounded_noise,
    "Staircase": _staircase,
    "Exponential": _exponential,
    "Binary": _binary,
}

THROUGH = ("DPMechanism", "LaplaceTruncated", "LaplaceFolded", "GeometricTruncated", "GeometricFolded")  # post-process
