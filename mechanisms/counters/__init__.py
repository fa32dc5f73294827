"""Continual counters: noisy prefix sums of a stream, vectorised over trials and over counters.

    binary        the tree of PUCB's Algorithm 5, as printed and calibrated
    honaker       the full tree with averaging: the same privacy, about half the variance
    toeplitz      square-root factorisation with Gaussian noise
    buffered      nearly the same with O(log R) memory
    single_noise  negative control: one draw for all prefixes

Each offers `release(stream, *, rng, size)`, `counts(released)`, `ledger`, `log_ratio(outputs, pair)` and
`stream(runs, *, rng)` with `.feed(increments) -> counts` (the control has no stream). `errors` bounds all.
"""

from mechanisms.counters.buffered import BufferedCounter as BufferedCounter
from mechanisms.counters.honaker import HonakerCounter as HonakerCounter
from mechanisms.counters.logbase import LogBase as LogBase
from mechanisms.counters.single_noise import SingleNoiseCounter as SingleNoiseCounter
from mechanisms.counters.stream import Stream as Stream
from mechanisms.counters.toeplitz import ToeplitzCounter as ToeplitzCounter
from mechanisms.counters.tree import BinaryCounter as BinaryCounter
from mechanisms.toolbox.noise_laws import DiscreteGaussianNoiseLaw as DiscreteGaussianNoiseLaw
from mechanisms.toolbox.noise_laws import DiscreteLaplaceNoiseLaw as DiscreteLaplaceNoiseLaw
from mechanisms.toolbox.noise_laws import GaussianNoiseLaw as GaussianNoiseLaw
from mechanisms.toolbox.noise_laws import LaplaceNoiseLaw as LaplaceNoiseLaw
