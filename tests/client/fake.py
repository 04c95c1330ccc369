"""A small server by hand: it speaks the curator's API, and misbehaves as it is told."""

import json
import socket
import struct
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

from discreet.curator.curator import OWNER, Curator
from discreet.curator.metadata import metadata
from discreet.curator.questions import NOTHING
from discreet.curator.rehearsal import Rehearsal
from discreet.errors import (
    BudgetExceededError,
    DiscreetError,
    LedgerError,
    NothingFoundError,
    ParameterError,
    QueryError,
)

KEY = "dk_k1_s3cret-of-alice"
KINDS = {
    BudgetExceededError: ("budget", 402),
    LedgerError: ("ledger", 500),
    NothingFoundError: ("nothing_found", 422),
    ParameterError: ("parameter", 422),
    QueryError: ("query", 400),
}
PRICES = ("epsilon", "delta", "rho", "within", "rows", "column")


@dataclass
class Seen:
    method: str
    path: str
    headers: dict
    body: dict | None


@dataclass
class Fake:
    """What the server answers: misbehaviours first, one each request, then the API."""

    api: object = None
    script: list = field(default_factory=list)
    seen: list = field(default_factory=list)
    url: str = ""

    @property
    def askings(self):
        return [one.headers.get("Idempotency-Key") for one in self.seen]


@contextmanager
def serving(api=None, *script, tls=None):
    fake = Fake(api, list(script))

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_):
            pass

        def do_GET(self):
            handled(self, fake, None)

        def do_POST(self):
            length = int(self.headers["Content-Length"])
            handled(self, fake, json.loads(self.rfile.read(length)))

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
        server.handle_error = lambda *_: None  # a client that trusts nobody hangs up
    scheme = "http" if tls is None else "https"
    fake.url = f"{scheme}://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield fake
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def handled(handler, fake, body):
    headers = dict(handler.headers.items())
    fake.seen.append(Seen(handler.command, handler.path, headers, body))
    if fake.script:
        step = fake.script.pop(0)
        if step != "serve then close":
            misbehaved(handler, step)
            return
        answer(fake, handler, body)  # the work is done, and nobody hears of it
        misbehaved(handler, "close")
        return
    sent(handler, *answer(fake, handler, body))


def answer(fake, handler, body):
    if handler.headers["Authorization"] != f"Bearer {KEY}":
        return 401, {"error": "unauthorized", "message": "no such key", "fix": "ask the owner"}
    try:
        return 200, fake.api(handler.command, handler.path, body, handler.headers)
    except DiscreetError as error:
        kind, status = next(KINDS[c] for c in type(error).__mro__ if c in KINDS)
        if "belongs to another question" in str(error):
            kind, status = "conflict", 409
        told = {"error": kind, "message": str(error), "fix": ""}
        if getattr(error, "could", None) is not None:
            told["could"] = str(error.could)
        return status, told
    except LookupError:
        return 404, {"error": "not_found", "message": "there is nothing here", "fix": ""}


def sent(handler, status, values, **headers):
    text = values if isinstance(values, bytes) else json.dumps(values).encode()
    handler.send_response(status)
    for name, value in {"Content_Length": str(len(text)), **headers}.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    handler.wfile.write(text)


def misbehaved(handler, step):  # noqa: C901 - one case for each
    match step:
        case "close":
            handler.close_connection = True
            handler.connection.shutdown(socket.SHUT_RDWR)
        case "reset":
            handler.close_connection = True
            linger = struct.pack("ii", 1, 0)
            handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            handler.connection.close()
        case "half":
            handler.send_response(200)
            handler.send_header("Content-Length", "1000")
            handler.end_headers()
            handler.wfile.write(b'{"name": ')
            handler.close_connection = True
        case "half a chunk":
            handler.protocol_version = "HTTP/1.1"
            handler.send_response(200)
            handler.send_header("Transfer-Encoding", "chunked")
            handler.end_headers()
            handler.wfile.write(b'400\r\n{"name": ')
            handler.close_connection = True
        case ("drip", seconds):
            handler.send_response(200)
            handler.send_header("Content-Length", "1000")
            handler.end_headers()
            stop = threading.Event()
            try:
                for _ in range(1000):
                    handler.wfile.write(b" ")
                    handler.wfile.flush()
                    stop.wait(seconds)
            except OSError:
                pass
        case ("silent", seconds):
            threading.Event().wait(seconds)
            handler.close_connection = True
        case ("endless", size):
            handler.send_response(200)
            handler.end_headers()
            try:
                for _ in range(size):
                    handler.wfile.write(b" " * (1 << 20))
            except OSError:
                pass
            handler.close_connection = True
        case (int(status), values, headers):
            sent(handler, status, values, **headers)
        case (int(status), values):
            sent(handler, status, values)


