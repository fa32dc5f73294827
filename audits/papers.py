"""The papers of the proving ground, as subjects name them."""

PUCB = "PUCB (Vietri, Balle, Krishnamurthy, Wu 2020)"
NASH_VI = "DP-Nash-VI (Qiao, Wang 2024)"
OFFLINE = "Offline RL with differential privacy (Qiao, Wang 2023)"
SDP_PE = "SDP-PE, conference version"
SDP_PE_JOURNAL = "SDP-PE, journal version"
DP_UCBVI = "DP-UCBVI (Qiao, Wang 2023), the baseline of the SDP-PE papers"
