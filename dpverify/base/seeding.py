"""Integer seed -> independent random streams, keyed by what they are for.

    stream(seed, Stage.ESTIMATE, block, arm)

A key is a meaning, not an order of calls: the same seed gives the same stream for the same stage, block
and arm whatever the number of workers, and twice as many trials only add blocks at the end. This is the
only module that calls `default_rng`.

These generators are for verification. They can be replayed by anybody who knows the seed: that is their
purpose here and their disqualification for releasing real data (see `mechanisms.toolbox.secure`).
"""

import hashlib
import secrets
from enum import IntEnum

import numpy as np
from numpy.random import default_rng, SeedSequence  # as they are now, whatever audited code or the tape makes of them

from dpverify.base import require


class Stage(IntEnum):
    """What a stream is used for; trials of different stages are independent by construction."""

    SELECT = 0  # chooses score and event
    ESTIMATE = 1  # certifies
    SEARCH = 2  # looks for a worst pair
    PROMISE = 3  # checks an error bound
    SHAPE = 4  # one release that shows the output's shape
    EXPERIMENT = 5  # learning curves
    TAPE = 6  # runs on the tape


def stream(seed: int, stage: Stage, *key: int) -> np.random.Generator:
    """Generator of the stream (seed, stage, *key); equal arguments give equal streams."""
    require.integer(at_least=0, seed=seed)
    return default_rng(SeedSequence(seed, spawn_key=(int(stage), *key)))


def fresh_seed() -> int:
    """A 63-bit seed from the operating system, for a caller who gave none; it goes into the record."""
    return secrets.randbits(63)


def derive(seed: int, name: str) -> int:
    """Seed of the subject called `name` in a suite with this seed: independent of its position."""
    require.integer(at_least=0, seed=seed)
    digest = hashlib.sha256(f"{seed}/{name}".encode()).digest()
    return int.from_bytes(digest[:7], "big")
