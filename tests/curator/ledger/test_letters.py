"""Processes that write for each other: each is charged once, and told after the commit."""

import os
import signal
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from tests.curator.ledger.harness import (
    UNIT,
    Checker,
    Torture,
    ViolationError,
    ask,
    claim,
    compute,
    noted,
)  # fmt: skip
from tests.curator.ledger.test_faults import at_steps
from tests.curator.ledger.test_post import pytestmark  # noqa: F401 - skips where that does
from tests.examples import TORTURE

from discreet.curator.ledger import anchor as anchors
from discreet.curator.ledger import database as databases
from discreet.curator.ledger import post as module
from discreet.curator.ledger.at_once import Charging, Rising
from discreet.curator.ledger.post import Meeting
from discreet.curator.ledger.steps import STEPS
from discreet.curator.ledger.values import Done, Pending
from discreet.errors import BudgetExceededError, LedgerError


@pytest.fixture
def two(place):
    """Two ledgers over one file."""
    with place.new() as first, place.open() as second:
        meeting(first, place, "one")
        meeting(second, place, "two")
        yield first, second


def meeting(ledger, place, name):
    """Let a ledger know its accounts, and have met others."""
    ask(ledger, place, claim(name))
    assert ledger._anchor.meeting.post() is not None


def until(holds):
    end = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < end, "nothing came"
        time.sleep(0.001)


def told(asks):
    """What comes of asking: a value, or the error."""
    try:
        return asks()
    except Exception as error:  # noqa: BLE001 - looked at by who asks
        return error


def meet(leader, *asks, write=None):
    """Have the lock while others ask, each in a thread, until all of their letters are there.

    Then the leader writes what it wants, and lets go of the lock; what it got, and what they got.
    """
    anchor = leader._anchor
    wanted = leader.reserving(claim(f"led{leader.head.seq}")).write
    write = write or (lambda: leader._whole("reserve", anchor, wanted))
    with ThreadPoolExecutor(len(asks)) as pool:
        with leader._database.lock, anchor.locked():
            found = [pool.submit(told, one) for one in asks]
            until(lambda: len(anchor.meeting.letters()) == len(asks))
            led = told(write)
        return led, *(one.result(timeout=60) for one in found)


def test_one_commit_for_two_processes(two, place, monkeypatch):
    leader, waiter = two
    commits, commit = [], leader._database.commit
    monkeypatch.setattr(leader._database, "commit", lambda: commits.append(1) or commit())
    led, got = meet(leader, lambda: waiter.reserve(claim("a")))
    assert isinstance(got, Pending)
    assert not got.resumed
    assert got.seq == led.seq + 1
    assert len(commits) == 1
    Checker(place).look(leader)
    (row,) = (row for row in leader.everything()[2] if row["key"] == "a")
    assert row["noise"] == got.noise
    answer = compute("a", got.noise)
    _, done = meet(leader, lambda: waiter.store("a", answer))
    assert (done.answer, done.seq, done.hash) == (answer, got.seq, got.hash)
    assert leader.accounts["staff"].spent.main == 5 * UNIT
    Checker(place).look(leader)


def test_nobody_is_told_before_the_head_file_has_it(two):
    """At every step of the one who writes there is no answer yet."""
    leader, waiter = two
    wanted, seen = leader.reserving(claim("led")).write, []

    def look(step):
        seen.append((step, list(leader._anchor.meeting._post._map[:: module._SIZE])))

    def write():
        with at_steps(look):
            return leader._whole("reserve", leader._anchor, wanted)

    _, got = meet(leader, lambda: waiter.reserve(claim("a")), write=write)
    assert isinstance(got, Pending)
    assert seen[-1][0] == "after the head of reserve"
    assert all(states.count(module._LETTER) == 1 for _, states in seen)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (claim("b", cost=200 * UNIT), BudgetExceededError),
        (claim("b", policy="another"), LedgerError),
        (claim("b", canon="one"), Done),
        (claim("one"), Done),
    ],
)
def test_what_is_unusual_is_left_to_who_asks(two, place, asked, expected):
    """It is no matter to who writes, nor to other letters."""
    leader, waiter = two
    with place.open() as third:
        meeting(third, place, "three")
        led, got, other = meet(
            leader, lambda: waiter.reserve(asked), lambda: third.reserve(claim("c"))
        )
    assert isinstance(led, Pending)
    assert isinstance(other, Pending)
    assert not other.resumed
    assert isinstance(got, expected)
    Checker(place).look(leader)


