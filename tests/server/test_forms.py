"""Figures come from a process of their own, and again from another if it has died."""

import os
import signal
import threading
import time

import pytest
from tests.curator.releases import counts

from discreet.curator.record import Record
from discreet.server.forms import Forms, formed


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
