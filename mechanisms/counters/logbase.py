"""The papers write log T without a base; both readings are kept."""

import math
from enum import Enum


class LogBase(Enum):
    """Base of the logarithm in a printed noise scale or error bound."""

    TWO = "log2"
    E = "ln"

    def of(self, number: int) -> float:
        """The logarithm; exact for powers of two in base 2."""
        return math.log2(number) if self is LogBase.TWO else math.log(number)

    def __str__(self) -> str:
        return self.value
