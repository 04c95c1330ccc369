"""Each exit code, and no traceback for anybody who did not ask for one."""

import json
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from discreet import errors as e
from discreet.cli import app, curating, ledgers
from discreet.cli.errors import CommandError, Guarded, code_of, to_an_analyst
from discreet.curator.ledger.steps import on_step


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (e.NothingFoundError("x"), 1),
        (e.ParameterError("x", 1, "is wrong"), 2),
        (e.QueryError("x"), 2),
        (e.InputTypeError("x"), 2),
        (e.UnsupportedError("x"), 2),
        (e.BudgetExceededError("x", asked=None, left=None, could=None), 3),
        (e.LedgerError("x"), 4),
        (e.EngineError("x"), 5),
        (CommandError("x", kind="check", code=1), 1),
    ],
)
def test_every_error_has_its_code(error, code):
    assert code_of(error) == code
    small = typer.Typer(cls=Guarded)

    @small.callback()
    def main():
        pass

    @small.command()
    def fail():
        raise error

    found = CliRunner().invoke(small, ["fail"])
    assert found.exit_code == code
    assert found.stdout == ""
    assert found.stderr.strip() == f"{error}."


# for machines

COUNT = "SELECT COUNT(*) AS n FROM payroll"


def told(found):
    """The error that a machine reads: the last line."""
    assert found.stdout == ""
    read = json.loads(found.stderr.splitlines()[-1])
    assert read["exit"] == found.exit_code
    return read["error"]


def test_an_offer_can_be_read_by_a_machine(registered, run):
    words = ("ask", "policy.toml", COUNT, "--epsilon", "1.5", "--as", "alice", "--json")
    found = told(run(*words, code=3))
    assert found["kind"] == "budget"
    assert found["charged"] is False
    assert "With epsilon 1 it could be answered" in found["message"]
    assert found["account"] == "staff@alice"
    assert found["cost"] == {"epsilon": "1.5", "delta": "0"}
    assert found["left"] == {"epsilon": "1", "delta": "0"}
    assert found["offer"]["epsilon"] == "1"
    (column,) = found["offer"]["columns"]
    assert column["name"] == "n"
    assert column["within"] >= 1


def test_a_machine_learns_no_more_of_others_than_a_person(registered, run):
    run("ask", "policy.toml", COUNT, "--epsilon", "2.5")
    words = ("ask", "policy.toml", COUNT + " LIMIT 1", "--epsilon", "0.7", "--as", "bob", "--json")
    found = run(*words, code=3)
    assert set(told(found)) == {"kind", "message", "charged", "cost"}
    assert "0.5" not in found.stderr


@pytest.mark.parametrize(
    ("words", "kind", "charged", "code"),
    [
        (("ask", "policy.toml", "SELECT salary FROM payroll"), "query", False, 2),
        (("ask", "policy.toml", COUNT, "--epsilon", "0"), "parameter", False, 2),
        (("ask", "policy.toml"), "usage", False, 2),
        (("ask", "policy.toml", COUNT, "--epsilom", "1"), "usage", False, 2),
        (("asc", "policy.toml", COUNT), "usage", False, 2),
        (("ledger", "verfy", "policy.toml"), "usage", False, 2),
        (("ledger", "show", "there-is-none.ledger"), "ledger", None, 4),
        (("export", "abcd", "--policy", "policy.toml", "-o", "no/such/place"), "file", None, 2),
        (("audit", "--only", "Nonsense"), "parameter", False, 2),
    ],
)
def test_every_error_can_be_read_by_a_machine(registered, run, words, kind, charged, code):
    run("ask", "policy.toml", COUNT, "--key", "abcd")
    found = told(run(*words, "--json", code=code))
    assert (found["kind"], found["charged"]) == (kind, charged)
    assert found["message"]


def test_a_word_that_is_no_option_asks_for_no_json(registered, run):
    found = run("ask", "policy.toml", "--epsilon", "0", "--", COUNT, "--json", code=2)
    assert not found.stderr.startswith("{")


