"""Failed attempts are told once a minute, none is lost, and the memory is bounded."""

from datetime import timedelta

from tests.curator.access.people import START

from discreet.curator.access import tally
from discreet.curator.access.tally import Tally

SECOND = timedelta(seconds=1)


def test_once_a_minute_and_none_is_lost():
    made = Tally()
    counts = [made.failed("ann", START + n * SECOND) for n in range(181)]
    assert [n for n, count in enumerate(counts) if count] == [0, 60, 120, 180]
    assert sum(counts) == 181
    assert made.failed("bob", START) == 1


def test_success_tells_the_rest():
    made = Tally()
    assert [made.failed("ann", START) for _ in range(4)] == [1, 0, 0, 0]
    assert made.passed("ann") == 3
    assert made.passed("ann") == 0
    assert made.failed("ann", START) == 1


def test_many_names_are_counted_together(monkeypatch):
    monkeypatch.setattr(tally, "MOST", 10)
    made = Tally()
    first = sum(made.failed(f"n{n}", START) for n in range(100))
    assert first == 11
    assert len(made._seen) <= 11
    later = sum(made.failed(f"m{n}", START + 60 * SECOND) for n in range(5))
    last = made.failed("", START + 200 * SECOND)
    assert first + later + last == 100 + 5 + 1
