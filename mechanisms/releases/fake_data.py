"""Random sampling plus fake data: one attribute by randomised response, uniform values for all others (RS+FD)."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpverify import Pair, PureDP, Relation, View
from dpverify.base import require
from dpverify.errors import ParameterError, TargetError
from dpverify.ledger import FiniteLaws, Ledger
from mechanisms.releases.randomised_response import RandomisedResponse
from mechanisms.toolbox import local_reports as local
from mechanisms.toolbox import query_values as queries
from mechanisms.toolbox.query_values import FloatArray, IntArray


@dataclass(frozen=True, kw_only=True)
class FakeData:
    """The user picks one of d attributes, sends its randomised response of `inner`, and uniform values for the others.

    Published inner = ln(d (e^eps - 1) + 1), "amplified" since the picked attribute stays hidden (Arcolezi, Couchot, Al
    Bouna, Xiao 2021; our reading is from its abstract and from libraries, not from its full text).

    Claim    `exact_eps`-LDP, for any two records (`whole`), or for any two that differ in one attribute. As published,
             eps-LDP, it holds for one attribute where all domains have the same size; not for whole records.
    Why      P(y|v) = (1/d) sum_j R_j(y_j|v_j) prod_{l != j} 1/k_l, R_j the response of attribute j. With a_j = k_j q_j,
             q_j a lie's probability, the truth has e^inner a_j: if all attributes differ, y = v gives e^inner sum a_j
             over sum a_j, and nothing is amplified. If attribute j alone differs, the ratio is at most (e^inner a_j +
             B)/(a_j + B), B = sum_{l != j} a_l; for equal sizes (e^inner + d - 1)/d = e^eps, else more for some j.
    Exact    both are attained; lies are rounded up as in `RandomisedResponse`.
    Shapes   data: d integers, attribute j in 0..k_j - 1; outputs: int64 (size, d).
    Raises   ParameterError unless d >= 2, k_j >= 2, inner <= 30, data in range.
    """

    eps: float
    sizes: tuple[int, ...]
    amplified: bool = True
    whole: bool = False

    def __post_init__(self) -> None:
        require.own_numbers(self)
        require.positive(eps=self.eps)
        if not isinstance(self.sizes, tuple) or len(self.sizes) < 2:
            raise ParameterError("sizes", self.sizes, "a tuple of at least two domain sizes")
        require.integer(at_least=2, **{f"sizes[{j}]": each for j, each in enumerate(self.sizes)})
        self.responses  # noqa: B018 - refuses what no response can be made of

    @property
    def inner(self) -> float:
        """eps of the one response; rounded down where it is amplified."""
        amplified = math.log1p(len(self.sizes) * math.expm1(self.eps)) * (1 - local.INWARD)
        return amplified if self.amplified else self.eps

    @property
    def responses(self) -> tuple[RandomisedResponse, ...]:
        """One for each attribute."""
        return tuple(RandomisedResponse(eps=self.inner, k=k) for k in self.sizes)

    @property
    def exact_eps(self) -> float:
        """See the module's class: the largest log ratio, rounded up."""
        if self.whole:
            return self.inner * (1 + local.INWARD)
        a = np.array([k / (math.expm1(self.inner) + k) for k in self.sizes])
        excess = math.expm1(self.inner) * a / a.sum()
        return math.log1p(float(excess.max())) * (1 + local.INWARD)

    @property
    def claim(self) -> PureDP:
        """`exact_eps`-LDP."""
        return PureDP(self.exact_eps, view=View.LOCAL, source="Arcolezi, Couchot, Al Bouna, Xiao 2021")

    def _weights(self, reports: IntArray, record: IntArray) -> FloatArray:
        """Sum over j of k_j R_j(y_j|v_j): P(y|v) up to a factor that does not depend on v."""
        lies = np.array([each.lie for each in self.responses])
        k = np.array(self.sizes)
        terms = np.where(reports == record, k * (1 - lies), k * lies / (k - 1))
        weights: FloatArray = terms.sum(axis=-1)
        return weights

    @property
    def ledger(self) -> Ledger:
        """Which attributes show the first record's value, which the second's: laws of both records, exactly.

        For one changed attribute as well as for all of them only "first's, second's, another" matters in each; the
        other attributes show the common value or another one.
        """
        changes = [tuple(range(len(self.sizes)))] if self.whole else [(j,) for j in range(len(self.sizes))]
        pairs = tuple(self._laws(changed) for changed in changes)
        return Ledger(FiniteLaws(what="a report", pairs=pairs, relation=Relation.REPLACE_ONE))

    def _laws(self, changed: tuple[int, ...]) -> tuple[tuple[float, ...], tuple[float, ...]]:
        first = np.zeros(len(self.sizes), dtype=np.int64)
        second = first.copy()
        second[list(changed)] = 1
        kinds = [min(k, 3 if j in changed else 2) for j, k in enumerate(self.sizes)]  # the last kind: all other values
        cells = np.stack(np.meshgrid(*(np.arange(n) for n in kinds), indexing="ij"), axis=-1).reshape(-1, len(kinds))
        many = np.where(cells == np.array(kinds) - 1, np.array(self.sizes) - np.array(kinds) + 1, 1).prod(axis=1)
        law = [many * self._weights(cells, record) for record in (first, second)]
        return tuple((law[0] / law[0].sum()).tolist()), tuple((law[1] / law[1].sum()).tolist())

    def release(self, data: Any, *, rng: np.random.Generator, size: int) -> IntArray:
        record = self._record(data)
        d, k = len(self.sizes), np.array(self.sizes)
        fakes = rng.integers(0, k, size=(size, d))
        lies = rng.random((size, d)) < np.array([each.lie for each in self.responses])
        responses = (record + lies * rng.integers(1, k, size=(size, d))) % k
        return np.where(np.arange(d) == rng.integers(0, d, size=(size, 1)), responses, fakes)

    def log_ratio(self, outputs: Any, pair: Pair) -> FloatArray:
        """log of the ratio of the weights."""
        seen = queries.wholes(outputs)
        if seen.shape[1:] != (len(self.sizes),):
            raise TargetError(f"outputs {seen.shape}: expected (size, {len(self.sizes)})")
        first, second = self._record(pair.first), self._record(pair.second)
        ratio: FloatArray = np.log(self._weights(seen, first)) - np.log(self._weights(seen, second))
        return ratio

    def estimate(self, reports: Any, attribute: int) -> FloatArray:
        """Unbiased shares of the values of one attribute from reports (..., users, d)."""
        d, k, lie = len(self.sizes), self.sizes[attribute], self.responses[attribute].lie
        seen = np.asarray(reports)[..., attribute, None] == np.arange(k)
        p = ((1 - lie) + (d - 1) / k) / d
        q = (lie / (k - 1) + (d - 1) / k) / d
        shares: FloatArray = (seen.mean(axis=-2) - q) / (p - q)
        return shares

    def _record(self, data: Any) -> IntArray:
        values = queries.wholes(data)
        if values.shape != (len(self.sizes),) or not ((values >= 0) & (values < np.array(self.sizes))).all():
            raise ParameterError("data", data, f"{len(self.sizes)} integers below {self.sizes}")
        return values
