"""Half the noise in a line of the code, with the ledger as it is, is contradicted at that line."""

import numpy as np
import pytest

from benchmarks.tape_halved import halved, ROOT
from dpverify.accounting.ledger import Sensitivity, Shift
from dpverify.claims.neighbours import Pair
from dpverify.tape.trace import trace
from mechanisms.counters.stream import Stream
from mechanisms.counters.tree import BinaryCounter
from mechanisms.releases.discrete_laplace import DiscreteLaplace
from mechanisms.releases.gaussian import Gaussian
from mechanisms.releases.laplace import Laplace

ONE = Sensitivity(replace=Shift(1, 3))
VECTORS = Pair(np.array([1.0, 2.0, 3.0]), np.array([2.0, 1.5, 3.0]))
COUNTS = Pair(np.array([1, 2, 3]), np.array([2, 1, 3]))
STREAMS = Pair(Stream([1, 0, 1, 1, 0, 1]), Stream([1, 0, 0, 1, 0, 1]))
CASES = {
    "toolbox/noise_laws: laplace": (Laplace(scale=2.0, sensitivity=ONE), VECTORS),
    "toolbox/noise_laws: gaussian": (Gaussian(sigma=2.0, sensitivity=ONE), VECTORS),
    "toolbox/noise_laws: discrete laplace": (DiscreteLaplace(scale=2.0, sensitivity=ONE), COUNTS),
    "toolbox/noise_laws: tree": (BinaryCounter.calibrated(6, 1.0), STREAMS),
}


@pytest.mark.parametrize("name", CASES)
def test_the_halved_line_is_named(name: str) -> None:
    target, pair = CASES[name]
    good = trace(target, pair=pair, transcripts=6)
    assert good.status == "CONFORMS"
    (site,) = {row.site for row in good.draws if row.moved}
    file, line = ROOT / "mechanisms" / f"{name.partition(':')[0]}.py", int(site.rpartition(":")[2])
    assert site.startswith("/".join(file.parts[-2:]))
    with halved(file, line) as changed:
        assert changed
        found = trace(target, pair=pair, transcripts=6)
    assert found.status == "CONTRADICTED"
    assert site in {reason.site for reason in found.reasons}
    assert trace(target, pair=pair, transcripts=6).status == "CONFORMS"  # the code is as it was
