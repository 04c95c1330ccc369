"""Each exit code, and no traceback for anybody who did not ask for one."""

import pytest
import typer
from typer.testing import CliRunner

from discreet import errors as e
from discreet.cli import app, curating
from discreet.cli.errors import Guarded, code_of, to_an_analyst


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


def test_help_tells_the_codes():
    told = " ".join(CliRunner().invoke(app, ["--help"]).output.split())
    for words in (
        "0 all is well",
        "1 a check failed",
        "3 refused: budget",
        "5 the database failed",
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
