"""DP-Nash-VI (Qiao, Wang 2024): Differentially Private Reinforcement Learning with Self-Play.

Boxes: Algorithm 1 is `learner.NashVI`, its games and their exact values `markov_games`, the equilibria that it plays
`equilibria`; the privatizers Central and Local are mechanisms/privatizers. What the analysis rests on: `promises`,
Lemma B.3 in `kernel_promises`; what it ends with: `regret_promises`. Figures: docs/figures.md,
`python -m algorithms.experiments selfplay`.

Statement, code (here, or in mechanisms/), audit (as printed and as corrected); the table of all papers is
audits/published/papers.toml:

    Lemma 5.1       Central is eps-JDP              privatizers/central.py:Central                   audit_central
    Assumption 3.1  counts within E, never too few  privatizers/central_promises.py:central_promise  audit_central
    Lemma B.3       error of P~ V*                  kernel_promises.py:lemma_b3_promise              audit_nash_vi
    Lemma B.7       values bracket the responses    promises.py:value_promise                        audit_nash_vi
    Lemma 5.4       Local is eps-LDP                privatizers/local.py:Local                       audit_local
    Theorem 5.2     eps-JDP                         learner.py:NashVI                                audit_nash_vi
    Theorem 4.1     regret                          regret_promises.py:selfplay_promise              audit_nash_vi_rates
    Theorem 4.2     gap of the output               regret_promises.py:rate_promise                  audit_nash_vi_rates
"""
