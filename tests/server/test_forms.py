"""Figures come from a process of their own, and again from another if it has died."""

import os
import signal
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace

import pytest
from tests.curator.releases import counts

from discreet.curator.record import Record
from discreet.remembered import remembered
from discreet.server import forms as module
from discreet.server.forms import Forms, formed
from discreet.server.problems import Problem


@pytest.fixture
def forms():
    made = Forms()
    yield made
    made.close()


def record():
    return Record.identified(
        release=counts([5, 7, 9]), question="q", plan="q", dataset="d", family="f", block=None,
        data_version="1", policy_version=1, policy_fingerprint="0", entry=1, head="0" * 64,
        analyst="alice", software="discreet", unit="a person", cost="epsilon 1",
    )  # fmt: skip


@pytest.mark.slow
def test_other_threads_go_on_while_a_figure_is_drawn(forms):
    done, turns = threading.Event(), []

    def watch():
        while not done.is_set():
            time.sleep(0.01)
            turns.append(time.monotonic())

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        assert forms.of(record(), "svg").startswith(b"<svg")
        assert forms.of(record(), "png").startswith(b"\x89PNG")
    finally:
        done.set()
        thread.join()
    assert len(turns) > 10
    (process,) = forms._pool._processes
    assert process != os.getpid()
    os.kill(process, signal.SIGKILL)
    assert b"<html" in forms.of(record(), "html")
    assert forms._pool._processes.keys() != {process}


def test_a_form_is_made_of_the_record_alone():
    assert b"<html" in formed(record().to_json(), "html")
    assert b"$schema" in formed(record().to_json(), "vl.json")


def test_what_is_found_for_a_form_is_kept_for_nobody(monkeypatch):
    asked = []

    @remembered(8)
    def square(number):
        asked.append(number)
        return number * number

    def drawn(_):
        return f"{square(3)} {square(3)}"

    monkeypatch.setattr("discreet.curator.report.report", drawn)
    for _ in range(2):
        assert formed(record().to_json(), "html") == b"9 9"
    assert asked == [3, 3]
    assert [square(3), square(3)] == [9, 9], "nor is it the caller's"
    assert asked == [3, 3, 3]


@pytest.mark.slow
def test_who_waits_behind_a_figure_that_takes_too_long_gets_the_own_one(forms, monkeypatch):
    monkeypatch.setattr(module, "_LONGEST", 5.0)
    monkeypatch.setattr(module, "formed", time.sleep)  # the other process takes it by its name
    monkeypatch.setattr(Record, "to_json", lambda self: 0 if self.dataset == "quick" else 60)
    submit = ProcessPoolExecutor.submit
    monkeypatch.setattr(
        ProcessPoolExecutor, "submit", lambda self, work, text, _: submit(self, work, text)
    )
    found = []

    def slow():
        with pytest.raises(Problem) as problem:
            forms.of(record(), "png")
        found.append(problem.value.kind)

    thread = threading.Thread(target=slow)
    thread.start()
    time.sleep(3)  # so that the slow one's time is over long before that of the quick one
    assert forms.of(replace(record(), dataset="quick"), "png") is None
    thread.join()
    assert found == ["busy"]
    assert forms._pool is not None  # the process of who came later goes on
