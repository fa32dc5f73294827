"""Stable places in a page: `local/corrected!half-noise` is at `#local/corrected!half-noise`, in every report."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable

OWN = (
    "answers",
    "attention",
    "claims",
    "tools",
    "count",
    "table",
    "none",
    "more",
    "promises",
    "reading",
    "run",
    "script",
)
_ODD = re.compile(r"[^A-Za-z0-9._/!:~-]+")


def anchors(names: Iterable[str]) -> list[str]:
    """An anchor for each name, made of the name alone as long as it has signs that an address may hold.

    Other signs become a hyphen and a digest of the name is added, so that an anchor does not depend on other names.
    A name that stands twice is numbered.
    """
    found, seen = list[str](), Counter[str]()
    for name in names:
        anchor = _anchor(name)
        seen[anchor] += 1
        found.append(anchor if seen[anchor] == 1 else f"{anchor}~~{seen[anchor]}")
    return found


def _anchor(name: str) -> str:
    plain = _ODD.sub("-", name)
    if plain == name and name and name not in OWN and not name.startswith("pack-") and "~" not in name:
        return name
    return f"{plain}~{hashlib.blake2b(name.encode('utf-8', 'surrogatepass'), digest_size=4).hexdigest()}"
