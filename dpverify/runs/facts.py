"""What a result depends on, as facts that can be looked up again: a kind, a name, and what was seen.

    file     a path: the digest of its bytes, or absent, folder, special, unreadable
    code     a source file: its digest, and that of its bytecode where that may not be its own (see `code`)
    tree     an installed package: one digest over the code of all its files
    search   a folder and names of modules: which of its entries could be imported under them
    list     a folder: the names in it
    dists    a folder: the distributions that it describes
    types    a folder: the names in it, and what each one is
    sizes    a folder: the names in it, and for each what `stat` and `link` say
    stat     a path: absent, or kind, permissions (also this user's) and, of a file, its size
    link     a path: where it points, if it is a link
    xattr    a path: its extended attributes
    may      a path: whether a file could be written there
    env      a variable: the digest of its value, or absent
    envs     the beginning of names: all such variables
    self     the interpreter: version, flags, machine

A digest is always of bytes read now. Times can be set by anybody, so no equality of times or sizes is ever
taken for equality of contents; the time of the last change of an inode, which cannot be set, is used in one
direction only: to doubt.
"""

import hashlib
import json
import marshal
import os
import platform
import posixpath
import stat as stat_bits
import sys
import sysconfig
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from importlib.machinery import BYTECODE_SUFFIXES, EXTENSION_SUFFIXES, SOURCE_SUFFIXES
from importlib.util import cache_from_source
from pathlib import Path

Fact = tuple[str, str, str]

ABSENT, FOLDER, SPECIAL, UNREADABLE = "absent", "folder", "special", "unreadable"
CODE: tuple[str, ...] = (
    *SOURCE_SUFFIXES,
    *EXTENSION_SUFFIXES,
    *BYTECODE_SUFFIXES,
    ".pyx",
    ".pth",
    ".so",
    ".dylib",
    ".dll",
)
NOT_CODE = {"__pycache__", "test", "tests", "idlelib", "site-packages", "dist-packages", "turtledemo"}
# variables that interpreters, number libraries and their threads read without asking `os.environ`
FAMILIES: tuple[str, ...] = (
    "PYTHON",
    "LC_",
    "OMP_",
    "OPENBLAS_",
    "GOTO_",
    "MKL_",
    "KMP_",
    "BLIS_",
    "NUMEXPR_",
    "VECLIB_",
    "NPY_",
)
FAMILIES += ("NUMPY_", "SCIPY_", "SKLEARN_", "LD_", "DYLD_", "CUDA_", "GLIBC_", "MALLOC_")
VOLATILE = ("_", "PWD", "OLDPWD", "SHLVL", "COLUMNS", "LINES", "PYTEST_CURRENT_TEST", "PYTEST_XDIST_")

_look, _names, _may, _target = os.stat, os.listdir, os.access, os.readlink  # before anybody wraps them
_link_of = os.lstat


def sha256(content: bytes) -> str:
    """Hexadecimal digest."""
    return hashlib.sha256(content).hexdigest()


def installed_roots() -> tuple[str, ...]:
    """Folders of installed packages, longest first."""
    places = {sysconfig.get_path(kind) for kind in ("purelib", "platlib")}
    places |= {each for each in sys.path if posixpath.basename(each) in ("site-packages", "dist-packages")}
    return tuple(sorted((each for each in places if each), key=len, reverse=True))


def standard_roots() -> tuple[str, ...]:
    """Folders of the standard library; installed packages may lie inside."""
    return tuple(sorted({sysconfig.get_path(kind) for kind in ("stdlib", "platstdlib")}))


def digest_of_file(path: str) -> str:
    """Digest of the bytes, or what else is there; never raises, never waits for a pipe."""
    try:
        mode = _look(path).st_mode
        if stat_bits.S_ISDIR(mode):
            return FOLDER
        if not stat_bits.S_ISREG(mode):
            return SPECIAL
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except (FileNotFoundError, NotADirectoryError):
        return ABSENT
    except (OSError, ValueError):  # a loop of links, no permission, a name with a zero byte
        return UNREADABLE


