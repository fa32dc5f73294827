"""Other people's mechanisms as targets and ledgers. Their packages are imported on use, never before.

opendp          measurements, released in batches through vector domains
diffprivlib     IBM's mechanisms, one value a call
dp_accounting   events as ledgers
functions       any callable
"""

from dpverify.adapters import diffprivlib, dp_accounting, functions, opendp

__all__ = ["diffprivlib", "dp_accounting", "functions", "opendp"]
