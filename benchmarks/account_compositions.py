"""eps of compositions with known eps, its error and CPU time a number. Run: python -m benchmarks.account_compositions

Sampled ones are also given to dp-accounting's PLD accountant (interval 1e-4), where it has the event.
"""

import time
from typing import Any

from benchmarks.tightness.compositions import DELTAS, R, SAMPLED, TABLE
from dpverify.accounting.accountant import eps_upper
from dpverify.accounting.events import PoissonSampled
from dpverify.accounting.ledger import GaussianNoise, LaplaceNoise, Ledger


def peer(ledger: Ledger, delta: float) -> float | None:
    """What dp-accounting says of a Poisson-sampled composition; None where it has no such event."""
    from dp_accounting import dp_event, NeighboringRelation
    from dp_accounting.pld import PLDAccountant

    ((event, steps),) = ledger.counted
    if not isinstance(event, PoissonSampled):
        return None
    ((noise, _),) = event.inside.counted
    assert isinstance(noise, GaussianNoise | LaplaceNoise)
    inside: Any = (
        dp_event.GaussianDpEvent(float(noise.sigma))
        if isinstance(noise, GaussianNoise)
        else dp_event.LaplaceDpEvent(float(noise.scale))
    )
    sampled = dp_event.PoissonSampledDpEvent(float(event.rate), inside)
    accountant = PLDAccountant(NeighboringRelation.ADD_OR_REMOVE_ONE)
    return float(accountant.compose(dp_event.SelfComposedDpEvent(sampled, steps)).get_epsilon(delta))


def main() -> None:
    """Prints both tables."""
    print(f"{'ledger':24s} " + " ".join(f"{f'{delta:.0e}':>10s}" for delta in DELTAS) + "   CPU s a number")
    for name, (ledger, known) in TABLE.items():
        begun = time.process_time()
        errors = [
            eps_upper(ledger, delta=delta, relation=R) / exact - 1 for delta, exact in zip(DELTAS, known, strict=True)
        ]
        seconds = (time.process_time() - begun) / len(DELTAS)
        print(f"{name:24s} " + " ".join(f"{error:10.1e}" for error in errors) + f"   {seconds:.2f}", flush=True)
    print(f"\n{'ledger':28s} {'delta':>6s} {'eps':>10s} {'known':>10s} {'over it':>9s} {'peer':>10s}   CPU s")
    for name, (ledger, relation, delta, exact) in SAMPLED.items():
        begun = time.process_time()
        found = eps_upper(ledger, delta=delta, relation=relation)
        seconds, other = time.process_time() - begun, peer(ledger, delta)
        told = "-" if other is None else f"{other:.6f}"
        row = f"{name:28s} {delta:6.0e} {found:10.6f} {exact:10.6f} {found / exact - 1:9.1e} {told:>10s}"
        print(f"{row}   {seconds:.2f}", flush=True)


if __name__ == "__main__":
    main()
