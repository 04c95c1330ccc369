"""`discreet people` and `discreet key`, as an owner types them."""

import json
import os
from pathlib import Path

import pytest
from tests.curator.access.people import cheapen
from typer.testing import CliRunner

from discreet.cli import app
from discreet.curator.access import Access
from discreet.curator.ledger.ledger import Ledger


@pytest.fixture(autouse=True)
def cheap(monkeypatch):
    monkeypatch.delenv("DISCREET_SECRET", raising=False)
    cheapen(monkeypatch)


@pytest.fixture
def open_access(registered):
    """Who is let in, as a server sees it."""
    opened = []

    def opens():
        opened.append(Ledger("staff.ledger"))
        return Access.at(opened[-1])

    yield opens
    for one in opened:
        one.close()


def test_the_whole_story(registered, run, open_access):
    found = run("people", "add", "policy.toml", "alice", "--generate", "--datasets", "payroll")
    assert found.stdout.startswith("alice is an analyst.\npassword: ")
    assert "never again" in found.stderr
    word = found.stdout.split("password: ")[1].strip()
    assert (registered / "staff.ledger.secret").stat().st_mode & 0o777 == 0o600
    access = open_access()
    token, session = access.login("alice", word)
    assert session.credential.datasets == ("payroll",)

    found = run("key", "make", "policy.toml", "alice", "--days", "5", "--label", "nightly")
    key = found.stdout.strip()
    assert "never again" in found.stderr
    assert access.by_key(key).person.name == "alice"
    listed = run("key", "list", "policy.toml").stdout
    assert "nightly" in listed
    assert key not in listed
    run("key", "revoke", "policy.toml", key.split("_")[1])
    assert access.by_key(key) is None
    assert "revoked" in run("key", "list", "policy.toml").stdout

    (registered / "word").write_text("a word of four letters\nand more\n")
    run("people", "password", "policy.toml", "alice", "--password-file", "word")
    assert access.session(token) is None
    assert access.login("alice", "a word of four letters") is not None
    assert "alice  analyst  payroll" in run("people", "list", "policy.toml").stdout
    run("people", "disable", "policy.toml", "alice")
    assert access.login("alice", "a word of four letters") is None
    assert "shut out" in run("people", "list", "policy.toml").stdout
    run("ledger", "verify", "policy.toml")


def test_for_machines(registered, run, open_access):
    told = json.loads(
        run("people", "add", "policy.toml", "alice", "--generate", "--expires", "2099-01-31",
            "--json").stdout
    )  # fmt: skip
    word = told.pop("password")
    assert told == {
        "name": "alice", "role": "analyst", "datasets": None, "expires": "2099-01-31",
        "has_password": True, "disabled": False,
    }  # fmt: skip
    assert json.loads(run("people", "list", "policy.toml", "--json").stdout) == {"people": [told]}
    assert open_access().login("alice", word) is not None
    made = json.loads(run("key", "make", "policy.toml", "alice", "--json").stdout)
    key = made.pop("key")
    assert key.split("_")[1] == made["id"]
    assert open_access().by_key(key).person.name == "alice"
    (listed,) = json.loads(run("key", "list", "policy.toml", "--json").stdout)["keys"]
    assert listed["last_used"] is not None
    assert {**listed, "last_used": None} == made
    assert json.loads(run("key", "revoke", "policy.toml", made["id"], "--json").stdout)["revoked"]
    told = json.loads(
        run("people", "password", "policy.toml", "alice", "--generate", "--json").stdout
    )
    assert open_access().login("alice", told["password"]) is not None
    assert json.loads(run("people", "disable", "policy.toml", "alice", "--json").stdout)["disabled"]
    assert json.loads(run("people", "reset", "policy.toml", "--json").stdout) == {"reset": True}


