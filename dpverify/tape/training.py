"""Training loops: is what the code samples, clips and adds what the accountant was told?

A run of a few steps is recorded (which rows each step reads, which normal values it draws, what it releases), then run
again with the same random values and one thing changed in one step: a row left out, a row made huge, a noise value
moved by one. What the release of that step does then is how far a row moves it and how much noise there is, in one
unit, so that learning rates, momentum and divisors need no special words.

Findings are facts about these runs. Their absence is no proof: a loop that AGREES was not contradicted in the steps
that ran, on this data. What could not be measured makes the answer UNDECIDED.
"""

import itertools
import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import stats

from dpverify.accounting.accountant import account
from dpverify.base import require
from dpverify.base.rounding import digits_up
from dpverify.base.seeding import Stage, stream
from dpverify.claims.neighbours import Relation
from dpverify.errors import AccountingError, ParameterError, TargetError
from dpverify.ledger.compound_events import FixedSizeSampled, PoissonSampled
from dpverify.ledger.events import GaussianNoise, Ledger, Sensitivity
from dpverify.tape.samplers import parted, sampler_levels
from dpverify.tape.training_runs import Change, Enough, Factor, noted_by, Rows, Run

Array = npt.NDArray[Any]
Train = Callable[..., Any]

LEVEL = 1e-6  # of each test that a sampler is not the one that was accounted
SEEDS = 4  # runs whose batches are looked at
MOST_RUNS = 6000
SLACK = 1e-3  # relative: what is moved by rounding, in single precision too
HUGE = (1e2, -1e2, 1e4, -1e4)  # factors of a row whose gradient must be clipped
FINDINGS = {
    "SAMPLER": "batches are not drawn as the accountant assumes",
    "RATE": "a row takes part more often than was accounted",
    "VIRTUAL_STEPS": "a step is made of several batches, and one was accounted",
    "STEPS": "there are more steps than were accounted",
    "LAST_BATCH": "the last incomplete batch is treated as the others",
    "REPEATED_ROW": "a row is in one batch more than once",
    "CARRIED": "a later step depends on a row, or on noise, otherwise than by what was released",
    "NOT_CLIPPED": "the movement by one row grows with the row",
    "BATCH_CLIPPED": "what is clipped is a sum over rows, and not each row",
    "NO_NOISE": "a step, or a part of the model, has no noise",
    "SHARED_NOISE": "one noise value is added to several coordinates",
    "WORKER_NOISE": "noise is added in several parts, which are less than was accounted together",
    "SIGMA": "there is less noise for the movement of one row than was accounted",
    "DIVISOR": "what the noise is divided by depends on the data",
}


@dataclass(frozen=True)
class Finding:
    """What contradicts the accountant: a word of `FINDINGS`, and the numbers."""

    word: str
    text: str

    def __str__(self) -> str:
        return f"{self.word}: {FINDINGS[self.word]} ({self.text})"


@dataclass(frozen=True, kw_only=True)
class TrainingCheck:
    """A TrainingCheck holds what `check_training` has found of a training loop.

    Parameters
    ----------
    findings : tuple of Finding
        Contradictions between the code and the ledger, one for each word.
    unknown : tuple of str
        What could not be measured.
    notes : tuple of str
        What differs and costs no privacy.
    steps : int
        Steps that ran.
    batches : tuple of tuple of int
        Rows that took part in each of them.
    delta : float
        At which ledgers are accounted, in [0, 1).
    ledger : Ledger
        What the accountant was told.
    sampler_ledger : Ledger or None
        Of the sampler that runs, where it is another one that has an account: for the steps that ran, with the noise
        and the clip of `ledger`, under replace-one.

    Examples
    --------
    >>> from dpverify.ledger import dp_sgd
    >>> told = dp_sgd(rate=0.25, noise_multiplier=2.0, steps=2)
    >>> batches = ((0, 3), (1,))
    >>> print(TrainingCheck(findings=(), unknown=(), notes=(), steps=2, batches=batches, delta=1e-5, ledger=told))
    AGREES: 2 steps
    """

    findings: tuple[Finding, ...]
    unknown: tuple[str, ...]
    notes: tuple[str, ...]
    steps: int
    batches: tuple[tuple[int, ...], ...]
    delta: float
    ledger: Ledger
    sampler_ledger: Ledger | None = None

    @property
    def eps(self) -> float | None:
        """Of `ledger`, under the relation that its events are for; None where it has no account."""
        return _eps(self.ledger, self.delta, _told(self.ledger).relation)

    @property
    def sampler_eps(self) -> float | None:
        """Of `sampler_ledger`, under replace-one."""
        return None if self.sampler_ledger is None else _eps(self.sampler_ledger, self.delta, Relation.REPLACE_ONE)

    @property
    def verdict(self) -> str:
        """DIFFERS where something was found, else UNDECIDED where something is unknown, else AGREES."""
        return "DIFFERS" if self.findings else "UNDECIDED" if self.unknown else "AGREES"

    @property
    def words(self) -> tuple[str, ...]:
        """The words of the findings."""
        return tuple(each.word for each in self.findings)

    def __str__(self) -> str:
        lines = [f"{self.verdict}: {self.steps} steps", *map(str, self.findings)]
        lines += [f"not judged: {each}" for each in self.unknown] + [f"note: {each}" for each in self.notes]
        if self.sampler_ledger is not None:
            lines.append(
                f"the sampler that runs: {_number(self.sampler_eps)} at delta {self.delta:g}, replace-one, "
                f"with the noise and clip of the ledger (accounted: {_number(self.eps)}, "
                f"{_told(self.ledger).relation})"
            )
        return "\n".join(lines)


