"""DP-UCBVI (Qiao, Wang 2023): Near-Optimal Differentially Private Reinforcement Learning.

The baseline of the SDP-PE papers.

Bernstein bonuses on the counts of a privatizer: `learner.DPUCBVI`, as printed and as corrected, with `central` and
`local` for the joint and the local view. The baseline without privacy is `baselines.ucbvi`. Figures: docs/figures.md.

Statement, code (here, or in mechanisms/), audit (as printed and as corrected); the table of all papers is
audits/published/papers.toml:

    Central and Local  eps-JDP and eps-LDP  learner.py:DPUCBVI          audit_dp_ucbvi
    bonus              optimism             learner.py:corrected_bonus  audit_optimism
"""
