"""Paper -> statement -> code -> audit: the table is complete, and what it names exists."""

import ast
from collections.abc import Sequence
from pathlib import Path

from audits.papers import Row, ROWS

ROOT = Path(__file__).parents[2]
ROLES = ("mechanisms/releases", "mechanisms/counters", "mechanisms/shuffling", "mechanisms/privatizers", "algorithms")
WITHOUT_CLAIM = {  # in a folder of claims, and claims nothing itself
    "mechanisms/counters/dyadic.py": "nodes of a tree",
    "mechanisms/counters/dyadic_counter.py": "what tree and honaker share",
    "mechanisms/counters/error_bounds.py": "error bounds, checked as promises",
    "mechanisms/counters/logbase.py": "which logarithm a paper means",
    "mechanisms/counters/promises.py": "error bounds as promises",
    "mechanisms/counters/stream.py": "the protocol of streams",
    "mechanisms/privatizers/consistency.py": "the linear programme behind consistent.py",
    "mechanisms/privatizers/error_bounds.py": "error bounds as promises",
    "mechanisms/privatizers/flow.py": "the programme behind FlowProcessed of consistent.py",
    "mechanisms/privatizers/flow_promises.py": "error bounds as promises",
    "mechanisms/privatizers/nearest_counts.py": "post-processing, closed forms of flow",
    "mechanisms/privatizers/linear_costs.py": "closed forms for offline_linear",
    "mechanisms/privatizers/linear_noise.py": "the noise of offline_linear",
    "mechanisms/privatizers/protocol.py": "the protocol of privatizers",
    "mechanisms/releases/additive.py": "query + noise, what four releases share",
    "mechanisms/releases/selection.py": "what exponential and noisy_max share",
    "mechanisms/shuffling/calibration.py": "a search over what is audited",
    "mechanisms/shuffling/coefficient_ratio.py": "coefficient ratios for exact log ratios",
    "mechanisms/shuffling/error_bounds.py": "error bounds, checked as promises",
    "mechanisms/shuffling/profile.py": "exact profiles, tested against enumeration",
    "algorithms/sdp_pe/batches.py": "sources of batches, audited in sdp_pe",
    "algorithms/beyond/black_box.py": "a search for users whose actions tell",
    "algorithms/beyond/black_box_instances.py": "learners whose actions tell, audited where they stand",
    "algorithms/core/canaries.py": "guesses from messages of one run",
    "algorithms/nash_vi/equilibria.py": "equilibria of public numbers",
    "algorithms/core/counting.py": "sources of counts, audited in pucb and bernstein_vi",
    "algorithms/core/mixtures.py": "who plays what in sdp_pe",
    "algorithms/core/checked_agent.py": "looks at what an agent hands out",
    "algorithms/core/channels.py": "how counts of a step are released, audited in every run",
    "algorithms/core/protocol.py": "the loop that all learners run in",
    "algorithms/sdp_pe/design.py": "post-processing inside sdp_pe",
    "algorithms/core/environments.py": "simulated users",
    "algorithms/core/model_files.py": "models as files",
    "algorithms/figure_instances.py": "learners of the figure, audited where they stand",
    "algorithms/sdp_pe/full_size.py": "sdp_pe at full size",
    "algorithms/offline/full_size.py": "apvi and vapvi at full size",
    "algorithms/instances.py": "learners at full size, audited where they stand",
    "algorithms/beyond/lean_transcripts.py": "lean as a target",
    "algorithms/nash_vi/markov_games.py": "games and their exact values",
    "algorithms/core/node_evidence.py": "log ratios of one streamed run",
    "algorithms/core/freshness.py": "tests that no noise of a run is used twice",
    "algorithms/core/noise_tap.py": "tests of the noise of one run",
    "algorithms/offline/data.py": "datasets",
    "algorithms/core/one_run.py": "what a witness is",
    "algorithms/gym_users.py": "simulated users",
    "algorithms/offline/learners.py": "learners of one release, audited in apvi",
    "algorithms/offline/logs.py": "datasets as files",
    "algorithms/core/online.py": "learners that plan from counts, as agents",
    "algorithms/study.py": "puts an agent and a privatizer together",
    "algorithms/sdp_pe/policy_sets.py": "post-processing inside sdp_pe",
    "algorithms/beyond/pooled_promises.py": "error bounds as promises",
    "algorithms/sdp_pe/schedule.py": "data-independent part of sdp_pe",
    "algorithms/core/shift_certificates.py": "lower bounds from known shifts",
    "algorithms/core/transcripts.py": "agents as targets",
    "algorithms/baselines/ucbvi.py": "the learner without privacy",
    "algorithms/core/users.py": "simulated users",
    "algorithms/offline/vapvi_transcripts.py": "vapvi as a target",
}


