"""The moments of a question: they follow from its beginning, whatever its parts take."""

import time

import pytest
from tests.curator.payroll import DEARER

from discreet.curator import pace as module
from discreet.curator.pace import UNHURRIED, Pace

SUM = "SELECT SUM(bonus) AS s FROM payroll"
COUNT = "SELECT COUNT(*) AS n FROM payroll"


class Clock:
    """Time that passes when somebody sleeps, or says so."""

    def __init__(self):
        self.now, self.slept = 1000.0, []

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        assert seconds >= 0
        self.slept.append(seconds)
        self.now += seconds


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(module, "time", made)
    return made


@pytest.mark.parametrize("takes", [0.0, 1.0, 26.9])
def test_every_part_ends_at_its_moment_whatever_it_takes(clock, takes):
    """Of 100 seconds the database has 60: the first search 30 of them, and nine tenths of that."""
    pace = Pace(100)
    for most, moment in ((27, 30), (45 * 0.9 - 30, 45), (52.5 * 0.9 - 45, 52.5)):
        assert pace.searching() == pytest.approx(most)
        clock.now += min(takes, most)
        pace.hold()
        assert clock.now == pytest.approx(1000 + moment)
    assert pace.answering() == pytest.approx(7.5)
    clock.now += min(takes, 7.5)
    pace.hold()
    assert clock.now == pytest.approx(1080)


def test_a_database_may_have_another_share(clock):
    pace = Pace(100, share=0.5)
    assert (pace.searching(), pace.answering()) == pytest.approx((22.5, 50))
    pace.hold()
    assert clock.now == pytest.approx(1080)


def test_there_is_always_some_time_and_what_is_late_does_not_wait(clock):
    pace = Pace(100)
    clock.now += 90
    assert pace.searching() == pace.answering() == 0.01
    pace.hold()
    assert clock.slept == [0]


def test_nobody_waits_where_there_is_no_deadline(clock):
    assert UNHURRIED.searching() is UNHURRIED.answering() is None
    UNHURRIED.hold()
    assert clock.slept == []


@pytest.fixture
def policy():
    return DEARER


@pytest.mark.parametrize("takes", [0.0, 20.0])
def test_what_comes_of_a_question_is_stored_at_its_moment(curator, clock, monkeypatch, takes):
    """A search and its question, of which each takes no time, or nearly all that it has."""
    engine, ledger = curator._part("payroll", None, None).engine, curator.ledger
    given, stored = [], []
    run, store = type(engine).run, type(ledger).storing

    def slow(self, *what, seconds=None, **more):
        given.append(seconds)
        clock.now += takes
        return run(self, *what, seconds=None, **more)

    def storing(self, *what, **more):
        stored.append(clock.now)
        return store(self, *what, **more)

    monkeypatch.setattr(type(engine), "run", slow)
    monkeypatch.setattr(type(ledger), "storing", storing)
    curator.pace = Pace(100)
    curator.ask(SUM, epsilon="0.5", analyst="alice")
    assert given == pytest.approx([27, 30])
    assert stored == pytest.approx([1030, 1080])
    curator.pace = Pace(100)
    curator.ask(COUNT, epsilon="0.1", analyst="alice")
    assert given[2] == pytest.approx(60)  # the next question has all of it
    assert stored[2] == pytest.approx(1160)


def test_time_passes_as_it_does():
    """With the true clock: a tenth of a second is waited for, and not much longer."""
    began = time.monotonic()
    pace = Pace(0.125)
    assert 0 < pace.answering() <= 0.075
    pace.hold()
    assert time.monotonic() - began >= 0.1