def test_a_machine_reads_of_a_fault_what_its_reader_may_know(registered, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("row 17 holds 123456")

    monkeypatch.setattr(curating, "answered", broken)
    words = ["ask", "policy.toml", COUNT, "--epsilon", "1", "--json"]
    owner = told(CliRunner().invoke(app, words))
    assert owner["kind"] == "internal"
    assert "123456" in owner["trace"]
    analyst = CliRunner().invoke(app, [*words, "--as", "alice"])
    assert "trace" not in told(analyst)
    assert "123456" not in analyst.output


def test_every_command_can_speak_to_machines():
    def walk(command, path):
        for name, inner in getattr(command, "commands", {}).items():
            yield from walk(inner, [*path, name])
        if not hasattr(command, "commands"):
            yield " ".join(path), {word for option in command.params for word in option.opts}

    found = dict(walk(typer.main.get_command(app), []))
    assert len(found) > 30
    assert [name for name, words in found.items() if "--json" not in words] == []


# Ctrl-C


@contextmanager
def interrupted_at(label):
    """Ctrl-C comes at a step of the ledger."""

    def interrupt(step):
        if step == label:
            raise KeyboardInterrupt

    on_step(interrupt)
    try:
        yield
    finally:
        on_step(None)


CHARGED = "after the head of reserve"


@pytest.mark.parametrize("who", [[], ["--as", "alice"]], ids=["owner", "analyst"])
@pytest.mark.parametrize(
    "named", [[], ["--key", "monday-of-a-long-year"]], ids=["unnamed", "named"]
)
def test_who_is_interrupted_is_told_how_to_go_on(registered, run, who, named):
    """The release that the ledger lists is a key, for an owner as for an analyst."""
    words = ("ask", "policy.toml", COUNT, "--epsilon", "0.5", *who)
    with interrupted_at(CHARGED):
        said = run(*words, *named, code=130)
    assert said.stdout == ""
    assert said.stderr.startswith("interrupted. A question that was charged by then stays charged")
    assert "release that is listed, it goes on at no further charge" in said.stderr
    (line,) = json.loads(run("ledger", "show", "policy.toml", "--json").stdout)["entries"]
    assert line["state"] == "waiting"
    waits = run("show", line["release"][:12], "--policy", "policy.toml", code=2).stderr
    assert "was charged and is not answered yet" in waits
    said = waits.partition("asked again with ")[2].partition(", goes on")[0].split()
    assert said == [*who, "--key", line["release"]]
    assert "epsilon 0.5 of 3 spent" in run("budget", "policy.toml").stdout
    run(*words, "--key", line["release"])
    if named:
        run(*words, *named)
    assert "epsilon 0.5 of 3 spent" in run("budget", "policy.toml").stdout
    run("show", line["release"], "--policy", "policy.toml")
    assert "Intact" in run("ledger", "verify", "policy.toml").stdout


def test_a_machine_reads_that_it_was_interrupted(registered, run):
    with interrupted_at("before reserve"):
        found = told(run("ask", "policy.toml", COUNT, "--json", code=130))
    assert (found["kind"], found["charged"]) == ("interrupted", None)
    with interrupted_at("before reserve"):
        said = run("count", "payroll.csv", "--epsilon", "1", code=130).stderr
    assert "asked again, it is charged again" in said
    assert "--key" not in said


def test_what_charges_nothing_is_only_interrupted(registered, run, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(ledgers, "place_of", interrupt)
    monkeypatch.setattr(curating, "place_of", interrupt)
    assert run("ledger", "show", "policy.toml", code=130).stderr == "interrupted.\n"
    assert run("budget", "policy.toml", code=130).stderr == "interrupted.\n"


# answers that cannot be written


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full disk here")
@pytest.mark.parametrize("machine", [False, True])
def test_an_answer_that_finds_no_place_is_charged_and_kept(registered, run, machine):
    words = ["ask", "policy.toml", COUNT, "--epsilon", "0.5", *(["--json"] if machine else [])]
    with Path("/dev/full").open("w") as full:
        found = subprocess.run(
            [sys.executable, "-m", "discreet", *words],
            stdout=full, stderr=subprocess.PIPE, text=True, env={**os.environ}, check=False,
        )  # fmt: skip
    assert found.returncode == 2
    message = found.stderr
    if machine:
        read = json.loads(found.stderr)["error"]
        assert (read["kind"], read["charged"]) == ("file", True)
        message = read["message"]
    assert "No space left on device. Epsilon 0.5 was charged" in message
    assert "asking again is free" in message
    assert run(*words).stderr.startswith("" if machine else "free: ")


def test_a_figure_that_cannot_be_written_is_charged_and_said(registered, run):
    (registered / "folder.png").mkdir()
    words = ("ask", "policy.toml", "SELECT department, COUNT(*) AS n FROM payroll GROUP BY 1")
    found = run(*words, "--plot", "folder.png", code=2).stderr
    assert "epsilon 0.1 was charged" in found.lower()
    again = run(*words, "--plot", "folder.png", code=2).stderr
    assert "Nothing was charged" in again
    lost = run("count", "payroll.csv", "--by", "department", "--keys", "Fire,Police", "--epsilon",
               "1", "--no-ledger", "--plot", "folder.png", code=2).stderr  # fmt: skip
    assert "The answer is lost" in lost


def test_help_tells_the_codes():
    told = " ".join(CliRunner().invoke(app, ["--help"]).output.split())
    for words in (
        "0 all is well",
        "1 a check failed",
        "3 refused: budget",
        "5 the database failed",
        "130 interrupted",
        "an error as JSON: kind, message, charged",
    ):
        assert words in told


def test_words_cannot_drive_the_terminal(run, here):
    found = run("count", "\x1b[2Jevil\n.csv", "--epsilon", "1", code=2)
    assert r"\x1b[2J" in found.stderr
    run("check", "\x1b[2J.toml", code=2)


def test_a_fault_is_shown_to_the_owner_only(registered, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("row 17 holds 123456")

    monkeypatch.setattr(curating, "answered", broken)
    words = ["ask", "policy.toml", "SELECT COUNT(*) FROM payroll", "--epsilon", "1"]
    owner = CliRunner().invoke(app, words)
    assert owner.exit_code == 70
    assert "Traceback" in owner.stderr
    assert "fault of the program" in owner.stderr
    analyst = CliRunner().invoke(app, [*words, "--as", "alice"])
    assert analyst.exit_code == 70
    assert "Traceback" not in analyst.output
    assert "123456" not in analyst.output
    assert "the owner of the data can find out" in analyst.stderr


def test_what_cannot_be_written(run, registered):
    (registered / "folder.html").mkdir()
    run("ask", "policy.toml", "SELECT COUNT(*) FROM payroll", "--key", "abcd")
    found = run("report", "abcd", "--policy", "policy.toml", "-o", "folder.html", code=2)
    assert "directory" in found.stderr


def test_the_callback_of_as_changes_nothing():
    class Context:
        meta: dict[str, str] = {}  # noqa: RUF012

    assert to_an_analyst(Context(), None, None) is None
    assert Context.meta == {}
    assert to_an_analyst(Context(), None, "alice") == "alice"
    assert Context.meta


HOSTILE = ("", "0", "-1", "nan", "inf", "1e999999", "9" * 5000, "1/0", "%s", "{}", "--")


@pytest.mark.parametrize("value", HOSTILE, ids=lambda value: value[:8])
def test_hostile_numbers_are_refused_in_words(value, registered, run):
    average = "SELECT AVG(salary) FROM payroll"
    for option in ("epsilon", "within"):
        run("count", "payroll.csv", f"--{option}={value}", code=2)
    for option in ("delta", "budget"):
        if (option, value) != ("delta", "0"):
            run("count", "payroll.csv", f"--{option}={value}", "--epsilon", "1", code=2)
    for option in ("rho", "rows", "key", "as"):
        if (option, value) not in {("key", "0"), ("key", "-1"), ("key", "nan"), ("key", "inf"),
                                   ("key", "--"), ("key", "1e999999")}:  # fmt: skip
            words = ("--within", "5000") if option == "rows" else ()
            run("ask", "policy.toml", average, *words, f"--{option}={value}", code=2)
    for option in ("max-rows", "max-groups", "delimiter"):
        words = ("--person", "person", f"--{option}={value}", "--epsilon", "1")
        if (option, value) != ("delimiter", "0"):
            run("count", "payroll.csv", *words, code=2)
    run("histogram", "payroll.csv", "salary", f"--range={value}", "--epsilon", "1", code=2)
    run("histogram", "payroll.csv", "salary", "--range=0:9", f"--bins={value}", "--epsilon", "1",
        code=2)  # fmt: skip
