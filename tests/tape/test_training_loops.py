"""Loops of training: patterns of public threads, wrong and mended, and correct loops without an alarm."""

import re

import numpy as np
import pytest

from dpverify.errors import ParameterError, TargetError
from dpverify.ledger import dp_sgd, FixedSizeSampled, gaussian, GaussianNoise, LaplaceNoise, Ledger, Sensitivity
from dpverify.tape.training import check_training

ROWS, STEPS, SIZE, SIGMA, CLIP = 48, 6, 8, 1.5, 0.5
RATE = SIZE / ROWS
_rng = np.random.default_rng(5)
X, Y = _rng.normal(size=(ROWS, 3)), _rng.integers(0, 2, size=ROWS)
POISSON = dp_sgd(rate=RATE, noise_multiplier=SIGMA, steps=STEPS)
STEP = Ledger(GaussianNoise(sigma=SIGMA * CLIP, sensitivity=Sensitivity(replace=2 * CLIP)))
FIXED = Ledger(FixedSizeSampled(sampled=SIZE, of=ROWS, inside=STEP)) * STEPS


def gradients(w, x, y):
    return (1 / (1 + np.exp(-x @ w)) - y)[:, None] * x


def clipped(g, clip=CLIP):
    return g / np.maximum(1, np.linalg.norm(g, axis=1, keepdims=True) / clip)


def mask(rng, n):
    return rng.random(n) < RATE


def fixed(rng, n):
    return rng.choice(n, SIZE, replace=False)


def noise(rng, sigma=SIGMA):
    return rng.normal(0, sigma * CLIP, size=3)


def descent(*, batch=mask, total=None, add=noise, divisor=SIZE, steps=STEPS):
    """A loop with one part exchanged."""

    def train(data, *, rng, step):
        (x, y), w = data, np.zeros(3)
        for _ in range(steps):
            rows = batch(rng, len(x))
            g = gradients(w, x[rows], y[rows])
            s = clipped(g).sum(axis=0) if total is None else total(g)
            w = w - (s + add(rng)) / (divisor(x, g) if callable(divisor) else divisor)
            step(w)

    return train


def epochs(*, size=SIZE, shuffle=True, drop_last=True, count=1, mean=False):
    """Batches of a permutation, as data loaders cut them."""

    def train(data, *, rng, step):
        (x, y), w = data, np.zeros(3)
        for _ in range(count):
            order = rng.permutation(len(x)) if shuffle else np.arange(len(x))
            for start in range(0, len(x), size):
                rows = order[start : start + size]
                if len(rows) < size and drop_last:
                    break
                s = clipped(gradients(w, x[rows], y[rows])).sum(axis=0)
                w = w - (s / len(rows) + noise(rng) / size if mean else (s + noise(rng)) / size)
                step(w)

    return train


def accumulated(*, parts, each):
    """Virtual steps: several batches are read, clipped and added up, then there is one step with noise."""

    def train(data, *, rng, step):
        (x, y), w = data, np.zeros(3)
        for _ in range(STEPS):
            s = np.zeros(3)
            rows = np.flatnonzero(rng.random(len(x)) < each * parts)
            for part in np.array_split(rows, parts):
                s += clipped(gradients(w, x[part], y[part])).sum(axis=0)
            w = w - (s + noise(rng)) / SIZE
            step(w)

    return train


def workers(*, count=2, size=SIZE, sigma=SIGMA):
    """Each worker draws a batch of its own shard and adds noise of its own."""

    def train(data, *, rng, step):
        (x, y), w = data, np.zeros(3)
        for _ in range(STEPS):
            rows, s = rng.choice(len(x), size, replace=False), np.zeros(3)
            for part in np.array_split(rows, count):
                s += clipped(gradients(w, x[part], y[part])).sum(axis=0) + noise(rng, sigma)
            w = w - s / size
            step(w)

    return train


