"""How many trials choose, how many certify, and the attack that is learned from those that choose."""

from dataclasses import dataclass

from dpverify.evidence.attack import Attack
from dpverify.evidence.scores.model_selection import fit_score, information, WEAK
from dpverify.evidence.selection.cuts import choose
from dpverify.evidence.selection.predicted_bound import Objective
from dpverify.trials.collect import Experiment, select


@dataclass(frozen=True)
class Budget:
    """How many trials choose and how many certify."""

    selection: int
    estimation: int


WIDE = 5  # coordinates: more have more to learn
EXACT_SELECTION = 1 << 16  # with the exact score these come on top: they only place the cut
MOST_SELECTION = 1 << 19
MOST_SELECTION_ITEMS = 1 << 24


def split(trials: int, experiment: Experiment, *, exact: bool) -> Budget:
    """Selection and certifying trials.

    With the exact score nothing is learned about the target, so all trials certify, and as many draws
    (at most 2^16) more place the cut. Learned scores take 30 % of small budgets, 20 % up to 10^4 and for
    more than five coordinates, 10 % of larger ones (measured: the loss by selecting less outweighs the gain
    in certifying trials below, and the other way round above).
    """
    most = _most_selection(experiment)
    if exact:
        return Budget(min(trials, EXACT_SELECTION, most), trials)
    share = 0.3 if trials <= 2_000 else 0.2 if trials <= 10_000 or experiment.form.items > WIDE else 0.1
    selection = min(int(share * trials), MOST_SELECTION, most)
    return Budget(selection, trials - selection)


def _most_selection(experiment: Experiment) -> int:
    """What memory allows."""
    return max(64, MOST_SELECTION_ITEMS // max(1, experiment.form.items))


LOOKS = (0.25, 0.4)  # shares of all trials that learn where fewer leave too much open
UNCERTAIN = 0.2  # regret of the event above which that is so
MOST_MORE = 150_000  # more learn for too long
WORTHWHILE = 1.5  # times the selection trials before, at least, for learning once more


def learn(
    experiment: Experiment,
    trials: int,
    objective: Objective,
    score: str = "auto",
    *,
    exact: bool = False,
    jobs: int = 1,
    backend: str = "loky",
) -> tuple[Budget, Attack]:
    """How `trials` are split, and the attack that the selection trials recommend for the certifying ones.

    More selection trials are drawn, with which nothing was certified yet, while those at hand say little and there is
    much to be learned: a score of many coordinates, or which event is best. A violation in a tail is lost by not
    finding it, not by certifying with a third less; one that shows a little everywhere is certified with as many trials
    as possible.
    """
    budget = split(trials, experiment, exact=exact)
    most = min(MOST_MORE, _most_selection(experiment))

    def learned(budget: Budget) -> tuple[Attack, bool]:
        """The attack, and whether it leaves too much open."""
        probe = select(experiment, budget.selection, jobs=jobs, backend=backend)
        fitted = fit_score(score, experiment.target, experiment.pair, probe)
        attack = choose(fitted, probe.first, budget.estimation, objective)
        weak = information(fitted.values, probe.first) < WEAK
        return attack, weak and (experiment.form.items > WIDE or attack.regret > UNCERTAIN)

    attack, unclear = learned(budget)
    for share in () if exact else LOOKS:
        more = min(int(share * trials), most)
        if unclear and more >= WORTHWHILE * budget.selection:
            budget = Budget(more, trials - more)
            attack, unclear = learned(budget)
    return budget, attack
