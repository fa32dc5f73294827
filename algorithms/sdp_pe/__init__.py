"""SDP-PE, conference version: No-regret Exploration in Shuffle Private Reinforcement Learning.

Algorithm       elimination.py:SDPPE; as an agent that any privatizer of batches serves, elimination.py:Staged
Privatizer      batches.py:ShuffledBatches, of privatizers/shuffle.py:Shuffle; PE is batches.py:ExactBatches with E = 0
Promises        promises.py, audited in audit_sdp_pe_lemmas; privacy in audit_shuffle and audit_sdp_pe
At full size    full_size.py:FullSizeBatches, docs/benchmarks.md; `python -m algorithms.experiments full-size`
Figures         `python -m algorithms.experiments riverswim` (6, 6a, 8) and `bandit` (7), docs/figures.md

Boxes of the journal version, line by line; the conference version's fine exploration and threshold differ (`SDPPE`):

    Algorithm 1                          Shuffle DP Policy Elimination
      initialization: phi_1, iota        policy_sets.py:FactoredSet or ExplicitSet.full; elimination.py:SDPPE.log_term
      1-4    stages, L_b                 schedule.py:stages, which says what the printed rule must mean
      5, 6   crude, fine                 elimination.py:SDPPE.stage
      7-12   psi_b: what lags behind     elimination.py:SDPPE.gap is the right side
      13     phi_{b+1} = phi_b - psi_b   policy_sets.py:FactoredSet.keep
    Algorithm 2                          Crude Exploration: elimination.py:SDPPE._crude
      1-5    pi_{h,x,a}                  policy_sets.py:FactoredSet.visitors
      6      uniform mixture, L/H users  mixtures.py:PolicyMixture.assign
      7, 8   counts of layer h           batches.py:ShuffledBatches.release
      9, 10  W and P~cru                 elimination.py:SDPPE._crude, with elimination.py:SDPPE._estimate (eq. (3))
      12     pi_0                        elimination.py:SDPPE._explore
    Algorithm 3                          Fine Exploration: elimination.py:SDPPE._fine
      1      pi^ref, eq. (4)             design.py:coverage_design, within `tolerance` of the best coverage
      2-4    L users each, counts        elimination.py:SDPPE._fine
      5-9    P~ref and r~                elimination.py:SDPPE._fine, with elimination.py:SDPPE._estimate
    Section V                            Shuffle privatizer
      eps' = eps/(3H), beta', m, tau     shuffling/bits.py:noise_for; privatizers/shuffle.py:Shuffle.journal
      z_i, shuffler, analyzer            shuffling/bits.py:noisy_sums; printed z_i: shuffling/integers.py:histograms
      eq. (7), N~ >= N                   privatizers/consistency.py:never_underestimating
      Assumption 4's E                   batches.py:ShuffledBatches.error

Statement, code (here, or in mechanisms/), audit (as printed and as corrected); the table of all papers is
audits/published/papers.toml:

    Lemma 10         binary summation is SDP  shuffling/bits.py:ShuffledSum           audit_shuffle
    Lemma 10         printed z_i              shuffling/integers.py:ShuffledIntegers  audit_shuffle
    Lemma 10         batches are SDP          privatizers/shuffle.py:Shuffle          audit_shuffle
    Section V        consistent counts        privatizers/consistent.py:Processed     audit_postprocess
    Corollary 11     all batches are SDP      elimination.py:SDPPE                    audit_sdp_pe
    Theorem 6        regret                   promises.py:regret_bound                audit_sdp_pe_lemmas
    Lemma 14         kernels within 1 +- 1/H  promises.py:kernel_promise              audit_sdp_pe_lemmas
    Lemma 15         visits under P~ and P'   promises.py:visiting_promise            audit_sdp_pe_lemmas
    Lemma 17         coverage of the design   promises.py:coverage_promise            audit_sdp_pe_lemmas
    Lemma 18         visits of the design     promises.py:counts_promise              audit_sdp_pe_lemmas
    Lemmas 8, 16     model bias, meeting W    promises.py:bias_promise                audit_sdp_pe_lemmas
"""