def by_layer(clip):
    def total(g):
        return np.concatenate([clipped(part, clip).sum(axis=0) for part in (g[:, :1], g[:, 1:])])

    return total


def check(train, ledger=POISSON):
    return check_training(train, data=(X, Y), ledger=ledger)


# ----------------------------------------------------------------------------------------------------------------------
# Public threads, each wrong and mended.


THREADS = {
    "opacus#80, shuffled": (epochs(), POISSON, "SAMPLER", descent(), POISSON),
    "opacus#80, fixed size": (descent(batch=fixed), POISSON, "SAMPLER", descent(batch=fixed), FIXED),
    "opacus#444, every worker reads a whole batch": (workers(size=2 * SIZE, sigma=SIGMA / 2**0.5), FIXED,
        "VIRTUAL_STEPS", workers(sigma=SIGMA / 2**0.5), FIXED),
    "opacus#819, divisor from the number of rows": (descent(divisor=lambda x, g: int(len(x) * RATE)), POISSON,
        "DIVISOR", descent(), POISSON),
    "jax_privacy PR#272, accumulated batches": (accumulated(parts=4, each=RATE), POISSON, "VIRTUAL_STEPS",
        accumulated(parts=4, each=RATE / 4), POISSON),
    "fedbiomed#1443, clipped by parameter": (descent(total=by_layer(CLIP)), POISSON, "SIGMA",
        descent(total=by_layer(CLIP / 2**0.5)), POISSON),
    "fedbiomed#1443, noise shared out among workers": (workers(sigma=SIGMA / 2), FIXED, "WORKER_NOISE",
        workers(sigma=SIGMA / 2**0.5), FIXED),
}  # fmt: skip


@pytest.mark.parametrize("name", THREADS)
def test_threads_are_found_and_mended_ones_are_quiet(name):
    wrong, told, word, mended, right = THREADS[name]
    assert word in check(wrong, told).words
    assert (quiet := check(mended, right)).verdict == "AGREES", str(quiet)


# ----------------------------------------------------------------------------------------------------------------------
# Correct loops.


def by_binomial(data, *, rng, step):
    (x, y), w = data, np.zeros(3)
    for _ in range(STEPS):
        rows = rng.choice(len(x), rng.binomial(len(x), RATE), replace=False)
        w = w - (clipped(gradients(w, x[rows], y[rows])).sum(axis=0) + noise(rng)) / SIZE
        step(w)


def momentum(data, *, rng, step):
    (x, y), w, v = data, np.zeros(3), np.zeros(3)
    for t in range(STEPS):
        rows = mask(rng, len(x))
        v = 0.9 * v + (clipped(gradients(w, x[rows], y[rows])).sum(axis=0) + noise(rng)) / SIZE
        w = w - 0.5 / (1 + t) * v
        step({"w": w[:1], "rest": [w[1:]]})


def scheduled(data, *, rng, step):
    (x, y), w = data, rng.normal(size=3)  # the first model is random, which is no noise
    for t in range(STEPS):
        rows = mask(rng, len(x))
        w = w - (clipped(gradients(w, x[rows], y[rows])).sum(axis=0) + noise(rng)) / SIZE / (1 + t) ** 0.5
        step(w)


def single_precision(data, *, rng, step):
    (x, y), w = data, np.zeros(3, np.float32)
    for _ in range(STEPS):
        rows = mask(rng, len(x))
        g = clipped(gradients(w, x[rows].astype(np.float32), y[rows].astype(np.float32)))
        w = w - (g.sum(axis=0) + noise(rng).astype(np.float32)) / np.float32(SIZE)
        step(w)


def masked(data, *, rng, step):
    """All gradients are computed, and those of the batch are added up."""
    (x, y), w = data, np.zeros(3)
    for _ in range(STEPS):
        g = clipped(gradients(w, np.asarray(x), np.asarray(y)))
        w = w - (mask(rng, len(x)) @ g + noise(rng)) / SIZE
        step(w)


