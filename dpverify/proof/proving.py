"""Proves a privacy claim from the code of a function: for all neighbouring datasets of a schema."""

import inspect
import math
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from dpverify.accounting.accountant import meets
from dpverify.claims.claim import ApproxDP, Claim, GaussianDP, PureDP, ZCDP
from dpverify.claims.curves import parse_claim
from dpverify.claims.neighbours import Relation, View
from dpverify.errors import UsageError
from dpverify.ledger import Event as LedgerEvent
from dpverify.ledger import GaussianNoise, LaplaceNoise, Ledger, PureStep, Sensitivity
from dpverify.proof import targets
from dpverify.proof.attaining import attaining_pair, describe_release, propose_scale
from dpverify.proof.derivation import write_derivation
from dpverify.proof.ending import Ending, NeedsNumberOfRows, OutsideOfTheCall, ProofEnds
from dpverify.proof.finite import finite_proof, TooManyPaths
from dpverify.proof.functions import silence
from dpverify.proof.moves import Cost, cost_of, zcdp_of
from dpverify.proof.plain import name_output
from dpverify.proof.programs import load, read_out, release_output, source_file
from dpverify.proof.rehearsal import examples_of, MOST_ROWS, rehearse
from dpverify.proof.rows import ColumnFacts, Domain
from dpverify.proof.run import Run, unexplored
from dpverify.proof.state import check_state, state_of
from dpverify.proof.surroundings import check_kept, check_settings
from dpverify.proof.terms import Noisy, Public, Rows, Scope, Source, Symbol, Table
from dpverify.wild.one_line import data_schema
from dpverify.wild.schema import fit_claim, MOST_PUBLIC, Schema

MOST_NUMBERS_OF_ROWS = 300
MOST_PATHS = 256
MOST_REHEARSED = 8  # runs (paths of the program, or numbers of rows) that are compared on all examples
MOST_MODULES = 2_048  # that an enumeration runs: one for each path, or as many as the program is made of
# Programs compute their scales in floats: so much of a closed form is rounding of sixteen operations, and a claim is
# said in real arithmetic. It is far below what anybody claims (1 against 1.0000000000000036).
ROUNDING = Fraction(1, 2**48)
OF_LAWS = Fraction(1, 2**44)  # the same of an enumerated law: a product of as many masses as the program draws


