"""`dpverify plan`: what a budget can see, and what a violation costs, before anything is run."""

import math
from pathlib import Path
from typing import Annotated

import typer

from dpverify.errors import RunError, UsageError


def plan(
    context: typer.Context,
    eps: Annotated[
        float | None, typer.Option(metavar="E", help="The claimed eps; with --spend, the wanted one.")
    ] = None,
    delta: Annotated[float, typer.Option(metavar="D", help="The claimed delta.")] = 0.0,
    trials: Annotated[int, typer.Option(metavar="N", help="Certifying trials, both datasets together.")] = 100_000,
    violation: Annotated[
        float | None, typer.Option(metavar="E", help="A true eps: how many trials would refute the claim?")
    ] = None,
    guesses: Annotated[
        float, typer.Option(metavar="F", help="Share of trials on which the log ratio reaches the true eps.")
    ] = 0.5,
    significance: Annotated[float, typer.Option(metavar="A", help="Family-wise error of the suite.")] = 0.05,
    audits: Annotated[int, typer.Option(metavar="M", help="Audits (subjects x pairs) that share it.")] = 1,
    power: Annotated[float, typer.Option(metavar="P", help="Probability with which it is to be refuted.")] = 0.95,
    spend: Annotated[
        list[str] | None,
        typer.Option(metavar="MECHANISM", help="What does it cost? See below; again for what is run as well."),
    ] = None,
) -> None:
    """The most favourable violation that a budget refutes, and the budget that a violation takes; prices of mechanisms.

    Prices, from the ledger and nothing else: --spend 'dp-sgd: rate .01, noise 1.1, steps 10000' --delta 1e-5,
    'laplace: scale 2, sensitivity 1, times 3', 'gaussian: sigma 4, sensitivity 1'. With --eps and without the noise
    (scale, sigma): the least noise.

    Model: the true mechanism attains its own bound on a share F of the trials (Laplace about 0.6, randomised
    response 1, a rare leak its probability). One whose log ratio varies takes more.
    """
    if spend:
        from dpverify.cli import spending

        _only(context, "eps", "delta", "spend")
        print(spending.price([spending.read(each) for each in spend], eps=eps, delta=delta))
        return
    if eps is None:
        raise UsageError("needs --eps, the claim that is to be tested, or --spend, a mechanism")
    from dpverify.base import require
    from dpverify.evidence import betting
    from dpverify.evidence.bounds import BinomialTest, TwoStepTest
    from dpverify.evidence.lower_bound import detectable_eps, trials_needed

    require.positive(eps=eps)
    require.integer(at_least=1, trials=trials, audits=audits)
    require.open_unit(significance=significance)
    level = significance / audits
    test = TwoStepTest() if delta > 0 else BinomialTest()
    found = detectable_eps(
        test, trials=trials, guess_fraction=guesses, claim_eps=eps, delta=delta, significance=level, power=power
    )
    one_by_one = betting.sequential_detectable_eps(
        trials=trials, guess_fraction=guesses, claim_eps=eps, delta=delta, significance=level, power=power
    )
    said = f"claim eps = {eps:g}" + (f", delta = {delta:g}" if delta else "") + f"; level {level:.3g} an audit"
    print(f"{said}; power {power:g}; log ratio reached on {guesses:g} of the trials")
    print(f"{trials} certifying trials refute a true eps >= {_number(found)} ({test.name} test)")
    print(f"{trials} trials at most, --sequential, learned score: about >= {_number(one_by_one)} (approximation)")
    if violation is not None:
        needed = trials_needed(
            test,
            true_eps=violation,
            guess_fraction=guesses,
            claim_eps=eps,
            delta=delta,
            significance=level,
            power=power,
        )
        if needed is None:
            print(f"a true eps = {violation:g} is out of reach for 2^40 trials: too little mass beyond delta")
            return
        expected = betting.expected_trials(
            true_eps=violation, guess_fraction=guesses, claim_eps=eps, delta=delta, significance=level
        )
        most = betting.sequential_trials_needed(
            true_eps=violation, guess_fraction=guesses, claim_eps=eps, delta=delta, significance=level, power=power
        )
        print(f"a true eps = {violation:g} takes {needed} certifying trials")
        print(
            f"a true eps = {violation:g} takes about {expected:.0f} trials on average, --sequential, learned score; "
            f"{most:.0f} with probability {power:g}"
        )


def _only(context: typer.Context, *allowed: str) -> None:
    """Options that would say nothing beside `--spend` are refused."""
    for name in context.params:
        typed = getattr(context.get_parameter_source(name), "name", "") == "COMMANDLINE"
        if typed and name not in allowed:
            raise UsageError(f"--{name} says nothing about a price: with --spend only --eps and --delta")


def _number(value: float) -> str:
    return f"{value:.4g}" if value < math.inf else "inf: no violation at all"


# ----------------------------------------------------------------------------------------------------------------------
# `dpverify init`: a first folder of audits that runs green at once, with a planted bug that it catches.


AUDIT = '''"""A first audit: noisy numbers of users in four cells. Put your own mechanism in its place."""

import numpy as np

from dpverify import Pair, planted, PureDP, Records, Subject
from dpverify.ledger.events import LaplaceNoise, Ledger, Sensitivity, Shift


class Histogram:
    """Replacing one user moves two cells by 1 each: Laplace noise of scale 2 is 1-DP."""

    scale = 2.0
    ledger = Ledger(LaplaceNoise(scale=2.0, sensitivity=Sensitivity(replace=Shift(1.0, 2))))

    def release(self, data, *, rng, size):
        """`size` independent releases, shape (size, 4); all randomness comes from `rng`."""
        return np.bincount(data.rows, minlength=4) + rng.laplace(scale=self.scale, size=(size, 4))


class OneCell(Histogram):
    """INCORRECT on purpose: counts one moved cell where two move. An audit that misses it sees nothing of the kind."""

    scale = 1.0


pair = Pair(Records([0, 1, 2]), Records([3, 1, 2]), name="one user in another cell")
histogram = Subject(
    name="histogram", target=Histogram(), claim=PureDP(1.0), pairs=(pair,), accounted=True, trials=5_000
)
subjects = [histogram, planted(histogram, "one-cell", OneCell())]
'''


def init(
    folder: Annotated[Path, typer.Argument(help="The folder to make.")] = Path("audits"),
) -> None:
    """Write a first audit. Nothing that exists is changed. Run it with `dpverify audit audits`."""
    file = folder / "audit_example.py"
    if file.exists():
        raise UsageError(f"{file}: exists; nothing was written")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with file.open("x", encoding="utf-8") as place:
            place.write(AUDIT)
    except OSError as error:
        raise RunError(f"{file}: could not be written ({error.strerror})") from error
    print(f"Wrote {file}. Next: dpverify audit {folder}")
