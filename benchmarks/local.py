"""Frequency oracles: 1,000,000 people, 1,024 values, epsilon 1; and a hundred million reports.

Clients are compared with a vectorised numpy k-ary response on numpy's unsafe generator, servers
with numpy's bincount of the true values, both timed in turn with ours (CPU time of one thread). The
fastest peer of each kind was measured elsewhere, beside the same two limits: the ratio to a peer is
the ratio of what is left of the limit.
"""

import hashlib
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np

import discreet as dp
from benchmarks.timing import Rows, table
from discreet.local import HeavyHitters, KaryResponse, SubsetSelection, TreeHist
from discreet.local.collect import collect_parquet

N, K, EPSILON = 1_000_000, 1024, 1
MANY = 100_000_000

# users a second of each peer: client, server; and of the limits beside it: k-ary client, bincount
LIMITS = {"pure-ldp": (38_480_665, 547_119_280), "multi-freq-ldpy": (39_433_648, 521_198_444)}
PEERS = {
    "KaryResponse": {"pure-ldp": (1_190_204, 2_595_635), "multi-freq-ldpy": (535_251, 5_151_354)},
    "OptimizedUnary": {"pure-ldp": (16_514, 369_113), "multi-freq-ldpy": (37_845, 563_096)},
    "LocalHashing": {"pure-ldp": (214_480, 1_099), "multi-freq-ldpy": (132_808, 1_244)},
    "HadamardResponse": {"pure-ldp": (94_523, 5_077_787)},
}
# oracle: peer, people, mean squared error as returned, the same clipped and normalised
PEER_ERRORS = (
    ("KaryResponse", "pure-ldp", 1_000_000, 3.53e-4, 3.81e-5),
    ("KaryResponse", "multi-freq-ldpy", 991_705, None, 3.81e-5),
    ("OptimizedUnary", "pure-ldp", 50_903, 7.51e-5, 2.94e-5),
    ("OptimizedUnary", "multi-freq-ldpy", 150_217, None, 2.09e-5),
    ("HadamardResponse", "pure-ldp", 162_085, 2.93e-5, 2.13e-5),
    ("LocalHashing", "pure-ldp", 3_665, 1.01e-3, 4.47e-5),
    ("LocalHashing", "multi-freq-ldpy", 3_278, None, 4.48e-5),
)
NAMES = (
    "KaryResponse",
    "SymmetricUnary",
    "OptimizedUnary",
    "LocalHashing",
    "SubsetSelection",
    "HadamardResponse",
    "ProjectiveResponse",
    "CountMeanSketch",
    "HadamardSketch",
)
SURVEYS = 24


def people():
    """Zipf's law with exponent 1.1, as in the peers' workload."""
    rng = np.random.default_rng(11)
    weights = 1 / np.arange(1, K + 1) ** 1.1
    return rng.choice(K, N, p=weights / weights.sum())


def numpy_response(values, rng):
    keep = np.exp(EPSILON) / (np.exp(EPSILON) + K - 1)
    lie = rng.integers(1, K, N)
    return np.where(rng.random(N) < keep, values, (values + lie) % K)


def cpu(call):
    start = time.process_time()
    found = call()
    return time.process_time() - start, found


def collected(oracle, reports):
    collector = dp.local.Collector(oracle)
    collector.add(reports)
    return collector.estimate()


def oracles():
    values, rng = people(), np.random.default_rng()
    rows = []
    for name in NAMES:
        oracle = getattr(dp.local, name)(K, EPSILON)
        collected(oracle, oracle.reports(values[:1000]))
        times = {"client": [], "server": [], "numpy": [], "count": []}
        for _ in range(3):
            spent, reports = cpu(lambda o=oracle: o.reports(values))
            times["client"].append(spent)
            times["server"].append(cpu(lambda o=oracle, r=reports: collected(o, r))[0])
            times["numpy"].append(cpu(lambda: numpy_response(values, rng))[0])
            times["count"].append(cpu(lambda: np.bincount(values, minlength=K))[0])
            del reports
        spent = {key: statistics.median(found) for key, found in times.items()}
        client, server = spent["client"] / spent["numpy"], spent["server"] / spent["count"]
        rows.append(
            (
                f"`{name}`",
                oracle.width,
                f"{N / spent['client'] / 1e6:.2f}",
                f"{client:.1f}",
                faster(name, 0, client),
                f"{N / spent['server'] / 1e6:.1f}",
                f"{server:.1f}",
                faster(name, 1, server),
            )
        )
    head = (
        "oracle",
        "payload bytes",
        "client, million people a second",
        "client, times numpy's unsafe k-ary response",
        "client, times as fast as the fastest peer",
        "server, million reports a second",
        "server, times bincount of the truth",
        "server, times as fast as the fastest peer",
    )
    return table(head, rows)


