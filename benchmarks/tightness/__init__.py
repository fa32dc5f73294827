"""Exact eps of subjects with a known law, computed without the ledger and without the accountant."""
