"""Offline RL with differential privacy (Qiao, Wang 2023): Offline Reinforcement Learning with Differential Privacy.

Boxes: Algorithm 1 is `apvi`, Algorithm 2 `vapvi`, one release of a finished dataset (`data`, with the linear process
of Appendix F); the privatizers are mechanisms/privatizers/offline_tabular.py and offline_linear.py. What the analysis
rests on: `promises` and `pessimism_promises`, and what it ends with: `suboptimality_promises`. As audit targets, white
box: `vapvi_transcripts`. At the size of the experiments: `full_size`. Figures: docs/figures.md,
`python -m algorithms.experiments offline`.

Statement, code (here, or in mechanisms/), audit (as printed and as corrected); the table of all papers is
audits/published/papers.toml:

    Lemma C.1    rho-zCDP               privatizers/offline_tabular.py:OfflineTabularGaussian  audit_offline_tabular
    Section 3    eps-DP                 privatizers/offline_tabular.py:OfflineTabularLaplace   audit_offline_tabular
    Lemma D.1    rho-zCDP               privatizers/offline_linear.py:OfflineLinear            audit_offline_linear
    Theorem 3.4  DP-APVI is rho-zCDP    apvi.py:DPAPVI                                         audit_apvi
    Theorem 3.4  suboptimality          suboptimality_promises.py:apvi_best_promise            audit_apvi
    Lemma C.10   pessimism of DP-APVI   pessimism_promises.py:apvi_promise                     audit_apvi
    Theorem 4.1  pessimism of DP-VAPVI  pessimism_promises.py:vapvi_promise                    audit_vapvi
    Theorem 4.1  suboptimality          suboptimality_promises.py:vapvi_best_promise           audit_vapvi
    Theorem 4.1  DP-VAPVI is rho-zCDP   vapvi.py:VAPVI                                         audit_vapvi
"""
