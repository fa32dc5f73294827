"""From transcripts to statements: what k forced runs prove, and at which confidence.

Write p, q for the densities of the transcript T under D and D', L(T) = log p(T)/q(T), and V = g(T) on D, g'(T) on D'
for what is released; P, Q for the laws on D and D'. A transcript is bad where the outputs differ or L is not finite.

F1, chain rule. If each z is fresh with its stated law, L is the sum of the log ratios of the materialisations.
Proof: o_i is a function of z_i with slope coef_i != 0 given o_1..o_(i-1). The map z -> T is triangular, so p(T) is the
product of f_i(z_i)/|coef_i|, and q(T) likewise, with the off', coef' that the program computes on D' from the same
o_1..o_(i-1). A decision has the probability of its outcome given the interval that is left. Adaptivity is inside.

F5, bound at a confidence. If k transcripts are drawn from P, none is bad and none has L > eps, then V is
(eps, delta_k)-indistinguishable in this order, delta_k = 1 - beta^(1/k), at confidence 1 - beta. Proof: let
B = {bad or L > eps}. P(A) <= P(B) + P(g in A, not B); on the complement of B we have g = g' and p <= e^eps q, so the
second term is at most e^eps Q(A). P(B) <= delta_k at confidence 1 - beta (Clopper-Pearson). eps may be the largest L
seen: P[L > largest of k] is at most delta_k with probability 1 - beta for any law (Wilks 1941), atoms included.

F6, profile. With W = 1 if bad, else max(0, 1 - e^(eps - L)), E[W] >= delta_V(eps). Proof: P(A) - e^eps Q(A) is at most
P(bad) + E[1 - e^(eps - L); good, g in A], and the integrand is at most its positive part. An upper confidence bound of
a mean in [0, 1] is therefore a certified delta (Hoeffding 1963, Theorem 1: k KL(mean || q) <= ln(1/beta)).

F8, ledger. Where every transcript's moved coordinates are dominated by those of one ledger, in the sense of F7
(`conform`), V is (eps, delta_ledger(eps) + delta_k). The envelope of pilot transcripts is such a ledger, tested on the
transcripts that count. So many finite draws, of which no enumeration sees the end, are a product: of binomials with
their directions, and of coins (decisions) with their two chances on D and on D', all to 12 digits.

Two orders: beta/2 each. k transcripts never prove anything about other pairs.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
import scipy

from dpverify.accounting.ledger import Event, FiniteLaws, Ledger, PureStep, Sensitivity, Shift
from dpverify.claims.neighbours import Relation
from dpverify.tape.conform import negligible, told
from dpverify.tape.families import FAMILIES
from dpverify.tape.forced import Moved
from dpverify.tape.stock import direction

MOST_KINDS = 256  # different events of a ledger that may be the same in all transcripts; more are those of chance
DIGITS = 12  # scales and shifts that agree to so many digits are one event


def failure_mass(transcripts: int, beta: float) -> float:
    """delta_k = 1 - beta^(1/k), rounded up: the largest mass of a set that k draws all miss, at confidence 1 - beta."""
    return math.nextafter(-math.expm1(math.log(beta) / transcripts), 1.0)


def largest(log_ratios: Sequence[float]) -> float:
    """F5: the eps of the statement (eps, delta_k); inf where a transcript is bad (its log ratio is not finite)."""
    return max((each if math.isfinite(each) else math.inf for each in log_ratios), default=math.inf)


def profile(log_ratios: Sequence[float], eps: float, beta: float) -> float:
    """F6: a delta such that V is (eps, delta) in this order, at confidence 1 - beta."""
    losses = np.array([1.0 if not math.isfinite(each) else -math.expm1(min(eps - each, 0.0)) for each in log_ratios])
    mean = math.fsum(losses) / len(losses)

    def excess(q: float) -> float:
        return len(losses) * _divergence(mean, q) - math.log(1 / beta)

    if mean >= 1 or excess(1 - 1e-15) <= 0:
        return 1.0
    found = scipy.optimize.brentq(excess, mean, 1 - 1e-15, xtol=1e-15)
    return min(1.0, float(found) * (1 + 1e-9) + 1e-14)


def _divergence(p: float, q: float) -> float:
    """KL(Bernoulli(p) || Bernoulli(q))."""
    first = p * math.log(p / q) if p > 0 else 0.0
    return first + ((1 - p) * math.log((1 - p) / (1 - q)) if p < 1 else 0.0)


def coordinates(moved: Iterable[Moved]) -> "list[tuple[Event, int]] | None":
    """The ledger events of moved elements, each coordinate by itself; None where the ledger has no such event.

    Elements as the pair's order sees them (`Forced.oriented`): events of skew noise, and coins, say where they go.
    """
    counted: Counter[Event] = Counter()
    for each in moved:
        if each.loss is not None:
            if each.event is None:
                return None
            counted[each.event] += 1
            continue
        if each.kind in ("decision", "atom"):
            if each.kind == "atom":
                return None
            for p, q in zip(each.parameters[0], each.other_parameters[0], strict=True):
                if not told(float(p), float(q)):
                    return None
                counted[_coin(float(p), float(q))] += 1
            continue
        same = (each.scale == each.other_scale).all() and all(
            (one == other).all() for one, other in zip(each.parameters, each.other_parameters, strict=True)
        )
        if not same:
            return None
        family = FAMILIES[each.family]
        for index, (shift, scale) in enumerate(zip(np.abs(each.shift), each.scale, strict=True)):
            if negligible(each.family, float(shift), float(scale)):
                continue
            size, width = _rounded(float(shift)), _rounded(float(scale))
            if not math.isfinite(size) or (family.lattice and not size.is_integer()):
                return None
            given = tuple(float(column[index]) for column in each.parameters)
            way = direction(float(each.direction[index])) if family.skew(given) else None
            moves = Sensitivity(replace=Shift(size, 1, way), add_remove=Shift(size, 1, way))
            event = family.event(width, given, moves) if width > 0 else None
            if event is None:
                return None
            counted[event] += 1
    return list(counted.items())


def _coin(p: float, q: float) -> FiniteLaws:
    """Two outcomes, of probability p and 1 - p on D, q and 1 - q on D'; one event whichever of them happened."""
    (p, q), (other_p, other_q) = sorted([(_rounded(p), _rounded(q)), (_rounded(1 - p), _rounded(1 - q))])
    pair = ((p, other_p), (q, other_q))
    return FiniteLaws(what="code", pairs=(pair,), relation=Relation.REPLACE_ONE, directed=True)


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


def envelope(transcripts: Iterable[tuple[Moved, ...]]) -> Ledger | None:
    """A ledger with every event as often as in the transcript that has it most often; None where one has none.

    Of pure steps the largest, the second largest and so on, each over all transcripts.
    """
    most: Counter[Event] = Counter()
    steps: list[PureStep] = []
    for moved in transcripts:
        events = coordinates(moved)
        if events is None or len(most) > MOST_KINDS:
            return None
        for event, times in events:
            if not isinstance(event, PureStep):
                most[event] = max(most[event], times)
        found = sorted((event for event, times in events for _ in range(times) if isinstance(event, PureStep)),
                       key=lambda step: -step.eps)  # fmt: skip
        longer, shorter = (found, steps) if len(found) > len(steps) else (steps, found)
        steps = [max(pair, key=lambda step: step.eps) for pair in zip(longer, shorter, strict=False)]
        steps += longer[len(shorter) :]
    return Ledger.of(*most.items(), *Counter(steps).items())
