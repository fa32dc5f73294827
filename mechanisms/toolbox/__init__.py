"""Helpers without a privacy claim."""
