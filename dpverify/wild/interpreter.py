"""The library in its own interpreter: `Elsewhere(python, "module:function")` is a target like any other.

The worker is made of the files of `wild.worker`, sent as source: the other interpreter needs nothing of ours. Its data
are decoded anew for every release. It dies: TargetError with its exit code and last words, after one more try of the
same block. It hangs: it is ended, and the error says in which release.
"""

import atexit
import contextlib
import os
import select
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dpverify.base import require
from dpverify.base.text import clean
from dpverify.errors import TargetError, UsageError
from dpverify.execution.isolated import killed_by
from dpverify.trials.target import Failed
from dpverify.wild.worker import calling, codec
from dpverify.wild.worker.serving import Counter

FILES = ("codec", "encoding", "calling", "serving")
BOOT = """
import pickle, struct, sys, types
stream = open(0, "rb", closefd=False)
files, counter = pickle.loads(stream.read(struct.unpack(">I", stream.read(4))[0]))
package = sys.modules["dpverify_remote"] = types.ModuleType("dpverify_remote")
package.__path__ = []
for name, source in files:
    module = types.ModuleType("dpverify_remote." + name)
    module.__package__ = "dpverify_remote"
    sys.modules[module.__name__] = module
    setattr(package, name, module)
    exec(compile(source, "<dpverify " + name + ">", "exec"), module.__dict__)
sys.modules["dpverify_remote.serving"].serve(stream, counter)
"""
START_SECONDS = 120.0  # for the import of a library
LOOK_SECONDS = 0.2
LAST_WORDS = 400  # letters of what it wrote to stderr
ATTEMPTS = 2


