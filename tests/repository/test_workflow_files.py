"""The shipped workflow and hook name options that exist."""

from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_workflow_asks_for_no_more_rights_than_it_needs():
    text = (ROOT / ".github/workflows/dpverify.yml").read_text(encoding="utf-8")
    assert "contents: read" in text
    assert "pull_request_target" not in text
    assert "secrets." not in text


def test_the_hook_names_options_that_exist():
    from dpverify.cli.options import HELP

    text = (ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")
    assert "dpverify audit --last-failed --quiet" in text
    assert "last_failed" in HELP