def faster(name, side, ours):
    """How many times the fastest peer's speed is left of the limit; the limit is beside it."""
    peers = PEERS.get(name, {})
    left = [LIMITS[peer][side] / speeds[side] for peer, speeds in peers.items()]
    return f"{min(left) / ours:.0f}" if left else ""


# the mean squared error, against theory and against peers


def errors():
    """Of many surveys, over the theory of this very group of people."""
    values = people()
    truth = np.bincount(values, minlength=K) / N
    rows = Rows()
    for name in NAMES:
        oracle = getattr(dp.local, name)(K, EPSILON)
        found = surveys(oracle, values, SURVEYS, lambda e: e.raw)
        theory = oracle.normalised_variance(Fraction(1, K)) / N
        moved = np.mean((oracle.expected(truth) - truth) ** 2) if hasattr(oracle, "expected") else 0
        ratio = np.array(found) / (theory + moved)
        rows.add(
            f"`{name}`",
            f"{theory * N:.4g}",
            f"{moved * N:.2g}" if moved else "",
            f"{np.mean(found) * N:.4g}",
            f"{ratio.mean():.3f} ± {ratio.std(ddof=1) / len(ratio) ** 0.5:.3f}",
        )
    head = (
        "oracle",
        "theory: n times variance, mean over values",
        "collisions add",
        "measured: n times mean squared error",
        "measured over theory, with its standard error",
    )
    return table(head, rows)


def surveys(oracle, values, many, read):
    """The mean squared error of one reading of each survey."""
    truth = np.bincount(values, minlength=K) / len(values)
    return [
        np.mean((read(collected(oracle, oracle.reports(values))) - truth) ** 2) for _ in range(many)
    ]


def peer_errors():
    """The same people and the same number of them; peers' figures are medians of five."""
    values, rows = people(), Rows()
    for name, peer, n, raw, clipped in PEER_ERRORS:
        oracle = getattr(dp.local, name)(K, EPSILON)
        found = [
            np.mean(surveys(oracle, values[:n], SURVEYS, read))
            for read in (lambda e: e.raw, clipping, lambda e: e.projected, lambda e: e.posterior)
        ]
        rows.add(
            f"`{name}`",
            peer,
            f"{n:,}",
            f"{found[0]:.3g}",
            "not told" if raw is None else f"{raw:.3g}",
            f"{found[1]:.3g} / {found[2]:.3g} / {found[3]:.3g}",
            f"{clipped:.3g}",
        )
    head = (
        "oracle",
        "peer",
        "people",
        "raw, here",
        "raw, peer",
        "a distribution, here: clipped and normalised / projected / posterior",
        "a distribution, peer: clipped and normalised",
    )
    return table(head, rows)


def clipping(estimates):
    positive = estimates.raw.clip(0)
    return positive / positive.sum()


def collecting():
    """A hundred million Hadamard reports, a hundred million subsets: from files, in batches."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        hadamard = dp.local.HadamardResponse(K, EPSILON)
        subset = dp.local.SubsetSelection(64, EPSILON)
        for oracle, n in ((hadamard, MANY), (subset, MANY)):
            path = Path(folder) / "reports.bin"
            write(path, oracle, n)
            rows.append(from_file(path, oracle, n))
            rows.append(from_parquet(path, Path(folder) / "r.parquet", oracle, n))
            path.unlink()
    head = (
        "reports",
        "from",
        "bytes",
        "reading alone, s",
        "collecting, s",
        "collecting over reading",
        "million reports a second",
        "memory grew by, MiB",
    )
    return table(head, rows)


def write(path, oracle, n):
    values = people() % oracle.domain.size
    with path.open("wb") as file:
        for _ in range(n // N):
            oracle.reports(values).tofile(file)


def batches(path, oracle, step=1 << 20):
    with path.open("rb") as file:
        while data := file.read(step * oracle.width):
            yield oracle.array_of(data)


ALONE = """
import re, sys
from pathlib import Path
import duckdb, numpy, scipy.special
import discreet as dp
from discreet.local.collect import collect_parquet
from benchmarks.local import batches
oracle = eval(sys.argv[2], {name: getattr(dp.local, name) for name in dp.local.__all__})
def highest():
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
before = highest()
if sys.argv[1].endswith("parquet"):
    collector = collect_parquet(oracle, sys.argv[1])
else:
    collector = dp.local.Collector(oracle)
    for batch in batches(Path(sys.argv[1]), oracle):
        collector.add(batch)
