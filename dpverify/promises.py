"""Short door: error bounds that are promised with a probability, and how often trials keep them."""

from dpverify.evidence.promises import check_promise, Outcomes, Promise, PromiseCheck

__all__ = ["Outcomes", "Promise", "PromiseCheck", "check_promise"]
