"""What is late is stopped, again and again, and never after it has ended."""

import threading
import time

from discreet.engines.watch import Watch


def test_what_is_late_is_stopped_until_it_ends():
    watch, stops = Watch(), threading.Semaphore(0)
    with watch.over(0.01, stops.release):
        for _ in range(3):
            assert stops.acquire(timeout=30)


def test_one_that_cannot_be_stopped_is_no_matter_to_the_others():
    watch, stops = Watch(), threading.Semaphore(0)

    def broken():
        raise RuntimeError

    with watch.over(0.0, broken), watch.over(0.01, stops.release):
        assert stops.acquire(timeout=30)
        assert stops.acquire(timeout=30)


def test_who_has_less_time_is_stopped_first():
    watch, stops, late = Watch(), threading.Semaphore(0), []
    with watch.over(3600, lambda: late.append(1)), watch.over(0.01, stops.release):
        assert stops.acquire(timeout=30)
    assert late == []


def test_nothing_is_stopped_after_its_end():
    watch, stops = Watch(), []
    for _ in range(200):
        with watch.over(0.0005, lambda: stops.append(time.monotonic())):
            time.sleep(0.0005)
        ended, there = time.monotonic(), len(stops)
        time.sleep(0.001)
        assert len(stops) == there or max(stops) <= ended
    with watch.over(None, lambda: stops.append(0.0)):
        pass
    assert 0.0 not in stops
    assert not watch._running