def test_a_password_is_asked_for_and_not_shown(registered, open_access):
    words = ["people", "add", "policy.toml", "olga", "--role", "owner"]
    found = CliRunner().invoke(app, words, input="quite a long one\nquite a long one\n")
    assert found.exit_code == 0, found.output
    assert "quite a long one" not in found.output
    assert found.stdout.endswith("olga is an owner.\n")
    assert open_access().login("olga", "quite a long one") is not None
    words = ["people", "password", "policy.toml", "olga"]
    found = CliRunner().invoke(app, words, input="another long one\nanother\nanother long one\n")
    assert found.exit_code != 0, "two that differ are no password"
    assert open_access().login("olga", "quite a long one") is not None


def test_without_a_password_there_are_only_keys(registered, run, open_access):
    run("people", "add", "policy.toml", "rex", "--role", "auditor", "--no-password")
    assert open_access().login("rex", "") is None
    key = run("key", "make", "policy.toml", "rex").stdout.strip()
    assert open_access().by_key(key).person.role == "auditor"


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["add", "policy.toml", "a b", "--generate"], "plain name"),
        (["add", "policy.toml", "owner", "--generate"], "owner's own name"),
        (["add", "policy.toml", "bob"], "added before"),
        (["add", "policy.toml", "eve", "--role", "king", "--generate"], "one of owner"),
        (["add", "policy.toml", "eve", "--generate", "--no-password"], "goes alone"),
        (["add", "policy.toml", "eve", "--generate", "--password-file", "x"], "goes alone"),
        (["add", "policy.toml", "eve", "--password-file", "missing"], "missing"),
        (["add", "policy.toml", "eve", "--password-file", "short"], "at least 10"),
        (["add", "policy.toml", "eve", "--password-file", "empty"], "at least 10"),
        (["add", "policy.toml", "eve", "--password-file", "binary"], "UTF-8"),
        (["add", "policy.toml", "eve", "--generate", "--expires", "soon"], "2027-12-31"),
        (["add", "policy.toml", "eve", "--generate", "--datasets", "a,"], "names of datasets"),
        (["disable", "policy.toml", "eve"], "nobody here"),
        (["password", "policy.toml", "eve"], "nobody who may sign in"),
        (["password", "policy.toml", "gone"], "nobody who may sign in"),
    ],
)
def test_what_is_refused(registered, run, words, problem):
    for name, content in {"short": b"short\n", "empty": b"", "binary": b"\xff\xfe\n"}.items():
        (registered / name).write_bytes(content)
    for name in ("bob", "gone"):
        run("people", "add", "policy.toml", name, "--no-password")
    run("people", "disable", "policy.toml", "gone")
    assert problem in run("people", *words, code=2).stderr


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["make", "policy.toml", "eve"], "nobody here"),
        (["make", "policy.toml", "bob", "--days", "400"], "1 to 366"),
        (["make", "policy.toml", "bob", "--datasets", "other"], "nothing that bob may see"),
        (["revoke", "policy.toml", "000000000000"], "is unknown"),
    ],
)
def test_what_is_refused_of_keys(registered, run, words, problem):
    run("people", "add", "policy.toml", "bob", "--no-password", "--datasets", "payroll")
    assert problem in run("key", *words, code=2).stderr


def test_who_is_not_in_the_policy_yet_is_told(registered, run):
    found = run("people", "add", "policy.toml", "zoe", "--no-password", "--datasets", "payroll,x")
    assert "zoe is no analyst of the policy yet" in found.stderr
    assert "no dataset x yet" in found.stderr
    assert found.stdout == "zoe is an analyst.\n"
    assert "no dataset x yet" in run("key", "make", "policy.toml", "zoe", "--datasets", "x").stderr
    found = run("people", "add", "policy.toml", "olga", "--role", "owner", "--no-password")
    assert not found.stderr


def test_nobody_yet(registered, run):
    assert run("people", "list", "policy.toml").stdout == "Nobody was added.\n"
    assert run("key", "list", "policy.toml").stdout == "No key was made.\n"
    assert not Path("staff.ledger.secret").exists(), "looking makes no secret"


