"""Learners without privacy."""