def check_training(train: Train, *, data: Any, ledger: Ledger, delta: float = 1e-5, seed: int = 0) -> TrainingCheck:
    """Compare a training loop with the ledger of its accountant, by a few steps of it.

    Parameters
    ----------
    train : callable
        `train(data, *, rng, step)`. It reads rows of `data` by index, draws from `rng` alone and calls
        `step(released)` once at the end of each step with all that the step releases: the model, or the noisy gradient
        where the update is not linear in it (Adam, RMSprop and the like must). A few steps are enough, an epoch is
        better; it is run often.
    data : array or tuple of arrays
        Rows are the records, along the first axis of each array; a tuple (X, y) is handed over as a tuple.
    ledger : Ledger
        What the accountant was told of these steps: `dp_sgd(...)`, `FixedSizeSampled` or `GaussianNoise` events.
    delta : float
        At which the ledger is accounted.
    seed : int
        Of the runs.

    Returns
    -------
    TrainingCheck
        Findings, what is unknown, and the account of the sampler that runs where that is another one.

    Raises
    ------
    ParameterError
        For data without rows or of other than finite real numbers, a ledger of other steps or of a row that moves
        nothing, and delta or seed out of range.
    TargetError
        Where `train` raises, or calls `step` not at all.

    References
    ----------
    Poisson sampling: Zhu, Dong, Wang 2022, Theorem 11. Fixed size: Balle, Barthe, Gaboardi 2018, Theorem 2. Shuffled
    batches: given the permutations, each row is in one step an epoch, so its loss is that of as many Gaussian steps
    (joint convexity over the permutations, which do not depend on the data).

    Examples
    --------
    >>> import numpy as np
    >>> from dpverify.ledger import dp_sgd
    >>> def train(x, *, rng, step):
    ...     w = np.zeros(2)
    ...     for _ in range(6):
    ...         g = x[rng.random(len(x)) < 1 / 6] - w
    ...         g /= np.maximum(1, np.linalg.norm(g, axis=1, keepdims=True))
    ...         w = w + 0.1 * (g.sum(axis=0) + rng.normal(0, 2.0, size=2))
    ...         step(w)
    >>> x = np.random.default_rng(1).normal(size=(48, 2))
    >>> check_training(train, data=x, ledger=dp_sgd(rate=1 / 6, noise_multiplier=2.0, steps=6)).verdict
    'AGREES'
    >>> check_training(train, data=x, ledger=dp_sgd(rate=1 / 6, noise_multiplier=3.0, steps=6)).words
    ('SIGMA',)
    """
    require.delta(delta=delta)
    require.integer(at_least=0, seed=seed)
    told = _told(ledger)
    arrays = [_numbers(each) for each in (data if isinstance(data, tuple) else (data,))]
    if not arrays or any(each.ndim == 0 for each in arrays) or len({len(each) for each in arrays}) != 1:
        raise ParameterError("data", type(data).__name__, "an array of rows, or a tuple of arrays with as many rows")
    if len(arrays[0]) < 2:
        raise ParameterError("data", f"{len(arrays[0])} rows", "at least two rows")
    loop = _Loop(train, arrays, isinstance(data, tuple), seed, told)
    loop.look()
    findings = tuple(Finding(word, loop.found[word]) for word in FINDINGS if word in loop.found)
    return TrainingCheck(
        findings=findings,
        unknown=_together(loop.unknown),
        notes=tuple(dict.fromkeys(loop.notes)),
        steps=loop.base.steps,
        batches=tuple(tuple(int(row) for row in each) for each in loop.batches),
        delta=delta,
        ledger=ledger,
        sampler_ledger=loop.other,
    )


