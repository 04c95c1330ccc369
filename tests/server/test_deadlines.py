"""When an answer leaves, and how long it is."""

import asyncio
import json

import pytest

from discreet.server import deadlines
from discreet.server.deadlines import Deadline, padded, room


class Clock:
    """A loop's time that only moves when somebody waits."""

    def __init__(self, monkeypatch):
        self.now = 100.0

        async def sleep(seconds):
            self.now += seconds

        monkeypatch.setattr(asyncio, "sleep", sleep)

    def __call__(self):
        return self.now


@pytest.mark.parametrize(
    ("took", "leaves"), [(0, 2), (1.5, 2), (1.999, 2), (2, 4), (3.5, 4), (7, 8)]
)
@pytest.mark.parametrize("part", [0, 1 / 2, 1])
def test_outcomes_leave_after_the_next_multiple(monkeypatch, took, leaves, part):
    """At a moment of the eighth of a deadline that follows it, drawn anew for each."""
    clock, drawn = Clock(monkeypatch), []

    class Drawing:
        def below(self, n):
            drawn.append(clock.now)
            return int(part * (n - 1))

    monkeypatch.setattr(deadlines, "system_source", Drawing)

    async def run():
        due = Deadline(2, clock)
        clock.now += took
        await due.over()

    asyncio.run(run())
    assert clock.now == pytest.approx(100 + leaves + 2 * part / deadlines.SPREAD, abs=1e-4)
    assert drawn == [100 + took]  # not before the work is done


def test_no_deadline_is_no_wait(monkeypatch):
    clock = Clock(monkeypatch)

    async def run():
        await Deadline(None, clock).over()

    asyncio.run(run())
    assert clock.now == 100


def test_bodies_are_filled_up():
    assert len(padded({"a": 1}, 4096)) == 4096
    assert json.loads(padded({"a": "é"}, 64)) == {"a": "é"}
    assert len(padded("x" * 5000, 4096)) == 8192
    assert padded(1, 0) == b"1"
    with pytest.raises(ValueError, match="JSON"):
        padded(float("nan"), 10)


def test_room_is_a_power_of_two_and_grows():
    sizes = [room(c, g, "q" * n) for c, g, n in ((0, 0, 0), (1, 1, 100), (2, 100, 10), (9, 9, 9))]
    assert all(size & (size - 1) == 0 for size in sizes)
    assert sizes[0] == 8192
    assert room(5, 10_000, "q") > room(5, 10, "q")
