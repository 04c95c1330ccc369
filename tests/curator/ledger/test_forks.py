"""Whether there was a fork, without asking the system."""

import os
import subprocess
import sys

from discreet.curator.ledger import forks


def test_a_child_counts_one_more():
    before, (out, into) = forks.count, os.pipe()
    child = os.fork()
    if not child:
        grandchild = os.fork()
        if grandchild:
            os.waitpid(grandchild, 0)
        os.write(into, bytes([forks.count - before]))
        os._exit(0)
    os.waitpid(child, 0)
    os.close(into)
    with os.fdopen(out, "rb") as told:
        assert told.read() == bytes([2, 1])
    assert forks.count == before


def test_it_begins_with_none():
    told = "from discreet.curator.ledger import forks; print(forks.count)"
    found = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    assert found.stdout == "0\n"
