"""Events of Google's dp-accounting as ledgers.

    ledger = ledger_of(GaussianDpEvent(1.1), relation=Relation.ADD_OR_REMOVE_ONE)

An event states its noise relative to the sensitivity under the relation that its author had in mind; that
relation must be said here, and the ledger is silent about the other one.
"""

from collections.abc import Iterator
from typing import Any

from dpverify.accounting.ledger import Event, GaussianNoise, LaplaceNoise, Ledger, Sensitivity
from dpverify.base import require
from dpverify.base.errors import UsageError
from dpverify.claims.neighbours import Relation
from dpverify.faces.adapters.needs import needed

MOST_EVENTS = 100_000


def ledger_of(event: Any, *, relation: Relation) -> Ledger:
    """The ledger of a composition of Gaussian and Laplace events.

    Raises UsageError for sampled and other events: a ledger has no amplification by sampling.
    """
    require.member(Relation, relation=relation)
    found = list(_events(event, relation))
    return Ledger(*found)


def _events(event: Any, relation: Relation) -> Iterator[Event]:
    dp = needed("dp_accounting", "dp-accounting")
    one = Sensitivity(replace=1) if relation is Relation.REPLACE_ONE else Sensitivity(add_remove=1)
    match event:
        case dp.NoOpDpEvent():
            return
        case dp.GaussianDpEvent():
            yield GaussianNoise(what="dp-accounting event", sigma=event.noise_multiplier, sensitivity=one)
        case dp.LaplaceDpEvent():
            yield LaplaceNoise(what="dp-accounting event", scale=event.noise_multiplier, sensitivity=one)
        case dp.ComposedDpEvent():
            for each in event.events:
                yield from _events(each, relation)
        case dp.SelfComposedDpEvent():
            inside = list(_events(event.event, relation))
            if len(inside) * event.count > MOST_EVENTS:
                raise UsageError(f"{event.count} compositions: more than {MOST_EVENTS} events are not listed")
            yield from inside * event.count
        case _:
            raise UsageError(f"{type(event).__name__}: only Gaussian and Laplace events and compositions of them")
