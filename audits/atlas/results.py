"""Last results of a folder's entries: one JSON file each in `results/`, which the page shows; no path is in them."""

import hashlib
import json
import math
from pathlib import Path
from typing import Any

from audits.atlas.entry import Entry
from dpverify.errors import UsageError
from dpverify.report.json_file import strict


def digest(entry: Entry, folder: Path) -> str:
    """Of what runs of a library are made from, its calls and schemas too: results of another form of it are old.

    Numbers that need no library are computed again by every test.
    """
    text = [repr((each.by, each.call, each.run, each.arguments, each.form, each.bounds)) for each in entry.evidence]
    runs = [each.run for each in entry.evidence if each.run is not None]
    files = [folder / place for run in runs for place in (run.target.partition(":")[0], run.schema)]
    text += [file.read_text(encoding="utf-8") for file in files if file.is_file()]
    return hashlib.sha256("\n".join(text).encode()).hexdigest()[:16]


def path(entry: Entry, folder: Path) -> Path:
    """Where an entry's results lie."""
    return folder / "results" / f"{entry.id}.json"


def read_results(entry: Entry, folder: Path) -> dict[str, Any] | None:
    """Its last results, with `current` where they are of its evidence as it is; None where there are none."""
    file = path(entry, folder)
    if not file.exists():
        return None
    try:
        found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        fits = len(found["evidence"]) == len(entry.evidence)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"{file}: is no file of results ({error}); `python -m audits.atlas run --keep` writes one"
        ) from None
    return {**found, "current": fits and found.get("digest") == digest(entry, folder)}


def keep(entry: Entry, folder: Path, fresh: list[Any], by: str) -> None:
    """Writes them: where one kind of evidence was run, what is known of the others stays if it is still of them."""
    if len(fresh) < len(entry.evidence):
        old = read_results(entry, folder) or {"current": False}
        known = old["evidence"] if old["current"] else [None] * len(entry.evidence)
        fresh = [fresh.pop(0) if each.by == by else was for each, was in zip(entry.evidence, known, strict=True)]
    path(entry, folder).parent.mkdir(exist_ok=True)
    path(entry, folder).write_text(strict({"digest": digest(entry, folder), "evidence": fresh}), encoding="utf-8")


def told(kept: dict[str, Any]) -> list[str]:
    """What a run found, in lines: each relation, the best pair, its event, what broke which rule."""
    lines = [_relation(name, row) for name, row in kept.get("relations", {}).items()]
    pair = kept.get("pair")
    if pair:
        lines.append(f"pair: {pair['name']}; eps >= {pair['eps_lower']:.3g} after {pair['trials']:,} trials")
    if "witness" in kept:
        lines.append(kept["witness"])
    return lines + list(kept.get("findings", ()))


def _relation(name: str, row: dict[str, Any]) -> str:
    said = f"{name}: {row['verdict'].replace('_', ' ')}; {row['refuted']} of {row['pairs']} pairs"
    if "eps_upper" in row:
        cost = float(row["eps_upper"])
        return f"{said} OVER; " + (
            f"the costliest pair's calls add up to eps {cost:.4g}"
            if math.isfinite(cost)
            else "no finite cost on some pair"
        )
    said += f" refuted, {row['trials']:,} trials"
    if row["refuted"]:
        return f"{said}; eps >= {row['eps_lower']:.3g}"
    caught = float(row["detectable"])
    return f"{said}; at best eps {caught:.3g} would have been caught" if math.isfinite(caught) else said
