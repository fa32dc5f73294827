"""Messages between a parent and its child: one JSON value a frame, with its length and a checksum.

No pickles: what a child answers cannot make its parent run anything. A frame that does not agree with its own
checksum ends the conversation: somebody else wrote into the pipe.
"""

import os
import select
import zlib
from collections.abc import Iterable, Iterator
from json import dumps, loads  # as they are now, whatever audited code makes of the module
from typing import Any

LONGEST_WAIT = 1e6  # seconds that the system's own call can wait
HEAD = 18  # eight hexadecimal digits of length, a blank, eight of checksum, a newline


class BrokenFrame(Exception):
    """What came through the pipe is not what the protocol allows."""


def pack(value: Any) -> bytes:
    """The value as a frame."""
    body = dumps(value).encode("ascii")
    return b"%08x %08x\n" % (len(body), zlib.crc32(body)) + body


def send(pipe: int, value: Any) -> None:
    """Writes a whole frame, however small the pipe."""
    rest = memoryview(pack(value))
    while rest:
        rest = rest[os.write(pipe, rest) :]


class Unpacker:
    """Frames out of pieces of bytes."""

    def __init__(self) -> None:
        self._held = bytearray()

    def feed(self, piece: bytes) -> Iterator[Any]:
        """The values that are complete with this piece; BrokenFrame where the bytes are none of ours."""
        self._held += piece
        while len(self._held) >= HEAD:
            length, checksum = _head(bytes(self._held[:HEAD]))
            if len(self._held) < HEAD + length:
                return
            body = bytes(self._held[HEAD : HEAD + length])
            del self._held[: HEAD + length]
            if zlib.crc32(body) != checksum:
                raise BrokenFrame("somebody else wrote into the channel to its supervisor")
            yield loads(body)


def receive(pipe: int) -> Iterator[Any]:
    """Frames as they come, until the other end closes."""
    unpacker = Unpacker()
    while piece := os.read(pipe, 1 << 16):
        yield from unpacker.feed(piece)


def _head(head: bytes) -> tuple[int, int]:
    try:
        return int(head[:8], 16), int(head[9:17], 16)
    except ValueError:
        raise BrokenFrame("somebody else wrote into the channel to its supervisor") from None


def readable(pipes: Iterable[int], seconds: float) -> set[int]:
    """Those that can be read, after `seconds` at most; closed ones can."""
    poll = select.poll()
    for pipe in pipes:
        poll.register(pipe, select.POLLIN)
    return {pipe for pipe, _ in poll.poll(min(max(0.0, seconds), LONGEST_WAIT) * 1000)}
