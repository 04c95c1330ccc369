"""Real processes: what a shell, a pipe and cron see."""

import json
import os
import subprocess
import sys

import pytest

COMMAND = (sys.executable, "-m", "discreet")
COUNT = "SELECT COUNT(*) FROM payroll"


def process(*words, code=0, **more):
    found = subprocess.run(
        [*COMMAND, *words], capture_output=True, text=True, check=False, timeout=120, **more
    )
    assert found.returncode == code, found.stderr
    assert "Traceback" not in found.stderr
    return found


def test_two_processes_add_up_and_a_repeated_question_is_free(here):
    by = ("--by", "department", "--keys", "Fire,Police")
    first = process("count", "payroll.csv", *by, "--epsilon", "0.5")
    process("count", "payroll.csv", "--epsilon", "0.25")
    assert "left epsilon 9.25 of 10" in process("count", "payroll.csv", "--epsilon", "0.25").stderr
    again = process("count", "payroll.csv", *by, "--epsilon", "0.5")
    assert again.stdout == first.stdout
    assert again.stderr.startswith("free: ")
    told = json.loads(process("budget", "payroll.csv", "--json").stdout)
    assert told[0]["spent"]["epsilon"] == "0.75"


def test_racing_processes_never_overspend(registered):
    racing = [
        subprocess.Popen(
            [*COMMAND, "ask", "policy.toml", f"{COUNT} WHERE salary > {i}", "--epsilon", "1"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        for i in range(5)
    ]  # fmt: skip
    assert sorted(one.wait(timeout=120) for one in racing) == [0, 0, 0, 3, 3]
    process("ledger", "verify", "policy.toml")


def test_the_exit_codes_of_a_process(registered):
    process("count", "none.csv", "--epsilon", "1", code=2)
    process("ask", "policy.toml", COUNT, "--epsilon", "5", code=3)
    process("nonsense", code=2)
    (registered / "staff.ledger.head").unlink()
    process("ask", "policy.toml", COUNT, code=4)
    (registered / "broken.parquet").write_text("no parquet")
    process("count", "broken.parquet", "--epsilon", "1", code=5)


def test_a_terminal_that_knows_no_letters(here):
    for encoding in ("ascii", "latin-1", "cp1252"):
        poor = {**os.environ, "PYTHONIOENCODING": encoding, "LC_ALL": "C"}
        words = [*COMMAND, "count", "payroll.csv", "--epsilon", "1"]
        found = subprocess.run(words, capture_output=True, check=False, timeout=120, env=poor)
        assert found.returncode == 0, found.stderr
        assert b"count" in found.stdout


def test_a_reader_that_leaves_early(here):
    bins = ("--range", "0:400000", "--bins", "9999")
    words = (*COMMAND, "histogram", "payroll.csv", "salary", *bins, "--epsilon", "1")
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as writing:
        writing.stdout.readline()
        writing.stdout.close()
        said = writing.stderr.read().decode()
        writing.wait(timeout=120)
    assert "Traceback" not in said


def test_a_read_only_folder(registered):
    if os.geteuid() == 0:
        pytest.skip("root writes everywhere")
    registered.chmod(0o500)
    try:
        process("count", "payroll.csv", "--epsilon", "1", code=4)
    finally:
        registered.chmod(0o700)


HEAVY = (
    *("altair", "vl_convert", "scipy", "pandas", "pyarrow", "dp_accounting", "psycopg"),
    *("pydantic", "rich", "sqlalchemy.dialects.postgresql"),
    *("discreet.publish", "discreet.local", "discreet.server", "discreet.gallery"),
    *("discreet.curator.consistent", "discreet.curator.decided", "discreet.curator.foretold"),
    *("discreet.curator.quantiles", "discreet.mechanisms.keys", "discreet.mechanisms.selection"),
)


@pytest.mark.parametrize("times", [1, 2], ids=["new", "stored"])
def test_nothing_heavy_is_loaded_for_a_count(here, times):
    """Charts, frames, accountants and publications are for the commands that need them."""
    code = (
        "import os, sys\n"
        "from discreet.cli import main\n"
        "def leave(code):\n"
        "    assert code == 0\n"
        f"    print('loaded:', *(name for name in {HEAVY} if name in sys.modules))\n"
        "os._exit = leave\n"
        "main()\n"
    )
    words = ("count", "payroll.csv", "--by", "department", "--keys", "Fire,Police", "--epsilon=1")
    for _ in range(times):
        found = subprocess.run(
            [sys.executable, "-c", code, *words],
            capture_output=True, text=True, check=True, timeout=120,
        )  # fmt: skip
    assert found.stdout.splitlines()[-1] == "loaded:"
