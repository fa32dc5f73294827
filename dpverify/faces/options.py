"""What the command line and the pytest plugin share: defaults and meanings. Imports nothing heavy."""

import os
from dataclasses import dataclass, fields

DEFAULT_SEED = 20260  # fixed, so that two runs without options give the same records
DEFAULT_SIGNIFICANCE = 0.05
DEFAULT_JOBS = os.cpu_count() or 1
BACKENDS = ("loky", "dask", "ray")

HELP = {
    "trials": "Trials per pair; default: each subject's own.",
    "significance": "Family-wise error of the whole suite.",
    "seed": f"Seed of every random stream; default {DEFAULT_SEED}, so runs repeat.",
    "jobs": "Worker processes; default: one a core. Records do not depend on it.",
    "backend": "Where the workers are.",
    "sequential": "Stop each audit once decided.",
    "family": "What limits the error of all verdicts: equal shares, Holm's step-down, or (sequential) e-BH.",
}


@dataclass(frozen=True)
class Outputs:
    """Files to write; None for those that nobody asked for."""

    json: str | None = None
    html: str | None = None
    markdown: str | None = None
    junit: str | None = None
    sarif: str | None = None

    def asked(self) -> list[tuple[str, str]]:
        """(format, path) of every file to write."""
        named = {each.name: getattr(self, each.name) for each in fields(self)}
        return [(form, path) for form, path in named.items() if path is not None]
