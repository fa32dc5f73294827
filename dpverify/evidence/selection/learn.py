"""How many trials choose, how many certify, and the attack that is learned from those that choose."""

from dataclasses import dataclass

from dpverify.evidence.attack import Attack
from dpverify.evidence.scores.model_selection import fit_score, information, WEAK
from dpverify.evidence.selection.cuts import choose_event
from dpverify.evidence.selection.predicted_bound import Objective
from dpverify.trials.collect import Experiment, select


@dataclass(frozen=True)
class Budget:
    """How many trials choose and how many certify."""

    selection: int
    estimation: int


WIDE = 5  # coordinates: more have more to learn
EXACT_SELECTION = 1 << 16  # with the exact score these come on top: they only place the cut
MOST_SELECTION, MOST_ITEMS = 1 << 19, 1 << 24  # trials, and what memory allows of their coordinates
SECOND_LOOK, MOST_MORE = 0.4, 150_000  # share of all trials that learn where fewer show little; more learn for too long
WORTHWHILE = 1.5  # times the selection trials before, at least, for learning once more


def budgets(trials: int, items: int, *, exact: bool, pure: bool) -> list[Budget]:
    """How trials with `items` coordinates are split, and how where the first split shows little (`WEAK`).

    With the exact score nothing is learned about the target, so all trials certify, and as many draws
    (at most 2^16) more place the cut. Learned scores take 30 % of up to 2,000 trials; of more, 20 % up to 10^4 or with
    more than five coordinates, and 10 % otherwise (measured: the loss by selecting less outweighs the gain in
    certifying trials below, and the other way round above). Where the first split shows little (`WEAK`), learning is
    extended to 40 %, at delta = 0 or with more than five coordinates. With few coordinates and delta > 0 it is not:
    what can be seen there lies in a tail, and certifying it needs the trials.
    """
    most = max(64, MOST_ITEMS // max(1, items))
    if exact:
        return [Budget(min(trials, EXACT_SELECTION, most), trials)]
    share = 0.3 if trials <= 2_000 else 0.2 if trials <= 10_000 or items > WIDE else 0.1
    selection, more = min(int(share * trials), MOST_SELECTION, most), min(int(SECOND_LOOK * trials), MOST_MORE, most)
    again = (pure or items > WIDE) and more >= WORTHWHILE * selection
    return [Budget(each, trials - each) for each in ([selection, more] if again else [selection])]


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

    A second look is at a longer prefix of the same selection trials; no certifying trial was drawn before.
    """
    for budget in budgets(trials, experiment.form.items, exact=exact, pure=objective.pure):
        probe = select(experiment, budget.selection, jobs=jobs, backend=backend)
        fitted = fit_score(score, experiment.target, experiment.pair, probe)
        if information(fitted.values, probe.first) >= WEAK:
            break
    return budget, choose_event(fitted, probe.first, budget.estimation, objective)
