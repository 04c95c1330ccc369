"""Limits that hold for several processes."""

import os
import signal

import pytest

from discreet.server import together as module
from discreet.server.limits import Alone, Buckets, Rate
from discreet.server.problems import Problem
from discreet.server.together import Busy, SharedBuckets, Together


@pytest.fixture
def place():
    with Together.made() as made:
        yield made


def let_in(rate, name, times):
    """How often somebody is let in."""
    found = 0
    for _ in range(times):
        try:
            rate.take(name)
        except Problem:
            continue
        found += 1
    return found


def elsewhere(work):
    """What a small number is in another process."""
    ours, theirs = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.write(theirs, str(work()).encode())
        finally:
            os._exit(0)
    os.close(theirs)
    with os.fdopen(ours) as told:
        found = int(told.read())
    os.waitpid(child, 0)
    return found


def test_no_one_can_remove_the_files_from_who_starts_later(place):
    assert [os.fstat(one).st_nlink for one in (place.buckets, place.busy)] == [0, 0]


def test_a_file_counts_like_a_process(place):
    """The same requests at the same moments, one by one."""
    shared, own = SharedBuckets(place), Buckets()
    for number in range(400):
        said = f"name {number * number % 7}", 5 + number % 3, number / 3
        assert shared.take(*said) == own.take(*said)


def test_a_rate_holds_for_all_processes_together(place):
    clock = lambda: 100.0
    rate = Rate(10, "tries", clock=clock, buckets=SharedBuckets(place))
    other = lambda: Rate(10, "tries", clock=clock, buckets=SharedBuckets(place))
    assert let_in(rate, "a", 4) == 4
    assert elsewhere(lambda: let_in(other(), "a", 9)) == 6
    assert let_in(rate, "a", 5) == 0
    assert let_in(Rate(10, "others", clock=clock, buckets=SharedBuckets(place)), "a", 5) == 5


def test_the_oldest_is_forgotten_first(place, monkeypatch):
    monkeypatch.setattr(module, "_SETS", 1)
    buckets = SharedBuckets(place)
    for number in range(9):
        assert buckets.take(f"n{number}", 5, float(number)) == 5
    assert buckets.take("n8", 5, 8.0) == 4
    assert buckets.take("n1", 5, 8.0) < 5
    assert buckets.take("n0", 5, 8.0) == 5


def test_one_at_a_time_in_all_processes(place):
    alone = Alone(Busy(place))

    def other(name):
        try:
            with Alone(Busy(place)).turn(name):
                return 1
        except Problem:
            return 0

    with alone.turn("k"):
        assert elsewhere(lambda: other("k")) == 0
        assert elsewhere(lambda: other("another")) == 1
        with pytest.raises(Problem), alone.turn("k"):
            pass
    assert elsewhere(lambda: other("k")) == 1


def test_who_is_killed_is_not_busy_any_more(place):
    busy = Busy(place)
    ours, theirs = os.pipe()
    child = os.fork()
    if not child:
        Busy(place).begin("k")
        os.write(theirs, b"x")
        signal.pause()
    os.read(ours, 1)
    assert not busy.begin("k")
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert busy.begin("k")
