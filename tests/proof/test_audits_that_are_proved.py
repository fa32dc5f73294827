"""Which claims of `dpverify audit audits` are proved from the code: README and docs/proof.md say how many."""

import importlib
from pathlib import Path

import pytest

from audits import audit_randomised_response
from dpverify import prove

ROOT = Path(__file__).parents[2]
DATA = {"binary": "value: category 0|1", "5-ary": "value: category 0|1|2|3|4"}


@pytest.mark.parametrize("name", DATA)
def test_a_claim_of_the_audits_is_proved(name: str) -> None:
    (subject,) = [each for each in audit_randomised_response.subjects if each.name == name]
    assert prove(subject.target, data=DATA[name], claim=subject.claim, relation=subject.claim.relation).holds


def test_the_numbers_of_the_documents() -> None:
    files = sorted((ROOT / "audits").glob("audit_*.py"))
    modules = [importlib.import_module(f"audits.{file.stem}") for file in files]
    claims = [each for module in modules for each in getattr(module, "subjects", []) if not each.planted]
    text = f"{len(DATA)} of the {len(claims)} claims"
    assert text in (ROOT / "README.md").read_text()
    assert text in (ROOT / "docs" / "proof.md").read_text()
