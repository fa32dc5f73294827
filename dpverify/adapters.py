"""Short door: other people's mechanisms as targets and ledgers; their packages are imported on use."""

from dpverify.faces.adapters import diffprivlib, dp_accounting, functions, opendp

__all__ = ["diffprivlib", "dp_accounting", "functions", "opendp"]
