"""How many questions a second a server answers, as a share of the ledger's commits.

Without deadlines: with them a question takes its deadline. Eight clients ask all the time, each
under its own key, and every question is charged, run and stored: questions that differ in a
constant of their condition, and questions of twelve shapes, each with another constant too. The
ledger's own commits are measured in turn with the server, on the same disk. The clients are plain
sockets, because they share the cores. A first turn of each kind is not counted: after it the rows
of the file are kept in memory, and the shapes of each asker are known, as they are in a server that
runs for longer than moments. Stored questions are those that another analyst has asked before: one
commit, and no row is read.
"""

import itertools
import multiprocessing
import os
import selectors
import socket
import statistics
import sys
import tempfile
import threading
import time
import uuid
from dataclasses import replace
from pathlib import Path

from benchmarks.flushes import SLOWER, is_possible, milliseconds, slower
from benchmarks.timing import table
from discreet.curator.curator import Curator
from discreet.curator.ledger.amounts import Amount
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.values import Charge, Claim
from discreet.gallery.data import write_payroll
from discreet.gallery.policies import write_policy

CLIENTS = 8
SECONDS = 5.0
ONE_SHAPE = ("SELECT department, COUNT(*) AS n FROM payroll WHERE salary < {} GROUP BY department",)
SHAPES = (
    *ONE_SHAPE,
    "SELECT COUNT(*) AS n FROM payroll WHERE salary >= {}",
    "SELECT year, SUM(salary) AS total FROM payroll WHERE salary <> {} GROUP BY year",
    "SELECT department, AVG(salary) AS pay FROM payroll WHERE salary > {} GROUP BY department",
    "SELECT remote, COUNT(DISTINCT person) AS n FROM payroll WHERE salary < {} GROUP BY remote",
    "SELECT COUNT(*) FILTER (WHERE remote) AS n FROM payroll WHERE salary <= {}",
    "SELECT department, year, COUNT(*) FROM payroll WHERE salary < {} GROUP BY department, year",
    "SELECT AVG(salary) AS pay FROM payroll WHERE salary <> {} AND year = 2023",
    "SELECT COUNT(*) AS n FROM payroll WHERE salary + 1 > {} AND hired < DATE '2020-01-01'",
    "SELECT year, COUNT(*) AS n FROM payroll WHERE salary < {} AND remote GROUP BY 1 ORDER BY 2",
    "SELECT SUM(CASE WHEN salary > {} THEN 1 ELSE 0 END) AS n FROM payroll",
    "SELECT year, COUNT(*) AS n FROM payroll WHERE salary BETWEEN 1000 AND {} GROUP BY year",
)


def prepared(folder):
    write_payroll(folder / "payroll.csv", people=7250)
    path = write_policy(folder / "policy.toml")
    text = path.read_text().replace("epsilon = 3\n", "epsilon = 1000\n")
    text = text.partition("[analyst.alice]")
    people = "".join(
        f"[analyst.a{i}.allowance.staff]\nepsilon = 1000\n" for i in range(2 * CLIENTS)
    )
    path.write_text(text[0] + people + text[2][text[2].index("[dataset.payroll]") :])
    Curator.register(path)
    return path


def serve(path, told, processes):
    """Serve without deadlines; one process measures what engine and ledger take."""
    from discreet.curator.policy.reading import read_policy
    from discreet.engines.duckdb import DuckDB
    from discreet.server.run import run
    from discreet.server.service import Service
    from discreet.server.settings import Settings
    from discreet.server.several import run_several

    server = replace(
        read_policy(path).server, port=0, workers=CLIENTS, requests_per_minute=1_000_000
    )
    settings = Settings(server, padded=False, processes=processes)
    service = Service(path, settings=settings)
    there = {one.name for one in service.access.people}
    for i in set(range(2 * CLIENTS)) - {int(name[1:]) for name in there}:
        service.access.add(f"a{i}", "analyst", by="benchmark")
    keys = [service.access.make_key(f"a{i}", by="benchmark") for i in range(2 * CLIENTS)]
    if processes > 1:
        service.close()
        run_several(path, settings, started=lambda address: told.send((address, keys)))
        return
    spent = {"engine": 0.0, "ledger": 0.0, "server": 0.0}
    _followed(spent)
    parts = {DuckDB: ("run", "ping"), Ledger: ("reserving", "storing", "write", "glance")}
    for kind, names in parts.items():
        for name in names:
            _measured(kind, name, spent, "engine" if kind is DuckDB else "ledger")
    threading.Thread(target=_telling, args=(told, spent), daemon=True).start()
    run(service, started=lambda address: told.send((address, keys)))


