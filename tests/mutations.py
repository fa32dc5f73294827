"""What the tests are worth: hand-made bugs, one at a time in a copy of the tree, and the tests of the bug's wing.

    python -m tests.mutations [--wing W] [-k NAME] [--jobs N]     CAUGHT by which test, or SURVIVED
    python -m tests.mutations --check                             only whether every line is still there, once

The list is `mutations.toml`. `caught = false` is a bug that no test of its wing finds: a gap that is known. Exit 1
where a bug that is to be caught survives; 2 where the list is stale, or what caught a bug fails without it, too.
"""

import argparse
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).parents[1]
LIMIT = 1800.0  # seconds for one bug; a run that does not end is noticed, too
FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+?\.py(?:::\S+?(?:\[.*?\])?)?)(?: - .*)?$", re.MULTILINE)


def listed() -> dict:
    """The wings and their bugs, as they are written."""
    return tomllib.loads((ROOT / "tests/mutations.toml").read_text(encoding="utf-8"))


def stale(found: dict) -> list[str]:
    """What is wrong with the list: lines that are not there exactly once, names given twice, tests that are gone."""
    tests = {each for some in (*found["wings"].values(), *(bug["first"] for bug in found["bug"])) for each in some}
    wrong, seen = [f"{each}: no such test" for each in sorted(tests) if not any(ROOT.glob(each))], set()
    for bug in found["bug"]:
        file, name = ROOT / bug["file"], bug["name"]
        times = file.read_text(encoding="utf-8").count(bug["line"]) if file.is_file() else 0
        if times != 1:
            wrong.append(f"{name}: its line is {times} times in {bug['file']}, and must be there once")
        if name in seen or bug["wing"] not in found["wings"] or bug["bug"] == bug["line"]:
            wrong.append(f"{name}: listed twice, of no wing, or no bug")
        seen.add(name)
    return wrong


def copied(folder: Path) -> Path:
    """A copy of all tracked files, compiled so that a changed source is seen whatever its time stamp."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True).stdout
    for name in (name for name in names.split("\0") if name and (ROOT / name).is_file()):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    compiled = [sys.executable, "-m", "compileall", "-q", "--invalidation-mode", "checked-hash"]
    subprocess.run([*compiled, "dpverify", "mechanisms", "algorithms"], cwd=folder, check=True)
    asked = [sys.executable, "-c", "import dpverify; print(dpverify.__file__)"]
    seen = subprocess.run(asked, cwd=folder, env=_environment(folder), capture_output=True, check=True, text=True)
    if not Path(seen.stdout.strip()).is_relative_to(folder):
        raise SystemExit(f"the copy is not what is imported, but {seen.stdout.strip()}")
    return folder


def _environment(folder: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1", "PYTEST_ADDOPTS": ""}


def failing(folder: Path, tests: list[str]) -> str | None:
    """The first test that fails there, in the order of the list; None where all pass. Files are globs."""
    found = [
        [each] if "::" in each else sorted(str(file.relative_to(folder)) for file in folder.glob(each))
        for each in tests
    ]
    files = dict.fromkeys(each for some in found for each in some)
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-rfE", "-p", "no:cacheprovider", *files]
    run = subprocess.Popen(
        command,
        cwd=folder,
        env=_environment(folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        said = run.communicate(timeout=LIMIT)[0]
    except subprocess.TimeoutExpired:
        return f"the time limit of {LIMIT:g} s"
    finally:
        with suppress(ProcessLookupError):
            os.killpg(run.pid, signal.SIGKILL)  # with what a failing test left behind
    if run.returncode in (4, 5):
        raise SystemExit(said)  # no such test, or none that is selected
    caught = FAILED.search(said)
    return None if run.returncode == 0 else caught[1] if caught else f"exit {run.returncode}: {said[-200:]!r}"


def tried(bug: dict, wing: list[str], free: "queue.Queue[Path]") -> str | None:
    """What notices the bug in a copy that is free, if anything does."""
    folder = free.get()
    file = folder / bug["file"]
    whole = file.read_text(encoding="utf-8")
    try:
        file.write_text(whole.replace(bug["line"], bug["bug"]), encoding="utf-8")
        by = failing(folder, bug["first"]) or failing(folder, wing)
    finally:
        file.write_text(whole, encoding="utf-8")
        free.put(folder)
    print(f"{bug['wing']:12} {bug['name']:38} {'SURVIVED' if by is None else f'CAUGHT by {by}'}", flush=True)
    return by


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wing")
    parser.add_argument("-k", dest="name", default="")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--check", action="store_true")
    given, found = parser.parse_args(), listed()
    bugs = [bug for bug in found["bug"] if given.wing in (None, bug["wing"]) and given.name in bug["name"]]
    wrong = stale(found) or ([] if bugs else ["no such bug"])
    if wrong or given.check:
        print(*(wrong or [f"{len(bugs)} bugs, every line in its place"]), sep="\n")
        return 2 if wrong else 0
    with tempfile.TemporaryDirectory() as held, ThreadPoolExecutor(given.jobs) as pool:
        whole = copied(Path(held).resolve() / "0")
        free: queue.Queue[Path] = queue.Queue()
        for number in range(given.jobs):
            free.put(shutil.copytree(whole, whole.parent / str(number), dirs_exist_ok=True) if number else whole)
        results = list(pool.map(lambda bug: tried(bug, found["wings"][bug["wing"]], free), bugs))
        tests = sorted({by for by in results if by and by.startswith("tests/")})
        unsound = failing(whole, tests) if tests else None
    for bug, by in zip(bugs, results, strict=True):
        if (by is not None) != bug["caught"]:
            print(f"{bug['name']}: caught = {'true' if by else 'false'} now")
    print(f"{sum(by is not None for by in results)} of {len(bugs)} caught")
    print(*([f"it fails without any bug, too: {unsound}"] if unsound else []), sep="\n", end="")
    return 2 if unsound else int(any(bug["caught"] and not by for bug, by in zip(bugs, results, strict=True)))


if __name__ == "__main__":
    sys.exit(main())
