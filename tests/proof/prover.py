"""The prover that the tests of this folder try."""

from collections.abc import Callable
from typing import Any

from dpverify.proof import prove


def prover() -> Callable[..., Any]:
    """The public function of the prover."""
    return prove
