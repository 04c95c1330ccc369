"""A stop lets requests end, and a divided socket is served under any event loop."""

import asyncio
import signal
import socket
import tempfile
import threading
import time
from fractions import Fraction

import pytest
from tests.server.running import prepared

from discreet.curator.policy.model import Server
from discreet.server.dividing import Listening, Shares
from discreet.server.run import bound, server_of
from discreet.server.service import Service
from discreet.server.settings import Settings
from discreet.server.stopping import stop


@pytest.fixture
def service(tmp_path):
    made = Service(prepared(tmp_path), settings=Settings(Server(port=0, deadlines=(Fraction(2),))))
    yield made
    made.close()


def test_a_stop_waits_for_what_runs(service):
    server = server_of(service)
    guard = server.config.app
    tick = lambda: asyncio.run(server.on_tick(1))
    assert not tick()
    guard.running = 1
    server.handle_exit(signal.SIGTERM, None)
    assert guard.stopping
    assert not server.should_exit
    assert not tick()
    guard.running = 0
    assert tick()


def test_a_stop_does_not_wait_for_ever(service):
    server = server_of(service)
    guard = server.config.app
    guard.running = 1
    stop(guard, -1)
    assert asyncio.run(server.on_tick(1))


def test_a_second_signal_cuts_it_short(service):
    server = server_of(service)
    server.config.app.running = 1
    server.handle_exit(signal.SIGTERM, None)
    assert not server.should_exit
    server.handle_exit(signal.SIGTERM, None)
    assert server.should_exit
    assert server.force_exit
    assert not server._captured_signals  # the process ends with 0, not by the signal


@pytest.mark.parametrize("loop", ["asyncio", "auto"])
def test_a_divided_socket_is_served_until_a_stop(service, loop):
    """Whatever takes the connections; afterwards it is closed."""
    with tempfile.TemporaryFile() as file:
        file.write(b"\xff" * 8)
        file.flush()
        shares = Shares(file.fileno(), 2)
        divided = Listening(bound(service.settings), shares, 0)
        at = divided.getsockname()
        divided.counted(0)
        server = server_of(service, counted=divided.counted)
        server.config.loop = loop
        thread = threading.Thread(target=server.run, kwargs={"sockets": [divided]}, daemon=True)
        thread.start()
        until = time.monotonic() + 30
        while not server.started and time.monotonic() < until:
            time.sleep(0.01)
        try:
            clients = [socket.create_connection(at, timeout=10) for _ in range(3)]
            for one in clients:
                one.sendall(b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert [one.recv(12) for one in clients] == [b"HTTP/1.1 200"] * 3
            assert shares.of(0) == 3
            for one in clients:
                one.close()
            while shares.of(0) and time.monotonic() < until:
                time.sleep(0.01)
            assert shares.of(0) == 0
        finally:
            server.should_exit = True
            thread.join(30)
        assert not thread.is_alive()
        assert divided.fileno() == -1
