"""Random ledgers of all families, of which `benchmarks.tightness.contour` knows the law: old events and new ones."""

import math

import numpy as np

from dpverify.accounting.groups import group_of
from dpverify.claims.claim import GaussianDP, PureDP
from dpverify.claims.neighbours import Relation
from dpverify.ledger.compound_events import (
    BoundedRange,
    DominatingPair,
    Filtered,
    FixedSizeSampled,
    MatrixGaussian,
    PoissonSampled,
    Shuffled,
)
from dpverify.ledger.events import (
    BinomialNoise,
    Direction,
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    Event,
    FiniteLaws,
    GaussianNoise,
    KaryResponse,
    LaplaceNoise,
    Ledger,
    PureStep,
    Sensitivity,
    Shift,
)
from dpverify.ledger.laws import LaplaceLaw, Mixture, Normal, PiecewiseConstant, Truncated

SEED = 20261122
ONE = Sensitivity(replace=1, add_remove=1)


def moves(rng: np.random.Generator, size: float, *, directed: bool = False) -> Sensitivity:
    """Replacing moves twice as far, or twice as many."""
    way = Direction(rng.choice(["up", "down"])) if directed else None
    replace = Shift(2 * size, 1, way) if rng.random() < 0.5 else Shift(size, 2, way)
    return Sensitivity(replace=replace, add_remove=Shift(size, 1, way))


def random_event(rng: np.random.Generator, relation: Relation, scale: float) -> Event:
    """Noise, responses, pure steps and directed laws."""
    steps = Sensitivity(replace=Shift(1, 2), add_remove=Shift(1))
    match int(rng.integers(8)):
        case 0:
            return LaplaceNoise(scale=scale, sensitivity=moves(rng, 1))
        case 1:
            return GaussianNoise(sigma=scale, sensitivity=moves(rng, 1))
        case 2:
            return KaryResponse(k=int(rng.integers(2, 40)), eps=float(1 / scale), reports=steps)
        case 3:
            return PureStep(eps=float(1 / scale), uses=steps)
        case 4:
            return DiscreteLaplaceNoise(scale=min(scale, 40.0), sensitivity=moves(rng, int(rng.integers(1, 3))))
        case 5:
            return DiscreteGaussianNoise(sigma=float(rng.uniform(0.7, 4)), sensitivity=moves(rng, 1))
        case 6:
            chance = float(rng.choice([0.5, rng.uniform(0.2, 0.8)]))
            return BinomialNoise(
                trials=int(rng.integers(8, 60)), probability=chance, sensitivity=moves(rng, 1, directed=chance != 0.5)
            )
        case _:
            return FiniteLaws(pairs=(_laws(rng, scale),), relation=relation, directed=True)


def _laws(rng: np.random.Generator, scale: float) -> tuple[tuple[float, ...], tuple[float, ...]]:
    outputs = int(rng.integers(2, 5))
    p = rng.dirichlet(np.full(outputs, 4.0))
    q = p * np.exp(rng.normal(size=outputs) / scale)
    first, second = (tuple(map(float, law / math.fsum(law))) for law in (p, q))
    return first, second


def random_ledger(rng: np.random.Generator) -> tuple[Ledger, Relation, float]:
    """One to three events of `random_event`, heterogeneous, with counts; a relation; delta in 1e-2..1e-20."""
    relation = Relation.REPLACE_ONE if rng.random() < 0.5 else Relation.ADD_OR_REMOVE_ONE
    ledger = Ledger()
    for _ in range(int(rng.integers(1, 4))):
        scale = float(10 ** rng.uniform(-0.3, 2))
        many = 10 ** rng.uniform(0, 2 * math.log10(max(scale, 1.0)) + 0.7)  # sums of losses of the size of a few
        event = random_event(rng, relation, scale)
        few = isinstance(event, BinomialNoise | DiscreteGaussianNoise)
        ledger = ledger + Ledger(event) * max(1, int(min(many, 12 if few else 10**6)))
    return ledger, relation, float(10 ** -rng.uniform(2, 20))


NEW = (
    "poisson",
    "sgd",
    "fixed",
    "shuffled",
    "matrix",
    "range",
    "mixture",
    "truncated",
    "staircase",
    "open",
    "binomial",
)
OPEN = ("range", "open", "binomial")  # the pair is chosen on the way


