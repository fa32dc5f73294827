"""DP-Nash-VI."""