def row_by_row(data, *, rng, step):
    (x, y), w = data, np.zeros(3)
    for _ in range(STEPS):
        s = np.zeros(3)
        for row in np.flatnonzero(mask(rng, len(x))):
            s += clipped(gradients(w, x[row][None], y[row])).sum(axis=0)
        w = w - (s + noise(rng)) / SIZE
        step(w)


CORRECT = {
    "mask": (descent(), POISSON),
    "binomial and choice": (by_binomial, POISSON),
    "fixed size with its ledger": (descent(batch=fixed), FIXED),
    "shuffled with its ledger": (epochs(count=2), STEP * 2),
    "microbatches": (accumulated(parts=2, each=RATE / 2), POISSON),
    "momentum": (momentum, POISSON),
    "schedule": (scheduled, POISSON),
    "single precision": (single_precision, POISSON),
    "clipped by layer": (descent(total=by_layer(CLIP / 2**0.5)), POISSON),
    "last batch dropped": (epochs(size=9, drop_last=True), STEP),
    "all gradients, masked": (masked, POISSON),
    "row by row": (row_by_row, POISSON),
    "full batch": (descent(batch=lambda rng, n: np.arange(n)), dp_sgd(rate=1.0, noise_multiplier=SIGMA, steps=STEPS)),
}  # fmt: skip


@pytest.mark.parametrize("name", CORRECT)
def test_no_alarm_over_correct_loops(name):
    found = check(*CORRECT[name])
    assert found.verdict == "AGREES", str(found)


# ----------------------------------------------------------------------------------------------------------------------
# Planted bugs, one word each.


def forgotten_in_one_step(data, *, rng, step):
    (x, y), w = data, np.zeros(3)
    for t in range(STEPS):
        rows = mask(rng, len(x))
        w = w - (clipped(gradients(w, x[rows], y[rows])).sum(axis=0) + (noise(rng) if t != 3 else 0)) / SIZE
        step(w)


def smaller_at_the_end(data, *, rng, step):
    (x, y), w = data, np.zeros(3)
    for t in range(STEPS):
        rows = fixed(rng, len(x))[: SIZE if t < STEPS - 1 else 3]
        w = w - (clipped(gradients(w, x[rows], y[rows])).sum(axis=0) + noise(rng)) / SIZE
        step(w)


def of_sum(g):
    s = g.sum(axis=0)
    return s / max(1, np.linalg.norm(s) / CLIP)


BUGS = {
    "in order": (epochs(shuffle=False, count=2), POISSON, "SAMPLER"),
    "shuffled, told fixed size": (epochs(), FIXED, "SAMPLER"),
    "Poisson, told fixed size": (descent(), FIXED, "SAMPLER"),
    "twice the rate": (descent(batch=lambda rng, n: rng.random(n) < 3 * RATE), POISSON, "RATE"),
    "more steps": (descent(steps=STEPS + 1), POISSON, "STEPS"),
    "two epochs, told one": (epochs(count=2), STEP, "STEPS"),
    "sum clipped": (descent(total=of_sum), POISSON, "BATCH_CLIPPED"),
    "nothing clipped": (descent(total=lambda g: g.sum(axis=0)), POISSON, "NOT_CLIPPED"),
    "no noise": (descent(add=lambda rng: 0.0), POISSON, "NO_NOISE"),
    "no noise in one step": (forgotten_in_one_step, POISSON, "NO_NOISE"),
    "no noise on one coordinate": (descent(add=lambda rng: noise(rng) * [1, 1, 0]), POISSON, "NO_NOISE"),
    "one noise for all": (descent(add=lambda rng: rng.normal(0, SIGMA * CLIP)), POISSON, "SHARED_NOISE"),
    "less noise": (descent(add=lambda rng: noise(rng, 0.9 * SIGMA)), POISSON, "SIGMA"),
    "noise of another clip": (descent(add=lambda rng: rng.normal(0, SIGMA * 0.1, size=3)), POISSON, "SIGMA"),
    "mean of the last batch": (epochs(size=9, drop_last=False, mean=True), STEP, "LAST_BATCH"),
    "last batch, told one size": (smaller_at_the_end, FIXED, "LAST_BATCH"),
    "with replacement": (descent(batch=lambda rng, n: np.append(rng.choice(n, SIZE - 1, replace=False), [7, 7])), FIXED,
        "REPEATED_ROW"),
    "mean of the batch": (descent(divisor=lambda x, g: len(g)), POISSON, "DIVISOR"),
}  # fmt: skip


