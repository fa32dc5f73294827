"""Writing results to files: whole or not at all, and never an old report that looks like a new one."""

import contextlib
import errno
import glob
import os
import stat
import tempfile
from dataclasses import dataclass, fields
from importlib import import_module
from pathlib import Path

from dpverify.errors import RunError, UsageError

CODE = {".py", ".pyi", ".pyx", ".pyc", ".so"}
FORMATS = {"json": "json_file", "html": "html_page", "markdown": "markdown", "junit": "junit", "sarif": "sarif"}


@dataclass(frozen=True)
class Outputs:
    """Files to write; None for those that nobody asked for."""

    json: str | None = None
    html: str | None = None
    markdown: str | None = None
    junit: str | None = None
    sarif: str | None = None

    def asked(self) -> list[tuple[str, str]]:
        """(format, path) of every file to write."""
        named = {each.name: getattr(self, each.name) for each in fields(self)}
        return [(form, path) for form, path in named.items() if path is not None]


def check_writable(outputs: Outputs) -> None:
    """Refuses, before hours of trials, a place that cannot be written; makes missing folders, and no file.

    Two reports cannot have one place, and code is no place for a report.
    """
    taken: dict[Path, str] = {}
    for form, name in outputs.asked():
        path = Path(name)
        try:
            if path.is_dir():
                raise UsageError(f"--{form} {name}: is a folder")
            place = path.resolve()
            if {path.suffix, place.suffix} & CODE:
                raise UsageError(f"--{form} {name}: is the name of a Python file; a report would replace code")
            for other, earlier in taken.items():
                if place == other or (place.exists() and other.exists() and place.samefile(other)):
                    raise UsageError(
                        f"--{form} {name}: is where --{earlier} goes; each report needs a place of its own"
                    )
            if _is_ordinary(path):
                taken[place] = form
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.exists() and not os.access(path, os.W_OK):
                raise PermissionError(13, "it is write-protected")
            if not path.exists():
                descriptor, half = _half(path)
                os.close(descriptor)
                os.unlink(half)
            _clear_halves(path)
        except UsageError:
            raise
        except (OSError, RuntimeError, ValueError) as error:  # also links in a circle, and NUL in a name
            why = getattr(error, "strerror", None) or str(error)
            raise UsageError(f"--{form} {name}: cannot be written ({why})") from error


def write_reports(result: object, outputs: Outputs, *, early: bool = False) -> None:
    """Renders `result` into every file that was asked for; RunError, at the end, where one could not be written.

    `early`: into files only, where something will replace it; a pipe or a device takes one report.
    """
    problems = []
    for form, name in outputs.asked():
        if early and not _is_ordinary(Path(name)):
            continue
        try:
            text: str = import_module(f"dpverify.report.{FORMATS[form]}").render(result)
        except Exception as error:  # a bug of ours: the other reports are still written, and the run has failed
            problems.append(f"--{form} {name}: could not be made ({type(error).__name__}: {error})")
            continue
        try:
            replace(Path(name), text)
        except OSError as error:
            problems.append(f"--{form} {name}: could not be written ({error.strerror})")
    if problems:
        raise RunError("; ".join(problems))


def drop(outputs: Outputs) -> None:
    """Removes what an earlier run wrote, where a new report cannot be written before the end."""
    for _, name in outputs.asked():
        with contextlib.suppress(OSError):
            if _is_ordinary(Path(name)):
                Path(name).resolve().unlink(missing_ok=True)


def replace(path: Path, text: str) -> None:
    """The whole text or, should anything happen on the way, what was there before; permissions stay.

    Devices and pipes are written to directly. OSError where it cannot be done.
    """
    if not _is_ordinary(path):
        _pour(path, text)
        return
    place = path.resolve()  # a link goes on pointing there
    try:
        _swap(place, text)
    except OSError as error:  # a folder that takes no new file, a single file that is mounted
        if error.errno not in (errno.EACCES, errno.EPERM, errno.EBUSY, errno.EXDEV, errno.EROFS) or not place.exists():
            raise
        with tempfile.TemporaryFile("w", encoding="utf-8", errors="backslashreplace") as whole:
            whole.write(text)  # a limit on the size of files is met here and not in the old report
        place.write_text(text, encoding="utf-8", errors="backslashreplace")


def _pour(path: Path, text: str) -> None:
    """Into a device or a pipe; OSError for a pipe that nobody reads, which would take for ever."""
    descriptor = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    os.set_blocking(descriptor, True)
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.write(text)


def _swap(place: Path, text: str) -> None:
    descriptor, half = _half(place)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(half, stat.S_IMODE(place.stat().st_mode) if place.exists() else 0o666 & ~_umask())
        os.replace(half, place)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(half)
        raise


def _half(path: Path) -> tuple[int, str]:
    place = path.resolve()
    return tempfile.mkstemp(prefix=f".{place.name}.", suffix=".half", dir=place.parent)


def _clear_halves(path: Path) -> None:
    """Removes what runs left that were killed while they wrote."""
    place = path.resolve()
    for half in place.parent.glob(f".{glob.escape(place.name)}.*.half"):
        with contextlib.suppress(OSError):
            half.unlink()


def _is_ordinary(path: Path) -> bool:
    """True for a file, or for a name where one can be made."""
    return path.is_file() or not path.exists()


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