def _numbers(data: Any) -> Array:
    try:
        array = np.asarray(data)
    except ValueError:
        array = np.zeros(0, object)
    if array.dtype.kind not in "biuf" or isinstance(data, np.ma.MaskedArray) or not np.isfinite(array).all():
        raise ParameterError("data", type(data).__name__, "finite real numbers, none masked; several arrays in a tuple")
    return array


# ----------------------------------------------------------------------------------------------------------------------
# What the accountant was told.


@dataclass(frozen=True)
class _Told:
    kind: str  # poisson, fixed or every
    relation: Relation
    steps: int
    rate: float
    size: int | None  # of a batch
    users: int | None
    moved: float  # by one row, in standard deviations of the noise
    noise: GaussianNoise


def _told(ledger: Ledger) -> _Told:
    require.instance(Ledger, ledger=ledger)
    wanted = "steps of one kind: PoissonSampled or FixedSizeSampled with one GaussianNoise inside, or GaussianNoise"
    if len(ledger.counted) != 1:
        raise ParameterError("ledger", f"{len(ledger.counted)} kinds of events", wanted)
    ((event, steps),) = ledger.counted
    inside = event.inside if isinstance(event, PoissonSampled | FixedSizeSampled) else Ledger(event)
    noise = inside.counted[0][0] if len(inside.events) == 1 else None
    if not isinstance(noise, GaussianNoise):
        raise ParameterError("ledger", type(event).__name__, wanted)
    relation = Relation.ADD_OR_REMOVE_ONE
    if isinstance(event, FixedSizeSampled) or (event is noise and noise.sensitivity.replace is not None):
        relation = Relation.REPLACE_ONE
    shifts = noise.sensitivity.under(relation)
    if len(shifts) != 1 or shifts[0].count != 1 or not shifts[0].size:
        raise ParameterError("ledger", noise.sensitivity, "a movement by one l2 distance above 0")
    moved = float(shifts[0].size) / float(noise.sigma)
    if isinstance(event, PoissonSampled):
        return _Told("poisson", relation, steps, float(event.rate), None, None, moved, noise)
    if isinstance(event, FixedSizeSampled):
        size, of = int(event.sampled), int(event.of)
        return _Told("fixed", relation, steps, size / of, size, of, moved, noise)
    return _Told("every", relation, steps, 1.0, None, None, moved, noise)


def _eps(ledger: Ledger, delta: float, relation: Relation) -> float | None:
    try:
        return account(ledger, delta=delta, relation=relation)
    except AccountingError:
        return None


