"""A sample of a record's trials once more: the grains that it lists, from the same seed, under the attack they chose.

The selection trials are drawn and the attack is learned again; then single grains (`Working.blocks`) are run and
counted. Grains have streams of their own, so a few of them need nothing of the others. Same seed, same counts: they
differ where the code, its libraries or the machine are not those of the record, or the record is wrong.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dpverify.base.errors import RunError
from dpverify.base.seeding import Stage
from dpverify.claims.claim import Claim
from dpverify.claims.neighbours import Pair
from dpverify.evidence.judged import judged
from dpverify.evidence.selection.learn import learn
from dpverify.evidence.selection.predicted_bound import objective_for
from dpverify.trials.collect import Experiment
from dpverify.trials.failing import check_answers
from dpverify.trials.sentinel import watched
from dpverify.trials.target import as_target, ExactTarget
from dpverify.verdicts.record import AuditRecord


@dataclass(frozen=True)
class Block:
    """A grain as it stands in the record and as it came out: (trials, right, wrong)."""

    index: int
    stated: tuple[int, int, int]
    found: tuple[int, int, int]


def rerun(
    target: Any, claim: Claim, pair: Pair, record: AuditRecord, chosen: Sequence[int], *, outcomes: Any = ()
) -> list[Block]:
    """The chosen grains of a record, by their place in `record.working.blocks`; RunError where it lists none."""
    working = record.working
    if working is None or not working.blocks:
        raise RunError(f"{record.subject}: lists no blocks of trials that could be run again")
    subject, pair = as_target(target), claim.check(pair)
    experiment, _ = watched(Experiment.of(subject, pair, record.seed, check_answers(outcomes)), record.budget)
    goal = objective_for(claim, record.significance, coordinates=experiment.form.items)
    exact = isinstance(subject, ExactTarget)
    _, attack = learn(experiment, record.budget, goal, "auto", exact=exact, jobs=1, backend="loky")
    found = []
    for place in chosen:
        index, size, right, wrong = working.blocks[place]
        tally = judged(attack, experiment.run_grain(Stage.ESTIMATE, index, size)).tally
        came = (tally.trials, int(tally.right.sum()), int(tally.wrong.sum()))
        found.append(Block(index, (size, right, wrong), came))
    return found
