"""Where modules are looked for: a project never hides the standard library, whatever its files are called.

Imports nothing that a project could hide before `here_later` has been at work.
"""

import os
import sys

NEEDED = ("numpy", "scipy", "sklearn", "statsmodels", "joblib", "threadpoolctl", "typer", "rich", "jinja2")
_STANDARD = os.path.dirname(os.__file__)


def here_later(path: list[str]) -> list[str]:
    """The same folders, the current one - which Python may put first - behind those of the standard library."""
    here = [folder for folder in path if folder in ("", os.getcwd())]
    others = [folder for folder in path if folder not in here]
    place = _behind_standard(others)
    return [*others[:place], *here, *others[place:]]


def add(folder: str) -> None:
    """Modules of this folder can be imported: before installed ones, after those of the standard library."""
    if folder not in sys.path:
        sys.path.insert(_behind_standard(sys.path), folder)


def _behind_standard(path: list[str]) -> int:
    return max((place for place, each in enumerate(path) if _is_standard(each)), default=-1) + 1


def hiding(folders: list[str]) -> list[str]:
    """Files there with the name of a package that dpverify needs."""
    found = (os.path.join(folder, f"{name}{end}") for folder in folders for name in NEEDED for end in (".py", ""))
    return [file for file in found if os.path.isfile(file) or os.path.isfile(os.path.join(file, "__init__.py"))]


def unreachable(folders: list[str]) -> list[str]:
    """Files there with the name of a module of the standard library, which is imported in their place."""
    found = (os.path.join(folder, f"{name}.py") for folder in folders for name in sys.stdlib_module_names)
    return sorted(file for file in found if os.path.isfile(file))


def _is_standard(folder: str) -> bool:
    zipped = f"python{sys.version_info.major}{sys.version_info.minor}.zip"
    return folder in (_STANDARD, os.path.join(_STANDARD, "lib-dynload")) or os.path.basename(folder) == zipped
