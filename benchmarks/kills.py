"""Kills at random moments, each followed by --resume: python -m benchmarks.kills --backend loky --kills 30 --seed 1.

A small suite (true, refuted and slow subjects, a planted bug, a promise) runs undisturbed once. Then, in a fresh folder
each time, the command or one of its processes gets SIGINT, SIGTERM or SIGKILL at a uniform moment, and `--resume` goes
on. One line a kill; exit code 1 if any of these happened: exit 0 without all records, records that differ from the
undisturbed ones but for timing, an empty report, a run that does not end, a process that is left.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FACES = ("json", "html", "markdown", "junit", "sarif")
SIGNALS = {"SIGINT": signal.SIGINT, "SIGTERM": signal.SIGTERM, "SIGKILL": signal.SIGKILL}
UNTOLD = ("seconds", "attempts")  # of a record: what a second run has otherwise
LONGEST = 600.0  # seconds for one run
GONE = 20.0  # seconds in which processes of a killed run end
SUITE = """
import time
import numpy as np
from dpverify import ApproxDP, Pair, planted, PureDP, Subject
from dpverify.evidence.promises import Outcomes, Promise

class Noise:
    def __init__(self, scale, nap=0.0):
        self.scale, self.nap = scale, nap

    def release(self, data, *, rng, size):
        time.sleep(self.nap)
        return data + rng.laplace(0.0, self.scale, size)

    def log_ratio(self, outputs, pair):
        return (abs(outputs - pair.second) - abs(outputs - pair.first)) / self.scale

def gauss(data, *, rng, size):
    return data + rng.normal(0.0, 4.0, size)

def uniform(*, rng, size):
    return Outcomes(rng.random(size))

both = (Pair(0.0, 1.0), Pair(1.0, 0.0))
true = Subject(name="true", target=Noise(1.0), claim=PureDP(1.0), pairs=both, trials=4000)
subjects = [
    true,
    planted(true, "half", Noise(0.5)),
    Subject(name="false", target=Noise(0.5), claim=PureDP(1.0), pairs=both[:1], trials=4000, expected="REFUTED"),
    Subject(name="learned", target=gauss, claim=ApproxDP(1.5, 1e-4), pairs=both[:1], trials=4000),
]
slow = Noise(2.0, 0.003)
subjects += [Subject(name=f"slow{i}", target=slow, claim=PureDP(0.5), pairs=both[:1], trials=4000) for i in range(3)]
promises = [Promise(name="error", draw=uniform, bound=0.95, failure_probability=0.1, trials=2000)]
"""


@dataclass(frozen=True)
class Place:
    """A folder with the suite, and the commands that run it there."""

    folder: Path
    backend: str

    def start(self, *more: str) -> "subprocess.Popen[bytes]":
        """The audit, in a session of its own, with signals as a terminal leaves them."""
        asked = ["audit_kills.py", "--jobs", "2", "--backend", self.backend, "--quiet", "--no-tape", *more]
        faces = [f"--{face}=out.{face}" for face in FACES]
        command = [sys.executable, "-m", "dpverify", "audit", *asked, *faces]
        code = "import os, signal as s, sys; s.signal(s.SIGINT, s.SIG_DFL); os.execvp(sys.argv[1], sys.argv[1:])"
        root = str(Path(__file__).parents[1])
        with (self.folder / "said").open("ab") as said:
            return subprocess.Popen([sys.executable, "-c", code, *command], cwd=self.folder, stdout=said, stderr=said,
                                    start_new_session=True, env={**os.environ, "PYTHONPATH": root})  # fmt: skip

    def records(self) -> list[dict[str, Any]] | None:
        """Records and promises but for timing; None where there is no report."""
        try:
            document = json.loads((self.folder / "out.json").read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        rows = [*document["records"], *document["promises"]]
        return [{key: value for key, value in row.items() if key not in UNTOLD} for row in rows]

    def empty(self) -> list[str]:
        """Reports that hold nothing."""
        return [file.name for file in self.folder.glob("out.*") if not file.stat().st_size]


def family(pid: int) -> list[int]:
    """The process and its descendants."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            children.setdefault(parent, []).append(int(entry.name))
    found, pending = [], [pid]
    while pending:
        found.append(pending.pop())
        pending += children.get(found[-1], [])
    return found


def left(pids: list[int]) -> list[int]:
    """Those that have not ended `GONE` seconds later."""
    ends = time.monotonic() + GONE
    while True:
        alive = [pid for pid in pids if _lives(pid)]
        if not alive or time.monotonic() > ends:
            return alive
        time.sleep(0.2)


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def ended(run: "subprocess.Popen[bytes]") -> int | None:
    """Its exit code; None, after a kill, where it does not end."""
    try:
        return run.wait(LONGEST)
    except subprocess.TimeoutExpired:
        os.killpg(run.pid, signal.SIGKILL)
        run.wait()
        return None


def one(place: Place, rng: random.Random, seconds: float, wanted: list[dict[str, Any]]) -> tuple[str, list[str]]:
    """One kill and its resumption, in words; and what was wrong."""
    run = place.start()
    moment, name, anyone = rng.uniform(0.3, 0.95 * seconds), rng.choice(list(SIGNALS)), rng.random() < 0.5
    time.sleep(moment)
    pids = family(run.pid) if run.poll() is None else []
    victim = rng.choice(pids) if anyone and name == "SIGKILL" and pids else run.pid
    if run.poll() is None:
        os.kill(victim, SIGNALS[name])
    code, found = ended(run), place.records()
    wrong = [] if code is not None else ["does not end"]
    if code == 0 and found != wanted:
        wrong.append("exit 0 without the evidence")
    wrong += [f"{each} is empty" for each in place.empty()]
    wrong += [f"{len(alive)} processes are left" for alive in [left(pids)] if alive]
    again = ended(place.start("--resume"))
    if again != 0 or place.records() != wanted:
        wrong.append(f"resumed: exit {again}, records {'equal' if place.records() == wanted else 'differ'}")
    who = "the command" if victim == run.pid else "a process of it"
    return f"{name} to {who} at {moment:.1f} of {seconds:.1f} s: exit {code}; resumed: exit {again}", wrong


def main() -> int:
    """All kills of one backend."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--backend", choices=("loky", "dask", "ray"), default="loky")
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    rng, bad, wanted, seconds = random.Random(asked.seed), 0, None, 0.0
    for number in range(asked.kills + 1):
        with tempfile.TemporaryDirectory() as folder:
            place = Place(Path(folder), asked.backend)
            (place.folder / "audit_kills.py").write_text(SUITE, encoding="utf-8")
            if wanted is None:
                started = time.monotonic()
                code, seconds = ended(place.start()), time.monotonic() - started
                wanted = place.records()
                if code != 0 or wanted is None:
                    print(f"the undisturbed run ends with exit {code}: {(place.folder / 'said').read_text()}")
                    return 1
                print(f"{asked.backend}: undisturbed, {len(wanted)} records in {seconds:.1f} s", flush=True)
                continue
            words, wrong = one(place, rng, seconds, wanted)
            bad += bool(wrong)
            print(f"{number} {words}{'; WRONG: ' + '; '.join(wrong) if wrong else ''}", flush=True)
    print(f"{asked.backend}: {asked.kills} kills, {bad} wrong")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
