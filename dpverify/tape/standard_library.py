"""The generators of the standard library on the tape: `random`, `random.SystemRandom`, `secrets`.

`Bits` runs the algorithms of CPython on the bits of a NumPy generator: a run without a tape draws from it. `TapeRandom`
hands out variables of known laws in the place of its results, by the same formulas, so that numbers agree in bits; what
it does not name runs CPython's algorithm on its draws.

Whole numbers below 2^31 are variables. Larger ones are off the tape, as `os.urandom` is: they are what seeds are made
of (`Material`), and whatever shows them differs when a run is repeated.
"""

import random
from typing import Any

import numpy as np

from dpverify.base.sites import site_text
from dpverify.tape.opaque import materialised
from dpverify.tape.sources import Source
from dpverify.tape.transcript import Reason

LARGE = 2**31  # numbers from here on are seeds
LEAST = 4  # bytes of a seed

DRAWN = (
    "random",
    "uniform",
    "triangular",
    "randint",
    "choice",
    "randrange",
    "sample",
    "shuffle",
    "choices",
    "normalvariate",
    "lognormvariate",
    "expovariate",
    "vonmisesvariate",
    "gammavariate",
    "gauss",
    "betavariate",
    "paretovariate",
    "weibullvariate",
    "getrandbits",
    "randbytes",
    *(("binomialvariate",) if hasattr(random, "binomialvariate") else ()),
)
SEEDS = ("seed", "getstate", "setstate")


class Material:
    """What the operating system has given in a run: a seed that is made of nothing else is no known seed."""

    def __init__(self) -> None:
        self._given: list[bytes] = []
        self._used: set[bytes] = set()

    def add(self, given: bytes) -> bytes:
        """Remembers and returns it."""
        self._given.append(given)
        return given

    def seeds(self, seed: Any) -> bool:
        """Whether a seed is bytes of these, in either order, and is used for the first time."""
        if isinstance(seed, int | np.integer) and not isinstance(seed, bool) and seed >= 0:
            number = int(seed)
            found = number.to_bytes(max(LEAST, (number.bit_length() + 7) // 8), "little")
        elif isinstance(seed, np.ndarray) and seed.dtype.kind in "iu":
            found = seed.tobytes()
        elif isinstance(seed, list | tuple) and all(type(each) is int and 0 <= each < 2**32 for each in seed):
            found = b"".join(each.to_bytes(4, "little") for each in seed)
        else:
            return False
        made = len(found) >= LEAST and any(found in each or found[::-1] in each for each in self._given)
        if not made or found in self._used:
            return False
        self._used.add(found)
        return True


class Bits(random.Random):
    """CPython's algorithms on the bits of a NumPy generator."""

    def __new__(cls, *given: Any) -> "Bits":
        return super().__new__(cls, 0)  # type: ignore[call-arg]

    def __init__(self, real: np.random.Generator, material: Material) -> None:
        self._real, self._material = real, material
        self.gauss_next: Any = None

    def random(self) -> Any:
        return self._real.random()

    def getrandbits(self, k: int, /) -> Any:
        if k < 0:
            raise ValueError("number of bits must be non-negative")
        size = (k + 7) // 8
        found = int.from_bytes(self._real.bytes(size), "little") >> (8 * size - k)
        if 1 << k > LARGE:
            self._material.add(found.to_bytes(max(size, LEAST), "little"))
        return found

    def randbytes(self, n: int) -> bytes:
        return self._material.add(self._real.bytes(n))

    def seed(self, *given: Any, **named: Any) -> None:
        """Nothing: on the tape it is noted."""

    def getstate(self) -> Any:
        return ()

    def setstate(self, state: Any) -> None:
        """Nothing: on the tape it is noted."""


class TapeRandom(Bits):
    """`random.Random` on the tape; `bits` draws, `source` hands out."""

    def __init__(self, bits: Bits, source: Source) -> None:
        self._bits, self._source = bits, source
        self.gauss_next = None

    def _variable(self, family: str, z: Any, parameters: tuple[Any, ...] = (), dtype: Any = np.float64) -> Any:
        return self._source.variables(family, z, parameters, dtype)

    def random(self) -> Any:
        return self._variable("uniform", self._bits.random())

    def expovariate(self, lambd: Any = 1.0) -> Any:
        return self._variable("exponential", self._bits.expovariate(1.0)) / materialised(lambd)

    def gauss(self, mu: Any = 0.0, sigma: Any = 1.0) -> Any:
        return materialised(mu) + self._variable("normal", self._bits.gauss(0.0, 1.0)) * materialised(sigma)

    def normalvariate(self, mu: Any = 0.0, sigma: Any = 1.0) -> Any:
        return materialised(mu) + self._variable("normal", self._bits.normalvariate(0.0, 1.0)) * materialised(sigma)

    def gammavariate(self, alpha: Any, beta: Any) -> Any:
        alpha = materialised(alpha)
        return self._variable("gamma", self._bits.gammavariate(alpha, 1.0), (alpha,)) * materialised(beta)

    def betavariate(self, alpha: Any, beta: Any) -> Any:
        alpha, beta = materialised(alpha), materialised(beta)
        return self._variable("beta", self._bits.betavariate(alpha, beta), (alpha, beta))

    def getrandbits(self, k: Any, /) -> Any:
        k = materialised(k)
        if 1 << max(k, 0) > LARGE:
            return self._bits.getrandbits(k)
        return self._variable("integers", self._bits.getrandbits(k), (0, 1 << k), np.int64)

    def _randbelow(self, n: Any) -> Any:
        n = materialised(n)
        found = self._bits._randbelow(n)  # type: ignore[attr-defined]
        return found if not 0 < n <= LARGE else self._variable("integers", found, (0, n), np.int64)

    def randbytes(self, n: int) -> bytes:
        return self._bits.randbytes(n)

    def choice(self, seq: Any) -> Any:
        """A fair sign is one variable, where noise may be made of it."""
        composes = getattr(self._source, "composes", False) and type(seq) in (list, tuple) and len(seq) == 2
        if composes and {*map(type, seq)} in ({int}, {float}) and sorted(seq) == [-1, 1]:
            return self._variable("sign", self._bits.choice(seq), (), np.array(seq).dtype)
        return super().choice(seq)

    def seed(self, *given: Any, **named: Any) -> None:
        self._noted("sets the seed of random")

    def getstate(self) -> Any:
        self._noted("reads the state of random")
        return ()

    def setstate(self, state: Any) -> None:
        self._noted("sets the state of random")

    def _noted(self, text: str) -> None:
        arena = self._source.arena
        arena.notes.append(Reason("FOREIGN", site_text(arena.site()), text))
