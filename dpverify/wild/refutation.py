"""For a refuted pair: a smaller one that falls as well, and an event in terms of fields, stated on fresh releases."""

import math
import re
import subprocess
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dpverify.base.text import clean
from dpverify.claims.claim import Claim
from dpverify.errors import RunError
from dpverify.evidence.attack import Attack
from dpverify.trials.outcomes import Outcomes
from dpverify.wild import datasets
from dpverify.wild.datasets import Candidate, gap, Record, Records
from dpverify.wild.local import ReleaseSource
from dpverify.wild.pair_audit import Budget, Contender, FEWEST
from dpverify.wild.pairs import complete
from dpverify.wild.record import Array, Condition, FieldEvent, FieldWitness, Frequency, Marks, search_event, stated
from dpverify.wild.schema import Schema
from dpverify.wild.worker.encoding import ROOT

# ----------------------------------------------------------------------------------------------------------------------
# A smaller pair that refutes the claim as well: fewer common rows, rounder numbers.


ROUNDS = 12  # changes that are tried


def shrunk(schema: Schema, candidate: Candidate, refutes: Callable[[Candidate], bool]) -> Candidate:
    """The smallest pair found; `refutes` is asked at most `ROUNDS` times, and says no once there is no time left."""
    asked = 0
    going = True
    while going and asked < ROUNDS:
        going = False
        for smaller in _smaller(schema, candidate):
            if asked >= ROUNDS:
                break
            if not complete(schema, smaller):
                continue
            asked += 1
            if refutes(smaller):
                candidate, going = smaller, True
                break
    return candidate


def _smaller(schema: Schema, candidate: Candidate) -> Iterator[Candidate]:
    """Simpler pairs, the boldest first, equal ones left out."""
    first, second = candidate.first, candidate.second
    own, other = gap(first, second, schema.unit), gap(second, first, schema.unit)
    common = [at for at in range(len(first)) if at not in own]
    fewest = max(schema.rows[0], 0)
    seen = {(repr(first), repr(second))}
    for part in (1.0, 0.5, 0.25):
        drop = set(common[: max(0, min(int(len(common) * part), min(len(first), len(second)) - max(1, fewest)))])
        if drop:
            # the same rows in both: common rows keep their order, so the k-th of one is the k-th of the other
            kept = [at for at in range(len(first)) if at not in drop]
            there = [at for at in range(len(second)) if at not in other]
            gone = {there[common.index(at)] for at in drop}
            yield from _new(
                candidate,
                tuple(first[at] for at in kept),
                tuple(second[at] for at in range(len(second)) if at not in gone),
                seen,
            )
    if common:
        model = tuple(
            column.extremes()[0] if column.numeric else cell
            for column, cell in zip(schema.columns, first[common[0]], strict=True)
        )
        yield from _new(candidate, _flat(schema, first, own, model), _flat(schema, second, other, model), seen)
    yield from _new(candidate, _rounded(schema, first), _rounded(schema, second), seen)


def _new(candidate: Candidate, first: Records, second: Records, seen: set[tuple[str, str]]) -> Iterator[Candidate]:
    key = repr(first), repr(second)
    if key in seen:
        return
    seen.add(key)
    try:
        yield candidate.swapped(first, second)
    except ValueError:  # rounding has made them equal
        return


def _flat(schema: Schema, records: Records, keep: set[int], model: Record) -> Records:
    """Common rows with all their numbers at the low end; ids stay."""
    numeric = [column.numeric for column in schema.columns]
    return tuple(
        record
        if at in keep
        else tuple(low if is_number else cell for low, cell, is_number in zip(model, record, numeric, strict=True))
        for at, record in enumerate(records)
    )


def _rounded(schema: Schema, records: Records) -> Records:
    def cell(at: int, value: object) -> object:
        column = schema.columns[at]
        if column.kind not in ("real", "weight") or not isinstance(value, float) or not math.isfinite(value):
            return value
        near = float(round(value)) if abs(value) < 1e15 else value
        return near if column.low <= near <= column.high else value

    return tuple(tuple(cell(at, value) for at, value in enumerate(record)) for record in records)


# ----------------------------------------------------------------------------------------------------------------------


AGAIN = 300  # trials that must refute a smaller pair
LEVEL = 0.01  # of such a try: it decides what is shown, not what is true
SHRINK_SHARE, STATE_SHARE = 0.5, 0.4  # of the time of a witness
STATED = (100, 2000)  # fresh releases on the dataset where the event is likely: fewest, most
RARE = 3  # times as many where it is not: they say how large eps is
SPENT = 8  # releases for each of those: both datasets, choosing as well, on two pairs
PARTS = 8  # the datasets take turns, so that a drift shows on both


