"""The command line: `dpverify audit`, `certify`, `report`, ... Parses, delegates, sets the exit code.

Everything heavy is imported inside the commands: `dpverify --help` and a usage error load no numpy.
"""

import contextlib
import io
import os
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
import typer.core

from dpverify.base import early, text
from dpverify.base.text import clean
from dpverify.cli import (
    audit_command,
    certify_command,
    check_command,
    plan_command,
    replay_command,
    report_command,
    scores_command,
    settings,
    trace_command,
)
from dpverify.errors import DpverifyError, EXIT_FAILED, EXIT_USAGE

app = typer.Typer(
    help="Checks differential-privacy claims instead of repeating them.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _version(asked: bool) -> None:
    if asked:
        from dpverify import __version__

        print(f"dpverify {__version__}")
        raise typer.Exit


class Command(typer.core.TyperCommand):
    """A command whose help shows its options in groups."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        groups: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for each in self.get_params(ctx):
            row = each.get_help_record(ctx)
            if row is not None:
                kind = "Arguments" if isinstance(each, typer.core.TyperArgument) else "Options"
                groups.setdefault(getattr(each, "rich_help_panel", None) or kind, []).append(row)
        if len(groups.get("Options", ())) == 1:  # --help alone
            groups["Options"] = groups.pop("Options")
        for name, rows in groups.items():
            if rows:
                with formatter.section(name):
                    formatter.write_dl(rows)


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Checks differential-privacy claims instead of repeating them."""


COMMANDS: dict[str, Callable[..., Any]] = {
    "audit": audit_command.audit,
    "report": report_command.report,
    "certify": certify_command.certify,
    "scores": scores_command.scores,
    "plan": plan_command.plan,
    "trace": trace_command.trace,
    "replay": replay_command.replay,
    "check": check_command.check,
    "diff": report_command.diff,
    "init": plan_command.init,
}
for _name, _function in COMMANDS.items():
    app.command(_name, cls=Command)(_function)


def run(arguments: list[str] | None = None) -> int:
    """Runs one command and returns its exit code; every expected error is one line on stderr."""
    typed = sys.argv[1:] if arguments is None else arguments
    asked = audit_command.Asked(tuple(typed))
    with text.only_text():
        return _run(typed, asked)


def _run(arguments: list[str], asked: audit_command.Asked) -> int:
    try:
        defaults = settings.defaults(COMMANDS, Path.cwd())
        code: Any = app(arguments, prog_name="dpverify", standalone_mode=False, obj=asked, default_map=defaults)
        return code if isinstance(code, int) else 0
    except DpverifyError as error:
        return _complain(str(error), error.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is ending; what it has started is ended first
        return _complain("interrupted; no verdict", 130)
    except SystemExit:  # the parser's answer to a reader that went away, with the code of a refuted claim
        return EXIT_FAILED
    except OSError as error:  # a full disk behind stdout, say
        return _complain(f"stopped ({error.strerror or error})", EXIT_FAILED)
    except Exception as error:
        if hasattr(error, "format_message"):  # what the parser raises, wherever its class lives
            return _usage(error)
        traceback.print_exc()  # a bug of ours: never the exit code of a refuted claim
        return EXIT_FAILED


def _usage(error: Any) -> int:
    message = " ".join(str(error.format_message()).split())
    if type(error).__name__ == "NoArgsIsHelpError":
        print(error.format_message(), file=sys.stderr)
        return EXIT_USAGE
    end = "" if message.endswith("?") else "."
    return _complain(f"{message.rstrip('.')}{end} See dpverify --help.", EXIT_USAGE)


def _complain(message: str, code: int) -> int:
    with contextlib.suppress(OSError):
        print("dpverify: " + clean(" ".join(message.split())), file=sys.stderr)
    return code


def main() -> None:
    """Entry point. Streams that are closed count as the null device; one that cannot take its last lines fails.

    Signs that a stream's encoding does not have are written as their codes.
    """
    early.arm()
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w", encoding="utf-8"))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    code = run()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            code = code or EXIT_FAILED
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())  # or the interpreter tries again
    sys.exit(code)


if __name__ == "__main__":
    main()
