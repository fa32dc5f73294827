"""`dpverify plan`: what a budget can see, and what a violation costs, before anything is run."""

import math
from typing import Annotated

import typer


def plan(
    eps: Annotated[float, typer.Option(metavar="E", help="The claimed eps.", show_default=False)],
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
) -> None:
    """The most favourable violation that a budget refutes, and the budget that a violation takes.

    Model: the true mechanism attains its own bound on a share F of the trials (Laplace about 0.6, randomised
    response 1, a rare leak its probability). One whose log ratio varies takes more.
    """
    from dpverify.base import require
    from dpverify.evidence import betting_plan
    from dpverify.evidence.bounds import BinomialTest, TwoStepTest
    from dpverify.evidence.power import detectable_eps, trials_needed

    require.positive(eps=eps)
    require.integer(at_least=1, trials=trials, audits=audits)
    require.open_unit(significance=significance)
    level = significance / audits
    test = TwoStepTest() if delta > 0 else BinomialTest()
    found = detectable_eps(
        test, trials=trials, guess_fraction=guesses, claim_eps=eps, delta=delta, significance=level, power=power
    )
    one_by_one = betting_plan.sequential_detectable_eps(
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
        expected = betting_plan.expected_trials(
            true_eps=violation, guess_fraction=guesses, claim_eps=eps, delta=delta, significance=level
        )
        most = betting_plan.sequential_trials_needed(
            true_eps=violation, guess_fraction=guesses, claim_eps=eps, delta=delta, significance=level, power=power
        )
        print(f"a true eps = {violation:g} takes {needed} certifying trials")
        print(
            f"a true eps = {violation:g} takes about {expected:.0f} trials on average, --sequential, learned score; "
            f"{most:.0f} with probability {power:g}"
        )


def _number(value: float) -> str:
    return f"{value:.4g}" if value < math.inf else "inf: no violation at all"
