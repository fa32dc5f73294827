"""A cryptographic source of randomness for releases of real data.

The seedable generators of dpverify are for verification: whoever knows or guesses the seed can subtract
the noise. This one is ChaCha20 (RFC 8439's cipher) under a 256-bit key from the operating system, behind
NumPy's Generator, so every mechanism takes it as `rng`. It needs the optional package `randomgen`.

It is not enough to make continuous noise safe: float64 Laplace and Gaussian noise leak through their low
bits whatever the source (Mironov 2012). Use the discrete mechanisms. Their samplers take whole bits, so
their law is exact; they do not run in constant time. A process that is later compromised reveals the key.

    secret = publish(mechanism, data)            # a release of real data
    audit(mechanism, claim=..., pair=...)        # a release of test data: seeded, so that it can be replayed
"""

import secrets
import warnings
from importlib import import_module
from typing import Any

import numpy as np

from dpverify.errors import UsageError


class SecureGenerator(np.random.Generator):
    """A generator that `secure_generator` has made: nobody has seen its key."""


class SeededReleaseWarning(UserWarning):
    """Real data were released with noise that somebody who knows or guesses a seed can subtract."""


def secure_generator() -> SecureGenerator:
    """A fresh, unseedable Generator over ChaCha20; UsageError when `randomgen` is not installed."""
    try:
        chacha = import_module("randomgen").ChaCha
    except ImportError:
        raise UsageError("secure_generator needs the package randomgen: pip install 'dpverify[secure]'") from None
    return SecureGenerator(chacha(key=secrets.randbits(256), rounds=20))


def publish(mechanism: Any, data: Any, *, rng: np.random.Generator | None = None) -> Any:
    """One release of real data by `mechanism.release(data, rng=, size=1)`, with a fresh `secure_generator` by default.

    Warns (SeededReleaseWarning) for an `rng` that `secure_generator` has not made: its state may be known or guessed,
    and PCG64, NumPy's own, can be computed from its outputs. Audits call `release` itself and stay quiet.
    """
    if rng is None:
        rng = secure_generator()
    elif not isinstance(rng, SecureGenerator):
        kind = type(rng.bit_generator).__name__
        said = f"real data are released with noise from {kind}, which a seed or its outputs give away; leave out rng"
        warnings.warn(said, SeededReleaseWarning, stacklevel=2)
    return mechanism.release(data, rng=rng, size=1)[0]
