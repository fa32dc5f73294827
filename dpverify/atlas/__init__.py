"""The errata atlas: statements of others about privacy, the reading each rests on, and what was found.

One TOML file an entry, read from the folder that one points at; every number in it is computed again by its evidence.
"""