def test_who_dies_after_the_commit_leaves_the_charge(two, place, monkeypatch):
    """The sender was not told: it finds the charge under its key, with the noise that it drew."""
    leader, waiter = two
    letters = []
    monkeypatch.setattr(Meeting, "tell", lambda _self, letter, _told: letters.append(letter))
    _, got = meet(leader, lambda: waiter.reserve(claim("a")))
    assert got.resumed
    assert got.noise == bytes.fromhex(letters[0].asked[-1])
    assert [e.values()["key"] for e in leader.entries() if e.kind == "reserve"].count("a") == 1
    assert leader.accounts["staff"].spent.main == 4 * UNIT
    Checker(place).look(leader)


def test_a_commit_that_fails_tells_nobody(two, place, monkeypatch):
    leader, waiter = two

    def fails():
        raise LedgerError("there is no room")

    monkeypatch.setattr(leader._database, "commit", fails)
    led, got = meet(leader, lambda: waiter.reserve(claim("a")))
    assert "no room" in str(led)
    assert isinstance(got, Pending)
    assert not got.resumed
    assert waiter.accounts["staff"].spent.main == 3 * UNIT
    Checker(place).look(waiter)


def test_an_own_charge_that_is_unusual_leaves_letters_alone(two, place):
    leader, waiter = two
    wanted, left = leader.reserving(claim("x", cost=200 * UNIT)).write, []

    def write():
        got = leader._whole("reserve", leader._anchor, wanted)
        left.extend(leader._anchor.meeting.letters())
        return got

    led, got = meet(leader, lambda: waiter.reserve(claim("a")), write=write)
    assert led is None
    assert len(left) == 1
    assert isinstance(got, Pending)
    Checker(place).look(leader)


@pytest.mark.parametrize("read", [False, True])
def test_who_is_interrupted_takes_the_letter_back(two, place, monkeypatch, read):
    """Nobody is charged afterwards for a question whose asker has gone; unless somebody has read
    its letter by then: that charge is found under its key, with the noise that was drawn.
    """
    leader, waiter = two
    anchor, wanted = leader._anchor, leader.reserving(claim("led")).write
    letters, sleep = [], time.sleep

    def interrupted(_pause):
        monkeypatch.setattr(anchors.time, "sleep", sleep)
        letters.extend(anchor.meeting.letters())
        raise KeyboardInterrupt

    monkeypatch.setattr(waiter._anchor, "_crowded", float("inf"))
    with leader._database.lock, anchor.locked():
        monkeypatch.setattr(anchors.time, "sleep", interrupted)
        with pytest.raises(KeyboardInterrupt):
            waiter.reserve(claim("a"))
        assert len(letters) == 1
        assert anchor.meeting.letters() == []
        assert letters[0].asked[-1].encode() not in anchor.meeting._post._map[:]
        if read:
            monkeypatch.setattr(Meeting, "letters", lambda _: letters)
        leader._whole("reserve", anchor, wanted)
        monkeypatch.undo()
    assert ("a" in {e.values().get("key") for e in leader.entries()}) == read
    got = waiter.reserve(claim("a"))
    assert got.resumed == read
    assert (got.noise.hex() == letters[0].asked[-1]) == read
    assert leader.accounts["staff"].spent.main == 4 * UNIT
    Checker(place).look(leader)


def test_who_looks_now_and_then_is_told_without_the_lock(two, monkeypatch):
    """The lock is held all the time: one of several is told by what it sees in its place."""
    leader, waiter = two
    anchor, wanted = leader._anchor, leader.reserving(claim("led")).write
    monkeypatch.setattr(waiter._anchor, "_crowded", float("inf"))
    monkeypatch.setattr(anchors, "_ROUNDS", (0.002,) * 10_000)
    with ThreadPoolExecutor(1) as pool, leader._database.lock, anchor.locked():
        found = pool.submit(waiter.reserve, claim("a"))
        until(anchor.meeting.letters)
        leader._whole("reserve", anchor, wanted)
        assert isinstance(found.result(timeout=20), Pending)


def test_a_damaged_line_of_a_sender_is_no_matter_to_who_writes(two, place, monkeypatch):
    leader, waiter = two
    wanted, had = leader.reserving(claim("led", analyst="ann")).write, Rising.had
    bad = []

    def damaged(self, account):
        if bad:
            raise LedgerError("the head file is damaged")
        return had(self, account)

    write = Charging.write

    def writes(self, once, at):
        bad[:] = [1] if self.claim.key == "a" else []
        return write(self, once, at)

    monkeypatch.setattr(Rising, "had", damaged)
    monkeypatch.setattr(Charging, "write", writes)
    led, got = meet(
        leader,
        lambda: waiter.reserve(claim("a")),
        write=lambda: leader._whole("reserve", leader._anchor, wanted),
    )
    assert isinstance(led, Pending)
    assert isinstance(got, Pending), "it found nothing wrong itself"
    Checker(place).look(leader)


