"""A claim is proved about what the schema describes only: its relation, its unit, its view."""

import importlib.util
from fractions import Fraction

import numpy as np
import pytest

from dpverify import prove, PureDP
from dpverify.accounting.discrete_losses import ResponseLoss
from dpverify.accounting.noise_losses import LaplaceLoss
from dpverify.claims.neighbours import Relation, Unit, View
from dpverify.errors import UsageError
from dpverify.proof.moves import zcdp_of

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


def two_sums(data, *, rng):
    return [np.clip(data, 0, 1).sum() + rng.laplace(scale=2.0) for _ in range(2)]


def truthful(record, *, rng):
    return record if rng.random() < 0.75 else not record


@pytest.mark.parametrize(
    ("program", "data", "proved", "beyond"),
    [  # Laplace noise of eps: rho = eps - 1 + e^-eps, mu = -2 Phi^-1(e^(-eps/2)/2); a fair report: eps tanh(eps/2)
        (noisy_sum, DATA, "zcdp:0.367880", "zcdp:0.367879"),
        (noisy_sum, DATA, "gdp:1.0301", "gdp:1.0299"),
        (noisy_sum, DATA, "rdp:2,0.6192", "rdp:2,0.6190"),
        (two_sums, DATA, "zcdp:0.213062", "zcdp:0.213061"),
        (truthful, "value: category True|False", "zcdp:0.549307", "zcdp:0.549306"),
    ],
)
def test_what_laplace_noise_costs_in_other_notions(program, data, proved, beyond):
    assert prove(program, data=data, claim=proved).holds
    assert not prove(program, data=data, claim=beyond).holds


@pytest.mark.parametrize("kind", ["laplace", "pure"])
@pytest.mark.parametrize("eps", [1e-300, 1e-9, 1e-3, 0.1, 1.0, 4.0, 50.0])
def test_rho_of_a_pure_loss_is_at_least_every_divergence(kind, eps):
    loss = (LaplaceLoss if kind == "laplace" else ResponseLoss)(Fraction(eps))
    rho = float(zcdp_of(kind, np.array([eps]))[0])
    for alpha in (1 + 1e-6, 1.01, 1.5, 2.0, 3.0, 10.0, 1e3):
        assert loss.renyi(alpha) <= rho * alpha * (1 + 1e-9) + 1e-15
    assert 0 < rho <= eps * eps / 2 * (1 + 1e-15) or eps * eps == 0
    if eps >= 0.1:  # and it is the limit at alpha = 1
        assert loss.renyi(1 + 1e-7) >= rho * (1 - 1e-5)


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
