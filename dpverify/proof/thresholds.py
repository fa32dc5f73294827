"""Comparisons of noisy values with a noisy threshold that nobody sees: AboveThreshold, path by path."""

from typing import Any

import numpy as np

from dpverify.proof.run import Event, FRESH, JOINED, Run
from dpverify.proof.structure import stack
from dpverify.proof.terms import Aggregate, Noise, Noisy, Sum, Symbol

OPPOSITE = {"less": "greater", "less_equal": "greater_equal", "greater": "less", "greater_equal": "less_equal"}


def compare_with_bar(run: Run, op: str, first: Any, second: Any) -> bool | None:
    """Outcome of "data + Laplace noise against public + Laplace noise" on this path; None where it is no such one.

    Notes
    -----
    A path says for each query q_i + z_i whether it is below the bar t. Where a neighbour moves q_i by m_i, shift the
    noise of the bar by D = max(0, m_i of those below) and that of each query above by max(0, D - m_i): the same path is
    taken, so its chance changes by at most exp(D/b + sum over those above of max(0, D - m_i)/b_i). Noise of the
    queries and of the bar must be used here only, that of the bar with one factor. (Dwork, Roth 2014, section 3.6;
    Lyu, Su, Li 2017.)
    """
    if isinstance(first, Symbol) and isinstance(first.term, Noise):
        first, second, op = second, first, OPPOSITE.get(op, op)
    if op not in OPPOSITE or not (isinstance(first, Symbol) and isinstance(second, Symbol)) or run.scope is not None:
        return None
    query, bar = first.term, second.term
    if not isinstance(query, Noisy) or not isinstance(bar, Noise):
        return None
    release = query.release.last()
    name = int(np.ravel(bar.ids)[0]) if bar.shape == () else -1
    known = run.bars.get(name)
    fits = (
        bar.law == query.noise.law == "laplace"
        and query.shape == bar.shape == ()
        and not (bar.by_row or query.noise.by_row)
        and isinstance(query.data, Sum | Aggregate)
        and query.data is release.data
        and query.data.powers == query.noise.powers == bar.powers
        and not (release.booked or release.spent)
    )
    if not fits or (known is None and run.state[name] != FRESH):
        return None
    scale = float(bar.scale)
    if known is None:
        run.take(bar, JOINED)
        known = Event("threshold", query.data, np.zeros(0), (), run.line(), "laplace", joint=True)
        known.queries, known.bar = [], scale
        run.bars[name] = known
        run.events.append(known)
    if known.bar != scale:
        raise run.ends("values are compared with several multiples of one draw", "draw noise for each threshold")
    release.spent = True
    outcome = run.decide()
    above = outcome == (op in ("greater", "greater_equal"))
    known.queries.append((query.data, not above))
    known.data = stack(run, [run.symbol(data) for data, _ in known.queries]).term
    known.scale = np.append(known.scale, abs(float(query.noise.scale)))
    return outcome