def code(path: str, *, prove: bool = True) -> str:
    """Digest of a source, with its bytecode's where Python might load that of another source.

    Python takes bytecode whose header repeats the time (in seconds) and size of its source, or says that nobody
    need look. Bytecode that is not what the source compiles to is part of the fact. Without `prove`, for packages
    of thousands of files, only where the source's inode has changed after the bytecode's.
    """
    found = digest_of_file(path)
    if not path.endswith(".py"):
        return found
    try:
        cached = cache_from_source(path)
        source, compiled = _look(path), _look(cached)
        if not prove and compiled.st_ctime_ns > source.st_ctime_ns:
            return found
        content = Path(cached).read_bytes()
    except (OSError, ValueError, NotImplementedError):
        return found
    stamp = (int(source.st_mtime) & 0xFFFFFFFF).to_bytes(4, "little") + (source.st_size & 0xFFFFFFFF).to_bytes(
        4, "little"
    )
    taken = content[4:8] != bytes(4) or content[8:16] == stamp
    if not taken or (prove and _is_of(path, content)):
        return found
    return f"{found} {taken:d} {sha256(content[16:])}"


def _is_of(path: str, content: bytes) -> bool:
    """True where bytecode is what the source compiles to."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = compile(Path(path).read_bytes(), path, "exec", dont_inherit=True)
        return bool(marshal.loads(content[16:]) == made)
    except Exception:  # neither, or not of this Python
        return False


def code_files(top: str) -> Iterator[str]:
    """All files with code under an installed package, tests apart; the file itself where it is one."""
    if not os.path.isdir(top):
        yield top
        return
    for folder, folders, files in os.walk(top):
        folders[:] = sorted(each for each in folders if each not in NOT_CODE)
        yield from (posixpath.join(folder, each) for each in sorted(files) if each.endswith(CODE) or ".so." in each)


def entries(folder: str, names: Iterable[str]) -> list[str]:
    """What `import` could find in a folder under these names: files, folders, and whether they are packages."""
    wanted, found = set(names), []
    try:
        listed = sorted(_names(folder))
    except NotADirectoryError:  # an archive on the path
        return [digest_of_file(folder)]
    except OSError:
        return []
    for entry in listed:
        place = posixpath.join(folder, entry)
        if entry.partition(".")[0] in wanted and (entry.endswith(CODE) or "." not in entry):
            inits = []
            if os.path.isdir(place):
                try:
                    inits = sorted(each for each in _names(place) if each.partition(".")[0] == "__init__")
                except OSError:
                    inits = [UNREADABLE]
            found.append("/".join([entry, *inits]))
        elif entry.endswith(".pth"):  # run at the start of Python
            found.append(f"{entry} {digest_of_file(place)}")
    return found


class World:
    """Looks things up, each once. `environment`: that in which a subject would run."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self.environment = dict(os.environ if environment is None else environment)
        self._newest: dict[str, int] = {}
        self._seen: dict[tuple[str, str], str] = {}
        self._answers: dict[str, str] = {}

    def once(self, name: str, answer: Callable[[], str]) -> str:
        """`answer()` when `name` is asked for the first time, and the same again afterwards."""
        if name not in self._answers:
            self._answers[name] = answer()
        return self._answers[name]

    def newest_of(self, top: str) -> int:
        """When the inode of any file of a tree changed last, in nanoseconds."""
        self.see("tree", top)
        return self._newest[top]

    def see(self, kind: str, name: str) -> str:
        """What there is now; the same answer for the same question."""
        key = kind, name
        if key not in self._seen:
            self._seen[key] = getattr(self, f"_{kind}")(name)
        return self._seen[key]

    def _file(self, path: str) -> str:
        return digest_of_file(path)

    def _code(self, path: str) -> str:
        return code(path)

    def _tree(self, top: str) -> str:
        total, newest = hashlib.sha256(), 0
        for file in code_files(top):
            with suppress(OSError):
                newest = max(newest, _look(file).st_ctime_ns)
            total.update(
                f"{posixpath.relpath(file, top)}\0{code(file, prove=False)}\n".encode("utf-8", "surrogateescape")
            )
        self._newest[top] = newest
        return total.hexdigest()

    def _search(self, question: str) -> str:
        folder, names = json.loads(question)
        return sha256(json.dumps(entries(folder, names)).encode())

    def _list(self, folder: str) -> str:
        return listing(folder)

    def _dists(self, folder: str) -> str:
        return distributions(folder)

    def _types(self, folder: str) -> str:
        return listing(folder, kinds)

    def _sizes(self, folder: str) -> str:
        return listing(folder, details)

    def _stat(self, path: str) -> str:
        return looks(path)

    def _link(self, path: str) -> str:
        return link(path)

    def _xattr(self, path: str) -> str:
        return attributes(path)

    def _may(self, path: str) -> str:
        return writable(path)

    def _env(self, name: str) -> str:
        value = self.environment.get(name)
        return ABSENT if value is None else sha256(os.fsencode(value))

    def _envs(self, beginning: str) -> str:
        chosen = {
            name: value
            for name, value in self.environment.items()
            if name.startswith(beginning) and not name.startswith(VOLATILE)
        }
        return sha256(json.dumps(sorted(chosen.items())).encode())

    def _self(self, what: str) -> str:
        return interpreter()


