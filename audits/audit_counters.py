"""Continual counters: Theorem 12 of PUCB as printed and as corrected, better trees, and the negative control.

Ratios in comments are true eps over claimed eps, (floor(log2 R) + 1)/log T. Where eps is not 1 it was chosen so
that few trials are enough (largest gap between the two error rates).
"""

from dataclasses import replace

import numpy as np

from audits.papers import PUCB
from audits.planted.counters import half_noise, LastColumn, NoiseReusedBetweenLevels, OneNodeTooFew, ZerosNotFed
from dpverify import GaussianDP, Pair, planted, PureDP, Relation, Subject, ZCDP
from mechanisms.counters import (
    BinaryCounter,
    BufferedCounter,
    HonakerCounter,
    LogBase,
    SingleNoiseCounter,
    Stream,
    ToeplitzCounter,
)
from mechanisms.counters.error_bounds import printed_bound
from mechanisms.counters.promises import prefix_promise

THEOREM_12 = "Theorem 12: the binary mechanism with parameters T, eps is eps-DP"
ADD_REMOVE = Relation.ADD_OR_REMOVE_ONE
TRIALS = 50_000


def first_item(length: int, cells: int = 0) -> tuple[Pair, ...]:
    """Item 1, which lies in the most nodes, is 0 or 1; with cells, in the first or in the second of them."""
    shape = (length, cells) if cells else (length,)
    one, other = np.zeros(shape), np.zeros(shape)
    if cells:
        one[0, 0] = other[0, 1] = 1
    else:
        other[0] = 1
    return (Pair(Stream(one), Stream(other), name="item 1 replaced"),)


def printed(name: str, horizon: int, eps: float, log: LogBase, releases: int | None = None, **rest: object) -> Subject:
    """Lap(log(T)/eps) on every node, T or `releases` prefixes seen."""
    counter = BinaryCounter.printed(horizon, eps, log=log, releases=releases)
    subject = Subject(
        name=name,
        target=counter,
        claim=PureDP(eps),
        pairs=first_item(counter.releases),
        trials=TRIALS,
        expected="REFUTED",
        accounted=False,
        paper=PUCB,
        statement=THEOREM_12 + f" (T = {horizon}, {log}, {counter.releases} prefixes released)",
    )
    return replace(subject, **rest)  # type: ignore[arg-type]


def holds(name: str, target: object, claim: object, pairs: tuple[Pair, ...] | None = None) -> Subject:
    """A true claim, met by its ledger."""
    return Subject(
        name=name,
        target=target,
        claim=claim,  # type: ignore[arg-type]
        pairs=first_item(target.releases) if pairs is None else pairs,  # type: ignore[attr-defined]
        trials=TRIALS,
        accounted=True,
    )


white_box = BinaryCounter.printed(4, 2.25, log=LogBase.TWO, view="nodes")
true_as_printed = {"expected": "NOT_REFUTED", "accounted": True}
tree = holds("corrected", BinaryCounter.calibrated(4, 1.0), PureDP(1.0))
full_tree = holds("honaker", HonakerCounter.calibrated(4, 1.0), PureDP(1.0))
root = holds("toeplitz", ToeplitzCounter.calibrated(16, rho=0.5), ZCDP(0.5))
absent = Pair(
    Stream([[1, 0, 1], [0, 1, 0]]), Stream([[0, 0, 0], [0, 1, 0]], present=[False, True]), name="item 1 absent"
)
single = Subject(
    name="single-noise",
    target=SingleNoiseCounter(releases=4, eps=1.0),
    claim=PureDP(1.0),
    pairs=(Pair(Stream([1, 0, 1, 0]), Stream([1, 1, 1, 0]), name="users 1 and 3 collude against user 2"),),
    trials=1000,
    expected="REFUTED",
    accounted=False,
    statement="one Laplace draw for all prefixes is private (it is not; section 2.2 of PUCB says so, too)",
)

