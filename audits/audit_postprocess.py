"""Post-processed counts keep the claim of the raw ones; post-processing that reads the data again loses it.

Cell by cell as in the papers, and from step to step by `FlowConsistent`, one convex programme a trial: few trials of a
tiny layout. What it promises about errors holds while its constraints are true.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from audits import audit_local
from audits.papers import SDP_PE_JOURNAL, unnamed
from audits.planted.postprocess import (
    ConstraintFromData,
    DataFree,
    forbid_staying,
    LiftedToTruth,
    RoundedCells,
    SlackFromData,
)
from audits.shuffle_pairs import BETA, EPS, worst
from dpverify import planted, Subject
from dpverify.promises import all_of, BROKEN, Promise
from mechanisms.datasets.pairs import constant, worst_replacement
from mechanisms.datasets.visit_counts import CountLayout
from mechanisms.privatizers.consistent import FlowProcessed, Processed
from mechanisms.privatizers.flow import FlowConsistent, Transitions
from mechanisms.privatizers.flow_promises import flow_promise
from mechanisms.privatizers.offline_tabular import OfflineTabularLaplace
from mechanisms.privatizers.shuffle import Shuffle
from mechanisms.shuffling.bits import NoiseBits

PROMISED = 0.1  # failure probability for which E is made

bandit = CountLayout(H=1, S=1, A=2)
USERS = 100
corrected_local = audit_local.corrected.target
calibrated = Shuffle.calibrated(EPS, BETA, bandit, USERS)

shuffled = Subject(
    name="shuffled-counts",
    target=Processed(calibrated, PROMISED),
    claim=calibrated.claim,
    pairs=worst(bandit, USERS),
    trials=100_000,
    accounted=True,
    paper=SDP_PE_JOURNAL,
    statement="Section V, post-processing: the post-processed counts are a function of the private ones",
)

# Two steps and two states; state 1 is never left for state 0, which the neighbours of `worst_replacement` respect.
chain, CROWD, FLOW_TRIALS = CountLayout(H=2, S=2, A=1), 200, 400
noised = OfflineTabularLaplace(layout=chain, eps=1.0)


def keep_state_1(x: Transitions) -> list[Any]:
    return [cell[0] == 0 for step in x for cell in step[1]]


nearest = FlowConsistent(chain, CROWD)
least = FlowConsistent(chain, CROWD, "chebyshev")
flow = Subject(
    name="flow-l2",
    target=FlowProcessed(noised, nearest),
    claim=noised.claim,
    pairs=(worst_replacement(constant(chain, CROWD), 0),),
    trials=FLOW_TRIALS,
    accounted=True,
    statement="counts of n trajectories, nearest in l2: a function of the private ones and of n",
)
subjects = [
    shuffled,
    replace(
        shuffled,
        name="local-counts",
        target=Processed(corrected_local, PROMISED),
        claim=corrected_local.claim,
        pairs=audit_local.worst(audit_local.one_step),
    ),
    planted(shuffled, "lifted-to-truth", LiftedToTruth(calibrated, PROMISED)),
    planted(shuffled, "slack-from-data", SlackFromData(calibrated, PROMISED)),
    planted(
        shuffled,
        "too-little-noise",
        Processed(replace(calibrated, noise=NoiseBits(1, 0.05)), PROMISED),
        accounted=False,
    ),
    flow,
    replace(flow, name="flow-chebyshev", target=FlowProcessed(noised, least)),
    replace(
        flow,
        name="flow-known-transitions",
        target=FlowProcessed(noised, replace(nearest, extra=keep_state_1)),
        statement=flow.statement + ", and of transitions that are known to be impossible",
    ),
    planted(flow, "constraint-from-data", ConstraintFromData(noised, nearest)),
]

PROMISE_BETA, SOLVED = 0.05, 200


staying = constant(chain, CROWD)
elsewhere = replace(staying, states=np.ones_like(staying.states), final_states=np.ones(CROWD, dtype=np.int64))


def flow_errors(name: str, post: Any, **options: Any) -> Promise:
    """`post` on the noisy counts of a crowd that stays in state 0, and of one that stays in state 1."""
    kept = "errors of results within twice those of the noisy counts" if post.loss == "chebyshev" else "l2 projection"
    parts = [
        flow_promise(noised, post, crowd, PROMISE_BETA / 2, name=where, trials=SOLVED)
        for where, crowd in (("state 0", staying), ("state 1", elsewhere))
    ]
    return all_of(parts, name=name, statement=f"FlowConsistent: {kept}; flow and total", **options)


broken: dict[str, Any] = {"expected": BROKEN, "trials": 20}
promises = [
    flow_errors("errors-chebyshev", least),
    flow_errors("errors-l2", nearest),
    flow_errors("errors-known-transitions", replace(least, extra=keep_state_1)),
    flow_errors("errors-chebyshev, rounded cell by cell", RoundedCells(least), **broken),
    flow_errors("errors-chebyshev, a constraint that is false", replace(least, extra=forbid_staying), **broken),
    flow_errors("errors-chebyshev, without data", DataFree(least), **broken),
    flow_errors("errors-l2, without data", DataFree(nearest), **broken),
    flow_errors("errors-l2, a constraint that is false", replace(nearest, extra=forbid_staying), **broken),
]

promises = unnamed(promises)