def distributions(folder: str) -> str:
    """Digest of the names of installed distributions that a folder describes."""
    try:
        names = sorted(each for each in _names(folder) if each.endswith((".dist-info", ".egg-info", ".egg-link")))
    except (OSError, ValueError):
        return ABSENT
    return sha256(json.dumps(names).encode())


def listing(folder: str, about: Callable[[str], str] = lambda _: "") -> str:
    """Digest of the names in a folder and what is said `about` each, without what Python and dpverify add."""
    try:
        names = sorted(each for each in _names(folder) if each != "__pycache__" and not each.startswith(".dpverify"))
    except (OSError, ValueError):
        return ABSENT
    return sha256(json.dumps([[name, about(posixpath.join(folder, name))] for name in names]).encode())


def kinds(path: str) -> str:
    """File, folder or other, of the path itself and of what it points to."""
    found = []
    for look in (_link_of, _look):
        try:
            found.append(str(stat_bits.S_IFMT(look(path).st_mode)))
        except (OSError, ValueError):
            found.append(ABSENT)
    return " ".join(found)


def details(path: str) -> str:
    """What `os.stat` and `os.lstat` tell, see `looks`."""
    return f"{looks(path)} {link(path)}"


def looks(path: str) -> str:
    """What `os.stat` and `os.access` tell, times, owners and inodes apart."""
    try:
        found = _look(path)
    except (OSError, ValueError):
        return ABSENT
    may = "".join(str(int(_may(path, each))) for each in (os.R_OK, os.W_OK, os.X_OK))
    return f"{found.st_mode:o} {may} {'' if stat_bits.S_ISDIR(found.st_mode) else found.st_size}"


def link(path: str) -> str:
    """Where a link points."""
    try:
        return f"to {_target(path)}"
    except (OSError, ValueError):
        return ABSENT


def attributes(path: str) -> str:
    """Digest of the extended attributes."""
    try:
        return sha256(json.dumps([[name, os.getxattr(path, name).hex()] for name in os.listxattr(path)]).encode())
    except (OSError, ValueError, AttributeError) as error:
        return type(error).__name__


def writable(path: str) -> str:
    """Whether a file could be written there."""
    try:
        if stat_bits.S_ISDIR(_look(path).st_mode):
            return FOLDER
        return str(_may(path, os.W_OK))
    except OSError:
        return str(_may(posixpath.dirname(path), os.W_OK | os.X_OK))
    except ValueError:
        return UNREADABLE


def interpreter() -> str:
    """Version, build, flags (hash randomisation apart) and machine of this Python."""
    flags = [f"{name}={getattr(sys.flags, name)}" for name in ("optimize", "dev_mode", "utf8_mode", "isolated")]
    return " ".join([sys.implementation.cache_tag or "", *sys.version.split(), platform.machine(), *flags])
