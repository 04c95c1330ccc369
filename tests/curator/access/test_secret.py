"""The secret: where it comes from, who may read it, and that nothing quotes it."""

import base64
import os
import threading
from pathlib import Path

import pytest
from tests.curator.access.people import OTHER, SECRET

from discreet.curator.access.secret import Pepper, read_secret, secret_path
from discreet.errors import ParameterError


@pytest.fixture
def file(tmp_path):
    return tmp_path / "staff.ledger.secret"


def test_it_is_made_once_for_nobody_else(file):
    made = read_secret(file, make=True)
    assert len(made) == 32
    assert file.stat().st_mode & 0o777 == 0o600
    assert read_secret(file, make=True) == made
    assert read_secret(str(file), make=False) == made
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def test_it_is_private_whatever_the_mask(file):
    before = os.umask(0)
    try:
        read_secret(file, make=True)
    finally:
        os.umask(before)
    assert file.stat().st_mode & 0o777 == 0o600


def test_where_there_is_none(file):
    with pytest.raises(ParameterError, match="is missing"):
        read_secret(file, make=False)
    with pytest.raises(ParameterError, match="DISCREET_SECRET, or in a file"):
        read_secret(None, make=True)
    with pytest.raises(ParameterError, match="cannot be written"):
        read_secret(file.parent / "no" / "folder", make=True)
    assert not file.exists()


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o666, 0o601, 0o610, 0o644])
def test_a_file_that_others_can_read_is_refused(file, mode):
    read_secret(file, make=True)
    file.chmod(mode)
    with pytest.raises(ParameterError, match=f"chmod 600 {file}"):
        read_secret(file, make=True)
    file.chmod(0o600)
    read_secret(file, make=False)


def test_a_file_of_somebody_else_is_refused(file, monkeypatch):
    read_secret(file, make=True)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(ParameterError, match="somebody else"):
        read_secret(file, make=False)


def test_what_is_no_file_is_refused(file, tmp_path):
    file.mkdir()
    with pytest.raises(ParameterError, match="plain file"):
        read_secret(file, make=True)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe, 0o600)
    with pytest.raises(ParameterError, match="plain file"):
        read_secret(pipe, make=True)


FORMS = [
    SECRET.hex(),
    SECRET.hex().upper(),
    base64.b64encode(SECRET).decode(),
    base64.b64encode(SECRET).decode().rstrip("="),
    f" {base64.urlsafe_b64encode(SECRET).decode()}\n",
]


@pytest.mark.parametrize("text", FORMS)
def test_the_environment_wins(file, monkeypatch, text):
    made = read_secret(file, make=True)
    monkeypatch.setenv("DISCREET_SECRET", text)
    assert read_secret(file, make=True) == read_secret(None, make=False) == SECRET
    monkeypatch.delenv("DISCREET_SECRET")
    assert read_secret(file, make=False) == made


@pytest.mark.parametrize("text", FORMS)
def test_a_file_has_the_same_forms(file, text):
    file.write_text(text)
    file.chmod(0o600)
    assert read_secret(file, make=False) == SECRET


@pytest.mark.parametrize(
    "text", ["", "short", SECRET.hex()[:-2], "!" * 64, "é" * 64, "A" * 42, "0" * 5000, "\x00" * 64]
)
def test_what_is_no_secret_is_refused_and_not_quoted(file, monkeypatch, text):
    file.write_text(text)
    file.chmod(0o600)
    with pytest.raises(ParameterError, match="32 bytes or more") as found:
        read_secret(file, make=True)
    assert not text or text not in str(found.value)
    if "\x00" not in text:
        monkeypatch.setenv("DISCREET_SECRET", text)
        with pytest.raises(ParameterError, match="in DISCREET_SECRET must be 32 bytes") as found:
            read_secret(file, make=True)
        assert not text or text not in str(found.value)


def test_who_comes_second_has_the_same(file):
    found, wait = [], threading.Barrier(8)

    def make():
        wait.wait()
        found.append(read_secret(file, make=True))

    threads = [threading.Thread(target=make) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(found) == 8
    assert len(set(found)) == 1
    assert len(list(file.parent.iterdir())) == 1


def test_it_lies_beside_the_head_file():
    assert secret_path(Path("x/staff.ledger.head")) == Path("x/staff.ledger.secret")


def test_each_use_has_hashes_of_its_own():
    made = Pepper(SECRET)
    uses = ("check", "csrf", "key", "password", "seal", "session")
    found = {made.mac(use, "text") for use in uses}
    assert len(found) == 6
    assert all(len(one) == 64 for one in found)
    assert not found & {Pepper(OTHER).mac(use, "text") for use in uses}
    assert made.mac("key", "text") == Pepper(SECRET).mac("key", "text")
    assert repr(made) == "<Pepper>"
    for wrong in (b"", SECRET[:31], SECRET.hex(), None):
        with pytest.raises(ParameterError, match="32 bytes"):
            Pepper(wrong)
