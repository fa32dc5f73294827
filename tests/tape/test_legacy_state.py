"""The state of `numpy.random`, read from memory: every draw shows, also of a number that was kept for later."""

import numpy as np
import pytest

from dpverify.tape import entropy


@pytest.fixture(autouse=True)
def _put_back():
    before = np.random.get_state(legacy=False)  # noqa: NPY002
    yield
    np.random.set_state(before)  # noqa: NPY002


def kept(state=7):
    """A state with a normal number that is kept for later."""
    np.random.seed(state)  # noqa: NPY002
    np.random.standard_normal()  # noqa: NPY002


DRAWS = [lambda: np.random.random(), lambda: np.random.standard_normal(), lambda: np.random.bytes(1)]  # noqa: NPY002


@pytest.mark.parametrize("draw", DRAWS)
@pytest.mark.parametrize("begin", [lambda: np.random.seed(7), kept])  # noqa: NPY002
def test_a_draw_changes_the_state_and_it_can_be_put_back(begin, draw):
    begin()
    for _ in range(2):  # the second time the words are known
        before = entropy.read_legacy_state()
        assert entropy.read_legacy_state() == before
        first = draw()
        assert entropy.read_legacy_state() != before
        entropy.restore(before)
        assert entropy.read_legacy_state() == before
        assert draw() == first
        entropy.restore(before)


def test_words_of_a_state_without_a_kept_number_do_not_hide_one():
    kept()
    with_one = entropy.read_legacy_state()
    np.random.standard_normal()  # noqa: NPY002
    without = entropy.read_legacy_state()  # the same words
    entropy.restore(with_one)
    assert entropy.read_legacy_state() == with_one
    assert entropy.read_legacy_state() != without


def test_states_without_a_kept_number_are_read_from_memory_and_others_are_not():
    np.random.seed(7)  # noqa: NPY002
    assert entropy.read_legacy_state().words
    kept()
    assert not entropy.read_legacy_state().words


def test_another_generator_in_its_place_is_another_state():
    before, found = np.random.get_bit_generator(), entropy.read_legacy_state()
    try:
        np.random.set_bit_generator(np.random.PCG64(1))
        assert entropy.read_legacy_state() != found
        other = entropy.read_legacy_state()
        np.random.random()  # noqa: NPY002
        assert entropy.read_legacy_state() != other
        np.random.set_bit_generator(np.random.MT19937(1))
        assert entropy.read_legacy_state() != found
    finally:
        np.random.set_bit_generator(before)
