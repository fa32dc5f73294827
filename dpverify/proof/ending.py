"""Why a proof ends: a signal that a program cannot catch by `except Exception`."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Ending:
    """Where a proof ended.

    Parameters
    ----------
    reason : str
        What the program does that no rule covers, as one clause.
    remedy : str
        What could be written instead; empty where nothing is known.
    file : str
        Name of the file of the program, without its folder.
    line : int or None
        Line of the program.
    exposed : bool
        Whether data themselves leave the program without noise: no finite eps is true.
    outside : bool
        Whether the program reads or keeps something outside of the call: no other way of proof is tried.
    """

    reason: str
    remedy: str = ""
    file: str = ""
    line: int | None = None
    exposed: bool = False
    outside: bool = False

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line is not None else self.file or "the program"
        return f"proof ends at {place}: {self.reason}" + (f"; {self.remedy}" if self.remedy else "")


class ProofEnds(BaseException):
    """Raised inside a program where no rule covers what it does.

    It is no `Exception`, so `except Exception` lets it pass; a run that met one is marked as ended all the same.
    """

    def __init__(self, reason: str, remedy: str = "", *, exposed: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.remedy = remedy
        self.exposed = exposed


class OutsideOfTheCall(ProofEnds):
    """The program reads or keeps what is outside of the call (a seed, a clock, a name of its module), or raises."""


class NeedsNumberOfRows(ProofEnds):
    """The program uses the number of rows otherwise than as a factor: it has to be run for each number."""
