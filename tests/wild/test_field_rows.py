"""Rows of the field report on the libraries themselves: FIELD_PYTHON=libs python -m pytest -m wild tests/wild.

FIELD_PYTHON is a folder with an environment a library, NAME/bin/python, as the rows say; a row whose library is not
there fails. Their last results stand in docs/field-report.md.
"""

import os
from pathlib import Path

import pytest

from dpverify.atlas.reading import read_atlas
from dpverify.faces.cli import run

pytestmark = [pytest.mark.wild, pytest.mark.filterwarnings("ignore")]

FOLDER = Path(__file__).parents[2] / "audits" / "field"
LIBRARIES = os.environ.get("FIELD_PYTHON", "libs")


@pytest.mark.parametrize("name", [entry.id for entry in read_atlas(FOLDER).entries])
def test_a_row_comes_out_as_it_says(name):
    assert run(["atlas", "run", name, "--folder", str(FOLDER), "--python", LIBRARIES]) == 0
