"""Every leaf of a certificate is edited, and its digest computed again: refused, or listed as taken from the file."""

import copy
import hashlib
import json
import math
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from dpverify import ApproxDP, audit, certify, check, Pair, PureDP
from dpverify.auditing.certificate import digest_of
from dpverify.base.seeding import derive
from dpverify.cli import main
from dpverify.ledger import gaussian, laplace
from dpverify.report import json_file
from dpverify.report.html_page import certificate_json
from dpverify.report.rebuilding import differences, named, TAKEN, taken_from_file
from dpverify.suite.result import SuiteResult

DELETED = object()
LISTED = 134  # paths in the lists of what is taken from a file, of all schemas: see to it that they become fewer
MOVED = Pair(0.0, 1.0, name="moved")
SOURCE = """
import numpy as np

rng = np.random.default_rng()


def mean(values):
    return np.clip(values, 0.0, 100.0).mean() + rng.laplace(scale=100.0 / len(values))


def loud(values):
    return float(np.rint(np.clip(values, 0.0, 100.0).mean() + 0.5 * rng.standard_normal()))
"""


class Gaussian:
    ledger = gaussian(sigma=1.0, sensitivity=1.0)

    def release(self, data, *, rng, size):
        return data + rng.normal(size=size)


class Kept:
    ledger = laplace(scale=2.0, sensitivity=1.0)

    def release(self, data, *, rng, size):
        return data + rng.laplace(scale=2.0, size=size)

    def exact(self, data):
        return data

    def noise_bound(self, beta):
        return 2.0 * math.log(1 / beta)


def coin(data, *, rng, size):
    return (rng.random(size) < 0.75) == data


def of_command(name: str, *words: str) -> Any:
    """What `certify --data` writes about a function of SOURCE."""
    Path("own.py").write_text(SOURCE, encoding="utf-8")
    main.run(
        ["certify", f"own.py:{name}", "--claim", "pure:1", "--relation", "replace", "-q", "--json", "c.json", *words]
    )
    return json.loads(Path("c.json").read_text(encoding="utf-8"))


@cache
def written(name: str) -> Any:
    """A certificate, as a stranger reads it."""
    if name == "proved from the code":
        return of_command("mean", "--data", "vector: real 0..100, rows 5..50")
    if name == "trials of pairs":
        return of_command("loud", "--data", "vector: real 0..100, rows 20..22", "--trials", "100", "--no-tape")
    if name == "suite":
        records = [
            replace(
                audit(coin, claim=PureDP(eps), pair=Pair(False, True), trials=500, seed=own, significance=0.025),
                subject=subject,
            )
            for subject, eps, own in (("coin", 0.9, derive(5, "coin#0")), ("other", 2.0, derive(5, "other#0")))
        ]
        result = SuiteResult.of(
            records,
            seed=5,
            family_wise_error=0.05,
            asked=("coin", "other"),
        )
        return json.loads(json_file.render(result))
    target, claim, pair, options = {
        "ledger and tape": (Gaussian(), ApproxDP(4.5, 1e-5), MOVED, {"accept": "ledger"}),
        "ledger alone": (Kept(), PureDP(0.5), MOVED, {"tape": False, "accept": "ledger"}),
        "refuted by trials": (coin, PureDP(0.9), Pair(False, True), {"tape": False}),
        "open": (coin, PureDP(1.2), Pair(False, True), {"tape": False}),
    }[name]
    made = certify(target, claim=claim, pairs=pair, trials=1_000, seed=3, name="own", **options)
    return json.loads(certificate_json(made))


NAMES = (
    *(
        "proved from the code",
        "trials of pairs",
        "ledger and tape",
        "ledger alone",
        "refuted by trials",
        "open",
        "suite",
    ),
)


