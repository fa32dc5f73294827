"""opacus on the tape, in an environment of its own: python -m pytest -m wild tests/wild (torch, opacus)."""

import numpy as np
import pytest

from dpverify.claims.neighbours import Pair
from dpverify.ledger.events import GaussianNoise, Ledger, Sensitivity
from dpverify.tape.tracer import trace

pytestmark = [pytest.mark.wild, pytest.mark.filterwarnings("ignore")]

DATA = np.array([[0.5, -1.0], [1.0, 2.0], [-1.5, 0.25], [0.75, 0.5], [2.0, -0.5]])
NEAR = np.vstack([[-3.0, 3.0], DATA[1:]])
LESS = DATA[:-1]


def trained(data, *, steps=1, multiplier=1.0, told=None, change=None, reduction="mean", divisor=None):
    """Weights of a linear model after DP-SGD on all of the data."""
    import opacus
    import torch
    from opacus.accountants import RDPAccountant

    model = opacus.GradSampleModule(torch.nn.Linear(2, 1, bias=False), loss_reduction=reduction)
    optimizer = opacus.optimizers.DPOptimizer(
        torch.optim.SGD(model.parameters(), lr=0.5),
        noise_multiplier=multiplier,
        max_grad_norm=1.0,
        expected_batch_size=divisor or len(data),
        loss_reduction=reduction,
    )
    if told is not None:
        account = RDPAccountant()
        optimizer.attach_step_hook(lambda optim: account.step(noise_multiplier=told, sample_rate=1.0))
    if change is not None:
        change(optimizer)
    x = torch.from_numpy(data.astype(np.float32))
    for _ in range(steps):
        optimizer.zero_grad()
        loss = model(x) ** 2
        (loss.mean() if reduction == "mean" else loss.sum()).backward()
        optimizer.step()
    return next(model.parameters()).detach().numpy().copy()


def look(second, *, first=DATA, ledger=None, beside=None, **settings):
    def release(data, *, rng, size):
        weights = trained(data, **settings)
        return weights if beside is None else (weights, beside(data))

    return trace(release, pair=Pair(first, second), ledger=ledger, transcripts=2, stress=False, timeout=600.0)


def moved(size, times=1):
    return Ledger.of((GaussianNoise(sigma=1.0, sensitivity=Sensitivity(replace=size, add_remove=size)), times))


@pytest.mark.parametrize("steps", [1, 3])
def test_training_is_traced_with_its_steps(steps):
    found = look(NEAR, steps=steps, told=1.0)
    assert found.status == "DERIVED", found.reasons
    (row,) = found.draws
    assert (row.family, row.count, row.moved) == ("normal", 2 * steps, 2 * steps)
    assert 0 < row.shift_l2 <= 2.0 * steps
    assert look(NEAR, steps=steps, ledger=moved(2.0, steps)).status == "CONFORMS"


def test_w8_the_divisor_depends_on_the_data():
    found = look(LESS)
    assert found.status == "CONTRADICTED"
    reason = next(each for each in found.reasons if each.code == "SETTING")
    assert "expected_batch_size" in reason.text
    assert "test_instruments_opacus.py" in reason.site
    assert look(LESS, divisor=5).status == "DERIVED"


def test_a_quarter_of_the_ledger_is_contradicted():
    assert look(NEAR, multiplier=0.25, ledger=moved(2.0)).status == "CONTRADICTED"
    assert look(NEAR, steps=2, ledger=moved(1.0)).status == "CONTRADICTED"


def test_the_accountant_is_told_of_more_noise():
    found = look(NEAR, multiplier=0.5, told=1.0)
    assert found.status == "CONTRADICTED"
    assert found.reasons[0].code == "STEPS"


def test_gradients_that_are_not_clipped():
    def unclipped(optimizer):
        def plain():
            for each in optimizer.params:
                each.summed_grad = each.grad_sample.sum(0)

        optimizer.clip_and_accumulate = plain

    found = look(DATA * [[40.0]] + NEAR * 0, first=NEAR, change=unclipped)
    assert found.status == "CONTRADICTED"
    assert found.reasons[0].code == "SENSITIVITY"


def test_noise_that_the_instrument_does_not_know_is_not_traced():
    from opacus.optimizers import DPOptimizer

    class Own(DPOptimizer):
        def add_noise(self):
            super().add_noise()

    def of_its_own(optimizer):
        optimizer.__class__ = Own

    def secure(optimizer):
        optimizer.secure_mode = True

    for change in (of_its_own, secure):
        found = look(NEAR, change=change)
        assert found.status == "NOT_TRACED"
        assert found.reasons[0].code == "UNKNOWN_LAW"


def test_half_the_noise_in_the_library_is_not_traced(monkeypatch):
    from opacus.optimizers import optimizer

    kept = optimizer._generate_noise
    monkeypatch.setattr(optimizer, "_generate_noise", lambda std, **rest: kept(std / 2, **rest))
    found = look(NEAR)
    assert found.status == "NOT_TRACED"
    assert found.reasons[0].code == "NOISE"


def test_what_no_step_protects_is_never_fine():
    import torch

    def seeded(data):
        torch.manual_seed(3)
        return 0.0

    for beside in (
        lambda data: data.sum(),
        lambda data: data.sum() + float(torch.randn(())),
        lambda data: len(data) + np.random.SeedSequence().entropy,
        seeded,
    ):
        found = look(NEAR, beside=beside)
        assert found.status == "NOT_TRACED", (found.status, found.reasons)
        assert found.certified() is None
