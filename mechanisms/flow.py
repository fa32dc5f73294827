"""Short door: counts that fit together, with constraints of one's own."""

from mechanisms.privatizers.flow import FlowConsistent

__all__ = ["FlowConsistent"]
