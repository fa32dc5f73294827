"""A replay in another interpreter, which finds dpverify after everything of its own."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from dpverify.base.errors import RunError, UsageError
from dpverify.base.text import clean

INSIDE = """
import json, sys
sys.path[:0] = [""]
sys.path.append(sys.argv[1])
from dpverify.wild.asked import replayed
from dpverify.base.errors import DpverifyError
asked = json.loads(sys.stdin.read())
try:
    answer = replayed(**asked)
except DpverifyError as error:
    answer = {"error": str(error), "usage": error.exit_code == 2}
open(sys.argv[2], "w").write(json.dumps(answer))
"""


def replayed_elsewhere(*, python: str, asked: dict[str, Any], timeout: float, cwd: str | None = None) -> dict[str, Any]:
    """Lines, document and exit code of `asked.replayed` there; UsageError or RunError where there is none."""
    home = str(Path(__file__).parents[2])
    with tempfile.TemporaryDirectory(prefix="dpverify-") as folder:
        file = Path(folder, "answer.json")
        try:
            done = subprocess.run([python, "-c", INSIDE, home, str(file)], input=json.dumps(asked), text=True, cwd=cwd,
                                  stdout=sys.stderr, stderr=subprocess.PIPE, timeout=timeout, check=False)  # fmt: skip
        except OSError as error:
            raise UsageError(f"{python}: cannot be started ({error.strerror or error})") from None
        except subprocess.TimeoutExpired:
            raise RunError(f"{python}: no answer within {timeout:g} s") from None
        if not file.exists():
            last = " ".join((done.stderr or "").strip().splitlines()[-1:])
            raise RunError(f"{python}: ended with exit code {done.returncode} ({clean(last)})")
        found: dict[str, Any] = json.loads(file.read_text())
    if "error" in found:
        raise (UsageError if found["usage"] else RunError)(found["error"])
    return found