def test_a_file_in_place_of_the_database_is_another_one(two, place):
    """Who has the old one open writes nothing for who has the new one."""
    leader, waiter = two
    waiter.close()
    copy = Path(f"{place.address}.copy")
    with closing(sqlite3.connect(place.address)) as old, closing(sqlite3.connect(copy)) as new:
        old.backup(new)
    copy.replace(place.address)
    with place.open() as other:
        assert other._anchor.meeting.path != leader._anchor.meeting.path


def test_who_may_have_opened_another_file_meets_nobody(two, place, monkeypatch):
    """The file was replaced while it was opened: its numbers are not those of the open one."""
    numbers = iter([(1, 1), (1, 2)])
    monkeypatch.setattr(databases, "_numbers", lambda _: next(numbers))
    with place.open() as other:
        monkeypatch.undo()
        assert other._database.file is None
        with other._database.turn():
            assert other._written_in().meeting.post() is None
        ask(other, place, claim("a"))
    Checker(place).look(two[0])


def test_neither_lock_nor_letters_outlive_a_process_in_its_child(two):
    """Also in one that never uses the ledger, and lives on: the parent is as good as killed."""
    leader, waiter = two
    anchor, post = waiter._anchor, waiter._anchor.meeting._post
    anchor.__enter__()
    pid = os.fork()
    if not pid:
        time.sleep(60)
        os._exit(0)
    try:
        post.send(["left", "there"])
        assert len(leader._anchor.meeting.letters()) == 1
        for file in (post._file, anchor._file):
            os.close(file)
        post.close.detach()
        anchor._file, anchor.meeting._post = -1, None
        with ThreadPoolExecutor(1) as pool:
            done = pool.submit(leader.reserve, claim("a"))
            assert isinstance(done.result(timeout=20), Pending)
        assert "left" not in str(leader._anchor.meeting._post._map[:])
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def test_a_ledger_that_is_closed_lets_go_of_its_place(two):
    _, waiter = two
    post = waiter._anchor.meeting._post
    waiter.close()
    assert not post.close.alive


def test_a_group_takes_letters_too(two, place, monkeypatch):
    """Several threads of one process, written together, and a process that waits."""
    leader, waiter = two
    commits, commit = [], leader._database.commit
    monkeypatch.setattr(leader._database, "commit", lambda: commits.append(1) or commit())
    monkeypatch.setattr(waiter, "_whole", None)  # it writes nothing itself
    members = [leader.reserving(claim(name)) for name in ("x", "y")]
    led, got = meet(
        leader,
        lambda: waiter.reserve(claim("a")),
        write=lambda: leader._each_at_once(members, leader._anchor),
    )
    assert led
    assert len(commits) == 1
    assert got.seq == members[1].result().seq + 1
    Checker(place).look(leader)


def test_a_letter_in_strange_words_is_no_matter(two, place):
    leader, waiter = two
    waiter._anchor.meeting._post.send(["reserve", "what?"])
    assert isinstance(leader.reserve(claim("a")), Pending)
    assert waiter._anchor.meeting._post.heard() == []
    Checker(place).look(leader)


def test_postgres_has_no_letters(postgres_places):
    place = postgres_places()
    with place.new() as ledger, place.open() as other:
        for number, one in enumerate((ledger, other)):
            ask(one, place, claim(f"{number}"))
        with ThreadPoolExecutor(1) as pool:
            with ledger._anchor.locked():
                found = pool.submit(other.reserve, claim("a"))
                time.sleep(0.05)
            assert isinstance(found.result(timeout=60), Pending)
        assert other._anchor.meeting._post is None


def test_who_opens_a_ledger_sweeps(place):
    with place.new() as ledger:
        path = ledger._anchor.meeting.path
    path.touch(0o600)
    place.open().close()
    assert not path.exists()


# processes


@pytest.mark.slow
def test_kills_of_processes_that_write_for_each_other(nursery, places):
    """They have questions of their own, so that letters are usual; all steps, and random times."""
    made, kills = [], TORTURE // 5 or 40
    torture = Torture(
        nursery, lambda: made.append(places()) or made[-1], job="apart", keys=60, late=40,
        seconds=240 + TORTURE,
    )  # fmt: skip
    torture.run(kills, (*STEPS, "outside", "never"))
    assert torture.kills >= kills
    assert sum(len(noted(place.told)) for place in made) > 0, "no letter was answered"


@pytest.mark.slow
def test_who_tells_before_the_commit_is_caught(nursery, places):
    """The tester is tested: a process that dies before its commit has told others of charges."""
    torture = Torture(nursery, places, job="tell_first", seconds=60, keys=60, late=40)
    with pytest.raises(ViolationError, match=r"I2|I4"):
        torture.run(10**9, ("before the commit of reserve", "never"), rounds=60)
