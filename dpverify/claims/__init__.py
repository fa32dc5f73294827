"""What is promised, about which neighbours."""
