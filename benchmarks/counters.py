"""Continual counters side by side: error at equal privacy, and time. Run: python benchmarks/counters.py"""

import time

import numpy as np

from benchmarks.counter_errors import at_equal_eps, at_equal_rho, CounterError
from mechanisms.counters import BinaryCounter, BufferedCounter, HonakerCounter, Stream, ToeplitzCounter

LENGTHS = (16, 255, 256, 1024, 20_000)
ROW = "{:>7} {:<18} {:>10} {:>12} {:>14} {:>18}"


def errors(title: str, rows: dict[int, dict[str, CounterError]]) -> None:
    """One table of errors."""
    print(f"\n{title}")
    print(ROW.format("R", "counter", "rms", "worst dev.", "bound, 95 %", "variance/binary"))
    for releases, found in rows.items():
        for name, error in found.items():
            relative = (error.root_mean_square / found["binary"].root_mean_square) ** 2
            cells = (error.root_mean_square, error.worst_deviation, error.bound)
            print(ROW.format(releases, name, *(f"{cell:.1f}" for cell in cells), f"{relative:.3f}"))


def seconds(counter: BinaryCounter | HonakerCounter | ToeplitzCounter, runs: int) -> float:
    """Time of a whole stream of zeros, one item at a time."""
    start = time.perf_counter()
    stream, zeros = counter.stream(runs, rng=np.random.default_rng(0)), np.zeros((runs, *counter.cells))
    for _ in range(counter.releases):
        stream.feed(zeros)
    return time.perf_counter() - start


def main() -> None:
    """Prints all tables."""
    errors("eps = 1, replace-one, one counter", {R: dict(at_equal_eps(R, 1.0)) for R in LENGTHS})
    errors("rho = 0.5, replace-one, one counter", {R: dict(at_equal_rho(R, 0.5)) for R in LENGTHS})

    print("\nseconds")
    start = time.perf_counter()
    counter = BinaryCounter.calibrated(16, 1.0)
    counter.release(Stream(np.zeros(16)), rng=np.random.default_rng(0), size=100_000)
    print(f"  binary, R = 16, 100,000 trials of a whole stream:              {time.perf_counter() - start:6.2f}")
    cells, touches = (6, 4, 2, 5), 6
    binary = BinaryCounter.calibrated(20_000, 1.0, cells=cells, touches=touches)
    print(f"  binary, R = 20,000, 20 runs of 240 cells, item by item:        {seconds(binary, 20):6.2f}")
    integers = BinaryCounter.calibrated(20_000, 1.0, discrete=True, cells=cells, touches=touches)
    print(f"  the same with discrete Laplace noise:                          {seconds(integers, 20):6.2f}")
    honaker = HonakerCounter.calibrated(20_000, 1.0, cells=cells, touches=touches)
    print(f"  honaker, the same:                                             {seconds(honaker, 20):6.2f}")
    toeplitz = ToeplitzCounter.calibrated(20_000, rho=0.5, cells=(240,), touches=touches)
    print(f"  toeplitz, R = 20,000, 1 run of 240 cells, item by item:        {seconds(toeplitz, 1):6.2f}")
    buffered = BufferedCounter.calibrated(20_000, rho=0.5, cells=cells, touches=touches)
    print(f"  buffered, R = 20,000, 20 runs of 240 cells, item by item:      {seconds(buffered, 20):6.2f}")


if __name__ == "__main__":
    main()
