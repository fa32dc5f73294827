"""A target of this process as a source of releases: the same calls as in another interpreter, without the process."""

import platform
import sys
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from dpverify.base.errors import TargetError, UsageError
from dpverify.base.text import clean
from dpverify.wild.remote import calling, codec, encoding, serving


class Source(Protocol):
    """What gives releases: `Here`, or `Elsewhere`."""

    name: str
    hello: dict[str, Any]

    def check(self, data: bytes) -> None:
        """UsageError where data of this form cannot be handed over."""

    def fields(self, data: bytes, seeds: Sequence[int]) -> dict[str, Any]:
        """{"fields": [one dict a release], "changed": bool, "notes": [...]}."""

    def versions(self) -> dict[str, str]:
        """Of what is imported."""

    def close(self) -> None:
        """Ends what it has started."""


class Here:
    """A function, class or object with `release`, called in this process on a copy of the data."""

    def __init__(
        self,
        target: Any,
        *,
        call: str = "auto",
        arguments: dict[str, Any] | None = None,
        encode: Callable[[Any], dict[str, float | str]] | None = None,
    ) -> None:
        try:
            self._caller = calling.Caller(target, call, arguments, encode)
        except calling.Refused as error:
            raise UsageError(clean(error)) from None
        self.name: str = self._caller.name
        self.hello = {"call": self._caller.call, "python": platform.python_version(), "platform": platform.platform(),
                      "executable": sys.executable, "stream": self._caller.stream}  # fmt: skip

    def check(self, data: bytes) -> None:
        """See `Source`."""
        try:
            self._caller.check(*serving.given(codec.unpacked(data)))
        except calling.Refused as error:
            raise UsageError(clean(error)) from None

    def fields(self, data: bytes, seeds: Sequence[int]) -> dict[str, Any]:
        """See `Source`."""
        try:
            found: dict[str, Any] = serving.many(self._caller, data, list(seeds))
        except (calling.RunFailed, encoding.TooMuch) as error:
            raise TargetError(f"{self.name}: {clean(error)}") from error
        return found

    def versions(self) -> dict[str, str]:
        """See `Source`."""
        found: dict[str, str] = serving.versions()
        return found

    def close(self) -> None:
        """Nothing was started."""
