"""A release as a sentence, and the pair of neighbours for which its bound is meant to be attained."""

import itertools
import math
from typing import Any

import numpy as np

from dpverify.claims.claim import Claim, PureDP
from dpverify.proof.moves import aggregate_of, Pairs
from dpverify.proof.rows import Cells, cells_of
from dpverify.proof.run import Event, Run
from dpverify.proof.terms import Powers, Rows, Sum
from dpverify.wild.schema import Schema

MOST_CORNERS = 64  # of a cell that are tried


def describe_release(run: Run, event: Event, file: str) -> str:
    """A release as a sentence: what noise is added where, and how far a neighbour moves what it is added to."""
    data = Sum(event.data.node, event.data.powers) if isinstance(event.data, Rows) else event.data
    found = aggregate_of(run, data)
    if event.kind == "threshold":
        return f"{len(event.queries)} noisy values are compared with a noisy threshold at {file}:{event.line}"
    one = "one row moves by at most" if run.replaces else "one row more or less moves by at most"
    if event.kind == "gaussian":
        move, norm = found.l2, " in the Euclidean norm"
    elif event.kind == "choice":
        move, norm = found.spread, " against each other"
    else:
        move, norm = found.l1, " in total"
    if found.move.size == 1:
        norm = ""
    moved = multiple_text(move, found.powers)
    several = f"{found.move.size} values" if found.move.size > 1 else "a value"
    if event.kind == "coin":
        return f"a coin at {file}:{event.line}, whose chance {one} {moved}"
    if event.text == "softmax":
        return f"a choice with chances exp(score) at {file}:{event.line}, whose scores {one} {moved}{norm}"
    if not np.size(event.scale):
        return f"{event.text} noise at {file}:{event.line} is added to nothing"
    scales = sorted({float(each) for each in np.ravel(event.scale)})
    scale = multiple_text(scales[0], event.noise_powers) + (" and more" if len(scales) > 1 else "")
    name = "normal" if event.kind == "gaussian" else event.text
    what = "decides between" if event.kind == "choice" else "is added to"
    return f"{name}({scale}) at {file}:{event.line} {what} {several} that {one} {moved}{norm}"


def propose_scale(run: Run, claim: Claim, file: str) -> str:
    """The scale with which the only release would meet a pure claim; empty where there are several, or no noise."""
    if (
        not isinstance(claim, PureDP)
        or len(run.events) != 1
        or run.events[0].kind not in ("laplace", "discrete laplace")
    ):
        return ""
    (event,) = run.events
    if np.unique(event.scale).size != 1:
        return ""
    data = Sum(event.data.node, event.data.powers) if isinstance(event.data, Rows) else event.data
    found = aggregate_of(run, data)
    now = multiple_text(float(np.ravel(event.scale)[0]), event.noise_powers)
    if not 0 < found.l1 < math.inf:
        return ""
    needed = multiple_text(found.l1 / claim.eps, found.powers)
    return f"{event.text}({needed}) instead of {event.text}({now}) at {file}:{event.line} would be {claim}"


def multiple_text(number: float, powers: Powers) -> str:
    """A number times powers of unknowns, e.g. 100/n."""
    above = [unknown.name if power == 1 else f"{unknown.name}^{power}" for unknown, power in powers if power > 0]
    below = [unknown.name if power == -1 else f"{unknown.name}^{-power}" for unknown, power in powers if power < 0]
    text = f"{number:.6g}"
    if above:
        text = "*".join(([] if number == 1 else [text]) + above)
    return text + "".join(f"/{each}" for each in below)


def attaining_pair(run: Run, schema: Schema) -> Any:
    """Two datasets that differ by the rows at which the events cost most; None where the schema has other shapes."""
    nodes = [each.data.node for each in run.events if isinstance(each.data, Sum | Rows)]
    if not nodes or schema.unit is not None or any(each.missing or each.names for each in schema.columns):
        return None
    cells = cells_of(run.domain, nodes)
    corners = _corners(run, cells)
    if not corners:
        return None
    points = Cells(run.domain, len(corners), _points(cells, corners))
    pairs = Pairs(points, run.replaces)
    losses = np.zeros(pairs.count)
    for event in run.events:
        if isinstance(event.data, Sum | Rows):
            least, most = pairs.moves(event.data.node)
            sizes = np.maximum(np.abs(least), np.abs(most)) / np.broadcast_to(event.scale, least.shape[1:])
            losses += sizes.reshape(len(sizes), -1).sum(axis=1)
    at = int(np.argmax(losses))
    rows = [_record(run, schema, corner) for corner in corners]
    base = rows[0]
    most_rows = min(schema.rows[1], schema.rows[0] + 1) if not run.replaces else schema.rows[0]
    count = max(1, run.rows if run.rows is not None else most_rows)
    if run.replaces:
        first, second = divmod(at, len(corners))
        return (rows[first], *[base] * (count - 1)), (rows[second], *[base] * (count - 1))
    chosen = rows[at % len(corners)]
    return (chosen, *[base] * (count - 1)), (base,) * (count - 1)


def _corners(run: Run, cells: Cells) -> list[tuple[float, ...]]:
    """Rows at the ends of the cells' intervals, at most a few of each cell."""
    columns = range(len(run.domain.columns))
    found: dict[tuple[float, ...], None] = {}
    for cell in range(cells.count):
        ends = []
        for column in columns:
            facts = run.domain.columns[column]
            low, high = cells.pieces.get(column, (np.full(cells.count, facts.low), np.full(cells.count, facts.high)))
            ends.append(sorted({float(low[cell]), float(high[cell])}))
        if math.prod(len(each) for each in ends) > MOST_CORNERS:
            for place in (0, -1):
                found[tuple(each[place] for each in ends)] = None
        else:
            for corner in itertools.product(*ends):
                found[corner] = None
        if len(found) > 4 * MOST_CORNERS:
            break
    return list(found)


def _points(cells: Cells, corners: list[tuple[float, ...]]) -> dict[Any, Any]:
    table = np.array(corners)
    return {
        name: (table[:, name], table[:, name]) if isinstance(name, int) else (np.zeros(len(table)), np.ones(len(table)))
        for name in cells.pieces
    }


def _record(run: Run, schema: Schema, corner: tuple[float, ...]) -> tuple[Any, ...]:
    """A row of the schema from numbers of its columns."""
    found = []
    for column, facts, number in zip(schema.columns, run.domain.columns, corner, strict=True):
        if facts.kind == "c":
            found.append(facts.values[int(number)])
        elif facts.values:
            found.append(next(each for each in facts.values if float(each) == number))
        else:
            found.append(column.number(number))
    return tuple(found)
