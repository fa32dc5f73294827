"""How `try` looks, and where its releases come from."""

from dataclasses import dataclass
from typing import Any

from dpverify.base import require
from dpverify.base.errors import UsageError
from dpverify.wild.elsewhere import Elsewhere
from dpverify.wild.here import Here, Source
from dpverify.wild.race import MOST_EACH

SEED = 20260
OUTSIDE = ("report", "judge", "off")


@dataclass(frozen=True)
class Options:
    """How `try` looks; see the command's help."""

    relation: str | None = None  # replace, add-remove, both; None: both, and the verdict says under which it stands
    minutes: float = 10.0
    significance: float = 0.05
    seed: int = SEED
    out: tuple[str, ...] = ()
    public: tuple[str, ...] = ()
    out_of_domain: str = "report"
    size: bool = False
    trials: int = MOST_EACH  # of each pair, on average, as long as nothing falls
    repro: str | None = None

    def __post_init__(self) -> None:
        require.positive(minutes=self.minutes)
        require.open_unit(significance=self.significance)
        require.integer(at_least=0, seed=self.seed)
        require.integer(at_least=1, trials=self.trials)
        if self.relation not in (None, "replace", "add-remove", "both"):
            raise UsageError(f"relation {self.relation!r}: must be replace, add-remove or both")
        if self.out_of_domain not in OUTSIDE:
            raise UsageError(f"out_of_domain {self.out_of_domain!r}: must be one of " + ", ".join(OUTSIDE))


def source_of(
    target: Any, *, call: str, arguments: dict[str, Any] | None, encode: Any, python: str, cwd: str | None,
    timeout_s: float,
) -> Source:  # fmt: skip
    """Where releases come from: this process for an object, an interpreter of its own for a text."""
    if isinstance(target, str):
        return Elsewhere(python, target, cwd=cwd, call=call, timeout_s=timeout_s, arguments=arguments,
                         encode=encode or "")  # fmt: skip
    if hasattr(target, "fields") and hasattr(target, "hello"):
        return target  # type: ignore[no-any-return]
    if python:
        raise UsageError("python: only for a target MODULE:OBJECT")
    return Here(target, call=call, arguments=arguments, encode=encode)
