"""Doors through which a process learns what no hook can follow: events, modules, and names in a project's code.

What is on these lists makes a result doubtful, and a doubtful result is not kept. No list of this kind is complete:
docs/reuse.md says what stays unseen.
"""

import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import CodeType

# events after which a result may depend on what nobody has seen, and which argument says on what
LEAVES = {
    "subprocess.Popen": 0, "os.system": 0, "os.exec": 0, "os.posix_spawn": 0, "os.spawn": 1, "os.fork": None,
    "os.forkpty": None, "pty.spawn": 0, "socket.connect": 1, "socket.sendto": 1, "socket.sendmsg": 1,
    "socket.bind": 1, "socket.getaddrinfo": 0, "socket.gethostbyname": 0, "socket.gethostbyaddr": 0,
    "socket.gethostname": None, "socket.getservbyname": 0, "socket.getservbyport": 0, "socket.getnameinfo": 0,
    "ctypes.dlopen": 0, "sqlite3.connect": 0,
}  # fmt: skip
# modules that open files or connections by themselves, in compiled code, where no hook sees it
NATIVE = (
    "h5py", "tables", "netCDF4", "pyarrow", "polars", "duckdb", "lmdb", "osgeo", "rasterio", "fiona", "pyogrio",
    "cv2", "tensorflow", "torch", "jaxlib", "onnxruntime", "safetensors", "xgboost", "lightgbm", "catboost", "faiss",
    "_dbm", "_gdbm", "cffi.api", "ROOT", "pyreadstat", "pyreadr", "zmq", "grpc", "lxml.etree", "apsw", "psycopg2",
    "psycopg", "MySQLdb", "pyodbc", "oracledb", "plyvel", "pygit2", "soundfile", "pysam", "SimpleITK", "itk", "vtk",
    "igraph", "rpy2", "jpype", "nis",
)  # fmt: skip
# names of functions that do so, and of the modules below `os`: one that occurs in a project's own code is enough
NAMES = frozenset({
    "posix", "nt", "_posixshmem", "_winapi", "shm_open", "load_verify_locations", "load_cert_chain",
    "load_dh_params", "load_default_certs", "set_default_verify_paths", "create_default_context", "mmread", "mminfo",
    "getpwnam", "getpwuid", "getpwall", "getgrnam", "getgrgid", "getgrall", "getgrouplist", "initgroups", "getspnam",
    "getlogin", "statvfs", "fstatvfs", "disk_usage", "pathconf", "fpathconf", "getloadavg", "getmntent",
    "read_history_file", "read_init_file", "shmget", "shmat",
})  # fmt: skip


@cache
def names_in(path: str) -> frozenset[str]:
    """Those of `NAMES` that the code of a source file refers to, as a name or as a text; none where it is no code."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            top = compile(Path(path).read_bytes(), path, "exec", dont_inherit=True)
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset()
    return frozenset(each for code in _codes(top) for each in _referred(code)) & NAMES


def _codes(top: CodeType) -> Iterator[CodeType]:
    yield top
    for each in top.co_consts:
        if isinstance(each, CodeType):
            yield from _codes(each)


def _referred(code: CodeType) -> Iterator[str]:
    for name in code.co_names:
        yield from name.split(".")
    for value in code.co_consts:
        if isinstance(value, str) and not (value in ("posix", "nt") and "name" in code.co_names):  # os.name == "nt"
            yield value
