"""A proof as plain values: for every path its releases, what they were added to, and in which cells that is bounded.

`dpverify check` computes the account again from these numbers alone. An expression of a row is a list of operations,
each with the places of its arguments in the list; the domain of a row is covered by intervals of its columns (and of
truth values and labels that cut no column), and every release is charged for the worst pair of them.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dpverify.proof.attaining import describe_release
from dpverify.proof.moves import aggregate_of, certain_range, Cost, Pairs
from dpverify.proof.relative import centre, in_proportion
from dpverify.proof.rows import ColumnFacts, Domain, Node
from dpverify.proof.run import Event, Run
from dpverify.proof.terms import Powers, Rows, Sum, times

MOST_ENTRIES, MOST_PATHS = 20_000, 300  # numbers in the expressions of a path, and paths, that are listed


class _Listing:
    """Expressions of one path as a list of operations."""

    def __init__(self, domain: Domain) -> None:
        self._domain = domain
        self._places: dict[int, int] = {}
        self._kept: list[Node] = []
        self.rows: list[dict[str, Any]] = []

    def place(self, node: Node) -> int:
        """The place of an expression in the list."""
        if id(node) not in self._places:
            arguments = [self.place(each) for each in node.args]
            self.rows.append(
                {
                    "op": node.op,
                    "args": arguments,
                    "shape": list(node.shape),
                    "extra": _extra(node),
                    "norms": [[float(order), float(bound)] for order, bound in sorted(node.norms.items())],
                }
            )
            self._places[id(node)] = len(self.rows) - 1
            self._kept.append(node)
        return self._places[id(node)]


def _extra(node: Node) -> Any:
    """The public parameters of an operation as plain values."""
    if node.op == "reshape":  # the function of one value as the places that it takes its entries from
        (child,) = node.args
        places = np.arange(math.prod(child.shape)).reshape(child.shape)
        return [int(each) for each in np.ravel(node.extra[0](places))]
    if isinstance(node.extra, np.ndarray):
        return np.asarray(node.extra, float).tolist()
    if isinstance(node.extra, tuple):
        return [each if isinstance(each, int | float) else str(each) for each in node.extra]
    return node.extra if node.extra is None or isinstance(node.extra, int | float | str) else str(node.extra)


def write_derivation(
    runs: Sequence[tuple[Run, Cost]],
    columns: Sequence[ColumnFacts],
    relation: str,
    rows: tuple[int, float],
    file: str,
) -> dict[str, Any]:
    """All paths of a proof.

    Parameters
    ----------
    runs : sequence of (Run, Cost)
        Every path and what it costs.
    columns : sequence of ColumnFacts
        What the schema says of a row.
    relation : str
        Which datasets are neighbours.
    rows : tuple of int
        Fewest and most rows that the schema allows.
    file : str
        Name of the program's file.

    Returns
    -------
    dict
        Plain values; `paths` is empty where they would be too many to list.
    """
    paths: list[dict[str, Any]] = []
    for run, cost in runs[: MOST_PATHS + 1]:
        paths.append(write_path(run, cost, file))
        if len(paths) > MOST_PATHS or sum(_size(each) for each in paths[-1]["terms"]) > MOST_ENTRIES:
            paths = []
            break
    return {
        "by": "rules",
        "file": file,
        "relation": relation,
        "rows": list(rows),
        "columns": [
            {
                "name": each.name,
                "kind": each.kind,
                "low": each.low,
                "high": each.high,
                "values": [] if each.kind == "c" else [float(value) for value in each.values],
            }
            for each in columns
        ],
        "paths": paths,
    }


def _size(term: dict[str, Any]) -> int:
    return max(int(math.prod(term["shape"])), len(term["extra"]) if isinstance(term["extra"], list) else 1)


def write_path(run: Run, cost: Cost, file: str) -> dict[str, Any]:
    """One path: its expressions, cells, releases and their losses.

    Parameters
    ----------
    run : Run
        A run that has reached its end.
    cost : Cost
        What it costs.
    file : str
        Name of the program's file.

    Returns
    -------
    dict
        `terms`, `groups` (cells, and the releases that are charged for the same pairs of them), `eps`, `rho`, `mu`.
    """
    listing = _Listing(run.domain)
    events = [_event(run, each, loss, listing, file) for each, loss in zip(run.events, cost.each, strict=True)]
    nodes = [[each.data.node] if isinstance(each.data, Sum | Rows) else [] for each in run.events]
    together = Pairs.of(run, [node for own in nodes for node in own])
    if together.cells.coarse:
        groups = [
            {"cells": _axes(Pairs.of(run, own), listing), "events": [event]}
            for own, event in zip(nodes, events, strict=True)
        ]
    else:
        groups = [{"cells": _axes(together, listing), "events": events}]
    return {
        "rows": run.rows,
        "outcomes": [bool(each) for each in run.taken],
        "terms": listing.rows,
        "groups": groups,
        "eps": cost.eps,
        "rho": cost.rho,
        "mu": cost.mu,
    }


def _axes(pairs: Pairs, listing: _Listing) -> list[dict[str, Any]]:
    """The cells: for each axis the intervals that it is cut into. A cell is one interval of each."""
    found = []
    for name, (low, high) in pairs.cells.pieces.items():
        pieces = dict.fromkeys(zip(low.tolist(), high.tolist(), strict=True))
        axis: dict[str, Any] = {"column": name} if isinstance(name, int) else {"term": listing.place(name)}
        found.append({**axis, "pieces": [list(each) for each in pieces]})
    return found


def _event(run: Run, event: Event, loss: tuple[str, float], listing: _Listing, file: str) -> dict[str, Any]:
    data = aggregate_of(run, Sum(event.data.node, event.data.powers) if isinstance(event.data, Rows) else event.data)
    return {
        "kind": event.kind,
        "law": event.text,
        "line": event.line,
        "scale": np.ravel(event.scale).tolist(),
        "noise_powers": _powers(event.noise_powers),
        "joint": event.joint,
        "queries": [bool(below) for _, below in event.queries],
        "bar": float(event.bar),
        "moves": _moves(run, event, listing),
        "loss": list(loss),
        "moved": float({"gaussian": data.l2, "choice": data.spread}.get(event.kind, data.l1)),
        "data_powers": _powers(data.powers),
        "text": describe_release(run, event, file),
    }


def _moves(run: Run, event: Event, listing: _Listing) -> list[dict[str, Any]]:
    """What is bounded: an expression, or facts of an aggregate; and others that bound the same move."""
    data, powers = event.data, event.powers
    if isinstance(data, Sum | Rows):
        node = centre(run.domain, data.node) if run.replaces else data.node
        first: dict[str, Any] = {"term": listing.place(node), "norms": _norms(data.node)}
    else:
        move = np.ravel(data.move).tolist()
        first = {"move": move, "l1": float(data.l1), "l2": float(data.l2), "spread": float(data.spread)}
    if event.kind == "coin":
        first["chance"] = list(certain_range(run, data))
    found = [{**first, "powers": _powers(powers)}]
    for unknown, power in powers:
        scaled = in_proportion(run.domain, data, unknown) if power == -1 else None
        if scaled is not None:
            other = times(powers, ((unknown, 1),))
            node = centre(run.domain, scaled.node) if run.replaces else scaled.node
            found.append({"term": listing.place(node), "norms": _norms(scaled.node), "powers": _powers(other)})
    return found


def _norms(node: Node) -> list[list[float]]:
    return [[float(order), float(bound)] for order, bound in sorted(node.norms.items())]


def _powers(powers: Powers) -> list[list[Any]]:
    return [[unknown.name, unknown.low, unknown.high, power] for unknown, power in powers]


# ----------------------------------------------------------------------------------------------------------------------
# A derivation in words

SIGNS = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "and": "&", "or": "|", "modulo": "%"}
LONGEST = 90  # characters of a formula


def explain(derivation: dict[str, Any]) -> list[str]:
    """The lines of a proof: for every path its releases, and what each of them adds noise to.

    Parameters
    ----------
    derivation : dict
        `Proof.derivation`.

    Returns
    -------
    list of str
        Indented lines; none for a proof that has ended.
    """
    if derivation.get("by") != "rules":
        return []
    columns = [each["name"] for each in derivation["columns"]]
    found: list[str] = []
    paths = derivation["paths"]
    for number, path in enumerate(paths[:MOST_SHOWN], 1):
        rows = "" if path["rows"] is None else f", {path['rows']} rows"
        branches = "".join(", yes" if each else ", no" for each in path["outcomes"])
        found.append(f"path {number} of {len(paths)}{rows}{branches}: eps {path['eps']:.6g}, rho {path['rho']:.6g}")
        for group in path["groups"]:
            for event in group["events"]:
                found.append(f"  {event['text']}: costs {event['loss'][1]:.6g}")
                found += [f"    {line}" for line in _explain_moves(event, path["terms"], columns)]
            cells = math.prod(len(axis["pieces"]) for axis in group["cells"])
            found.append(
                f"  the worst pair of {cells} {'cell' if cells == 1 else 'cells'} of a row's values is charged"
            )
    if len(paths) > MOST_SHOWN:
        found.append(f"and {len(paths) - MOST_SHOWN} more paths")
    return found


MOST_SHOWN = 8


def _explain_moves(event: dict[str, Any], terms: list[dict[str, Any]], columns: list[str]) -> list[str]:
    first = event["moves"][0]
    if "term" not in first:
        return [f"the value is no sum over rows; it moves by at most {event['moved']:.6g}"]
    formula = _formula(terms, first["term"], columns)
    if len(formula) > LONGEST:
        formula = f"{formula[:LONGEST]}..."
    return [f"the sum over the rows of {formula}"]


def _formula(terms: list[dict[str, Any]], at: int, columns: list[str]) -> str:
    """An operation with its arguments, as one would write it."""
    term = terms[at]
    op, extra = term["op"], term["extra"]
    parts = [_formula(terms, each, columns) for each in term["args"]]
    if op == "column":
        return str(columns[extra])
    if op == "constant":
        return f"{extra:.6g}" if isinstance(extra, int | float) else "[...]"
    if op in ("number", "reshape") and len(parts) == 1:
        return parts[0]
    if op in ("public", "label", "public_axis"):
        return "a released value" if op == "public" else f"{op.replace('_', ' ')}"
    if op in SIGNS or op == "compare":
        return f"({parts[0]} {SIGNS.get(op, extra)} {parts[1]})"
    return f"{op}({', '.join(parts)})"
