"""Asking a table: workload W3 (10 million rows of 1 million people in 1,000 groups), and overheads.

The tables are made once, with a fixed seed, in $BENCH_HOME (~/.cache/discreet-bench). A peer is
measured if $PEERS_HOME/opendp/bin/python exists; `pip install "opendp[polars]==0.16.0"` into a
virtual environment there makes it.
"""

import json
import os
import resource
import statistics
import subprocess
from pathlib import Path

import numpy as np

import discreet as dp
from benchmarks.timing import medians, table

HOME = Path(os.environ.get("BENCH_HOME", "~/.cache/discreet-bench")).expanduser()
PEERS = Path(os.environ.get("PEERS_HOME", "~/.cache/peers")).expanduser()
BEST = Path(__file__).with_name("best")
ROWS, GROUPS, KEYS = 10, 5, 1000
QUESTION = "SELECT g, COUNT(*) AS n, SUM(v) AS s FROM w3 GROUP BY g"
PLAIN = "SELECT g, count(*), sum(v) FROM '{path}' GROUP BY g"


def w3(rows=10_000_000):
    """The table of workload W3: a few people have many rows, a few groups are large."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = HOME / f"w3-{rows}.parquet"
    if not path.exists():
        HOME.mkdir(parents=True, exist_ok=True)
        rng = np.random.default_rng(20240607)
        columns = {
            "user_id": (rows // 10 * rng.random(rows) ** 2.0).astype(np.int64),
            "g": (KEYS * rng.random(rows) ** 1.5).astype(np.int64),
            "v": np.round(rng.gamma(2.0, 120.0, rows).clip(0, 1000), 2),
        }
        pq.write_table(pa.table(columns), path)
    return path


def one_each(rows=100_000_000):
    """One row per person, with a real and an integer column, written in pieces."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = HOME / f"one-{rows}.parquet"
    if not path.exists():
        HOME.mkdir(parents=True, exist_ok=True)
        rng, piece, writer = np.random.default_rng(20240607), 5_000_000, None
        for start in range(0, rows, piece):
            part = pa.table(
                {
                    "user_id": np.arange(start, start + piece),
                    "g": (KEYS * rng.random(piece) ** 1.5).astype(np.int64),
                    "v": np.round(rng.gamma(2.0, 120.0, piece).clip(0, 1000), 2),
                    "i": rng.gamma(2.0, 12_000.0, piece).clip(0, 100_000).astype(np.int32),
                }
            )
            writer = writer or pq.ParquetWriter(path, part.schema)
            writer.write_table(part)
        writer.close()
    return path


def asker(path, *, bounding="best", **unit):
    bounds = {"max_rows": ROWS, "max_groups": GROUPS} | unit
    t = dp.Table(
        path,
        unit=dp.PerPerson("user_id", bounding=bounding, **bounds),
        columns={"g": range(KEYS), "v": dp.Bounds(0, 1000, grid="0.01")},
        name="w3",
        threads=2,
    )
    return t, t.session(epsilon=1000)


def plain_duckdb(text):
    import duckdb

    db = duckdb.connect()
    db.execute("set threads to 2")
    return lambda: db.execute(text).fetchall()


def peer(path):
    """One run of OpenDP in a process of its own: its own seconds, and its answers."""
    python = PEERS / "opendp/bin/python"
    if not python.exists():
        return None
    script = Path(__file__).with_name("peer_opendp.py")
    out = subprocess.run([python, script, path], capture_output=True, text=True, check=True)
    found = json.loads(out.stdout)
    return found["seconds"], {int(g): ns for g, ns in found["answers"].items()}


WAYS = ("weight", "sample", "clamp")


def bounded():
    """Count and sum per group with each proved way of bounding, from SQL text to release."""
    path = w3()
    calls = {"plain": plain_duckdb(PLAIN.format(path=path))}
    for way in WAYS:
        _, session = asker(path, bounding=way)
        calls[way] = lambda session=session: session.ask(QUESTION, epsilon=1)
        by_hand = (BEST / f"{way}.sql").read_text().replace("{path}", str(path))
        calls[f"{way} by hand"] = plain_duckdb(by_hand)
    seconds = medians(calls, repeats=5, warmups=1)
    theirs = peer(path)
    rows = []
    for way in WAYS:
        ours = seconds[way]
        faster = "not run" if theirs is None else f"{theirs[0] / ours:.1f}"
        rows.append(
            (
                f"`bounding={way!r}`",
                faster,
                f"{ours / seconds[f'{way} by hand']:.2f}",
                f"{ours / seconds['plain']:.1f}",
                f"{ours:.2f}",
            )
        )
    head = (
        "W3, 10 million rows",
        "times as fast as OpenDP",
        "times the best statement by hand",
        "times the plain GROUP BY",
        "seconds",
    )
    return table(head, rows) + f"\n\nPeak memory of the process: {_peak()} MiB."


