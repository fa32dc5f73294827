"""One run at full size: the witness is the exact log ratio, meets the ledger, and the tap sees hidden bugs."""

import json
from dataclasses import replace

import numpy as np
import pytest

from algorithms.bernstein_vi.learner import BernsteinVI, central, local
from algorithms.core.counting import own_counts, total_counts
from algorithms.core.environments import river_swim
from algorithms.core.node_evidence import NodeEvidence
from algorithms.core.noise_tap import NoiseTap, SIGNIFICANCE
from algorithms.core.online import run_online
from algorithms.core.users import play, Replaced, TapeUsers, Tree, TreeUsers
from algorithms.experiments import full_size_command
from algorithms.experiments.full_size import line
from algorithms.experiments.full_size import row as full_size_row
from algorithms.instances import full_size
from algorithms.sdp_pe.batches import ShuffledBatches
from audits.planted.draws import OneDrawForAll, shared_by_cells, SlightlyLess
from dpverify.base.seeding import Stage, stream
from dpverify.errors import RunError
from mechanisms.datasets.visit_counts import CountLayout
from mechanisms.privatizers.offline_tabular import OfflineTabularGaussian
from mechanisms.toolbox.noise_laws import LaplaceNoiseLaw

LAYOUT = CountLayout(H=6, S=4, A=2, rewards=True)
USERS = 300
ONLINE = ("pucb", "bernstein-vi-jdp", "bernstein-vi-ldp", "dp-nash-vi-jdp", "dp-nash-vi-ldp")


def streamed(source, noise, seed):
    """The evidence of a run with noise as drawn, and the same from `transcript_log_ratio`."""
    environment = river_swim()
    trees = [Tree.steady((s,) * 7, (1.0,) * 6, 2) for s in (0, 1)]
    users = Replaced(TapeUsers(environment, environment.tapes(seed, 1, 40)), 0, trees[0])
    learner = BernsteinVI(layout=LAYOUT, episodes=40, error=source.error, bonus_scale=1e-3)
    evidence = NodeEvidence(39, hasattr(source, "counter"), noise)
    released, first, second = [], [], []

    def watch(served):
        counts = served.counts
        if counts is None:
            return
        own = own_counts(served.episodes, LAYOUT)
        again = play(TreeUsers((trees[1],)), 0, served.policies, actions=2)
        other = own_counts(again, LAYOUT) if served.number == 0 else own
        evidence.step(own[0], other[0], counts[0].copy())
        released.append(counts.copy()), first.append(own), second.append(other)

    run_online(users, learner, source, runs=1, rng=stream(seed, Stage.EXPERIMENT), observe=watch)
    return evidence, source.transcript_log_ratio(*(np.stack(each, axis=1) for each in (released, first, second)))


@pytest.mark.parametrize("seed", range(3))
def test_the_streamed_log_ratio_is_that_of_the_whole_transcript(seed):
    jdp, ldp = central(LAYOUT, 40, 1.0), local(LAYOUT, 40, 1.0)
    for source, noise in ((jdp, jdp.counter.noise), (ldp, LaplaceNoiseLaw(ldp.scale))):
        evidence, (exact,) = streamed(source, noise, seed)
        assert evidence.moved == 36
        assert evidence.loss == pytest.approx(exact, abs=1e-9)
        assert abs(evidence.loss) < 0.9  # as drawn, a run shows little


@pytest.mark.parametrize("name", ONLINE)
def test_the_witness_meets_the_ledger_and_doubles_with_half_the_noise(name):
    honest = full_size(name, users=USERS)
    found = honest.witness(3)
    assert honest.upper == pytest.approx(1.0, rel=1e-12)
    assert 1 - 1e-6 < found.lower <= honest.upper
    assert found.tap.ok
    if name == "pucb":  # of one, for all
        assert found == honest.witness(3)._replace(seconds=found.seconds)
    halved = full_size(name, noise=0.5, users=USERS)
    assert halved.upper == honest.upper
    again = halved.witness(3)
    assert 2 - 1e-6 < again.lower <= 2
    assert not again.tap.ok


@pytest.mark.parametrize(
    ("name", "least", "most", "users"),
    [("dp-apvi", 1 - 1e-6, 1.0, 100), ("dp-vapvi", 0.3, 0.9, 100), ("sdp-pe", 0.98, 1.0, 600)],
)
def test_batch_and_offline_rows_meet_their_ledgers(name, least, most, users):
    fewer = {"transcripts": 300} if name == "dp-vapvi" else {}
    honest = replace(full_size(name, users=users), **fewer)
    found = honest.witness(3)
    assert least * honest.upper < found.lower <= honest.upper <= most
    assert found.tap.ok, found.tap
    assert found.moved >= 36
    linear = name == "dp-vapvi"
    assert (found.read, found.kind.split()[0], found.code) == (
        ("object", "statistical,", "") if linear else ("code", "exact", "CONFORMS")
    )
    halved = replace(full_size(name, noise=0.5, users=users), **fewer)
    assert halved.upper == honest.upper
    again = halved.witness(3)
    assert again.lower > 2 * found.lower  # rho by four, eps at delta by more than two
    assert again.code == ("" if linear else "UNMATCHED")
    assert not again.tap.ok


