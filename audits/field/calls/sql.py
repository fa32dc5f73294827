"""A private SQL query by smartnoise-sql: a sum; epsilon is that of each statistic."""

import snsql
from snsql import Privacy

TABLE = {
    "row_privacy": True,
    "censor_dims": False,
    "clamp_counts": False,
    "x": {"type": "float", "lower": 0.0, "upper": 10.0},
}


def total(data, epsilon=1.0):
    reader = snsql.from_df(data, privacy=Privacy(epsilon=epsilon, delta=0.0), metadata={"": {"s": {"t": dict(TABLE)}}})
    return [float(each) for each in reader.execute("SELECT SUM(x) AS s FROM s.t")[1]]
