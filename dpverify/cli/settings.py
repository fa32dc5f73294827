"""`[tool.dpverify]` of the nearest pyproject.toml: the command line's defaults; and its profiles.

    [tool.dpverify]             seed = 7            # of every command that has the option
    [tool.dpverify.audit]       jobs = 4            # of one command; lists for options that may be repeated
    [tool.dpverify.profiles.ci] trials = 20_000     # what --profile ci sets beside its own, for every command

What is typed beats a profile, a profile beats a command's table, and that beats the table of all.
"""

import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints, NamedTuple

import typer
from typer.models import OptionInfo

from dpverify.errors import UsageError

PROFILES: dict[str, dict[str, Any]] = {
    "quick": {"trials": 5_000, "transcripts": 16},
    "ci": {},
    "nightly": {"trials": 1_000_000, "transcripts": 256},
}


def read_settings(folder: Path) -> tuple[str, dict[str, Any]]:
    """Name and `[tool.dpverify]` of the nearest pyproject.toml from `folder` upwards; UsageError where it is none."""
    for place in (folder, *folder.parents):
        file = place / "pyproject.toml"
        if file.is_file():
            try:
                table = tomllib.loads(file.read_text(encoding="utf-8")).get("tool", {}).get("dpverify", {})
            except (OSError, ValueError) as error:
                raise UsageError(f"{file}: cannot be read ({error})") from error
            if not isinstance(table, dict):
                raise UsageError(f"{file}: tool.dpverify must be a table")
            return str(file), table
    return "", {}


TYPED = ("only_list", "dry_run", "public")  # what runs nothing, or leaves out a part of the output, is typed each time


class Setting(NamedTuple):
    """An option of a command: its parameter, the type of its values, whether it may be repeated."""

    parameter: str
    kind: type
    repeated: bool


def defaults(commands: Mapping[str, Callable[..., Any]], folder: Path) -> dict[str, dict[str, Any]]:
    """Command -> parameter -> default, as the parser's `default_map`; "profiles" holds those of the profiles.

    UsageError for an option that no command has, or a value of another kind.
    """
    file, table = read_settings(folder)
    options = {name: _options(command) for name, command in commands.items()}
    shared = {key: value for key, value in table.items() if key != "profiles" and key not in commands}
    profiles: dict[str, Any] = {**PROFILES, **_table(table, "profiles", file)}
    profiles = {name: {**PROFILES.get(name, {}), **_table(profiles, name, file)} for name in profiles}
    for key in {key for values in (shared, *profiles.values()) for key in values}:
        if not any(key in own for own in options.values()):
            raise UsageError(f"{file}: [tool.dpverify] {key!r}: no command has such an option")
    found: dict[str, dict[str, Any]] = {}
    for name, known in options.items():
        own = _table(table, name, file)
        unknown = [key for key in own if key not in known]
        if unknown:
            raise UsageError(f"{file}: [tool.dpverify.{name}] {unknown[0]!r}: {name} has no such option")
        found[name] = _of(known, {**shared, **own}, file)
        found[name]["profiles"] = {each: _of(known, values, file) for each, values in profiles.items()}
    return found


def profile(context: typer.Context, name: str | None) -> str | None:
    """`--profile NAME`: its values become the defaults of what is not typed."""
    if name is not None:
        known = (context.default_map or {}).get("profiles", PROFILES)
        if name not in known:
            raise UsageError(
                f"--profile {name}: must be one of {', '.join(known)}, or a table of [tool.dpverify.profiles]"
            )
        context.default_map = {**(context.default_map or {}), **known[name]}
    return name


def _table(table: dict[str, Any], name: str, file: str) -> dict[str, Any]:
    found = table.get(name, {})
    if not isinstance(found, dict):
        raise UsageError(f"{file}: [tool.dpverify] {name!r} must be a table")
    return found


def _options(command: Callable[..., Any]) -> dict[str, Setting]:
    """Its options by what they are called on the command line, without their dashes."""
    found = {}
    for name, hint in get_type_hints(command, include_extras=True).items():
        notes = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
        option = next((each for each in notes if isinstance(each, OptionInfo)), None)
        if option is None or option.is_eager or name in TYPED:
            continue
        kinds = [each for each in (get_args(get_args(hint)[0]) or (get_args(hint)[0],)) if each is not type(None)]
        repeated = get_origin(kinds[0]) is list
        kind = kinds[0] if kinds[0] in (bool, int, float) else str
        first = [option.default] if isinstance(option.default, str) else []  # where Annotated has the first name
        for spelled in [*first, *(option.param_decls or ())] or [f"--{name.replace('_', '-')}"]:
            found[spelled.lstrip("-")] = Setting(name, kind, repeated)
    return found


def _of(known: dict[str, Setting], values: dict[str, Any], file: str) -> dict[str, Any]:
    """Those values that a command has options for, by parameter."""
    return {
        known[key].parameter: _checked(known[key], value, f"{file}: [tool.dpverify] {key}")
        for key, value in values.items()
        if key in known
    }


def _checked(option: Setting, value: Any, where: str) -> Any:
    if option.repeated:
        if not (isinstance(value, list) and all(isinstance(each, str) for each in value)):
            raise UsageError(f"{where} = {value!r}: must be a list of texts")
        return value
    kinds = (int, float) if option.kind is float else (option.kind,)
    if not isinstance(value, kinds) or (isinstance(value, bool) and option.kind is not bool):
        wanted = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}[option.kind]
        raise UsageError(f"{where} = {value!r}: must be {wanted}")
    return value
