"""The worker: one request at a time on standard input, one answer each, until the input ends.

Frames are 4 bytes of length and a pickle of builtins. Standard output goes to standard error as soon as this starts, so
a library that prints breaks no frame. A counter in a shared file says which release is being made: whoever waits sees
progress, and which release it was that never ended.
"""

from __future__ import annotations

import mmap
import os
import platform
import struct
import sys
import time
from typing import Any

from . import calling, codec, encoding


def limit_memory(megabytes: int) -> None:
    """From now on this process gets this much more address space than it has, and MemoryError beyond."""
    import resource

    used = 0
    try:
        with open("/proc/self/statm") as file:
            used = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):  # no Linux
        used = 0
    limit = used + megabytes * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def read(stream: Any) -> Any:
    """The next frame, or None at the end."""
    head = stream.read(4)
    if len(head) < 4:
        return None
    (length,) = struct.unpack(">I", head)
    return codec.unpacked(stream.read(length))


def write(stream: Any, value: Any) -> None:
    """One frame."""
    data = codec.packed(value)
    stream.write(struct.pack(">I", len(data)) + data)
    stream.flush()


class Counter:
    """A whole number in a file that two processes see."""

    def __init__(self, path: str) -> None:
        with open(path, "r+b") as file:
            self._held = mmap.mmap(file.fileno(), 8)

    def set(self, value: int) -> None:
        """Now it is this."""
        self._held[:8] = struct.pack(">Q", value)

    def get(self) -> int:
        """What it is now."""
        return int(struct.unpack(">Q", self._held[:8])[0])


class Server:
    """Answers for one target."""

    def __init__(self, counter: Counter) -> None:
        self.counter, self.caller = counter, None  # type: Any, Any

    def answer(self, request: Any) -> Any:
        """("ok", value), or (kind of error, text)."""
        try:
            return ("ok", getattr(self, "do_" + request[0])(*request[1:]))
        except calling.Refused as error:
            return ("refused", str(error))
        except (calling.RunFailed, encoding.TooMuch) as error:
            return ("failed", str(error))
        except codec.Unsendable as error:
            return ("failed", f"the output is {error}, which cannot be sent")

    def do_open(self, spec: str, call: str, arguments: Any, encode: str, path: list[str], memory: Any) -> Any:
        """Loads the target; what there is to know of it and of this interpreter; `memory`: MiB for releases."""
        sys.path[:0] = path
        found = calling.load(spec)
        given = {name: codec.restored(value) for name, value in arguments.items()}
        own = calling.load(encode) if encode else None
        self.caller = calling.Caller(found, call, given, own, spec)
        if memory is not None:
            limit_memory(memory)
        return {
            "call": self.caller.call,
            "python": platform.python_version(),
            "platform": platform.platform(),
            "executable": sys.executable,
            "stream": self.caller.stream,
        }

    def do_check(self, data: Any) -> None:
        """Refused where data of this form cannot be handed over."""
        self.caller.check(*given(codec.unpacked(data)))

    def do_fields(self, data: bytes, seeds: list[int]) -> Any:
        """See `many`."""
        return many(self.caller, data, seeds, self.counter)

    def do_values(self, data: bytes, seeds: list[int]) -> Any:
        """Values of one release a seed, or (type, text) of what each raised."""
        found = []
        for seed in seeds:
            self.counter.set(self.counter.get() + 1)
            value, error, _ = self.caller.guarded(given(codec.unpacked(data)), seed)
            found.append(["value", codec.plain(value)] if error is None else ["raised", type(error).__name__])
        return found

    def do_versions(self) -> Any:
        """Of what is imported by now."""
        return versions()


def many(caller: Any, data: bytes, seeds: list[int], counter: Any = None) -> Any:
    """Fields of one release a seed, each on data of its own; and whether the first call changed them."""
    found, changed, started = [], False, time.process_time()
    for at, seed in enumerate(seeds):
        if counter is not None:
            counter.set(counter.get() + 1)
        mine = given(codec.unpacked(data))
        found.append(caller.outcome(mine, seed))
        if at == 0:
            changed = altered(data, mine)
    seconds = time.process_time() - started
    return {"fields": found, "changed": changed, "notes": caller.notes, "raised": caller.raised, "seconds": seconds}


def given(wire: Any) -> Any:
    """("one" | "args" | "keywords", value) from the wire."""
    return wire[0], codec.restored(wire[1])


def altered(data: bytes, mine: Any) -> bool:
    """Whether a call has changed the data that it was handed; False where nobody can tell."""
    try:
        return repr(codec.plain(mine[1])) != repr(codec.plain(given(codec.unpacked(data))[1]))  # NaN is NaN
    except (codec.Unsendable, TypeError, ValueError):
        return False


def versions() -> Any:
    """Version of every distribution that is imported, by name of its module."""
    try:
        from importlib import metadata
    except ImportError:  # Python 3.7
        metadata = None  # type: ignore[assignment]
    found = {}
    standard = getattr(sys, "stdlib_module_names", ())
    home = os.path.dirname(os.__file__)
    for name in sorted({each.partition(".")[0] for each in list(sys.modules)}):
        file = getattr(sys.modules.get(name), "__file__", None) or ""
        if name in standard or not file or (file.startswith(home) and "-packages" not in file):
            continue
        own = getattr(sys.modules.get(name), "__dict__", {}).get("__version__")  # asks no module for its attribute
        if isinstance(own, str):
            found[name] = str.__str__(own)  # exactly a str: torch has a class of its own
        elif metadata is not None and not name.startswith("_"):
            if "-packages" in file:
                try:
                    found[name] = metadata.version(name)
                except Exception:  # a module whose distribution has another name
                    continue
    return found


def serve(stream: Any, counter: str) -> None:
    """Until the input ends."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    server = Server(Counter(counter))
    while True:
        request = read(stream)
        if request is None:
            return
        write(out, server.answer(request))