def missing(root: Path, rows: Sequence[Row], without_claim: dict[str, str]) -> list[str]:
    """What rows name and is not there, and what is there and stands in no row."""
    found = []
    for row in rows:
        place, _, symbol = row.code.partition(":")
        if not (root / place).is_file() or symbol not in _symbols(root / place):
            found.append(f"no {row.code}")
        if not (root / "audits" / f"{row.audit}.py").is_file():
            found.append(f"no audits/{row.audit}.py")
    audited, claimed = {row.audit for row in rows}, {row.code.partition(":")[0] for row in rows}
    found += [
        f"in no row: {file.stem}" for file in sorted((root / "audits").glob("audit_*.py")) if file.stem not in audited
    ]
    for folder in ROLES:
        for file in sorted((root / folder).glob("*.py")):
            place = str(file.relative_to(root))
            if file.name != "__init__.py" and place not in claimed and place not in without_claim:
                found.append(f"in no row: {place}")
    return found


def _symbols(file: Path) -> set[str]:
    kinds = ast.ClassDef | ast.FunctionDef
    return {node.name for node in ast.parse(file.read_text(encoding="utf-8")).body if isinstance(node, kinds)}


def test_the_table_is_complete() -> None:
    assert len(ROWS) >= 30
    assert missing(ROOT, ROWS, WITHOUT_CLAIM) == []


def test_no_row_stands_twice() -> None:
    assert len({(row.paper, row.place, row.code, row.audit) for row in ROWS}) == len(ROWS)


def test_exceptions_exist_give_a_reason_and_stand_in_no_row() -> None:
    claimed = {row.code.partition(":")[0] for row in ROWS}
    for name, reason in WITHOUT_CLAIM.items():
        assert reason
        assert (ROOT / name).is_file(), name
        assert name not in claimed


def test_whatever_is_missing_is_seen(tmp_path: Path) -> None:
    for place in ("audits/audit_good.py", "audits/audit_stray.py", "mechanisms/counters/__init__.py"):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).touch()
    (tmp_path / "mechanisms/counters/tree.py").write_text("class Tree:\n    pass\n")
    (tmp_path / "mechanisms/counters/lost.py").touch()

    def row(code: str, audit: str) -> Row:
        return Row("paper", "Theorem 1", "eps-DP", code, audit)

    good = row("mechanisms/counters/tree.py:Tree", "audit_good")
    rest = ["in no row: audit_stray", "in no row: mechanisms/counters/lost.py"]
    assert missing(tmp_path, [good], {}) == rest
    assert missing(tmp_path, [good], {"mechanisms/counters/lost.py": "a helper"}) == rest[:1]
    for bad in ("mechanisms/counters/tree.py:Bush", "mechanisms/counters/bush.py:Tree"):
        assert missing(tmp_path, [good, row(bad, "audit_good")], {}) == [f"no {bad}", *rest]
    assert missing(tmp_path, [good, row(good.code, "audit_none")], {}) == ["no audits/audit_none.py", *rest]
