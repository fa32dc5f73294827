"""Continual counters: noisy prefix sums of a stream, vectorised over trials and over counters."""
