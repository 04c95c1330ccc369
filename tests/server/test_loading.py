"""No question of any kind has a running server load or make what others need, too."""

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
print("new:", *sorted(name for name in new if not name.startswith("tests.")))
"""
FIRST = """
import sys
from pathlib import Path
from tests.server.test_effort import FREE, RICH, SHAPES, Told, calls
import pytest
from tests.server.running import weak

weak(pytest.MonkeyPatch())
one = Told(Path(sys.argv[1]) / "first", RICH)
if "warm" in sys.argv:
    one.service.warm()
met = {
    who: {route: calls(lambda: one.tell(who, route, SHAPES["several"])) for route in FREE}
    for who in ("alice", "bob")
}
one.service.close()
more = [met["alice"][route] - met["bob"][route] for route in ("explain", "errors", "list")]
print("new:", *sorted(name for calls in more for _, name, _ in calls))
"""


def loaded(folder, *how, script=SCRIPT):
    done = subprocess.run(
        [sys.executable, "-c", script, str(folder), *how],
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


def test_who_asks_first_waits_for_nothing_that_is_made_for_all(tmp_path):
    """But for the made-up rows of a dataset, which the first rehearsal makes."""
    for name in ("with", "without"):
        (tmp_path / name).mkdir()
    assert loaded(tmp_path / "with", "warm", script=FIRST) == []
    missing = loaded(tmp_path / "without", script=FIRST)
    assert {"_dialect", "_reserved", "Statement.__init__"} <= set(missing)
