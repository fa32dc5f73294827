"""Which interpreter has which library: NAME=PATH, or a folder of environments FOLDER/NAME/bin/python."""

import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from dpverify.atlas.entry import Place
from dpverify.base.errors import RunError, UsageError

ASK = (
    "import importlib.metadata as m, sys\n"
    "try:\n    print(m.version(sys.argv[1]))\nexcept m.PackageNotFoundError:\n    print('')\n"
)
SECONDS = 60.0


class NotRun(RunError):
    """There is no interpreter with this version of the library."""


class Environments:
    """Interpreters by name; the one that runs this for a name that nobody gave.

    Raises UsageError for a text that is neither NAME=PATH nor a folder.
    """

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._named: dict[str, Path] = {}
        self._folders: list[Path] = []
        for text in texts:
            name, sign, path = text.partition("=")
            if sign and re.fullmatch(r"[\w.-]+", name) and path:
                self._named[name] = Path(path)
            elif Path(text).is_dir():
                self._folders.append(Path(text))
            else:
                raise UsageError(f"--python {text!r}: must be NAME=INTERPRETER, or a folder with NAME/bin/python in it")

    def interpreter(self, name: str) -> str:
        """The path of the interpreter of this name."""
        found = [self._named[name]] if name in self._named else []
        found += [each / name / "bin" / "python" for each in self._folders]
        return next((str(each.absolute()) for each in found if each.exists()), sys.executable)

    def having(self, place: Place) -> str:
        """The interpreter that has the library in the version that the entry is about; else NotRun."""
        python = self.interpreter(place.environment)
        try:
            done = subprocess.run([python, "-c", ASK, place.package], capture_output=True, text=True, timeout=SECONDS,
                                  check=False)  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            raise NotRun(f"NOT RUN: the interpreter for {place.environment!r} does not answer ({error})") from None
        found = done.stdout.strip()
        if found != place.version:
            has = f"has {place.package} {found}" if found else f"has no {place.package}"
            raise NotRun(
                f"NOT RUN: needs {place.package} {place.version}, the interpreter for {place.environment!r} {has};"
                f" --python {place.environment}=INTERPRETER names another one"
            )
        return python
