"""What an owner sees while a database counts; nothing where it is no terminal."""

import io
import sys
import time

from discreet.engines.progress import bar, waiting


class Terminal(io.StringIO):
    def isatty(self):
        return True


def opened(monkeypatch):
    """A terminal; within the test itself, for pytest has a stream of its own for each phase."""
    made = Terminal()
    monkeypatch.setattr(sys, "stderr", made)
    monkeypatch.setenv("TERM", "xterm")
    return made


def written(terminal):
    """Wait for the thread that draws."""
    until = time.monotonic() + 20
    while not terminal.getvalue() and time.monotonic() < until:
        time.sleep(0.01)


def test_a_bar_appears_with_the_first_percent(monkeypatch):
    terminal = opened(monkeypatch)
    with bar(shown=True) as advance:
        assert terminal.getvalue() == ""
        advance(-1)
        advance(50)
        written(terminal)
    assert "DuckDB is counting" in terminal.getvalue()


def test_waiting_says_for_whom(monkeypatch):
    terminal = opened(monkeypatch)
    with waiting(shown=True):
        written(terminal)
    assert "PostgreSQL is counting" in terminal.getvalue()


def test_nothing_is_shown_where_it_is_not_wanted(monkeypatch):
    terminal = opened(monkeypatch)
    with bar(shown=False) as advance, waiting(shown=False):
        advance(50)
    assert terminal.getvalue() == ""
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with bar(shown=True) as advance, waiting(shown=True):
        advance(50)
    assert sys.stderr.getvalue() == ""