def test_a_lost_secret(registered, run, open_access):
    run("people", "add", "policy.toml", "alice", "--generate")
    Path("staff.ledger.secret").unlink()
    found = run("key", "make", "policy.toml", "alice", code=2).stderr
    assert "is missing" in found
    assert not Path("staff.ledger.secret").exists(), "no other one is made in its place"
    assert "alice" in run("people", "list", "policy.toml").stdout
    run("people", "reset", "policy.toml")
    assert [one.has_password for one in open_access().people] == [False]
    run("key", "make", "policy.toml", "alice")
    run("ledger", "verify", "policy.toml")


def test_another_secret(registered, run, monkeypatch):
    run("people", "add", "policy.toml", "alice", "--generate")
    monkeypatch.setenv("DISCREET_SECRET", "ab" * 32)
    assert "another secret" in run("key", "make", "policy.toml", "alice", code=4).stderr
    monkeypatch.setenv("DISCREET_SECRET", "not one")
    found = run("key", "make", "policy.toml", "alice", code=2).stderr
    assert "32 bytes or more" in found
    assert "not one" not in found
    monkeypatch.delenv("DISCREET_SECRET")
    os.chmod("staff.ledger.secret", 0o640)  # noqa: PTH101
    assert "chmod 600" in run("key", "make", "policy.toml", "alice", code=2).stderr


def test_the_ledger_tells_who_was_let_in(registered, run, open_access):
    run("people", "add", "policy.toml", "alice", "--password-file", _file("a long password"),
        "--datasets", "payroll")  # fmt: skip
    key = run("key", "make", "policy.toml", "alice", "--label", "nightly").stdout.strip()
    which = key.split("_")[1]
    run("key", "revoke", "policy.toml", which)
    run("people", "password", "policy.toml", "alice", "--generate")
    open_access().login("alice", "wrong")
    open_access().note("exported", who="alice", release="3f2a")
    run("people", "reset", "policy.toml")
    run("people", "disable", "policy.toml", "alice")
    changes = (
        "alice was added as analyst, for payroll", f"key {which} (nightly) of alice until 20",
        f"key {which} was revoked", "alice got a new password", "a new secret",
        "all keys revoked, all passwords forgotten: a new secret", "alice was shut out",
    )  # fmt: skip
    notes = ("login failed: times 1", "exported: release 3f2a")
    found = run("ledger", "show", "policy.toml").stdout
    everything = run("ledger", "show", "policy.toml", "--all").stdout
    for words in changes:
        assert words in found
        assert words in everything
    for words in notes:
        assert words not in found
        assert words in everything
    assert key.split("_")[2] not in everything
    alone = run("ledger", "show", "policy.toml", "--all", "--analyst", "alice").stdout
    assert "exported" in alone
    assert "was shut out" not in alone
    assert "10 about who is let in" in run("ledger", "verify", "policy.toml").stdout
    told = json.loads(run("ledger", "verify", "policy.toml", "--json").stdout)
    assert (told["access"], told["people"], told["keys"]) == (10, 1, 1)


def _file(text):
    Path("word").write_text(text)
    return "word"


def test_the_secret_lies_where_the_policy_says(tmp_path, monkeypatch):
    from discreet.curator.curator import Curator

    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DISCREET_SECRET", raising=False)
    text = '[ledger]\npath = "x.ledger"\n[server]\nsecret = "deep.secret"\n'
    (tmp_path / "policy.toml").write_text(text)
    Curator.register(tmp_path / "policy.toml")
    arguments = ["people", "add", "policy.toml", "ann", "--role", "auditor", "--no-password"]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    assert (tmp_path / "deep.secret").stat().st_mode & 0o777 == 0o600
    assert not (tmp_path / "x.ledger.secret").exists()
