"""What was done and what it costs: an upper bound on eps that is a proof, given the ledger."""
