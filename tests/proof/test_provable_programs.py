"""The programs of `benchmarks.provable`: no wrong one is proved, and as many right ones as before are, exactly."""

import pytest

from benchmarks.provable.__main__ import prove_row, Result
from benchmarks.provable.table import ROWS

FEWEST = 151  # right programs that are proved; it only grows


@pytest.fixture(scope="module")
def results() -> list[Result]:
    return [prove_row(row) for row in ROWS]


def test_no_wrong_program_is_proved(results: list[Result]) -> None:
    assert [each.row.name for each in results if not each.row.right and each.holds] == []


def test_right_programs_are_proved_with_their_exact_numbers(results: list[Result]) -> None:
    right = [each for each in results if each.row.right]
    assert sum(each.holds for each in right) >= FEWEST
    assert [each.row.name for each in right if each.exact is False and each.holds] == []


def test_what_is_not_proved_says_why(results: list[Result]) -> None:
    assert all(each.why for each in results)
