"""A cryptographic source of randomness for releases of real data.

The seedable generators of dpverify are for verification: whoever knows or guesses the seed can subtract
the noise. This one is ChaCha20 (RFC 8439's cipher) under a 256-bit key from the operating system, behind
NumPy's Generator, so every mechanism takes it as `rng`. It needs the optional package `randomgen`.

It is not enough to make continuous noise safe: float64 Laplace and Gaussian noise leak through their low
bits whatever the source (Mironov 2012). Use the discrete mechanisms. Their samplers take whole bits, so
their law is exact; they do not run in constant time. A process that is later compromised reveals the key.
"""

import secrets
from importlib import import_module

import numpy as np

from dpverify.base.errors import UsageError


def secure_generator() -> np.random.Generator:
    """A fresh, unseedable Generator over ChaCha20; UsageError when `randomgen` is not installed."""
    try:
        chacha = import_module("randomgen").ChaCha
    except ImportError:
        raise UsageError("secure_generator needs the package randomgen: pip install 'dpverify[secure]'") from None
    return np.random.Generator(chacha(key=secrets.randbits(256), rounds=20))