collector.estimate()
print(highest() - before)
"""


def grown(path, oracle):
    """How much memory a process of its own takes to collect and estimate, in MiB."""
    command = [sys.executable, "-c", ALONE, str(path), repr(oracle)]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return int(told) / 1024


def row(oracle, n, where, size, times, grown):
    read, ours = (statistics.median(found) for found in times)
    return (
        f"{n:,} `{oracle!r}`",
        where,
        f"{size:,}",
        f"{read:.2f}",
        f"{ours:.2f}",
        f"{ours / read:.1f}",
        f"{n / ours / 1e6:.2g}",
        f"{grown:.0f}",
    )


def from_file(path, oracle, n):
    times = ([], [])
    for _ in range(3):
        start = time.perf_counter()
        read = sum(len(batch) for batch in batches(path, oracle))
        times[0].append(time.perf_counter() - start)
        start = time.perf_counter()
        collector = dp.local.Collector(oracle)
        for batch in batches(path, oracle):
            collector.add(batch)
        times[1].append(time.perf_counter() - start)
        assert read == collector.n == n
    return row(oracle, n, "a file of payloads", path.stat().st_size, times, grown(path, oracle))


def from_parquet(source, path, oracle, n):
    with duckdb.connect() as connection:
        connection.execute("SET enable_progress_bar = false")
        if isinstance(oracle, dp.local.HadamardResponse):
            connection.register("codes", {"report": np.fromfile(source, dtype=np.uint16)})
            made, reading = "SELECT report FROM codes", "sum(report)"
        else:  # as the payload is a whole word here, its bytes are those of the number
            n //= 100
            words = np.fromfile(source, dtype=">u8", count=n).astype(np.uint64)
            connection.register("codes", {"word": words})
            made = "SELECT unhex(printf('%016x', word)) AS report FROM codes"
            reading = "bit_xor(hash(report))"  # no statistics of the file can answer it
        connection.execute(f"COPY ({made}) TO '{path}' (FORMAT parquet)")
    times = ([], [])
    for _ in range(3):
        start = time.perf_counter()
        with duckdb.connect() as connection:
            connection.execute("SET enable_progress_bar = false")
            connection.execute(f"SELECT {reading} FROM read_parquet(?)", [str(path)]).fetchall()
        times[0].append(time.perf_counter() - start)
        start = time.perf_counter()
        collector = collect_parquet(oracle, path)
        times[1].append(time.perf_counter() - start)
        assert collector.n == n
    where = "Parquet, " + ("one statement" if oracle.cells == oracle.outcomes else "in batches")
    return row(oracle, n, where, path.stat().st_size, times, grown(path, oracle))


# frequent strings that nobody listed

HEAVY = ("search", "epsilon", "rounds", "found of the 8 most frequent", "found that nobody has")
PEOPLE, STRINGS, TRIALS = 200_000, 2_000, 5


def heavy():
    """Prefix extending against TreeHist: 200,000 people, strings of 4 bytes, Zipf 1.2."""
    rows = Rows()
    weights = np.arange(1, STRINGS + 1) ** -1.2
    numbers = np.floor(weights / weights.sum() * PEOPLE).astype(int)
    numbers[0] += PEOPLE - numbers.sum()
    texts = [hashlib.sha256(str(i).encode()).hexdigest()[:4] for i in range(STRINGS)]
    people = [text for text, many in zip(texts, numbers, strict=True) for _ in range(many)]
    true = Counter(people)
    best = {text for text, _ in true.most_common(8)}
    mixed = [people[place * 7919 % PEOPLE] for place in range(PEOPLE)]
    for epsilon in (2, 4):
        for name, search in searches(epsilon).items():
            found = [{one.value for one in search.find(mixed)} for _ in range(TRIALS)]
            hits = sum(len(one & best) for one in found) / TRIALS
            wrong = sum(len(one - true.keys()) for one in found)
            rounds = 1 if isinstance(search, TreeHist) else search.groups
            rows.add(name, epsilon, rounds, f"{hits:.1f}", wrong)
    return table(HEAVY, rows)


def searches(epsilon):
    given = {"epsilon": epsilon, "max_bytes": 4, "top": 8}
    places = round(np.exp(epsilon)) + 1
    return {
        "prefix extending, k-ary response": HeavyHitters(**given),
        "prefix extending, subset selection": HeavyHitters(**given, oracle=(511, SubsetSelection)),
        "TreeHist, one bit, a bit a level": TreeHist(**given, step=1),
        "TreeHist, one bit, 4 bits a level": TreeHist(**given),
        f"TreeHist, {places} places, 4 bits a level": TreeHist(
            **given, oracle=(places, KaryResponse)
        ),
    }
