import json
import random
from collections import defaultdict

import numpy as np


def noise(scale):
    return float(np.random.laplace(0.0, scale))


def total_spent(rows, epsilon=1.0, cap=20.0):
    return sum(min(row["spent"], cap) for row in rows) + noise(cap / epsilon)


def total_spent_raw(rows, epsilon=1.0, cap=20.0):
    return sum(row["spent"] for row in rows) + noise(cap / epsilon)


def total_spent_capped_late(rows, epsilon=1.0, cap=20.0):
    total = sum(row["spent"] for row in rows)
    return min(total, cap * len(rows)) + noise(cap / epsilon)


def smoking_rate(rows, epsilon=1.0):
    n = len(rows)
    smokers = sum(row["smoker"] == "yes" for row in rows)
    return smokers / n + noise(1 / (n * epsilon))


def smoking_rate_hidden_if_few(rows, epsilon=1.0, least=3):
    n = len(rows)
    smokers = sum(row["smoker"] == "yes" for row in rows)
    if smokers < least:
        return "suppressed"
    return smokers / n + noise(1 / (n * epsilon))


def spent_by_smoker(rows, epsilon=1.0, cap=50.0):
    totals = {"yes": 0.0, "no": 0.0}
    for row in rows:
        totals[row["smoker"]] += min(row["spent"], cap)
    return {key: value + noise(cap / epsilon) for key, value in totals.items()}


def spent_by_smoker_default(rows, epsilon=1.0, cap=50.0):
    totals = defaultdict(float)
    for row in rows:
        totals[row["smoker"]] += min(row["spent"], cap)
    return {key: totals[key] + noise(cap / epsilon) for key in sorted(totals)}


def weighted_count(records, epsilon=1.0, heaviest=5.0):
    return sum(each["grams"] for each in records if each["age"] >= 18) + laplace_by_exponentials(heaviest / epsilon)


def weighted_count_plain(records, epsilon=1.0):
    return sum(each["grams"] for each in records if each["age"] >= 18) + laplace_by_exponentials(1 / epsilon)


def laplace_by_exponentials(scale):
    return random.expovariate(1 / scale) - random.expovariate(1 / scale)


def as_json(rows, epsilon=1.0):
    smokers = sum(1 for row in rows if row["smoker"] == "yes")
    return json.dumps({"rows": len(rows), "smokers": round(smokers + noise(1 / epsilon), 2)})


def smoker_average(rows, epsilon=1.0, cap=50.0):
    mine = [min(row["spent"], cap) for row in rows if row["smoker"] == "yes"]
    total = sum(mine) + noise(2 * cap / epsilon)
    count = len(mine) + noise(2 / epsilon)
    return total / count if count > 1 else 0.0


def smoker_average_true_count(rows, epsilon=1.0, cap=50.0):
    mine = [min(row["spent"], cap) for row in rows if row["smoker"] == "yes"]
    total = sum(mine) + noise(cap / epsilon)
    return total / len(mine) if mine else 0.0


def sums_of_public_classes(rows):
    return {each: sum(row["x"] for row in rows if row["group"] == each) + noise(1.0) for each in "abcd"}


def sums_of_present_classes(rows):
    classes = sorted({row["group"] for row in rows})
    return {each: sum(row["x"] for row in rows if row["group"] == each) + noise(1.0) for each in classes}


def points(rows, epsilon=1.0):
    score = 0
    for row in rows:
        if row["smoker"] == "yes":
            score += 2
        elif row["age"] > 60:
            score += 1
    return score + noise(2 / epsilon)


def points_both(rows, epsilon=1.0):
    score = 0
    for row in rows:
        if row["smoker"] == "yes":
            score += 2
        if row["age"] > 60:
            score += 1
    return score + noise(2 / epsilon)


def points_in_a_row(rows, epsilon=1.0):
    score, streak = 0, 0
    for row in rows:
        streak = streak + 1 if row["smoker"] == "yes" else 0
        score = max(score, streak)
    return score + noise(2 / epsilon)
