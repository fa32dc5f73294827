"""Measurements of the toolkit that are no tests: run by hand, figures quoted in the docs with their seeds."""
