"""Writing results to files: which formats there are, and clear errors for places that cannot be written."""

from importlib import import_module
from pathlib import Path

from dpverify.base.errors import UsageError
from dpverify.faces.options import Outputs

FORMATS = {"json": "as_json", "html": "as_html", "markdown": "as_markdown", "junit": "as_junit", "sarif": "as_sarif"}


def check(outputs: Outputs) -> None:
    """Refuses, before hours of trials, a place that cannot be written; makes missing folders."""
    for form, name in outputs.asked():
        path = Path(name)
        if path.is_dir():
            raise UsageError(f"--{form} {name}: is a folder")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a", encoding="utf-8"):
                pass
        except OSError as error:
            raise UsageError(f"--{form} {name}: cannot be written ({error.strerror})") from error


def write(result: object, outputs: Outputs) -> None:
    """Renders `result` into every file that was asked for."""
    for form, name in outputs.asked():
        text: str = import_module(f"dpverify.faces.report.{FORMATS[form]}").render(result)
        Path(name).write_text(text, encoding="utf-8")
