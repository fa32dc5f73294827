"""Finished curves and cells on disk: a file each, named by a hash of its settings; written whole or not at all."""

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from algorithms.experiments.curves import Curve, CurveSettings, draw_curve, draw_online
from dpverify.report import files


def path_of(folder: Path, settings: CurveSettings) -> Path:
    """Where the curve is kept."""
    return folder / "curves" / f"{settings.key}.npz"


def load_curve(folder: Path, settings: CurveSettings) -> Curve | None:
    """The curve, or None when it is not finished."""
    path = path_of(folder, settings)
    if not path.exists():
        return None
    with np.load(path) as kept:
        return Curve(*(kept[name] for name in Curve._fields))


def finish(folder: Path, settings: CurveSettings) -> Curve:
    """The curve from disk, or drawn now and kept."""
    known = load_curve(folder, settings)
    if known is not None:
        return known
    return _keep(folder, settings, draw_curve(settings))


def finish_online(folder: Path, together: Sequence[CurveSettings]) -> None:
    """Online curves drawn side by side and kept; which others are drawn with it does not change a curve."""
    if together:
        for settings, curve in zip(together, draw_online(together), strict=True):
            _keep(folder, settings, curve)


def _keep(folder: Path, settings: CurveSettings, curve: Curve) -> Curve:
    path = path_of(folder, settings)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part.npz")
    np.savez_compressed(part, **curve._asdict())
    os.replace(part, path)
    return curve


def finish_cell(
    folder: Path, work: Callable[[Any], dict[str, Any]], settings: Mapping[str, Any], resume: bool, cell: Any
) -> dict[str, Any]:
    """What `work` finds of a cell (agent, eps): kept with `settings`, or with `resume` what was kept under the same."""
    agent, eps = cell
    key = {"kind": work.__name__, "agent": agent.name, "eps": eps, **settings}
    path = folder / "cells" / f"{_digest(key)[:24]}.json"
    if resume:
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):  # not there, or not as it was written
            kept = json.loads(path.read_text())
            if kept["settings"] == key and kept["digest"] == _digest(kept["found"]):
                return kept["found"]  # type: ignore[no-any-return]
    found = work(cell)
    path.parent.mkdir(parents=True, exist_ok=True)
    files.replace(path, json.dumps({"settings": key, "digest": _digest(found), "found": found}, indent=1) + "\n")
    return found


def write_numbers(path: Path, content: Mapping[str, Any]) -> None:
    """The file of an experiment's numbers, JSON: a record a line, so that two files are easily compared.

    With a digest of all else: numbers that were changed by hand do not have it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    files.replace(path, _lines({**content, "digest": digest_of_numbers(content)}) + "\n")


def digest_of_numbers(content: Mapping[str, Any]) -> str:
    """SHA-256 of what a file of numbers holds, but for the digest itself."""
    plain = {key: value for key, value in content.items() if key != "digest"}
    return _digest(json.loads(json.dumps(plain)))


def _lines(value: Any, depth: int = 0) -> str:
    """Mappings of mappings and lists of mappings are broken into lines, everything else is one."""
    if (
        depth < 3
        and isinstance(value, Mapping)
        and (not depth or any(isinstance(each, Mapping) for each in value.values()))
    ):
        inner = (f"{json.dumps(str(key))}: {_lines(each, depth + 1)}" for key, each in value.items())
        return "{\n" + ",\n".join(inner) + "\n}"
    if depth == 1 and isinstance(value, list) and value and isinstance(value[0], Mapping):
        return "[\n" + ",\n".join(map(json.dumps, value)) + "\n]"
    return json.dumps(value)


def _digest(plain: Any) -> str:
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()
