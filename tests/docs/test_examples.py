"""What the documentation says is run: every example, every command, and the build itself."""

import doctest
import json
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from discreet.cli import app
from discreet.curator.curator import Curator

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
FENCE = re.compile(
    r"^(?P<mark>`{3,})(?P<kind>[^\n`]*)\n(?P<text>.*?)^(?P=mark)\s*$", re.MULTILINE | re.DOTALL
)
PYTHON, SHELL = {"python", "pycon"}, {"console", "sh", "bash", "shell"}


@dataclass(frozen=True)
class Block:
    """One fenced block of a page."""

    kind: str
    text: str
    line: int


def pages():
    """Every page that a reader may open."""
    found = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
    found += [path for path in DOCS.rglob("*.md") if "_build" not in path.parts]
    return sorted(path for path in found if path.exists())


def blocks(page):
    """The fenced blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(found["kind"].strip(), found["text"], text.count("\n", 0, found.start()) + 1)
        for found in FENCE.finditer(text)
    ]


def name_of(page):
    return page.relative_to(ROOT).as_posix()


def run_python(page, block, names):
    """Run one block in the page's namespace: a session by doctest, a program by exec."""
    if ">>>" not in block.text:
        code = compile("\n" * block.line + block.text, str(page), "exec")
        exec(code, names)
        return
    parser = doctest.DocTestParser()
    test = parser.get_doctest(block.text, names, name_of(page), str(page), block.line)
    test.globs = names  # the session's own names are the page's
    told = []
    runner = doctest.DocTestRunner()
    runner.run(test, out=told.append, clear_globs=False)
    assert runner.failures == 0, "".join(told)


WITH_PYTHON = [page for page in pages() if any(block.kind in PYTHON for block in blocks(page))]


