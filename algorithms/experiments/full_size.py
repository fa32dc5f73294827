"""Lower bound and ledger side by side at the size of the experiments, each row in a process of its own.

The ledger; the witness, in the ledger's unit: in whose `view`, of which `kind` (exact given the laws, or statistical
with its level), and whether the noise's parameter is `from` the code's draws or read from the object, then with the
tap's verdict on the law (`RunWitness`); the tap (those laws, tested on all other noise at significance 1e-6); the
code's own parameters against the ledger's (CONFORMS or UNMATCHED; of DP-VAPVI they are not looked at); CPU seconds and
peak memory; local rows with the eps of one-run canaries. An honest row is as expected
where it is not above its ledger, not below the share of it that is asked (.98; DP-VAPVI .3), passes its tap and needs
at most 120 s and 2 GB.
"""

import resource
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any, Literal, NamedTuple

from algorithms.instances import full_size, FullSizeOnline
from dpverify.tape.sources import Change

SECONDS, MEGABYTES = 120.0, 2048.0


class FullSizeRow(NamedTuple):
    """One line of the table."""

    name: str
    bug: str | None
    users: int
    claimed: float
    unit: str
    method: str
    least: float
    canaries: float | None
    lower: float
    upper: float
    moved: int
    nodes: int
    draws: int
    tap: bool
    tap_ratio: float
    tap_p_values: dict[str, float]
    seconds: float
    peak_mb: float
    transcript: str
    code: str = ""
    view: str = "released counts"
    kind: str = "exact given laws"
    read: str = "object"

    @property
    def caught_by(self) -> str:
        """What contradicts the ledger."""
        found = [*(["witness"] * (self.lower > self.upper)), *(["code"] * (self.code not in ("", "CONFORMS")))]
        found += [] if self.tap else ["tap"]
        return ", ".join(found) or "-"

    @property
    def come_from(self) -> str:
        """Where the noise's parameter is from; what the object says, only with the tap's verdict on the law."""
        return "code's draws" if self.read == "code" else f"object; law {'fits' if self.tap else 'DOES NOT FIT'}"

    @property
    def as_expected(self) -> bool:
        """Honest rows at or close below the ledger, planted ones caught; all within time and memory."""
        good = self.caught_by != "-" if self.bug else self.caught_by == "-" and self.lower >= self.least * self.upper
        return good and self.seconds <= SECONDS and self.peak_mb <= MEGABYTES


def row(
    name: str,
    seed: int,
    *,
    users: int | None = None,
    bug: str | None = None,
    noise: float = 1.0,
    change: Change | None = None,
    features: Literal["scaled", "printed"] = "scaled",
) -> FullSizeRow:
    """Runs one line; meant for a process of its own, whose CPU seconds and peak memory it reports.

    `bug` names what was planted by `noise`, `change` and `features`; `users` is smaller for tests.
    """
    begin = time.process_time()
    instance = full_size(name, noise=noise, change=change, users=users, features=features)
    found = instance.witness(seed)
    guessed = instance.canaries(seed) if isinstance(instance, FullSizeOnline) and instance.local else None
    return FullSizeRow(
        name=name,
        bug=bug,
        users=instance.users,
        claimed=instance.claim.number,
        unit=found.unit,
        method=found.method,
        least=instance.least,
        canaries=guessed.eps_lower if guessed else None,
        lower=found.lower,
        upper=instance.upper,
        moved=found.moved,
        nodes=found.nodes,
        draws=found.tap.draws,
        tap=found.tap.ok,
        tap_ratio=found.tap.ratio,
        tap_p_values=found.tap.p_values,
        seconds=time.process_time() - begin,
        peak_mb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        transcript=found.transcript,
        code=found.code,
        view=found.view,
        kind=found.kind,
        read=found.read,
    )


def one_by_one(job: Any, jobs: Sequence[tuple[Any, ...]]) -> Iterator[FullSizeRow]:
    """Rows of `job(*arguments)`, each in a fresh process, as they come."""
    with ProcessPoolExecutor(max_workers=1, max_tasks_per_child=1) as pool:
        yield from pool.map(job, *zip(*jobs, strict=True))


def heading() -> str:
    """The table's first line."""
    return (
        f"{'learner':16}{'bug':20}{'users':>7} {'unit':17}{'lower':>8}{'ledger':>8}{'canaries':>9}"
        f"{'tap: draws':>12}{'scale':>8}{'least p':>9}  {'code':13}{'view':17}{'kind':20}"
        f"{'from':26}"
        f"{'caught by':20}{'CPU s':>6}{'MB':>6}"
    )


def line(each: FullSizeRow) -> str:
    """One line of it."""
    guessed = "" if each.canaries is None else f"{each.canaries:.2f}"
    return (
        f"{each.name:16}{each.bug or '':20}{each.users:7} {each.unit:17}{each.lower:8.4f}{each.upper:8.4f}{guessed:>9}"
        f"{each.draws:12}{each.tap_ratio:8.4f}{min(each.tap_p_values.values()):9.1e}  {each.code:13}"
        f"{each.view:17}{each.kind:20}{each.come_from:26}{each.caught_by:20}"
        f"{each.seconds:6.1f}{each.peak_mb:6.0f}{'' if each.as_expected else '  NOT AS EXPECTED'}"
    )


def as_json(done: Sequence[FullSizeRow], seed: int) -> dict[str, Any]:
    """What numbers.json holds."""
    rows = [
        {**each._asdict(), "from": each.come_from, "caught_by": each.caught_by, "as_expected": each.as_expected}
        for each in done
    ]
    return {"seed": seed, "rows": rows}
