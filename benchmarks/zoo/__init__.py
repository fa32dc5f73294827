"""Classic subjects, written from their definitions in the literature, each with its true eps on one pair.

`python -m benchmarks.zoo.run --trials 1000000` prints certified against true eps, trials, seconds, and the
share of what the exact score certifies where the likelihood ratio is known.
"""
