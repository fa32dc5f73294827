"""A source on frozen coordinates as a target of `audit`: for a fixed number of trials, or a sequential audit."""

from typing import Any

import numpy as np
import numpy.typing as npt

from dpverify.claims.neighbours import Pair
from dpverify.wild.codebook import Codebook
from dpverify.wild.contender import Contender
from dpverify.wild.here import Source


class Fixed:
    """`release(data, *, rng, size)` where `data` are bytes on the wire; rows of a codebook."""

    def __init__(self, source: Source, codebook: Codebook, block: int) -> None:
        self._source, self._codebook = source, codebook
        self.trials_per_block = block
        self.name = source.name
        self.reproducible = source.hello["call"] not in ("data", "fit")

    def release(self, data: bytes, *, rng: np.random.Generator, size: int) -> npt.NDArray[Any]:
        """One row a release."""
        fields = self._source.fields(data, rng.integers(0, 2**62, size=size).tolist())["fields"]
        return self._codebook.rows(fields)


def pair_of(contender: Contender) -> Pair:
    """The contender's pair for a `Fixed` target; its records were compared when it was made."""
    return Pair(*contender.data, relation=contender.candidate.relation, name=contender.candidate.name)
