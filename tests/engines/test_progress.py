"""What an owner sees while a database counts; nothing where it is no terminal."""

import io
import sys

import pytest

from discreet.engines.progress import bar, waiting


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    made = Terminal()
    monkeypatch.setattr(sys, "stderr", made)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    return made


def test_a_bar_appears_with_the_first_percent(terminal):
    with bar(shown=True) as advance:
        assert terminal.getvalue() == ""
        advance(-1)
        advance(50)
    assert "DuckDB is counting" in terminal.getvalue()


def test_waiting_says_for_whom(terminal):
    with waiting(shown=True):
        pass
    assert "PostgreSQL is counting" in terminal.getvalue()


def test_nothing_is_shown_where_it_is_not_wanted(terminal, monkeypatch):
    with bar(shown=False) as advance, waiting(shown=False):
        advance(50)
    assert terminal.getvalue() == ""
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with bar(shown=True) as advance, waiting(shown=True):
        advance(50)
    assert sys.stderr.getvalue() == ""
