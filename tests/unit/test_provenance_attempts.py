"""An event is an attempt, a name is not a file, and a copy of a door is a door: what a watch must not be fooled by."""

import os
from pathlib import Path

import pytest
from test_provenance import _usual, Project

LOCKED = "try: open('data.txt', 'x')\nexcept FileExistsError: pass\n"
READ = "open('data.txt').read()"
HELD = "import os; folder = os.open('pack', os.O_RDONLY); "
ENVIRONMENTS = ("os.environ", "os.environb", "os.environ._data", "os.environ.copy()", "{**os.environ}")


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


def _relinked(project, name, target):
    (project.folder / name).unlink()
    (project.folder / name).symlink_to(target)


# what main.py does -> what is done to the project afterwards
EDITS = {
    "x, which fails": (LOCKED + READ, lambda p: p.write("data.txt", "2")),
    "x, whose failure is the answer": (LOCKED, lambda p: (p.folder / "data.txt").unlink()),
    "O_EXCL, which fails": (
        "import os\ntry: os.open('data.txt', os.O_RDWR | os.O_CREAT | os.O_EXCL)\nexcept OSError: pass\n" + READ,
        lambda p: p.write("data.txt", "2"),
    ),
    "w, which fails": (
        "import os\ntry: open('data.txt', 'w', opener=lambda *_: os.open('no/no', 0))\nexcept OSError: pass\n" + READ,
        lambda p: p.write("data.txt", "2"),
    ),
    "O_EXCL without O_CREAT": (
        "import os; os.read(os.open('data.txt', os.O_RDWR | os.O_EXCL), 9)",
        lambda p: p.write("data.txt", "2"),
    ),
    "rename, which fails": (
        "import os\ntry: os.rename('no.txt', 'data.txt')\nexcept OSError: pass\n" + READ,
        lambda p: p.write("data.txt", "2"),
    ),
    "own file, replaced by a link": (
        "import os; open('new', 'w').close(); os.remove('new'); os.symlink('data.txt', 'new'); open('new').read();"
        "os.remove('new')",
        lambda p: p.write("data.txt", "2"),
    ),
    "own file, replaced by a hard link": (
        "import os; open('new', 'w').close(); os.remove('new'); os.link('data.txt', 'new'); open('new').read();"
        "os.remove('new')",
        lambda p: p.write("data.txt", "2"),
    ),
    "moved to another name": (
        "import os; os.rename('data.txt', 'new'); open('new').read(); os.rename('new', 'data.txt')",
        lambda p: p.write("data.txt", "2"),
    ),
    "remove, whose failure is the answer": (
        "import os\ntry: os.remove('no.txt')\nexcept OSError: pass",
        lambda p: p.write("no.txt"),
    ),
    "mkdir, whose failure is the answer": (
        "import os\ntry: os.mkdir('pack')\nexcept OSError: pass",
        lambda p: (p.folder / "pack").rename(p.folder / "gone"),
    ),
    "open in an open folder": (
        HELD + "os.open('a.csv', os.O_RDONLY, dir_fd=folder)",
        lambda p: p.write("pack/a.csv", "2"),
    ),
    "stat in an open folder": (HELD + "os.stat('a.csv', dir_fd=folder)", lambda p: p.write("pack/a.csv", "2")),
    "an open folder": (HELD + "os.listdir(folder)", lambda p: p.write("pack/new")),
    "an open folder, scandir": (HELD + "list(os.scandir(folder))", lambda p: p.write("pack/new")),
    "fwalk": ("import os; list(os.fwalk('pack'))", lambda p: p.write("pack/new")),
    "an entry's size": (
        "import os; [each.stat() for each in os.scandir('pack')]",
        lambda p: p.write("pack/a.csv", "2"),
    ),
    "an entry's kind": (
        "import os; list(os.walk('pack'))",
        lambda p: ((p.folder / "pack/a.csv").unlink(), (p.folder / "pack/a.csv").mkdir()),
    ),
    "permissions": (
        "import os; os.access('data.txt', os.X_OK)",
        lambda p: (p.folder / "data.txt").chmod(0o777),
    ),
    "a link's target": ("import os; os.readlink('link')", lambda p: _relinked(p, "link", "nowhere")),
    "a dangling link's target": ("import os; os.readlink('dangling')", lambda p: _relinked(p, "dangling", "elsewhere")),
    "a link, replaced by a copy": (
        "import os; os.path.islink('link')",
        lambda p: ((p.folder / "link").unlink(), p.write("link", "1")),
    ),
    "extended attributes": (
        "import os\ntry: os.getxattr('data.txt', 'user.k')\nexcept OSError: pass",
        lambda p: os.setxattr(p.folder / "data.txt", "user.k", b"1"),
    ),
    "in memory of the system": (
        "import numpy as np, os; np.loadtxt(os.environ['SHARED'])",
        lambda p: p.shared.write_text("2", encoding="ascii"),
    ),
}  # fmt: skip


