"""A training loop of opacus for `check_training`: batches, noise and what its accountant was told."""

import contextlib
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import numpy as np

from dpverify.base.seeding import Stage, stream
from dpverify.errors import TargetError
from dpverify.ledger.events import Ledger
from dpverify.ledger.everyday import dp_sgd
from dpverify.tape.training import check_training, TrainingCheck


def check_opacus(train: Callable[[Any], Any], *, data: Any, delta: float = 1e-5, seed: int = 0) -> TrainingCheck:
    """`check_training` of a loop with a `PrivacyEngine` of opacus, against what its accountant was told.

    Noise of `DPOptimizer` is drawn on the tape; samples and weights come from torch's generator, which is seeded. A
    step releases the noisy gradient as the optimizer gets it, so that any optimizer may follow.

    Parameters
    ----------
    train : callable
        `train(dataset)` makes the model, its optimizer and a `DataLoader` over the dataset (without workers), takes a
        few steps and returns the engine. The samples of the dataset are tuples of tensors, one of each array.
    data : array or tuple of arrays
        Rows are the records.
    delta, seed
        As for `check_training`.

    Returns
    -------
    TrainingCheck
        Against `dp_sgd` with the rate, the noise multiplier and the steps of the accountant.

    Raises
    ------
    TargetError
        Where the loop raises, takes no step of a `DPOptimizer`, or tells the accountant nothing or several things.
    """
    told: list[Any] = []
    together = data if isinstance(data, tuple) else (data,)

    def loop(rows: Any, *, rng: np.random.Generator, step: Callable[[Any], None]) -> None:
        with _instrumented(rng, step):
            told.append(train(_Dataset(rows)))

    try:
        loop(tuple(map(np.asarray, together)), rng=stream(seed, Stage.TAPE), step=lambda released: None)
    except Exception as error:
        raise TargetError(f"the training function raised {type(error).__name__}: {error}") from error
    return check_training(loop, data=together, ledger=_ledger(told[0]), delta=delta, seed=seed)


def _ledger(engine: Any) -> Ledger:
    history = list(getattr(getattr(engine, "accountant", engine), "history", ()))
    if len(history) != 1:
        raise TargetError(f"the accountant was told {len(history)} kinds of steps: return the engine, after one kind")
    multiplier, rate, steps = history[0]
    return dp_sgd(rate=float(rate), noise_multiplier=float(multiplier), steps=int(steps))


class _Dataset:
    """Samples of arrays, read a batch at a time, so that a row can be left out of it."""

    def __init__(self, arrays: tuple[Any, ...]) -> None:
        self._arrays, self._tensor = arrays, import_module("torch").as_tensor

    def __len__(self) -> int:
        return len(self._arrays[0])

    def __getitem__(self, row: int) -> tuple[Any, ...]:
        if sys._getframe(1).f_globals.get("__name__") == "opacus.data_loader":  # which asks for the shapes of a sample
            return tuple(self._tensor(np.zeros(each.shape[1:], each.dtype)) for each in self._arrays)
        return tuple(self._tensor(each[row]) for each in self._arrays)

    def __getitems__(self, rows: list[int]) -> list[tuple[Any, ...]]:
        found = [each[np.asarray(rows, dtype=int)] for each in self._arrays]
        return [tuple(map(self._tensor, sample)) for sample in zip(*found, strict=True)]


@contextlib.contextmanager
def _instrumented(rng: np.random.Generator, step: Callable[[Any], None]) -> Iterator[None]:
    torch, optimizers = import_module("torch"), import_module("opacus.optimizers.optimizer")
    kind, quiet = optimizers.DPOptimizer, optimizers._generate_noise
    before = kind.pre_step

    def noise(std: float, reference: Any, *args: Any, **more: Any) -> Any:
        if std == 0:
            return quiet(std, reference, *args, **more)
        drawn = np.asarray(rng.normal(0.0, float(std), size=tuple(reference.shape)))
        return torch.as_tensor(drawn, dtype=reference.dtype, device=reference.device)

    def pre_step(self: Any, *args: Any, **more: Any) -> Any:
        taken = before(self, *args, **more)
        if taken:
            step([parameter.grad.detach().double().cpu().numpy().copy() for parameter in self.params])
        return taken

    homes: list[Any] = [
        each
        for name, each in list(sys.modules.items())
        if name.startswith("opacus.") and getattr(each, "_generate_noise", None) is quiet
    ]
    state = torch.random.get_rng_state()
    try:
        torch.random.manual_seed(int(rng.integers(2**62)))
        for each in homes:
            each._generate_noise = noise
        kind.pre_step = pre_step
        yield
    finally:
        kind.pre_step = before
        for each in homes:
            each._generate_noise = quiet
        torch.random.set_rng_state(state)
