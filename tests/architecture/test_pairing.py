"""Every mechanism and algorithm has an audit, and every audit something to audit."""

from pathlib import Path

ROOT = Path(__file__).parents[2]

WITHOUT_AUDIT = {  # releases nothing from data, so nothing is claimed
    "mechanisms/queries": "query values as arrays and their sensitivities",
    "mechanisms/sampling": "noise samplers, tested against their laws",
    "mechanisms/quadrature": "integrals for exact log ratios",
    "mechanisms/secure": "a source of randomness",
    "mechanisms/privatizer": "the protocol of privatizers",
    "mechanisms/counts": "count arrays and their layout",
    "mechanisms/trajectories": "datasets",
    "mechanisms/trajectory_pairs": "neighbouring datasets",
    "mechanisms/trajectory_search": "neighbouring datasets and moves between them, for the pair search",
    "mechanisms/noise_sums": "sums of noise, tested against their laws",
    "mechanisms/calibration": "a search over audited mechanisms",
    "mechanisms/linear_costs": "closed forms for offline_linear",
    "mechanisms/linear_noise": "the noise of offline_linear, audited there",
    "algorithms/markov_games": "games and their exact values",
    "algorithms/cce": "equilibria of public numbers",
    "algorithms/offline_data": "datasets",
    "algorithms/game_transcripts": "nash_vi as a target, audited there",
    "algorithms/game_promises": "promises about utility, declared by audit_nash_vi",
    "algorithms/vapvi_transcripts": "vapvi as a target, audited there",
    "algorithms/experiments": "learning curves",
    "algorithms/tabular": "planning in known models",
    "algorithms/environments": "simulated users",
    "algorithms/users": "simulated users",
    "algorithms/ucbvi": "makes no privacy claim",
    "algorithms/online_promises": "promises about utility, declared by audit_pucb and audit_sdp_pe",
    "algorithms/online": "the loop that pucb and dp_ucbvi run in, audited there",
    "algorithms/counting": "sources of counts, audited in pucb and dp_ucbvi",
    "algorithms/transcripts": "turns online algorithms into audit targets",
    "algorithms/batch_transcripts": "turns sdp_pe into an audit target",
    "algorithms/batches": "batch releases, audited in sdp_pe",
    "algorithms/deployment": "who plays what, audited in sdp_pe",
    "algorithms/design": "post-processing inside sdp_pe",
    "algorithms/schedule": "data-independent part of sdp_pe",
    "algorithms/policy_sets": "post-processing inside sdp_pe",
    "algorithms/policy_sets_large": "post-processing inside sdp_pe",
    "mechanisms/count_promises": "promises about utility, declared by the privatizers' audits",
    "mechanisms/postprocess_reference": "the slow twin of postprocess, its oracle in tests",
    "mechanisms/processed": "a privatizer with post-processing, audited in audit_postprocess",
    "mechanisms/shuffle_calibration": "a search over audited mechanisms",
    "mechanisms/shuffle_errors": "error bounds of shuffled counts, checked as promises",
    "mechanisms/shuffle_profile": "exact profiles, tested against enumeration",
    "mechanisms/shuffled_bits": "one counter of shuffle, audited there",
    "mechanisms/shuffled_integers": "one counter of shuffle, audited there",
    "mechanisms/symmetric": "coefficient ratios for exact log ratios",
}
WITHOUT_STEM: dict[str, str] = {}  # audits about a claim that has no module of its own, with the reason


def stems(root: Path) -> dict[str, str]:
    """Audited name -> module: `laplace`, and `counters_tree` for mechanisms/counters/tree.py."""
    found = {}
    for folder in ("mechanisms", "algorithms"):
        for file in sorted((root / folder).rglob("*.py")):
            parts = file.relative_to(root / folder).with_suffix("").parts
            if not any(part.startswith("_") for part in parts):
                found["_".join(parts)] = "/".join((folder, *parts))
    return found


def unpaired(root: Path, without_audit: dict[str, str], without_stem: dict[str, str]) -> list[str]:
    """Modules without an audit and audits without a module.

    A package may be audited module by module (audit_counters_tree) or as a whole (audit_counters).
    """
    audits = {file.stem.removeprefix("audit_") for file in (root / "audits").glob("audit_*.py")}
    modules = stems(root)
    packages = {module.split("/")[1] for module in modules.values() if module.count("/") > 1}
    covered = {name for name, module in modules.items() if module.split("/")[1] in audits & packages}
    alone = [
        module
        for name, module in modules.items()
        if name not in audits | covered and not _listed(module, without_audit)
    ]
    astray = [f"audits/audit_{name}" for name in sorted(audits - set(modules) - packages - set(without_stem))]
    return alone + astray


def _listed(module: str, exceptions: dict[str, str]) -> bool:
    """Named itself, or lies in a named package."""
    return any(module == name or module.startswith(name + "/") for name in exceptions)


def test_pairing_is_total() -> None:
    assert len(stems(ROOT)) >= 8
    assert unpaired(ROOT, WITHOUT_AUDIT, WITHOUT_STEM) == []


def test_exceptions_exist_and_give_a_reason() -> None:
    for name, reason in WITHOUT_AUDIT.items():
        assert reason
        assert (ROOT / f"{name}.py").exists() or (ROOT / name).is_dir(), name
    for name in WITHOUT_STEM:
        assert (ROOT / "audits" / f"audit_{name}.py").exists(), name


def test_a_missing_and_a_stray_audit_are_caught(tmp_path: Path) -> None:
    for place in (
        "mechanisms/__init__.py",
        "mechanisms/good.py",
        "mechanisms/bad.py",
        "mechanisms/counters/tree.py",
        "mechanisms/counters/lost.py",
        "mechanisms/whole/part.py",
        "audits/audit_good.py",
        "audits/audit_counters_tree.py",
        "audits/audit_whole.py",
        "audits/audit_stray.py",
    ):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).touch()
    assert unpaired(tmp_path, {}, {}) == ["mechanisms/bad", "mechanisms/counters/lost", "audits/audit_stray"]