@pytest.mark.parametrize("page", WITH_PYTHON, ids=name_of)
def test_every_example_is_true(page, tmp_path, monkeypatch):
    """One namespace per page, blocks in order, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "example"}
    for block in blocks(page):
        if block.kind in PYTHON:
            run_python(page, block, names)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [(">>> 1 + 1\n3\n", AssertionError), ("assert 1 + 1 == 3\n", AssertionError)],
)
def test_a_wrong_example_is_found(text, wrong):
    """The planted fault: both kinds of block fail when they are false."""
    with pytest.raises(wrong):
        run_python(ROOT / "planted.md", Block("python", text, 1), {})


def commands(first):
    """All shell lines of the pages that start with this word, without their prompts."""
    found = set()
    for page in pages():
        for block in blocks(page):
            if block.kind in SHELL:
                text = block.text.replace("\\\n", " ")
                lines = (line.removeprefix("$ ").strip() for line in text.splitlines())
                found |= {(name_of(page), line) for line in lines if line.split(" ")[0] == first}
    return sorted(found)


@cache
def tree():
    """All commands, made once."""
    return typer.main.get_command(app)


@pytest.mark.parametrize(("page", "line"), commands("discreet"))
def test_every_discreet_command_parses(page, line):
    """Its arguments are accepted, without running it, and its help exits with 0."""
    words = shlex.split(line.split("|")[0].split(">")[0], comments=True)[1:]
    command = tree()
    if words and words[0].startswith("-"):
        assert {"--help": True, "--version": True}[words[0]]
        return
    chosen, depth = command.commands[words[0]], 1
    while hasattr(chosen, "commands"):
        chosen, depth = chosen.commands[words[depth]], depth + 1
    assert chosen.make_context(words[depth - 1], words[depth:]).params is not None
    with pytest.raises(SystemExit) as left:
        command([*words[:depth], "--help"], prog_name="discreet")
    assert left.value.code == 0


@pytest.mark.slow
def test_the_guide_of_the_curator_runs_from_top_to_bottom(tmp_path, monkeypatch):
    """All its commands, in order, on the made-up payroll; and its script for cron, as processes.

    tests/cli/test_process.py has the commands as processes.
    """
    from discreet.gallery.data import write_payroll

    page = DOCS / "guides" / "curator.md"
    monkeypatch.chdir(tmp_path)
    write_payroll("payroll.csv", people=2000)
    scripts = Path(sys.executable).parent
    monkeypatch.setenv("PATH", f"{scripts}:/usr/bin:/bin")
    for block in blocks(page):
        if block.kind == "toml" and "[ledger]" in block.text:
            Path("policy.toml").write_text(block.text, encoding="utf-8")
        if block.kind == "console":
            for line in block.text.splitlines():
                name, *words = shlex.split(line.removeprefix("$ "))
                if name == "touch":
                    os.utime(*words, (1, 1))
                    continue
                assert name == "discreet", line
                done = CliRunner().invoke(app, words)
                assert done.exit_code == 0, f"{line}\n{done.output}\n{done.exception!r}"
        if block.kind == "sh":
            text = block.text.replace("/srv/staff/venv/bin", str(scripts))
            assert "/srv/staff" in text
            (tmp_path / "nightly.sh").write_text(text.replace("/srv/staff", str(tmp_path)))
            _nights(tmp_path)
    from discreet.gallery.policies import write_policy

    text = next(b.text for b in blocks(page) if b.kind == "toml" and "[ledger]" in b.text)
    assert write_policy("again.toml").read_text(encoding="utf-8") == text


def _nights(folder):
    """The script for cron: each night's data cost their share, and are what is answered from.

    False alarm below 1e-9: of 20 times as many rows, the noise of a night is a hundredth.
    """
    from discreet.gallery.data import write_payroll

    def night(day, *, code=0):
        os.utime(folder / "payroll.csv", (day * 86_400, day * 86_400))
        words = ["sh", str(folder / "nightly.sh")]
        cron = {"TZ": "UTC", "PYTHONPATH": os.environ.get("PYTHONPATH", "")}
        done = subprocess.run(
            words, cwd="/", env=cron, timeout=120, capture_output=True, text=True, check=False
        )
        assert done.returncode == code, done.stderr
        assert not (folder / "nightly.new").exists()
        return json.loads((folder / "nightly.json").read_text(encoding="utf-8"))

    def rows(told):
        return sum(row[1] for row in told["record"]["release"]["rows"])

    def spent():
        with Curator(folder / "policy.toml") as curator:
            return curator.accounts()["staff"].spent.value()

    before = spent()
    first = night(20_000)
    assert night(20_000)["record"] == first["record"]
    assert spent() - before == Fraction(1, 100)
    write_payroll(folder / "payroll.csv", people=40_000)
    second = night(20_001)
    assert second["record"]["data_version"] == "2024-10-05-000000"
    assert rows(second) > 60_000 > 30_000 > rows(first)
    assert spent() - before == Fraction(2, 100)
    with Curator(folder / "policy.toml") as curator:
        curator.ask("SELECT COUNT(*) AS n FROM payroll", epsilon=100, with_what_is_left=True)
    assert night(20_002, code=3) == second, "yesterday's answer stays"


@pytest.mark.parametrize(("page", "line"), commands("make"))
def test_every_make_command_exists(page, line):
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = [word for word in shlex.split(line, comments=True)[1:] if "=" not in word]
    for target in targets:
        assert re.search(rf"^{re.escape(target)}:", makefile, re.MULTILINE), target


def test_no_page_names_a_machine_or_asks_the_network():
    """No absolute paths of a machine; nothing in the settings that loads from outside."""
    for page in pages():
        text = page.read_text(encoding="utf-8")
        assert not re.search(r"(/home/|/root/|/Users/|[A-Z]:\\)", text), name_of(page)
    settings = (DOCS / "conf.py").read_text(encoding="utf-8")
    assert not re.search(r"https?://|intersphinx|mathjax|imgmath", settings)


def test_every_public_name_is_in_the_reference():
    import discreet as dp

    text = (DOCS / "api.md").read_text(encoding="utf-8")
    missing = [name for name in dp.__all__ if not re.search(rf"discreet\.{name}\b", text)]
    assert not missing


def test_every_decision_is_listed_and_says_what_it_costs():
    """Each page has its three parts, and the index names it."""
    folder = DOCS / "decisions"
    index = (folder / "index.md").read_text(encoding="utf-8")
    found = sorted(path for path in folder.glob("[0-9]*.md"))
    assert [path.name[:4] for path in found] == [f"{i:04}" for i in range(1, len(found) + 1)]
    for path in found:
        text = path.read_text(encoding="utf-8")
        assert path.stem in index, path.name
        for part in ("## Context", "## Choice", "## What it costs"):
            assert part in text, f"{path.name} has no part {part!r}"


@pytest.mark.slow
def test_the_site_builds_without_a_warning(tmp_path):
    """Without the names of all objects in the side bar, which take a while and cannot warn."""
    pytest.importorskip("sphinx")
    pytest.importorskip("furo")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html"]
    command += ["-D", "toc_object_entries=0"]
    command += ["-d", str(tmp_path / "doctrees"), str(DOCS), str(tmp_path / "html")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    index = (tmp_path / "html" / "index.html").read_text(encoding="utf-8")
    assert not re.search(r"<(?:script|link|img)[^>]*(?:src|href)=\"(?:https?:)?//", index)
