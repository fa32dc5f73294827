"""The tape: evidence from the code itself. What a release does with its random draws, on both datasets at once."""
