"""The shipped workflow and hook: only the default branch keeps results, and only with a key of its own."""

from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_pull_requests_reuse_and_keep_nothing():
    text = (ROOT / ".github/workflows/dpverify.yml").read_text(encoding="utf-8")
    assert "${{ github.event_name == 'push' && '--keep' || '--changed-only' }}" in text
    save = text.index("actions/cache/save")
    assert "if: github.event_name == 'push'" in text[save : save + 90]
    assert "actions/cache@" not in text  # which would save from pull requests, too
    assert text.count("DPVERIFY_CACHE_KEY: ${{ secrets.DPVERIFY_CACHE_KEY }}") == 1
    assert text.index("pip install") < text.index("DPVERIFY_CACHE_KEY: $")  # installed code does not see it
    assert "contents: read" in text
    assert "pull_request_target" not in text


def test_the_hook_names_options_that_exist():
    from dpverify.faces.options import HELP

    text = (ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")
    assert "dpverify audit --changed-only --keep --quiet" in text
    assert {"changed_only", "keep"} <= set(HELP)
