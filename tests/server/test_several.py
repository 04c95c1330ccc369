"""One server as several processes, which are killed one at a time under load."""

import os
import signal
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from tests.server.fleet import Client, Place, Server, together
from tests.server.test_load import LARGE, SMALL, TOTAL, settled

from discreet.curator.ledger.verify import verified
from discreet.curator.policy.reading import read_policy
from discreet.errors import ParameterError
from discreet.server import several
from discreet.server.run import bound
from discreet.server.settings import Settings
from discreet.server.several import run_several

SECONDS = 10


def workers(pid):
    """The processes that serve under a first one."""
    listed = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(one) for one in listed
            if b"spawn_main" in Path(f"/proc/{one}/cmdline").read_bytes()]  # fmt: skip


def killed(server, over, kills):
    """Kill the older process, over and over, each time once there are two; ready or not."""
    while not over.wait(1.5):
        there = workers(server.pid)
        if len(there) == 2:
            os.kill(min(there), signal.SIGKILL)
            kills.append(min(there))
            over.wait(4)


@pytest.mark.slow
def test_a_process_is_killed_under_load(tmp_path):
    """No charge is lost and none is doubled; those that died are there again; it ends well."""
    place = Place.at(tmp_path, total=TOTAL, deadline=0.1)
    server = Server(place, more=("--processes", "2")).start()
    over, kills = threading.Event(), []
    killer = threading.Thread(target=killed, args=(server, over, kills))
    clients = [Client(number, key, [server]) for number, key in enumerate(place.keys)]
    try:
        while len(workers(server.pid)) < 2:
            time.sleep(0.05)
        killer.start()
        until = time.monotonic() + SECONDS

        def work(client):
            while time.monotonic() < until or (not kills and time.monotonic() < until + 60):
                assert client.next(str(float(SMALL)))
            over.set()
            while client.next(str(float(LARGE))):
                pass

        together(clients, work)
        assert kills
        settled(place, clients)
        again = time.monotonic() + 60
        while len(workers(server.pid)) < 2:
            assert time.monotonic() < again, server.log()
            time.sleep(0.05)
        server.ready()
        together(clients, lambda client: [
            client.ask(name, number, epsilon) == record or pytest.fail(name)
            for name, (number, epsilon, record) in list(client.answers.items())[:20]
        ])  # fmt: skip
        assert server.end(signal.SIGTERM) == 0
    except BaseException:
        over.set()
        server.end()
        raise
    assert server.health() is None
    with place.ledger() as ledger:
        verified(ledger)


@pytest.mark.slow
def test_processes_that_never_get_ready_are_given_up(tmp_path):
    place = Place.at(tmp_path, total=1, deadline=0.1)
    server = Server(place, more=("--processes", "2")).start()
    try:
        (tmp_path / "policy.toml").rename(tmp_path / "gone.toml")
        for one in workers(server.pid):
            os.kill(one, signal.SIGKILL)
        assert server.wait() == 2
    except BaseException:
        server.end()
        raise
    assert "end before they are ready" in " ".join(server.log().split())


@pytest.mark.slow
def test_who_is_left_alone_stops(tmp_path):
    place = Place.at(tmp_path, total=1, deadline=0.1)
    server = Server(place, more=("--processes", "2")).start()
    there = workers(server.pid)
    server.end(signal.SIGKILL)
    until = time.monotonic() + 30
    while any(Path(f"/proc/{one}").exists() for one in there):
        assert time.monotonic() < until
        time.sleep(0.05)


@pytest.mark.slow
@pytest.mark.parametrize("signals", [1, 2])
def test_a_stop_does_not_wait_for_who_is_stuck(tmp_path, monkeypatch, signals):
    """One that is suspended is killed: after the longest stop, or soon after a second signal."""
    monkeypatch.setattr(several, "longest_stop", lambda _: 1.0 if signals == 1 else 1000.0)
    monkeypatch.setattr(several, "_CUT", 1.0)
    place = Place.at(tmp_path, total=1, deadline=0.1)
    path = place.folder / "policy.toml"
    server = replace(read_policy(path).server, port=0, workers=4)
    began = []

    def stuck(_):
        os.kill(workers(os.getpid())[0], signal.SIGSTOP)
        began.append(time.monotonic())
        for _ in range(signals):
            os.kill(os.getpid(), signal.SIGTERM)

    run_several(path, Settings(server, processes=2), started=stuck)
    assert time.monotonic() - began[0] < 15
    assert not workers(os.getpid())


@pytest.mark.parametrize("when", ["between two starts", "in the middle of one"])
def test_a_stop_while_processes_are_started_is_a_stop(tmp_path, monkeypatch, when):
    """Those that run end by themselves; none is started with a socket that is closed."""
    place = Place.at(tmp_path, total=1, deadline=0.1)
    path = place.folder / "policy.toml"
    server = replace(read_policy(path).server, port=0, workers=4)
    name = "_start" if when == "between two starts" else "_started"
    inner, started = getattr(several._Crew, name), []

    def start(crew, number):
        started.append(number)
        if len(started) == 1 and name == "_start":
            inner(crew, number)
        if len(started) == 1:
            os.kill(os.getpid(), signal.SIGTERM)
        if len(started) > 1 or name == "_started":
            inner(crew, number)

    monkeypatch.setattr(several._Crew, name, start)
    run_several(path, Settings(server, processes=2))
    assert len(started) == (2 if name == "_start" else 1)
    assert not workers(os.getpid())


def test_a_second_server_at_the_same_address_is_refused(tmp_path):
    place = Place.at(tmp_path, total=1, deadline=0.1)
    settings = Settings(replace(read_policy(tmp_path / "policy.toml").server, port=0), processes=2)
    with bound(settings) as there:
        taken = settings.at(None, there.getsockname()[1])
        with pytest.raises(ParameterError, match="cannot be listened at"):
            run_several(place.folder / "policy.toml", taken)
