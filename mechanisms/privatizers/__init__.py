"""Private counts of trajectories with a claim and an error bound: the papers' privatizers."""
