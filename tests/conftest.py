"""Settings of all tests."""

from hypothesis import settings

# the same examples in every run: red is a change of the code and not luck; --hypothesis-profile=default looks further
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")
