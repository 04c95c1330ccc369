import subprocess
import sys
from pathlib import Path
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from discreet.cli.plain import Plain

app = typer.Typer()
told = {}


@app.command(cls=Plain)
def one(
    text: Annotated[str, typer.Argument()],
    maybe: Annotated[str | None, typer.Option()] = None,
    number: Annotated[int, typer.Option()] = 20,
    other: Annotated[int | None, typer.Option()] = None,
    path: Annotated[Path | None, typer.Option()] = None,
    several: Annotated[list[str] | None, typer.Option()] = None,
    flag: Annotated[bool, typer.Option("--flag")] = False,
    real: Annotated[float, typer.Option()] = 0.5,
):
    told.update(locals())


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ((), {"maybe": None, "number": 20, "other": None, "path": None, "flag": False}),
        (("--maybe", "x", "--flag"), {"maybe": "x", "flag": True}),
        (("--maybe", ""), {"maybe": ""}),
        (("--number", "7", "--other", "-3"), {"number": 7, "other": -3}),
        (("--path", "a/b"), {"path": Path("a/b")}),
        (("--several", "a", "--several", "b"), {"several": ["a", "b"]}),
        (("--real", "1.5"), {"real": 1.5}),
    ],
)
def test_values_are_those_that_typer_gives(words, wanted):
    told.clear()
    found = CliRunner().invoke(app, ["hello", *words])
    assert found.exit_code == 0, found.output
    assert {name: told[name] for name in wanted} == wanted
    assert told["text"] == "hello"
    assert all(type(told[name]) is type(wanted[name]) for name in wanted)


def test_help_shows_no_type_of_a_flag():
    found = CliRunner().invoke(app, ["--help"])
    assert found.exit_code == 0
    assert "--flag" in found.output
    assert "bool" not in found.output.lower()


@pytest.mark.parametrize(
    "words", [(), ("x", "--number", "many"), ("x", "--number", "9" * 5000), ("x", "--other", "1.5")]
)
def test_what_is_wrong_is_told_by_typer(words):
    assert CliRunner().invoke(app, list(words)).exit_code == 2


def test_no_validator_is_built_for_a_plain_command(here):
    code = (
        "import sys\n"
        "from typer.testing import CliRunner\n"
        "from discreet.cli import app\n"
        "found = CliRunner().invoke(app, ['budget', 'payroll.csv'])\n"
        "assert found.exit_code == 0, found.output\n"
        "print('pydantic' in sys.modules)\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"
