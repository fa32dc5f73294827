import math
import random

import numpy as np

LABELS = ["a", "b", "c"]


def winner(votes, epsilon=1.0):
    counts = np.array([votes.count(label) for label in LABELS])
    noisy = counts + np.random.laplace(scale=2 / epsilon, size=len(LABELS))
    return LABELS[int(np.argmax(noisy))]


def winner_half(votes, epsilon=1.0):
    counts = np.array([votes.count(label) for label in LABELS])
    noisy = counts + np.random.laplace(scale=1 / epsilon, size=len(LABELS))
    return LABELS[int(np.argmax(noisy))]


def winner_and_count(votes, epsilon=1.0):
    counts = np.array([votes.count(label) for label in LABELS])
    noisy = counts + np.random.laplace(scale=2 / epsilon, size=len(LABELS))
    best = int(np.argmax(noisy))
    return LABELS[best], int(counts[best])


def winner_shared_noise(votes, epsilon=1.0):
    counts = np.array([votes.count(label) for label in LABELS])
    noisy = counts + np.random.laplace(scale=2 / epsilon)
    return LABELS[int(np.argmax(noisy))]


def exponential_choice(votes, epsilon=1.0, rng=None):
    rng = rng or np.random.default_rng()
    scores = np.array([votes.count(label) for label in LABELS], dtype=float)
    weights = np.exp(epsilon * (scores - scores.max()) / 2)
    return LABELS[rng.choice(len(LABELS), p=weights / weights.sum())]


def exponential_choice_full(votes, epsilon=1.0, rng=None):
    rng = rng or np.random.default_rng()
    scores = np.array([votes.count(label) for label in LABELS], dtype=float)
    weights = np.exp(epsilon * (scores - scores.max()))
    return LABELS[rng.choice(len(LABELS), p=weights / weights.sum())]


def exponential_choice_present(votes, epsilon=1.0, rng=None):
    rng = rng or np.random.default_rng()
    labels = sorted(set(votes))
    scores = np.array([votes.count(label) for label in labels], dtype=float)
    weights = np.exp(epsilon * (scores - scores.max()) / 2)
    return labels[rng.choice(len(labels), p=weights / weights.sum())]


def gumbel_choice(cells, epsilon=1.0, k=4):
    rng = np.random.default_rng()
    scores = epsilon * np.bincount(cells, minlength=k) / 2
    return int(np.argmax(scores + rng.gumbel(size=k)))


def gumbel_choice_full(cells, epsilon=1.0, k=4):
    rng = np.random.default_rng()
    scores = epsilon * np.bincount(cells, minlength=k)
    return int(np.argmax(scores + rng.gumbel(size=k)))


def permute_and_flip(votes, epsilon=1.0):
    scores = {label: votes.count(label) for label in LABELS}
    best = max(scores.values())
    order = LABELS[:]
    random.shuffle(order)
    for label in order:
        if random.random() < math.exp(epsilon * (scores[label] - best) / 2):
            return label
    return order[-1]


def flip_in_order(votes, epsilon=1.0):
    scores = {label: votes.count(label) for label in LABELS}
    best = max(scores.values())
    for label in LABELS:
        if random.random() < math.exp(epsilon * (scores[label] - best) / 2):
            return label
    return LABELS[-1]


def best_price(bids, epsilon=1.0, highest=10):
    prices = np.arange(1, highest + 1)
    revenue = prices * (bids[:, None] >= prices).sum(axis=0)
    logits = epsilon * revenue / (2 * highest)
    p = np.exp(logits - logits.max())
    return int(np.random.choice(prices, p=p / p.sum()))


def best_price_unit(bids, epsilon=1.0, highest=10):
    prices = np.arange(1, highest + 1)
    revenue = prices * (bids[:, None] >= prices).sum(axis=0)
    logits = epsilon * revenue / 2
    p = np.exp(logits - logits.max())
    return int(np.random.choice(prices, p=p / p.sum()))


def farther_column(rows, epsilon=1.0):
    scores = [sum(1 if row[name] else -1 for row in rows) for name in ("x", "y")]
    weights = [math.exp(epsilon * (each - max(scores)) / 4) for each in scores]
    return random.choices(["x", "y"], weights=weights)[0]


def farther_column_unit(rows, epsilon=1.0):
    scores = [sum(1 if row[name] else -1 for row in rows) for name in ("x", "y")]
    weights = [math.exp(epsilon * (each - max(scores)) / 2) for each in scores]
    return random.choices(["x", "y"], weights=weights)[0]


def more_yes(votes, epsilon=1.0):
    lead = sum(1 if vote == "yes" else -1 for vote in votes)
    return "yes" if lead + np.random.laplace(0, 2 / epsilon) > 0 else "no"


def more_yes_unit(votes, epsilon=1.0):
    lead = sum(1 if vote == "yes" else -1 for vote in votes)
    return "yes" if lead + np.random.laplace(0, 1 / epsilon) > 0 else "no"


def top_two(cells, epsilon=1.0, k=5):
    counts = np.bincount(cells, minlength=k).astype(float)
    noisy = counts + np.random.gumbel(scale=4 / epsilon, size=k)
    order = np.argsort(-noisy)
    return int(order[0]), int(order[1])


def top_two_full(cells, epsilon=1.0, k=5):
    counts = np.bincount(cells, minlength=k).astype(float)
    noisy = counts + np.random.gumbel(scale=2 / epsilon, size=k)
    order = np.argsort(-noisy)
    return int(order[0]), int(order[1])


def exponential_noise_choice(votes, epsilon=1.0):
    best, chosen = -math.inf, None
    for label in LABELS:
        noisy = votes.count(label) + random.expovariate(epsilon / 2)
        if noisy > best:
            best, chosen = noisy, label
    return chosen


def exponential_noise_choice_full(votes, epsilon=1.0):
    best, chosen = -math.inf, None
    for label in LABELS:
        noisy = votes.count(label) + random.expovariate(epsilon)
        if noisy > best:
            best, chosen = noisy, label
    return chosen


def majority_of_teachers(votes, epsilon=1.0, teachers=5):
    parts = [votes[at::teachers] for at in range(teachers)]
    yes = sum(2 * part.count("yes") > len(part) for part in parts)
    scores = [yes + np.random.laplace(scale=2 / epsilon), teachers - yes + np.random.laplace(scale=2 / epsilon)]
    return "yes" if scores[0] > scores[1] else "no"


def majority_of_first_teachers(votes, epsilon=1.0, teachers=5):
    part = votes[: max(1, len(votes) // teachers)]
    yes = sum(2 * part.count("yes") > len(part) for _ in range(teachers))
    scores = [yes + np.random.laplace(scale=2 / epsilon), teachers - yes + np.random.laplace(scale=2 / epsilon)]
    return "yes" if scores[0] > scores[1] else "no"
