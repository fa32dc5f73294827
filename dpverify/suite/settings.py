"""What a run adds to its subjects. Apart from what runs them: who only asks for a run need not load that."""

from collections.abc import Callable
from dataclasses import dataclass

from dpverify.base import require
from dpverify.errors import ParameterError
from dpverify.execution.executors import check_backend
from dpverify.suite.result import Outcome


@dataclass(frozen=True)
class Settings:
    """What a run adds to its subjects; `trials` None keeps each subject's own budget."""

    seed: int
    significance: float = 0.05
    trials: int | None = None
    jobs: int = 1
    backend: str = "loky"
    sequential: bool = False
    ladder: bool = False  # measure the power, see `auditing.ladder`
    tape: bool = True  # trace the code before the trials, see `auditing.tracing`
    require_tape: bool = False  # what cannot be traced has no good answer

    def __post_init__(self) -> None:
        require.integer(at_least=0, seed=self.seed)
        require.integer(at_least=1, jobs=self.jobs)
        require.open_unit(significance=self.significance)
        check_backend(self.backend)
        if self.require_tape and not self.tape:
            raise ParameterError("require_tape", self.require_tape, "False without the tape")
        if self.trials is not None:
            require.integer(at_least=1, trials=self.trials)


Listener = Callable[[Outcome], None]
Ticker = Callable[[str, int], None]  # told the subject and the number of its trials that were just finished
