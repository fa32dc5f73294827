"""What the tests are worth: hand-made bugs, one at a time in a copy of the tree, and the tests of the bug's wing.

    python -m tests.mutations [--wing W] [-k NAME] [--jobs N]     CAUGHT by which test, or SURVIVED
    python -m tests.mutations --check                             only whether every line is still there, once

The list is `mutations.toml`. `caught = false` is a bug that no test of its wing finds: a gap that is known. Exit 1 where
a bug that is to be caught survives; 2 where the list is stale, or a test that caught a bug fails without it as well.
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
from pathlib import Path

ROOT = Path(__file__).parents[1]
LIMIT = 1800.0  # seconds for one bug; a run that does not end is noticed, too
FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+?\.py(?:::\S+?(?:\[.*?\])?)?)(?: - .*)?$", re.MULTILINE)


def listed(root: Path = ROOT) -> dict:
    """The wings and their bugs, as they are written."""
    return tomllib.loads((root / "tests/mutations.toml").read_text(encoding="utf-8"))


def stale(found: dict, root: Path = ROOT) -> list[str]:
    """What is wrong with the list: lines that are not there exactly once, names given twice, wings without tests."""
    wrong = [f"wing {wing}: no test for {each}" for wing, tests in found["wings"].items()
             for each in tests if not any(root.glob(each))]  # fmt: skip
    names = [bug["name"] for bug in found["bug"]]
    wrong += [f"{name}: listed twice" for name in sorted({name for name in names if names.count(name) > 1})]
    for bug in found["bug"]:
        wrong += [f"{bug['name']}: no test {each}" for each in bug.get("first", []) if not any(root.glob(each))]
        file = root / bug["file"]
        times = file.read_text(encoding="utf-8").count(bug["line"]) if file.is_file() else 0
        if times != 1:
            wrong.append(f"{bug['name']}: its line is {times} times in {bug['file']}, and must be there once")
        if bug["wing"] not in found["wings"] or bug["bug"] == bug["line"]:
            wrong.append(f"{bug['name']}: no wing {bug['wing']}, or no bug")
    return wrong


def copied(folder: Path) -> Path:
    """A copy of all tracked files, compiled so that a changed source is seen whatever its time stamp."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True).stdout
    for name in filter(None, names.split("\0")):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_file():
            shutil.copy(ROOT / name, folder / name)
    command = [sys.executable, "-m", "compileall", "-q", "--invalidation-mode", "checked-hash", "."]
    subprocess.run(command, cwd=folder, check=True)
    command = [sys.executable, "-c", "import dpverify; print(dpverify.__file__)"]
    seen = subprocess.run(command, cwd=folder, env=environment(folder), capture_output=True, check=True, text=True)
    if not Path(seen.stdout.strip()).resolve().is_relative_to(folder.resolve()):
        raise SystemExit(f"the copy is not what is imported, but {seen.stdout.strip()}")
    return folder


def environment(folder: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1", "PYTEST_ADDOPTS": ""}


def tested(folder: Path, tests: list[str]) -> str | None:
    """The first test that fails there, in the order of the list; None where all pass. Files are globs."""
    found = [[each] if "::" in each else sorted(map(str, folder.glob(each))) for each in tests]
    files = dict.fromkeys(each for some in found for each in some)
    if not files:
        return None
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-rfE", "-p", "no:cacheprovider", *files]
    run = subprocess.Popen(command, cwd=folder, env=environment(folder), stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True, start_new_session=True)  # fmt: skip
    try:
        said, _ = run.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return f"the time limit of {LIMIT:g} s"
    finally:
        try:
            os.killpg(run.pid, signal.SIGKILL)  # what a failing test left behind
        except ProcessLookupError:
            pass
    if run.returncode == 0:
        return None
    found = FAILED.search(said)
    if found is None and run.returncode in (4, 5):
        raise SystemExit(said)  # no such test: the list is wrong
    return found[1] if found else f"exit {run.returncode}: {said[-200:]!r}"


def judged(bug: dict, wings: dict[str, list[str]], free: "queue.Queue[Path]") -> tuple[dict, str | None]:
    folder = free.get()
    file = folder / bug["file"]
    whole = file.read_text(encoding="utf-8")
    try:
        file.write_text(whole.replace(bug["line"], bug["bug"]), encoding="utf-8")
        by = tested(folder, bug.get("first", [])) or tested(folder, wings[bug["wing"]])
    finally:
        file.write_text(whole, encoding="utf-8")
        free.put(folder)
    print(f"{bug['wing']:12} {bug['name']:32} {'SURVIVED' if by is None else f'CAUGHT by {by}'}", flush=True)
    return bug, by


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wing")
    parser.add_argument("-k", dest="name", default="")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    found = listed()
    if wrong := stale(found):
        print(*wrong, sep="\n", file=sys.stderr)
        return 2
    bugs = [bug for bug in found["bug"] if given.wing in (None, bug["wing"]) and given.name in bug["name"]]
    if given.check or not bugs:
        print(f"{len(bugs)} bugs, every line in its place" if bugs else "no such bug")
        return 0 if bugs else 2
    with tempfile.TemporaryDirectory() as held, ThreadPoolExecutor(given.jobs) as pool:
        free: queue.Queue[Path] = queue.Queue()
        for number in range(given.jobs):
            free.put(copied(Path(held) / str(number)))
        results = list(pool.map(lambda bug: judged(bug, found["wings"], free), bugs))
        by_tests = sorted({by for _, by in results if by and by.split("::")[0].endswith(".py")})
        unsound = tested(free.get(), by_tests) if by_tests else None
    lost = [bug["name"] for bug, by in results if by is None and bug["caught"]]
    gained = [bug["name"] for bug, by in results if by is not None and not bug["caught"]]
    print(f"{sum(by is not None for _, by in results)} of {len(results)} caught")
    for text, names in (("no longer caught", lost), ("caught now: write caught = true", gained)):
        print(*(f"{text}: {name}" for name in names), sep="\n", end="\n" if names else "")
    if unsound:
        print(f"it fails without any bug: {unsound}")
    return 2 if unsound else 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
