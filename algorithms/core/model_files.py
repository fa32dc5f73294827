"""A researcher's own MDP as a file: npz with P, r, p0, and H where P is the same in every step.

P    (H, S, A, S) or (S, A, S)        probabilities of next states, rows summing to 1
r    (H, S, A) or (H, S, A, S)        mean rewards in [0, 1], drawn as Bernoulli; the last axis is the next state
     (S, A) or (S, A, S)              the same in every step, where P is
p0   (S,)                             law of the first state
H    a whole number                   of steps; only where P is (S, A, S)
"""

import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from algorithms.core.environments import Environment
from algorithms.tabular.model import ROUNDING
from dpverify.base import require
from dpverify.errors import ParameterError, RunError, UsageError

Array = npt.NDArray[np.float64]

NAMES = ("P", "r", "p0", "H")
SINGLE = 1e-6  # what rows in single precision may miss 1 by; they are divided by their sums
BROKEN = (ValueError, EOFError, MemoryError, NotImplementedError, zipfile.BadZipFile, zlib.error)


def load_environment(path: str | Path, *, horizon: int | None = None) -> Environment:
    """Load an MDP from an npz file and check all of it.

    Parameters
    ----------
    path : str or Path
        An npz file with the arrays P (H, S, A, S) or (S, A, S), r (H, S, A) in [0, 1], p0 (S,), and no others but H.
        Where P is (S, A, S), r may be (S, A), too. Rewards that depend on the next state have it as a last axis.
    horizon : int or None
        H, where P is (S, A, S) and the file has no H.

    Returns
    -------
    Environment
        It has the name of the file. Rewards are Bernoulli with the means r.

    Raises
    ------
    UsageError
        For a file that is missing, cannot be read, or has other arrays.
    ParameterError
        For wrong shapes, NaN, rewards outside of [0, 1], negative probabilities, and rows that do not sum to 1 within
        1e-6. The message names file, array and the first wrong place.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> law = np.zeros((2, 2, 2))
    >>> law[:, 0, 0] = law[:, 1, 1] = 1  # action 0 leads to state 0, action 1 to state 1
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savez(f"{folder}/two.npz", P=law, r=[[0, 0], [0.5, 1]], p0=[1, 0], H=3)
    ...     two = load_environment(f"{folder}/two.npz")
    >>> two.name, two.model.transitions.shape
    ('two', (3, 2, 2, 2))
    """
    arrays = _read_arrays(path)
    law, rewards, initial = (arrays[name] for name in NAMES[:3])
    if law.ndim not in (3, 4) or law.shape[-1] != law.shape[-3] or 0 in law.shape:
        raise ParameterError(f"{path}: P.shape", law.shape, "(H, S, A, S) or (S, A, S)")
    if law.ndim == 3:
        steps = _number_of_steps(path, arrays.get("H"), horizon, rewards, law)
        law = np.broadcast_to(law, (steps, *law.shape))
        if rewards.shape in (law.shape[1:-1], law.shape[1:]):
            rewards = np.broadcast_to(rewards, (steps, *rewards.shape))
    elif horizon is not None:
        raise ParameterError("horizon", horizon, f"left out: P of {path} has an H of its own")
    elif "H" in arrays and arrays["H"].tolist() != len(law):
        raise ParameterError(f"{path}: H", arrays["H"].tolist(), f"{len(law)}, as P is {law.shape}")
    if rewards.shape not in (law.shape[:-1], law.shape):
        raise ParameterError(f"{path}: r.shape", rewards.shape, f"{law.shape[:-1]}, as P is {law.shape}")
    if initial.shape != law.shape[-1:]:
        raise ParameterError(f"{path}: p0.shape", initial.shape, f"{law.shape[-1:]}, as P is {law.shape}")
    _check_entries(f"{path}: r", rewards, (rewards >= 0) & (rewards <= 1), "in [0, 1]")
    return Environment(Path(path).stem, _as_laws(f"{path}: P", law), rewards, _as_laws(f"{path}: p0", initial))


