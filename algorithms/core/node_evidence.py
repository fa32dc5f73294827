"""Evidence from one run of an online learner at full size, as its released counts stream by.

    node(t)    = N~(t) - N~(t - lowbit(t)) for trees,  N~(t) - N~(t - 1) for sums of messages
    residual   = node(t) - (exact sum of the users in the node):  the noise, whatever code made it
    L          = sum over the nodes that contain the first user of log p(node | D)/p(node | D')

Everybody but the first user acts on released counts and on her own data, so given the transcript only the first user's
own counts differ between the worlds (billboard lemma): L is the exact log likelihood ratio of the whole run. It is the
streaming form of `transcript_log_ratio`, from what is released alone; memory is O(cells log T).

Witness    the noise of the moved cells is chosen on the far side of the other world's mean, magnitudes and all other
           noise as drawn. A neighbourhood of the transcript has positive probability and ratio near L, so
           eps_true >= L given the noise laws (`dpverify.tape.witness`, F3). For Laplace noise L = sum |shift|/b.
           Normal noise stays as drawn: a run is one Gaussian mechanism with mu = |shift/sigma|_2 (`mu`)
Tap        the residuals against the law that the ledger states: what the witness takes for granted.
Code       in the nodes of the first user, residual/z with z as it passed the tape is the scale that the code used:
           together with the shifts a transcript of moved draws, which F7 matches with the ledger (`conforms`).
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from algorithms.core.noise_tap import NoiseTap
from dpverify.claims import Relation
from dpverify.ledger import Ledger
from dpverify.tape.forced import Moved
from dpverify.tape.ledger_matching import conforms
from dpverify.tape.sources import Change
from dpverify.tape.witness import towards_zero
from mechanisms.counters import dyadic
from mechanisms.toolbox.noise_laws import Noise

Array = npt.NDArray[np.float64]
ROUNDING = 2.0**-45  # of the numbers that a residual is a difference of: a chain of sums of a few dozen


@dataclass(eq=False)
class NodeEvidence:
    """Takes the steps of one run in order; `tree` or sums, `noise` = law of a node, `tap` None: nothing is tested.

    `item_nodes` are the times of the nodes that contain the first user. Their noise may be chosen, and the tap is told.
    `loss` is L so far, `moved` the number of cells that differ between the first user's two lives.
    """

    releases: int
    tree: bool
    noise: Noise
    tap: NoiseTap | None = None

    def __post_init__(self) -> None:
        self.loss = 0.0
        self.moved = 0
        self.time = 0
        self.item_nodes = tuple(dyadic.nodes_containing(1, self.releases)) if self.tree else (1,)
        self.used: list[tuple[Array, Array]] = []  # by node: noise of the moved cells, its rounding
        self._shift: Array = np.zeros(0)
        self._sums: dict[int, Array] = {}  # exact sums of the open nodes, by level
        self._prefixes: dict[int, Array] = {}  # released counts at the ends of the open nodes

    def step(self, own: Array, other: Array, released: Array) -> None:
        """The user's own counts (cells,), those of the same user in the other world, and the released counts.

        `other` counts at the first user only: nobody else is replaced.
        """
        self.time += 1
        if self.time == 1:
            self._shift = own - other
            self.moved = int(np.count_nonzero(self._shift))
        total, node = self._node(own, released)
        chosen = self.time in self.item_nodes
        if self.tap is not None:
            largest = float(np.abs(released).max() + np.abs(node).max())
            self.tap.add(node - total, largest=largest, chosen=chosen)
        if chosen:
            moved = self._shift != 0
            worlds = [each[None, moved] for each in (node, total, total - self._shift)]
            self.loss += float(self.noise.log_ratio(*worlds)[0])
            size = np.abs(released[moved]) + np.abs(node[moved]) + np.abs(total[moved])
            self.used.append((node[moved] - total[moved], size * ROUNDING))

    def code(self, drawn: "FarSide", ledger: Ledger) -> str:
        """CONFORMS where the ledger covers what the code added to what moved (F7 of one transcript); else UNMATCHED.

        A scale is residual/z, granted the rounding of the sums that the residual is the difference of.
        """
        shift, rows = self._shift[self._shift != 0], []
        for entry, scale in enumerate(self._scales(drawn)):
            with np.errstate(divide="ignore"):  # a scale of 0 is no noise: nothing of a ledger covers it
                terms = np.abs(shift) / scale
            rows.append(
                Moved(
                    entry, "released counts", drawn.family, "value", shift, scale, scale, (), (), terms, np.sign(shift)
                )
            )
        return conforms([tuple(rows)], ledger, Relation.REPLACE_ONE).status

    def mu(self, drawn: "FarSide") -> float:
        """Lower bound on |shift/sigma|_2 of the whole run, with the scales of the code: a Gaussian run is mu-GDP."""
        shift = self._shift[self._shift != 0]
        return towards_zero(math.sqrt(sum(float(((shift / scale) ** 2).sum()) for scale in self._scales(drawn))))

    def _scales(self, drawn: "FarSide") -> list[Array]:
        """By node, of the moved cells, rounded up."""
        return [
            (np.abs(noise) + rounding) / np.abs(z) for (noise, rounding), z in zip(self.used, drawn.chosen, strict=True)
        ]

    def _node(self, own: Array, released: Array) -> tuple[Array, Array]:
        """Exact and noisy sum of the node that closes now."""
        if not self.tree:
            before = self._prefixes.get(0)
            self._prefixes[0] = released
            return own, released if before is None else released - before
        level = (self.time & -self.time).bit_length() - 1
        total = own
        for below in range(level):
            total = self._sums[below] + total
        self._sums[level] = total
        rest = self.time & (self.time - 1)
        node = released if not rest else released - self._prefixes[(rest & -rest).bit_length() - 1]
        self._prefixes[level] = released
        return total, node


class FarSide:
    """Chooses the noise of the moved cells in the first user's nodes: signs of `shift`, magnitudes as drawn.

    A `Change` of the tape: the k-th draw with one number a cell is the noise of node k. Normal noise is noted, and left
    as drawn: its loss law is known from shifts and scales.
    """

    def __init__(self, shift: Array, nodes: tuple[int, ...], family: str = "laplace") -> None:
        self.family = family
        self._signs, self._nodes, self._calls = np.sign(shift), frozenset(nodes), 0
        self.chosen: list[Array] = []  # of the moved cells, one array a node

    def __call__(self, family: str, z: npt.NDArray[Any], start: int) -> npt.NDArray[Any]:
        if family != self.family or z.shape[-1:] != self._signs.shape:
            return z
        self._calls += 1
        if self._calls not in self._nodes:
            return z
        found = np.where(self._signs != 0, np.abs(z) * self._signs, z) if family == "laplace" else z
        self.chosen.append(found.reshape(-1, len(self._signs))[-1][self._signs != 0])
        return found


def after(first: Change | None, then: Change) -> Change:
    """Both changes of what is drawn, one after the other."""
    return then if first is None else lambda family, z, start: then(family, first(family, z, start), start)