@pytest.fixture(scope="module", autouse=True)
def _own_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("certificates"))
        yield


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Every value inside; of a list that is no part of a proof the first two items."""
    for step, each in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        if not (isinstance(step, int) and step > 1 and path[0] != "proof"):
            yield (*path, step), each
            yield from places(each, (*path, step))


def edits(value: Any) -> list[Any]:
    """Another number, another word, nothing in it, and no such name."""
    if isinstance(value, bool):
        return [not value, DELETED]
    if isinstance(value, int | float):
        return [
            value + 1 if isinstance(value, int) else 1.07 * value + 0.003 if math.isfinite(value) else 5.0,
            0,
            DELETED,
        ]
    if isinstance(value, str):
        return [value + "x", "", DELETED]
    return [1, "x", DELETED] if value is None else [type(value)(), DELETED]


def edited(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    """The document with one change and a digest that is right again."""
    found = copy.deepcopy(document)
    inside = found
    for step in path[:-1]:
        inside = inside[step]
    if value is DELETED:
        del inside[path[-1]]
    else:
        inside[path[-1]] = value
    if "tried" in document["schema"]:
        text = json.dumps(check.lasting(found), sort_keys=True, separators=(",", ":"))
        found["digest"] = f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"
    elif "certificate" in document["schema"] and isinstance(found.get("records"), list):
        found["digest"] = digest_of(found)
    return found


def is_listed(path: tuple[Any, ...], document: Any) -> bool:
    """Whether the checker says of this path, or of what it is a part of, that it is taken from the file."""
    name, lines = named(path), taken_from_file(document)
    return any(name == each or name.startswith((f"{each}.", f"{each}[")) for each in lines)


def is_told(document: Any) -> bool:
    """Whether the checker says that something was left out: an outcome of a suite, or the paths of a proof."""
    left = [line for lines in check.check(document)[1].values() for line in lines]
    return any(
        "which was asked" in line or "more paths than are listed" in line
        for line in [*taken_from_file(document), *left]
    )


@pytest.mark.parametrize("name", NAMES)
def test_every_leaf_is_held_or_listed(name: str) -> None:
    document = written(name)
    assert check.check(document)[0] == []
    assert differences(document) == []
    silent, refused = [], 0
    for path, value in places(document):
        for edit in edits(value) if path != ("digest",) else ():
            if edit is not DELETED and edit == value and isinstance(edit, bool) == isinstance(value, bool):
                continue
            changed = edited(document, path, edit)
            if "schema" not in changed or changed["schema"] != document["schema"]:
                assert check.check(changed)[0]
            elif differences(changed) or check.check(changed)[0]:
                refused += 1
            elif not is_listed(path, document) and not is_told(changed):
                silent.append((path, edit))
    assert not silent, [(named(path), edit) for path, edit in silent]
    assert refused > 100


def test_the_list_does_not_grow() -> None:
    assert sum(map(len, TAKEN.values())) <= LISTED


@pytest.mark.parametrize("name", NAMES)
def test_it_takes_no_time(name: str) -> None:
    document = written(name)
    differences(document)
    started = time.process_time()
    differences(document)
    assert time.process_time() - started < 0.5


def test_words_are_refused_on_the_screen(capsys: pytest.CaptureFixture[str]) -> None:
    document = written("ledger and tape")
    for path, edit, code, said in (
        (("subject",), "own", 0, "NOT CHECKED taken from the file: command, notes, environment, identity"),
        (("statement", "guarantee", "claim"), "approx:0.001,1e-5", 1, "REJECTED words: statement.guarantee.claim"),
        (("not_proved",), [], 1, "REJECTED words: not_proved.0 is missing"),
        (("records", 0, "tape", "draws", 0, "scale"), 50.0, 1, "statement.implementation.draws.0.scale"),
        (("new",), 1, 1, "REJECTED words: new does not follow"),
    ):
        Path("c.json").write_text(json_file.strict(edited(document, path, edit)), encoding="utf-8")
        assert main.run(["check", "c.json"]) == code
        assert said in capsys.readouterr().out