@dataclass(frozen=True)
class Step:
    """One release of a proof.

    Parameters
    ----------
    kind : str
        Law of the noise, or how a choice is made.
    line : int
        Line of the program.
    loss : float
        What it costs alone, at its own worst pair: eps, or the distance in standard deviations.
    text : str
        The step as a sentence.
    """

    kind: str
    line: int
    loss: float
    text: str = ""

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Proof:
    """A Proof holds what was proved of a function for all neighbouring datasets of a schema.

    `prove` makes it.

    Parameters
    ----------
    holds : bool
        Whether the claim is proved; without a claim, whether any number is.
    eps, rho, mu : float
        The smallest proved numbers of pure DP, zCDP and Gaussian DP; infinite where none is proved.
    claim : Claim or None
        The claim that was asked about.
    relation : Relation
        Which datasets are neighbours.
    ended : Ending or None
        Where the proof ended, and why.
    steps : tuple of Step
        The releases of the path that costs most.
    paths : int
        Number of runs: outcomes of branches on released values, times numbers of rows that were run one by one.
    notes : tuple of str
        What the proof assumes beside the schema.
    seconds : float
        Wall time.
    pair : tuple of two tuples of rows, or None
        Neighbouring datasets for which the bound is meant to be attained: the ones to try first.
    mend : str
        What would make the claim true, where one scale is too small.
    derivation : dict
        The proof as plain values, from which `dpverify check` computes its numbers again; empty where it has ended.
    alone : bool
        Whether the program returns data plus one draw of Laplace or Gaussian noise for each entry, and nothing else,
        in every run. Then the law of its output is known on every pair, and so is the number that is true there.
    """

    holds: bool
    eps: float
    rho: float
    mu: float
    claim: Claim | None
    relation: Relation
    ended: Ending | None
    steps: tuple[Step, ...]
    paths: int
    notes: tuple[str, ...]
    seconds: float
    pair: tuple[tuple[tuple[Any, ...], ...], tuple[tuple[Any, ...], ...]] | None = None
    mend: str = ""
    derivation: dict[str, Any] = field(default_factory=dict, compare=False)
    alone: bool = field(default=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, the same for every run: without `seconds`."""
        return {
            "holds": self.holds,
            "eps": self.eps,
            "rho": self.rho,
            "mu": self.mu,
            "ended": "" if self.ended is None else str(self.ended),
            "steps": [str(step) for step in self.steps],
            "paths": self.paths,
            "notes": list(self.notes),
            "pair": None if self.holds or not self.pair else [[list(row) for row in rows] for rows in self.pair],
            "mend": self.mend,
            "derivation": self.derivation,
        }

    def __str__(self) -> str:
        if self.ended is not None:
            return f"OPEN: {self.ended}"
        said = f"{self.claim}" if self.claim is not None else f"eps = {self.eps:.6g}, rho = {self.rho:.6g}"
        head = "CERTIFIED" if self.holds else "NOT PROVED"
        return "\n".join([f"{head} {said} ({self.relation}): proved from the code", *map(str, self.steps)])


def prove(
    function: Callable[..., Any],
    *,
    data: str | Schema,
    relation: str | Relation = "replace",
    claim: str | Claim | None = None,
    arguments: Mapping[str, Any] | None = None,
) -> Proof:
    """Prove a privacy claim of an unmodified function for all neighbouring datasets of a schema.

    Parameters
    ----------
    function : callable, class or object
        A function whose first parameter gets the data; or a class, or an object, with `release(data, *, rng, size)`,
        of which one release (`size=1`) is proved. The source of its module has to be there.
    data : str or Schema
        What the data look like, e.g. "vector: real 0..100, rows 5..50".
    relation : {"replace", "add-remove"} or Relation
        Which datasets are neighbours.
    claim : str or Claim, optional
        E.g. "pure:1". Without it the smallest proved eps, rho and mu are computed.
    arguments : mapping, optional
        Values of other parameters (of the constructor of a class); the defaults else.

    Returns
    -------
    Proof
        `holds` says whether the claim is proved; `eps`, `rho`, `mu` what is; `ended` where the proof ended.

    Raises
    ------
    UsageError
        Where the schema allows no neighbours under the relation, where the claim is about another relation, about users
        or about one user's message and the schema is not, or where the source of the function is not there.

    Notes
    -----
    The function runs on symbols: rows of which only the schema is known. Every release is charged with how far any
    neighbour can move it. What no rule covers ends the proof; nothing is sampled. Arithmetic is that of real numbers.
    """
    started = time.perf_counter()
    schema = data_schema(data, most=MOST_PUBLIC) if isinstance(data, str) else data
    neighbours = relation if isinstance(relation, Relation) else _relation(relation)
    stated = parse_claim(claim, relation=neighbours) if isinstance(claim, str) else claim
    if stated is not None:
        _check_claim(stated, schema, neighbours)
        stated = fit_claim(stated, schema)
    _check_neighbours(schema, neighbours)
    program = _Program(function, schema, neighbours, dict(arguments or {}))
    found = _from_rules(program, stated)
    if not found.holds:
        found = _from_laws(program, stated, found)
    return replace(found, seconds=time.perf_counter() - started)


def _from_rules(program: "_Program", claim: Claim | None) -> Proof:
    """What the rules prove."""
    notes: set[str] = set()
    schema, relation, inf = program.schema, program.relation, math.inf
    try:
        outcomes = program.all_numbers_of_rows(notes)
        program.rehearse([each.run for each in outcomes])
        found = _together(outcomes, program.file.name, schema)
    except _Ended as end:
        return Proof(False, inf, inf, inf, claim, relation, end.ending, (), 0, (), 0.0)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        why = f"an error of the prover, please report it ({type(error).__name__}: {error})"
        return Proof(False, inf, inf, inf, claim, relation, Ending(why[:200], file=program.file.name), (), 0, (), 0.0)
    holds = _meets(claim, found, outcomes) if claim is not None else found.eps < inf or found.rho < inf
    return Proof(
        holds=holds,
        eps=found.eps,
        rho=found.rho,
        mu=found.mu,
        claim=claim,
        relation=relation,
        ended=None,
        steps=found.steps,
        paths=len(outcomes),
        notes=tuple(sorted(notes)),
        seconds=0.0,
        pair=found.pair,
        mend="" if holds or claim is None else propose_scale(outcomes[0].run, claim, program.file.name),
        derivation=write_derivation(
            [(each.run, each.cost) for each in outcomes],
            outcomes[0].run.domain.columns,
            str(relation),
            schema.rows,
            program.file.name,
        ),
        alone=len(outcomes) == 1 and outcomes[0].run.alone,
    )


def _from_laws(program: "_Program", claim: Claim | None, found: Proof) -> Proof:
    """What the laws of all datasets prove, where there are finitely many; else what the rules have proved."""
    if found.ended is not None and found.ended.outside:
        return found
    delta = claim.delta if isinstance(claim, ApproxDP) else 0.0
    finite = finite_proof(_PlainRuns(program), program.schema, program.relation, delta)
    if isinstance(finite, TooManyPaths):
        return _with_many_paths(program, found, finite.most)
    if finite is None or (found.ended is None and not finite.eps < found.eps):
        return found
    rho = float(zcdp_of("pure", np.asarray(finite.eps)))
    match claim:
        case None:
            holds = finite.eps < math.inf
        case PureDP():
            holds = _at_most(finite.eps, claim.eps, OF_LAWS)
        case ApproxDP():
            holds = finite.eps_at_delta <= claim.eps or _at_most(finite.eps, claim.eps, OF_LAWS)
        case ZCDP():
            holds = _at_most(rho, claim.rho, OF_LAWS)
        case _:
            ledger = _ledger((("pure", finite.eps),))
            holds = ledger is not None and meets(claim, ledger)
    text = f"all {finite.pairs} pairs of neighbours of {finite.datasets} datasets: the laws of all draws are enumerated"
    return replace(
        found,
        holds=holds,
        eps=finite.eps,
        rho=rho,
        ended=None,
        steps=(Step("enumeration", 0, finite.eps, text),),
        pair=finite.pair,
        derivation={
            "by": "enumeration",
            "relation": str(program.relation),
            "rows": list(program.schema.rows),
            "datasets": finite.datasets,
            "pairs": finite.pairs,
            "eps": finite.eps,
            "eps_at_delta": finite.eps_at_delta,
        },
    )


def _with_many_paths(program: "_Program", found: Proof, most: int) -> Proof:
    """Say that the draws have too many values, where laws of answers of one person are what would have been proved."""
    if found.ended is None or not program.schema.local:
        return found
    why = f"its draws have more than {most:,} values, too many to enumerate"
    remedy = "compare a uniform number with a probability, random.random() < p"
    return replace(found, ended=Ending(why, remedy, program.file.name))


def _relation(text: str) -> Relation:
    known = {
        "replace": Relation.REPLACE_ONE,
        "replace-one": Relation.REPLACE_ONE,
        "add-remove": Relation.ADD_OR_REMOVE_ONE,
        "add-or-remove-one": Relation.ADD_OR_REMOVE_ONE,
    }
    if text not in known:
        raise UsageError(f"relation {text!r}: must be replace or add-remove")
    return known[text]


def _check_claim(claim: Claim, schema: Schema, relation: Relation) -> None:
    if claim.relation is not relation:
        raise UsageError(
            f"the claim is about {claim.relation}, the proof about {relation}: give both the same relation"
        )
    if claim.view is View.LOCAL and not schema.local:
        raise UsageError("the claim is about the local view: one message of one user, whose data is `value: ...`")


def _check_neighbours(schema: Schema, relation: Relation) -> None:
    fewest, most = schema.rows
    if relation is Relation.ADD_OR_REMOVE_ONE and (fewest == most or schema.local):
        raise UsageError("the schema allows one number of rows only: no two datasets are neighbours under add-remove")
    if relation is Relation.REPLACE_ONE and most < 1:
        raise UsageError("the schema allows no rows: no two datasets are neighbours")
    if relation is Relation.REPLACE_ONE and all(_single(each) for each in schema.columns):
        raise UsageError("the schema allows one row only: no two datasets are neighbours under replace")


def _single(column: Any) -> bool:
    if column.numeric:
        return bool(column.low == column.high)
    return bool(column.values) and len(column.values) == 1 and not column.open and not column.missing


class _Ended(Exception):
    """The proof has ended."""

    def __init__(self, ending: Ending) -> None:
        super().__init__(str(ending))
        self.ending = ending


@dataclass(frozen=True)
class _Outcome:
    """One run and its cost."""

    cost: Cost
    run: Run


@dataclass(frozen=True)
class _Found:
    eps: float
    rho: float
    mu: float
    steps: tuple[Step, ...]
    pair: Any


def _together(outcomes: list[_Outcome], file: str, schema: Schema) -> _Found:
    """The largest cost over paths.

    Notes
    -----
    Pure: every path's losses add up to at most its cost, so does every output's. zCDP: for each Renyi order the sum
    of an adaptive composition is bounded along every path (Feldman, Zrnic 2021, Theorem 3.1). All-Gaussian: the sum of
    mu^2 is bounded along every path (Smith, Thakurta 2022; Koskela et al. 2023).
    """
    worst = max(outcomes, key=lambda each: (each.cost.eps, each.cost.rho))
    steps = tuple(
        Step(
            event.kind if event.kind != "choice" else f"choice by {event.text}",
            event.line,
            loss,
            describe_release(worst.run, event, file),
        )
        for event, (_, loss) in zip(worst.run.events, worst.cost.each, strict=True)
    )
    return _Found(
        max(each.cost.eps for each in outcomes),
        min(
            max(each.cost.rho for each in outcomes),
            float(zcdp_of("pure", np.asarray(max(each.cost.eps for each in outcomes)))),
        ),
        max(each.cost.mu for each in outcomes),
        steps,
        attaining_pair(worst.run, schema),
    )


def _meets(claim: Claim, found: _Found, outcomes: list[_Outcome]) -> bool:
    """Whether what is proved implies the claim."""
    match claim:
        case PureDP():
            return _at_most(found.eps, claim.eps)
        case ZCDP():
            return _at_most(found.rho, claim.rho)
        case GaussianDP() if found.mu < math.inf:
            return _at_most(found.mu, claim.mu)
    if found.eps == 0 and found.rho == 0:
        return True
    whole = ("gaussian", found.mu) if found.mu < math.inf else ("pure", found.eps)  # one event stands for all paths
    ledgers = [_ledger((whole,))]
    if len({each.cost.each for each in outcomes}) == 1 and all(kind != "joint" for kind, _ in outcomes[0].cost.each):
        ledgers.append(_ledger(outcomes[0].cost.each))
    return any(ledger is not None and meets(claim, ledger) for ledger in ledgers)


def _at_most(proved: float, claimed: Any, rounding: Fraction = ROUNDING) -> bool:
    if not math.isfinite(proved):
        return False
    return Fraction(proved) <= Fraction(str(float(claimed))) * (1 + rounding)


def _ledger(losses: tuple[tuple[str, float], ...]) -> Ledger | None:
    """Events of these losses (eps, or the distance in standard deviations); None where one is infinite."""
    if any(not math.isfinite(loss) for _, loss in losses):
        return None
    return Ledger(*(_ledger_event(kind, loss) for kind, loss in losses if loss))


def _ledger_event(kind: str, loss: float) -> LedgerEvent:
    if kind == "gaussian":
        return GaussianNoise(what="code", sigma=1.0, sensitivity=Sensitivity(replace=loss, add_remove=loss))
    if kind == "laplace":
        return LaplaceNoise(what="code", scale=1.0, sensitivity=Sensitivity(replace=loss, add_remove=loss))
    return PureStep(what="code", eps=loss, uses=Sensitivity(replace=1, add_remove=1))


# ----------------------------------------------------------------------------------------------------------------------


class _Program:
    """A function with its schema, and all its runs."""

    def __init__(
        self, function: Callable[..., Any], schema: Schema, relation: Relation, arguments: dict[str, Any]
    ) -> None:
        self.target = function
        self.written = targets.written_as(function)
        self.schema = schema
        self.relation = relation
        self.arguments = arguments
        file = source_file(inspect.unwrap(self.written) if inspect.isfunction(self.written) else self.written)
        if file is None:
            raise UsageError("the source of the function is not there: prove needs the file that it was written in")
        self.file = file
        self._looked = False  # at what the names of the module reach: the same in all runs

    def all_numbers_of_rows(self, notes: set[str]) -> list[_Outcome]:
        """Runs for any number of rows; for each number by itself where the program asks for it."""
        fewest, most = self.schema.rows
        try:
            return self.all_paths(None, notes)
        except _Ended as end:
            if not isinstance(end.__cause__, NeedsNumberOfRows):
                raise
            if most - fewest + 1 > MOST_NUMBERS_OF_ROWS:
                raise _Ended(
                    Ending(
                        end.ending.reason + f", and the schema has more than {MOST_NUMBERS_OF_ROWS} numbers of rows",
                        "use the number of rows as a factor only, or allow fewer numbers of rows",
                        end.ending.file,
                        end.ending.line,
                    )
                ) from None
        found: list[_Outcome] = []
        for rows in range(fewest, most + 1):
            found += self.all_paths(rows, notes)
        notes.add(f"run for each number of rows from {fewest} to {most}")
        return found

    def all_paths(self, rows: int | None, notes: set[str]) -> list[_Outcome]:
        """Runs for all outcomes of branches on released values."""
        found: list[_Outcome] = []
        waiting: list[list[bool]] = [[]]
        while waiting:
            run = self.run(rows, waiting.pop())
            notes |= run.notes
            try:
                cost = cost_of(run)
            except ProofEnds as end:
                raise _Ended(Ending(end.reason, end.remedy, self.file.name)) from end
            found.append(_Outcome(cost, run))
            waiting += unexplored(run.taken, len(run.outcomes))
            if len(waiting) + len(found) > MOST_PATHS:
                raise _Ended(
                    Ending(
                        f"more than {MOST_PATHS} outcomes of branches on released values",
                        "branch less often on released values",
                        self.file.name,
                    )
                )
        return found

    def run(self, rows: int | None, outcomes: list[bool]) -> Run:
        """One run; `_Ended` where it does not reach the end."""
        schema = self.schema
        domain = Domain([_facts(each, schema.container == "frame") for each in schema.columns])
        most: float = schema.rows[1]
        run = Run(domain, self.relation, schema.rows[0], most, rows, outcomes)
        run.root = _root(self.file)
        raised: BaseException | None = None
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.resetwarnings()  # what turns a warning into an error then is set by the program
            warnings.simplefilter("ignore")
            try:
                output = self.call(run, lambda: (_given(run, schema), {}))
                run.record.note("output", output, 0)
                release_output(run, output)
                run.alone = _is_one_release(run, output)
            except ProofEnds as end:
                run.mark(end)
            except _Ended:
                raise
            except Exception as error:
                raised = error
        if run.ended is None and raised is not None:
            inside = Path(__file__).parent
            ours = isinstance(raised, TypeError | AttributeError | AssertionError)
            if (
                ours and inside in Path(_innermost_file(raised)).parents
            ):  # a rule was handed what it was not written for
                run.ended = ProofEnds("no rule covers this use of data or draws")
            else:
                named = f"{type(raised).__name__}: {raised}" if str(raised) else type(raised).__name__
                run.ended = OutsideOfTheCall(f"the program raises {named}"[:200])
            run.ended_line, run.ended_file = _line_of(raised, run.files)
        if run.ended is not None:
            signal = run.ended
            raise _Ended(
                Ending(
                    signal.reason,
                    signal.remedy,
                    Path(run.ended_file or self.file).name,
                    run.ended_line,
                    signal.exposed,
                    isinstance(signal, OutsideOfTheCall),
                )
            ) from signal
        return run

    def rehearse(self, runs: list[Run]) -> None:
        """Compares runs with the program on example data; `_Ended` at the first difference."""
        if self.schema.rows[0] > MOST_ROWS:
            fewest = self.schema.rows[0]
            why = f"the schema has {fewest:,} rows at least, and no examples of more than {MOST_ROWS:,} are made"
            raise _Ended(Ending(why, "let its rows begin with fewer", self.file.name))
        examples = examples_of(runs[0], self.schema) if runs else []
        for number, run in enumerate(runs):
            mine = examples
            if len(runs) > MOST_REHEARSED:  # many paths: each on two of the examples
                mine = [examples[each % len(examples)] for each in (number, 3 * number + 2)]
            found = rehearse(run, self.schema, self.call, mine)
            if found is not None:
                why = f"on example data this gives {found.what}: no rule of the proof covers this use"
                raise _Ended(Ending(why, "write it in another way", self.file.name, found.line or None))

    def call(self, run: Run, give: Callable[[], tuple[list[Any], dict[str, Any]]]) -> Any:
        """What the function of a fresh copy of its module returns; a state that outlives the call ends the proof."""
        with silence():
            module = load(run, self.file, _module_name(self.written, self.file))
            try:
                target = targets.callable_in(run, module, self.target, self.arguments)
            except targets.Unfound as error:
                raise _Ended(error.ending) from None
            before = state_of(run, target.kept)
            if run.plain is None:
                check_settings(run)
                if not self._looked:
                    check_kept(run, targets.names_read(run, self.written), target.kept)
                self._looked = True
            run.running_release = True
            given, named = give()
            result = read_out(run, target.function(*given, **named, **self._arguments(run, target, len(given))))
            check_state(run, target.kept, before)
        return result

    def _arguments(self, run: Run, target: targets.Callable_, given: int) -> dict[str, Any]:
        """Other arguments: those that were named; where a parameter without default asks for a generator, a fresh one,
        where it asks for the number of releases, 1.
        """
        found = dict(target.arguments)
        try:
            parameters = list(inspect.signature(target.function).parameters.values())
        except (TypeError, ValueError):
            return found
        for at, each in enumerate(parameters):
            if at < given or each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD) or each.name in found:
                continue
            if each.default is each.empty and each.name in ("rng", "generator", "random_state", "random_generator"):
                found[each.name] = Source(run, np.random.Generator) if run.plain is None else run.plain
            elif each.default is each.empty and each.name == "size" and any(e.name == "rng" for e in parameters):
                found[each.name] = 1
                run.notes.add("of one release: size=1")
        return found


class _PlainRuns:
    """Releases of a program on plain data: each as the number of its output."""

    def __init__(self, program: _Program) -> None:
        self._program = program
        self._numbers: dict[Any, int] = {}
        self._modules = 0  # that were run so far, in all releases: what an enumeration costs
        self.ended = False

    def __deepcopy__(self, memo: Any) -> "_PlainRuns":
        return self

    def __call__(self, data: Any, *, rng: np.random.Generator) -> float:
        """One release; `ended` is set where it is not followed to its end."""
        program = self._program
        run = Run(Domain([]), program.relation, *program.schema.rows, plain=rng)
        run.root = _root(program.file)
        form, value = data
        before = self.ended
        self.ended = True
        if self._modules > MOST_MODULES:
            raise ProofEnds("the enumeration takes too long")
        with warnings.catch_warnings(), np.errstate(all="warn"):
            warnings.simplefilter("error")  # a warning is seen by whoever runs the program
            result = program.call(
                run,
                lambda: ([], value) if form == "keywords" else (list(value) if form == "args" else [value], {}),
            )
            number = self._numbers.setdefault(name_output(run, result), len(self._numbers))
        self._modules += len(run.loaded)
        self.ended = before or run.ended is not None
        return float(number)


def _is_one_release(run: Run, output: Any) -> bool:
    """Whether the output is a linear function of one noisy value, made of all data that the run has released."""
    value = output.term if isinstance(output, Symbol) else None
    if len(run.events) != 1:
        return False
    (event,) = run.events
    noisy, entry = value.was if isinstance(value, Public) and value.was is not None else (None, None)
    if not isinstance(noisy, Noisy) or entry is not None or event.joint or event.text not in ("laplace", "normal"):
        return False
    return len(run.state) == noisy.noise.ids.size  # a number that was drawn beside it may hide more


def _facts(column: Any, frame: bool) -> ColumnFacts:
    if column.kind == "unit" or column.hidden:
        raise _Ended(Ending("the schema has users with several rows, which no rule of the proof covers yet"))
    if column.missing and column.numeric and frame:  # NaN of a column of floats
        return ColumnFacts(column.name, "f", float(column.low), float(column.high), missing=True)
    if column.missing or column.open or column.names or (not column.numeric and not column.values):
        raise _Ended(
            Ending(
                f"column {column.name} may have missing, open or made-up values, which no rule of the proof covers yet"
            )
        )
    if column.numeric:
        return ColumnFacts(column.name, "i" if column.whole else "f", float(column.low), float(column.high))
    values = tuple(column.values)
    kinds = {type(each) for each in values}
    if kinds <= {bool}:
        return ColumnFacts(column.name, "b", 0.0, 1.0, values)
    if kinds <= {int}:
        return ColumnFacts(column.name, "i", float(min(values)), float(max(values)), values)
    if kinds <= {int, float}:
        return ColumnFacts(column.name, "f", float(min(values)), float(max(values)), values)
    return ColumnFacts(column.name, "c", 0.0, float(len(values) - 1), values)


def _given(run: Run, schema: Schema) -> list[Any]:
    """The dataset as the function gets it."""
    nodes = [run.domain.column(at) for at in range(len(schema.columns))]
    names = [each.name for each in schema.columns]
    match schema.container:
        case "vector":
            return [run.symbol(Rows(nodes[0]), "array")]
        case "list":
            return [run.symbol(Rows(nodes[0]), "list")]
        case "array":
            return [_matrix(run, nodes)]
        case "frame":
            return [run.symbol(Table(dict(zip(names, nodes, strict=True))), "frame")]
        case "records":
            return [run.symbol(Table(dict(zip(names, nodes, strict=True))), "records")]
        case "columns":
            return [{name: run.symbol(Rows(node), "array") for name, node in zip(names, nodes, strict=True)}]
        case "args":
            features = [nodes[names.index(each)] for each in schema.features]
            label = [run.symbol(Rows(nodes[names.index(schema.label)]), "array")] if schema.label else []
            return [_matrix(run, features), *label]
        case "value":
            scope = Scope(lasting=True, local=True)
            if len(nodes) == 1:
                return [run.symbol(Rows(nodes[0], scope=scope), "number")]
            return [run.symbol(Table(dict(zip(names, nodes, strict=True)), scope=scope), "records")]
    raise _Ended(Ending(f"data handed over as {schema.container} are not covered yet"))


def _matrix(run: Run, nodes: list[Any]) -> Symbol:
    kind = "i" if all(each.kind in "bi" for each in nodes) else "f"
    node = run.domain.node("stack", nodes, shape=(len(nodes),), kind=kind, extra=0)
    return run.symbol(Rows(node), "array")


def _module_name(function: Any, file: Path) -> str:
    name = getattr(function, "__module__", "") or file.stem
    return file.stem if name == "__main__" else name


def _root(file: Path) -> Path:
    """The folder that the project's imports start from."""
    folder = file.parent
    while (folder / "__init__.py").is_file():
        folder = folder.parent
    return folder


def _innermost_file(error: BaseException) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "" if trace is None else trace.tb_frame.f_code.co_filename


def _line_of(error: BaseException, files: set[str]) -> tuple[int | None, str]:
    """Where in the program an exception was raised."""
    line, file = None, ""
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename in files:
            line, file = trace.tb_lineno, trace.tb_frame.f_code.co_filename
        trace = trace.tb_next
    return line, file
