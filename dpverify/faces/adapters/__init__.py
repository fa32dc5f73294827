"""Other people's mechanisms as targets and ledgers. Their packages are imported on use, never before.

opendp          measurements, released in batches through vector domains
diffprivlib     IBM's mechanisms, one value a call
dp_accounting   events as ledgers
functions       any callable
"""