@dataclass(frozen=True)
class ScoreEvent:
    """The learned score is beyond a cut: not in words of fields, but it may say more (a draw that columns share)."""

    attack: Attack
    cut: float
    first_more: bool

    def holds(self, rows: Array) -> Marks:
        """For each release."""
        signed = self.attack.signed(Outcomes(rows))
        return np.asarray(signed >= self.cut if self.first_more else signed <= -self.cut)

    def __str__(self) -> str:
        return f"learned score {'>=' if self.first_more else '<='} {self.cut if self.first_more else -self.cut:.6g}"


@dataclass(frozen=True)
class Choice:
    """Events of one pair, settled on releases that certify nothing: one in words, and the one that says most."""

    contender: Contender
    readable: FieldEvent | None
    says: float
    severest: FieldEvent | ScoreEvent | None
    most: float


@dataclass(frozen=True)
class Shown:
    """`candidate` may be smaller than the pair called `name`, whose trials refuted the claim.

    `severest` is the one run that may certify a larger number: its event and its pair were settled before it.
    """

    name: str
    candidate: Candidate
    witness: FieldWitness | None
    severest: FieldWitness | None
    note: str = ""


def shown_of(
    contender: Contender, schema: Schema, claim: Claim, budget: Budget, source: ReleaseSource, *, seed: int
) -> Shown:
    """The witness of a refuted pair, on the smallest pair that time allows; on the pair itself where that says less.

    `budget` is its own; the fewest releases are made in any case.
    """
    ends = SHRINK_SHARE * budget.seconds
    number = [contender.index + (1 << 24)]

    def on(candidate: Candidate) -> Contender:
        number[0] += 1
        data = datasets.wire(schema, candidate.first), datasets.wire(schema, candidate.second)
        return Contender(
            candidate,
            data,
            source,
            claim,
            share=LEVEL,
            seed=seed,
            index=number[0],
            block=contender.block,
            clock=contender.clock,
        )

    def refutes(candidate: Candidate) -> bool:
        if budget.spent > ends:
            return False
        tried, left = on(candidate), ends - budget.spent
        tried.sample(max(FEWEST, len(contender.samples[0]) // 2), left / 4)
        if not tried.failing:
            tried.run(AGAIN, left / 2)
        return tried.refuted

    small = shrunk(schema, contender.candidate, refutes)
    each = contender.seconds or budget.release
    releases = int(min(STATED[1], max(STATED[0], STATE_SHARE * budget.seconds / (SPENT * each))))
    whole = _choice(contender, claim, releases)
    shown = whole if small == contender.candidate else _choice(on(small), claim, releases)
    severest = max(shown, whole, key=lambda each: each.most)
    if not shown.says > claim.eps and whole.says > shown.says:
        shown = whole
    witness = None if shown.readable is None else _run(shown.contender, shown.readable, releases)
    certified = witness
    if severest.severest is not None and severest.severest is not shown.readable:
        certified = _run(severest.contender, severest.severest, releases)
    note = "" if shown is whole else "the pair shown is a smaller one, found by shrinking"
    return Shown(contender.candidate.name, shown.contender.candidate, witness, certified, note)


def _choice(contender: Contender, claim: Claim, releases: int) -> Choice:
    """The simplest event that says more than the claim; and of all events the one that says most, in words or not."""
    half = max(FEWEST, releases // 2)
    if contender.codebook is None:
        contender.sample(max(FEWEST, half // 2))
    book = contender.codebook
    assert book is not None
    one, two = (book.rows(contender.samples[arm] + contender.releases(arm, half)) for arm in (0, 1))
    readable = search_event(book, one, two, claim.eps, claim.delta)
    events: list[Any] = [readable, search_event(book, one, two, math.inf, claim.delta)]
    if contender.process.trials:
        cuts = np.unique(contender.attack.cuts[np.isfinite(contender.attack.cuts)]).tolist()
        events += [ScoreEvent(contender.attack, cut, more) for cut in cuts for more in (True, False)]
    says = [-math.inf if each is None else stated(each, one, two).eps(claim.delta) for each in events]
    best = int(np.argmax(says))  # the readable one where others say no more
    return Choice(contender, readable, says[0], events[best], says[best])


def _run(contender: Contender, event: Any, releases: int) -> FieldWitness:
    """The event on fresh releases."""
    assert contender.codebook is not None
    hits, made = [0, 0], [0, 0]
    sizes = (releases, RARE * releases) if event.first_more else (RARE * releases, releases)
    for part in range(PARTS):
        for arm in (0, 1):
            size = sizes[arm] * (part + 1) // PARTS - made[arm]
            made[arm] += size
            hits[arm] += int(event.holds(contender.codebook.rows(contender.releases(arm, size))).sum())
    return FieldWitness(event, Frequency(hits[0], made[0]), Frequency(hits[1], made[1]))


# ----------------------------------------------------------------------------------------------------------------------
# A script that shows a refutation with the library alone: two datasets, a loop, two frequencies.
#
# It imports the library and what makes its data, nothing of ours. It is run before it is handed out, and is handed out
# only if the frequencies break the claim's bound there as well.


STEP = re.compile(r"\[(\d+|'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")\]|\.?([A-Za-z_]\w*)")
SHOWN_VERSIONS = 8


class Inexpressible(ValueError):
    """A condition that is no plain expression on the output."""


def script(
    *,
    spec: str,
    call: str,
    stream: str,
    arguments: dict[str, Any],
    schema: Schema,
    candidate: Candidate,
    claim: Claim,
    witness: FieldWitness,
    hello: dict[str, Any],
    versions: dict[str, str],
    trials: int,
) -> str:
    """The text of the script; Inexpressible where the event is none on the output itself."""
    where, _, name = spec.rpartition(":")
    event = " and ".join(_expression(each) for each in witness.event.conditions)
    known = [f"{each} {versions[each]}" for each in _told(where, versions)]
    frame = schema.container == "frame"
    more, less = ("FIRST", "SECOND") if witness.event.first_more else ("SECOND", "FIRST")
    handed = {"keywords": "**data", "args": "*data"}.get(schema.container, "data")
    container = f"target({handed}, {{}})"
    numpy = "numpy" in versions  # a library may do without, and its environment, too
    parts = [
        f"# {', '.join([*known, 'Python ' + str(hello['python'])])}",
        f'"""{_title(candidate)}; claim: {claim}, {candidate.said}.\n\nevent: {clean(witness.event)}\n"""',
        _imports(frame, numpy),
        _loading(where, name),
        f"FIRST = {datasets.literal(schema, candidate.first)}\nSECOND = {datasets.literal(schema, candidate.second)}",
        f"TRIALS, EPS, DELTA = {trials}, {claim.eps!r}, {claim.delta!r}",
        _release(call, stream, arguments, container, numpy),
        CELL,
        f"def event(out, warned):\n    return {event}",
        FREQUENCY,
        f"more, less = frequency({more}), frequency({less})\n"
        "bound = math.exp(EPS) * less + DELTA\n"
        f'print(f"{more}: {{more:.4f}}   {less}: {{less:.4f}}   bound exp(eps) q + delta: {{bound:.4f}}")\n'
        'print("the bound is broken" if more > bound else "the bound holds in these trials")\n'
        "sys.exit(1 if more > bound else 0)",
    ]
    return "\n\n\n".join(part.strip("\n") for part in parts) + "\n"


CELL = '''
def cell(out, *steps):
    """One number of the output."""
    for kind, step in steps:
        if kind == ".":
            out = getattr(out, step)
        else:
            out = out.iloc[step] if hasattr(out, "iloc") and isinstance(step, int) else out[step]
    return out


def shape(out):
    """Length, or shape as text."""
    found = getattr(out, "shape", None)
    return len(out) if found is None or len(found) < 2 or hasattr(out, "iloc") else "x".join(map(str, found))


def there(out, *steps):
    """Whether the output has such a number."""
    try:
        cell(out, *steps)
    except Exception:
        return False
    return not isinstance(out, Exception)


def masked(text):
    """A message without its numbers."""
    return re.sub(r"[-+]?(\\d+\\.?\\d*|\\.\\d+)([eE][-+]?\\d+)?", "N", text)[:200]
'''
FREQUENCY = '''
def frequency(data):
    """Share of releases on which the event occurs."""
    hits = 0
    for seed in range(1, TRIALS + 1):
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            try:
                out = release(copy.deepcopy(data), seed)
            except Exception as error:
                out = error
        try:
            hits += bool(event(out, {each.category.__name__ for each in heard}))
        except Exception:  # the output has no such field
            pass
    return hits / TRIALS
'''


def write_checked(text: str, *, python: str, cwd: str | None, path: Path, seconds: float) -> None:
    """Writes the script and runs it in the library's interpreter; RunError where it does not show the violation."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    try:
        done = subprocess.run(
            [python, str(path.absolute())], cwd=cwd, capture_output=True, text=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        path.unlink()
        raise RunError(f"{path}: the script did not end within {seconds:.0f} s") from None
    if done.returncode != 1 or "the bound is broken" not in done.stdout:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:]
        path.unlink()
        raise RunError(f"{path}: the script does not show the violation: {clean(' '.join(last))}")


def _title(candidate: Candidate) -> str:
    return clean(candidate.name).replace('"', "'").replace("\\", "/")


def _told(where: str, versions: dict[str, str]) -> list[str]:
    first = where.partition(".")[0]
    names = [each for each in (first, "numpy", "pandas", "sklearn", "scipy", "torch") if each in versions]
    others = [each for each in versions if each not in names and each not in ("pip", "setuptools")]
    return (names + others)[:SHOWN_VERSIONS]


def _imports(frame: bool, numpy: bool) -> str:
    lines = [
        "import copy",
        "import importlib",
        "import math",
        "import random",
        "import re",
        "import sys",
        "import warnings",
    ]
    more = ["import numpy as np"] * numpy + ["import pandas as pd"] * frame
    return "\n".join([*lines, "", *more] if more else lines)


def _loading(where: str, name: str) -> str:
    if where.endswith(".py"):
        file = Path(where).absolute()
        lines = [f"sys.path.insert(0, {str(file.parent)!r})", f"target = importlib.import_module({file.stem!r})"]
    else:
        lines = ['sys.path.insert(0, "")', f"target = importlib.import_module({where!r})"]
    return "\n".join([*lines, f"for part in {name.split('.')!r}:", "    target = getattr(target, part)"])


def _release(call: str, stream: str, arguments: dict[str, Any], container: str, numpy: bool) -> str:
    given = [f"{name}={value!r}" for name, value in arguments.items()]
    generator = "np.random.default_rng(seed)" if stream == "rng" else "np.random.RandomState(seed)"
    seeded = "random.seed(seed)\n" + "np.random.seed(seed)\n" * numpy
    if call == "fit":
        made = ", ".join([*given, *([f"{stream}={generator}"] if stream else [])])
        fit = container.replace("target", "model.fit").replace(", {}", "")
        body = f"{seeded}model = target({made})\n{fit}\nreturn model"
    elif call == "target":
        made = ", ".join(["rng=np.random.default_rng(seed)", "size=1", *given])
        body = f'return getattr(target, "release", target)(data, {made})[0]'
    else:
        extra = {"rng": [f"{stream}={generator}"], "seed": ["seed=seed"]}.get(call, [])
        called = container.format(", ".join([*given, *extra])).replace(", )", ")")
        body = ("" if extra else seeded) + f"return {called}"
    return "def release(data, seed):\n" + textwrap.indent(body, "    ")


def _expression(condition: Condition) -> str:
    """The condition on `out` (the output or the exception) and `warned` (categories)."""
    column, yes = condition.column, condition.number == 1 or condition.op == ">="
    name = column.name
    if column.kind == "other":
        raise Inexpressible(str(condition))
    if name == "!message":
        if column.kind != "text":
            return f"{'' if yes else 'not '}isinstance(out, Exception)"
        return f"{'' if yes else 'not '}(isinstance(out, Exception) and masked(str(out)) == {column.text!r})"
    if name[0] == "!":
        return f"{'' if yes else 'not '}(isinstance(out, Exception) and type(out).__name__ == {name[1:]!r})"
    if name[0] == "~":
        return f"{name[1:]!r} {'in' if yes else 'not in'} warned"
    if column.kind == "present":
        return f"{'' if yes else 'not '}there(out{_steps(name.rstrip('#'))})"
    value = _value(name)
    if column.kind == "text":
        return f"{'' if yes else 'not '}(str({value}) == {column.text!r})"
    if condition.op == "nan":
        return f"math.isnan(float({value}))"
    number = f'float("{condition.op}")' if condition.op in ("inf", "-inf") else repr(condition.number)
    return f"float({value}) {'==' if condition.op in ('=', 'inf', '-inf') else condition.op} {number}"


def _value(name: str) -> str:
    if name.endswith("#"):
        return f"shape(cell(out{_steps(name[:-1])}))"
    if name.endswith(":type") or re.search(r"\.(keys|columns|index|real|imag|mask)\b", name):
        raise Inexpressible(name)
    return f"cell(out{_steps(name)})"


def _steps(name: str) -> str:
    if name == ROOT:
        return ""
    at, found = (len(ROOT), "") if name.startswith((ROOT + "[", ROOT + ".")) else (0, "")
    while at < len(name):
        step = STEP.match(name, at)
        if step is None:
            raise Inexpressible(name)
        found += f', ("[", {step[1]})' if step[1] is not None else f', (".", {step[2]!r})'
        at = step.end()
    return found
