"""Watched children: whatever foreign code does to its process, its task has an outcome and the others go on."""

import os
import select
import signal
import subprocess
import sys
import threading
import time
from dataclasses import asdict
from pathlib import Path

import hostile_tasks
import pytest

from dpverify.base.errors import ParameterError
from dpverify.runs import cluster, frames, process
from dpverify.runs.fork_server import fork_server
from dpverify.runs.interruption import Halt
from dpverify.runs.slots import frozen, side_by_side, thawed
from dpverify.runs.supervisor import Supervisor
from dpverify.runs.task import Answer, Ended, Limits, Start, Task

ENOUGH = Limits(timeout=120)
HERE = Path(__file__).parent


@pytest.fixture
def supervisor(monkeypatch):
    monkeypatch.syspath_prepend(str(HERE))
    supervisor = Supervisor(preload=("numpy",))  # with one thread
    yield supervisor
    supervisor.close()


def start(**arguments):
    return Start("hostile_tasks:starts", arguments)


STARTS = [pytest.param(None, id="new"), pytest.param(start(), id="copy")]  # of what a task's process is


def task(name, start=None, **arguments):
    return Task(f"hostile_tasks:{name}", arguments, start)


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


def test_many_tasks_have_one_start_and_processes_of_their_own(supervisor, tmp_path):
    begin = start(note=str(tmp_path / "note"))
    found = [supervisor.run(task("started", begin), ENOUGH).value for _ in range(3)]
    assert len({each["pid"] for each in found}) == 3
    assert len({each["started"] for each in found}) == 1
    assert found[0]["started"] not in [each["pid"] for each in found]
    assert (tmp_path / "note").read_text() == "started\n"
    assert all(gone(each["pid"]) for each in found)


@pytest.mark.parametrize("poison", hostile_tasks.POISONS)
def test_no_task_sees_what_another_did_to_its_process(supervisor, poison):
    clean = supervisor.run(task("state", start()), ENOUGH).value
    outcome = supervisor.run(task("state_after", start(), poison=poison), ENOUGH)
    assert outcome.error is None
    assert outcome.value != clean  # it would be seen
    assert supervisor.run(task("state", start()), ENOUGH).value == clean
    assert "nan" not in repr(supervisor.run(task("fine", start()), ENOUGH).seconds)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says what is open and mapped")
@pytest.mark.parametrize(
    "does", ["starts_a_thread", "opens_a_file", "shares_memory", "sets_a_timer", "starts_a_process"]
)
def test_what_cannot_be_copied_is_not(supervisor, does):
    found = [supervisor.run(task("started", start(does=does)), ENOUGH).value for _ in range(2)]
    assert [each["started"] for each in found] == [None, None]  # new processes, which start by themselves
    assert found[0]["pid"] != found[1]["pid"]


@pytest.mark.parametrize(("does", "kind"), [("fails_to_start", Answer), ("dies_at_the_start", Ended)])
def test_a_start_that_fails_is_its_tasks_outcome(supervisor, does, kind):
    outcome = supervisor._once(task("fine", start(does=does)), ENOUGH, None, None)
    assert isinstance(outcome, kind)
    if kind is Answer:
        assert outcome.error["text"] == "no start"
    else:
        assert outcome.text == "it ended with exit code 5 and gave no answer"


@pytest.mark.parametrize("name", ["ends", "reads_nowhere", "raises"])
def test_a_copy_that_ends_takes_nothing_along(supervisor, tmp_path, name):
    begin = start(note=str(tmp_path / "note"))
    arguments = {"code": 3} if name == "ends" else {}
    before = supervisor.run(task("started", begin), ENOUGH).value["started"]
    supervisor.run(task(name, begin, **arguments), ENOUGH)
    assert supervisor.run(task("started", begin), ENOUGH).value["started"] == before