class Api:
    """The curator behind the server, for one analyst; no deadline, no padding."""

    def __init__(self, curator: Curator, who="alice"):
        self.curator, self.who = curator, who
        self.lock = threading.Lock()

    def __call__(self, method, path, body, headers):
        at = urlsplit(path)
        parts = [unquote(part) for part in at.path.split("/")[2:]]
        query = {name: values[0] for name, values in parse_qs(at.query).items()}
        with self.lock:
            return getattr(self, f"{method.lower()}_{parts[0]}")(parts[1:], query, body, headers)

    def get_me(self, *_):
        return {"name": self.who, "role": "analyst", "datasets": None, "expires": None}

    def get_datasets(self, rest, query, *_):
        policy = self.curator.policy
        if not rest:
            return {"datasets": [{"name": name} for name in policy.datasets]}
        dataset = policy.datasets[rest[0]]
        schema = self.curator._part(dataset.name, None, None).schema
        most = None if query.get("keys") == "all" else 2000
        return metadata(dataset, schema, defaults=policy.defaults, most=most)

    def said(self, body):
        rest = {name: body[name] for name in ("dataset", "block") if name in body}
        return rest | {name: body[name] for name in PRICES if name in body}

    def post_explain(self, _rest, _query, body, _headers):
        said = self.said(body)
        found = {name: said.pop(name, None) for name in ("within", "column", "rows")}
        text = self.curator.explain(body["question"], **said)
        price = self.curator.price(body["question"], **said)
        epsilon = None
        if found["within"] is not None:
            epsilon = str(self.curator.epsilon_for(body["question"], **found))
        return {
            "sql": body["question"],
            "guarantee": price.guarantee,
            "confidence": str(price.confidence),
            "groups": price.groups,
            "epsilon_for": epsilon,
            "columns": [
                {
                    "name": line.name,
                    "noise": line.mechanism,
                    "error": line.error,
                    "within": line.half_width,
                    "note": line.note,
                }
                for line in price
            ],
            "text": text.partition("\nStatement")[0] or NOTHING,
        }

    def post_rehearse(self, _rest, _query, body, _headers):
        name = next(iter(self.curator.policy.datasets))
        said = self.said(body)
        said.pop("dataset", None)
        with Rehearsal(self.curator.policy.datasets[name]) as made:
            return {**made.ask(body["question"], **said).to_dict(), "rehearsal": True}

    def post_ask(self, _rest, _query, body, headers):
        more = {"with_what_is_left": True} if body.get("with_what_is_left") else {}
        key = headers["Idempotency-Key"]
        who = None if self.who == "owner" else self.who
        found = self.curator.ask(body["question"], analyst=who, key=key, **self.said(body), **more)
        return {**found.to_dict(), "padding": " " * 100}

    def get_releases(self, rest, query, *_):
        if rest:
            try:
                return self.curator.record(rest[0]).to_dict()
            except ParameterError:
                raise LookupError from None
        entries = [e.values() for e in self.curator.ledger.entries() if e.kind == "done"]
        keys = [one["key"] for one in entries][::-1]
        start = keys.index(query["before"]) + 1 if "before" in query else 0
        page = keys[start : start + int(query["limit"])]
        more = page[-1] if start + len(page) < len(keys) else None
        return {"releases": [{"key": key} for key in page], "next": more}

    def get_budget(self, *_):
        who = None if self.who == "owner" else self.who
        found = self.curator.accounts(who)
        return {"accounts": [account.to_dict() for account in found.values()]}


__all__ = ["KEY", "OWNER", "Api", "Fake", "serving"]
