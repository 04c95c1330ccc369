"""Connections are divided evenly, and nobody who is stuck or dead keeps one from being answered."""

import asyncio
import contextlib
import errno
import os
import signal
import socket
import tempfile
import time
from pathlib import Path

import pytest
from tests.server.fleet import Place, Server
from tests.server.test_several import workers

from discreet.server import dividing
from discreet.server.dividing import AWAY, Listening, Shares, Taking


@pytest.fixture
def shares():
    """Those of three processes, none of which is there."""
    with tempfile.TemporaryFile() as file:
        file.write(b"\xff" * 12)
        file.flush()
        yield Shares(file.fileno(), 3)


@pytest.fixture
def crowd(shares):
    """Two of them, as sockets of this process that listen at one address."""
    first = socket.create_server(("127.0.0.1", 0))
    first.setblocking(False)
    there = [Listening(first.dup(), shares, place) for place in (0, 1)]
    for one in there:
        one.setblocking(False)
        one.counted(0)
    first.close()
    yield there
    for one in there:
        one.close()


def connected(one):
    return socket.create_connection(one.getsockname())


def took(one):
    """Whether it takes the connection that waits."""
    try:
        one.accept()[0].close()
    except BlockingIOError:
        return False
    return True


def test_each_knows_what_the_others_have(shares):
    assert [shares.of(place) for place in range(3)] == [AWAY] * 3
    shares.tell(1, 4)
    shares.tell(5, 3)  # the third, by whatever number it began with
    assert shares.others(1) == shares.others(4) == (AWAY, 3)
    assert shares.others(2) == (AWAY, 4)
    shares.tell(2, AWAY)
    assert shares.others(1) == (AWAY, AWAY)


@pytest.mark.parametrize("pause", [0.0, 0.0055, 0.02])
def test_patience_ends_however_seldom_a_process_asks(crowd, pause):
    """Another has fewer and takes nothing: a busy process takes it all the same, and the next."""
    one, other = crowd
    one.counted(3)
    for many in range(2):
        with connected(one):
            until = time.monotonic() + 30
            while not took(one):
                time.sleep(pause)
                assert time.monotonic() < until, f"connection {many} is never taken"
    assert took(other) is False


def test_steady_arrivals_are_divided(crowd):
    """One after the other, with no pause between them: each is left to who has fewer."""
    one, other = crowd
    held = [0, 0]
    with contextlib.ExitStack() as stack:
        for _ in range(40):
            stack.enter_context(connected(one))
            until = time.monotonic() + 30
            while True:  # the first is asked first, and the other comes a moment later
                if took(one):
                    held[0] += 1
                    break
                if took(other):
                    held[1] += 1
                    break
                assert time.monotonic() < until
    assert held == [20, 20]


def test_who_has_more_leaves_a_connection_to_another(crowd, monkeypatch):
    monkeypatch.setattr(dividing, "PATIENCE", 60)
    one, other = crowd
    with connected(one), connected(one), connected(one):
        assert took(one)
        assert not took(one)
        assert took(other)
        assert took(one)


def test_nobody_waits_for_long_for_who_does_not_come(crowd):
    one, _ = crowd
    with connected(one), connected(one):
        assert took(one)
        began = time.monotonic()
        while not took(one):
            time.sleep(0.0005)
        assert time.monotonic() - began >= dividing.PATIENCE / 2


def test_the_next_one_is_left_to_another_as_the_last_one_was(crowd):
    """However long ago that was, and whoever took it."""
    one, other = crowd
    one.counted(5)
    for _ in range(3):
        with connected(one):
            assert not took(one)
            assert took(other)
        time.sleep(2 * dividing.PATIENCE)


def test_connections_that_end_count_no_more(crowd, monkeypatch):
    monkeypatch.setattr(dividing, "PATIENCE", 60)
    one, _ = crowd
    with connected(one), connected(one):
        assert took(one)
        one.counted(0)
        assert took(one)


LOOPS = [asyncio.new_event_loop]
with contextlib.suppress(ImportError):
    import uvloop

    LOOPS.append(uvloop.new_event_loop)


@pytest.mark.parametrize("loop", LOOPS)
def test_connections_are_taken_one_by_one_until_that_ends(crowd, loop):
    """What fails at its beginning is no matter to the next; what comes after the end is left."""
    one, other = crowd
    other.counted(AWAY)
    begun, all_are = [], asyncio.Event()

    async def begin(connection):
        begun.append(connection)
        if len(begun) == 3:
            all_are.set()
        if len(begun) == 1:
            connection.close()
            raise ConnectionResetError

    async def all_of_it():
        taking = Taking(one, begin)
        with connected(one), connected(one), connected(one):
            await all_are.wait()
        taking.close()
        await taking.wait_closed()
        with connected(one):
            await asyncio.sleep(0.05)
        assert len(begun) == 3
        assert all(each.gettimeout() == 0 for each in begun[1:])

    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(asyncio.wait_for(all_of_it(), 30))
    for each in begun:
        each.close()


def test_a_connection_that_the_system_has_no_room_for_is_taken_later(crowd, monkeypatch):
    """Meanwhile nothing spins; another error is told."""
    monkeypatch.setattr(dividing, "_LATER", 0.05)
    one, _ = crowd
    asked, real, begun = [], Listening.accept, asyncio.Event()

    def accept(self):
        asked.append(time.monotonic())
        if len(asked) == 1:
            raise OSError(errno.EMFILE, "Too many open files")
        if len(asked) == 2:
            raise OSError(errno.EPERM, "Operation not permitted")
        return real(self)

    monkeypatch.setattr(Listening, "accept", accept)
    told = []

    async def begin(connection):
        connection.close()
        begun.set()

    async def all_of_it():
        asyncio.get_running_loop().set_exception_handler(lambda _, what: told.append(what))
        taking = Taking(one, begin)
        with connected(one):
            await asyncio.wait_for(begun.wait(), 30)
        taking.close()

    asyncio.run(all_of_it())
    assert asked[1] - asked[0] >= 0.04
    assert [type(one["exception"]) for one in told] == [PermissionError]


def sockets(pid):
    """How many sockets a process has open."""
    found = 0
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # that of the listing itself
            found += str(link.readlink()).startswith("socket:")
    return found


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts the sockets of a process")
def test_a_server_of_two_processes_divides_eight_clients(tmp_path):
    """Four and four, give or take one that was taken at the same moment; all if one is killed."""
    place = Place.at(tmp_path, total=1, deadline=0.1)
    server = Server(place, more=("--processes", "2")).start()
    address, clients = ("127.0.0.1", server.port), []
    try:
        late = time.monotonic() + 60
        while f":{server.port}" not in server.log():  # it is told once all processes are ready
            time.sleep(0.05)
            assert time.monotonic() < late
        there = workers(server.pid)
        before = {pid: sockets(pid) for pid in there}
        for _ in range(8):
            clients.append(socket.create_connection(address))
            time.sleep(0.05)
        has = sorted(sockets(pid) - before[pid] for pid in there)
        assert sum(has) == 8
        assert has[0] >= 3
        os.kill(there[0], signal.SIGKILL)
        with socket.create_connection(address, timeout=10) as one:
            one.sendall(b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert one.recv(12) == b"HTTP/1.1 200"
    finally:
        for one in clients:
            one.close()
        server.end(signal.SIGTERM)
