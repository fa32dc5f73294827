"""The list of hand-made bugs is about the code as it is; what they find is measured by `python -m tests.mutations`."""

from tests import mutations


def test_every_line_is_there_once():
    assert mutations.stale(mutations.listed()) == []


def test_a_line_that_is_gone_is_named():
    found = mutations.listed()
    found["bug"][3]["line"] += " and more"
    assert mutations.stale(found) == [
        f"{found['bug'][3]['name']}: its line is 0 times in {found['bug'][3]['file']}, and must be there once"
    ]
