"""Learning algorithms of the papers, built on privatizers: a folder a paper; its docstring is the page to start from.

    pucb        PUCB (Vietri, Balle, Krishnamurthy, Wu 2020)
    bernstein_vi  no paper's: our optimistic learner on private counts, with a proof
    sdp_pe      SDP-PE (Bai, Talebi, Zhao, Cheng, Chen)
    nash_vi     DP-Nash-VI (Qiao, Wang 2024)
    offline     DP-APVI and DP-VAPVI (Qiao, Wang 2023)
    beyond      no paper's: fewer statistics, pooled shuffled counts, Gaussian counts, attacks by the other users
    baselines   without privacy
    core        environments, users, protocols, sources of counts; how a whole run is audited
    tabular     model, policy, planning

`study` takes a researcher's own agent through all of it; `instances` are the learners at the size of their experiments.
"""
