"""What one run at full size says about privacy, whatever the learner."""

from typing import NamedTuple, Protocol

from algorithms.core.noise_tap import TapReport
from dpverify.claims import Claim


class RunWitness(NamedTuple):
    """`lower` bounds the true parameter from below, in `unit`; `tap` tests the laws that this takes for granted.

    `method`    witness: one transcript (see `node_evidence`); shift certificate: the loss law of known shifts; mean of
                transcripts
    `view`      what an adversary sees who loses so much: the released counts (the proof's view), or one user's message;
                never actions or the output policy, which are functions of these and may tell less
    `kind`      exact given the laws, or statistical with its level
    `read`      where the noise's parameter comes from: "code", from what was drawn and released, or "object", as stated
                by the privatizer, which `tap` and `code` compare with what was drawn
    `code`      CONFORMS where the parameters that the code used, at what moved, are those of the ledger; empty where
                that was not looked at
    `moved`     cells in `nodes` nodes; `draws` noise variables of the run; `transcript` = digest of what was released
    """

    lower: float
    unit: str
    method: str
    moved: int
    nodes: int
    draws: int
    seconds: float
    transcript: str
    tap: TapReport
    code: str = ""
    view: str = "released counts"
    kind: str = "exact given laws"
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
