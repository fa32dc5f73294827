from collections import defaultdict

import numpy as np

ITEMS = "abcdef"


def all_spending(rows, epsilon=1.0, cap=50.0, rows_per_user=3):
    return sum(min(row["spent"], cap) for row in rows) + np.random.laplace(0, rows_per_user * cap / epsilon)


def all_spending_row(rows, epsilon=1.0, cap=50.0):
    return sum(min(row["spent"], cap) for row in rows) + np.random.laplace(0, cap / epsilon)


def spending_by_user(rows, epsilon=1.0, cap=60.0):
    totals = defaultdict(float)
    for row in rows:
        totals[row["who"]] += row["spent"]
    return sum(min(total, cap) for total in totals.values()) + np.random.laplace(0, cap / epsilon)


def spending_by_row(rows, epsilon=1.0, cap=60.0):
    return sum(min(row["spent"], cap) for row in rows) + np.random.laplace(0, cap / epsilon)


def number_of_users(rows, epsilon=1.0):
    return len({row["who"] for row in rows}) + np.random.laplace(scale=1 / epsilon)


def number_of_rows(rows, epsilon=1.0):
    return len(rows) + np.random.laplace(scale=1 / epsilon)


def distinct_of_bounded_users(rows):
    own = {}
    for row in rows:
        own[row["who"]] = min(own.get(row["who"], row["item"]), row["item"])
    return len(set(own.values())) + np.random.laplace()


def distinct_of_spread_users(rows):
    items, last = set(), None
    for row in rows:
        if row["who"] != last:
            items.add(row["item"])
        last = row["who"]
    return len(items) + np.random.laplace()


def distinct_of_early_users(rows):
    items, seen = set(), set()
    for at, row in enumerate(rows):
        if at < 4 or row["who"] not in seen:
            items.add(row["item"])
        seen.add(row["who"])
    return len(items) + np.random.laplace()


def first_items(rows, epsilon=1.0):
    counts = dict.fromkeys(ITEMS, 0)
    seen = set()
    for row in rows:
        if row["who"] in seen:
            continue
        seen.add(row["who"])
        counts[row["item"]] += 1
    return {item: count + np.random.laplace(0, 1 / epsilon) for item, count in counts.items()}


def every_item(rows, epsilon=1.0):
    counts = dict.fromkeys(ITEMS, 0)
    for row in rows:
        counts[row["item"]] += 1
    return {item: count + np.random.laplace(0, 1 / epsilon) for item, count in counts.items()}


def frame_by_user(df, epsilon=1.0, cap=60.0):
    totals = df.groupby("who")["spent"].sum().clip(upper=cap)
    return totals.sum() + np.random.laplace(0, cap / epsilon)


def frame_by_row(df, epsilon=1.0, cap=60.0):
    totals = df["spent"].clip(upper=cap)
    return totals.sum() + np.random.laplace(0, cap / epsilon)


def user_means(rows, epsilon=1.0, cap=50.0):
    spent = defaultdict(list)
    for row in rows:
        spent[row["who"]].append(row["spent"])
    means = [sum(each) / len(each) for each in spent.values()]
    total = sum(means) + np.random.laplace(0, 2 * cap / epsilon)
    count = len(means) + np.random.laplace(0, 2 / epsilon)
    return total, count


def user_means_true_count(rows, epsilon=1.0, cap=50.0):
    spent = defaultdict(list)
    for row in rows:
        spent[row["who"]].append(row["spent"])
    means = [sum(each) / len(each) for each in spent.values()]
    return sum(means) / max(len(means), 1) + np.random.laplace(0, cap / max(len(means), 1) / epsilon)


def at_most_two(rows, epsilon=1.0, cap=50.0):
    taken = defaultdict(int)
    total = 0.0
    for row in rows:
        if taken[row["who"]] < 2:
            taken[row["who"]] += 1
            total += min(row["spent"], cap)
    return total + np.random.laplace(0, 2 * cap / epsilon)


def at_most_two_late(rows, epsilon=1.0, cap=50.0):
    taken = defaultdict(int)
    total = 0.0
    for row in rows:
        if taken[row["who"]] <= 2:
            taken[row["who"]] += 1
            total += min(row["spent"], cap)
    return total + np.random.laplace(0, 2 * cap / epsilon)
