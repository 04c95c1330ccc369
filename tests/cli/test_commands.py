import subprocess
import sys

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from discreet.cli.commands import made

WHOLE = get_command(made()).commands


@pytest.mark.parametrize("name", sorted(WHOLE))
def test_a_command_alone_is_what_it_is_among_all(name):
    alone = get_command(made(name)).commands
    assert list(alone) == [name]
    assert type(alone[name]) is type(WHOLE[name])
    helps = [CliRunner().invoke(app, [name, "--help"]).output for app in (made(name), made())]
    assert helps[0] == helps[1]
    assert "Usage" in helps[0]


@pytest.mark.parametrize("word", [None, "", "--help", "--version", "cuont", "Count"])
def test_what_is_no_command_needs_them_all(word):
    assert list(get_command(made(word)).commands) == list(WHOLE)


def test_the_process_loads_no_other_command():
    code = (
        "import os, sys\n"
        "from discreet.cli import main\n"
        "sys.argv = ['discreet', 'count', '--help']\n"
        "os._exit = lambda code: print(*(n for n in sys.modules if 'discreet.cli.' in n))\n"
        "main()\n"
    )
    command = [sys.executable, "-c", code]
    found = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert "Count the rows of a file" in found.stdout
    loaded = set(found.stdout.splitlines()[-1].split())
    assert loaded == {
        f"discreet.cli.{name}"
        for name in ("answers", "commands", "errors", "files", "options", "plain", "printing")
    }