def write_environment(path: str | Path, environment: Environment) -> Path:
    """Write an environment to an npz file that `load_environment` reads.

    Parameters
    ----------
    path : str or Path
        The file; its ending is .npz.
    environment : Environment
        One whose users are alike (`taste` 0).

    Returns
    -------
    Path
        The file.

    Raises
    ------
    ParameterError
        For another ending, and for users who differ: a file has one law for all.
    RunError
        For a place that cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from algorithms.core.environments import river_swim
    >>> from algorithms.core.model_files import load_environment
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     again = load_environment(write_environment(f"{folder}/river.npz", river_swim()))
    >>> bool((again.model.transitions == river_swim().model.transitions).all())
    True
    """
    if Path(path).suffix != ".npz":
        raise ParameterError("path", str(path), "a file whose ending is .npz")
    if environment.taste:
        raise ParameterError("environment.taste", environment.taste, "0: a file has one law for all users")
    model, means = environment.model, environment.reward_means
    if (means == means[..., :1]).all():
        means = means[..., 0]
    try:
        np.savez_compressed(path, P=model.transitions, r=means, p0=model.initial)
    except OSError as error:
        raise RunError(f"{path}: could not be written ({error.strerror})") from error
    return Path(path)


def _read_arrays(path: str | Path) -> dict[str, Array]:
    """The arrays by name, real numbers all of them."""
    try:
        with open(path, "rb") as file:
            if not zipfile.is_zipfile(file):
                raise UsageError(f"{path}: is no npz file; numpy.savez({str(path)!r}, P=P, r=r, p0=p0) makes one")
            file.seek(0)
            with np.load(file, allow_pickle=False) as kept:
                found = {name: np.asarray(kept[name]) for name in kept.files}
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror or error})") from error
    except UsageError:
        raise
    except BROKEN as error:
        raise UsageError(f"{path}: is a broken npz file, or holds Python objects ({error})") from error
    missing, more = [each for each in NAMES[:3] if each not in found], [each for each in found if each not in NAMES]
    if missing or more:
        wrong = f"lacks {', '.join(missing)}" if missing else f"holds {', '.join(more)}"
        raise UsageError(f"{path}: {wrong}; the arrays are P, r, p0, and H where P is (S, A, S)")
    for name, array in found.items():
        if array.dtype.kind not in "fiu":
            raise ParameterError(f"{path}: {name}.dtype", str(array.dtype), "that of real numbers")
    return {name: array if name == "H" else array.astype(np.float64) for name, array in found.items()}


def _number_of_steps(path: str | Path, own: Any, horizon: Any, rewards: Array, law: Array) -> int:
    """H of a law that is the same in every step: of the file, of the caller, or of rewards with an axis for it."""
    if own is not None and horizon is not None:
        raise ParameterError("horizon", horizon, f"left out: {path} has an H of its own")
    if own is None and horizon is None:
        if rewards.ndim > 2 and rewards.shape[1:] in (law.shape[:-1], law.shape):
            return len(rewards)
        raise UsageError(f"{path}: P is {law.shape}, the same in every step: give H in the file, or as horizon")
    given = horizon if own is None else own.tolist()
    require.integer(at_least=1, **{"horizon" if own is None else f"{path}: H": given})
    return int(given)


def _check_entries(name: str, array: Array, right: Any, allowed: str) -> None:
    """ParameterError with the first place that is wrong."""
    if not right.all():
        place = np.argwhere(~right)[0]
        raise ParameterError(f"{name}{place.tolist()}", float(array[tuple(place)]), allowed)


def _as_laws(name: str, array: Array) -> Array:
    """Rows that sum to 1; those in single precision are divided by their sums."""
    _check_entries(name, array, (array >= 0) & (array < np.inf), "a probability")
    sums = array.sum(axis=-1)
    near = np.abs(sums - 1) <= SINGLE
    if not near.all():
        place = np.argwhere(~near)[0] if array.ndim > 1 else np.array([], dtype=int)
        where = str(place.tolist()) if len(place) else ""
        raise ParameterError(f"{name}{where}.sum()", float(sums[tuple(place)]), "1")
    if np.abs(sums - 1).max() <= ROUNDING:
        return array
    return np.asarray(array / sums[..., None])
