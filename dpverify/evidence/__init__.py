"""From trials to a certified lower bound on eps, and checks of promised error bounds.

An audit of n trials, each on one of two datasets by a fair coin:

1. A learned score: `selection` spends some of them on learning, and only on that; the others certify. An exact
   score (`log_ratio`): all certify, and extra draws place the cut.
2. `scores.model_selection` learns a score of outputs, an estimate of log P(o)/Q(o), from the learning trials.
3. `selection` guesses the dataset where the score is beyond a cut. `predicted_bound` says how often such
   guesses are right (a posterior), `predicted_bound` what they would certify. The cut that promises most
   has the significance. At delta = 0 levels of confidence are weighted instead where that is predicted to certify
   more; else, with a learned score, the main cut has .7 of the significance and three others .1 each, unless all
   together are predicted to certify clearly less than it does alone. Score, cuts, weights and shares are frozen in an
   `attack.Attack` before the first certifying trial: given the trials that learned, the others are draws that no rule
   was chosen by, so each test holds as for a rule that was always fixed.
4. The certifying trials are only counted (`tally.Tally`). `attack` and `health.independence` refuse trials
   in which they see dependence; dependence that they do not see voids the bound.
5. `lower_bound` turns the counts into a bound by a test of `bounds`: weighted or Bonferroni where weights or shares
   were frozen, a claim's whole trade-off curve where the claim is one (zCDP, GDP, RDP, f-DP), otherwise what
   `bounds.choose_test` says of the predicted counts.

`betting` has anytime-valid tests by betting instead; `lower_bound` says what a run could have seen, too. Elsewhere:
`suite.result` has Holm and e-BH over many claims, `dpverify.promises` checks of error bounds.
"""
