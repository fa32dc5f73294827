"""Details on demand: many pieces of markup as a few compressed blocks, which the page's script opens one at a time.

A record in full takes 6 KB and more, mostly the same words around other numbers: packed it is a fifth of that, and a
browser lays out what is looked at alone.
"""

import base64
import re
import zlib
from collections.abc import Sequence

MANY = 32  # pieces in a block: what one click unpacks


def blocks(pieces: Sequence[str]) -> list[str]:
    """Piece i is number i % MANY, split at NUL, of block i // MANY: zlib (RFC 1950) in base64."""
    return [_packed(pieces[start : start + MANY]) for start in range(0, len(pieces), MANY)]


def _packed(pieces: Sequence[str]) -> str:
    return base64.b64encode(zlib.compress("\0".join(pieces).encode(), 9)).decode("ascii")


def unpacked(page: str) -> list[str]:
    """All pieces of a page that holds the blocks."""
    found = re.findall(r'<script type="text/plain" id="pack-\d+">([^<]*)</script>', page)
    return [piece for each in found for piece in zlib.decompress(base64.b64decode(each)).decode().split("\0")]
