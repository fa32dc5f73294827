"""`dpverify init`: a first folder of audits that runs green at once, with a planted bug that it catches."""

from pathlib import Path
from typing import Annotated

import typer

from dpverify.errors import RunError, UsageError

AUDIT = '''"""A first audit: noisy numbers of users in four cells. Put your own mechanism in its place."""

import numpy as np

from dpverify import Pair, planted, PureDP, Records, Subject
from dpverify.ledger.events import LaplaceNoise, Ledger, Sensitivity, Shift


class Histogram:
    """Replacing one user moves two cells by 1 each: Laplace noise of scale 2 is 1-DP."""

    scale = 2.0
    ledger = Ledger(LaplaceNoise(scale=2.0, sensitivity=Sensitivity(replace=Shift(1.0, 2))))

    def release(self, data, *, rng, size):
        """`size` independent releases, shape (size, 4); all randomness comes from `rng`."""
        return np.bincount(data.rows, minlength=4) + rng.laplace(scale=self.scale, size=(size, 4))


class OneCell(Histogram):
    """INCORRECT on purpose: counts one moved cell where two move. An audit that misses it sees nothing of the kind."""

    scale = 1.0


pair = Pair(Records([0, 1, 2]), Records([3, 1, 2]), name="one user in another cell")
histogram = Subject(
    name="histogram", target=Histogram(), claim=PureDP(1.0), pairs=(pair,), accounted=True, trials=5_000
)
subjects = [histogram, planted(histogram, "one-cell", OneCell())]
'''


def init(
    folder: Annotated[Path, typer.Argument(help="The folder to make.")] = Path("audits"),
) -> None:
    """Write a first audit. Nothing that exists is changed. Run it with `dpverify audit audits`."""
    file = folder / "audit_example.py"
    if file.exists():
        raise UsageError(f"{file}: exists; nothing was written")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with file.open("x", encoding="utf-8") as place:
            place.write(AUDIT)
    except OSError as error:
        raise RunError(f"{file}: could not be written ({error.strerror})") from error
    print(f"Wrote {file}. Next: dpverify audit {folder}")
