"""What a process looked at, and whether it still holds: every way in which code and data reach a result."""

import json
import os
import subprocess
import sys
import textwrap
import time
import zipfile
from pathlib import Path

import pytest

from dpverify.runs import provenance
from dpverify.runs.facts import code, digest_of_file, entries, World

ROOT = Path(__file__).parents[2]
RUN = """
    import json, sys
    from dpverify.runs import provenance
    provenance.start()
    import main
    print(json.dumps(provenance.found()))
"""


class Project:
    """A folder with `main.py`; what it depends on is found in a process of its own."""

    def __init__(self, folder, **environment):
        self.folder, self.environment = folder, {**os.environ, "PYTHONPATH": f"{folder}:{folder}/lib:{ROOT}"}
        self.environment.update(environment)

    def write(self, name, text=""):
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text), encoding="utf-8")
        return file

    def run(self):
        since = time.time_ns()
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(RUN)],
            cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout.splitlines()[-1])
        return provenance.completed(found, since, Settled(self.environment), self.folder / "kept")

    def changed(self, kept, **environment):
        return provenance.changed(kept, Settled({**self.environment, **environment}), self.folder / "kept")


class Settled(World):
    """The interpreter's own files do not change while these tests run: once for all of them is enough."""

    _once = World()

    def see(self, kind, name):
        return self._once.see(kind, name) if kind == "tree" else super().see(kind, name)

    def newest_of(self, top):
        return self._once.newest_of(top)


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


READ = "open('data.txt').read()"
# what main.py does -> what is done to the project afterwards
EDITS = {
    "own source": ("import other", lambda p: p.write("other.py", "X = 2")),
    "own source, same size and time": ("import other", lambda p: _same_time(p.write, p.folder / "other.py", "X = 9")),
    "source gone": ("import other", lambda p: (p.folder / "other.py").unlink()),
    "imported in a function": ("def f():\n  import other\nf()", lambda p: p.write("other.py", "X = 2")),
    "by a computed name": ("import importlib; importlib.import_module('ot' + 'her')", lambda p: p.write("other.py")),
    "imported and forgotten": ("import other, sys; del sys.modules['other']", lambda p: p.write("other.py", "X = 2")),
    "imported without success": ("try: import broken\nexcept ValueError: pass", lambda p: p.write("broken.py", "X=1")),
    "relative, in a namespace package": ("import space.here", lambda p: p.write("space/there.py", "Y = 2")),
    "a second portion of a namespace package": ("import space.here", lambda p: p.write("lib/space/there.py", "Y = 2")),
    "a namespace package becomes a package": ("import space.here", lambda p: p.write("space/__init__.py")),
    "hidden by an earlier folder": ("import last", lambda p: p.write("last.py", "X = 2")),
    "hidden by a package beside it": ("import other", lambda p: p.write("other/__init__.py", "X = 2")),
    "hides an installed package": ("import json", lambda p: p.write("json.py", "X = 2")),
    "absent, and there later": ("try:\n  import extra\nexcept ImportError: pass", lambda p: p.write("extra.py")),
    "absent in a package": ("try: import pack.extra\nexcept ImportError: pass", lambda p: p.write("pack/extra.py")),
    "a file that is read": (READ, lambda p: p.write("data.txt", "2")),
    "a file that is read by os.open": ("import os; os.open('data.txt', 0)", lambda p: p.write("data.txt", "2")),
    "a file that is mapped": (
        "import mmap; f = open('data.txt'); mmap.mmap(f.fileno(), 0, prot=1)",
        lambda p: p.write("data.txt", "2"),
    ),
    "a file that is absent": ("try:\n  open('no.txt')\nexcept OSError: pass", lambda p: p.write("no.txt")),
    "a file that exists": ("import os; os.path.exists('no.txt')", lambda p: p.write("no.txt")),
    "a file that exists, pathlib": ("import pathlib; pathlib.Path('no.txt').is_file()", lambda p: p.write("no.txt")),
    "a file's size": ("import os; os.stat('data.txt')", lambda p: p.write("data.txt", "10")),
    "a folder": ("import os; os.listdir('pack')", lambda p: p.write("pack/new.txt")),
    "a folder, glob": ("import glob; glob.glob('pack/*.csv')", lambda p: p.write("pack/new.csv")),
    "code that is executed": ("exec(open('data.txt').read())", lambda p: p.write("data.txt", "2")),
    "runpy": ("import runpy; runpy.run_path('other.py')", lambda p: p.write("other.py", "X = 2")),
    "a counter that is read and written": (f"x = {READ}; open('data.txt', 'w').write('2')", lambda p: None),
    "a file that is appended to and read": (f"open('data.txt', 'a').write('1'); {READ}", lambda p: None),
    "a link": (
        "open('link').read()",
        lambda p: ((p.folder / "link").unlink(), (p.folder / "link").symlink_to(p.folder / "other.py")),
    ),
    "an archive on the path": ("import sys; sys.path.insert(0, 'z.zip'); import zipped", lambda p: _zip(p, "X = 2")),
    "in a thread": (
        "import threading; t = threading.Thread(target=lambda: open('data.txt').read()); t.start(); t.join()",
        lambda p: p.write("data.txt", "2"),
    ),
    "installed metadata": (
        "import importlib.metadata as m\ntry: m.version('nothing')\nexcept m.PackageNotFoundError: pass",
        lambda p: p.write("lib/nothing-1.dist-info/METADATA", "Name: nothing\nVersion: 1\n"),
    ),
}  # fmt: skip