def _telling(told, spent):
    while told.recv() == "spent":
        told.send((dict(spent), time.process_time()))


def _measured(kind, name, spent, where):
    inner = getattr(kind, name)
    lock = threading.Lock()

    def outer(*args, **kwargs):
        start = time.perf_counter()
        try:
            return inner(*args, **kwargs)
        finally:
            with lock:
                spent[where] += time.perf_counter() - start

    setattr(kind, name, outer)


def _followed(spent):
    """Add up how long the server has a question: from its bytes to those of the answer."""
    from discreet.server.connections import Connection

    received, told = Connection.data_received, Connection._told  # noqa: SLF001
    since = {}

    def arrives(self, data):
        since[id(self)] = time.perf_counter()
        received(self, data)

    def leaves(self, *args):
        told(self, *args)
        spent["server"] += time.perf_counter() - since[id(self)]

    Connection.data_received, Connection._told = arrives, leaves  # noqa: SLF001


class Client:
    """One who asks all the time, on one connection, and takes no more of the processor than that
    needs: it is the server's, too.
    """

    def __init__(self, address, key, number, shapes):
        host = address.partition("//")[2]
        name, _, port = host.rpartition(":")
        self._head = (
            f"POST /api/ask HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {key}\r\n"
            "Content-Type: application/json\r\nContent-Length: "
        )
        self._number, self._shapes, self._tries = number, shapes, uuid.uuid4().hex
        self.connection = socket.create_connection((name, int(port)))
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self):
        """Send the next question."""
        n = next(self._number)
        question = self._shapes[n // CLIENTS % len(self._shapes)].format(40_000 + n)
        text = f'{{"question":"{question}","epsilon":"0.001","key":"{self._tries}{n}"}}'
        self._since, self._data, self._length = time.perf_counter(), b"", 0
        self.connection.sendall(f"{self._head}{len(text)}\r\n\r\n{text}".encode())

    def hear(self):
        """Take what has come of an answer; how long it took, once all is there."""
        self._data += self.connection.recv(1 << 16)
        if not self._length and (end := self._data.find(b"\r\n\r\n")) >= 0:
            head = self._data[:end].lower()
            if head.split(None, 2)[1] != b"200":
                raise SystemExit(f"the server says {head[:40]}")
            self._length = end + 4 + int(head.partition(b"content-length:")[2].split(None, 1)[0])
        return time.perf_counter() - self._since if 0 < self._length <= len(self._data) else None


def clients(address, keys, first, shapes, barrier, out):
    """All clients, in one thread; how long their questions took."""
    number = [itertools.count(first + i, len(keys)) for i in range(len(keys))]
    asking = [Client(address, *one, shapes) for one in zip(keys, number, strict=True)]
    barrier.wait()
    found, until = [], time.perf_counter() + SECONDS
    with selectors.DefaultSelector() as selector:
        for one in asking:
            selector.register(one.connection, selectors.EVENT_READ, one)
            one.ask()
        left = len(asking)
        while left:
            for event, _ in selector.select():
                took = event.data.hear()
                if took is None:
                    continue
                found.append(took)
                if time.perf_counter() < until:
                    event.data.ask()
                else:
                    left -= 1
    for one in asking:
        one.connection.close()
    out.put(found)


def commits(path, out):
    """Commits per second of the ledger alone, one after the other."""
    policy = Curator(path).policy
    done, start = 0, time.perf_counter()
    with Ledger(policy.ledger.address, head=policy.ledger.head) as ledger:
        while time.perf_counter() < start + SECONDS / 2:
            key = uuid.uuid4().hex
            charges = (Charge("staff@a0", Amount(1), on_hit=True), Charge("staff", Amount(1)))
            claim = Claim(key, key, key, 1, "a0", charges, policy.fingerprint, {"sql": "x"})
            ledger.store(ledger.reserve(claim).key, "x" * 500)
            done += 2
    out.put(done / (time.perf_counter() - start))


def committed(context, path):
    """The same, of a process of its own: its flushes are those of the server."""
    out = context.Queue()
    process = context.Process(target=commits, args=(path, out))
    process.start()
    found = out.get()
    process.join()
    return found


class Served:
    """A running server, in processes of its own."""

    def __init__(self, context, path, processes):
        self._context = context
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=serve, args=(path, theirs, processes))
        self._process.start()
        self.address, self.keys = self._pipe.recv()

    def spent(self):
        """Seconds so far: of engine and ledger, of the server with them, and of the processor."""
        self._pipe.send("spent")
        parts, processor = self._pipe.recv()
        return parts["engine"] + parts["ledger"], parts["server"], processor

    def run(self, first, *, keys=slice(0, CLIENTS), shapes=ONE_SHAPE):
        """Have clients ask; how long each question took."""
        barrier, out = self._context.Barrier(2), self._context.Queue()
        given = (self.address, self.keys[keys], first, shapes, barrier, out)
        process = self._context.Process(target=clients, args=given)
        process.start()
        barrier.wait()
        found = out.get()
        process.join()
        return found

    def end(self):
        self._process.terminate()
        self._process.join(60)