class _Loop:
    """The runs of one training function, and what they show."""

    def __init__(self, train: Train, arrays: Sequence[Array], together: bool, seed: int, told: _Told) -> None:
        self.train, self.arrays, self.together, self.seed, self.told = train, arrays, together, seed, told
        self.users = len(arrays[0])
        self.found: dict[str, str] = {}
        self.unknown: list[str] = []
        self.notes: list[str] = []
        self.batches: list[Array] = []
        self.known: dict[Any, Array | None] = {}  # releases with changed rows
        self.replaced = 0.0  # how far a row moves that cannot be left out, between two values of its own
        self.linear: set[int] = set()  # steps whose noise is understood
        self.other: Ledger | None = None
        self.base = self.run()

    def run(self, change: Change | None = None, key: int = 0, users: int | None = None) -> Run:
        run = Run(change or Change())
        real = stream(self.seed, Stage.TAPE, key)
        rng, source = noted_by(real, run)
        given = [Rows(run, each[:users], number) for number, each in enumerate(self.arrays)]
        try:
            self.train(tuple(given) if self.together else given[0], rng=rng, step=run.step)
        except Enough:
            pass
        except (Exception, SystemExit) as error:  # its end is not ours
            raise TargetError(f"the training function raised {type(error).__name__}: {error}") from error
        if not run.steps:
            raise TargetError("the training function calls step(released) not at all")
        run.notes = source.notes
        return run

    def changed(self, step: int, **what: Any) -> Array | None:
        """What `step` releases with one thing changed; None where that run failed, or went another way before."""
        if set(what) != {"rows"}:
            return self._changed(step, **what)
        key = step, frozenset(what["rows"].items())
        if key not in self.known:
            self.known[key] = self._changed(step, **what)
        return self.known[key]

    def _changed(self, step: int, *, first: int | None = None, **what: Any) -> Array | None:
        try:
            with np.errstate(all="ignore"):
                run = self.run(Change(step if first is None else first, until=step, **what))
        except TargetError:
            return None
        if run.steps <= step or parted(run.released[:step], self.base.released[:step]):
            return None
        sizes, usual = run.sizes[step], self.base.sizes[step]
        unread, undrawn = None in what.get("rows", {}).values(), what.get("out") is not None
        if (unread or undrawn) and sizes != usual:
            if unread or len(sizes) != len(usual):
                self.unknown.append(f"step {step + 1}: what is drawn depends on how many rows are in the batch")
            return None
        released = run.released[step]
        return released if released.shape == self.base.released[step].shape and np.isfinite(released).all() else None

    def look(self) -> None:
        again = self.run()
        if parted(again.released, self.base.released):
            self.unknown.append("NOT TRACED: two runs with the same random values differ; draw from rng alone")
            return
        if not all(np.isfinite(each).all() for each in self.base.released):
            self.unknown.append("NOT TRACED: the release is not finite")
            return
        self.unknown += [f"NOT TRACED: {note}" for note in self.base.notes]
        if not any(each.dtype.kind == "f" for each in self.arrays):
            self.unknown.append("data of whole numbers, of which no row is made larger: hand over floats")
        if not self.take_part():
            return
        self.compare_steps()
        self.compare_sampler()
        self.compare_noise()

    # who takes part

    def take_part(self) -> bool:
        read = [np.unique(np.concatenate([rows for _, rows in each] or [np.zeros(0, int)])) for each in self.base.reads]
        read = read[: self.base.steps]
        if not any(each.size for each in read):
            self.unknown.append("NOT TRACED: no row of the data that was handed over is read in a step")
            return False
        if 2 * sum(each.size for each in read) > MOST_RUNS:
            self.unknown.append(f"{sum(map(len, read))} rows are read in {self.base.steps} steps: hand over fewer")
            return False
        self.exact = True  # what is read takes part
        for step, rows in enumerate(read):
            moving = [row for row in rows if self.moves(step, int(row))]
            self.exact &= len(moving) == len(rows)
            self.batches.append(np.array(moving, dtype=int))
        calls = [[rows for _, rows in each] for each in self.base.reads[: self.base.steps]]
        if not all(calls) and (not self.exact or any(len(rows) == self.users for each in calls for rows in each)):
            self.unknown.append("NOT TRACED: rows are read ahead of their step; read them in each step, from data")
            return False
        twice = [rows for each in calls for rows in each if len(np.unique(rows)) < len(rows)]
        if self.exact and twice:
            self.found["REPEATED_ROW"] = f"{len(twice[0])} rows of which {len(np.unique(twice[0]))} differ"
        return True

    def moves(self, step: int, row: int) -> bool:
        """Whether the release of this step depends on the row; huge ones, since a gradient of 0 may be chance."""
        tries: list[float | None] = [100.0, -100.0] if self.base.whole else [None, 100.0, -100.0]
        for factor in tries:
            released = self.changed(step, rows={row: factor})
            if released is not None and not np.array_equal(released, self.base.released[step]):
                return True
        return released is None

    # steps and sampler

    def compare_steps(self) -> None:
        steps, told = self.base.steps, self.told
        if told.kind == "every":
            most = max(Counter(int(row) for each in self.batches for row in each).values(), default=0)
            if most > told.steps:
                self.found["STEPS"] = f"a row takes part in {most} steps, {told.steps} accounted"
        elif steps > told.steps:
            self.found["STEPS"] = f"{steps} steps, {told.steps} accounted"
        elif steps < told.steps:
            self.notes.append(f"{steps} steps ran, {told.steps} are accounted")

    def compare_sampler(self) -> None:
        told, users = self.told, self.users
        if told.kind == "every":
            return
        drawn = [self.batches]
        if self.exact:
            for key in range(1, SEEDS):
                run = self.run(key=key)
                number = next((first for each in run.reads for first, _ in each), 0)
                drawn.append(
                    [
                        np.unique(
                            np.concatenate([rows for first, rows in each if first == number] or [np.zeros(0, int)])
                        )
                        for each in run.reads[: run.steps]
                    ]
                )
        sizes = [len(each) for run in drawn for each in run]
        usual, often = Counter(sizes).most_common(1)[0]
        every, poisson = min(sizes) == users or not sum(sizes), told.kind == "poisson"
        levels = {} if every else sampler_levels(drawn, users, poisson=poisson)
        sampler = next((name for name, level in levels.items() if level < LEVEL), "")
        if not poisson and len(set(sizes)) > 2:
            sampler = sampler or "sizes"
        text = {
            "in order": "the same batches whatever the random values",
            "shuffled": "no row comes again within an epoch",
            "again": "batches have too many rows in common with the one before",
            "fixed": f"{often} of {len(sizes)} batches have {usual} rows",
            "sizes": f"batches of {min(sizes)} to {max(sizes)} rows",
        }.get(sampler, "")
        if text and self.exact:
            self.found["SAMPLER"] = text
            self.account_of(sampler, drawn, max(sizes))
        elif text:
            self.unknown.append(
                f"{text}; but rows that move nothing are not seen in batches: read only those of a batch"
            )
        elif not every and (min(levels["in order"], levels["shuffled"]) < 1 or (poisson and len(set(sizes)) == 1)):
            self.unknown.append(f"{len(sizes)} batches are too few to tell the sampler: let it run more steps")
        self.compare_rate(drawn, sizes, usual)

    def account_of(self, sampler: str, drawn: Any, size: int) -> None:
        """The ledger of the sampler that runs, with the noise that was accounted."""
        noise = self.told.noise
        moves = noise.sensitivity
        if moves.replace is None:
            moves = Sensitivity.doubled(add_remove=moves.add_remove or ())
        event = GaussianNoise(what=noise.what, sigma=noise.sigma, sensitivity=moves)
        steps = max(map(len, drawn))
        if sampler == "fixed":
            step = FixedSizeSampled(what="batch", sampled=size, of=self.users, inside=Ledger(event))
            self.other = Ledger(step) * steps
        elif sampler in ("shuffled", "in order"):
            most = max(max(Counter(int(row) for each in run for row in each).values(), default=0) for run in drawn)
            self.other = Ledger(event) * max(most, math.ceil(steps * size / self.users))

    def compare_rate(self, drawn: Any, sizes: list[int], usual: int) -> None:
        told, users = self.told, self.users
        chunks = Counter(len([1 for n, _ in each if n == 0]) for each in self.base.reads[: self.base.steps])
        parts = chunks.most_common(1)[0][0]
        share = sum(sizes) / (users * len(sizes))
        if told.kind == "poisson":
            law = stats.binom(users * len(sizes), told.rate)
            more = "SAMPLER" not in self.found and law.sf(sum(sizes) - 1) < LEVEL / 2
            more |= "SAMPLER" in self.found and usual > math.ceil(users * told.rate)
            less = law.cdf(sum(sizes)) < LEVEL / 2
        else:
            more, less = usual > (told.size or 0) or users < (told.users or 0), usual < (told.size or 0)
            odd = Counter(sizes)
            if (
                self.exact
                and len(odd) == 2
                and min(odd) != usual
                and "SAMPLER" not in self.found
                and min(odd) < (told.size or 0)
            ):
                self.found["LAST_BATCH"] = f"{odd[min(odd)]} of {len(sizes)} batches have {min(odd)} rows, not {usual}"
        if more:
            word = "VIRTUAL_STEPS" if parts > 1 and share / told.rate > 1.5 else "RATE"
            read = f", read in {parts} parts" if parts > 1 else ""
            self.found[word] = f"{share:.4g} of the rows in a step{read}; accounted {told.rate:.4g}"
        elif less:
            self.notes.append(f"{share:.4g} of the rows are in a step, {told.rate:.4g} are accounted")

    # noise and movement

    def compare_noise(self) -> None:
        moved: list[tuple[float, int, float]] = []  # (over what is allowed, step, number of parts)
        for step in range(self.base.steps):
            spread = self.spread(step)
            if spread is not None:
                self.linear.add(step)
                self.compare_movement(step, *spread, moved)
        if self.base.steps and self.told.kind == "poisson":
            self.compare_divisor()
        if not moved and not self.found:
            self.unknown.append("no step in which the movement by a row could be measured")
        if 1 + SLACK < self.replaced <= 2 * (1 + SLACK):
            self.unknown.append(
                f"a row that cannot be left out moves up to {self.replaced:.4g} times as far as accounted, between two "
                "values of its own, where 2 is allowed: read rows by an array of indices"
            )
        over = [each for each in moved if each[0] > 1 + SLACK]
        if over and not {"NOT_CLIPPED", "REPEATED_ROW", "SHARED_NOISE"} & set(self.found):
            worst, step, parts = max(over)
            small = max(len(self.batches[each[1]]) for each in over)
            fine = [len(self.batches[each[1]]) for each in moved if each not in over]
            word = "WORKER_NOISE" if parts > 1 else "SIGMA"
            if parts == 1 and self.told.kind != "poisson" and fine and small < min(fine):
                word = "LAST_BATCH"
            text = f"step {step + 1}: a row moves {worst:.4g} times as far for its noise"
            self.found[word] = text + (f", {parts} draws" if parts > 1 else "")
        if moved and not over and max(each[0] for each in moved) < 0.6:
            self.notes.append(f"rows moved by {max(each[0] for each in moved):.2g} of what is accounted, at most")

    def spread(self, step: int) -> tuple[Array, int] | None:
        """Standard deviation of the noise on each coordinate of the release, and of how many draws it is made."""
        base, draws = self.base.released[step], self.base.draws[step]
        after = [place for place, (_, read) in enumerate(draws) if read]
        variance, parts = np.zeros(base.shape), np.zeros(base.shape, dtype=int)
        for place in after:
            signs = stream(self.seed, Stage.TAPE, SEEDS).choice([-0.5, 0.5], size=draws[place][0])
            one, half = (self.changed(step, draws={place: by}) for by in (1.0, signs))
            if one is None or half is None:
                self.unknown.append(f"step {step + 1}: the release with another noise value could not be had")
                return None
            by, by_half = one - base, half - base
            tiny = 64 * np.finfo(np.float32).eps * SLACK * np.abs(base).max(initial=0.0)
            touched = np.abs(by) > tiny
            far = [(end, self.changed(step, draws={place: end})) for end in HUGE[2:]]  # to where a model may be bounded
            # each number has a noise value of its own, or none: signs do not matter
            if _differ(np.abs(by), 2 * np.abs(by_half)) or any(
                each is None or _differ((each - base) / end, by) for end, each in far
            ):
                self.unknown.append(
                    f"step {step + 1}: not linear in its noise (hand the noisy gradient to step), or several values of "
                    "one draw meet in a number"
                )
                return None
            if draws[place][0] < touched.sum():
                text = f"step {step + 1}: {draws[place][0]} noise values for {touched.sum()} numbers"
                if draws[place][0] == 1 and self.leaves(step, by):
                    self.found["SHARED_NOISE"] = text
                else:
                    self.unknown.append(f"{text}: shared, or more is released than the model (hand that over alone)")
                return None
            variance += by**2
            parts += touched
        if not variance.all() and (reason := self.other_noise(step, variance == 0)):
            self.unknown.append(f"NOT TRACED: step {step + 1}: {reason}")
            return None
        return np.sqrt(variance), int(parts.max(initial=0))

    def other_noise(self, step: int, quiet: Array) -> str:
        """Why a number of the release without a normal draw may have noise all the same."""
        base = self.base
        if base.seeds:
            return "a whole number is drawn, which may seed noise: draw the noise from rng itself"
        again = self.changed(step, again=True)
        if again is None or not np.array_equal(again[quiet], base.released[step][quiet]):
            return "noise of another law than rng.normal in double precision"
        for first in range(step + 1):
            for place, (size, read) in enumerate(base.draws[first]):
                if first < step and size > base.released[step].size:
                    return "noise that is drawn for several steps together"
                if first < step or not read:
                    moved = self.changed(step, first=first, draws={place: 1.0})
                    if moved is not None and not np.array_equal(moved, base.released[step]):
                        return "noise that is drawn before the rows of its step are read"
        return ""

    def leaves(self, step: int, line: Array) -> bool:
        """Whether a row moves the release to where one noise value cannot, which moves it along a line."""
        for row in self.batches[step][:2]:
            released = self.changed(step, rows={int(row): HUGE[0]})
            if released is not None:
                by = released - self.base.released[step]
                rest = by - line * (by @ line) / (line @ line)
                if np.linalg.norm(rest) > SLACK * max(np.linalg.norm(by), np.linalg.norm(line)):
                    return True
        return False

    def compare_movement(self, step: int, spread: Array, parts: int, moved: list[tuple[float, int, float]]) -> None:
        """Under add/remove: from where the row is left out. Under replace: between any two sizes of a row.

        A row that cannot be left out is compared with itself, which moves up to twice as far: what lies between is not
        judged.
        """
        by_size: dict[float, float] = {}
        for row in map(int, self.rows(step)):
            released = {factor: self.changed(step, rows={row: factor}) for factor in HUGE}
            without = self.without(step, row) if self.told.relation is Relation.ADD_OR_REMOVE_ONE else None
            ends = [(1.0, self.base.released[step]), *((abs(factor), each) for factor, each in released.items())]
            floats = [number for number, each in enumerate(self.arrays) if each.dtype.kind == "f"]
            for number, factor in itertools.product(floats if len(floats) > 1 else (), HUGE[2:]):  # one array alone
                alone = tuple(factor if each == number else 1.0 for each in range(len(self.arrays)))
                ends.append((1.0, self.changed(step, rows={row: alone})))
            pairs = [(size, each, without) for size, each in ends]
            if without is None:
                pairs = [(max(a, b), one, other) for (a, one), (b, other) in itertools.combinations(ends, 2)]
            worst = 0.0
            for size, one, other in pairs:
                if one is None or other is None:
                    continue
                distance = self.distance(step, one - other, spread)
                if distance is None:
                    return
                worst = max(worst, distance / self.told.moved)
                by_size[size] = max(by_size.get(size, 0.0), distance / self.told.moved)
            if worst and without is None and self.told.relation is Relation.ADD_OR_REMOVE_ONE:
                self.replaced = max(self.replaced, worst)
                worst /= 2
            moved.append((worst, step, parts))
        if not by_size:
            if len(self.batches[step]):
                self.unknown.append(f"step {step + 1}: no release with another row could be had")
            return
        worst = max(each[0] for each in moved if each[1] == step)
        small, large = by_size.get(HUGE[0], math.inf), by_size.get(HUGE[2], 0.0)
        if worst > 1 + SLACK and large > 5 * small:
            self.found["NOT_CLIPPED"] = f"step {step + 1}: {large / small:.3g} times as far by a row 100 times as large"
        for row, end in itertools.product(map(int, self.batches[step][:2]), (math.nextafter(1.0, 0.0), 0.0)):
            self._changed(step, out=row, end=end)  # notes where a step without it is another one
        self.compare_sum(step, spread)
        self.compare_later(step, spread)

    def rows(self, step: int) -> Array:
        """Rows whose movement is measured: all of the batch, or as many, evenly spread, as there are runs for."""
        rows = self.batches[step]
        most = max(2, MOST_RUNS // (len(HUGE) * self.base.steps))
        if len(rows) > most:
            self.notes.append(f"movement is measured for {most} rows of a batch")
            rows = rows[np.linspace(0, len(rows) - 1, most).astype(int)]
        return rows

    def without(self, step: int, row: int) -> Array | None:
        """The release without a row: it is not read, or its uniform value leaves it out of the batch."""
        left = None if self.base.whole else self.changed(step, rows={row: None})
        if left is not None:
            return left
        base, factors = self.base.released[step], HUGE[:2]
        usual = [self.changed(step, rows={row: factor}) for factor in factors]
        if all(each is None or np.array_equal(each, base) for each in usual):
            return None
        changes: list[dict[int, Factor]] = [{}]
        changes += [{row: factor} for factor in factors]
        for end in (math.nextafter(1.0, 0.0), 0.0):
            left, *others = (self._changed(step, out=row, end=end, rows=rows) for rows in changes)
            if left is not None and all(each is not None and np.array_equal(each, left) for each in others):
                return left
        return None

    def compare_later(self, step: int, spread: Array) -> None:
        """A row is changed and the noise with it, so that this step releases the same: so do all later ones.

        What they depend on otherwise is a row that is used in more steps than it is in, or noise that is used again.
        """
        base = self.base
        if not len(self.batches[step]) or not spread.any() or self.found.keys() & {"CARRIED", "NO_NOISE"}:
            return
        unit = np.where(spread > 0, spread, spread.max())
        effects = {
            place: self.changed(step, draws={place: 1.0}) for place, (_, read) in enumerate(base.draws[step]) if read
        }
        for row, factor in ((int(row), factor) for row in self.batches[step][:2] for factor in HUGE[2:]):
            released = self.changed(step, rows={row: factor})
            if released is None or np.array_equal(released, base.released[step]):
                continue
            rest, draws = base.released[step] - released, {}
            for place, effect in effects.items():
                by = np.zeros(0) if effect is None else effect - base.released[step]
                touched = np.flatnonzero(by)
                if touched.size == base.draws[step][place][0]:
                    draws[place] = rest[touched] / by[touched]
                    rest = np.where(by != 0, 0.0, rest) if by.size else rest
            try:
                with np.errstate(all="ignore"):
                    run = self.run(Change(step, rows={row: factor}, draws=draws, until=base.steps))
            except TargetError:
                run = None
            far = [math.inf] * base.steps
            if run is not None:
                far[: run.steps] = [
                    float(np.linalg.norm((one - other) / unit)) if one.shape == spread.shape else math.inf
                    for one, other in zip(run.released, base.released, strict=False)
                ]
                if run.steps > base.steps:
                    far.append(math.inf)
            if not far[step] <= SLACK * self.told.moved:
                self.unknown.append(f"step {step + 1}: whether later steps depend on its rows could not be measured")
                return
            for later in range(step + 1, len(far)):
                if not far[later] <= 10 * SLACK * self.told.moved:
                    if self.told.kind == "every":
                        self.unknown.append("NOT TRACED: noise of several steps belongs together (DP-FTRL), or rows do")
                        return
                    text = f"step {later + 1} differs where step {step + 1} releases the same from another row"
                    self.found["CARRIED"] = text
                    return

    def distance(self, step: int, by: Array, spread: Array) -> float | None:
        quiet = spread <= SLACK * SLACK * spread.max(initial=0.0)
        if (np.abs(by[quiet]) > SLACK * np.abs(by).max(initial=0.0)).any():
            coordinates = "" if quiet.all() else f" on {int(quiet.sum())} of {quiet.size} coordinates"
            self.found["NO_NOISE"] = f"step {step + 1}: no draw of rng reaches the release{coordinates}"
            return None
        return float(np.linalg.norm(by[~quiet] / spread[~quiet]))

    def compare_sum(self, step: int, spread: Array) -> None:
        """Two huge rows move a sum of clipped rows by the sum of what each does; a clipped sum does not."""
        base, rows = self.base.released[step], [int(row) for row in self.batches[step][:2]]
        noisy = spread > 0
        if len(rows) < 2 or not noisy.any() or "NOT_CLIPPED" in self.found:
            return
        for sign in (1, -1):
            a, b = (self.changed(step, rows={row: by * HUGE[2]}) for row, by in zip(rows, (1, sign), strict=True))
            both = self.changed(step, rows={rows[0]: HUGE[2], rows[1]: sign * HUGE[2]})
            if a is None or b is None or both is None:
                continue
            rest = float(np.linalg.norm((both - a - b + base)[noisy] / spread[noisy]))
            if rest > 10 * SLACK * self.told.moved:  # smaller ones may be rounding
                text = f"step {step + 1}: two rows move it otherwise than one and the other"
                self.found.setdefault("BATCH_CLIPPED", text)
                return

    def compare_divisor(self) -> None:
        """Under add/remove the number of rows is private: what noise is divided by may not depend on it."""
        step = next((step for step in sorted(self.linear) if len(self.batches[step])), None)
        if step is None:
            return
        place = next((place for place, (_, read) in enumerate(self.base.draws[step]) if read), None)
        if place is None or self.told.rate <= 0:
            return
        mine = self.changed(step, draws={place: 1.0})
        if mine is None:
            return
        mine = mine - self.base.released[step]
        row = int(self.batches[step][0])
        if not self.base.whole:
            left, both = (self.changed(step, rows={row: None}, draws=draws) for draws in ({}, {place: 1.0}))
            if left is not None and both is not None and _differ(both - left, mine):
                self.found["DIVISOR"] = "noise is scaled otherwise where the batch has one row less"
                return
        for fewer in {1, math.ceil(1 / self.told.rate), self.users - int(self.batches[step].max())}:
            if self.users - fewer < 1 or step != 0:
                continue
            try:
                one = self.run(users=self.users - fewer)
                two = self.run(Change(0, draws={place: 1.0}), users=self.users - fewer)
            except TargetError:
                continue
            first = self.changed(0, draws={place: 1.0})
            if first is None or one.released[0].shape != first.shape:
                continue
            if _differ(two.released[0] - one.released[0], first - self.base.released[0]):
                self.found["DIVISOR"] = f"noise is scaled otherwise where the data has {fewer} rows less"
                return


def _together(texts: Sequence[str]) -> tuple[str, ...]:
    """What is said of several steps, once."""
    steps: dict[str, list[str]] = {}
    for text in texts:
        found = re.fullmatch(r"(NOT TRACED: )?step (\d+): (.*)", text)
        steps.setdefault((found[1] or "") + found[3] if found else text, []).extend([found[2]] if found else [])
    return tuple(
        f"step {numbers[0]}{f' and {len(numbers) - 1} more' if len(numbers) > 1 else ''}: {text}" if numbers else text
        for text, numbers in ((text, list(dict.fromkeys(each))) for text, each in steps.items())
    )


def _differ(one: Array, other: Array) -> bool:
    return not np.allclose(one, other, rtol=SLACK, atol=SLACK * np.abs(other).max(initial=0.0))


def _number(eps: float | None) -> str:
    """Rounded up, like the account itself."""
    return "none" if eps is None or math.isnan(eps) else f"eps {digits_up(eps):.4g}"
