"""What somebody else wrote reaches a program as it is, and a terminal without its power."""

import csv
import io
import json
import os
import pty
import subprocess
import sys

import pytest

from discreet.cli.printing import hand_out, hand_out_json, harmless, say

NAME = "\x1b[2J\x1b[31mx"
QUESTION = f'SELECT COUNT(*) AS "{NAME}" FROM payroll'


class _Terminal(io.StringIO):
    def isatty(self):
        return True


def on_terminal(*words):
    """What the terminal is sent by a real process, without the colours of the command itself."""
    mine, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "discreet", *words], stdout=theirs, stderr=theirs, text=False
    ) as process:
        os.close(theirs)
        sent = b""
        while True:
            try:
                part = os.read(mine, 1 << 16)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            sent += part
        assert process.wait(60) == 0, sent
    os.close(mine)
    return sent.decode()


@pytest.fixture
def asked(registered, run):
    run("ask", "policy.toml", QUESTION, "--as", "bob", "--key", "from-bob")
    return registered


@pytest.mark.parametrize(
    "words",
    [
        ("ledger", "show", "policy.toml", "--csv"),
        ("export", "from-bob", "--policy", "policy.toml", "--csv"),
        ("export", "from-bob", "--policy", "policy.toml"),
        ("explain", "policy.toml", QUESTION),
        ("check", "policy.toml"),
    ],
)
def test_no_word_of_an_analyst_drives_a_terminal(words, asked):
    policy = asked / "policy.toml"
    text = policy.read_text().replace('"Library"', '"Library", "\\u001b[2J\\u001b[31mx"')
    if words[0] == "check":
        policy.write_text(text)
    sent = on_terminal(*words)
    assert "\x1b[2J" not in sent
    assert "\x1b[31mx" not in sent
    written = "\\u001b[2J" if words == ("export", "from-bob", "--policy", "policy.toml") else None
    assert (written or "\\x1b[2J") in sent


def test_a_file_gets_every_letter(asked):
    def written(*words):
        made = subprocess.run(
            [sys.executable, "-m", "discreet", *words], capture_output=True, check=True, timeout=60
        )
        return made.stdout.decode()

    found = written("export", "from-bob", "--policy", "policy.toml", "--csv")
    assert next(csv.reader(io.StringIO(found)))[0] == NAME
    listed = written("ledger", "show", "policy.toml", "--csv")
    assert any(NAME in cell for row in csv.reader(io.StringIO(listed)) for cell in row)
    told = json.loads(written("show", "from-bob", "--policy", "policy.toml", "--json"))
    assert told["release"]["columns"][0]["name"] == NAME


def test_lines_stay_lines():
    assert harmless("a\tb\r\nc\x9b2J\u202e\n") == "a\\tb\nc\\x9b2J\\u202e\n"


def test_exactly_in_a_pipe_and_harmless_on_a_terminal(monkeypatch, capsys):
    hand_out("a\x1b[2J\r\n")
    assert capsys.readouterr().out == "a\x1b[2J\r\n"
    terminal = _Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    hand_out("a\x1b[2J\r\n")
    hand_out_json({"a": "\x1b\x7f"})
    assert terminal.getvalue() == 'a\\x1b[2J\n{\n  "a": "\\u001b\\u007f"\n}\n'


def test_people_are_told_the_same_everywhere(capsys):
    say("a\x1b[2J")
    say("b\x1b[2J", err=True, dim=True)
    assert capsys.readouterr() == ("a\\x1b[2J\n", "b\\x1b[2J\n")