@pytest.mark.parametrize("name", ["kills_its_parent", "fine"])
def test_a_template_that_is_gone_or_broken_is_done_without(supervisor, name):
    begin = start() if name == "kills_its_parent" else start(does="patches_the_fork")
    outcome = supervisor.run(task(name, begin), ENOUGH)
    assert outcome.attempts == 2
    assert isinstance(outcome, Answer) is (name == "fine")
    assert isinstance(supervisor.run(task("fine", start()), ENOUGH), Answer)


def test_a_template_that_does_not_answer_is_replaced(supervisor, monkeypatch):
    monkeypatch.setattr("dpverify.runs.supervisor.PATIENCE", 2.0)
    stopped = supervisor.run(task("started", start()), ENOUGH).value["started"]
    assert isinstance(supervisor.run(task("stops_its_parent", start()), ENOUGH), Answer)
    outcome = supervisor.run(task("fine", start()), ENOUGH)
    assert isinstance(outcome, Answer)
    assert outcome.attempts == 2  # the second in a new process
    assert gone(stopped)
    assert supervisor.run(task("started", start()), ENOUGH).value["started"] not in (None, stopped)


def test_a_worker_of_a_cluster_loads_anew_for_each_run(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", "")
    told = []
    monkeypatch.setattr("dpverify.runs.child.emit", told.append)
    one = Task("edited:value", {}, Start("edited:value", {}))
    for text in ("first", "second, and longer"):
        (tmp_path / "edited.py").write_text(f"def value():\n    return {text!r}\n")
        cluster.run([asdict(one), asdict(one)], "loky", 1, asdict(ENOUGH), [])
    values = [thawed(each["outcome"]).value for each in told]
    assert values == ["first", "first", "second, and longer", "second, and longer"]


def test_templates_beyond_the_room_are_ended(monkeypatch):
    monkeypatch.syspath_prepend(str(HERE))
    supervisor = Supervisor(room=2, preload=("numpy",))
    starts = [start(note=note) for note in ("", "/dev/null", "/dev/zero")]
    pids = [supervisor.run(task("started", each), ENOUGH).value["started"] for each in starts]
    assert sum(not gone(pid, 1) for pid in pids) == 2
    supervisor.close()
    assert all(gone(pid) for pid in pids)


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
        ("closes_everything", {}, "protocol", "closed the channel"),
        ("writes_everywhere", {}, "protocol", "somebody else wrote"),
    ],
)
@pytest.mark.parametrize("start", STARTS)
def test_a_death_is_named_and_tried_once_more(supervisor, name, arguments, kind, said, start):
    outcome = supervisor.run(task(name, start, **arguments), ENOUGH)
    assert isinstance(outcome, Ended)
    assert (outcome.kind, outcome.attempts) == (kind, 2)
    assert said in outcome.text
    assert isinstance(supervisor.run(task("fine", start), ENOUGH), Answer)


def test_a_death_that_does_not_come_again_costs_one_attempt(supervisor, tmp_path):
    outcome = supervisor.run(task("dies_the_first_time", note=str(tmp_path / "note")), ENOUGH)
    assert isinstance(outcome, Answer)
    assert outcome.attempts == 2


@pytest.mark.parametrize(
    ("name", "kind"), [("raises", "ValueError"), ("leaves", "SystemExit"), ("interrupts", "KeyboardInterrupt")]
)
def test_what_is_raised_is_an_answer_with_its_place(supervisor, name, kind):
    outcome = supervisor.run(task(name), ENOUGH)
    assert isinstance(outcome, Answer)
    assert outcome.error["type"] == kind
    assert outcome.error["file"].endswith("hostile_tasks.py")
    assert name in outcome.error["traceback"]


def test_an_answer_that_is_no_value_is_an_error(supervisor):
    assert supervisor.run(task("returns_no_value"), ENOUGH).error["type"] == "TypeError"


