"""Loops of opacus against their own accountant: python -m pytest -m wild tests/wild (torch, opacus)."""

import numpy as np
import pytest

from dpverify.errors import TargetError
from dpverify.tape.opacus_training import check_opacus

pytestmark = [pytest.mark.wild, pytest.mark.filterwarnings("ignore")]

ROWS, SIZE = 24, 4
_rng = np.random.default_rng(3)
DATA = _rng.normal(size=(ROWS, 2)).astype(np.float32), _rng.integers(0, 2, size=ROWS).astype(np.float32)


def loop(*, poisson=True, divisor=SIZE, multiplier=1.5, told=None, virtual=False, adam=False, clip=None, shuffle=True):
    def train(dataset):
        import torch
        from opacus import PrivacyEngine

        engine, model = PrivacyEngine(accountant="rdp"), torch.nn.Linear(2, 1)
        optimizer = torch.optim.Adam(model.parameters()) if adam else torch.optim.SGD(model.parameters(), lr=0.5)
        loader = torch.utils.data.DataLoader(dataset, batch_size=SIZE, shuffle=shuffle)
        model, optimizer, loader = engine.make_private(
            module=model,
            optimizer=optimizer,
            data_loader=loader,
            noise_multiplier=multiplier,
            max_grad_norm=0.5,
            poisson_sampling=poisson,
        )
        if divisor is not None:
            optimizer.expected_batch_size = divisor  # opacus takes it from the number of rows, opacus#819
        if clip is not None:
            optimizer.max_grad_norm = clip
            optimizer.noise_multiplier = multiplier * 0.5 / clip  # the noise stays, each row moves further
        if told is not None:
            optimizer.attach_step_hook(lambda _: engine.accountant.step(noise_multiplier=told, sample_rate=SIZE / ROWS))
        loss = torch.nn.BCEWithLogitsLoss()
        for _ in range(2 if virtual else 1):
            for number, (x, y) in enumerate(loader):
                if virtual:
                    optimizer.signal_skip_step(do_skip=number % 2 == 0)
                optimizer.zero_grad()
                loss(model(x)[:, 0], y).backward()
                optimizer.step()
        return engine

    return train


@pytest.mark.parametrize("settings", [{}, {"adam": True}])
def test_a_correct_loop_is_quiet(settings):
    found = check_opacus(loop(**settings), data=DATA)
    assert found.verdict == "AGREES", str(found)
    assert found.steps == ROWS // SIZE


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"poisson": False}, "SAMPLER"),  # opacus#80
        ({"poisson": False, "shuffle": False}, "SAMPLER"),
        ({"virtual": True, "told": 1.5}, "VIRTUAL_STEPS"),  # opacus#444: a step of two batches, accounted as one
        ({"divisor": None}, "DIVISOR"),
        ({"multiplier": 1.0, "told": 1.5}, "SIGMA"),
        ({"clip": 1.0, "told": 1.5}, "SIGMA"),
    ],
)
def test_patterns_of_public_threads_are_found(settings, word):
    found = check_opacus(loop(**settings), data=DATA)
    assert word in found.words, str(found)


def test_an_accountant_that_was_told_nothing_is_an_error():
    with pytest.raises(TargetError, match="0 kinds"):
        check_opacus(lambda dataset: None, data=DATA)
