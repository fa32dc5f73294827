"""Which fields of an output are looked at: all, or those that `--out` names, without those of `--public`."""

from collections.abc import Sequence
from typing import Any

from dpverify.base.errors import UsageError
from dpverify.wild.here import Source

AFTER = "[#.:"
MOST_NAMED = 12  # of the fields that are left out


def named(name: str, wanted: Sequence[str]) -> bool:
    """Whether a field is one of these, or a part of one."""
    return any(name == each or (name.startswith(each) and name[len(each)] in AFTER) for each in wanted)


class Narrowed:
    """A source whose releases show only some fields; exceptions and warnings always show."""

    def __init__(self, source: Source, out: Sequence[str], public: Sequence[str]) -> None:
        self._source, self._out, self._public = source, tuple(out), tuple(public)
        self.name, self.hello = source.name, source.hello
        self.left_out: set[str] = set()
        self._met = False

    def check(self, data: bytes) -> None:
        """See `Source`."""
        self._source.check(data)

    def versions(self) -> dict[str, str]:
        """See `Source`."""
        return self._source.versions()

    def close(self) -> None:
        """See `Source`."""
        self._source.close()

    def fields(self, data: bytes, seeds: Sequence[int]) -> dict[str, Any]:
        """See `Source`."""
        answer = self._source.fields(data, seeds)
        answer["fields"] = [{name: value for name, value in each.items() if self._shown(name)}
                            for each in answer["fields"]]  # fmt: skip
        return answer

    def _shown(self, name: str) -> bool:
        if name[0] in "!~":
            return True
        met = not self._out or named(name, self._out)
        self._met |= met
        shown = met and not named(name, self._public)
        if not shown:
            self.left_out.add(name.rstrip("#").partition(":")[0])
        return shown

    @property
    def not_shown(self) -> str:
        """The fields that were left out, as `--out` takes them; the first of many."""
        every = sorted(self.left_out)
        return ", ".join(every[:MOST_NAMED]) + (f" and {len(every) - MOST_NAMED} more" * (len(every) > MOST_NAMED))

    def objection(self) -> None:
        """UsageError where no release had any field that was asked for."""
        if self._out and not self._met:
            raise UsageError(f"--out {', '.join(self._out)}: no such field; there are " +
                             (self.not_shown or "none"))  # fmt: skip
