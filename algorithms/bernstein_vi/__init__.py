"""Bernstein bonuses on the counts of a privatizer: a learner of ours, with a proof that its plans are optimistic.

It stands where the SDP-PE papers have a baseline of joint and local privacy; it is no paper's. DP-UCBVI (Qiao, Wang
2023, arXiv 2212.04680), from which its first version had the name, was not read here, and nothing is said of its text.

Withdrawn on 2026-11-27: "DP-UCBVI's bonus as printed is not optimistic". No paper that was read prints a bonus of
DP-UCBVI. What was tried is DP-Nash-VI's at B = 1 with rewards that are learned; its paper assumes that they are known,
and then it is optimistic in every trial (`bonus="known"` with `rewards`, audit_optimism; entry R1 of the errata atlas).

`learner.BernsteinVI`, with `central` and `local` for the joint and the local view. The baseline without privacy is
`baselines.ucbvi`. Figures: docs/figures.md. Statement, code (here, or in mechanisms/), audit; the table of all papers
is audits/published/papers.toml:

    Central and Local        eps-JDP and eps-LDP  learner.py:BernsteinVI                audit_bernstein_vi
    bonus, rewards learned   optimism             learner.py:learned_rewards_bonus  audit_optimism
    bonus, rewards known     optimism             learner.py:known_rewards_bonus    audit_optimism
"""