def _same_time(write, file, text):
    before = file.stat()
    write(file.name, text)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


def _zip(project, text):
    with zipfile.ZipFile(project.folder / "z.zip", "w") as archive:
        archive.writestr("zipped.py", text)


def _usual(project):
    for name, text in {
        "other.py": "X = 1", "data.txt": "1", "space/here.py": "from . import there", "space/there.py": "Y = 1",
        "lib/last.py": "X = 1", "pack/__init__.py": "", "pack/a.csv": "", "broken.py": "raise ValueError",
    }.items():  # fmt: skip
        project.write(name, text)
    (project.folder / "link").symlink_to(project.folder / "data.txt")
    _zip(project, "X = 1")


@pytest.mark.parametrize("name", EDITS)
def test_every_edit_is_seen(project, name):
    text, edit = EDITS[name]
    _usual(project)
    project.write("main.py", text)
    kept = project.run()
    assert kept["doubts"] == []
    if "counter" not in name and "appended" not in name:  # these change what they depend on themselves
        assert project.changed(kept) == ""
    edit(project)
    assert project.changed(kept) != ""


def test_what_does_not_matter_changes_nothing(project):
    _usual(project)
    project.write("main.py", "import other, space.here, tempfile\nwith tempfile.TemporaryFile() as f: f.write(b'1')")
    project.write("unused.py", "X = 1")
    kept = project.run()
    project.write("unused.py", "X = 2")
    project.write("notes.txt", "2")
    project.write("pack/more.py", "2")
    os.utime(project.folder / "other.py")  # touched
    assert project.changed(kept) == ""
    assert project.run() == kept  # also where bytecode is there now


def test_files_that_the_process_makes_itself_are_no_dependence(project):
    project.write(
        "main.py", f"open('data.txt', 'w').write('7'); {READ}\nimport os; os.rename('data.txt', 'b'); open('b')"
    )
    kept = project.run()
    assert kept["doubts"] == []
    project.write("data.txt", "8")
    assert project.changed(kept) == ""


@pytest.mark.parametrize(
    "text",
    [
        "import os; os.environ.get('MY_SEED')",
        "import os; 'MY_SEED' in os.environ",
        "import os; os.getenv('MY_SEED')",
        "import os; os.environb.get(b'MY_SEED')",
        "import os; dict(os.environ)",
        "import os; os.environ['MY_SEED'] = '5'; os.environ['MY_SEED']",
        "from dpverify.runs import provenance; provenance.declare(['MY_SEED'])",
    ],
)
def test_variables_that_are_asked_for(project, text):
    project.write("main.py", text)
    kept = project.run()
    assert project.changed(kept, OTHER="1") == "" or "dict" in text
    assert project.changed(kept, MY_SEED="1") != ""


