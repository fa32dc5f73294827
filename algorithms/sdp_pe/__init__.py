"""SDP-PE."""
