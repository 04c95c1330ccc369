"""Two million noisy counts: against numpy's unsafe noise, and against the bare word stream."""

import os
from fractions import Fraction

import numpy as np

import discreet as dp
from benchmarks.timing import medians, table
from discreet.noise.source import SystemSource

N = 2_000_000


def word_stream(size_bytes):
    """The cipher alone, into a buffer that is there already: the physical limit."""
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    cipher = Cipher(algorithms.AES256(os.urandom(32)), modes.CTR(bytes(16))).encryptor()
    piece, out = bytes(1 << 17), bytearray((1 << 17) + 16)

    def run():
        for _ in range(size_bytes // len(piece) + 1):
            cipher.update_into(piece, out)

    return run


class Meter(SystemSource):
    """Counts the bytes that a release reads."""

    def __init__(self):
        super().__init__()
        self.bytes = 0

    def array(self, size, width):
        self.bytes += size * width // 8
        return super().array(size, width)


def bytes_read(mechanism, values):
    meter = Meter()
    mechanism.release(values, source=meter)
    return meter.bytes


def geometric():
    rng = np.random.default_rng()
    values = rng.integers(0, 100_000, N)
    rows = []
    for epsilon in ("1", "0.1", "0.01", "0.001", "1e-6", "1e-9"):
        mechanism = dp.Geometric(epsilon=epsilon)
        p = -np.expm1(-float(epsilon))
        read = bytes_read(mechanism, values)
        found = medians(
            {
                "ours": lambda m=mechanism: m.release(values),
                "numpy": lambda p=p: values + (rng.geometric(p, N) - rng.geometric(p, N)),
                "stream": word_stream(read),
                "add": lambda: values + values,
            }
        )
        rows.append(
            (
                epsilon,
                f"{found['numpy'] / found['ours']:.1f}",
                f"{N / found['ours'] / 1e6:.0f}",
                f"{read / N:.2f}",
                f"{found['ours'] / found['stream']:.1f}",
                f"{found['ours'] / (found['stream'] + found['add']):.1f}",
            )
        )
    head = (
        "epsilon",
        "times as fast as numpy `geometric - geometric`",
        "million values a second",
        "random bytes a value",
        "times the bare word stream",
        "times stream plus one vector addition",
    )
    return table(head, rows)


def gaussian():
    rng = np.random.default_rng()
    values = rng.integers(0, 100_000, N)
    rows = []
    for sigma in (1, 10, 100, 1000, 8401, 10**9):
        mechanism = dp.Gaussian(rho=Fraction(1, 2 * sigma**2))
        found = medians(
            {
                "ours": lambda m=mechanism: m.release(values),
                "numpy": lambda s=sigma: values + np.rint(rng.normal(0, s, N)).astype(np.int64),
            },
            repeats=5,
        )
        rows.append(
            (
                f"{sigma:,}",
                f"{found['numpy'] / found['ours']:.1f}",
                f"{N / found['ours'] / 1e6:.0f}",
            )
        )
    return table(
        ("sigma", "times as fast as numpy `normal`, rounded", "million values a second"), rows
    )


def others():
    rng = np.random.default_rng()
    values = rng.integers(0, 100_000, N)
    answers = rng.integers(0, 2, N).astype(bool)
    p = -np.expm1(-1.0)
    calls = {
        "`Geometric(epsilon=1, bounds=(0, 100_000))`": lambda: dp.Geometric(
            epsilon=1, bounds=(0, 100_000)
        ).release(values),
        "`Staircase(epsilon=2, sensitivity=10)`": lambda: dp.Staircase(
            epsilon=2, sensitivity=10
        ).release(values),
        "`RandomizedResponse(epsilon=1, ...)`, two answers": lambda: dp.RandomizedResponse(
            epsilon=1, categories=(True, False)
        ).release(answers),
        "`NoisyMax(epsilon=1)`": lambda: dp.NoisyMax(epsilon=1).release(values),
        "`TopK(epsilon=1, k=100)`": lambda: dp.TopK(epsilon=1, k=100).release(values),
        "`PermuteAndFlip(epsilon=1)`": lambda: dp.PermuteAndFlip(epsilon=1).release(values),
        "`SelectKeys(epsilon=1, delta='1e-8')`": lambda: dp.SelectKeys(
            epsilon=1, delta="1e-8"
        ).release(values),
    }
    reference = "numpy"
    found = medians(
        {reference: lambda: rng.geometric(p, N) - rng.geometric(p, N), **calls}, repeats=5
    )
    rows = [(name, f"{found[name] / found[reference]:.2f}") for name in calls]
    return table(
        ("2,000,000 values at once", "time, in units of numpy's `geometric - geometric`"), rows
    )
