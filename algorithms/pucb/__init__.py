"""PUCB (Vietri, Balle, Krishnamurthy, Wu 2020): Private Reinforcement Learning with PAC and Regret Guarantees.

Boxes: Algorithm 1 (episodes and counters) is `core.online` with `core.counting`; PrivQ (Algorithm 3) is
`learner.PUCB`; the counters are mechanisms/counters. Error bounds along a run: `promises`; Theorems 3 and
4: `regret_promises`; Lemma 8, the lower bound under Theorem 5: `lower_bounds`. Figures: docs/figures.md,
`python -m algorithms.experiments riverswim`.

Statement, code (here, or in mechanisms/), audit (as printed and as corrected); the table of all papers is
audits/published/papers.toml:

    Theorem 12   eps-DP counter    counters/tree.py:BinaryCounter               audit_counters
    Section 2.2  one noise         counters/single_noise.py:SingleNoiseCounter  audit_counters
    Section 2.2  later users       counters/single_noise.py:SingleNoiseCounter  audit_pucb
    Theorem 1    eps-JDP           learner.py:PUCB                              audit_pucb
    Lemma 13     all errors        promises.py:counters_promise                 audit_pucb
    Theorem 14   optimism          learner.py:PUCB                              audit_pucb
    Theorem 3    few bad episodes  regret_promises.py:pac_promise               audit_pucb_guarantees
    Theorem 4    regret            regret_promises.py:regret_promise            audit_pucb_guarantees
    Lemma 8      at least t pulls  lower_bounds.py:pulls_promise                audit_pucb_guarantees
"""
