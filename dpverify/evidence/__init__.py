"""From trials to a certified lower bound on eps, and checks of promised error bounds.

An audit of n trials, each on one of two datasets by a fair coin:

1. `selection.learn` spends some of them on learning, and only on that; the others certify.
2. `scores.model_selection` learns a score of outputs, an estimate of log P(o)/Q(o), from the learning trials.
3. `selection.cuts` guesses the dataset where the score is beyond a cut. `selection.calibration` says how often such
   guesses are right (a posterior), `selection.predicted_bound` what they would certify. The cut that promises most has
   the significance; by the same prediction it may share it with three others, or levels of confidence are weighted
   instead. Score, cuts, weights and shares are frozen in an `attack.Attack`.
4. The certifying trials are only counted (`tally.Tally`); `judged` and `independence` refuse trials that are not
   independent draws.
5. `lower_bound` turns the counts into a bound by a test of `bounds`. delta = 0: binomial, weighted, or several cuts by
   Bonferroni; otherwise two-step, unconditional, or against a whole trade-off curve.

`sequential` has anytime-valid tests by betting instead, `power` what a run could have seen, `search` the worst pair,
`multiple_testing` Holm and e-BH over many claims, `promises` checks of error bounds.
"""