@pytest.mark.parametrize("name", BUGS)
def test_planted_bugs_are_found(name):
    train, told, word = BUGS[name]
    found = check(train, told)
    assert word in found.words, str(found)
    assert found.verdict == "DIFFERS"


def test_the_sampler_that_runs_is_accounted():
    step = GaussianNoise(what="sum of clipped gradients", sigma=SIGMA, sensitivity=Sensitivity.doubled(add_remove=1))
    shuffled = check(epochs(count=2), dp_sgd(rate=RATE, noise_multiplier=SIGMA, steps=2 * STEPS))
    size = check(descent(batch=fixed))
    assert shuffled.sampler_ledger == Ledger(step) * 2
    assert shuffled.sampler_eps > shuffled.eps > 0
    assert size.sampler_ledger.counted[0][0].sampled == SIZE
    assert "the sampler that runs: eps" in str(size)


# ----------------------------------------------------------------------------------------------------------------------
# What cannot be judged is never fine.


def adam(data, *, rng, step):
    (x, y), w, v = data, np.zeros(3), np.zeros(3)
    for _ in range(STEPS):
        rows = mask(rng, len(x))
        g = (clipped(gradients(w, x[rows], y[rows])).sum(axis=0) + noise(rng)) / SIZE
        v = 0.9 * v + 0.1 * g**2
        w = w - 0.1 * g / (np.sqrt(v) + 1e-8)
        step(w)


def ahead(data, *, rng, step):
    (x, y), w, z = data, np.zeros(3), rng.normal(0, SIGMA * CLIP, size=(STEPS, 3))
    for t in range(STEPS):
        rows = mask(rng, len(x))
        w = w - (clipped(gradients(w, x[rows], y[rows])).sum(axis=0) + z[t]) / SIZE
        step(w)


def foreign(data, *, rng, step):
    return descent(add=lambda _: np.random.default_rng().normal(0, SIGMA * CLIP, size=3))(data, rng=rng, step=step)


def copied(data, *, rng, step):
    return descent()((X, Y), rng=rng, step=step)


@pytest.mark.parametrize(
    ("train", "reason"),
    [
        (adam, "not linear"),
        (ahead, "drawn before|no draw|another noise"),
        (foreign, "NOT TRACED"),
        (copied, "no row of the data"),
        (descent(batch=fixed, steps=1), "too few"),
    ],
)
def test_what_cannot_be_judged_is_undecided(train, reason):
    found = check(train)
    assert found.verdict == "UNDECIDED", str(found)
    assert re.search(reason, " ".join(found.unknown)), str(found)


def test_bad_input_gets_one_line():
    for data, ledger in ((X[0, 0], POISSON), ((X, Y[1:]), POISSON), (X, STEP + POISSON), (X, "poisson"),
                         (X, Ledger(LaplaceNoise(scale=1.0, sensitivity=Sensitivity(replace=1.0))))):  # fmt: skip
        with pytest.raises(ParameterError):
            check_training(descent(), data=data, ledger=ledger)
    with pytest.raises(ParameterError):
        check_training(descent(), data=(X, Y), ledger=POISSON, delta=float("nan"))
    with pytest.raises(TargetError, match="not at all"):
        check_training(lambda data, *, rng, step: None, data=X, ledger=gaussian(sigma=1.0, sensitivity=1.0))
