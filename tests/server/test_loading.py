"""No question of any kind has a running server load a module of its own."""

import subprocess
import sys

SCRIPT = """
import sys
from pathlib import Path
from tests.server.test_effort import CASES, SHAPES, Told, all_of
import pytest
from tests.server.running import weak

weak(pytest.MonkeyPatch())
folder, new = Path(sys.argv[1]), set()
for number, (policy, question) in enumerate(
    [(policy, SHAPES[shape]) for policy, shape in CASES]
):
    one = Told(folder / str(number), policy)
    if "warm" in sys.argv:
        one.service.warm()
    before = set(sys.modules)
    all_of("alice", one, question, lambda work: work())
    new |= set(sys.modules) - before
    one.service.close()
print("new:", *sorted(name for name in new if name.partition(".")[0] in ("discreet", "scipy")))
"""


def loaded(folder, *how):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(folder), *how],
        capture_output=True,
        text=True,
        check=True,
    )
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("new:")]
    return line.split()[1:]


def test_all_that_questions_need_is_loaded_before_anybody_asks(tmp_path):
    for name in ("with", "without"):
        (tmp_path / name).mkdir()
    assert loaded(tmp_path / "with", "warm") == []
    assert "discreet.mechanisms.selection" in loaded(tmp_path / "without")
