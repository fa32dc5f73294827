"""What the command line and the pytest plugin share: defaults and meanings. Imports nothing heavy."""

from enum import Enum

DEFAULT_SEED = 20260  # fixed, so that two runs without options give the same records
DEFAULT_SIGNIFICANCE = 0.05
DEFAULT_TIMEOUT = 3600.0  # seconds for a subject

HELP = {
    "claim": "pure:EPS, approx:EPS,DELTA, zcdp:RHO, gdp:MU, rdp:ALPHA,EPS;... or tradeoff:FILE.csv.",
    "trials": "Trials per pair; default: each subject's own.",
    "significance": "Family-wise error of the whole suite.",
    "seed": f"Seed of every random stream; default {DEFAULT_SEED}, so runs repeat.",
    "jobs": "Worker processes; default: as many as may be used here. Records do not depend on it.",
    "backend": "A joblib backend: loky (processes here), or one that you registered.",
    "ladder": "Measure the power: 8 runs of each planted bug, 16 of targets with_noise(factor); costs as much.",
    "sequential": "Stop each audit once decided.",
    "timeout": "Seconds for each subject; one that takes longer is ended, and failed.",
    "memory": "Megabytes for each subject, on top of the libraries' own; default: no limit of ours.",
    "resume": "Take what an interrupted run here has judged (.dpverify), where sources and options are the same.",
    "exit_first": "Stop at the first result that is not as expected.",
    "last_failed": "Only what was not as expected, or not reached, the last time; everything where nothing was.",
    "durations": "Print the N slowest.",
    "no_tape": "Do not trace the code before its trials.",
    "require_tape": "What is not traced, or proved without its code, is exit code 3, unless it is refuted.",
    "family": "What limits the error of all verdicts: equal shares, Holm's step-down, or (sequential) e-BH.",
}


class RelationName(str, Enum):  # noqa: UP042 - typer shows the values of a plain str enum
    """Which datasets are neighbours."""

    replace_one = "replace"
    add_remove = "add-remove"


# ----------------------------------------------------------------------------------------------------------------------
# What watched children need, loaded once before they are forked; ours and our dependencies', never a user's.
#
# Imports nothing: the command line starts the fork server with these names before it loads anything itself. Our files
# say `import scipy` and then `scipy.stats`, which loads it when it is first asked for: here, before many children are
# forked.


LISTED = ("dpverify.suite.discovery",)  # enough to read audit files
PRELOAD = (
    "dpverify.suite.task",
    "dpverify.auditing.certificate",
    "scipy.stats",
    "scipy.signal",
    "scipy.optimize",
    "sklearn.ensemble",
    "dp_accounting.pld.pld_pmf",
)
CERTIFIED = ("dpverify.auditing.certificate",)  # one subject: what learns scores is loaded once it is needed
