"""Events of Google's dp-accounting as ledgers, under every relation that they know.

    ledger = ledger_of(GaussianDpEvent(1.1))

`GaussianDpEvent(s)` and `LaplaceDpEvent(s)` noise a sum of vectors of norm at most C with scale s C: a record that is
added or removed moves the sum by C, one that is replaced by up to 2 C. `DiscreteLaplaceDpEvent` states C itself.
Sampling with a fixed chance is accounted under add/remove, of a fixed size under replace-one
(`ledger.compound_events`).
`RandomizedResponseDpEvent` is about the one bucket of a user, so it says nothing about adding or removing one.
"""

from typing import Any

from dpverify.adapters.functions import needed
from dpverify.base import require
from dpverify.base.rounding import as_fraction, float_down, log_up
from dpverify.claims.neighbours import Relation
from dpverify.errors import UsageError
from dpverify.ledger.compound_events import DominatingPair, FixedSizeSampled, PoissonSampled
from dpverify.ledger.events import (
    DiscreteLaplaceNoise,
    Event,
    Exposed,
    GaussianNoise,
    KaryResponse,
    LaplaceNoise,
    Ledger,
    Sensitivity,
)
from dpverify.ledger.laws import Mixture, Normal

WHAT = "dp-accounting event"


def ledger_of(event: Any) -> Ledger:
    """Make the ledger of an event of dp-accounting, or of a composition of them.

    Each event states what moves under add/remove and under replace-one: for noise on a sum of vectors of norm at most C
    that is C and 2 C.

    Parameters
    ----------
    event : dp_accounting.DpEvent
        The event.

    Returns
    -------
    Ledger
        What was done, for `account` and `audit`.

    Raises
    ------
    UsageError
        For an event that this module does not know, and where dp-accounting is not installed.
    ParameterError
        For numbers that are no noise, such as a negative noise multiplier.

    Examples
    --------
    >>> from dp_accounting import dp_event
    >>> from dpverify import account, Relation
    >>> from dpverify.adapters.dp_accounting import ledger_of
    >>> ledger = ledger_of(dp_event.SelfComposedDpEvent(dp_event.LaplaceDpEvent(4.0), 3))
    >>> account(ledger, relation=Relation.ADD_OR_REMOVE_ONE), account(ledger, relation=Relation.REPLACE_ONE)
    (0.75, 1.5)
    """
    dp = needed("dp_accounting.dp_event", "dp-accounting")
    match event:
        case dp.NoOpDpEvent():
            return Ledger()
        case dp.ComposedDpEvent():
            return sum((ledger_of(each) for each in event.events), Ledger())
        case dp.SelfComposedDpEvent():
            inside, count = ledger_of(event.event), event.count
            require.integer(at_least=0, count=count)
            return inside * int(count)
    return Ledger(*_single(event, dp))


def _single(event: Any, dp: Any) -> tuple[Event, ...]:
    norm = Sensitivity(add_remove=1, replace=2)
    match event:
        case dp.NonPrivateDpEvent():
            return (Exposed(what=WHAT),)
        case dp.GaussianDpEvent():
            return (_noised(event.noise_multiplier, lambda s: GaussianNoise(what=WHAT, sigma=s, sensitivity=norm)),)
        case dp.LaplaceDpEvent():
            return (_noised(event.noise_multiplier, lambda s: LaplaceNoise(what=WHAT, scale=s, sensitivity=norm)),)
        case dp.DiscreteLaplaceDpEvent():
            require.positive(noise_parameter=event.noise_parameter)
            require.integer(at_least=1, sensitivity=event.sensitivity)
            scale = float_down(1 / as_fraction(event.noise_parameter))  # less noise
            moves = Sensitivity(add_remove=event.sensitivity, replace=2 * event.sensitivity)
            return (DiscreteLaplaceNoise(what=WHAT, scale=scale, sensitivity=moves),)
        case dp.RandomizedResponseDpEvent():
            return _response(event.noise_parameter, event.num_buckets)
        case dp.MixtureOfGaussiansDpEvent():
            return _mixture(event)
        case dp.PoissonSampledDpEvent():
            return (PoissonSampled(what=WHAT, rate=event.sampling_probability, inside=ledger_of(event.event)),)
        case dp.SampledWithoutReplacementDpEvent():
            inside = ledger_of(event.event)
            return (
                FixedSizeSampled(what=WHAT, sampled=event.sample_size, of=event.source_dataset_size, inside=inside),
            )
    raise UsageError(f"{type(event).__name__}: no ledger event says the same")


def _noised(multiplier: float, noise: Any) -> Event:
    """The event of this noise; a multiplier of 0 releases the sum itself."""
    require.non_negative(noise_multiplier=multiplier)
    found: Event = noise(multiplier) if multiplier else Exposed(what=WHAT)
    return found


def _mixture(event: Any) -> tuple[Event, ...]:
    """N(0, s^2) on one dataset, a mixture of N(c_i, s^2) on the one with the user: add/remove only."""
    if not event.standard_deviation:
        return (Exposed(what=WHAT),)
    moves = [(p, c) for p, c in zip(event.sampling_probs, event.sensitivities, strict=True) if p]
    p = Mixture(tuple(p for p, _ in moves), tuple(Normal(c, event.standard_deviation) for _, c in moves))
    q = Normal(0.0, event.standard_deviation)
    return (DominatingPair(what=WHAT, p=p, q=q, relation=Relation.ADD_OR_REMOVE_ONE, directed=True),)


def _response(noise: float, buckets: int) -> tuple[Event, ...]:
    """The truth with probability 1 - p + p/k, each other bucket with p/k: e^eps = 1 + k (1 - p)/p."""
    require.probability(noise_parameter=noise)
    require.integer(at_least=1, num_buckets=buckets)
    if buckets == 1 or noise == 1:
        return ()
    if noise == 0:
        return (Exposed(what=WHAT),)
    p = as_fraction(noise)
    eps = log_up(1 + buckets * (1 - p) / p)
    return (KaryResponse(what=WHAT, k=buckets, eps=eps, reports=Sensitivity(replace=1)),)
