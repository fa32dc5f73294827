"""Estimates of log P(o)/Q(o) for one output o, frozen before the certifying trials."""
