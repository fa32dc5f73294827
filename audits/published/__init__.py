"""The errata atlas of this repository: one TOML file an entry, and the evidence that computes its numbers again."""
