"""The server: questions per second against the ledger's own commits, and where the time goes.

The server runs as a process of its own with deadlines off, because with them a question takes its
deadline. Eight clients, in one other process, ask all the time, each with a key of its own. Every
question is new (another text), so that it is parsed, priced, charged, run, stored: two commits.
The commits that it is compared with are those of the same ledger, charged by one thread with
nothing else to do, so that each is a flush of its own, in turn with the server, on the same disk.
The clients are plain sockets, because they share the cores. A first turn is not counted: after it
the rows of the file are kept in memory, as they are in a server that runs for longer than moments.
Stored questions are those that another analyst has asked before: one commit, and no row is read.
"""

import json
import multiprocessing
import os
import socket
import statistics
import sys
import tempfile
import threading
import time
import uuid
from pathlib import Path

from benchmarks.timing import table
from discreet.curator.curator import Curator
from discreet.curator.ledger.amounts import Amount
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.values import Charge, Claim
from discreet.gallery.data import write_payroll
from discreet.gallery.policies import write_policy

CLIENTS = 8
SECONDS = 6.0
SQL = "SELECT department, COUNT(*) AS n FROM payroll"


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


def serve(path, told):
    """Serve without deadlines, from this process; measure what engine and ledger take."""
    from discreet.curator.policy.reading import read_policy
    from discreet.engines.duckdb import DuckDB
    from discreet.server.run import serving
    from discreet.server.service import Service
    from discreet.server.settings import Settings

    spent = {"engine": 0.0, "ledger": 0.0}
    for kind, names in ((DuckDB, ("run", "ping")), (Ledger, ("reserve", "store"))):
        for name in names:
            _measured(kind, name, spent, "engine" if kind is DuckDB else "ledger")
    from dataclasses import replace

    server = replace(
        read_policy(path).server, port=0, workers=CLIENTS, requests_per_minute=1_000_000
    )
    service = Service(path, settings=Settings(server, padded=False))
    keys = []
    for i in range(2 * CLIENTS):
        service.access.add(f"a{i}", "analyst", by="benchmark")
        keys.append(service.access.make_key(f"a{i}", by="benchmark"))
    with serving(service) as address:
        told.send((address, keys))
        while told.recv() == "spent":
            told.send(dict(spent))


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


def asked(address, key, number, price, until, found):
    """Ask new questions until the time is over; how long each took."""
    host = address.partition("//")[2]
    name, _, port = host.rpartition(":")
    head = (
        f"POST /api/ask HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {key}\r\n"
        "Content-Type: application/json\r\nContent-Length: "
    )
    times = []
    with socket.create_connection((name, int(port))) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while time.perf_counter() < until:
            bound = 40_000 + next(number)
            question = f"{SQL} WHERE salary < {bound} GROUP BY department"
            body = {"question": question, "epsilon": price, "key": uuid.uuid4().hex}
            text = json.dumps(body)
            start = time.perf_counter()
            connection.sendall(f"{head}{len(text)}\r\n\r\n{text}".encode())
            status = received(connection)
            times.append(time.perf_counter() - start)
            if status != 200:
                raise SystemExit(f"status {status}")
    found.extend(times)


def received(connection):
    """Take one answer off a connection; its status."""
    data = b""
    while (end := data.find(b"\r\n\r\n")) < 0:
        data += connection.recv(1 << 16)
    head = data[:end].lower()
    left = int(head.partition(b"content-length:")[2].split()[0]) - (len(data) - end - 4)
    while left > 0:
        left -= len(connection.recv(1 << 16))
    return int(head.split()[1])


def clients(address, keys, first, barrier, out):
    """All clients, as threads of one process; their times."""
    import itertools

    barrier.wait()
    found, until = [], time.perf_counter() + SECONDS
    threads = [
        threading.Thread(
            target=asked,
            args=(address, key, itertools.count(first + i, len(keys)), "0.001", until, found),
        )
        for i, key in enumerate(keys)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    out.put(found)


def commits(path):
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
    return done / (time.perf_counter() - start)


def questions(turns=3):
    """Questions per second, as a share of the ledger's commits; the service's own time."""
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        path = prepared(Path(folder))
        ours, theirs = context.Pipe()
        server = context.Process(target=serve, args=(path, theirs), daemon=True)
        server.start()
        address, keys = ours.recv()
        _run(context, address, keys[:CLIENTS], 9_000_000)
        rates, stored, written, own = [], [], [], []
        for turn in range(turns):
            first = turn * 100_000
            before = _spent(ours)
            times = _run(context, address, keys[:CLIENTS], first)
            after = _spent(ours)
            rates.append(len(times) / SECONDS)
            outside = sum(after.values()) - sum(before.values())
            own.append((sum(times) - outside) / outside)
            stored.append(len(_run(context, address, keys[CLIENTS:], first)) / SECONDS)
            written.append(commits(path))
        single = _single(context, address, keys, ours)
        ours.send("end")
        server.join(30)
    rate, commit = statistics.median(rates), statistics.median(written)
    again = statistics.median(stored)
    rows = [
        ("new questions a second", f"{rate:,.0f}", f"{rate / commit:.3f}"),
        ("questions that were stored before, a second", f"{again:,.0f}", f"{again / commit:.3f}"),
        ("the ledger's commits a second", f"{commit:,.0f}", "1"),
        (
            "one client: time of the service itself, times that of engine and ledger",
            f"{single:.2f}",
            "",
        ),
    ]
    return table(("8 clients, deadlines off", "", "share of the ledger's commits"), rows)


def _single(context, address, keys, ours):
    before = _spent(ours)
    times = _run(context, address, keys[:1], 5_000_000)
    after = _spent(ours)
    outside = sum(after.values()) - sum(before.values())
    return (sum(times) - outside) / outside


def _run(context, address, keys, first):
    barrier, out = context.Barrier(2), context.Queue()
    process = context.Process(target=clients, args=(address, keys, first, barrier, out))
    process.start()
    barrier.wait()
    found = out.get()
    process.join()
    return found


def _spent(ours):
    ours.send("spent")
    return ours.recv()


if __name__ == "__main__":
    os.environ.setdefault("PYTHONHASHSEED", "0")
    sys.stdout.write(questions() + "\n")
