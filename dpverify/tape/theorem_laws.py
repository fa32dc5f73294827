"""Which random numbers an event with a theorem needs, and whether the code draws them.

An event such as `AboveThreshold` stands for a whole algorithm: no draw of the code is matched with it one by one, and
its cost is that of a theorem. The theorem speaks of certain laws: a threshold with Laplace noise of one scale, queries
with Laplace noise of another one, a random number of runs. Where the code draws none of them, it is not the algorithm
of the theorem, whatever its author declares. The other direction is not said: a code with these laws may still be
another algorithm.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from dpverify.ledger.compound_events import (
    AboveThreshold,
    FixedSizeSampled,
    MatrixGaussian,
    PoissonSampled,
    Selected,
)
from dpverify.ledger.events import (
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    Event,
    GaussianNoise,
    LaplaceNoise,
    Ledger,
)
from dpverify.tape.randomness import Arena

CLOSE = 1e-6  # relative: two scales or chances that agree to this are the same
LAPLACE, NORMAL = ("laplace", "laplace_sum"), ("normal",)
COUNTS = ("geometric", "negative_binomial", "poisson", "logseries", "binomial")  # laws of a number of runs
SUBSETS = ("choice", "permutation", "shuffle", "permuted", "sample", "integers")  # how a subset of fixed size is drawn


@dataclass
class SeenLaws:
    """The laws of all random numbers of some runs.

    Attributes
    ----------
    families
        Names of all laws that were drawn from.
    scales
        Law -> factors with which its standard variables were used.
    parameters
        Law -> its other parameters, e.g. the rate of a geometric law.
    chances
        Probabilities of the outcomes of comparisons of a uniform with a threshold, and of choices.
    bare_uniforms
        Whether a uniform became a number: with what it was compared is then not known.
    """

    families: set[str] = field(default_factory=set)
    scales: dict[str, set[float]] = field(default_factory=dict)
    parameters: dict[str, set[float]] = field(default_factory=dict)
    chances: set[float] = field(default_factory=set)
    bare_uniforms: bool = False

    @classmethod
    def of(cls, arenas: Iterable[Arena]) -> "SeenLaws":
        """The laws of these runs."""
        seen = cls()
        for arena in arenas:
            for draw in arena.transcript.draws:
                seen.families.add(draw.family)
                known = seen.parameters.setdefault(draw.family, set())
                known.update(float(each) for given in draw.parameters for each in np.unique(given))
            for entry in arena.transcript.entries:
                seen.families.update(entry.families)
                if entry.kind in ("value", "comparison"):
                    for code, family in enumerate(entry.families):
                        rows = entry.codes == code
                        seen.scales.setdefault(family, set()).update(np.unique(np.abs(entry.coef[rows])).tolist())
                        seen.bare_uniforms |= family == "uniform"
                if entry.against is not None:
                    seen.scales.setdefault("laplace", set()).update(np.unique(np.abs(entry.against[2])).tolist())
                if entry.kind in ("decision", "atom") and entry.log_mass is not None:
                    chances = np.exp(np.unique(entry.log_mass))
                    seen.chances.update([*chances.tolist(), *(1 - chances).tolist()])
        return seen

    def has_scale(self, families: Iterable[str], scale: float) -> bool:
        """Whether a variable of one of these laws was used with this factor."""
        return any(math.isclose(each, scale, rel_tol=CLOSE) for name in families for each in self.scales.get(name, ()))

    def has_chance(self, chance: float) -> bool:
        """Whether something happened with this probability, as far as can be known."""
        given = (*self.chances, *(each for name in COUNTS for each in self.parameters.get(name, ())))
        return self.bare_uniforms or any(math.isclose(each, chance, rel_tol=CLOSE) for each in given)


def missing_laws(ledger: Ledger, seen: SeenLaws) -> list[str]:
    """What the theorems of a ledger need and the code does not draw, in words; empty where nothing is missing.

    Parameters
    ----------
    ledger
        The events that an author declares. Plain noise on the top level is matched draw by draw elsewhere and is not
        looked at here.
    seen
        The laws of the runs of the code.

    Examples
    --------
    >>> from dpverify.ledger.events import Sensitivity
    >>> run = AboveThreshold(threshold_scale=2.0, query_scale=4.0, sensitivity=Sensitivity(replace=1.0))
    >>> missing_laws(Ledger(run), SeenLaws(families={"laplace"}, scales={"laplace": {4.0}}))
    ['AboveThreshold needs a threshold with Laplace noise of scale 2']
    """
    return [text for event, _ in ledger.counted for text in _missing(event, seen)]


def _missing(event: Event, seen: SeenLaws) -> list[str]:
    name = type(event).__name__
    match event:
        case AboveThreshold():
            needs = [("a threshold", event.threshold_scale), ("queries", event.query_scale)]
            if event.value_scale is not None:
                needs.append(("released values", event.value_scale))
            return [
                f"{name} needs {what} with Laplace noise of scale {scale:g}"
                for what, scale in needs
                if not seen.has_scale(LAPLACE, scale)
            ]
        case Selected():
            chance = event.gamma if event.gamma is not None else event.poisson
            assert chance is not None
            counted = seen.families & set(COUNTS) or seen.has_chance(chance)
            found = [] if counted else [f"{name} needs a random number of runs (parameter {chance:g})"]
            return [*found, *_missing_inside(event.run, seen)]
        case PoissonSampled():
            sure = event.rate in (0.0, 1.0) or seen.has_chance(event.rate)
            found = [] if sure else [f"{name} needs a coin of chance {event.rate:g} for each user"]
            return [*found, *_missing_inside(event.inside, seen)]
        case FixedSizeSampled():
            sure = event.sampled == event.of or bool(seen.families & set(SUBSETS))
            found = [] if sure else [f"{name} needs a random subset of {event.sampled} users"]
            return [*found, *_missing_inside(event.inside, seen)]
        case MatrixGaussian():
            return [] if "normal" in seen.families else [f"{name} needs normal noise"]
        case LaplaceNoise() | GaussianNoise() | DiscreteLaplaceNoise() | DiscreteGaussianNoise():
            return []
        case _:
            return [] if seen.families else [f"{name} needs a random number, and none is drawn"]


def _missing_inside(ledger: Ledger, seen: SeenLaws) -> list[str]:
    """The same for what a sampled or selected run does, where plain noise is not matched draw by draw."""
    found = missing_laws(ledger, seen)
    for event, _ in ledger.counted:
        if isinstance(event, LaplaceNoise) and not seen.has_scale(LAPLACE, event.scale):
            found.append(f"a run needs Laplace noise of scale {event.scale:g}")
        if isinstance(event, GaussianNoise) and not seen.has_scale(NORMAL, event.sigma):
            found.append(f"a run needs normal noise of standard deviation {event.sigma:g}")
    return found