def _peak():
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def errors():
    """Against the unbounded truth at epsilon 1: the bias of bounding, and the noise."""
    path = w3()
    truth = {g: (n, s) for g, n, s in plain_duckdb(PLAIN.format(path=path))()}
    rows = []
    for way in WAYS:
        t, session = asker(path, bounding=way)
        answer = session.ask(QUESTION, epsilon=1)
        released = {row["g"]: (row["n"], row["s"]) for row in answer}
        exact = _exact(t)
        rows.append(
            (
                f"discreet, {way}",
                *_typical({g: exact[g][0] - truth[g][0] for g in truth}),
                *_typical({g: released[g][0] - exact[g][0] for g in truth}),
                *_typical({g: released[g][0] - truth[g][0] for g in truth}),
                *_typical({g: released[g][1] - truth[g][1] for g in truth}),
            )
        )
    theirs = peer(path)
    if theirs is not None:
        released = theirs[1]
        rows.append(
            (
                "OpenDP 0.16.0",
                "",
                "",
                *_typical({g: released[g][0] - truth[g][0] for g in truth}),
                *_typical({g: released[g][1] - truth[g][1] for g in truth}),
            )
        )
    head = (
        "median over groups, absolute",
        "count: bias of bounding",
        "count: noise",
        "count: error",
        "sum: error",
    )
    return table(head, rows)


def _typical(errors):
    return (f"{statistics.median(abs(e) for e in errors.values()):,.0f}",)


def _exact(t):
    """The bounded counts without noise: only a benchmark may look."""
    from discreet.query.price import Target, priced

    question = priced(t.query().group_by("g").count().sum("v").plan, t.schema, Target(epsilon=1))
    (measured,) = question.measured
    (cells,) = t._engine.run(question.request)  # noqa: SLF001
    form = measured.block.forms["rows"]
    found = {}
    for (g,), totals in cells.items():
        parts = [
            sum(f * n for f, n in zip(c.of, totals, strict=True)) for c in measured.block.cells
        ]
        found[g] = (float(form.at(parts) / measured.scale),)
    return {g: found.get(g, (0.0,)) for g in range(KEYS)}


def unbounded():
    """One row per person, 100 million rows: nothing to bound.

    Beside the plain GROUP BY stands one that puts real numbers on the same grid, and counts the
    missing ones, without a bound or a check.
    """
    path, rows = one_each(), []
    kinds = {
        "count alone": (None, None, "g"),
        "count and sum, whole numbers": ("i", dp.Bounds(0, 100_000), "i"),
        "count and sum, real numbers": (
            "v",
            dp.Bounds(0, 1000, grid="0.01"),
            "CAST(floor(v * 100 + 0.5) AS BIGINT)",
        ),
    }
    for kind, (column, bounds, held) in kinds.items():
        columns = {"g": range(KEYS)} | ({column: bounds} if column else {})
        t = dp.Table(path, unit=dp.PerRow(), columns=columns, name="w", threads=2)
        session = t.session(epsilon=1000)
        added = f", SUM({column}) AS s" if column else ""
        question = f"SELECT g, COUNT(*) AS n{added} FROM w GROUP BY g"
        plain = f"SELECT g, COUNT(*) AS n{added} FROM '{path}' GROUP BY g"
        put = f"SELECT g, {held} AS x FROM '{path}'"
        grid = f"SELECT g, count(*), count(x), sum(x) FROM ({put}) GROUP BY g" if column else plain
        calls = {
            "plain": plain_duckdb(plain),
            "grid": plain_duckdb(grid),
            "ours": lambda session=session, question=question: session.ask(question, epsilon=1),
        }
        seconds = medians(calls, repeats=25, warmups=1)
        ratios = [f"{seconds['ours'] / seconds[name]:.2f}" for name in ("plain", "grid")]
        rows.append((kind, *ratios, f"{seconds['plain']:.2f}"))
    head = (
        "100 million rows",
        "times the plain GROUP BY",
        "times one on the same grid",
        "plain, seconds",
    )
    return table(head, rows)


def overhead():
    """A table of 1,000 rows, from SQL text to release, against running the statement by hand."""
    import duckdb
    import pyarrow as pa

    rng = np.random.default_rng(1)
    data = pa.table({"g": rng.integers(0, 5, 1000), "v": rng.integers(0, 1000, 1000)})
    t = dp.Table(data, unit=dp.PerRow(), columns={"g": range(5), "v": dp.Bounds(0, 1000)}, name="t")
    session = t.session(epsilon=1000)
    text = "SELECT g, COUNT(*) AS n, SUM(v) AS s FROM t GROUP BY g"
    session.ask(text, epsilon=1)
    from discreet.query.price import Target

    _, statement = session.priced(session.plan(text), Target(epsilon=1))
    db = duckdb.connect()
    db.register("rows", data)
    calls = {
        "by hand": lambda: db.execute(statement).fetchall(),
        "asked again": lambda: session.ask(text, epsilon=1),
        "asked anew": lambda: t.session(epsilon=1000).ask(text, epsilon=1),
    }
    seconds = medians(calls, repeats=101, warmups=10)
    rows = [
        (name, f"{seconds[name] / seconds['by hand']:.1f}", f"{1000 * seconds[name]:.2f}")
        for name in calls
    ]
    return table(("1,000 rows", "times the statement by hand", "ms"), rows)
