"""Names of subjects: which ones an expression means, and how they stay apart when files are called alike.

    expression = either ("or" either)*         either = each ("and" each)*
    each       = "not" each | "(" expression ")" | word
    word       = signs without spaces, brackets and quotes | 'quoted' | "quoted"

A word is in a name where the name contains it, in whatever case; as `pytest -k`.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import PurePath
from typing import NoReturn

from dpverify.base.errors import DiscoveryError
from dpverify.base.text import clean

Test = Callable[[str], bool]
LONGEST = 200  # letters of an expression that a complaint repeats
DEEPEST = 50  # brackets inside brackets
_TOKEN = re.compile(r"\s*(?:(?P<sign>[()])|'(?P<single>[^']*)'|\"(?P<double>[^\"]*)\"|(?P<word>[^\s()'\"]+))")


def matches(name: str, expression: str) -> bool:
    """True where `expression` means the name; DiscoveryError for one that cannot be read. "" means all names."""
    return compiled(expression)(name.casefold())


@lru_cache(maxsize=64)
def compiled(expression: str) -> Test:
    """The expression as a test of case-folded names."""
    return _Reader(expression).read() if expression.strip() else lambda name: True


class _Reader:
    """Recursive descent over the tokens; a token is (position, kind, text)."""

    def __init__(self, expression: str) -> None:
        self.expression, self.tokens, place = expression, list[tuple[int, str, str]](), 0
        while expression[place:].strip():
            found = _TOKEN.match(expression, place)
            if found is None:
                self.fail(place, "a quote that is not closed")
            kind = str(found.lastgroup)
            text = str(found[kind])
            keyword = kind == "word" and text in ("and", "or", "not")
            self.tokens.append((found.start(kind), text if keyword or kind == "sign" else "word", text))
            place = found.end()
        self.next = self.depth = 0

    def read(self) -> Test:
        test = self.either()
        if self.kind:
            self.fail(self.tokens[self.next][0], f"{self.tokens[self.next][2]!r} where and, or or the end is expected")
        return test

    @property
    def kind(self) -> str:
        return self.tokens[self.next][1] if self.next < len(self.tokens) else ""

    def either(self) -> Test:
        tests = [self.both()]
        while self.kind == "or":
            self.next += 1
            tests.append(self.both())
        return tests[0] if len(tests) == 1 else lambda name: any(test(name) for test in tests)

    def both(self) -> Test:
        tests = [self.one()]
        while self.kind == "and":
            self.next += 1
            tests.append(self.one())
        return tests[0] if len(tests) == 1 else lambda name: all(test(name) for test in tests)

    def one(self) -> Test:
        kind, place = self.kind, self.next
        if not kind:
            self.fail(len(self.expression), "the end where a word, not or ( is expected")
        self.next += 1
        if kind == "word":
            word = self.tokens[place][2].casefold()
            return lambda name: word in name
        if kind == "not":
            times = 1
            while self.kind == "not":
                self.next += 1
                times += 1
            inner = self.one()
            return (lambda name: not inner(name)) if times % 2 else inner
        if kind == "(":
            if self.depth == DEEPEST:
                self.fail(self.tokens[place][0], f"more than {DEEPEST} brackets inside each other")
            self.depth += 1
            inside = self.either()
            self.depth -= 1
            if self.kind != ")":
                self.fail(self.tokens[place][0], "a ( that is not closed")
            self.next += 1
            return inside
        self.fail(self.tokens[place][0], f"{kind!r} where a word, not or ( is expected")

    def fail(self, place: int, what: str) -> NoReturn:
        said = f"{clean(what)} (column {place + 1}); words are joined by and, or, not, ( )"
        shown = self.expression if len(self.expression) <= LONGEST else self.expression[:LONGEST] + "..."
        raise DiscoveryError(f"-k {clean(shown)!r}: {said}")


def stem_of(file: PurePath) -> str:
    """`local` for audits/audit_local.py."""
    return clean(file.stem.removeprefix("audit_"))


def qualified(files: Sequence[PurePath]) -> dict[PurePath, str]:
    """What stands before `/name` for each file: its stem, with as many folders as files with one stem need.

    audits/audit_laplace.py alone is `laplace`; beside other/audit_laplace.py it is `audits:laplace`.
    """
    found = {file: stem_of(file) for file in files}
    for depth in range(1, max((len(file.parts) for file in files), default=0) + 1):
        counts = Counter(found.values())
        twice = [file for file in found if counts[found[file]] > 1]
        if not twice:
            break
        for file in twice:
            found[file] = "/".join(map(clean, file.parts[-1 - depth : -1])) + ":" + stem_of(file)
    return found


def local(name: str, file: str) -> str:
    """`stem/name` of a qualified name: the name in a run of this file alone, and what its seed comes from."""
    stem = stem_of(PurePath(file)) if file else ""
    _, qualifies, rest = name.partition(f":{stem}/")
    return f"{stem}/{rest}" if stem and qualifies else name


def group(name: str) -> str:
    """What stands before the subject's own name: its file, qualified where that is needed; empty where nothing does."""
    before, colon, rest = name.partition(":")
    if colon and "/" in rest:
        return f"{before}:{rest.partition('/')[0]}"
    return name.partition("/")[0] if "/" in name else ""