@pytest.fixture
def shared(project):
    project.shared = Path(f"/dev/shm/{project.folder.name}-{os.getpid()}.txt")
    if not project.shared.parent.is_dir():
        project.shared = project.folder / "shared.txt"
    project.shared.write_text("1", encoding="ascii")
    project.environment["SHARED"] = str(project.shared)
    yield project
    project.shared.unlink()


@pytest.mark.parametrize("name", EDITS)
def test_every_edit_is_seen(shared, name):
    text, edit = EDITS[name]
    _usual(shared)
    (shared.folder / "dangling").symlink_to("somewhere")
    shared.write("main.py", text)
    kept = shared.run()
    if not name.startswith(("own", "moved")):  # there inodes change while they are in use: a doubt
        assert kept["doubts"] == []
        assert shared.changed(kept) == ""
    edit(shared)
    assert shared.changed(kept) != ""


def test_what_is_made_anew_is_no_dependence(project):
    """A temporary folder, files in it, one put in the place of another: reused whatever is there afterwards."""
    project.write(
        "main.py",
        """
        import os, shutil, tempfile
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(f"{folder}/sub")
            with open(f"{folder}/half", "x") as file: file.write("1")
            os.replace(f"{folder}/half", f"{folder}/sub/whole")
            assert open(f"{folder}/sub/whole").read() == "1" and os.listdir(f"{folder}/sub") == ["whole"]
        with open("half", "w") as file: file.write("1")
        os.replace("half", "whole")
        open("whole").read()
        os.remove("whole")
        """,
    )
    kept = project.run()
    assert kept["doubts"] == []
    assert project.changed(kept) == ""
    project.write("whole", "2")
    assert project.changed(kept) == ""


@pytest.mark.parametrize("whole", ["repr", "dict", "sorted", "len", "str", "list"])
@pytest.mark.parametrize("which", [*ENVIRONMENTS, "__import__('posix').environ"])
def test_the_environment_as_a_whole(project, which, whole):
    project.write("main.py", f"import os; {whole}({which})")
    kept = project.run()
    assert project.changed(kept, ANOTHER="1") != ""


@pytest.mark.parametrize("way", [".get(NAME)", "[NAME] if 0 else NAME in WHERE", ".setdefault(NAME, NAME)"])
@pytest.mark.parametrize("which", ["os.environ", "os.environb", "os.environ._data"])
def test_one_variable(project, which, way):
    name = "'MY_SEED'" if which == "os.environ" else "b'MY_SEED'"
    text = f"{which}{way}".replace("WHERE", which).replace("NAME", name)
    project.write("main.py", f"import os; {text}")
    kept = project.run()
    assert kept["doubts"] == []
    assert project.changed(kept, ANOTHER="1") == ""
    assert project.changed(kept, MY_SEED="1") != ""


@pytest.mark.parametrize(
    "text",
    [
        "import posix; posix.stat('data.txt')",
        "from posix import stat",
        "import sys; sys.modules['posix']",
        "def later():\n  import pwd\n  return pwd.getpwnam('root')",
        "import ssl; ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).set_default_verify_paths()",
        "import ssl; f = lambda c: getattr(c, 'load_verify_locations')",
        "from scipy.io import mmread",
        "import numpy as np; np.fromfile('/proc/self/stat', 'u1')",
        "from multiprocessing.shared_memory import SharedMemory as M; m = M(create=True, size=8); m.unlink()",
        "import os; os.rename('pack', 'packed')",
        "open('away/../data.txt').read()",  # which is in the folder above the one that the link points to
    ],
)
def test_what_no_hook_follows_is_a_doubt(project, text):
    _usual(project)
    (project.folder / "far/down").mkdir(parents=True)
    (project.folder / "away").symlink_to("far/down")
    project.write("far/data.txt", "3")
    project.write("main.py", text)
    kept = project.run()
    assert kept["doubts"]
    assert project.changed(kept) != ""


def test_the_name_of_the_system_is_no_door(project):
    project.write("main.py", "import os; assert os.name in ('posix', 'nt')")
    assert project.run()["doubts"] == []
