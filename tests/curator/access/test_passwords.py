"""Passwords: their form, their cost, and that the database alone tells nothing."""

import os
import sys

import pytest
from tests.curator.access.people import OTHER, SECRET

from discreet.curator.access.passwords import Passwords, new_password
from discreet.curator.access.secret import Pepper
from discreet.engines.cores import staying
from discreet.errors import ParameterError

WORD = "correct horse battery"


@pytest.fixture
def passwords():
    return Passwords(Pepper(SECRET))


def test_a_password_fits_its_own_hash_only(passwords):
    made = passwords.hash(WORD)
    assert passwords.fits(made, WORD)
    for wrong in ("", WORD[:-1], WORD + " ", WORD.upper(), "x" * 3000, "\ud800"):
        assert not passwords.fits(made, wrong)
    assert passwords.hash(WORD) != made
    assert not passwords.fits("nonsense", WORD)
    assert not passwords.fits("", WORD)


def test_the_same_letters_typed_otherwise_are_the_same(passwords):
    made = passwords.hash("Müller & Söhne")
    assert passwords.fits(made, "Mu\u0308ller & So\u0308hne")


def test_without_the_secret_a_hash_cannot_be_guessed_at(passwords):
    import argon2

    made = passwords.hash(WORD)
    assert not Passwords(Pepper(OTHER)).fits(made, WORD)
    with pytest.raises(argon2.exceptions.VerifyMismatchError):
        argon2.PasswordHasher().verify(made, WORD)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ("", "at least 10"),
        ("nine char", "at least 10"),
        (None, "at least 10"),
        (b"bytes are no text", "at least 10"),
        ("é" * 513, "at most 1024 bytes"),
        ("\ud800" * 10, "letters"),
    ],
)
def test_passwords_that_are_refused(passwords, wrong, words):
    with pytest.raises(ParameterError, match=words) as found:
        passwords.hash(wrong)
    assert not wrong or str(wrong) not in str(found.value)
    assert found.value.value is None


def test_the_shortest_and_the_longest(passwords):
    for good in ("ten chars!", "é" * 512):
        assert passwords.fits(passwords.hash(good), good)


def test_what_a_check_costs(monkeypatch):
    """The real cost, also of a password that nobody has."""
    from discreet.curator.access import passwords as module

    for name, value in {"MEMORY": 65536, "ROUNDS": 3, "LANES": 4}.items():
        monkeypatch.setattr(module, name, value)
    made = Passwords(Pepper(SECRET))
    stored = made.hash(WORD)
    assert stored.startswith("$argon2id$v=19$m=65536,t=3,p=4$")
    assert [len(part) for part in made._nobody.split("$")] == [
        len(part) for part in stored.split("$")
    ]
    assert made._nobody.rsplit("$", 2)[0] == stored.rsplit("$", 2)[0]
    assert made.fits(stored, WORD)
    assert not made.fits(None, WORD)


def test_the_costs_are_those_that_were_decided():
    import importlib.util

    path = importlib.util.find_spec("discreet.curator.access.passwords").origin
    with open(path) as file:  # noqa: PTH123 - the constants as they are written
        assert "MEMORY, ROUNDS, LANES = 64 * 1024, 3, 4" in file.read()


def test_a_missing_extra_is_named(passwords, monkeypatch):
    monkeypatch.setitem(sys.modules, "argon2", None)
    with pytest.raises(ParameterError, match=r'pip install "discreet\[server\]"'):
        passwords.hash(WORD)
    with pytest.raises(ParameterError, match=r'pip install "discreet\[server\]"'):
        passwords.fits(None, WORD)


def test_new_passwords(passwords):
    made = {new_password() for _ in range(100)}
    assert len(made) == 100
    assert all(len(one) == 27 and one.count("-") == 3 for one in made)
    assert passwords.hash(made.pop())


@pytest.mark.skipif(
    len(getattr(os, "sched_getaffinity", lambda _: ())(0)) < 2, reason="there is one core"
)
def test_the_lanes_of_a_hash_use_all_cores(monkeypatch):
    """Also in a server that stays on one: there they would keep its answers waiting."""
    from argon2 import low_level

    passwords, cores, seen = Passwords(Pepper(SECRET)), os.sched_getaffinity(0), []

    def instead(*_given, **_more):
        seen.append(os.sched_getaffinity(0))
        return b"$"

    for name in ("hash_secret", "verify_secret"):
        monkeypatch.setattr(low_level, name, instead)
    with staying(0):
        passwords.fits(passwords.hash(WORD), WORD)
        assert len(os.sched_getaffinity(0)) == 1
    assert seen == [cores, cores]
