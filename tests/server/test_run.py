"""Bind, say where it is, stop: in the process; test_load.py stops and kills real ones."""

import signal
import socket
import threading
import time
from dataclasses import replace
from fractions import Fraction

import pytest
import uvicorn
from tests.server.running import prepared

from discreet.curator.policy.model import Server
from discreet.errors import LedgerError, ParameterError
from discreet.server import run as running
from discreet.server.run import address_of, bound, server_of
from discreet.server.service import Service
from discreet.server.settings import Settings


@pytest.mark.parametrize(("host", "shown"), [("127.0.0.1", "127.0.0.1"), ("[::1]", "[::1]")])
def test_where_it_is(host, shown):
    settings = Settings(Server(host=host, port=0))
    with bound(settings) as listening:
        port = listening.getsockname()[1]
        assert address_of(settings, listening) == f"http://{shown}:{port}"


def test_everywhere_is_shown_as_this_machine(tmp_path):
    tls = Server(host="0.0.0.0", port=0, certificate=tmp_path / "c", private_key=tmp_path / "k")
    with bound(Settings(tls)) as listening:
        assert address_of(Settings(tls), listening).startswith("https://localhost:")


def test_nothing_waits_for_a_packet_to_be_acknowledged():
    with bound(Settings(Server(port=0))) as listening:
        with socket.create_connection(listening.getsockname()):
            taken = listening.accept()[0]
        with taken:
            assert taken.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_a_port_that_is_taken():
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(ParameterError, match="--port"):
            bound(Settings(Server(port=port)))


@pytest.fixture
def service(tmp_path):
    made = Service(prepared(tmp_path), settings=Settings(Server(port=0, deadlines=(Fraction(2),))))
    yield made
    made.close()


def test_a_stop_that_is_cut_short_waits_for_nobody(service, monkeypatch):
    """With a connection that stays and a request that never ends; the ledger is closed."""
    left = []
    monkeypatch.setattr(running.os, "_exit", left.append)

    def started(address):
        signal.raise_signal(signal.SIGTERM)
        host, port = address.removeprefix("http://").split(":")
        open_ones.append(socket.create_connection((host, int(port))))
        open_ones[0].sendall(b"GET /health/live HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n")
        threading.Timer(0.5, signal.raise_signal, (signal.SIGTERM,)).start()

    open_ones, inner = [], uvicorn.Server.run

    def run(self, sockets):
        self.config.app.running = 1
        inner(self, sockets)

    monkeypatch.setattr(uvicorn.Server, "run", run)
    began = time.monotonic()
    try:
        running.run(service, started=started)
    finally:
        for one in open_ones:
            one.close()
    assert time.monotonic() - began < 5
    assert not left
    with pytest.raises(LedgerError, match="closed"):
        _ = service.ledger.head


def test_what_does_not_end_after_a_second_signal_is_left(service, monkeypatch):
    left = []
    monkeypatch.setattr(running.os, "_exit", left.append)
    monkeypatch.setattr(running, "_CUT", 0.01)

    def run(self, sockets):
        for _ in range(3):
            self.handle_exit(signal.SIGTERM, None)
        until = time.monotonic() + 10
        while not left and time.monotonic() < until:
            time.sleep(0.01)

    monkeypatch.setattr(uvicorn.Server, "run", run)
    running.run(service)
    assert left == [0]


def test_limits_and_silence(service):
    config = server_of(service).config
    assert config.limit_concurrency == 512
    assert not config.access_log
    assert not config.server_header
    assert not config.proxy_headers  # who asks is who is connected, not who a header names
    assert config.ws == "none"


def test_tls(service, tmp_path):
    settings = service.settings
    files = {"certificate": tmp_path / "c.pem", "private_key": tmp_path / "k.pem"}
    service.settings = replace(settings, server=replace(settings.server, **files))
    config = server_of(service).config
    assert (config.ssl_certfile, config.ssl_keyfile) == tuple(files.values())


def stopping(told):
    """Who is told of an address, and stops the server with a signal: it is ready for one."""

    def started(address):
        told.append(address)
        assert callable(signal.getsignal(signal.SIGTERM)), "a signal would kill it"
        signal.raise_signal(signal.SIGTERM)

    return started


def test_run_says_where_once_it_serves_and_lets_go(service, monkeypatch):
    told, listening = [], []
    inner = uvicorn.Server.run
    monkeypatch.setattr(
        uvicorn.Server,
        "run",
        lambda self, sockets: (listening.extend(sockets), inner(self, sockets)),
    )
    running.run(service, started=stopping(told))
    assert told[0].startswith("http://127.0.0.1:")
    assert listening[0].fileno() == -1