class _HalfOfIt(OfflineTabularGaussian):
    """States its noise, and adds half of what it drew."""

    def _noise(self, shape, rng):
        return super()._noise(shape, rng) / 2


class _HalfOfTheBits(ShuffledBatches):
    """The same for bits."""

    def release(self, episodes, layout, *, rng):
        exact = total_counts(episodes, layout)
        return exact + np.rint((super().release(episodes, layout, rng=rng) - exact) / 2)


def test_batch_and_offline_rows_read_the_code_and_not_what_the_object_says():
    row = full_size("dp-apvi", users=40)
    less = replace(row, learner=replace(row.learner, privatizer=_HalfOfIt(layout=row.learner.layout, rho=1.0)))
    found = less.witness(3)
    assert less.learner.privatizer.sigma == row.learner.privatizer.sigma
    assert found.lower == pytest.approx(4 * row.upper, rel=1e-6)
    assert (found.read, found.code, row.witness(3).code) == ("code", "UNMATCHED", "CONFORMS")
    row = full_size("sdp-pe", users=600)
    fields = {each: getattr(row.batches, each) for each in ("layout", "eps", "beta", "budget")}
    with pytest.raises(RunError, match="not the binomial that was drawn"):
        replace(row, batches=_HalfOfTheBits(**fields)).witness(3)


def test_a_row_that_reads_the_object_carries_the_verdict_on_the_law():
    fits = full_size_row("dp-apvi", 1, users=40)._replace(read="object")
    assert fits.come_from == "object; law fits"
    assert "object; law fits" in line(fits)
    assert fits._replace(tap=False).come_from == "object; law DOES NOT FIT"
    assert fits._replace(tap=False, read="code").come_from == "code's draws"


@pytest.mark.parametrize(
    ("change", "test", "users"),
    [
        (SlightlyLess, "scale", 2_000),
        (lambda: shared_by_cells, "cells", USERS),
        (OneDrawForAll, "time", USERS),
    ],
)
def test_the_tap_finds_what_no_ledger_shows(change, test, users):
    found = full_size("bernstein-vi-jdp", change=change(), users=users).witness(1)
    assert not found.tap.ok
    assert found.tap.p_values[test] < SIGNIFICANCE / 100


def test_a_missing_draw_fails_the_tap():
    tap = NoiseTap(1, 1.0)
    for row in stream(0, Stage.EXPERIMENT, 8).laplace(size=(600, 1)):
        tap.add(row)
    assert tap.report(drawn=600, stated=600).ok
    assert not tap.report(drawn=599, stated=600).ok


@pytest.mark.parametrize("name", ["pucb", "bernstein-vi-jdp", "bernstein-vi-ldp", "dp-nash-vi-jdp", "dp-nash-vi-ldp"])
def test_the_code_of_a_long_run_is_matched_with_its_ledger(name):
    assert full_size(name, users=60).witness(2).code == "CONFORMS"
    for less in (0.5, 1 - 1e-6):  # a millionth less noise than the ledger states is seen in one run
        assert full_size(name, users=60, noise=less).witness(2).code == "UNMATCHED"
    assert full_size(name, users=60, noise=1 + 1e-6).witness(2).code == "CONFORMS"


def test_the_command_writes_the_rows_and_says_what_is_not_as_expected(tmp_path, capsys):
    out = ["--only", "dp-apvi", "--users", "40", "--out", str(tmp_path)]
    assert full_size_command.run_full_size(out) == 0
    (row,) = json.loads((tmp_path / "full-size" / "numbers.json").read_text())["rows"]
    assert row["name"] == "dp-apvi"
    assert row["lower"] == pytest.approx(row["upper"], rel=0.02)
    assert row["claimed"] == 1.0
    assert (row["view"], row["kind"], row["from"]) == ("released counts", "exact given laws", "code's draws")
    assert (row["tap"], row["as_expected"]) == (True, True)
    assert min(row["seconds"], row["peak_mb"]) > 0
    assert "rho" in capsys.readouterr().out
    assert full_size_command.run_full_size(["--only", "pucbb"]) == 2
    assert "pucbb" in capsys.readouterr().err
    assert full_size_command.run_full_size(["--users", "1"]) == 2
    (tmp_path / "file").write_text("")
    assert full_size_command.run_full_size([*out[:-1], str(tmp_path / "file")]) == 3  # not written is not done
