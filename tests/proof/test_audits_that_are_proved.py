"""Which claims of `dpverify audit audits` are proved from the code: README and docs/proof.md say how many."""

import importlib
from pathlib import Path

import pytest

from audits import audit_randomised_response
from dpverify import prove

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", ["binary", "5-ary"])
def test_a_claim_of_the_audits_is_proved(name: str) -> None:
    (subject,) = [each for each in audit_randomised_response.subjects if each.name == name]
    assert prove(subject.target, data=subject.schema, claim=subject.claim, relation=subject.claim.relation).holds


def test_a_checkout_of_this_library_beside_a_program_is_no_part_of_it(tmp_path, monkeypatch) -> None:
    """The audits are run from a checkout with the library that is installed in an environment."""
    (tmp_path / "dpverify").mkdir()
    (tmp_path / "dpverify" / "__init__.py").write_text("globals()\n")
    (tmp_path / "beside.py").write_text(
        "import numpy as np\nfrom dpverify import PureDP\n\n"
        "def noisy_sum(x, *, rng):\n    return x.sum() + rng.laplace(scale=1.0)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    noisy_sum = importlib.import_module("beside").noisy_sum
    assert prove(noisy_sum, data="vector: real 0..1, rows 5..50", claim="pure:1").holds


def test_the_numbers_of_the_documents() -> None:
    files = sorted((ROOT / "audits").glob("audit_*.py"))
    modules = [importlib.import_module(f"audits.{file.stem}") for file in files]
    claims = [each for module in modules for each in getattr(module, "subjects", []) if not each.planted]
    text = f"{sum(each.accept == 'proof' for each in claims)} of the {len(claims)} claims"
    assert text in (ROOT / "README.md").read_text()
    assert text in (ROOT / "docs" / "proof.md").read_text()
