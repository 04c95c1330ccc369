"""The collecting endpoint: reports a second over HTTP, beside what it cannot be faster than.

The server runs as a process of its own and keeps a store of its own for each line. Clients are
sockets of another process that hold requests ready and send the next one when the last is
answered, so that they take next to no time. In turn with them, on the same disk: commits of one
row by SQLite with the same flushes, and a bare ASGI application under the same uvicorn that reads
the same requests and answers as shortly.
"""

import base64
import itertools
import json
import multiprocessing
import re
import socket
import sqlite3
import statistics
import tempfile
import threading
import time
import urllib.request
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.timing import table
from discreet.local import SubsetSelection
from discreet.local.store import Store
from discreet.local.survey import Survey

SECONDS, TURNS = 3.0, 3
ORACLE = SubsetSelection(100, 1)
LINES = (  # clients, reports of a request
    (1, 1),
    (32, 1),
    (1, 250),
    (4, 250),
)
HEAD = (
    "clients",
    "reports in a request",
    "reports a second",
    "requests a second",
    "requests, times those of a bare ASGI application",
    "CPU of the server for a request, times the bare one's",
    "CPU for a report, microseconds",
    "reports, times bare durable commits",
)


def survey():
    start = datetime.now(UTC).replace(microsecond=0)
    return Survey(ORACLE, start=start, seconds=86_400, epochs=1, name="benchmark")


class Bare:
    """Read the body, answer; with what `server_around` asks of an application."""

    stopping, running = False, 0

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            while (message := await receive())["type"] != "lifespan.shutdown":
                await send({"type": message["type"] + ".complete"})
            await send({"type": "lifespan.shutdown.complete"})
            return
        while (await receive()).get("more_body"):
            pass
        body = b'{"counted": true, "epoch": 0}'
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": 201, "headers": headers})
        await send({"type": "http.response.body", "body": body})


def serve(folder, kind, told):
    """Serve the collector or the bare application until told to end."""
    from discreet.curator.policy.model import Server
    from discreet.server.collecting import collecting_app
    from discreet.server.run import bound, in_thread, server_around
    from discreet.server.settings import Settings

    settings = Settings(Server(port=0))
    app = Bare()
    if kind == "collector":
        app = collecting_app(
            Store.create(Path(folder) / f"{time.time_ns()}", survey())[0], settings
        )
    with in_thread(server_around(app, settings), bound(settings)) as listening:
        told.send(listening.getsockname()[1])
        told.recv()
        before = time.process_time()
        told.send("begin")
        told.recv()
        told.send(time.process_time() - before)


def requests(clients, size):
    """For each client a list of requests that are ready to be sent."""
    number = int(SECONDS * (4000 if size == 1 else 120) / clients) + 8
    reports = ORACLE.reports([place % 100 for place in range(1000)])
    texts = [
        base64.b64encode(bytes((0xD1, ORACLE.number)) + ORACLE.fingerprint + row.tobytes()).decode()
        for row in reports
    ]
    told = {"survey": "?" * 16, "epoch": 0}
    made = []
    for client in range(clients):
        own = []
        for turn in range(number):
            items = [
                {"device": f"{client:04}{turn:08}{place:08}", "report": texts[place % 1000]}
                for place in range(size)
            ]
            said = {**told, **items[0]} if size == 1 else {**told, "reports": items}
            own.append(json.dumps(said))
        made.append(own)
    return made


def client(port, path, identity, bodies, until, done):
    """Send one request after the other; how many were answered in time."""
    count = 0
    with socket.create_connection(("127.0.0.1", port)) as line:
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for body in itertools.cycle(bodies):  # the collector would say 409 the second time
            if time.perf_counter() > until:
                break
            data = body.replace("?" * 16, identity, 1).encode()
            head = (
                f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                f"Content-Length: {len(data)}\r\n\r\n"
            )
            line.sendall(head.encode() + data)
            answer = line.recv(1 << 16)
            split = answer.index(b"\r\n\r\n")
            length = int(re.search(rb"content-length: (\d+)", answer)[1])
            while len(answer) < split + 4 + length:
                answer += line.recv(1 << 16)
            if answer[9:11] != b"20":
                raise RuntimeError(answer.decode())
            count += 1
    done.append(count)


def clients(port, identity, number, size, barrier, out):
    """All clients, as threads of one process."""
    made = requests(number, size)
    path = "/api/reports" if size == 1 else "/api/batches"
    barrier.wait()
    done, start = [], time.perf_counter()
    threads = [
        threading.Thread(target=client, args=(port, path, identity, own, start + SECONDS, done))
        for own in made
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    out.put((sum(done), time.perf_counter() - start))


def rate(context, folder, kind, number, size):
    """Requests a second, and the CPU seconds of the server for one."""
    ours, theirs = context.Pipe()
    server = context.Process(target=serve, args=(folder, kind, theirs), daemon=True)
    server.start()
    port = ours.recv()
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/survey") as answer:
        identity = json.load(answer).get("identity", "0" * 16)
    barrier, out = context.Barrier(2), context.Queue()
    process = context.Process(target=clients, args=(port, identity, number, size, barrier, out))
    process.start()
    ours.send("begin")
    ours.recv()
    barrier.wait()
    done, seconds = out.get()
    process.join()
    ours.send("end")
    spent = ours.recv()
    server.join(30)
    return done / seconds, spent / done


def commits(folder):
    """Commits a second of one row each, with the flushes of a store."""
    connection = sqlite3.connect(Path(folder) / f"{time.time_ns()}", isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL").fetchall()
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE t (device BLOB PRIMARY KEY, report BLOB) WITHOUT ROWID")
    start, done = time.perf_counter(), 0
    while time.perf_counter() < start + SECONDS / 4:
        row = [done.to_bytes(32, "little"), bytes(13)]
        connection.execute("INSERT INTO t VALUES (?, ?)", row)
        done += 1
    spent = time.perf_counter() - start
    connection.close()
    return done / spent


def reports():
    """Reports a second, one by one and in batches."""
    context = multiprocessing.get_context("spawn")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for number, size in LINES:
            found = {"ours": [], "bare": [], "commits": []}
            for _ in range(TURNS):
                found["ours"].append(rate(context, folder, "collector", number, size))
                found["bare"].append(rate(context, folder, "bare", number, size))
                found["commits"].append(commits(folder))
            (ours, spent), (theirs, bare) = (
                map(statistics.median, zip(*found[key], strict=True)) for key in ("ours", "bare")
            )
            flushed = statistics.median(found["commits"])
            rows.append(
                (
                    number,
                    size,
                    f"{ours * size:,.0f}",
                    f"{ours:,.0f}",
                    f"{ours / theirs:.2f}",
                    f"{spent / bare:.1f}",
                    f"{spent / size * 1e6:,.0f}",
                    f"{ours * size / flushed:.2f}",
                )
            )
            print(rows[-1], f"bare {theirs:,.0f}, commits {flushed:,.0f}", flush=True)
    return table(HEAD, rows)


if __name__ == "__main__":
    print(reports())
