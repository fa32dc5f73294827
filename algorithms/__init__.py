"""Environments, planning and the learning algorithms built on privatizers."""
