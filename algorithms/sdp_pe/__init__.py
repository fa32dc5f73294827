"""SDP-PE, conference version: No-regret Exploration in Shuffle Private Reinforcement Learning.

Boxes: the stages with crude and fine exploration and the step that eliminates are `elimination.SDPPE`; what is left,
`policy_sets`; the optimal design of eq. (4), `design`; who takes part when, `schedule`; how a batch is released,
`batches`; the shuffle privatizer is mechanisms/privatizers/shuffle.py. What the analysis rests on: `promises`. At the
size of the experiments: `full_size`. Figures: docs/figures.md, `python -m algorithms.experiments bandit`.

Statement, code (here, or in mechanisms/), audit (as printed and as corrected); the table of all papers is
audits/published/papers.toml:

    Lemma 10         binary summation is SDP  shuffling/bits.py:ShuffledSum           audit_shuffle
    Lemma 10         printed z_i              shuffling/integers.py:ShuffledIntegers  audit_shuffle
    Lemma 10         batches are SDP          privatizers/shuffle.py:Shuffle          audit_shuffle
    Post-processing  consistent counts        privatizers/consistent.py:Processed     audit_postprocess
    Corollary 11     all batches are SDP      elimination.py:SDPPE                    audit_sdp_pe
    Theorem 6        regret                   promises.py:regret_bound                audit_sdp_pe_lemmas
    Lemma 14         kernels within 1 +- 1/H  promises.py:kernel_promise              audit_sdp_pe_lemmas
    Lemma 15         visits under P~ and P'   promises.py:visiting_promise            audit_sdp_pe_lemmas
    Lemmas 9 and 17  coverage of the design   promises.py:coverage_promise            audit_sdp_pe_lemmas
    Lemma 18         visits of the design     promises.py:counts_promise              audit_sdp_pe_lemmas
    Lemmas 8 and 16  model bias, meeting W    promises.py:bias_promise                audit_sdp_pe_lemmas
"""
