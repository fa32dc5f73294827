"""No planted twin is proved below its truth; the right ones that are listed are proved exactly."""

import contextlib
import math
import random
from collections.abc import Iterator

import numpy as np
import pytest
from proof.planted_twins import FOLDER, MODULES, PARTS, Row, ROWS
from proof.prover import prover

from dpverify.errors import UsageError
from dpverify.wild.datasets import built
from dpverify.wild.one_line import data_schema
from dpverify.wild.pairs import ordinary

OWN_ERRORS = (ArithmeticError, AssertionError, LookupError, StopIteration, TypeError, ValueError)
PROVED: list[str] = []  # names of the right rows whose figures the prover finds


def _proof(row: Row, claim: str | None):
    return prover()(row.function, data=row.data, relation=row.relation, claim=claim, arguments=row.arguments)


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
    wrong = {}
    for row in (each for each in ROWS if each.name in PROVED):
        result = _proof(row, None)
        assert row.exact is not None
        pure = math.isfinite(row.exact)
        found, wanted = ((result.eps,), (row.exact,)) if pure else ((result.mu, result.rho), (row.mu, row.rho))
        if not result.holds or found != pytest.approx(wanted, rel=0, abs=1e-9):
            wrong[row.name] = (found, wanted, result.ended)
    assert not wrong


def test_names_of_the_proved_are_names_of_right_rows() -> None:
    assert set(PROVED) <= {row.name for row in ROWS if row.right}


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
    with contextlib.suppress(*own):
        row.function(data, **row.arguments)
