"""`replay`: the noise calls of a library on both datasets of a pair, recorded, played back and compared.

KEPT       on every pair tried the calls cost at most the claim and nothing is unprotected: an upper bound for these
           pairs, given that each primitive keeps its own promise; no proof for all pairs
OVER       a rule is broken on a pair: the library's argument fails there. No refutation of the claim: what is released
           may hide the excess. Trials on that pair decide (`confirm`)
UNDECIDED  a call that the rules cannot decide
"""

import json
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from dpverify.base import require, search_path
from dpverify.base.text import arguments as read_arguments
from dpverify.base.text import clean
from dpverify.claims.claim import Claim
from dpverify.claims.neighbours import Relation
from dpverify.errors import RunError, UsageError
from dpverify.wild import pairs
from dpverify.wild.datasets import Candidate
from dpverify.wild.one_line import data_schema
from dpverify.wild.record import Found, PairResult, Row, WildRecord
from dpverify.wild.replay_calls import recorded
from dpverify.wild.replay_calls.player import Player, Replayed, Say
from dpverify.wild.schema import as_schema, fit_claim, Schema
from dpverify.wild.trying import relations
from dpverify.wild.worker import calling, serving

# ----------------------------------------------------------------------------------------------------------------------
# What a command line asks for, as plain values; imports no command line, so that other interpreters can answer it.


def replayed(
    *, target: str, claim: str, data: str, arg: list[str], out: list[str], public: list[str], **settings: Any
) -> dict[str, Any]:
    """Lines, document and exit code of a replay in this process."""
    from dpverify.claims.curves import parse_claim
    from dpverify.wild.record import lines

    search_path.add(str(Path.cwd()))
    record = replay(
        target,
        claim=parse_claim(claim),
        schema=data_schema(data),
        arguments=read_arguments(arg),
        out=tuple(out),
        public=tuple(public),
        **settings,
    )
    return {"lines": lines(record), "document": record.to_dict(), "code": record.exit_code}


# ----------------------------------------------------------------------------------------------------------------------


SEED = 20260
PAIRS = 40


class ReplayRecord(WildRecord):
    """Calls on many pairs: KEPT, OVER or UNDECIDED; `ledger` holds them as events, on the worst pair."""


def replay(
    target: Any,
    *,
    claim: Claim,
    schema: Schema | dict[str, Any] | str,
    instrument: str = "auto",
    count: int = PAIRS,
    call: str = "auto",
    arguments: dict[str, Any] | None = None,
    encode: Any = None,
    relation: str | None = None,
    public: tuple[str, ...] = (),
    out: tuple[str, ...] = (),
    confirm: int = 0,
    seed: int = SEED,
    given: Iterable[Candidate] | None = None,
    say: Say | None = None,
) -> ReplayRecord:
    """Replays the calls of a target of this process on `count` ordinary random pairs of each relation.

    Parameters
    ----------
    instrument : str
        auto, or the library that must be among those at work: diffprivlib, opendp, opacus, pydp, numpy.
    confirm : int
        Trials for each distinct finding, on the pair that costs most: REFUTED where the claim falls.
    given
        Pairs to use in place of random ones.

    Raises UsageError for a request that is not allowed, TargetError for a target that fails.
    """
    require.integer(at_least=1, count=count)
    require.integer(at_least=0, confirm=confirm, seed=seed)
    started = time.monotonic()
    found = as_schema(schema)
    caller = _caller(target, call, arguments, encode)
    task = Player(
        caller, fit_claim(claim, found), found, seed, tuple(public), tuple(out), instrument, say or (lambda line: None)
    )
    listed = None if given is None else list(given)
    groups = {each: task.candidates(each, count, listed) for each in relations(found, relation)}
    groups = {each: group for each, group in groups.items() if group}
    if not groups:
        raise UsageError(f"{found.source or 'schema'}: {pairs.NONE}")
    task.check(next(iter(groups.values()))[0])
    results = {each: [task.replayed(one) for one in group] for each, group in groups.items()}
    task.objection()
    rows = tuple(_row(each, group) for each, group in results.items())
    verdict, standing, notes = _verdict(rows, relation)
    every = [one for group in results.values() for one in group]
    confirmed = task.confirmed(every, confirm) if confirm else []
    if any(each.verdict == "REFUTED" for each in confirmed):
        verdict = "REFUTED"
    listed_pairs = [_result(each, found) for each in every]
    return ReplayRecord(
        command="replay",
        target=caller.name,
        claim=str(claim),
        relation=standing,
        verdict=verdict,
        versions=serving.versions(),
        predicted_seconds=0.0,
        seconds=time.monotonic() - started,
        seed=seed,
        notes=(*notes, *task.notes(every, verdict)),
        matrix=rows,
        pairs=(*confirmed, *listed_pairs),
        findings=_distinct(every),
        ledger=_ledger(every, claim),
    )


