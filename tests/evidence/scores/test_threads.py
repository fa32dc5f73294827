"""Every library is held to one thread, also one that is loaded after the first fit."""

import subprocess
import sys

import pytest

CODE = """
import numpy
from threadpoolctl import threadpool_info, threadpool_limits
from dpverify.evidence.scores.score import one_thread

def counts():
    return [each["num_threads"] for each in threadpool_info()]

with threadpool_limits(limits=2):
    with one_thread():
        before = counts()
    assert set(before) == {1}, before
    import scipy.linalg, sklearn.ensemble
    with threadpool_limits(limits=2), one_thread():
        after = counts()
    assert set(after) == {1} and len(after) > len(before), (before, after)
"""


@pytest.mark.process
def test_libraries_are_held_to_one_thread_whenever_they_were_loaded():
    subprocess.run([sys.executable, "-c", CODE], check=True)
