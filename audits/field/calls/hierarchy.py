"""InfTDA on users who visit a hundred times: a record is the place of all of them, zeros are given."""

import pandas as pd
from InfTDA import inf_tda

CELLS = [(a, b) for a in (0, 1) for b in (0, 1)]


def synthetic(data, epsilon=1.0, distinct=False, visits=100):
    counts = dict.fromkeys(CELLS, 0)
    for place in data:
        counts[CELLS[place]] += visits
    table = pd.Series(list(counts.values()), index=pd.MultiIndex.from_tuples(CELLS), dtype="int32")
    found = inf_tda(table, (float(epsilon), 1e-6), visits, distinct_tuples=distinct)
    return {str(cell): int(found.get(cell, 0)) for cell in CELLS}
