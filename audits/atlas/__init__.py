"""The errata atlas and the field report: statements of others about privacy, and what was found about them.

One TOML file an entry, in `audits/published` and `audits/field`; every number is computed again by its evidence:

    python -m audits.atlas list | show ID | run [ID...] | page
"""
