"""DP-UCBVI."""
