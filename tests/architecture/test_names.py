"""Names and docstrings: what is exported exists, and says what it is."""

import ast
import dataclasses
import importlib
import inspect
import operator
import re
import sys
from pathlib import Path

import dpverify

ROOT = Path(__file__).parents[2]
MODULES = [
    file for folder in ("dpverify", "mechanisms", "algorithms", "audits") for file in (ROOT / folder).rglob("*.py")
]


def test_every_exported_name_resolves() -> None:
    assert len(dpverify.__all__) >= 13
    for name in dpverify.__all__:
        assert getattr(dpverify, name).__name__ == name


def test_every_module_has_a_docstring() -> None:
    assert len(MODULES) >= 40
    assert [str(file) for file in MODULES if not ast.get_docstring(ast.parse(file.read_text()))] == []


def mechanism_classes() -> list[type]:
    """Public dataclasses in mechanisms/ that release something."""
    found = []
    for file in sorted((ROOT / "mechanisms").rglob("*.py")):
        name = ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for each in vars(importlib.import_module(name)).values():
            here = inspect.isclass(each) and each.__module__ == name and not each.__name__.startswith("_")
            if here and hasattr(each, "release") and dataclasses.is_dataclass(each):
                found.append(each)
    return found


SOURCE = re.compile(r"(Theorem|Lemma|Algorithm|Definition|Proposition|Claim|[Ss]ection) [A-Z]?\.?\d|\b(19|20)\d\d\b")
WITHOUT_SOURCE = {"NoPrivacy": "a baseline that protects nothing"}


def test_every_mechanism_names_claim_and_source() -> None:
    """In its own docstring or, where a module is about one mechanism, in the module's."""
    classes = mechanism_classes()
    assert len(classes) >= 8
    for each in classes:
        text = f"{each.__doc__} {sys.modules[each.__module__].__doc__}"
        assert each.__doc__, each
        assert "claim" in text.casefold(), each
        assert SOURCE.search(text) or each.__name__ in WITHOUT_SOURCE, f"{each}: a theorem or a year"


def test_every_planted_twin_says_what_is_wrong() -> None:
    files = [file for file in (ROOT / "audits" / "planted").rglob("*.py") if file.name != "__init__.py"]
    assert len(files) >= 8
    for file in files:
        tree = ast.parse(file.read_text())
        assert (ast.get_docstring(tree) or "").startswith("INCORRECT"), file
        for node in tree.body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_"):
                assert (ast.get_docstring(node) or "").startswith("INCORRECT"), f"{file}: {node.name}"


def test_every_place_that_a_paper_s_page_names_is_there() -> None:
    """`file.py:Name.member` in the docstring of a folder of algorithms, its own file or one of the other packages."""
    named = 0
    for page in (ROOT / "algorithms").glob("*/__init__.py"):
        for place, name in re.findall(r"([\w/]+\.py):([A-Za-z_][\w.]*\w)", page.read_text()):
            own = page.parent / place
            (file,) = [own] if own.exists() else [each for each in MODULES if each.as_posix().endswith(f"/{place}")]
            found = importlib.import_module(".".join(file.relative_to(ROOT).with_suffix("").parts))
            assert operator.attrgetter(name)(found) is not None, (page, place, name)
            named += 1
    assert named > 40
