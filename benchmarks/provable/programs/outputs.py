from collections import namedtuple
from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd

Report = namedtuple("Report", "count total")


@dataclass
class Summary:
    count: float
    total: float
    note: str = ""


def summary_object(values, epsilon=1.0, cap=10.0):
    count = len(values) + np.random.laplace(0, 2 / epsilon)
    total = np.minimum(values, cap).sum() + np.random.laplace(0, 2 * cap / epsilon)
    return Summary(count, total)


def summary_object_note(values, epsilon=1.0, cap=10.0):
    count = len(values) + np.random.laplace(0, 2 / epsilon)
    total = np.minimum(values, cap).sum() + np.random.laplace(0, 2 * cap / epsilon)
    note = "some values were capped" if (values > cap).any() else ""
    return Summary(count, total, note)


def report_tuple(values, epsilon=1.0, cap=10.0):
    count = len(values) + np.random.laplace(0, 2 / epsilon)
    total = np.minimum(values, cap).sum() + np.random.laplace(0, 2 * cap / epsilon)
    return Report(count=count, total=total)


def report_tuple_extra(values, epsilon=1.0, cap=10.0):
    count = len(values) + np.random.laplace(0, 1 / epsilon)
    total = np.minimum(values, cap).sum() + np.random.laplace(0, 1.5 * cap / epsilon)
    return Report(count=count, total=total)


def nested(values, epsilon=1.0, cap=10.0):
    low = values[values < cap / 2]
    high = values[values >= cap / 2]
    return {
        "low": {"count": len(low) + np.random.laplace(scale=1 / epsilon)},
        "high": {"count": len(high) + np.random.laplace(scale=1 / epsilon)},
    }


def nested_largest(values, epsilon=1.0, cap=10.0):
    low = values[values < cap / 2]
    high = values[values >= cap / 2]
    return {
        "low": {"count": len(low) + np.random.laplace(scale=1 / epsilon)},
        "high": {"count": len(high) + np.random.laplace(scale=1 / epsilon), "max": float(values.max())},
    }


def as_frame(values, epsilon=1.0):
    counts = [int(((values >= low) & (values < low + 5)).sum()) for low in (0, 5, 10, 15)]
    noisy = np.array(counts) + np.random.laplace(0, 1 / epsilon, 4)
    return pd.DataFrame({"from": [0, 5, 10, 15], "count": noisy.round(1)})


def as_frame_with_error(values, epsilon=1.0):
    counts = [int(((values >= low) & (values < low + 5)).sum()) for low in (0, 5, 10, 15)]
    noisy = np.array(counts) + np.random.laplace(0, 1 / epsilon, 4)
    return pd.DataFrame({"from": [0, 5, 10, 15], "count": noisy, "error": noisy - counts})


def joined(values, epsilon=1.0, cap=10.0):
    small = np.array([(values < 5).sum()]) + np.random.laplace(0, 2 / epsilon, 1)
    mean = np.clip(values, 0, cap).mean() + np.random.laplace(0, 2 * cap / len(values) / epsilon)
    return np.concatenate([small, [mean, 2 * mean]])


def joined_noise_once(values, epsilon=1.0, cap=10.0):
    noise = np.random.laplace(0, 2 / epsilon)
    small = np.array([(values < 5).sum()]) + noise
    mean = np.clip(values, 0, cap).mean() + noise * cap / len(values)
    return np.concatenate([small, [mean, 2 * mean]])


def sentence(values, epsilon=1.0, cap=10.0):
    mean = np.clip(values, 0, cap).mean() + np.random.laplace(0, cap / len(values) / epsilon)
    level = "high" if mean > cap / 2 else "low"
    return f"The level is {level}."


def sentence_of_true(values, epsilon=1.0, cap=10.0):
    true = np.clip(values, 0, cap).mean()
    mean = true + np.random.laplace(0, cap / len(values) / epsilon)
    level = "high" if true > cap / 2 else "low"
    return f"The level is {level}, about {mean:.1f}."


def as_dict_of(values, epsilon=1.0, cap=20.0):
    total = float(np.minimum(values, cap).sum())
    made = Summary(count=0.0, total=total + np.random.laplace(0, cap / epsilon))
    made.count = round(made.total / cap)
    return asdict(made)


def as_dict_of_whole(values, epsilon=1.0, cap=20.0):
    total = float(np.minimum(values, cap).sum())
    made = Summary(count=0.0, total=total + np.random.laplace(0, cap / epsilon))
    made.count = round(total / cap)
    return asdict(made)
