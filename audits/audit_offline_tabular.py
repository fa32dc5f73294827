"""Private counts of DP-APVI: both claims are true, exactly, under replacement of one trajectory."""

from dataclasses import replace

from audits.planted.offline_tabular import AddRemoveScale, SummedTransitions, VisitsOnlyBudget
from dpverify import planted, Subject
from mechanisms.counts import CountLayout
from mechanisms.offline_tabular import OfflineTabularGaussian, OfflineTabularLaplace
from mechanisms.trajectory_pairs import constant, worst_replacement

TRIALS = 200_000
PAPER = "Offline RL with differential privacy (Qiao, Wang), section 3"

one_step = CountLayout(H=1, S=1, A=2)
episode = CountLayout(H=3, S=2, A=2)
pairs = (worst_replacement(constant(one_step, 5), 0),)
gauss = OfflineTabularGaussian(layout=one_step, rho=1.0)
laplace = OfflineTabularLaplace(layout=one_step, eps=1.0)

gaussian = Subject(
    name="gaussian",
    target=gauss,
    claim=gauss.claim,
    pairs=pairs,
    trials=TRIALS,
    accounted=True,
    paper=PAPER,
    statement="Lemma C.1: N(0, 2H/rho) on all counts is rho-zCDP",
)
pure = replace(
    gaussian,
    name="laplace",
    target=laplace,
    claim=laplace.claim,
    statement="Appendix: Lap(4H/eps) on all counts is eps-DP",
)
longer = (worst_replacement(constant(episode, 5), 2),)

subjects = [
    gaussian,
    replace(gaussian, name="gaussian-episode", target=replace(gauss, layout=episode), pairs=longer),
    replace(gaussian, name="gaussian-discrete", target=replace(gauss, discrete=True)),
    pure,
    replace(pure, name="laplace-discrete", target=replace(laplace, discrete=True)),
    replace(pure, name="laplace-episode", target=replace(laplace, layout=episode), pairs=longer),
    planted(gaussian, "budget-per-family", VisitsOnlyBudget(layout=one_step, rho=1.0), accounted=False),
    planted(gaussian, "exact-sums", SummedTransitions(gauss)),
    planted(pure, "add-remove-scale", AddRemoveScale(layout=one_step, eps=1.0), accounted=False),
]