def measured(context, path, processes, first, turns):
    """Rates of a server: new questions of one shape, of twelve, and stored ones; one client."""
    served = Served(context, path, processes)
    try:
        for number, shapes in enumerate((ONE_SHAPE, SHAPES)):  # each asker's first ones of a shape
            served.run(first + 9_000_000 + number * 500_000, shapes=shapes)
        found = {"one": [], "twelve": [], "stored": [], "commits": []}
        for turn in range(turns):
            at = first + turn * 100_000
            found["one"].append(len(served.run(at)) / SECONDS)
            mixed = served.run(at + 50_000, shapes=SHAPES)
            found["twelve"].append(len(mixed) / SECONDS)
            again = served.run(at, keys=slice(CLIENTS, 2 * CLIENTS))
            found["stored"].append(len(again) / SECONDS)
            found["commits"].append(committed(context, path))
        if processes == 1:
            found["alone"] = [_alone(served, first + 5_000_000, shapes)
                              for shapes in (ONE_SHAPE, SHAPES)]  # fmt: skip
        return found
    finally:
        served.end()


def _alone(served, first, shapes):
    """One client: the service's own time over that of engine and ledger, as the client sees it
    and in the server; processor time.
    """
    before = served.spent()
    times = served.run(first + len(shapes) * 10_000, keys=slice(0, 1), shapes=shapes)
    outside, inside, processor = (
        later - earlier for later, earlier in zip(served.spent(), before, strict=True)
    )
    seen, own = ((took - outside) / outside for took in (sum(times), inside))
    return seen, own, processor / len(times)


def questions(turns=2):
    """Questions per second, as a share of the ledger's commits; the service's own time."""
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        path = prepared(Path(folder))
        one = measured(context, path, 1, 0, turns)
        two = measured(context, path, 2, 20_000_000, turns)
    commit = statistics.median(one["commits"] + two["commits"])
    rows = []
    for name, words in (
        ("one", "new questions that differ in a constant, a second"),
        ("twelve", "new questions of twelve shapes, a second"),
        ("stored", "questions that were stored before, a second"),
    ):
        rates = [statistics.median(found[name]) for found in (one, two)]
        rows.append((words, *(f"{rate:,.0f} ({rate / commit:.3f})" for rate in rates)))
    rows.append(("the ledger's commits a second", f"{commit:,.0f}", ""))
    names = ("a constant", "twelve shapes")
    for (seen, own, processor), words in zip(one["alone"], names, strict=True):
        what = f"one client, {words}: "
        rows.append((f"{what}time of the service itself, times that of engine and ledger",
                     f"{own:.2f}", ""))  # fmt: skip
        rows.append((f"{what}the same with the client and the way there and back",
                     f"{seen:.2f}", ""))  # fmt: skip
        rows.append((f"{what}processor time of a question, ms", f"{processor * 1e3:.1f}", ""))
    return table(("8 clients, deadlines off", "1 process", "2 processes"), rows)


def flushes():
    """Questions per second as a share of the ledger's commits, on slower disks; the aim is 0.4."""
    if not is_possible():
        return None
    context, own, rows = multiprocessing.get_context("spawn"), milliseconds(), []
    for more in SLOWER:
        with slower(more), tempfile.TemporaryDirectory() as folder:
            path = prepared(Path(folder))
            found = []
            for processes in (1, 2):
                served = Served(context, path, processes)
                try:
                    served.run(processes * 1_000_000)
                    asked = len(served.run(processes * 1_000_000 + 100_000)) / SECONDS
                    if processes == 1:
                        _, service, _ = _alone(served, 5_000_000, ONE_SHAPE)
                finally:
                    served.end()
                rate = committed(context, path)
                found += [f"{asked:,.0f}", f"{asked / rate:.2f}"]
        rows.append((f"{own + more:.2f}", f"{rate:,.0f}", *found, f"{service:.2f}"))
    head = ("a flush takes, ms", "commits a second", "questions a second, 1 process", "share",
            "2 processes", "share", "one client: the service, times engine and ledger")  # fmt: skip
    return table(head, rows)


if __name__ == "__main__":
    os.environ.setdefault("PYTHONHASHSEED", "0")
    sys.stdout.write(questions() + "\n")
