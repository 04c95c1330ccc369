"""Curators that are killed at a step of a question, forked from one that has all imports."""

import json
import os
import signal
import sys
import tempfile
from pathlib import Path

from tests.curator.payroll import POLICY
from tests.machines import Nursery


class Killing(Nursery):
    """A process that forks askers, one at a time."""

    def __init__(self):
        super().__init__("from tests.curator.killing import serve; serve()")

    def ask(self, folder, step, question, **more):
        """Ask in another process, which dies at a step; how it ended."""
        return self.say(folder=str(folder), step=step, question=question, more=more)["code"]


def serve():
    """Fork an asker for every line on standard input; tell how it ended."""
    import duckdb  # noqa: F401 - imported once, here

    from discreet.curator.curator import Curator

    with tempfile.TemporaryDirectory() as folder:  # imports what an asker needs
        path = Path(folder, "policy.toml")
        path.write_text(POLICY)
        Curator.register(path)
    for line in sys.stdin:
        what = json.loads(line)
        pid = os.fork()
        if not pid:
            _asked(**what)
        _, status = os.waitpid(pid, 0)
        sys.stdout.write(json.dumps({"code": os.waitstatus_to_exitcode(status)}) + "\n")
        sys.stdout.flush()


def _asked(folder, step, question, more):
    from discreet.curator.curator import Curator
    from discreet.curator.ledger.steps import on_step

    try:
        os.chdir(folder)
        with Curator("policy.toml") as curator:
            on_step(lambda at: os.kill(os.getpid(), signal.SIGKILL) if at == step else None)
            curator.ask(question, **more)
    finally:
        os._exit(1)
