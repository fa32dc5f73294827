"""The rule of tests/conftest.py: a run with a skipped test is red, and says which."""

from pathlib import Path

import pytest

pytest_plugins = ["pytester"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("def test(): pass", 0),
        ("import pytest\ndef test(): pytest.importorskip('no_such_package')", 1),
        ("import pytest\npytest.importorskip('no_such_package')", 1),
        ("import pytest\n@pytest.mark.skip(reason='later')\ndef test(): pass", 1),
        ("import pytest\n@pytest.mark.skipif(True, reason='only Windows has it')\ndef test(): pass", 0),
        ("import pytest\n@pytest.mark.xfail(strict=True)\ndef test(): assert 0", 0),
    ],
)
@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_skipped_test_fails_the_run(pytester, text, code, workers):
    pytester.makeconftest((Path(__file__).parents[1] / "conftest.py").read_text(encoding="utf-8"))
    pytester.makepyfile(text + "\n")
    pytester.makepyfile(test_other="def test_fine(): pass")
    result = pytester.runpytest_subprocess("-n", workers)
    assert result.ret == code
    assert ("which counts as failed" in result.stdout.str()) == bool(code)
