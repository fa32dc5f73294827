"""Anytime-valid evidence: a test martingale that may be stopped whenever one likes."""
