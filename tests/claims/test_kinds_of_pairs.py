"""The datasets of a pair are of one kind and shape, unless the caller says so: an error on one alone is no leak."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from dpverify import audit, Pair, PureDP, Records, Relation
from dpverify.cli import main
from dpverify.errors import NeighbourError

REPLACE, ADD = Relation.REPLACE_ONE, Relation.ADD_OR_REMOVE_ONE


@dataclass
class Box:
    value: float


class Wider(Box):
    """Another class of the same kind."""


@dataclass
class Other:
    value: float


class Frame:
    """What a data frame shows of itself."""

    def __init__(self, **columns):
        self.columns = list(columns)
        self.dtypes = [np.asarray(each).dtype for each in columns.values()]
        self.rows = len(next(iter(columns.values())))

    def __len__(self):
        return self.rows


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        (0.0, "a", "a number and a string"),
        (0.0, None, "a number and None"),
        (0.0, [0.0], "a number and a list"),
        ("a", b"a", "a string and bytes"),
        ([1], {0: 1}, "a list and a dict"),
        ([1, 2], np.array([1, 2]), "a list and an array"),
        ([1, 2], [1, "b"], "records that are a number, and a number or a string"),
        ([(1, 2)], [3], "records that are a list, and a number"),
        ([1, 2], [1], "2 and 1 records under replace-one"),
        (Records([1, 2]), Records([1, "b"]), "records that are a number"),
        (np.zeros(3), np.zeros((3, 1)), "with 1 axes and an array of numbers with 2 axes"),
        (np.zeros(3), np.array(["a", "b", "c"]), "an array of strings"),
        (np.array([1, 2], object), np.array([1, "b"], object), "records that are a number"),
        (np.zeros(3), np.zeros(4), "arrays of shape (3,) and (4,)"),
        ({"age": 1}, {"size": 1}, "keys ['age'] and ['size']"),
        ({"age": [1]}, {"age": ["a"]}, "under one key"),
        (Frame(a=[1]), Frame(b=[1]), "columns ['a'] and ['b']"),
        (Frame(a=[1]), Frame(a=["x"]), "columns of numbers and strings"),
        (Frame(a=[1]), Frame(a=[1, 2]), "1 and 2 records"),
        (Box(0.0), Other(0.0), "a Box and a Other"),
    ],
)
def test_other_kinds_are_refused_unless_the_caller_says_so(first, second, said):
    for one, two in ((first, second), (second, first)):
        with pytest.raises(NeighbourError) as caught:
            Pair(one, two, name="p").checked(REPLACE)
        assert "mixed=True" in str(caught.value)
    with pytest.raises(NeighbourError) as caught:
        Pair(first, second, name="p").checked(REPLACE)
    assert said in str(caught.value)
    assert Pair(first, second, mixed=True).checked(REPLACE).relation is REPLACE


@pytest.mark.parametrize(
    ("first", "second", "relation"),
    [
        (0, 1.5, REPLACE),
        (False, 1, REPLACE),
        (np.float32(0), Fraction(1, 2), REPLACE),
        (np.bool_(False), 1.0, REPLACE),
        ("a", "long text", REPLACE),
        ([1, 2], (1.0, True), REPLACE),
        ([(1, "a")], [(2, "b")], REPLACE),
        ([[1, 2], []], [[1], [2]], REPLACE),
        (np.zeros(3, int), np.ones(3), REPLACE),
        (np.array(["a"]), np.array(["long"]), REPLACE),
        (Box(0.0), Wider(1.0), REPLACE),
        ({"age": [1]}, {"age": [2.0]}, REPLACE),
        ({1, 2}, {1}, REPLACE),
        (Frame(a=[1]), Frame(a=[2.5]), REPLACE),
        ([1, 2], [1], ADD),
        ([], ["a"], ADD),
        (np.zeros(3), np.zeros(4), ADD),
        (np.zeros((3, 2)), np.zeros((4, 2)), ADD),
        ({"ann": 1}, {"ann": 1, "bob": 2}, ADD),
        (Frame(a=[1]), Frame(a=[1, 2]), ADD),
    ],
)
def test_one_kind_is_taken(first, second, relation):
    assert Pair(first, second).checked(relation).relation is relation


def noisy(data, *, rng, size):
    return data + rng.laplace(size=size)


def test_an_error_on_a_dataset_of_another_kind_is_no_refutation():
    with pytest.raises(NeighbourError, match="a number and a string"):
        audit(noisy, claim=PureDP(1.0), pair=Pair(0.0, "a"), trials=100, seed=1)
    allowed = audit(noisy, claim=PureDP(1.0), pair=Pair(0.0, "a", mixed=True), trials=2_000, seed=1)
    assert allowed.verdict == "REFUTED"  # then it is one: who sees the error knows the dataset


def test_the_command_line_says_so_in_one_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = "from dpverify import Pair\npairs = [Pair(0.0, 'a')]\n"
    text += "def f(data, *, rng, size):\n    return data + rng.laplace()\n"
    (tmp_path / "mixed_pairs.py").write_text(text)
    assert main.run(["certify", "mixed_pairs.py:f", "--claim", "pure:1", "--pairs", "mixed_pairs.py:pairs"]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert "a number and a string" in err
