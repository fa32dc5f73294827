"""Rows of the field report on the libraries themselves: FIELD_PYTHON=libs python -m pytest -m wild tests/wild.

FIELD_PYTHON is a folder with an environment a library, NAME/bin/python, as the rows say; a row whose library is not
there fails. Their last results stand in docs/field-report.md.
"""

import os

import pytest

from audits.atlas.__main__ import main
from audits.atlas.reading import FIELD, read_atlas

pytestmark = [pytest.mark.wild, pytest.mark.filterwarnings("ignore")]

LIBRARIES = os.environ.get("FIELD_PYTHON", "libs")


@pytest.mark.parametrize("name", [entry.id for entry in read_atlas(FIELD).entries])
def test_a_row_comes_out_as_it_says(name):
    assert main(["run", name, "--python", LIBRARIES]) == 0