class Worker:
    """One process; `ask` gives the answer of one request, or raises TargetError or UsageError."""

    def __init__(self, python: str, *, cwd: str | None, env: dict[str, str] | None, timeout_s: float) -> None:
        self.python, self.timeout_s = python, timeout_s
        self.hello: dict[str, Any] = {}
        self.closed = False
        self._folder = tempfile.TemporaryDirectory(prefix="dpverify-")
        path = Path(self._folder.name, "counter")
        path.write_bytes(bytes(8))
        self.counter, self._errors = Counter(str(path)), Path(self._folder.name, "stderr")
        around = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", **os.environ}
        sources = [(name, _source(name)) for name in FILES]
        with self._errors.open("wb") as errors:
            try:
                self._process = subprocess.Popen(
                    [python, "-c", BOOT],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    cwd=cwd,
                    env=around if env is None else {**around, **env},
                    start_new_session=True,
                )
            except OSError as error:
                self._folder.cleanup()
                raise UsageError(f"{python}: cannot be started ({error.strerror or error})") from None
        atexit.register(self.close)
        self._send((sources, str(path)))

    def ask(self, *request: Any, timeout_s: float | None = None, releases: int = 0) -> Any:
        """The answer; `releases` are those that the request makes, each of which may take `timeout_s`."""
        self._before = self.counter.get()
        limit = self.timeout_s if timeout_s is None else timeout_s
        try:
            self._send(request)
            kind, value = codec.unpacked(self._read(limit, releases))
        except (BrokenPipeError, EOFError, struct.error) as error:
            raise self._dead(releases) from error
        if kind == "refused":
            raise UsageError(clean(value))
        if kind == "failed":
            raise TargetError(clean(value))
        return value

    def close(self) -> None:
        """Ends the process and all that it started."""
        self.closed = True
        atexit.unregister(self.close)
        with contextlib.suppress(OSError, ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        with contextlib.suppress(OSError):
            self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        self._folder.cleanup()

    @property
    def said(self) -> str:
        """The last line that it wrote to stderr."""
        with contextlib.suppress(OSError):
            lines = self._errors.read_bytes().decode("utf-8", "replace").strip().splitlines()
            return clean(lines[-1])[-LAST_WORDS:] if lines else ""
        return ""

    def _send(self, value: Any) -> None:
        assert self._process.stdin is not None
        data = codec.packed(value)
        try:
            self._process.stdin.write(struct.pack(">I", len(data)) + data)
            self._process.stdin.flush()
        except OSError as error:
            raise BrokenPipeError from error

    def _read(self, limit: float, releases: int) -> bytes:
        (length,) = struct.unpack(">I", self._exactly(4, limit, releases))
        return self._exactly(length, limit, releases)

    def _exactly(self, size: int, limit: float, releases: int) -> bytes:
        assert self._process.stdout is not None
        file, parts, seen, since = self._process.stdout.fileno(), bytearray(), -1, time.monotonic()
        while len(parts) < size:
            ready, _, _ = select.select([file], [], [], LOOK_SECONDS)
            if ready:
                piece = os.read(file, min(1 << 20, size - len(parts)))
                if not piece:
                    raise EOFError
                parts += piece
            now = self.counter.get()
            if ready or now != seen:
                seen, since = now, time.monotonic()
            elif time.monotonic() - since > limit:
                where = self._where(releases)
                self.close()
                raise TargetError(f"no answer in {limit:g} s{where}; its interpreter was ended")
        return bytes(parts)

    def _where(self, releases: int) -> str:
        return f", release {self.counter.get() - self._before} of {releases}" if releases else ""

    def _dead(self, releases: int) -> "Died":
        where, code = self._where(releases), self._process.wait()
        ended = killed_by(-code) if code < 0 else f"ended with exit code {code}"
        said = self.said
        self.close()
        return Died(f"its interpreter {'was ' if code < 0 else ''}{ended}{where}" + (f": {said}" if said else ""))


class Died(TargetError):
    """The interpreter ended while it was asked."""


def _source(name: str) -> str:
    return (Path(__file__).parent / "worker" / f"{name}.py").read_text(encoding="utf-8")


class Elsewhere:
    """A target `module:function` in another interpreter.

    Raises UsageError for what cannot be started or called, TargetError for a death or a hang.

    Parameters
    ----------
    python : str
        The interpreter: Python 3.7 to 3.14, with the library.
    spec : str
        MODULE:OBJECT or FILE.py:OBJECT, as that interpreter sees it from `cwd`.
    call : str
        How it is called, see `worker.calling`: auto, target, rng, seed, fit or data.
    timeout_s : float
        Seconds for one release.
    memory : int, optional
        MiB beyond what the interpreter has once the target is loaded.
    """

    def __init__(
        self,
        python: str,
        spec: str,
        *,
        cwd: str | None = None,
        call: str = "auto",
        timeout_s: float = 10.0,
        env: dict[str, str] | None = None,
        arguments: dict[str, Any] | None = None,
        encode: str = "",
        memory: int | None = None,
    ) -> None:
        require.positive(timeout_s=timeout_s)
        if memory is not None:
            require.integer(at_least=1, memory=memory)
        if call not in calling.SHAPES:
            raise UsageError(f"call {call!r}: must be one of " + ", ".join(calling.SHAPES))
        self.python, self.spec, self.cwd, self.call = python, spec, cwd, call
        self.timeout_s, self.env, self.encode, self.memory = timeout_s, env, encode, memory
        self.arguments = {name: codec.plain(value) for name, value in (arguments or {}).items()}
        self.name = spec
        self._worker: Worker | None = None
        self.hello: dict[str, Any] = self._opened(None).hello

    @property
    def reproducible(self) -> bool:
        """False where it draws from generators that nobody handed to it: they may not be seeded."""
        return str(self.hello["call"]) not in ("data", "fit")

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_worker": None}

    def __enter__(self) -> "Elsewhere":
        return self

    def __exit__(self, *ignored: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the interpreter; it is started again where it is needed."""
        if self._worker is not None:
            self._worker.close()
            self._worker = None

    def check(self, data: bytes) -> None:
        """UsageError where data of this form cannot be handed over, or a parameter is missing."""
        self._asked("check", data)

    def fields(self, data: bytes, seeds: Sequence[int]) -> dict[str, Any]:
        """Fields of one release a seed; see `worker.serving`."""
        found: dict[str, Any] = self._asked("fields", data, list(seeds), releases=len(seeds))
        return found

    def versions(self) -> dict[str, str]:
        """Of what the library has imported by now."""
        found: dict[str, str] = self._asked("versions")
        return found

    def release(self, data: Any, *, rng: np.random.Generator, size: int) -> npt.NDArray[Any]:
        """`size` releases, stacked; what one of them raises is raised here."""

        def again(error: BaseException) -> str:
            raise error

        found: list[Any] = self.attempts(data, rng=rng, size=size, named=again)
        return np.stack([np.asarray(each) for each in found])

    def attempts(
        self, data: Any, *, rng: np.random.Generator, size: int, named: Callable[[BaseException], str]
    ) -> list[Any]:
        """`size` releases as a list: values, and `Failed` for what one of them raised."""
        seeds = rng.integers(0, 2**62, size=size).tolist()
        wire = codec.packed(
            ("args", codec.plain(list(data))) if isinstance(data, tuple) else ("one", codec.plain(data))
        )
        found = self._asked("values", wire, seeds, releases=size)
        return [
            codec.restored(value) if kind == "value" else Failed(named(calling.described(value)()))
            for kind, value in found
        ]

    def _asked(self, *request: Any, releases: int = 0) -> Any:
        for attempt in range(ATTEMPTS):
            worker = self._opened(self._worker)
            try:
                return worker.ask(*request, releases=releases)
            except Died as error:
                self._worker = None
                if attempt == ATTEMPTS - 1:
                    raise TargetError(f"{self.spec}: {error}") from None
            except TargetError as error:
                if worker.closed:
                    self._worker = None
                raise TargetError(f"{self.spec}: {error}") from None
        raise AssertionError

    def _opened(self, worker: Worker | None) -> Worker:
        if worker is not None:
            return worker
        python = sys.executable if self.python in ("", "python") else self.python
        made = Worker(python, cwd=self.cwd, env=self.env, timeout_s=self.timeout_s)
        try:
            made.hello = made.ask(
                "open",
                self.spec,
                self.call,
                self.arguments,
                self.encode,
                [self.cwd or os.getcwd()],
                self.memory,
                timeout_s=max(START_SECONDS, self.timeout_s),
            )
        except BaseException:
            made.close()
            raise
        self._worker = made
        return made
