"""Helpers of several tests: answers found another way, and laws to try tests on."""
