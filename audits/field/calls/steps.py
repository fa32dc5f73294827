"""One step of opacus on all records, noise multiplier 10: get_epsilon(1e-3) = 0.236 for sample rate 1."""

import numpy as np
import opacus
import torch


def trained(data, noise=10.0):
    model = opacus.GradSampleModule(torch.nn.Linear(2, 32, bias=False))
    with torch.no_grad():
        next(model.parameters()).zero_()
    optimizer = opacus.optimizers.DPOptimizer(
        torch.optim.SGD(model.parameters(), lr=1.0),
        noise_multiplier=noise,
        max_grad_norm=1.0,
        expected_batch_size=len(data),
        loss_reduction="mean",
    )
    optimizer.zero_grad()
    ((model(torch.from_numpy(data.astype(np.float32))) - 1) ** 2).mean().backward()
    optimizer.step()
    return next(model.parameters()).detach().numpy().copy()
