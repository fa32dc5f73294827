"""What `compare` rests on before it draws: the ledger, the code on the tape, one run of all users, a promise."""

from collections.abc import Callable
from typing import Any

from algorithms.core.environments import Environment
from algorithms.core.noise_tap import FRESH
from algorithms.core.one_run import RunWitness
from algorithms.offline.data import collect
from algorithms.study import Study, WITNESSED
from algorithms.tabular import Model, uniform_policy
from dpverify.base.seeding import derive, Stage, stream
from dpverify.claims import Pair
from dpverify.promises import check_promise, Promise
from dpverify.tape.tracer import trace

FEW, TRANSCRIPTS = 4, 8  # users of the runs that the tape looks at, and how many in each order
MORE, LONGER = 48, 2  # the same, where no witness sees a run of all users
BETA, PROMISE_TRIALS, PROMISED_USERS = 0.05, 400, 50
LARGE = 2_000  # counts of a user from which on the tape sees LONGER transcripts, and a promise fewer users
FINE = ("CONFORMS", "EXACT")


def evidence(mine: Study, smaller: Callable[[int], Study], environment: Environment, seed: int) -> dict[str, Any]:
    """What speaks against drawing: a ledger above the claim, code that is not as its ledger, a witness above it.

    `smaller` makes the same study for fewer users. Where noise is neither Laplace nor Gaussian nothing is said of what
    the code does from the `MORE`th user on.
    """
    objections, witness, cells = [], None, mine.layout.cells
    if not mine.upper <= mine.eps * (1 + 1e-9):
        objections.append(f"REFUTED: the privatizer's own ledger has eps {mine.upper:.9g}, claimed {mine.eps:.9g}")
    said, tape = _on_tape(smaller(FEW), smaller(FEW).pair(), FEW, TRANSCRIPTS if cells < LARGE else LONGER, seed)
    objections += said
    noise = getattr(getattr(mine.privatizer, "counter", None), "noise", mine.privatizer)
    if isinstance(noise, WITNESSED):
        said, witness = _in_one_run(mine, environment, seed)
        objections += said
    elif not objections and mine.users > FEW:
        users = min(mine.users, MORE)
        objections, tape = _on_tape(smaller(users), smaller(users).pair(), users, LONGER, seed)
    promised = smaller(max(FEW, min(mine.users, PROMISED_USERS, PROMISED_USERS * LARGE // cells)))
    promise = {"verdict": "not checked, a batch has a bound of its own", "users": 0}
    if mine.deployments is None:
        promise = _promise(promised.promise(environment, beta=BETA), promised.users, seed)
    return {"objections": objections, "tape": tape, "witness": witness, "promise": promise}


def _in_one_run(mine: Study, environment: Environment, seed: int) -> tuple[list[str], dict[str, Any]]:
    """What one run of all users says against the code, and its numbers."""
    one: RunWitness = mine.witness(environment, seed=seed)
    objections = []
    if not one.lower <= mine.eps * (1 + 1e-6):
        objections.append(f"REFUTED: one run has {one.unit} at least {one.lower:.9g}, claimed {mine.eps:.9g}")
    if one.code != "CONFORMS":
        objections.append(f"in one run of all users the code does not match its ledger ({one.code})")
    if not one.tap.ok:
        least = min(one.tap.p_values, key=lambda name: one.tap.p_values[name])
        what = "is used twice" if least in FRESH else "is not of the law that the ledger states"
        objections.append(f"REFUTED: the noise of one run {what} ({least}: p {one.tap.p_values[least]:.1g})")
    shown = ("lower", "unit", "method", "view", "kind", "read", "moved", "nodes", "draws", "code")
    return objections, {**{name: getattr(one, name) for name in shown}, "tap": one.tap.ok}


def _on_tape(study: Any, pair: Pair, users: int, transcripts: int, seed: int) -> tuple[list[str], dict[str, Any]]:
    """What the tape says against the code, and its word."""
    found = trace(
        study.transcript,
        pair=pair,
        ledger=study.ledger,
        claim=study.claim,
        transcripts=transcripts,
        seed=derive(seed, "compare/tape") % 2**32,
    )
    said = "; ".join(dict.fromkeys(f"{each.site}: {each.text}".removeprefix(": ") for each in found.reasons))
    objections = []
    if found.status == "CONTRADICTED":
        why = said or "a transcript refutes it"
        objections.append(f"REFUTED: on the tape the code is not as its ledger says ({why})")
    elif found.status not in FINE:
        objections.append(f"not checked: on the tape, {found.status} ({said})")
    return objections, {"word": found.status, "users": users, "said": said}


def offline_evidence(mine: Any, model: Model, seed: int) -> dict[str, Any]:
    """The same of one release of a finished dataset, whose counts are all that the tape needs."""
    objections = []
    if not mine.upper <= mine.eps * (1 + 1e-9):
        objections.append(f"REFUTED: the privatizer's own ledger has eps {mine.upper:.9g}, claimed {mine.eps:.9g}")
    few = min(mine.users, MORE)
    said, tape = _on_tape(mine.study, mine.study.pair(few), few, TRANSCRIPTS, seed)
    layout, rng = mine.study.layout, stream(derive(seed, "compare/promise"), Stage.EXPERIMENT)
    data = collect(model, uniform_policy(layout.H, layout.S, layout.A), min(mine.users, PROMISED_USERS), rng=rng)
    promise = _promise(mine.study.promise(data, beta=BETA)[0], len(data), seed)
    return {"objections": objections + said, "tape": tape, "witness": None, "promise": promise}


def _promise(promise: Promise, users: int, seed: int) -> dict[str, Any]:
    """Are released counts as near as the agent is told? By trials of a run of few users."""
    check = check_promise(promise, seed=seed, trials=PROMISE_TRIALS)
    return {
        "verdict": check.verdict,
        "users": users,
        "beta": BETA,
        "rate_upper": check.rate_upper,
        "tightness": check.tightness,
    }
