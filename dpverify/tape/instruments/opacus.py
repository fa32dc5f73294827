"""opacus: the noise of `DPOptimizer`, its divisor, what its accountant is told, and torch's generator.

`add_noise` gives summed_grad + sigma C z, z normal. Here it runs with a torch generator whose seed is known; the z of
that seed is drawn a second time and the result compared with summed_grad + noise_multiplier max_grad_norm z: NOISE
where it is something else. So the entry has the law off + coef z of the family normal, and F1 holds with it. Gradients
are float32: the sum is made in float64 and rounded, which is post-processing.

    SENSITIVITY   the clipped sum moves by more than 2 C (a replaced record; an added one moves it by C)
    SETTING       noise multiplier, clipping norm or divisor (expected batch size) are others on the other dataset
    STEPS         the accountant was told of fewer noisy steps, or of more noise, than there was

Everything else that torch draws (weights, samples of a batch) comes from its global generator, which gets one seed for
both datasets: a public coin. Noise that a program draws there itself is therefore equal on both, and what it should
protect differs: NOT TRACED. Setting a seed is FOREIGN. Amplification by sampling is not accounted for: the ledger
is that of the steps as they are, given the batches. Optimizers with noise of their own (distributed, adaptive clipping,
secure mode) are not known: UNKNOWN_LAW.
"""

import contextlib
import functools
import math
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from dpverify.base.sites import Site
from dpverify.tape.instruments.calls import CallStep, Given, NoiseCall
from dpverify.tape.instruments.host import Host

ROUNDED = 1e-5  # float32


@contextlib.contextmanager
def instrumented(host: Host) -> Iterator[None]:
    """Inside, optimizers draw through `host`, and torch has the seed of the transcript."""
    torch, library = sys.modules.get("torch"), sys.modules["opacus"]
    optimizers = sys.modules.get("opacus.optimizers.optimizer")
    if torch is None or optimizers is None:
        yield
        return
    home = str(library.__file__).rpartition("/")[0] + "/"
    kind = optimizers.DPOptimizer
    made = [
        (kind, "add_noise", _noised(host, home, torch, kind.add_noise)),
        (kind, "scale_grad", _scaled(host, home, kind.scale_grad)),
        *((torch, name, _seeding(host, home, getattr(torch, name))) for name in ("manual_seed", "seed")),
    ]
    for other in _below(kind):
        if "add_noise" in vars(other):
            made.append((other, "add_noise", _refused(host, home, vars(other)["add_noise"])))
    for accountant in _below(sys.modules["opacus.accountants.accountant"].IAccountant):
        if "step" in vars(accountant):
            made.append((accountant, "step", _told(host, home, vars(accountant)["step"])))
    kept = [(thing, name, getattr(thing, name)) for thing, name, _ in made]
    state = torch.random.get_rng_state()
    seed = host.bound(("", 0), "torch seed", int(host.rng.integers(2**62)), Given("seed", 0, lambda here, there: None))
    try:
        torch.random.set_rng_state(torch.Generator().manual_seed(seed).get_state())
        for thing, name, new in made:
            setattr(thing, name, new)
        yield
    finally:
        for thing, name, old in kept:
            setattr(thing, name, old)
        torch.random.set_rng_state(state)


def _below(kind: Any) -> list[Any]:
    found: list[Any] = []
    for child in kind.__subclasses__():
        found += [child, *_below(child)]
    return found


def _noised(host: Host, home: str, torch: Any, original: Any) -> Any:
    @functools.wraps(original)
    def add_noise(self: Any) -> None:
        site, inner, within = host.caller(home)
        sigma = float(self.noise_multiplier) * float(self.max_grad_norm)
        if getattr(self, "secure_mode", False):
            host.note("UNKNOWN_LAW", site, "opacus: secure mode is not known to the tape")
        if not original.__code__.co_filename.startswith(home):
            host.note("UNKNOWN_LAW", site, "opacus: add_noise is not the library's own")
        sums = [parameter.summed_grad.detach().clone() for parameter in self.params]
        seed, own = int(host.rng.integers(2**62)), self.generator
        self.generator = torch.Generator().manual_seed(seed)
        try:
            original(self)
        finally:
            self.generator = own
        host.calls.append(_call(host, self, site, inner, within, sums))
        again = torch.Generator().manual_seed(seed)
        for parameter, total in zip(self.params, sums, strict=True):
            z = torch.normal(mean=0.0, std=1.0, size=total.shape, generator=again, dtype=total.dtype).double().numpy()
            off = total.double().numpy()
            want, found = off + sigma * z, parameter.grad.detach().double().numpy().reshape(off.shape)
            if not (np.abs(found - want) <= ROUNDED * (np.abs(want) + np.abs(off) + sigma * np.abs(z))).all():
                host.note("NOISE", site, f"opacus: the noise is not that of the multiplier {self.noise_multiplier:g}")
            if sigma > 0:
                noisy = np.asarray(host.noise(site, "normal", z, off, sigma))
                parameter.grad = torch.from_numpy(noisy.copy()).to(total.dtype).view_as(parameter)

    return add_noise


def _call(host: Host, optimizer: Any, site: Site, inner: str, within: int | None, sums: list[Any]) -> NoiseCall:
    norm = float(optimizer.max_grad_norm)
    settings = {"noise_multiplier": float(optimizer.noise_multiplier), "max_grad_norm": norm}
    value = np.concatenate([np.zeros(0), *(each.double().numpy().ravel() for each in sums)])
    return NoiseCall(
        name="opacus DPOptimizer",
        site=site,
        inner=inner,
        value=value,
        settings=settings,
        sensitivity=2 * norm * (1 + ROUNDED),
        norm=2.0,
        eps=math.inf,
        delta=0.0,
        part=(host.identity(optimizer), inner),
        within=within,
    )


def _scaled(host: Host, home: str, original: Any) -> Any:
    @functools.wraps(original)
    def scale_grad(self: Any) -> None:
        site, inner, within = host.caller(home)
        settings = {"reduction": self.loss_reduction}
        if self.loss_reduction == "mean":
            settings["divisor (expected_batch_size)"] = float(self.expected_batch_size * self.accumulated_iterations)
        host.calls.append(
            NoiseCall(
                name="opacus scale_grad",
                site=site,
                inner=inner,
                value=np.zeros(0),
                settings=settings,
                sensitivity=None,
                norm=2.0,
                eps=0.0,
                delta=0.0,
                part=(host.identity(self), inner),
                within=within,
            )
        )
        original(self)

    return scale_grad


def _refused(host: Host, home: str, original: Any) -> Any:
    @functools.wraps(original)
    def add_noise(self: Any) -> None:
        host.note("UNKNOWN_LAW", host.caller(home)[0], f"opacus: the noise of {type(self).__name__} is not known")
        original(self)

    return add_noise


def _told(host: Host, home: str, original: Any) -> Any:
    @functools.wraps(original)
    def step(self: Any, *, noise_multiplier: float, sample_rate: float) -> Any:
        host.arena.steps.append(CallStep(host.caller(home)[0], float(noise_multiplier)))
        return original(self, noise_multiplier=noise_multiplier, sample_rate=sample_rate)

    return step


def _seeding(host: Host, home: str, original: Any) -> Any:
    @functools.wraps(original)
    def seeded(*args: Any, **kwargs: Any) -> Any:
        host.note("FOREIGN", host.caller(home)[0], "sets torch's seed: its noise is not fresh")
        return original(*args, **kwargs)

    return seeded
