"""Load and faults: eight clients, servers that are killed and started again, one ledger.

A client asks under the same Idempotency-Key until there is an answer. In the end every answer was
charged once, every key has one answer, and two servers together have granted exactly what there
was. TORTURE makes it five minutes, and prints how much was survived.
"""

import itertools
import json
import os
import random
import shutil
import signal
import sys
import threading
import time
from fractions import Fraction

import pytest
from tests.server import fleet
from tests.server.fleet import Client, Place, Server, call, question, together

from discreet.curator.curator import Curator
from discreet.curator.ledger.steps import STEPS
from discreet.curator.ledger.verify import verified

TORTURE = int(os.environ.get("TORTURE", "0"))
SMALL, LARGE, TOTAL = Fraction(1, 1000), Fraction(97, 10), 100
"""Prices of a question under load, and of one when the budget runs out; and the budget."""
UNIT, KILLS = 10**12, 4


@pytest.fixture(scope="module")
def nursery():
    made = fleet.nursery()
    yield made
    made.close()


class Killer(threading.Thread):
    """Kills a server over and over, soon after it is ready, until told to end.

    One that takes long to start, as the command does, lives longer, too.
    """

    def __init__(self, server, seed):
        super().__init__()
        self.server, self.over = server, threading.Event()
        self.kills, self._random, self.failed = 0, random.Random(seed), None
        self._least = 6 if server.nursery is None else 0.5

    def run(self):
        try:
            while not self.over.wait(self._least + self._random.random()):
                assert self.server.end() == -signal.SIGKILL, self.server.log()
                self.kills += 1
                self.server.start()
        except BaseException as error:  # noqa: BLE001 - told by whoever waits for it
            self.failed = error

    def end(self):
        self.over.set()
        self.join()
        assert self.failed is None, self.failed


def stormed(place, servers, seconds, *, killed=None):
    """Clients ask for so long while servers die, then until nothing is left; kills and clients."""
    for server in servers:
        server.start(wait=False)
    for server in servers:
        server.ready()
    clients = [Client(number, key, servers) for number, key in enumerate(place.keys)]
    killers = [Killer(server, seed) for seed, server in enumerate(killed or servers)]
    for killer in killers:
        killer.start()
    began = time.monotonic()

    def going():
        """Whether the time is not over, or a slow machine has not killed enough in it."""
        few = sum(killer.kills for killer in killers) < KILLS
        return time.monotonic() < began + seconds or (few and time.monotonic() < began + 120)

    def work(client):
        while going():
            assert client.next(str(float(SMALL)))
        if len(servers) == 1:
            killers[0].over.set()  # who is alone would never get to the end on a slow machine
        while client.next(str(float(LARGE))):
            pass

    try:
        together(clients, work)
    finally:
        for killer in killers:
            killer.end()
    return sum(killer.kills for killer in killers), clients


def settled(place, clients):
    """Every answer was charged once, accounts and log agree, and exactly what there was is gone."""
    answers = {
        (client.key, name): told for client in clients for name, told in client.answers.items()
    }
    prices = [Fraction(epsilon) for _, epsilon, _ in answers.values()]
    ids = [record["id"] for _, _, record in answers.values()]
    assert len(set(ids)) == len(ids)
    with place.ledger() as ledger:
        verified(ledger)
        entries, accounts, rows = ledger.everything()
        spent = {one.name: one.spent.main for one in accounts}
        charged = [entry.values() for entry in entries if entry.kind == "reserve"]
        assert sorted(one["key"] for one in charged) == sorted(ids)  # none lost, none twice
        assert {row["state"] for row in rows} == {"done"}
        assert not [entry for entry in entries if entry.kind == "hit"]
    assert spent["staff"] == sum(price * UNIT for price in prices)
    assert spent["staff"] == spent["staff@alice"] + spent["staff@bob"]
    sums = {one.id: 0 for one in accounts}
    for number, main, _ in itertools.chain.from_iterable(one["charges"] for one in charged):
        sums[number] += main
    assert {one.id: one.spent.main for one in accounts} == sums
    small = sum(price for price in prices if price == SMALL)
    assert prices.count(LARGE) == (TOTAL - small) // LARGE
    assert sum(client.refused for client in clients) == len(clients)


def asked_again(client):
    """Each key once more: the same answer, to the last digit."""
    for name, (number, epsilon, record) in client.answers.items():
        assert client.ask(name, number, epsilon) == record


def survived(capsys, kills, clients):
    answered = sum(len(client.answers) for client in clients)
    tries = sum(client.tries for client in clients)
    if TORTURE:
        with capsys.disabled():
            sys.stdout.write(f"\n{kills} kills, {answered} answers, {tries} tries\n")
    assert kills >= KILLS
    assert tries > 2 * answered  # each was asked for at least once more


