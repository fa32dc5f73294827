"""A claim is proved about what the schema describes only: its relation, its unit, its view."""

import importlib.util

import numpy as np
import pytest

from dpverify import prove, PureDP
from dpverify.claims.neighbours import Relation, Unit, View
from dpverify.errors import UsageError

DATA = "vector: real 0..1, rows 5..50"


def noisy_sum(data, *, rng):
    return np.clip(data, 0, 1).sum() + rng.laplace(scale=1.0)


def report(record, *, rng):
    return record + rng.laplace(scale=1.0)


@pytest.mark.parametrize("unit", [Unit.USER, Unit.TRAJECTORY])
@pytest.mark.parametrize("view", [View.CENTRAL, View.JOINT, View.SHUFFLE])
def test_a_claim_about_users_is_not_proved_of_rows(unit, view):
    with pytest.raises(UsageError, match='needs a column of kind = "unit"'):
        prove(noisy_sum, data=DATA, claim=PureDP(1, unit=unit, view=view))


@pytest.mark.parametrize("view", [View.CENTRAL, View.JOINT, View.SHUFFLE])
def test_what_a_curator_may_release_may_be_seen_in_part(view):
    assert prove(noisy_sum, data=DATA, claim=PureDP(1, view=view)).holds


def test_a_claim_about_one_message_is_not_proved_of_a_dataset():
    with pytest.raises(UsageError, match="local view"):
        prove(noisy_sum, data=DATA, claim=PureDP(1, view=View.LOCAL))
    proof = prove(report, data="value: real 0..1", claim=PureDP(1, view=View.LOCAL))
    assert proof.holds
    assert proof.claim.view is View.LOCAL


@pytest.mark.parametrize("relation", ["replace", "add-remove"])
def test_the_claim_names_the_relation_that_is_proved(relation):
    other = Relation.ADD_OR_REMOVE_ONE if relation == "replace" else Relation.REPLACE_ONE
    with pytest.raises(UsageError, match="give both the same relation"):
        prove(noisy_sum, data=DATA, claim=PureDP(1, relation=other), relation=relation)


def test_a_coin_of_too_many_values_is_named_as_such(tmp_path):
    file = tmp_path / "coin_of_a_million.py"
    file.write_text(
        "import secrets\ndef coin(bit):\n    return bit if secrets.randbelow(10**6) < 750_000 else 1 - bit\n"
    )
    spec = importlib.util.spec_from_file_location(file.stem, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = prove(module.coin, data="value: category 0|1", claim="pure:2")
    assert not found.holds
    assert "more than 1,024 values, too many to enumerate" in str(found.ended)
    assert found.ended.remedy.endswith("random.random() < p")
