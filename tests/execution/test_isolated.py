"""Isolated calls: whatever foreign code does to its process, its call has an outcome and the others go on."""

import os
import select
import signal
import subprocess
import sys
import time
from multiprocessing import forkserver
from pathlib import Path

import hostile_tasks
import pytest

from dpverify.errors import ParameterError
from dpverify.execution import isolated as module
from dpverify.execution.interruption import Halt
from dpverify.execution.isolated import Answer, Call, Ended, isolated, limited, Limits, side_by_side

pytestmark = pytest.mark.process
ENOUGH = Limits(timeout=120)
HERE = Path(__file__).parent


@pytest.fixture(autouse=True)
def importable(monkeypatch):
    monkeypatch.syspath_prepend(str(HERE))


def call(name, **arguments):
    return Call(f"hostile_tasks:{name}", arguments)


def run(name, limits=ENOUGH, **arguments):
    return isolated(call(name, **arguments), limits)


def in_memory(name, limits=ENOUGH, **arguments):
    return isolated(Call(getattr(hostile_tasks, name), arguments), limits)


BOTH = pytest.mark.parametrize("run", [run, in_memory], ids=["by name", "in memory"])


def gone(pid, seconds=60):
    """True once no process has this number, or only a dead one that nobody has reaped."""
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state in "ZX":
            return True
        select.select([], [], [], 0.01)
    return False


@BOTH
def test_each_call_has_a_process_of_its_own_that_is_gone_afterwards(run):
    found = [run("fine").value["pid"] for _ in range(2)]
    assert len({os.getpid(), *found}) == 3
    assert all(gone(pid) for pid in found)


def test_no_call_sees_what_another_did_to_its_process():
    def parts(outcome):
        assert outcome.error is None
        assert outcome.seconds > 0
        return {**outcome.value, "random": None}, outcome.value["random"]

    clean, states = parts(run("state"))
    for poison in hostile_tasks.POISONS:
        found, _ = parts(run("state_after", poison=poison))
        assert found != clean or "random" in poison, poison  # it would be seen
    again, other_states = parts(run("state"))
    assert again == clean
    assert all(one != other for one, other in zip(states, other_states, strict=True))  # each child draws its own


@pytest.mark.parametrize(
    ("name", "arguments", "kind", "said"),
    [
        ("ends", {"code": 0}, "exit", "exit code 0"),
        ("ends", {"code": 1}, "exit", "exit code 1"),
        ("reads_nowhere", {}, "signal", "SIGSEGV"),
        ("aborts", {}, "signal", "SIGABRT"),
        ("dies", {"by": "SIGKILL"}, "signal", "SIGKILL (often: out of memory)"),
        ("dies", {"by": "SIGTERM"}, "signal", "SIGTERM"),
        ("rings_and_waits", {}, "signal", "SIGALRM"),
    ],
)
@BOTH
def test_a_death_is_named(run, name, arguments, kind, said):
    outcome = run(name, **arguments)
    assert isinstance(outcome, Ended)
    assert outcome.kind == kind
    assert said in outcome.text


@pytest.mark.parametrize("name", ["closes_everything", "writes_everywhere"])
def test_what_is_done_to_open_files_is_no_answer_of_somebody_else(name):
    outcome = run(name, Limits(timeout=5))
    assert outcome == Answer({"pid": outcome.value["pid"]}, None, outcome.output, outcome.seconds)


FORGED = {
    "answer": ["[" * 200_000, "1", "{}", "[]", '{"error": "x"}', '{"error": {"kind": 1}}', "no JSON"],
    "events": ["1\n", "[" * 200_000 + "\n", "null\n"],
}


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in FORGED.items() for text in texts])
def test_what_a_target_writes_in_place_of_its_answer_is_none(name, text):
    def work():
        (module._here.events.parent / name).write_text(text)
        os._exit(0)

    assert isolated(Call(work), ENOUGH).kind == "exit"


@pytest.mark.parametrize("name", ["answer", "events", "output"])
def test_a_pipe_in_place_of_a_file_blocks_nobody(name):
    def work():
        file = module._here.events.parent / name
        file.unlink(missing_ok=True)
        os.mkfifo(file)
        hostile_tasks.waits()

    assert isolated(Call(work), Limits(timeout=1.0)).kind == "timeout"


@pytest.mark.parametrize(
    ("name", "kind"), [("raises", "ValueError"), ("leaves", "SystemExit"), ("interrupts", "KeyboardInterrupt")]
)
@BOTH
def test_what_is_raised_is_an_answer_with_its_place(run, name, kind):
    outcome = run(name)
    assert isinstance(outcome, Answer)
    assert outcome.error["type"] == kind
    assert outcome.error["file"].endswith("hostile_tasks.py")
    assert name in outcome.error["traceback"]


@BOTH
def test_an_answer_that_is_no_value_is_an_error(run):
    assert run("returns_no_value").error["type"] == "TypeError"


