"""No planted twin is proved below its truth; the right ones that are listed are proved exactly."""

import contextlib
import math
import random
from collections.abc import Iterator

import numpy as np
import pytest
from proof.planted_twins import FOLDER, MODULES, PARTS, Row, ROWS

from dpverify.errors import UsageError
from dpverify.proof import prove
from dpverify.wild.datasets import built
from dpverify.wild.one_line import data_schema
from dpverify.wild.pairs import ordinary

OWN_ERRORS = (ArithmeticError, AssertionError, LookupError, RuntimeWarning, StopIteration, TypeError, ValueError)
NOT_YET = (  # right rows whose figures the prover does not find; this list only shrinks
    "noise.one_generator_twice replace vector: real 0..10, rows 5..50",
    "noise.moves_and_steps_of_two replace vector: real 0..10, rows 5..50",
    "noise.moves_of_four_steps_of_two replace vector: real 0..10, rows 5..50",
    "noise.two_rates replace vector: real 0..10, rows 5..50",
    "noise.scipy_geometric replace vector: real 0..10, rows 5..50",
    "noise.scipy_exponential_loc replace vector: real 0..1, rows 5..50",
    "choices.choice_of_smoothed_frequencies replace vector: integer 0..3, rows 5..50",
    "choices.best_of_ten replace vector: real 0..100, rows 5..50",
    "rows.rows_scaled_after_their_norm replace array: real -5..5 x 3, rows 5..50",
    "rows.sum_where replace vector: real 0..100, rows 5..50",
    "rows.raised_in_place replace vector: real 0..100, rows 5..50",
    "rows.nansum_with_missing replace vector: real 0..100 missing, rows 5..50",
    "rows.weighted_places replace vector: real 0..10, rows 4",
    "tables.missing_skipped replace frame: x real 0..10 missing, rows 5..50",
    "tables.counter_of_public_keys replace list: category a|b|z, rows 5..50",
    "tables.key_with_a_default replace list: category a|b|z, rows 5..50",
    "tables.places_of_labels replace list: category a|b|z, rows 5..50",
    "tables.spent_by_users replace records: who unit 3, spent real 0..50, rows 4..20",
    "tables.spent_by_users add-remove records: who unit 3, spent real 0..50, rows 4..20",
    "tables.spent_by_users replace records: who unit 3, spent real -50..50, rows 4..20",
    "tables.spent_at_least_five replace records: who unit 3, spent real 5..10, rows 4..20",
    "tables.spent_at_least_five add-remove records: who unit 3, spent real 5..10, rows 4..20",
    "tables.hidden_users replace vector: who unit 3, x real 0..50, rows 4..20",
    "tables.gaussian_of_hidden_users replace vector: who unit 3, x real 0..50, rows 4..20",
    "tables.spent_in_two_sums add-remove records: who unit 3, spent real 0..50, rows 4..20",
    "tables.report_or_another replace value: category a|b|c",
    "tables.answers_of_all replace list: integer 0..1, rows 5..50",
)


def _proof(row: Row, claim: str | None):
    return prove(row.function, data=row.data, relation=row.relation, claim=claim, arguments=row.arguments)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_nothing_below_the_truth_is_proved(row: Row) -> None:
    try:
        result = _proof(row, row.asked)
    except UsageError:
        return  # a schema without neighbours, or data that the prover does not take: nothing is proved
    assert result.eps >= row.eps - 1e-12, f"rule {row.rule}: proved {result.eps}, the truth is {row.eps}"
    assert result.mu >= row.mu * (1 - 1e-12), f"rule {row.rule}: proved mu {result.mu}, the truth is {row.mu}"
    assert result.rho >= row.rho * (1 - 1e-12), f"rule {row.rule}: proved rho {result.rho}, the truth is {row.rho}"
    assert not result.holds, f"rule {row.rule}: {row.asked} is false"


def test_right_neighbours_are_proved_exactly() -> None:
    loose = {row.name for row in ROWS if row.right and not _is_exact(row)}
    assert loose == set(NOT_YET)


def _is_exact(row: Row) -> bool:
    result = _proof(row, None)
    assert row.exact is not None
    pure = math.isfinite(row.exact)
    found, wanted = ((result.eps,), (row.exact,)) if pure else ((result.mu, result.rho), (row.mu, row.rho))
    return bool(result.holds and found == pytest.approx(wanted, rel=0, abs=1e-9))


def test_each_rule_has_its_twin() -> None:
    rules = {row.rule for row in ROWS}
    missing = {f"1.{number}" for number in range(1, 29)} - rules
    assert not missing
    assert len({row.name for row in ROWS}) == len(ROWS)
    assert sum(not row.right or math.isinf(row.eps) for row in ROWS) >= 120
    assert {row.part for row in ROWS} == set(PARTS)
    assert {each.stem for each in FOLDER.glob("*.py")} == set(MODULES)


@pytest.fixture
def _states() -> Iterator[None]:
    """Generators and settings of NumPy are after a program what they were before."""
    errors, numbers, global_numbers = np.geterr(), random.getstate(), np.random.get_state()  # noqa: NPY002
    yield
    np.seterr(**errors)
    random.setstate(numbers)
    np.random.set_state(global_numbers)  # noqa: NPY002


@pytest.mark.usefixtures("_states")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_rows_are_programs_that_run(row: Row) -> None:
    """On data of its schema a program ends with a value; one that has no proof may end with an error of its own."""
    schema = data_schema(row.data)
    records = ordinary(schema, schema.rows[0], np.random.default_rng(0))
    data = built(schema, records)
    own = () if row.right or math.isfinite(row.eps) else OWN_ERRORS
    with contextlib.suppress(*own), np.errstate():
        row.function(data, **row.arguments)
