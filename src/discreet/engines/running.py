"""One DuckDB statement: its rows, or that it was stopped.

The main thread alone hears an interrupt from the keyboard, and only between two steps of Python:
there a statement runs in a thread beside it. Everywhere else it runs where it was asked for.
Tested by tests/engines/test_running.py
"""

from __future__ import annotations

from concurrent.futures import Future, wait
from concurrent.futures import TimeoutError as Late
from threading import Thread, current_thread, main_thread
from time import monotonic
from typing import TYPE_CHECKING, Any

from discreet.engines.cores import everywhere
from discreet.engines.progress import bar
from discreet.engines.watch import Watch
from discreet.errors import EngineError

if TYPE_CHECKING:
    import duckdb

__all__ = ["fetched"]

Found = list[tuple[Any, ...]]
PAUSE = 0.1
"""Seconds between two looks at a running statement."""
_WATCH = Watch()


def fetched(
    connection: duckdb.DuckDBPyConnection,
    text: str,
    *,
    progress: bool = False,
    seconds: float | None = None,
) -> Found:
    """The rows of one statement.

    Args:
        connection: where it runs; used for nothing else meanwhile.
        text: the statement.
        progress: whether a terminal shows how far it is.
        seconds: the longest that it may take; EngineError beyond.
    """
    if progress or current_thread() is main_thread():
        return _heard(connection, text, progress=progress, seconds=seconds)
    began = monotonic()
    try:
        with everywhere(), _WATCH.over(seconds, connection.interrupt):
            return connection.execute(text).fetchall()
    except Exception:
        if seconds is not None and monotonic() >= began + seconds:
            _stopped(seconds)
        raise


def _heard(
    connection: duckdb.DuckDBPyConnection, text: str, *, progress: bool, seconds: float | None
) -> Found:
    """The rows of one statement, computed in a thread, so that an interrupt is heard."""
    answer: Future[Found] = Future()
    latest = float("inf") if seconds is None else monotonic() + seconds
    thread = Thread(target=_fulfil, args=(answer, connection, text), daemon=True)
    thread.start()
    try:
        with bar(shown=progress) as advance:
            while True:
                try:
                    # an endless wait may hear no interrupt
                    return answer.result(max(min(PAUSE, latest - monotonic()), 0))
                except Late:
                    if answer.done():
                        raise
                    if monotonic() >= latest:
                        _stopped(seconds)
                    advance(connection.query_progress())
    finally:
        while not answer.done():  # interrupted
            connection.interrupt()
            wait([answer], timeout=PAUSE)
        thread.join()


def _fulfil(answer: Future[Found], connection: duckdb.DuckDBPyConnection, text: str) -> None:
    try:
        answer.set_result(connection.execute(text).fetchall())
    except BaseException as error:  # noqa: BLE001 - it is raised where the answer is awaited
        answer.set_exception(error)


def _stopped(seconds: float | None) -> None:
    problem = f"DuckDB was stopped: it took longer than {seconds} s"
    raise EngineError(problem) from TimeoutError(problem)
