"""What one run at full size says about privacy, whatever the learner."""

from typing import NamedTuple, Protocol

from algorithms.core.noise_tap import TapReport
from dpverify.claims import Claim


class RunWitness(NamedTuple):
    """`lower` bounds the true parameter from below, in `unit`; `tap` tests the laws that this takes for granted.

    `kind`      witness: exact, one transcript (see `node_evidence`); shift certificate: the exact loss law of known
                shifts; mean of transcripts: at confidence 1 - `noise_tap.SIGNIFICANCE`
    `bounds`    what an adversary sees who loses so much: the released counts (the proof's view), or one user's message;
                never actions or the output policy, which are functions of these and may tell less
    `exact`     given the laws; False: statistical, at the confidence that `kind` has
    `read`      where the noise's parameter comes from: "code", from what was drawn and released, or "object", as stated
                by the privatizer, which `tap` and `code` compare with what was drawn
    `code`      online rows: CONFORMS where the scales that the code used, at what moved, are those of the ledger
    `moved`     cells in `nodes` nodes; `draws` noise variables of the run; `transcript` = digest of what was released
    """

    lower: float
    unit: str
    kind: str
    moved: int
    nodes: int
    draws: int
    seconds: float
    transcript: str
    tap: TapReport
    code: str = ""
    bounds: str = "released counts"
    exact: bool = True
    read: str = "object"


class FullSize(Protocol):
    """One row of the table: `upper` is the ledger of the honest privatizer, `least` the share of it to be reached."""

    @property
    def name(self) -> str: ...
    @property
    def users(self) -> int: ...
    @property
    def claim(self) -> Claim: ...
    @property
    def upper(self) -> float: ...
    @property
    def least(self) -> float: ...

    def witness(self, seed: int) -> RunWitness:
        """One run (or more, where `kind` says so) with the first user, or one of the worst batch, replaced."""
        ...
