"""From how many users on a theorem says anything: the page has what the command computes."""

from pathlib import Path

import pytest

from algorithms.experiments.users_needed import Guarantee, guarantees, rows

PAGE = (Path(__file__).parents[2] / "docs/figures.md").read_text(encoding="utf-8")


def test_the_page_has_the_table():
    section = PAGE.partition("## From how many users on")[2].partition("\n## ")[0]
    table = [line for line in section.splitlines() if line.startswith("|")][2:]
    assert table == [f"| {' | '.join(row)} |" for row in rows()]


@pytest.mark.parametrize("each", guarantees(), ids=lambda each: each.name)
def test_the_bound_is_below_the_line_from_there_on_and_not_before(each):
    users = each.users()
    assert each.share(users) < 1 <= each.share(int(users * 0.9))
    assert each.share(10 * users) < each.share(users)


@pytest.mark.parametrize(("share", "users"), [(lambda n: 350 / n, 360), (lambda n: 2.0, None), (lambda n: 0.0, 10)])
def test_the_least_number_of_two_digits_is_found(share, users):
    assert Guarantee("one", "any", "none", share).users() == users
