"""Are the trials of an audit independent? Tests on what a frozen attack says of them, grain by grain.

If trials of one dataset are independent draws of one law, then, given the scores that a call produced, every order of
them is equally likely. Let a and b say of n pairs of trials, disjoint and laid down by place alone, whether something
holds of each trial. Given how often it holds on either side, r and c times, it holds on both sides in N of the pairs,
N hypergeometric: r draws from n, c of them marked. With D = N - r c/n, for every real x,
    E exp(x D) <= exp(x^2 V/2),   V = min over m in {r, n-r, c, n-c} of m/4 (1 - (m - 1)/n)
(Serfling 1974, Theorem 2.2 and its proof). So over grains exp(x sum D - x^2 sum V/2) is a supermartingale, whatever
rule is settled for each grain before it is drawn; mixed over x ~ N(0, 1/ETA),
    log M = log(ETA / (ETA + V))/2 + D^2 / (2 (ETA + V)),     Pr[M ever reaches 1/level] <= level     (Ville 1939)
at any time of stopping. The pairs:
    neighbours    trials 2i and 2i+1 of a call: serial correlation (AR(1), alternation, chunks that share a draw)
    halves        trials i and i + n/2 of a call of n: antithetic and repeated halves
    datasets      the i-th trial on the first and on the second dataset: noise shared by both
    calls         the i-th trial of a call and of the next call on the same dataset: a generator that starts anew
and for whole calls, r guesses among n trials of one and c - r among m of the next: the same D and V with n + m pairs'
places, a wager for every two calls. It sees a draw or a state that trials of one call have in common.

What holds of a trial: its rank value - the score, ties broken by the output itself - is above the median of its call (a
symmetric function of the call: the order stays uniform), or it is guessed on. Rare guesses say little, and their V is
generous.

Last, values: outputs of two calls are laid on a line by a function of each output alone, ordered together, equal ones
by lot, and cut into t pairs of neighbours on that line. Given the values, m of the first call among 2t, every choice of
m places is equally likely, so that s pairs are split between the calls with probability
    Pr[s] = 2^s t! / (s! a! b!) / C(2t, m),     a = (m - s)/2,  b = t - s - a.
Noise that a call uses again - all of it or in part, in order or not, with a little noise of another kind upon it - has
its like in the same call: few pairs are split. A generator that starts anew in every call: nearly all.

Every one of the TESTS tests has level LEVEL; together an honest target is INVALID by them at most 8 times in 10^7
audits, by the sentinel once in 10^7, by redrawn calls once in 10^7 (`trials.failing`).
"""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

from dpverify.evidence.marks import CallMarks, Deviation, deviation, Marks

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

PAIRED = {
    "neighbours": "neighbouring trials of a call are correlated",
    "guessed neighbours, first": "guesses in neighbouring trials of a call are correlated",
    "guessed neighbours, second": "guesses in neighbouring trials of a call are correlated",
    "halves": "the halves of a call are correlated",
    "datasets": "trials on the first dataset are correlated with trials on the second",
    "calls": "trials of a call are correlated with those of the next call",
}
WHOLE = {"first": "calls differ by more than chance allows", "second": "calls differ by more than chance allows"}
AGAIN = "values of a call come again, or nearly so, in the same call"
ANEW = "values of a call come again, or nearly so, in the next call"
TESTS = len(PAIRED) + len(WHOLE) + 1
LEVEL = 8e-7 / TESTS
ETA = 64.0  # where the mixture is sharpest: about 1,000 pairs
EVERY = 5  # pairs of grains from one whose values are compared to the next one, at first
FEW = 32  # pairs whose law is always looked at
LARGEST = 4096  # values of a call that are compared, drawn by lot from larger calls


