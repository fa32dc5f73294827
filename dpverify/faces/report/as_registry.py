"""A certificate as an entry of the public registry of DP deployments (registry.opendp.org): YAML, a draft of tier 3.

The fields are those of its entries: deployment.product, dp_flavor, privacy_loss, model, accounting, implementation,
resources. What a certificate cannot know - who deploys what to whom, and why - stands there as TODO, never as a guess.
"""

import json
import math
from typing import Any

from dpverify.base.text import cleaned
from dpverify.faces.report import words
from dpverify.verdicts.certificate import Certificate
from dpverify.verdicts.statement import ADJACENCY, TRUST

TODO = "TODO"
FLAVORS = {
    "pure": "Pure DP",
    "approx": "Approximate DP",
    "zcdp": "Zero-Concentrated DP",
    "gdp": "Gaussian DP",
    "rdp": "Renyi DP",
    "tradeoff": "f-DP",
}
NUMBERS = {"pure": "epsilon", "approx": "epsilon", "zcdp": "rho", "gdp": "mu"}
UNITS = {"record": "Record-level", "trajectory": "User-level"}


def render(certificate: Certificate) -> str:
    """The entry as YAML."""
    return "\n".join(_lines(document(cleaned(certificate)), 0)) + "\n"


def document(certificate: Certificate) -> dict[str, Any]:
    """The entry as plain values."""
    first, plain = certificate.strongest, certificate.to_dict()
    parameters: dict[str, Any] = {NUMBERS.get(first.notion, "curve"): first.claimed}
    if first.notion not in NUMBERS:
        parameters = {"curve": first.claim}
    if first.notion == "approx":
        parameters["delta"] = first.delta
    evidence = [
        f"{row['what']}: {row['result']} ({row['how']}, {row['count']})" for row in plain["statement"]["validated"]
    ]
    return {
        "url_slug": TODO,
        "status": "Draft",
        "tier": 3,
        "deployment": {
            "product": {
                "name": certificate.subject,
                "data_curators": [TODO],
                "intended_use": TODO,
                "data_product_type": TODO,
                "data_product_region": TODO,
                "description": TODO,
                "publication_date": TODO,
                "data_product_sector": TODO,
            },
            "dp_flavor": {
                "name": FLAVORS[first.notion],
                "bound_on_input_distance": 1,
                "data_domain": TODO,
                "unprotected_quantities": TODO,
            },
            "privacy_loss": {
                "privacy_unit": UNITS.get(first.unit, first.unit),
                "privacy_unit_description": f"{first.relation}: {ADJACENCY[first.relation]}.",
                "privacy_parameters": parameters,
                "privacy_parameters_description": f"{certificate.status}: {words.ledger_sentence(first)}",
            },
            "model": {
                "model_name": first.view.capitalize(),
                "model_name_description": TRUST[first.view],
                "actors": TODO,
                "release_type": TODO,
                "data_source_type": TODO,
                "access_type": TODO,
            },
            "accounting": {"post_processing": TODO, "composition": words.ledger_sentence(first)},
            "implementation": {
                "pre_processing_eda_hyperparameter_tuning": TODO,
                "mechanisms": ["; ".join(row) for row in first.ledger] or [words.code_sentence(first)],
                "justification": {
                    "validated by dpverify": evidence,
                    "floating point": plain["statement"]["implementation"]["floating_point"],
                    "not proved": list(certificate.not_proved),
                    "certificate": plain["digest"],
                    "commit": certificate.identity.get("commit", ""),
                },
            },
            "resources": {"sources": [TODO], "registry_authors": [TODO]},
        },
    }


def _lines(value: dict[str, Any], depth: int) -> list[str]:
    """Block style; scalars as JSON writes them, which YAML reads as the same values."""
    found, space = [], "  " * depth
    for name, each in value.items():
        key = f"{space}{name if name.isidentifier() else json.dumps(name)}:"
        if isinstance(each, dict):
            found += [key, *_lines(each, depth + 1)]
        elif isinstance(each, list):
            found += [key, *(f"{space}  - {_scalar(item)}" for item in each)] if each else [f"{key} []"]
        else:
            found.append(f"{key} {_scalar(each)}")
    return found


def _scalar(value: Any) -> str:
    if isinstance(value, float):
        if math.isinf(value):
            return ".inf" if value > 0 else "-.inf"
        text = repr(value)  # YAML 1.1 reads 1e-05 as a word
        return text if "e" not in text or "." in text else text.replace("e", ".0e")
    return value if value == TODO else json.dumps(value, ensure_ascii=False)
