"""Tests by purpose, their oracles, and `mutations`: what they are worth."""
