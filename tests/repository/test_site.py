"""The site: built strictly, without a dead link, with every public name; nothing of it is fetched from elsewhere."""

import html
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import dpverify

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[2]


def built(place, config="mkdocs.yml", folder=ROOT):
    """What `mkdocs build` says and gives; warnings are errors (not with -q: it hides them from --strict)."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", config, "-d", str(place)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONWARNINGS": "default"}
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=environment)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the site."""
    place = tmp_path_factory.mktemp("site")
    done = built(place)
    assert done.returncode == 0, done.stderr
    return place


def test_every_public_name_is_documented(site):
    page = (site / "api/index.html").read_text(encoding="utf-8")
    missing = [name for name in dpverify.__all__ if f'id="dpverify.{name}"' not in page]
    assert missing == []
    bare = [name for name in dpverify.__all__ if not (getattr(dpverify, name).__doc__ or "").strip()]
    assert bare == []


def test_examples_and_names_of_files_are_code(site):
    page = (site / "index.html").read_text(encoding="utf-8")
    assert '<span class="filename">sums.py</span>' in page
    for file in site.rglob("*.html"):
        text = re.sub(r"<code.*?</code>", "", file.read_text(encoding="utf-8"), flags=re.DOTALL)
        text = html.unescape(re.sub(r"<[^>]+>", "", text))
        assert "```" not in text, file
        assert ">>>" not in text, file


def test_the_gallery_has_every_row_of_the_table(site):
    from audits.papers import ROWS

    page = (site / "gallery/index.html").read_text(encoding="utf-8")
    assert all(f"audits/{row.audit}.py" in page for row in ROWS)
    assert page.count("<tr>") >= len(ROWS)


def test_a_reader_asks_no_other_server(site):
    for file in site.rglob("*.html"):
        text = file.read_text(encoding="utf-8")
        assert not re.search(r"<(?:script|img|iframe)[^>]+src=.?https?://", text), file
        assert not [each for each in re.findall(r"<link[^>]+>", text) if "stylesheet" in each and "http" in each], file


def test_a_dead_link_and_a_dead_anchor_stop_the_build(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/index.md").write_text("# Start\n\n[no](none.md)\n\n[no](index.md#nowhere)\n")
    rules = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nvalidation:")[2]
    (tmp_path / "mkdocs.yml").write_text(f"site_name: x\nplugins: []\nvalidation:{rules}")
    done = built(tmp_path / "out", folder=tmp_path)
    assert done.returncode == 1
    assert "none.md" in done.stderr
    assert "#nowhere" in done.stderr
