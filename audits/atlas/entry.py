"""What an entry holds. Values only: read by `reading`, judged by `rules`, run by `reproduce`."""

import math
from dataclasses import dataclass, field
from typing import Any

from audits.atlas.tables import one_of

KINDS = ("privacy claim", "proof step", "error bound", "assumption", "experiment", "code", "library")
STATUSES = (
    "false",
    "proof false, statement survives",
    "true",
    "ambiguous",
    "not reproducible",
    "vacuous",
    "argument false, claim undecided",  # a library's own accounting does not hold; what it releases may
    "nothing found",  # and a planted twin of the same call was caught
    "slip",  # false to the letter, and every reader repairs it: nothing that is claimed rests on it
    "withdrawn",  # an accusation of ours that does not stand
)
SOURCES = ("printed", "inferred", "garbled")  # of a reading: the text says so; what it must mean; the text is damaged
VERDICTS = ("false", "true", "undecided")  # on a reading
RUNS = ("certify", "replay")  # of a library, in an interpreter that has it
METHODS = ("derivation", "second derivation", "exact law", "enumeration", "simulation", "trials", *RUNS)


NOT_READ = "not read"  # in place of the SHA-256 of a text


@dataclass(frozen=True, kw_only=True)
class Paper:
    """A text with statements: `name` is what subjects and rows call it, `text_sha256` is of the text that was read."""

    key: str
    name: str
    title: str
    authors: str
    venue: str
    version: str
    text_sha256: str

    @property
    def read(self) -> bool:
        """Whether the text was read here: of another one nothing is said."""
        return self.text_sha256 != NOT_READ


@dataclass(frozen=True)
class Row:
    """One claim of one paper: `code` is file:symbol, `audit` the stem of the file that judges it.

    `paper` is its name, or a name of its own; `entries` are the ids of the atlas that speak of it.
    """

    paper: str
    place: str
    statement: str
    code: str
    audit: str
    entries: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a statement stands: in a paper, in lines of a file at a commit of a repository, or in a library's version.

    `environment` names the interpreter that has the library; `also` is what is installed beside it.
    """

    paper: Paper | None = None
    place: str = ""
    repo: str = ""
    commit: str = ""
    file: str = ""
    lines: str = ""
    licence: str = ""  # of the original; "none stated" where it has none
    label: str = ""  # what code that simulates prints about itself
    package: str = ""
    version: str = ""
    environment: str = ""
    also: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Formal:
    """Our formal words: who is protected, between which data, whose view, what is released, with which numbers."""

    unit: str
    relation: str
    view: str
    released: str
    parameters: str


@dataclass(frozen=True, kw_only=True)
class Reading:
    """One way to understand the statement, where it comes from, and what is true of it."""

    name: str
    source: str = one_of(*SOURCES)
    verdict: str = one_of(*VERDICTS)
    number: str  # in words: what holds instead, or by how much it holds


@dataclass(frozen=True, kw_only=True)
class Witness:
    """The smallest instance known: two datasets, an event, its probabilities on both, and how many trials show it."""

    instance: str
    first: str = ""
    second: str = ""
    event: str = ""
    p: float | None = None
    q: float | None = None
    trials: float | None = None
    seed: float | None = None


@dataclass(frozen=True, kw_only=True)
class Withdrawn:
    """What was said here and does not stand: since when (YYYY-MM-DD) it is withdrawn, and why."""

    date: str
    what: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Run:
    """What `certify --data` or `replay` is asked for: files are in the entry's folder, `options` the command's."""

    target: str
    claim: str
    schema: str
    options: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """One number that is computed again: `call` is FILE.py:FUNCTION in the entry's folder.

    `form` and `bounds` say what it must be: equals, near (value, tolerance), between, at_least, at_most.
    `reading` with `false_above`, `false_below` or `false_if` decides that reading: false where the number is strictly
    beyond it, or is that truth value; else true. By try or replay there is a word in place of the number (equals,
    one_of): `false_if` is the word that refutes the reading; another word says nothing of it.
    `planted`: not the library, but a twin of the call that is wrong on purpose.
    """

    by: str = one_of(*METHODS)
    what: str
    call: str = ""
    arguments: dict[str, Any] = field(default_factory=dict)
    form: str
    bounds: tuple[float | bool | str, ...]
    reading: str = ""
    false_above: float | None = None
    false_below: float | None = None
    false_if: bool | str | None = None
    run: Run | None = None
    planted: bool = False
    repeated: str = ""  # how often it came out on other seeds, and when that was counted

    @property
    def decides(self) -> bool:
        """Whether it says of a reading that it is true or false."""
        return (self.false_above, self.false_below, self.false_if) != (None, None, None)

    @property
    def stated(self) -> str:
        """What the number must be, in words."""
        first, *rest = map(written, self.bounds)
        return {
            "equals": first,
            "near": f"{first} +- {rest[0] if rest else 0}",
            "between": f"{first} to {rest[0] if rest else ''}",
            "at_least": f"at least {first}",
            "at_most": f"at most {first}",
            "one_of": " or ".join((first, *rest)),
        }[self.form]

    def met(self, value: float | bool | str) -> bool:
        """Whether the number is as stated; NaN never is, and no truth value or word is a number."""
        first, *rest = self.bounds
        if isinstance(first, bool) or isinstance(value, bool):
            return value is first
        if isinstance(first, str) or isinstance(value, str):
            return value in self.bounds
        numbers = [float(each) for each in rest]
        match self.form:
            case "equals":
                return value == first
            case "near":
                return math.isfinite(value) and abs(value - first) <= numbers[0]
            case "between":
                return first <= value <= numbers[0]
            case "at_least":
                return value >= first
            case _:
                return value <= first

    def verdict(self, value: float | bool | str) -> str:
        """What the number says of the reading: "false", "true" or, where it says nothing, ""."""
        if isinstance(value, str):
            return "false" if value == self.false_if else ""
        if self.false_if is not None:
            return "false" if value is self.false_if else "true"
        if isinstance(value, bool) or math.isnan(value) or not self.decides:
            return ""
        above = self.false_above is not None and value > self.false_above
        below = self.false_below is not None and value < self.false_below
        return "false" if above or below else "true"


def written(value: float | bool | str) -> str:
    """A number, a truth value or a word as it is shown."""
    return value if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else f"{value:g}"


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One statement of others; survivors have the same form as statements that do not survive."""

    id: str
    kind: str = one_of(*KINDS)
    title: str
    source: Place
    simulation: bool = False
    statement: str
    quote: str = ""
    formal: Formal
    readings: tuple[Reading, ...]
    status: str = one_of(*STATUSES)
    true_value: str
    derivation: str
    witness: Witness
    certified: tuple[float, float] | None = None
    would_catch: str = ""
    consequence: str
    fix: str
    fix_audit: tuple[str, ...] = ()
    inherits: tuple[str, ...] = ()
    contact: str = "nobody has been written to yet"
    evidence: tuple[Evidence, ...] = ()
    unrun: str = ""  # why there is nothing to run
    withdrawn: tuple[Withdrawn, ...] = ()  # the whole entry (its status says so), or part of it

    @property
    def command(self) -> str:
        """What reproduces it."""
        return f"python -m audits.atlas run {self.id}"

    @property
    def family(self) -> str:
        """Entries of one letter stand together on the page."""
        return self.id.rstrip("0123456789")
