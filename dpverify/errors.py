"""Everything that can go wrong, in one drawing.

    DpverifyError                      exit code 3
    |-- UsageError (ValueError)        exit code 2: what was asked for is not allowed
    |   |-- ParameterError             a number outside its range (NaN included)
    |   |-- NeighbourError             the pair is not a neighbouring pair of the claim's relation
    |   `-- DiscoveryError             no audits found, or an audit file that does not load
    `-- RunError (RuntimeError)        exit code 3: the run started and could not be finished
        |-- LostWorker               a worker or cluster died; carries no result of its task
        |-- TargetError                the audited target broke its protocol (shape, NaN score, always raises)
        |-- InvalidTrials              trials from which no bound may be computed: `audit` answers INVALID
        `-- AccountingError            the ledger cannot be accounted as asked

None of them ever becomes a verdict.
"""

from typing import ClassVar

EXIT_OK = 0
EXIT_UNEXPECTED = 1  # a claim refuted, or a planted bug not caught
EXIT_USAGE = 2
EXIT_FAILED = 3  # inconclusive, or the run failed


class DpverifyError(Exception):
    """Base of every error that dpverify raises on purpose."""

    exit_code: ClassVar[int] = EXIT_FAILED


class UsageError(DpverifyError, ValueError):
    """The request itself is not allowed; nothing was run."""

    exit_code = EXIT_USAGE


class ParameterError(UsageError):
    """A parameter lies outside its allowed set; carries `name`, `value` and `allowed`."""

    def __init__(self, name: str, value: object, allowed: str) -> None:
        super().__init__(f"{name} = {_shown(value)}: must be {allowed}")
        self.name = name
        self.value = value
        self.allowed = allowed

    def __reduce__(self) -> tuple[type["ParameterError"], tuple[str, object, str]]:
        return type(self), (self.name, self.value, self.allowed)  # survives a process boundary


MOST_LETTERS = 300


def _shown(value: object) -> str:
    """One line of it. Integers of many thousand digits have no repr at all."""
    try:
        text = " ".join(repr(value).split("\n"))
    except Exception:
        return f"a {type(value).__name__} that cannot be written"
    return text if len(text) <= MOST_LETTERS else text[: MOST_LETTERS - 3] + "..."


class NeighbourError(UsageError):
    """The two datasets are not neighbours under the relation of the claim."""


class DiscoveryError(UsageError):
    """No audits were found, or an audit file could not be loaded."""


class RunError(DpverifyError, RuntimeError):
    """The run was started and could not be finished."""


class LostWorker(RunError):
    """A worker process or a whole cluster went away before it had a result."""


class TargetError(RunError):
    """The audited target does not keep the protocol `release(data, *, rng, size) -> (size, ...)`."""


class InvalidTrials(RunError):
    """There are trials, but a bound may not be computed from them: dependent, mutated data, unfaithful target.

    `audit` and `certify` turn it into the verdict INVALID.

    Parameters
    ----------
    code : str
        Name of the reason in docs/reasons.md.
    text : str
        What was found, and of which target.
    """

    def __init__(self, code: str, text: str) -> None:
        super().__init__(code, text)

    def __str__(self) -> str:
        return ", ".join(self.args)


class AccountingError(RunError):
    """The ledger cannot be accounted as asked."""