def test_the_time_limit_begins_with_the_task_s_own_process(supervisor):
    """What loads libraries for all children may take longer, on a busy machine, than a subject may."""
    assert isinstance(supervisor.run(task("fine"), ENOUGH), Answer)
    server = fork_server(("numpy",))._process.pid
    os.kill(server, signal.SIGSTOP)
    later = threading.Timer(6.0, os.kill, (server, signal.SIGCONT))
    later.start()
    outcome = supervisor.run(task("fine"), Limits(timeout=5.0))
    later.join()
    assert isinstance(outcome, Answer), outcome


@pytest.mark.parametrize("name", ["waits", "spins", "stops", "waits_and_blocks_signals"])
@pytest.mark.parametrize("start", STARTS)
def test_a_hang_ends_with_the_time_limit(supervisor, name, start):
    supervisor.run(task("fine", start), ENOUGH)
    outcome = supervisor.run(task(name, start), Limits(timeout=1.0))
    assert isinstance(outcome, Ended)
    assert (outcome.kind, outcome.attempts) == ("timeout", 1)  # it would hang again
    if name in ("waits", "spins"):
        file, line = outcome.place
        assert file.endswith("hostile_tasks.py")
        assert name in "\n".join(Path(file).read_text().splitlines()[line - 4 : line])
    assert isinstance(supervisor.run(task("fine", start), ENOUGH), Answer)


def test_the_place_of_a_crash_is_known(supervisor):
    file, line = supervisor.run(task("reads_nowhere"), ENOUGH).place
    assert "string_at" in Path(file).read_text().splitlines()[line - 1]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits address space")
def test_memory_is_limited(supervisor):
    outcome = supervisor.run(task("grows"), Limits(timeout=120, memory=300))
    assert isinstance(outcome, Answer)
    assert outcome.error["kind"] == "memory"


def test_a_flood_of_output_blocks_nothing_and_its_end_is_kept(supervisor):
    outcome = supervisor.run(task("floods"), ENOUGH)
    assert isinstance(outcome, Answer)
    assert 0 < sum(map(len, outcome.output)) <= process.KEPT


@pytest.mark.parametrize("start", STARTS)
def test_what_a_child_leaves_behind_is_ended(supervisor, tmp_path, start):
    note = tmp_path / "child"
    outcome = supervisor.run(task("forks_and_dies", start, note=str(note)), ENOUGH)
    assert outcome.kind == "exit"
    assert gone(int(note.read_text()))
    assert gone(supervisor.run(task("forks_and_goes_on", start), ENOUGH).value["child"])
    assert isinstance(supervisor.run(task("forks_and_forgets", start), ENOUGH), Answer)


def test_a_fork_server_that_is_killed_takes_its_children_along_and_is_replaced(supervisor):
    waiting = supervisor.run(task("started", start()), ENOUGH).value["started"]
    outcome = supervisor.run(task("kills_its_parent"), ENOUGH)
    assert (outcome.kind, outcome.attempts) == ("protocol", 2)
    assert gone(waiting)
    after = supervisor.run(task("fine", start()), ENOUGH)
    assert isinstance(after, Answer)
    assert after.attempts == 1


