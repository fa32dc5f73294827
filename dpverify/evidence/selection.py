"""How many trials choose, how many certify, and what is learned from those that choose."""

from dataclasses import dataclass

from dpverify.evidence.scores.families import fit_score, Fitted, information, WEAK
from dpverify.trials.collect import Experiment, select, SelectionTrials


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


WEAK_SHARE, WEAK_WIDE_SHARE = 0.25, 0.4  # of all trials; for outputs of more than WIDE coordinates
MOST_WEAK_SELECTION = 150_000  # more learn for too long
WORTHWHILE = 1.5  # times the first selection trials, at least, for learning a second time


def learn(
    experiment: Experiment, trials: int, score: str, *, exact: bool, jobs: int = 1, backend: str = "loky"
) -> tuple[Budget, SelectionTrials, Fitted]:
    """How `trials` are split, the selection trials, and the score that they recommend.

    Where the first selection trials say little more of them are drawn, with which nothing was certified yet.

    A weak violation is lost by learning it badly, not by certifying with a quarter less (n = 1e5, share 0.1 and
    0.25: binomial noise, delta = 1e-5, certifies 0.082 and 0.098; 0.25 and 0.4: sparse vector 4 0.029 and 0.064,
    sparse vector 6 0.19 and 0.21, but Gaussian noise at n = 1e4 0.439 and 0.415).
    """
    budget = split(trials, experiment, exact=exact)
    probe = select(experiment, budget.selection, jobs=jobs, backend=backend)
    fitted = fit_score(score, experiment.target, experiment.pair, probe)
    share = WEAK_WIDE_SHARE if experiment.form.items > WIDE else WEAK_SHARE
    more = min(int(share * trials), MOST_WEAK_SELECTION, _most_selection(experiment))
    if exact or more < WORTHWHILE * budget.selection or information(fitted.values, probe.first) >= WEAK:
        return budget, probe, fitted
    probe = select(experiment, more, jobs=jobs, backend=backend)
    return Budget(more, trials - more), probe, fit_score(score, experiment.target, experiment.pair, probe)
