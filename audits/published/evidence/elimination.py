"""SDP-PE's Lemmas 14 and 16 for small E > 0 (N9, N10)."""

import math

import numpy as np

from audits import audit_sdp_pe_lemmas
from dpverify.promises import check_promise
from mechanisms.privatizers.consistency import never_underestimating

IOTA = math.log(2 * 3 * 2 * 100 / 0.1)  # ln(2 H A K/delta) at H = 3, A = 2, K = 100, delta = .1


def single_visit(error: float, horizon: int = 3) -> float:
    """H |P'/P~ - 1| after one visit of a cell with two equally likely next states, for the one that was seen (N9).

    0 where the tuple is in W: both laws are 0 there.
    """
    counts = never_underestimating(np.array([[1.0, 0.0]]), np.ones(1), error)
    if counts.next_counts[0, 0] <= 6 * error * horizon**2 * IOTA:
        return 0.0
    estimate = counts.next_counts[0, 0] / counts.pair_counts[0]
    return float(horizon * abs(0.5 / estimate - 1))


def third_line(error: float, horizon: int) -> float:
    """H (sqrt(2 iota/N~) + 4 E iota/N~) at N~ = 6 E H^2 iota, at most 1 in the proof of Lemma 14 (N9)."""
    return math.sqrt(1 / (3 * error)) + 2 / (3 * horizon)


def terms_of_17(error: float, states: int = 2, horizon: int = 2) -> float:
    """6 E X H^2 + 1, which (16) gives, over the 7 E X H^2 that (17) writes: 672 = 96 * 7 (N10)."""
    counted = error * states * horizon**2
    return (6 * counted + 1) / (7 * counted)


def broken(promise: str, runs: int) -> float:
    """Share of runs that break a promise of audits/audit_sdp_pe_lemmas.py."""
    (found,) = [each for each in audit_sdp_pe_lemmas.promises if each.name == promise]
    return check_promise(found, seed=20260, trials=runs).failure_rate
