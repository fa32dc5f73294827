"""Paper -> statement -> code -> audit, as one table: what a reader of a paper looks for, and where it is judged.

A row says in which paper, at which place, what is claimed (`statement`), which code makes the claim (`file:symbol`) and
which audit judges it, as printed and as corrected. "single release" stands for textbook mechanisms. Tests check that
every file and symbol exists, that every audit and every module with a claim stands in a row, and that what subjects
and promises name as their paper is judged where the table says.
"""

from dataclasses import dataclass

PUCB = "PUCB (Vietri, Balle, Krishnamurthy, Wu 2020)"
NASH_VI = "DP-Nash-VI (Qiao, Wang 2024)"
OFFLINE = "Offline RL with differential privacy (Qiao, Wang 2023)"
SDP_PE = "SDP-PE, conference version"
SDP_PE_JOURNAL = "SDP-PE, journal version"
DP_UCBVI = "DP-UCBVI (Qiao, Wang 2023), the baseline of the SDP-PE papers"
RELEASE = "single release"  # of no paper of the proving ground: its module names the source


@dataclass(frozen=True)
class Row:
    """One claim of one paper: `code` is file:symbol, `audit` the stem of the file in audits/ that judges it."""

    paper: str
    place: str
    statement: str
    code: str
    audit: str


ROWS = (
    Row(PUCB, "Theorem 12", "eps-DP counter", "mechanisms/counters/tree.py:BinaryCounter", "audit_counters"),
    Row(PUCB, "Section 2.2", "one noise", "mechanisms/counters/single_noise.py:SingleNoiseCounter", "audit_counters"),
    Row(PUCB, "Section 2.2", "later users", "mechanisms/counters/single_noise.py:SingleNoiseCounter", "audit_pucb"),
    Row(PUCB, "Theorem 1", "eps-JDP", "algorithms/pucb.py:PUCB", "audit_pucb"),
    Row(PUCB, "Lemma 13", "all errors", "algorithms/online_promises.py:counters_promise", "audit_pucb"),
    Row(NASH_VI, "Lemma 5.1", "Central is eps-JDP", "mechanisms/privatizers/central.py:Central", "audit_central"),
    Row(NASH_VI, "Lemma 5.4", "Local is eps-LDP", "mechanisms/privatizers/local.py:Local", "audit_local"),
    Row(NASH_VI, "Theorem 5.2", "eps-JDP", "algorithms/nash_vi.py:NashVI", "audit_nash_vi"),
    Row(OFFLINE, "Lemma C.1", "rho-zCDP", "mechanisms/privatizers/offline_tabular.py:OfflineTabularGaussian",
        "audit_offline_tabular"),
    Row(OFFLINE, "Appendix", "eps-DP", "mechanisms/privatizers/offline_tabular.py:OfflineTabularLaplace",
        "audit_offline_tabular"),
    Row(OFFLINE, "Lemma D.1", "rho-zCDP", "mechanisms/privatizers/offline_linear.py:OfflineLinear",
        "audit_offline_linear"),
    Row(OFFLINE, "Theorem 3.4", "DP-APVI is rho-zCDP", "algorithms/apvi.py:DPAPVI", "audit_apvi"),
    Row(OFFLINE, "Theorem 4.1", "DP-VAPVI is rho-zCDP", "algorithms/vapvi.py:VAPVI", "audit_vapvi"),
    Row(SDP_PE, "Lemma 10", "binary summation is SDP", "mechanisms/shuffling/bits.py:ShuffledSum", "audit_shuffle"),
    Row(SDP_PE, "Lemma 10", "printed z_i", "mechanisms/shuffling/integers.py:ShuffledIntegers", "audit_shuffle"),
    Row(SDP_PE_JOURNAL, "Lemma 10", "batches are SDP", "mechanisms/privatizers/shuffle.py:Shuffle", "audit_shuffle"),
    Row(SDP_PE_JOURNAL, "Post-processing", "consistent counts", "mechanisms/privatizers/consistent.py:Processed",
        "audit_postprocess"),
    Row(SDP_PE_JOURNAL, "Corollary 11", "all batches are SDP", "algorithms/sdp_pe.py:SDPPE", "audit_sdp_pe"),
    Row(DP_UCBVI, "Central and Local", "eps-JDP and eps-LDP", "algorithms/dp_ucbvi.py:DPUCBVI", "audit_dp_ucbvi"),
    Row(RELEASE, "Honaker 2015", "rho-zCDP", "mechanisms/counters/honaker.py:HonakerCounter", "audit_counters"),
    Row(RELEASE, "square root", "rho-zCDP", "mechanisms/counters/toeplitz.py:ToeplitzCounter", "audit_counters"),
    Row(RELEASE, "buffered Toeplitz", "rho-zCDP", "mechanisms/counters/buffered.py:BufferedCounter", "audit_counters"),
    Row(RELEASE, "exact counts", "nothing", "mechanisms/privatizers/no_privacy.py:NoPrivacy", "audit_no_privacy"),
    Row(RELEASE, "Laplace", "eps-DP", "mechanisms/releases/laplace.py:Laplace", "audit_laplace"),
    Row(RELEASE, "Gaussian", "rho-zCDP", "mechanisms/releases/gaussian.py:Gaussian", "audit_gaussian"),
    Row(RELEASE, "geometric", "eps-DP", "mechanisms/releases/discrete_laplace.py:DiscreteLaplace",
        "audit_discrete_laplace"),
    Row(RELEASE, "discrete Gaussian", "rho-zCDP", "mechanisms/releases/discrete_gaussian.py:DiscreteGaussian",
        "audit_discrete_gaussian"),
    Row(RELEASE, "Warner 1965", "eps-DP", "mechanisms/releases/randomised_response.py:RandomisedResponse",
        "audit_randomised_response"),
    Row(RELEASE, "exponential", "eps-DP", "mechanisms/releases/exponential.py:Exponential", "audit_exponential"),
    Row(RELEASE, "noisy maximum", "eps-DP", "mechanisms/releases/noisy_max.py:NoisyMax", "audit_noisy_max"),
    Row(RELEASE, "sparse vector", "eps-DP", "mechanisms/releases/sparse_vector.py:SparseVector", "audit_sparse_vector"),
)  # fmt: skip
