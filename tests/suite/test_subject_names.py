"""Names: which ones an expression means, and how they stay apart; expressions that cannot be read."""

import gc
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpverify.errors import DiscoveryError
from dpverify.suite.discovery import load_audits
from dpverify.suite.plan import matches, qualified_files

WORDS = st.sampled_from(["a", "b", "c/d", "x!y", "not-a", "Or"])
TREES = st.recursive(
    WORDS,
    lambda inner: st.one_of(
        st.tuples(st.just("not"), inner),
        st.tuples(st.just("and"), inner, inner),
        st.tuples(st.just("or"), inner, inner),
    ),
    max_leaves=8,
)


def written(tree, outer=0):
    """As text, with brackets only where they are needed."""
    if isinstance(tree, str):
        return tree
    kind, *parts = tree
    rank = {"or": 1, "and": 2, "not": 3}[kind]
    text = f"not {written(parts[0], 3)}" if kind == "not" else f" {kind} ".join(written(each, rank) for each in parts)
    return f"({text})" if rank < outer else text


def means(tree, name):
    if isinstance(tree, str):
        return tree.casefold() in name.casefold()
    kind, *parts = tree
    if kind == "not":
        return not means(parts[0], name)
    return (all if kind == "and" else any)(means(each, name) for each in parts)


@given(TREES, st.text("abcdxyOR/!- not", max_size=12))
def test_an_expression_means_what_its_tree_means(tree, name):
    assert matches(name, written(tree)) == means(tree, name)


@given(st.text("ab() andornt'\"\n\x1b\u202e", max_size=14))
def test_every_text_is_an_expression_or_one_clear_line(text):
    said = "-k "
    try:
        assert matches("a/b", text) in (True, False)
    except DiscoveryError as error:
        said = str(error)
    assert said.startswith("-k ")
    assert said.isprintable()


@pytest.mark.parametrize("text", ["not (", "(", ")", "a b", "and", "a and", "not", "()", "a or or b", "'a", "a (b)"])
def test_unreadable_expressions_are_usage_errors(text):
    with pytest.raises(DiscoveryError, match=r"^-k .* \(column \d+\)") as caught:
        matches("a", text)
    assert caught.value.exit_code == 2


def test_files_with_one_stem_are_told_apart_by_as_many_folders_as_it_takes():
    files = [Path(each) for each in ("/p/a/audit_x.py", "/p/b/audit_x.py", "/q/b/audit_x.py", "/p/a/audit_y.py")]
    assert list(qualified_files(files).values()) == ["a:x", "p/b:x", "q/b:x", "y"]
    assert qualified_files([]) == {}


@given(st.lists(st.lists(st.sampled_from(["a", "b", "audit_a", "a/b"]), min_size=1, max_size=4), unique_by=tuple))
def test_no_two_files_share_a_name(parts):
    files = list(dict.fromkeys(Path("/", *each[:-1], f"audit_{each[-1].replace('/', '_')}.py") for each in parts))
    assert len(set(qualified_files(files).values())) == len(files)


def test_a_file_of_thousands_of_subjects_is_read_in_linear_time(tmp_path, monkeypatch):
    """Spec 11, B6: it was quadratic. Four times as many may take eight times as long here, not sixteen."""
    monkeypatch.syspath_prepend(str(tmp_path))
    text = (
        "from dpverify import Pair, PureDP, Subject\n"
        "subjects = [Subject(name=f's{i}', target=print, claim=PureDP(1.0), pairs=(Pair(0, 1),)) for i in range(%d)]\n"
    )
    seconds = []
    gc.freeze()  # what other tests left behind is not gone through again for every few objects
    for count in (4000, 16000):
        file = tmp_path / f"audit_many{count}.py"
        file.write_text(text % count, encoding="utf-8")
        started = time.process_time()
        subjects, _ = load_audits(file)
        seconds.append(time.process_time() - started)
        assert len(subjects) == count
    gc.unfreeze()
    assert seconds[1] < 8 * seconds[0]


def test_a_folder_of_many_files_is_not_listed_for_each_of_them(tmp_path, monkeypatch):
    """200 files would be 40,000 names to look at; a module that hides another is asked for by its name."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "audit_alone_here.py").write_text(
        "from dpverify import Pair, PureDP, Subject\n"
        "subjects = [Subject(name='s', target=len, claim=PureDP(1.0), pairs=(Pair(0, 1),))]\n"
    )

    def listed(folder):
        raise AssertionError(f"{folder} was listed")

    monkeypatch.setattr(Path, "iterdir", listed)
    subjects, _ = load_audits(tmp_path / "audit_alone_here.py")
    assert [(each.name, each.line) for each in subjects] == [("alone_here/s", 2)]
    assert subjects[0].file.endswith("audit_alone_here.py")


@pytest.mark.parametrize("depth", [1, 50, 51, 3000, 100_000])
def test_brackets_are_read_or_refused_in_one_short_line(depth):
    expression = "(" * depth + "alpha" + ")" * depth
    if depth <= 50:
        assert matches("f/alpha", expression)
        return
    with pytest.raises(DiscoveryError, match="more than 50 brackets") as caught:
        matches("f/alpha", expression)
    assert len(str(caught.value)) < 400