def test_variables_that_libraries_read_in_compiled_code(project):
    project.write("main.py", "")
    kept = project.run()
    for name in ("OMP_NUM_THREADS", "PYTHONHASHSEED", "LC_ALL", "LANG", "LD_PRELOAD"):
        assert project.changed(kept, **{name: "3"}) != "", name


@pytest.mark.parametrize(
    "text",
    [
        "import subprocess; subprocess.run(['true'])",
        "import os; os.system('true')",
        "import os\nif os.fork() == 0: os._exit(0)\nos.wait()",
        "import socket; socket.getaddrinfo('localhost', 80)",
        "import sqlite3; sqlite3.connect('data.db')",
        "import ctypes; ctypes.CDLL(None)",
        "open('/proc/loadavg').read()",
        "import sys, types; sys.modules['h5py'] = types.ModuleType('h5py')",
        "import multiprocessing as m; p = m.get_context('spawn').Process(target=print); p.start(); p.join()",
        "import os; f = open('data.txt', 'w'); f.write('1'); f.close(); os.utime('data.txt'); main = open('other.py');"
        "os.system('')",
        "import pathlib; open('other.py').read(); pathlib.Path('other.py').chmod(0o600)",  # its inode has changed
    ],
)
def test_what_cannot_be_followed_is_a_doubt(project, text):
    _usual(project)
    project.write("main.py", text)
    kept = project.run()
    assert kept["doubts"]
    assert project.changed(kept) != ""


def test_a_forged_or_broken_set_of_facts_does_not_hold(project):
    project.write("main.py")
    kept = project.run()
    (file,) = (project.folder / "kept" / "facts").glob("*.json")
    whole = file.read_text(encoding="utf-8")
    for text in ("[]", "{", whole.replace("main.py", "nain.py"), whole[:-1]):
        file.write_text(text, encoding="utf-8")
        assert project.changed(kept) != ""
    file.write_text(whole, encoding="utf-8")
    assert project.changed(kept) == ""
    for forged in (
        {},
        {"facts": kept["facts"]},
        {"doubts": []},
        {"facts": "../x", "doubts": []},
        {"facts": 3, "doubts": []},
    ):
        assert project.changed(forged) != ""


def test_an_installed_package_that_changes_during_the_run_is_a_doubt(project, tmp_path):
    found = {"facts": [], "units": [str(project.write("lib/late.py", "X = 1"))], "doubts": []}
    assert provenance.completed(found, 0, World(), tmp_path)["doubts"] != []
    assert provenance.completed(found, time.time_ns() + 10**9, World(), tmp_path)["doubts"] == []


def test_a_source_with_the_bytecode_of_another_is_not_the_same(tmp_path):
    """Python takes bytecode by time and size of the source: both can be set."""
    import py_compile

    file = tmp_path / "m.py"
    file.write_text("KEEP = 0.70", encoding="utf-8")
    py_compile.compile(str(file))
    honest, before = code(str(file)), file.stat()
    file.write_text("KEEP = 0.90", encoding="utf-8")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    stale = code(str(file))
    assert stale != honest
    assert " 1 " in stale  # the old bytecode would be taken
    file.write_text("KEEP = 0.70", encoding="utf-8")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns + 10**9))
    assert code(str(file)) == honest  # ... and not any more


def test_odd_files_never_crash_and_never_wait(tmp_path):
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "latin.py").write_bytes(b"# -*- coding: latin-1 -*-\n# \xe9\n")
    for name, seen in {
        "loop": "unreadable",
        "pipe": "special",
        "": "folder",
        "no": "absent",
        "latin.py/x": "absent",
    }.items():
        assert digest_of_file(str(tmp_path / name)) == seen
    assert digest_of_file(str(tmp_path) + "\0x") == "unreadable"
    assert len(code(str(tmp_path / "latin.py"))) == 64
    assert entries(str(tmp_path / "no"), ["a"]) == []
    assert World().see("tree", str(tmp_path)) == World().see("tree", str(tmp_path))


def test_dpverify_itself_is_known_by_its_bytes():
    assert set(provenance.ours()) == {"dpverify", "python"}
    assert len(provenance.ours()["dpverify"]) == 64
