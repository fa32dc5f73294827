"""The digest of sources follows every import that is written: what it does not follow, --resume would not see."""

import functools
import importlib
import threading

import pytest

from dpverify.execution import sources

IMPORTS = {  # text of project/pack/main.py -> the file behind it
    "import other": "other.py",
    "import other as o; import more": "more.py",
    "from other import *": "other.py",
    "from other import value": "other.py",
    "from other import(value)": "other.py",
    "if True: import other": "other.py",
    "try: import other\nexcept ImportError: pass": "other.py",
    "def f():\n    from other import value": "other.py",
    "from folder import (  # a ) in a comment\n    first,\n    deep,\n)": "folder/deep.py",
    "from folder import first, \\\n    deep": "folder/deep.py",
    "import folder.deep as d": "folder/__init__.py",
    "from . import CONSTANT": "pack/__init__.py",
    "from .near import *": "pack/near.py",
    "from . import near": "pack/near.py",
    "from .near import value": "pack/near.py",
    "from grün import x": "grün.py",
    "\ufeffimport other": "other.py",
    "import other\r": "other.py",
    "from importlib import import_module\nimport_module('other')": "other.py",
    "x = 1": "pack/__init__.py",
}


class Holder:
    def __init__(self, held):
        self.held = held


WRAPPED = {
    "partial": lambda thing: functools.partial(thing, 1),
    "attribute": Holder,
    "closure": lambda thing: lambda *given: thing(*given),
    "list": lambda thing: [thing],
}


@pytest.mark.parametrize("how", WRAPPED)
def test_code_that_a_target_was_handed_is_among_its_sources(tmp_path, monkeypatch, how):
    (tmp_path / f"handed_{how}.py").write_text("def release(*given):\n    return 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    wrapped = WRAPPED[how](importlib.import_module(f"handed_{how}").release)
    before = sources.digest(sources.files_of(wrapped))
    (tmp_path / f"handed_{how}.py").write_text("def release(*given):\n    return 22\n")
    assert sources.digest(sources.files_of(wrapped)) != before


def test_what_pickle_does_not_take_has_the_sources_that_are_known():
    assert __file__ in sources.files_of(Holder(threading.Lock()))


@pytest.mark.parametrize("text", IMPORTS)
def test_an_edit_of_what_is_imported_is_seen(tmp_path, text):
    files = ["other.py", "more.py", "grün.py", "folder/__init__.py", "folder/deep.py", "folder/first.py"]
    for name in [*files, "pack/__init__.py", "pack/near.py", "unused.py"]:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("value = 1\n", encoding="utf-8")
    main = tmp_path / "pack" / "main.py"
    main.write_text(text, encoding="utf-8")
    before = sources.digest([str(main)])
    (tmp_path / "unused.py").write_text("value = 22\n")
    assert sources.digest([str(main)]) == before
    (tmp_path / IMPORTS[text]).write_text("value = 22\n")
    assert sources.digest([str(main)]) != before