def test_children_have_this_folder_and_environment(supervisor, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert supervisor.run(task("folder"), ENOUGH).value["folder"] == str(tmp_path)


def test_of_many_tasks_each_has_one_outcome(supervisor):
    tasks = [task("fine", start(note=("", os.devnull)[index % 2]), index=index) for index in range(20)]
    tasks[7] = task("ends", start(), code=0)
    outcomes = {}
    for index, what in side_by_side(tasks, supervisor, ENOUGH, slots=2, halt=Halt()):
        assert index not in outcomes
        outcomes[index] = what
    assert sorted(outcomes) == list(range(20))
    assert outcomes.pop(7).kind == "exit"
    assert all(outcome.value["index"] == index for index, outcome in outcomes.items())


def test_a_halt_ends_children_and_what_waits(supervisor):
    halt, pids = Halt(), []
    tasks = [task("tells_and_waits") for _ in range(3)]
    for _, what in side_by_side(tasks, supervisor, ENOUGH, slots=2, halt=halt):
        if isinstance(what, dict):
            pids.append(what["pid"])
            halt.set()
        else:
            assert what.kind == "interrupted"
    assert pids
    assert all(gone(pid) for pid in pids)


def test_nobody_survives_a_parent_that_is_killed(tmp_path):
    note = tmp_path / "daemon"
    script = (
        f"import sys; sys.path[:0] = {[str(HERE), str(HERE.parents[1])]!r}\n"
        "from dpverify.runs.supervisor import Supervisor\nfrom dpverify.runs.task import Limits, Task\n"
        "supervisor = Supervisor()\n"
        f"supervisor.run(Task('hostile_tasks:forks_a_daemon', {{'note': {str(note)!r}}}), Limits())\n"
        "tell = lambda event: print(event['pid'], flush=True)\n"
        "supervisor.run(Task('hostile_tasks:tells_and_waits', {}), Limits(), None, tell)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as process:
        pid = int(process.stdout.readline())
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert gone(pid)
    assert gone(int(note.read_text()))


def test_outcomes_travel():
    for outcome in (Answer({"a": [1, None]}, None, {"files": {}}, ("x",), 2, 0.5), Ended("exit", "why", ("y",), 2)):
        assert thawed(frozen(outcome)) == outcome


@pytest.mark.parametrize("wrong", [{"timeout": 0}, {"timeout": float("nan")}, {"timeout": -1}, {"memory": 0}])
def test_limits_are_checked(wrong):
    with pytest.raises(ParameterError):
        Limits(**wrong)


def test_frames_come_whole_out_of_any_pieces():
    values = [{"a": "é\ud800\n"}, [1.5, float("inf")], "", None]
    packed = b"".join(map(frames.pack, values))
    for size in (1, 7, len(packed)):
        unpacker = frames.Unpacker()
        found = [each for at in range(0, len(packed), size) for each in unpacker.feed(packed[at : at + size])]
        assert found == values


def test_a_changed_byte_is_noticed():
    packed = frames.pack({"verdict": "REFUTED"})
    for at in range(len(packed)):
        changed = bytearray(packed)
        changed[at] ^= 1
        unpacker = frames.Unpacker()
        try:
            found = list(unpacker.feed(bytes(changed)))
        except frames.BrokenFrame:
            continue
        assert found in ([], [{"verdict": "REFUTED"}])  # a length that waits for more, or a digit's other spelling


def test_threads_of_slots_end(supervisor):
    list(side_by_side([task("fine")], supervisor, ENOUGH, slots=4, halt=Halt()))
    assert not [each for each in threading.enumerate() if each.name.startswith("dpverify-slot")]


def test_libraries_that_were_loaded_under_other_variables_are_another_server_or_a_doubt(tmp_path, monkeypatch):
    (tmp_path / "asks_for_it.py").write_text("import os\nfound = os.environ.get('COLOUR_OF_NOISE')\n")
    monkeypatch.syspath_prepend(str(HERE))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("COLOUR_OF_NOISE", "white")
    preload = ("asks_for_it",)

    def doubts():
        supervisor = Supervisor(preload=preload)
        answer = supervisor.run(Task("hostile_tasks:fine", {}, provenance=True), ENOUGH)
        supervisor.close()
        return [each for each in answer.provenance["doubts"] if "COLOUR_OF_NOISE" in each]

    assert doubts() == []
    before = fork_server(preload)
    monkeypatch.setenv("COLOUR_OF_NOISE", "pink")
    assert doubts() == ["env COLOUR_OF_NOISE was another when libraries were loaded"]
    assert fork_server(preload) is before
    monkeypatch.setenv("OMP_WAIT_POLICY", "passive")
    assert fork_server(preload) is not before
    assert doubts() == []
