"""Which code this is: the commit of the project's repository, whether its files are those of the commit, our own files.

Versions of packages are in `environment`; the digest of what was audited is in each record (`runs.sources`).
"""

import os
import subprocess
from functools import lru_cache

from dpverify.runs.sources import own_digest

SECONDS = 5.0  # for git: a repository on a slow disk is then one that we know nothing of
# a repository's own settings may name programs to run
_QUIET = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.pager=cat")

Identity = dict[str, str | bool | None]


def identity() -> Identity:
    """commit ("" without a repository), dirty (None where nobody can say), and a digest of dpverify's own files.

    Dirty: a tracked file is not as committed, or there is a Python file that is not tracked. As it was when this
    process looked first, before anything was run.
    """
    return dict(_identity(os.getcwd()))


@lru_cache(maxsize=16)
def _identity(folder: str) -> tuple[tuple[str, str | bool | None], ...]:
    commit = _git(folder, "rev-parse", "--verify", "HEAD")
    changed = None if not commit else _git(folder, "status", "--porcelain", "--untracked-files=all")
    dirty = None if changed is None else any(_counts(line) for line in changed.splitlines())
    return (("commit", commit or ""), ("dirty", dirty), ("dpverify", own_digest()))


def _counts(line: str) -> bool:
    return not line.startswith("??") or line.rstrip('"').endswith(".py")


def _git(folder: str, *words: str) -> str | None:
    """What git says; None where there is none, or it fails."""
    try:
        done = subprocess.run(
            ["git", *_QUIET, *words], cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=True,
            errors="replace", stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