def new_event(rng: np.random.Generator, kind: str) -> tuple[Event, Relation | None, int]:
    """An event, the relation that it is about (None: both), and how often it is composed."""
    add, replace = Relation.ADD_OR_REMOVE_ONE, Relation.REPLACE_ONE
    either = replace if rng.random() < 0.5 else add
    scale = float(10 ** rng.uniform(-0.2, 1))
    noise: Event = GaussianNoise(sigma=scale, sensitivity=ONE)
    match kind:
        case "poisson":
            noises = (noise, LaplaceNoise(scale=scale, sensitivity=ONE), KaryResponse(k=4, eps=1 / scale, reports=ONE))
            inside = Ledger(noises[int(rng.integers(3))])
            return PoissonSampled(rate=float(rng.uniform(0.02, 0.9)), inside=inside), add, int(10 ** rng.uniform(0, 2))
        case "sgd":
            sampled = PoissonSampled(rate=float(10 ** -rng.uniform(1, 3)), inside=Ledger(noise))
            return sampled, add, int(10 ** rng.uniform(2, 3.5))
        case "fixed":
            of = int(rng.integers(2, 50))
            inside = Ledger(noise if rng.random() < 0.5 else LaplaceNoise(scale=scale, sensitivity=ONE))
            return (
                FixedSizeSampled(sampled=int(rng.integers(1, of)), of=of, inside=inside),
                replace,
                int(10 ** rng.uniform(0, 2)),
            )
        case "shuffled":
            shuffled = Shuffled(local_eps=float(rng.uniform(0.2, 3)), users=int(rng.integers(2, 25)))
            return shuffled, replace, int(rng.integers(1, 6))
        case "matrix":
            n = int(rng.integers(1, 7))
            rows = np.tril(rng.uniform(0 if rng.random() < 0.7 else -1, 1, (n, n)) + np.eye(n))
            return (
                MatrixGaussian(
                    strategy=tuple(tuple(map(float, row)) for row in rows),
                    sigma=5 * scale,
                    movement=ONE,
                    participations=int(rng.integers(1, 4)),
                    separation=int(rng.integers(1, 4)),
                ),
                None,
                int(rng.integers(1, 4)),
            )
        case "range":
            eps = float(10 ** -rng.uniform(0, 1.5))
            return BoundedRange(eps=eps, uses=ONE), None, int(min(10 ** rng.uniform(0, 2.5), 8 / eps**2 + 1))
        case "mixture":
            rate = float(rng.uniform(0.01, 0.6))
            p = Mixture((1 - rate, rate), (Normal(0.0, scale), Normal(1.0, scale)))
            pair = DominatingPair(p=p, q=Normal(0.0, scale), relation=either, directed=True)
            return pair, either, int(10 ** rng.uniform(0, 1.5))
        case "truncated":
            kinds = (LaplaceLaw, Normal)[int(rng.integers(2))]
            reach = scale * float(rng.uniform(6, 30))
            laws = [Truncated(kinds(at, scale), at - reach, at + reach) for at in (0.0, 1.0)]
            pair = DominatingPair(p=laws[0], q=laws[1], relation=either, directed=True)
            return pair, either, int(10 ** rng.uniform(0, 1.5))
        case "staircase":
            edges, ratio = tuple(float(each) for each in range(-6, 8)), math.exp(-1 / scale)
            heights = [ratio ** abs(i - 6.5) for i in range(13)]
            first = PiecewiseConstant(edges, tuple(heights))
            second = PiecewiseConstant(edges, (*heights[::-1][1:], ratio**8))
            return DominatingPair(p=first, q=second, relation=either, directed=True), either, int(rng.integers(1, 30))
        case "open":
            pairs = tuple(_laws(rng, scale) for _ in range(int(rng.integers(1, 3))))
            return FiniteLaws(pairs=pairs, relation=either), either, int(rng.integers(1, 13))
        case "binomial":
            shift = Sensitivity(replace=Shift(1), add_remove=Shift(1))
            chance = float(rng.uniform(0.1, 0.4))
            noise = BinomialNoise(trials=int(rng.integers(20, 60)), probability=chance, sensitivity=shift)
            return noise, None, int(rng.integers(1, 8))
    raise ValueError(kind)


def random_new_ledger(rng: np.random.Generator) -> tuple[Ledger, Ledger, Relation, float]:
    """A ledger with a new event, the same without groups and filters, a relation, and delta (1e-20..1e-2, or 0).

    Beside the new event there may be a second one under the same relation (of open steps at most one), noise of old,
    the group of a noise, or a filter.
    """
    kind = str(rng.choice(NEW))
    event, relation, count = new_event(rng, kind)
    ledger = Ledger(event) * count
    relation = relation or (Relation.REPLACE_ONE if rng.random() < 0.5 else Relation.ADD_OR_REMOVE_ONE)
    if rng.random() < 0.4:
        other = str(rng.choice([each for each in NEW if each not in OPEN]))
        beside, wanted, often = new_event(rng, other)
        if wanted in (None, relation):
            ledger = ledger + Ledger(beside) * often
    plain = ledger
    sigma = float(10 ** rng.uniform(0, 1))
    if rng.random() < 0.3:
        k = int(rng.integers(2, 5))
        made = (GaussianNoise, LaplaceNoise)[int(rng.integers(2))]
        name = "sigma" if made is GaussianNoise else "scale"
        own, moved = (made(**{name: k * sigma}, sensitivity=Sensitivity(replace=s, add_remove=s)) for s in (1, k))
        ledger, plain = ledger + group_of(Ledger(own), k), plain + Ledger(moved)
    if rng.random() < 0.3:
        budget = (GaussianDP(1 / sigma, relation=relation), PureDP(1 / sigma, relation=relation))[int(rng.integers(2))]
        ledger = ledger + Ledger(Filtered(budget=budget))
        same: Event = PureStep(eps=1 / sigma, uses=ONE)
        if isinstance(budget, GaussianDP):
            same = GaussianNoise(sigma=1.0, sensitivity=Sensitivity(replace=1 / sigma, add_remove=1 / sigma))
        plain = plain + Ledger(same)
    delta = 0.0 if rng.random() < 0.05 else float(10 ** -rng.uniform(2, 20))
    return ledger, plain, relation, delta
