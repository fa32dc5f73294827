"""What a suite has to look into, before any audit file is loaded: its files, and which names are chosen."""

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Generic, Protocol, Self, TypeVar

from dpverify.base.errors import DiscoveryError
from dpverify.base.text import clean
from dpverify.verdicts.names import matches

PATTERN = "audit_*.py"


def find_files(paths: Iterable[Path]) -> list[Path]:
    """Audit files under the given folders and files, sorted; DiscoveryError when there are none."""
    found: list[Path] = []
    for path in paths:
        if path.is_file():
            found.append(path)
        elif path.is_dir():
            found += sorted(path.rglob(PATTERN))
        else:
            raise DiscoveryError(f"{path}: no such file or folder")
    if not found:
        looked = ", ".join(clean(path) for path in paths) or "."
        raise DiscoveryError(f"no audits found in {looked}: looked for files {PATTERN}")
    return list(dict.fromkeys(file.resolve() for file in found))


class Named(Protocol):
    """What can be chosen by its name: a subject, a promise, or a file's entry about one."""

    @property
    def name(self) -> str:
        """The full name."""

    @property
    def paper(self) -> str:
        """Where a published claim comes from; empty for others."""


class NamedSubject(Named, Protocol):
    """A subject, or a file's entry about one."""

    @property
    def planted(self) -> bool:
        """True for a bug put in on purpose."""


S = TypeVar("S", bound=NamedSubject, covariant=True)
P = TypeVar("P", bound=Named, covariant=True)
AnyNamed = TypeVar("AnyNamed", bound=Named)


@dataclass(frozen=True)
class Agenda(Generic[S, P]):
    """What a suite has to look into."""

    subjects: tuple[S, ...]
    promises: tuple[P, ...] = ()

    def of_papers(self) -> Self:
        """What a paper states, without planted bugs: the scorecard."""
        subjects = tuple(each for each in self.subjects if each.paper and not each.planted)
        if not subjects:
            raise DiscoveryError("no scorecard: no subject names the `paper` it comes from")
        return replace(self, subjects=subjects, promises=tuple(each for each in self.promises if each.paper))

    def of_promises(self) -> Self:
        """The promises alone; the significance is shared among them."""
        if not self.promises:
            raise DiscoveryError("--promises-only: there are no promises in what was chosen")
        return replace(self, subjects=())


def chosen(subjects: Sequence[S], promises: Sequence[P], paths: Sequence[Path], expression: str) -> Agenda[S, P]:
    """Those whose name matches; DiscoveryError where there are none."""
    found = Agenda(tuple(_chosen(subjects, expression)), tuple(_chosen(promises, expression)))
    if not found.subjects and not found.promises:
        where = ", ".join(str(path) for path in paths)
        names = [each.name for each in (*subjects, *promises)]
        what = f" matching {clean(expression)!r}{_meant(expression, names)}" if expression else ""
        raise DiscoveryError(f"no audits found in {where}{what}")
    return found


def _chosen(found: Sequence[AnyNamed], expression: str) -> list[AnyNamed]:
    exact = [each for each in found if each.name == expression]  # a whole name means itself only
    return exact or [each for each in found if matches(each.name, expression)]


def _meant(expression: str, names: list[str]) -> str:
    """A suggestion for a mistyped name or word."""
    parts = {part for name in names for part in (name, *name.replace("!", "/").split("/"))}
    for word in (expression, *expression.split()):
        near = difflib.get_close_matches(word.casefold(), sorted(parts), n=1, cutoff=0.6)
        if near and word.casefold() not in near[0].casefold():
            return f"; did you mean {near[0]!r}?"
    return "; --list shows the names"
