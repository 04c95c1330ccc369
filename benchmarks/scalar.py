"""One noisy count per call, and the price of importing."""

import statistics
import subprocess
import sys
import time

import numpy as np

import discreet as dp
from benchmarks.timing import medians, table

CALLS = 5_000


def releases():
    rng = np.random.default_rng()
    p = -np.expm1(-1.0)
    mechanism = dp.Geometric(epsilon=1)
    clamped = dp.Geometric(epsilon=1, bounds=(0, 10_000))
    constant = dp.Geometric(epsilon=1, bounds=(0, 1000), constant_time=True)

    def loop(call, times=CALLS):
        def run():
            for _ in range(times):
                call()

        return run

    found = medians(
        {
            "numpy": loop(lambda: 1234 + int(rng.geometric(p) - rng.geometric(p))),
            "`mechanism.release(1234)`": loop(lambda: mechanism.release(1234)),
            "`Geometric(epsilon=1).release(1234)`, built each time": loop(
                lambda: dp.Geometric(epsilon=1).release(1234)
            ),
            "clamped": loop(lambda: clamped.release(1234)),
            "constant time, a range of 1,001 values": loop(
                lambda: constant.release(500), CALLS // 10
            ),
        }
    )
    found["constant time, a range of 1,001 values"] *= 10
    rows = [
        (name, f"{seconds / found['numpy']:.1f}", f"{seconds / CALLS * 1e6:.1f}")
        for name, seconds in found.items()
        if name != "numpy"
    ]
    return table(("one release", "times numpy's `geometric - geometric`", "microseconds"), rows)


def imports():
    """Whole processes, in turn; what a bare interpreter takes is taken off."""
    programs = {
        "bare": "pass",
        "numpy": "import numpy",
        "`import discreet`": "import discreet",
        "`import discreet`, then `discreet.Geometric`": "import discreet; discreet.Geometric",
        "`import discreet`, then everything": "from discreet import *",
    }
    times = {name: [] for name in programs}
    for turn in range(9):
        for name, program in programs.items():
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", program], check=True)
            if turn:
                times[name].append(time.perf_counter() - start)
    found = {name: statistics.median(runs) for name, runs in times.items()}
    unit = found["numpy"] - found["bare"]
    rows = [(name, f"{(found[name] - found['bare']) / unit:.2f}") for name in list(programs)[2:]]
    return table(("", "times `import numpy`"), rows)