subjects = [
    printed("printed-T2-ln", 2, 1.75, LogBase.E),  # 2.885
    printed("printed-T2-log2", 2, 2.0, LogBase.TWO),  # 2
    printed("printed-T3-ln", 3, 2.0, LogBase.E),  # 1.820
    printed("printed-T4-log2", 4, 2.25, LogBase.TWO),  # 1.5
    printed("printed-T4-log2-nodes", 4, 2.25, LogBase.TWO, target=white_box),  # 1.5
    printed("printed-T1", 1, 1.0, LogBase.TWO, trials=1000),  # no noise at all
    printed("printed-T2-log2-R1", 2, 2.0, LogBase.TWO, 1, **true_as_printed),  # 1
    printed("printed-T4-log2-R3", 4, 2.25, LogBase.TWO, 3, **true_as_printed),  # 1
    printed("printed-T16-log2-R15", 16, 1.0, LogBase.TWO, 15, **true_as_printed),  # 1
    tree,
    holds("corrected-nodes", BinaryCounter.calibrated(4, 1.0, view="nodes"), PureDP(1.0)),
    holds("corrected-T1", BinaryCounter.calibrated(1, 1.0), PureDP(1.0)),
    holds("corrected-discrete", BinaryCounter.calibrated(4, 1.0, discrete=True), PureDP(1.0)),
    holds("corrected-gaussian", BinaryCounter.calibrated(4, rho=0.5), ZCDP(0.5)),
    holds("corrected-gaussian-discrete", BinaryCounter.calibrated(4, rho=0.5, discrete=True), ZCDP(0.5)),
    holds("corrected-cells", BinaryCounter.calibrated(2, 1.0, cells=(3,)), PureDP(1.0), first_item(2, 3)),
    holds(
        "corrected-cells-add-remove",
        BinaryCounter.calibrated(2, 1.0, cells=(3,), touches=2, relation=ADD_REMOVE),
        PureDP(1.0, relation=ADD_REMOVE),
        (absent,),
    ),
    full_tree,
    holds("honaker-discrete", HonakerCounter.calibrated(4, 1.0, discrete=True), PureDP(1.0)),
    holds("honaker-gaussian", HonakerCounter.calibrated(4, rho=0.5), ZCDP(0.5)),
    root,
    holds("toeplitz-gdp", ToeplitzCounter.calibrated(16, rho=0.5), GaussianDP(1.0)),
    holds("buffered", BufferedCounter.calibrated(16, rho=0.5), ZCDP(0.5)),
    single,
    replace(
        single,
        name="single-noise-future-only",
        target=SingleNoiseCounter(releases=4, eps=1.0, first_seen=3),
        trials=TRIALS,
        expected="NOT_REFUTED",
        accounted=None,
        paper=PUCB,
        statement="Section 2.2: the users after the changed one learn at most eps from it",
        notes=("the ledger covers all items; the claim is only about items before the first output seen",),
    ),
    planted(tree, "half-noise", half_noise(tree.target)),
    planted(tree, "one-node-too-few", OneNodeTooFew.for_claim(1.0, 4)),
    planted(
        tree,
        "noise-reused-between-levels",
        NoiseReusedBetweenLevels(BinaryCounter.calibrated(4, 1.0)),
        pairs=(Pair(Stream([0, 0, 0, 0]), Stream([0, 1, 0, 0]), name="item 2 replaced"),),
        trials=10_000,
    ),
    planted(tree, "zeros-not-fed", ZerosNotFed(BinaryCounter.calibrated(4, 1.0)), trials=10_000),
    planted(full_tree, "half-noise", half_noise(full_tree.target)),
    planted(root, "last-column", LastColumn.for_claim(0.5, 16)),
]

BETA = 0.025
promises = [
    prefix_promise(
        BinaryCounter.printed(T, 1.0, log=LogBase.TWO),
        Stream(np.zeros(T)),
        printed_bound(T, 1.0, BETA, log=LogBase.TWO),
        BETA,
        name=f"theorem-12-T{T}",
        trials=20_000,
        paper=PUCB,
        statement=f"Theorem 12: error at most (4/eps) ln(1/beta) log(T)^(5/2), each prefix (T = {T})",
    )
    for T in (2, 4, 16)
]