def compared(index: int) -> bool:
    """Whether the values of this grain are compared with its partner's.

    Those of pairs 0, 5, 10, 15, 20, 30, 40, 60, 80, ...: few, and one of them in the last third of any long run.
    """
    place, rest = divmod(index // 2, EVERY)
    leading = max(0, place.bit_length() - 2)
    return rest == 0 and place >> leading << leading == place


def log_wager(d: float, v: float, eta: float = ETA) -> float:
    """log M, see the module; 0 for no pairs."""
    return 0.5 * math.log(eta / (eta + v)) + d * d / (2 * (eta + v))


def log_split_law(pairs: int, first: int) -> tuple[npt.NDArray[np.int64], FloatArray]:
    """(s, log Pr[s of the pairs are split]), see the module, where `first` of all 2 `pairs` are of the first call."""
    s = np.arange(first % 2, min(first, 2 * pairs - first) + 1, 2)
    a = (first - s) // 2
    parts = special.gammaln(s + 1) + special.gammaln(a + 1) + special.gammaln(pairs - s - a + 1)
    weights = s * math.log(2) - parts
    return s, weights - special.logsumexp(weights)


def rarity_of_split(pairs: int, first: int, split: int) -> float:
    """-log of twice the smaller tail of that law, at least 0; 0 where that would tell nothing."""
    expected = 2 * first * (2 * pairs - first) / max(1, 2 * (2 * pairs - 1))
    if pairs > FEW and (split - expected) ** 2 < 9 * pairs / 4:  # 3 standard deviations: less than is ever asked for
        return 0.0
    s, law = log_split_law(pairs, first)
    tail = min(float(special.logsumexp(law[s <= split])), float(special.logsumexp(law[s >= split])))
    return max(0.0, -math.log(2) - tail)


def split_pairs(before: npt.NDArray[Any], now: npt.NDArray[Any]) -> tuple[int, int, int]:
    """(pairs, how many of their values are of the first call, how many are split): see the module."""
    own = _own_in_order(np.concatenate([before, now]).astype(np.float32, copy=False), len(before))
    own = own[: len(own) - len(own) % 2]
    return len(own) // 2, int(np.count_nonzero(own)), int(np.count_nonzero(own[::2] != own[1::2]))


def _own_in_order(together: npt.NDArray[np.float32], first: int) -> BoolArray:
    """Whether each of the values, none of them nan, is among the first ones, in their order; equal ones by lot.

    Bits of floats, those of negative ones turned round, are ordered as the floats are: sorts of whole numbers that say
    in their last bit what is asked take a tenth of those of places. Calls of thousands often have two equal float32.
    """
    bits = (together + np.float32(0)).view(np.int32)  # -0.0 is 0.0
    keys = (bits ^ ((bits >> 31) & np.int32(0x7FFFFFFF))).astype(np.int64) << 32
    keys[:first] |= 1
    line = np.sort(keys)
    if (line[1:] >> 32 == line[:-1] >> 32).any():
        keys[np.random.Generator(np.random.PCG64(len(keys))).permutation(len(keys))] |= np.arange(len(keys)) << 1
        line = np.sort(keys)
    return (line & 1).astype(bool)


@dataclass
class Independence:
    """Collects the marks of an audit, in the order of its grains."""

    _paired: dict[str, Deviation] = field(default_factory=dict)
    _whole: dict[str, float] = field(default_factory=dict)
    _values: tuple[float, str] = (0.0, "")  # the largest -log p, less what it is charged for the others; its words
    _compared: int = 0
    _last: tuple[Marks, Any] | None = None

    def add(self, marks: Marks, rule: Any = None) -> None:
        """One more grain; two calls are compared only where they were made under the same `rule`."""
        for name, (d, v) in marks.deviations.items():
            self._put(name, d, v)
        if self._last is None or self._last[1] is not rule:
            self._last = marks, rule
            return
        before, self._last = self._last[0], None  # each grain has one partner
        for arm in (0, 1):
            self._compare(before.calls[arm], marks.calls[arm])

    @property
    def objections(self) -> list[str]:
        """What speaks against independence at LEVEL each; empty for an honest target but for TESTS LEVEL."""
        reached = math.log(1 / LEVEL)
        found = [said for name, said in PAIRED.items() if log_wager(*self._paired.get(name, (0.0, 0.0))) > reached]
        found += [said for name, said in WHOLE.items() if self._whole.get(name, 0.0) > reached]
        if self._values[0] > reached:
            found.append(self._values[1])
        return list(dict.fromkeys(found))

    def _put(self, name: str, d: float, v: float) -> None:
        old = self._paired.get(name, (0.0, 0.0))
        self._paired[name] = old[0] + d, old[1] + v

    def _compare(self, before: CallMarks, now: CallMarks) -> None:
        known = min(before.known, now.known)
        mask = (1 << known) - 1
        a, b = before.bits & mask, now.bits & mask
        self._put("calls", *deviation(known, a.bit_count(), b.bit_count(), (a & b).bit_count()))
        together = before.trials + now.trials
        for name, one, other in zip(WHOLE, before.guesses, now.guesses, strict=True):
            d, v = deviation(together, before.trials, one + other, one)
            if v > 0:
                self._whole[name] = self._whole.get(name, 0.0) + log_wager(d, v, eta=v)
        if before.values and now.values:
            pairs, first, split = split_pairs(*(np.frombuffer(each.values, np.float32) for each in (before, now)))
            self._compared += 1  # the k-th has 1/(k (k + 1)) of the level
            found = rarity_of_split(pairs, first, split) - math.log(self._compared * (self._compared + 1))
            self._values = max(self._values, (found, ANEW if 2 * split > pairs else AGAIN))