@pytest.mark.parametrize("name", ["waits", "spins", "stops", "waits_and_blocks_signals"])
@BOTH
def test_a_hang_ends_with_the_time_limit(run, name):
    outcome = run(name, Limits(timeout=1.0))
    assert isinstance(outcome, Ended)
    assert outcome.kind == "timeout"
    if name in ("waits", "spins"):
        file, line = outcome.place
        assert file.endswith("hostile_tasks.py")
        assert name in "\n".join(Path(file).read_text().splitlines()[line - 4 : line])


def test_processor_time_can_be_limited():
    def work():
        limited(0.2)
        hostile_tasks.spins()

    outcome = isolated(Call(work), ENOUGH)
    assert (outcome.kind, outcome.text) == ("timeout", "its share of processor time is spent")


def test_the_place_of_a_crash_is_known():
    file, line = run("reads_nowhere").place
    assert "string_at" in Path(file).read_text().splitlines()[line - 1]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits address space")
def test_memory_is_limited():
    outcome = run("grows", Limits(timeout=120, memory=300))
    assert isinstance(outcome, Answer)
    assert outcome.error["kind"] == "memory"


def test_a_flood_of_output_blocks_nothing_and_its_end_is_kept():
    outcome = run("floods")
    assert isinstance(outcome, Answer)
    assert 0 < sum(map(len, outcome.output)) <= module.KEPT


def test_what_a_child_leaves_behind_is_ended(tmp_path):
    note = tmp_path / "child"
    assert run("forks_and_dies", note=str(note)).kind == "exit"
    assert gone(int(note.read_text()))
    assert gone(run("forks_and_goes_on").value["child"])
    assert isinstance(run("forks_and_forgets"), Answer)


def test_a_fork_server_that_is_killed_is_replaced():
    assert isinstance(run("kills_its_parent"), Ended)
    assert isinstance(run("fine"), Answer)


def test_a_fork_server_that_is_dying_is_replaced():
    for _ in range(5):  # its socket is closed before its parent can know that it is dead
        assert isinstance(run("fine"), Answer)
        os.kill(forkserver._forkserver._forkserver_pid, signal.SIGKILL)
        assert isinstance(run("fine"), Answer)


def test_children_have_this_folder_path_and_environment(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLOUR_OF_NOISE", "pink")
    found = run("state").value
    assert found["folder"] == str(tmp_path)
    assert found["variables"] == dict(os.environ)
    assert str(HERE) in found["path"]


def test_signals_that_the_parent_ignores_end_children():
    before = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGHUP)}
    try:
        assert run("dies", by="SIGHUP").text == "killed by SIGHUP"
        assert run("dies", by="SIGINT").error["type"] == "KeyboardInterrupt"
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def test_of_many_calls_each_has_one_outcome():
    calls = [call("fine", index=index) for index in range(12)]
    calls[7] = call("ends", code=0)
    outcomes = {}
    for index, what in side_by_side(calls, ENOUGH, jobs=2):
        assert index not in outcomes
        outcomes[index] = what
    assert sorted(outcomes) == list(range(12))
    assert outcomes.pop(7).kind == "exit"
    assert all(outcome.value["index"] == index for index, outcome in outcomes.items())


def test_a_halt_ends_children_and_what_waits():
    halt, pids, ended = Halt(), [], []
    for _, what in side_by_side([call("tells_and_waits") for _ in range(3)], ENOUGH, jobs=2, halt=halt):
        if isinstance(what, dict):
            pids.append(what["pid"])
            halt.set()
        else:
            ended.append(what.kind)
    halt.close()
    assert ended == ["interrupted"] * 3
    assert pids
    assert all(gone(pid) for pid in pids)


def test_an_event_starts_the_clock_anew_where_the_call_is_patient():
    def work():
        for _ in range(4):
            module.emit({"pair": 1})
            time.sleep(0.5)
        return "done"

    assert isolated(Call(work), Limits(timeout=1.0)).kind == "timeout"
    assert isolated(Call(work, patient=True), Limits(timeout=1.0)).value == "done"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends children with their parent")
def test_nobody_survives_a_parent_that_is_killed():
    script = (
        f"import sys; sys.path[:0] = {[str(HERE), str(HERE.parents[1])]!r}\n"
        "from dpverify.execution.isolated import Call, isolated, Limits, start_server\n"
        "start_server(('dpverify',))\n"
        "tell = lambda event: print(event['pid'], flush=True)\n"
        "isolated(Call('hostile_tasks:tells_and_waits'), Limits(), listener=tell)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as process:
        pid = int(process.stdout.readline())
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert gone(pid)


@pytest.mark.parametrize("wrong", [{"timeout": 0}, {"timeout": float("nan")}, {"timeout": -1}, {"memory": 0}])
def test_limits_are_checked(wrong):
    with pytest.raises(ParameterError):
        Limits(**wrong)
