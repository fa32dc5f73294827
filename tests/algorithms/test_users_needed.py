"""From how many users on a theorem says anything."""

import pytest

from algorithms.experiments.users_needed import Guarantee, guarantees


@pytest.mark.parametrize("each", guarantees(), ids=lambda each: each.name)
def test_the_bound_is_below_the_line_from_there_on_and_not_before(each):
    users = each.users()
    assert each.share(users) < 1 <= each.share(int(users * 0.9))
    assert each.share(10 * users) < each.share(users)


@pytest.mark.parametrize(("share", "users"), [(lambda n: 350 / n, 360), (lambda n: 2.0, None), (lambda n: 0.0, 10)])
def test_the_least_number_of_two_digits_is_found(share, users):
    assert Guarantee("one", "any", "none", share).users() == users