def _caller(target: Any, call: str, arguments: Any, encode: Any) -> Any:
    try:
        name = target if isinstance(target, str) else ""
        return calling.Caller(calling.load(target) if name else target, call, arguments, encode, name)
    except calling.Refused as error:
        raise UsageError(clean(error)) from None


def _row(relation: Relation, group: list[Replayed]) -> Row:
    verdicts = [each.verdict for each in group]
    word = next(each for each in ("OVER", "UNDECIDED", "KEPT") if each in verdicts)
    largest = max(math.inf if each.eps is None else each.eps for each in group)
    return Row(group[0].candidate.said, word, len(group), verdicts.count("OVER"), 0, 0.0, largest)


def _verdict(rows: tuple[Row, ...], relation: str | None) -> tuple[str, str, list[str]]:
    """As in trials: a claim that names no relation stands if it stands under one."""
    words = [row.verdict for row in rows]
    names = ", ".join(row.relation for row in rows)
    if relation is not None or len(rows) == 1 or "OVER" not in words or all(each == "OVER" for each in words):
        return next(each for each in ("OVER", "UNDECIDED", "KEPT") if each in words), names, []
    standing = [row for row in rows if row.verdict != "OVER"]
    fallen = ", ".join(row.relation for row in rows if row.verdict == "OVER")
    note = f"the claim names no relation; under {fallen} it is OVER; --relation judges one"
    return (
        next(each for each in ("UNDECIDED", "KEPT") if each in [row.verdict for row in standing]),
        ", ".join(row.relation for row in standing),
        [note],
    )


def _result(each: Replayed, schema: Schema) -> PairResult:
    return PairResult(
        name=each.candidate.name, relation=each.candidate.said, domain="in", verdict=each.verdict, eps_upper=each.eps
    )


def _distinct(every: list[Replayed]) -> tuple[Found, ...]:
    """One finding for each rule, call and place: the one that moved most."""
    found: dict[tuple[str, str, str], Found] = {}
    for each in every:
        for one in each.findings:
            key = one.rule, one.call, one.where
            if key not in found or _size(one) > _size(found[key]):
                found[key] = one
    return tuple(found.values())


def _size(one: Found) -> float:
    return one.moved if isinstance(one.moved, int | float) else 0.0


def _ledger(every: list[Replayed], claim: Claim) -> Any:
    """Events of the pair that costs most; a filter where they depend on what was released."""
    known = [each for each in every if each.eps is not None and math.isfinite(each.eps) and each.costs]
    if not known:
        return None
    worst = max(known, key=lambda each: float(each.eps or 0.0))
    return recorded.total(worst.costs, replace(claim, relation=worst.candidate.relation)).ledger


# ----------------------------------------------------------------------------------------------------------------------
# A replay in another interpreter, which finds dpverify after everything of its own.


INSIDE = """
import json, sys
sys.path[:0] = [""]
sys.path.append(sys.argv[1])
from dpverify.wild.replaying import replayed
from dpverify.errors import DpverifyError
asked = json.loads(sys.stdin.read())
try:
    answer = replayed(**asked)
except DpverifyError as error:
    answer = {"error": str(error), "usage": error.exit_code == 2}
open(sys.argv[2], "w").write(json.dumps(answer))
"""


def replayed_elsewhere(*, python: str, asked: dict[str, Any], timeout: float, cwd: str | None = None) -> dict[str, Any]:
    """Lines, document and exit code of `replayed` there; UsageError or RunError where there is none."""
    home = str(Path(__file__).parents[2])
    with tempfile.TemporaryDirectory(prefix="dpverify-") as folder:
        file = Path(folder, "answer.json")
        try:
            done = subprocess.run(
                [python, "-c", INSIDE, home, str(file)],
                input=json.dumps(asked),
                text=True,
                cwd=cwd,
                stdout=sys.stderr,
                stderr=subprocess.PIPE,
                timeout=timeout,
                check=False,
            )
        except OSError as error:
            raise UsageError(f"{python}: cannot be started ({error.strerror or error})") from None
        except subprocess.TimeoutExpired:
            raise RunError(f"{python}: no answer within {timeout:g} s") from None
        if not file.exists():
            last = " ".join((done.stderr or "").strip().splitlines()[-1:])
            raise RunError(f"{python}: ended with exit code {done.returncode} ({clean(last)})")
        found: dict[str, Any] = json.loads(file.read_text())
    if "error" in found:
        raise (UsageError if found["usage"] else RunError)(found["error"])
    return found
