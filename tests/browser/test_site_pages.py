"""The site in a browser: axe-core finds nothing, no page is wider than the screen. How to run: `test_report_page`."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from chromium import Chromium

pytestmark = pytest.mark.browser
ROOT = Path(__file__).parents[2]
PAGES = (
    "index.html",
    "certify/index.html",
    "verdicts/index.html",
    "api/index.html",
    "gallery/index.html",
    "errata-atlas/index.html",
    "tutorials/reviewer/index.html",
)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    place = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", str(place)]
    subprocess.run(command, cwd=ROOT, check=True, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"})
    return place


@pytest.fixture(scope="module")
def browser():
    with Chromium() as found:
        yield found


@pytest.mark.parametrize("width", [1400, 390])
@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing(site, browser, name, width):
    page = browser.page(width, 900)
    page.open(site / name)
    page.eval(Path(os.environ["AXE_CORE"]).read_text(encoding="utf-8"))
    found = page.eval("axe.run().then((r) => r.violations.map((v) => [v.id, v.nodes.slice(0, 3).map((n) => n.html)]))")
    assert found == []
    assert page.eval("document.documentElement.scrollWidth") <= width