@pytest.mark.slow
def test_two_servers_on_postgres_are_killed_all_the_time(
    flushing_server, nursery, tmp_path, capsys
):
    """One is forked, the other is the command itself."""
    ledger = f'address = "{flushing_server}"\nhead = "x.head"'
    place = Place.at(tmp_path, ledger=ledger, total=TOTAL, deadline=0.1)
    servers = [Server(place, nursery), Server(place)]
    try:
        kills, clients = stormed(place, servers, 300 if TORTURE else 22)
        settled(place, clients)
        together(clients, asked_again)
        settled(place, clients)
    finally:
        for server in servers:
            server.end()
    survived(capsys, kills, clients)


@pytest.mark.slow
def test_a_server_on_sqlite_is_killed_all_the_time(nursery, tmp_path, capsys):
    place = Place.at(tmp_path, total=TOTAL, deadline=0.1)
    server = Server(place, nursery)
    try:
        kills, clients = stormed(place, [server], 60 if TORTURE else 8)
        settled(place, clients)
        together(clients, asked_again)
    finally:
        server.end()
    survived(capsys, kills, clients)


@pytest.mark.slow
def test_a_crash_at_a_step_is_resumed_with_the_same_noise(nursery, tmp_path):
    """A copy of what the crash left, asked by a curator here, gives the very same numbers."""
    folder = tmp_path / "it"
    folder.mkdir()
    place = Place.at(folder, total=10, deadline=0.2)
    server = Server(place, nursery).start()
    paid = STEPS.index("after the commit of reserve")
    commits = [f"{when} the commit of reserve" for when in ("before", "after")]
    few = (*commits, "after compute", "before the commit of store", "before send")
    labels = STEPS if TORTURE else few
    assert set(labels) <= set(STEPS)
    try:
        for number, label in enumerate(labels):
            _crash(place, server, number, label, resumed=STEPS.index(label) >= paid)
    finally:
        server.end()
    with place.ledger() as ledger:
        verified(ledger)
        assert ledger.accounts["staff"].spent.main == len(labels) * UNIT // 2


def _crash(place, server, number, label, *, resumed):
    body, name = {"question": question(number), "epsilon": "0.5"}, f"k{number}"
    server.arm(label)
    with pytest.raises(OSError):
        call(server.port, "POST", "/api/ask", body, key=place.keys[0], name=name)
    assert server.wait() == -signal.SIGKILL
    server.disarm()
    copy = place.folder.with_name(f"copy{number}")
    shutil.copytree(place.folder, copy)
    with place.ledger() as ledger:
        assert ledger.accounts["staff"].spent.main == (number + resumed) * UNIT // 2
    with Curator(copy / "policy.toml") as curator:
        expected = curator.ask(question(number), analyst="alice", epsilon="0.5", key=name)
    server.start()
    found = []
    for _ in range(2):
        status, told, _ = call(server.port, "POST", "/api/ask", body, key=place.keys[0], name=name)
        assert status == 200, told
        found.append(json.loads(told))
    assert found[0] == found[1]
    same = found[0]["release"]["raw"] == expected.to_dict()["release"]["raw"]
    assert same or not resumed  # before it is charged there is no noise that could be the same


@pytest.mark.slow
def test_a_stop_lets_a_question_finish(tmp_path):
    """The command itself: 503 for who comes now, the answer for who was there, and it ends well."""
    place = Place.at(tmp_path, total=10, deadline=4)
    server = Server(place).start()
    body = {"question": question(1), "epsilon": "0.5"}
    told = []
    ask = lambda: told.append(
        call(server.port, "POST", "/api/ask", body, key=place.keys[0], name="slow")
    )
    asking = threading.Thread(target=ask)
    try:
        asking.start()
        until = time.monotonic() + 60
        with place.ledger() as ledger:
            while not ledger.accounts["staff"].spent.main:  # it is under way
                assert time.monotonic() < until
                time.sleep(0.02)
        os.kill(server.pid, signal.SIGTERM)
        while (health := server.health()) == 200:
            time.sleep(0.02)
        assert health == 503
        status, _, headers = call(
            server.port, "POST", "/api/ask", body, key=place.keys[1], name="x"
        )
        assert (status, headers["Retry-After"]) == (503, "1")
        assert not told
        asking.join(timeout=30)
        assert told[0][0] == 200
        assert server.wait() == 0
    except BaseException:
        server.end()
        raise
    assert server.health() is None
    assert "Traceback" not in server.log()
    with place.ledger() as ledger:
        verified(ledger)
        assert ledger.accounts["staff"].spent.main == UNIT // 2
        assert ledger.answer(json.loads(told[0][1])["id"]) is not None
