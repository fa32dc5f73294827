"""Beyond the papers: fewer statistics, pooled shuffled counts, Gaussian counts, attacks by the other users."""
