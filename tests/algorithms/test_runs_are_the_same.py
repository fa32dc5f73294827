"""Characterization: what every learner releases, plays and is rated by, at given seeds, as when this was recorded.

Each word is the start of a digest over everything that a run shows, on the suite's own instances and at small sizes, to
thirty binary digits: linear algebra differs in the last ones from one processor to the next. Draws are NumPy's.
"""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

from algorithms.bernstein_vi.learner import BernsteinVI, central, local
from algorithms.beyond.black_box_instances import black_box
from algorithms.beyond.gaussian_counts import GaussianMessages
from algorithms.core.environments import river_swim
from algorithms.experiments import curves, selfplay
from algorithms.instances import full_size
from algorithms.sdp_pe.batches import ShuffledBatches
from algorithms.study import Study
from audits import (
    audit_apvi,
    audit_bernstein_vi,
    audit_lean,
    audit_nash_vi,
    audit_pucb,
    audit_sdp_pe,
    audit_shuffled_optimism,
    audit_vapvi,
)
from dpverify.base.seeding import Stage, stream
from dpverify.promises import check_promise
from mechanisms.datasets.visit_counts import CountLayout

KNOWN = json.loads(Path(__file__).with_name("digests_of_runs.json").read_text())
SUITE = (
    audit_pucb,
    audit_bernstein_vi,
    audit_nash_vi,
    audit_sdp_pe,
    audit_shuffled_optimism,
    audit_apvi,
    audit_vapvi,
    audit_lean,
)
DIGITS = 30  # binary
RIVER = CountLayout(H=6, S=4, A=2, rewards=True)


def digest(*arrays):
    """Of shapes and rounded values; -0.0 is 0.0, NaN is NaN."""
    told = hashlib.sha256()
    for each in arrays:
        array = np.asarray(each, dtype=np.float64)
        part, power = np.frexp(array)
        rounded = np.ldexp(np.round(np.ldexp(part, DIGITS)), power - DIGITS) + 0.0
        told.update(f"{array.shape}".encode())
        told.update(np.ascontiguousarray(rounded).tobytes())
    return told.hexdigest()[:16]


def rng(*key):
    return stream(20, Stage.EXPERIMENT, *key)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("module", SUITE, ids=lambda module: module.__name__.removeprefix("audits.audit_"))
def test_releases_and_ratios_of_the_suite(module):
    found = {}
    for subject in module.subjects:
        target, pair = subject.target, subject.pairs[0]
        outputs = [target.release(data, rng=rng(world), size=6) for world, data in enumerate(pair)]
        rated = [target.log_ratio(each, pair) for each in outputs] if hasattr(target, "log_ratio") else []
        found[subject.name] = digest(*outputs, *rated)
    assert found == KNOWN[module.__name__]


def pure(eps=1.0, users=40):
    agent = BernsteinVI(layout=RIVER, episodes=users, error=50.0, bonus_scale=1e-3)
    return {
        "tree": Study(agent=agent, privatizer=central(RIVER, users, eps), users=users, eps=eps),
        "local": Study(agent=agent, privatizer=local(RIVER, users, eps), users=users, eps=eps),
        "normal": Study(
            agent=agent, privatizer=GaussianMessages.local(RIVER, users, eps, 1e-3), users=users, eps=eps, delta=1e-3
        ),
    }


class Paid:
    """The action that paid most on average."""

    def plan(self, counts):
        return (counts.rewards / np.maximum(counts.visits, 1)).argmax(axis=-1)


def test_studies():
    found, river = {}, river_swim()
    for name, study in pure().items():
        regret = study.regret(river, runs=3, seed=5)
        kept = check_promise(study.promise(river, beta=0.05), seed=1, trials=40)
        found[name] = digest(regret, study.losses(river, [3, 4]), [kept.tightness, kept.rate_upper])
        if name != "normal":
            witness = study.witness(river, seed=3)
            found[f"{name}/witness"] = digest([witness.lower, witness.moved, witness.nodes, witness.draws])
            found[f"{name}/tap"] = digest(list(witness.tap.p_values.values()))
    batches = ShuffledBatches(layout=RIVER, eps=1.0, beta=1e-2, budget="calibrated")
    mine = Study(agent=Paid(), privatizer=batches, users=200, deployments=8, eps=1.0, delta=1e-2)
    found["batches"] = digest(
        mine.regret(river, runs=3, seed=5), mine.regret(river, runs=3, seed=5, exact=True), mine.losses(river, [3, 4])
    )
    assert found == KNOWN["studies"]


@pytest.mark.parametrize(
    "name", ["pucb", "bernstein-vi-jdp", "bernstein-vi-ldp", "dp-nash-vi-jdp", "dp-nash-vi-ldp", "sdp-pe"]
)
def test_rows_of_the_table(name):
    row = full_size(name, users=60)
    witness = row.witness(4)
    found = [digest([witness.lower, witness.moved, witness.nodes, witness.draws])]
    found.append(digest(list(witness.tap.p_values.values())))
    if name.endswith("ldp"):
        found.append(digest(row.canaries(3)))
    assert found == KNOWN[f"full-size/{name}"]


LEARNERS = ["UCBVI", "UCBVI-JDP", "UCBVI-LDP-gaussian", "PE", "SDP-PE", "shuffled-optimism", "batched-optimism"]


@pytest.mark.parametrize("name", LEARNERS)
def test_learning_curves(name):
    eps = None if name in curves.PLAIN else 1.0
    curve = curves.draw_curve(curves.CurveSettings("riverswim", name, eps, runs=2, episodes=60, seed=3))
    assert digest(*curve) == KNOWN[f"curve/{name}"]


def test_curves_of_games_and_the_black_box():
    found = {}
    for learner, eps in (("Nash-VI", None), ("DP-Nash-VI (JDP)", 10.0), ("DP-Nash-VI (LDP)", 10.0)):
        curve = selfplay.draw_selfplay(learner, eps, 20, 2, 3)
        found[learner] = digest(curve.regret, curve.output_gap)
    for name in ("pucb-known-rewards", "pucb", "bernstein-vi", "dp-nash-vi"):
        told = [black_box(name, noise=noise) for noise in (1.0, 0.0)]
        found[name] = digest(*(each.target.release(each.pair.second, rng=rng(), size=8) for each in told))
    assert found == KNOWN["games and black box"]


def test_promises_of_runs():
    found = {}
    for module in (audit_pucb, audit_nash_vi, audit_sdp_pe, audit_shuffled_optimism):
        for promise in module.promises:
            seen = promise.draw(rng=rng(), size=2)
            told = [seen.errors] if seen.active is None else [seen.errors, seen.active]
            told += [] if seen.failed is None else [seen.failed]
            found[f"{module.__name__}/{promise.name}"] = digest(*told, *(seen.invariants or {}).values())
    assert found == KNOWN["promises"]
