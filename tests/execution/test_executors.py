"""The same record here and on two processes; blocks survive a crash."""

import json
import os
import signal
import threading

import pytest

from dpverify import Pair, PureDP
from dpverify.auditing.pipeline import audit
from dpverify.errors import LostWorker, ParameterError, RunError, UsageError
from dpverify.execution.executors import ordered_map


class SmallBlocks:
    """x + Laplace(1) in blocks of 400 trials; counts the trials that it releases in this process."""

    trials_per_block = 400
    released = 0

    def release(self, data, *, rng, size):
        type(self).released += size
        return data + rng.laplace(0.0, 1.0, size)


def record(target=None, **more):
    SmallBlocks.released = 0
    target = SmallBlocks() if target is None else target
    made = audit(target, claim=PureDP(1.0), pair=Pair(0, 1), trials=8000, seed=5, **more).to_dict()
    made.pop("seconds")
    return made


def test_two_processes_make_the_same_record():
    assert record(jobs=2) == record(jobs=1)


def sizes(count, drawn):
    for size in range(count):
        drawn.append(size)
        yield size


def test_few_tasks_are_drawn_ahead():
    # with 10^9 trials there are tens of thousands of blocks: none may wait before there is room for it
    drawn, ahead = [], []
    for done, result in enumerate(ordered_map(abs, sizes(500, drawn), jobs=2)):
        assert result == done
        ahead.append(len(drawn) - done)
    assert max(ahead) <= 100  # of 500; workers that finish while results are taken are given more
    assert len(drawn) == 500


def test_what_cannot_travel_runs_here():
    lock = threading.Lock()  # cannot be pickled
    assert list(ordered_map(lambda each: (each, type(lock)), [1, 2], jobs=2)) == [(1, type(lock)), (2, type(lock))]


def test_a_failing_task_raises_and_leaves_the_workers_usable():
    with pytest.raises(ZeroDivisionError):
        list(ordered_map(_inverse, [1, 0, *range(1, 200)], jobs=2))
    assert list(ordered_map(_inverse, [1, 2], jobs=2)) == [1.0, 0.5]


def _inverse(x):
    return 1 / x


def _leave(x):
    raise SystemExit(x)


def _die(x):
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.process
def test_a_dead_worker_is_no_result_and_nobody_leaves_with_it():
    with pytest.raises(LostWorker, match="a worker of loky was lost"):
        list(ordered_map(_die, [0], jobs=2))
    with pytest.raises(RunError, match="SystemExit: 0"):
        list(ordered_map(_leave, [0], jobs=2))
    assert list(ordered_map(_inverse, [1, 2], jobs=2)) == [1.0, 0.5]


def test_a_backend_that_joblib_does_not_know_is_a_usage_error():
    with pytest.raises(UsageError, match="backend 'spark'"):
        list(ordered_map(abs, [1], backend="spark"))
    for wrong in ("", None, 3):
        with pytest.raises(ParameterError, match="backend"):
            list(ordered_map(abs, [1], backend=wrong))


def test_a_crash_loses_no_block_and_counts_none_twice(tmp_path):
    file = tmp_path / "blocks.jsonl"
    whole = record()

    class Crash(Exception):
        pass

    done = []

    def stop_after_two(size):
        done.append(size)
        if len(done) == 2:
            raise Crash

    with pytest.raises(Crash):
        record(progress=stop_after_two, checkpoint=file)
    lines = file.read_text().splitlines()
    assert len(lines) == 2
    file.write_text("\n".join([*lines, lines[0], lines[1][: len(lines[1]) // 2]]))  # repeated, and cut short
    assert record(checkpoint=file) == whole
    fresh = SmallBlocks.released
    assert record(checkpoint=file) == whole
    again = SmallBlocks.released
    assert fresh - again == 8000 - 1600 - 2 * 400  # certifying trials that were missing
    # selection, the release that shows the form, the sentinel's calls, its single releases, and whether one draws
    assert again == 1600 + 1 + 7 * 31 + 2 * 15 + 1


def test_blocks_of_another_experiment_do_not_count(tmp_path):
    file = tmp_path / "blocks.jsonl"
    record(checkpoint=file)
    other = audit(SmallBlocks(), claim=PureDP(1.0), pair=Pair(0, 1), trials=8000, seed=6, checkpoint=file)
    alone = audit(SmallBlocks(), claim=PureDP(1.0), pair=Pair(0, 1), trials=8000, seed=6)
    assert (other.right, other.wrong) == (alone.right, alone.wrong)
    assert len({json.loads(line)["key"][1] for line in file.read_text().splitlines()}) == 2


def test_sequential_audits_refuse_a_checkpoint(tmp_path):
    with pytest.raises(ParameterError, match="checkpoint"):
        record(sequential=True, checkpoint=tmp_path / "f")
