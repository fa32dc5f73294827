"""The rule of tests/conftest.py: a run with a skipped test is red, and says which."""

from pathlib import Path

import pytest

pytest_plugins = ["pytester"]


FINE = [
    "def test(): pass",
    "import pytest\n@pytest.mark.skipif(True, reason='only Windows has it')\ndef test(): pass",
    "import pytest\n@pytest.mark.xfail(strict=True)\ndef test(): assert 0",
]
SKIPPING = [
    "import pytest\ndef test(): pytest.importorskip('no_such_package')",
    "import pytest\npytest.importorskip('no_such_package')",
    "import pytest\n@pytest.mark.skip(reason='later')\ndef test(): pass",
]


@pytest.fixture
def run(pytester):
    """A run of files with these texts, beside one that is fine, under the rule; how it ended and what it said."""

    def made(texts, workers):
        pytester.makeconftest((Path(__file__).parents[1] / "conftest.py").read_text(encoding="utf-8"))
        pytester.makepyfile(
            test_other="def test_fine(): pass",
            **{f"test_{index}": text + "\n" for index, text in enumerate(texts)},
        )
        result = pytester.runpytest_subprocess("-n", workers)
        return result.ret, result.stdout.str()

    return made


def test_a_run_without_a_skipped_test_is_green(run):
    code, said = run(FINE, "2")
    assert (code, "which counts as failed" in said) == (0, False)


@pytest.mark.parametrize("text", SKIPPING[:2])
def test_a_skipped_test_fails_the_run(run, text):
    code, said = run([text], "0")
    assert (code, said.count("which counts as failed: test_0.py")) == (1, 1)


def test_skipped_tests_of_workers_fail_the_run(run):
    """Each of them is named, and one is enough: the rule's list is what makes the run red."""
    code, said = run(SKIPPING, "2")
    assert code == 1
    for index in range(len(SKIPPING)):
        assert said.count(f"which counts as failed: test_{index}.py") == 1
