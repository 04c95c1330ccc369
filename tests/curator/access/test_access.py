"""People and keys: who is let in, how far, until when, and what is written down about it."""

import hmac
import threading
from datetime import date, datetime, timedelta
from pathlib import Path

import pytest
from tests.curator.access.people import OTHER, SECRET, START, notes, rows, told

from discreet.curator.access import Access, keys_of, people_of
from discreet.curator.access import access as module
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.verify import verified
from discreet.errors import InputTypeError, LedgerError, ParameterError


def everything_stored(ledger):
    """All bytes of the database, its log beside it included."""
    folder = Path(ledger.address).parent
    return b"".join(path.read_bytes() for path in folder.iterdir() if path.is_file())


# people


def test_people_are_listed_as_they_were_added(access, ledger):
    found = {one.name: one for one in access.people}
    assert list(found) == ["alice", "olga", "rex"]
    assert (found["alice"].role, found["alice"].datasets) == ("analyst", ("a", "b"))
    assert (found["rex"].has_password, found["olga"].has_password) == (False, True)
    assert found["rex"].expires is None
    assert not any(one.disabled for one in found.values())
    assert people_of(ledger) == access.people


@pytest.mark.parametrize(
    ("name", "role", "more", "words"),
    [
        ("", "analyst", {}, "plain name"),
        ("a b", "analyst", {}, "plain name"),
        ("a\x00b", "analyst", {}, "plain name"),
        ("ann\n", "analyst", {}, "plain name"),
        ("é", "analyst", {}, "plain name"),
        ("a" * 61, "analyst", {}, "plain name"),
        (None, "analyst", {}, "plain name"),
        ("owner", "owner", {}, "owner's own name"),
        ("OWNER", "analyst", {}, "owner's own name"),
        ("alice", "analyst", {}, "added before"),
        ("Alice", "analyst", {}, "upper and lower case"),
        ("bob", "admin", {}, "must be one of owner, analyst, auditor"),
        ("bob", "", {}, "must be one of"),
        ("bob", "analyst", {"password": "too short"}, "at least 10"),
        ("bob", "analyst", {"datasets": []}, "leave it out for all"),
        ("bob", "analyst", {"datasets": "payroll"}, "leave it out for all"),
        ("bob", "analyst", {"datasets": ["a", ""]}, "names of datasets"),
        ("bob", "analyst", {"datasets": [7]}, "names of datasets"),
        ("bob", "analyst", {"expires": "2026-01-01"}, "must be a date"),
        ("bob", "analyst", {"expires": START}, "must be a date"),
    ],
)
def test_who_cannot_be_added(access, ledger, name, role, more, words):
    before = ledger.head
    with pytest.raises(ParameterError, match=words):
        access.add(name, role, by="x", **more)
    assert ledger.head == before
    assert len(access.people) == 3


def test_who_was_shut_out_is_admitted_anew_with_nothing_from_before(access):
    key = access.make_key("alice", by="x")
    access.disable("alice", by="x")
    assert [one.disabled for one in access.people] == [True, False, False]
    found = access.add("alice", "auditor", datasets=["c"], by="x")
    assert found in access.people
    assert (found.role, found.datasets, found.has_password) == ("auditor", ("c",), False)
    assert access.by_key(key) is None
    assert access.login("alice", "the first of alice") is None
    assert access.by_key(access.make_key("alice", by="x")).person == found


def test_what_is_done_to_nobody_is_refused(access, ledger):
    before = ledger.head
    for name in ("nobody", "", "a\x00", "ALICE"):
        with pytest.raises(ParameterError, match="nobody here"):
            access.disable(name, by="x")
        with pytest.raises(ParameterError, match="nobody here"):
            access.set_password(name, "long enough, surely", by="x")
        with pytest.raises(ParameterError, match="nobody here"):
            access.make_key(name, by="x")
        with pytest.raises(ParameterError, match="is unknown"):
            access.revoke(name, by="x")
    assert ledger.head == before


def test_who_is_shut_out_gets_no_key_and_no_password(access):
    access.disable("alice", by="x")
    with pytest.raises(ParameterError, match="shut out"):
        access.make_key("alice", by="x")
    with pytest.raises(ParameterError, match="shut out"):
        access.set_password("alice", "long enough, surely", by="x")


# keys


def test_a_key_shows_whose_it_is(access):
    text = access.make_key("alice", label="notebook", by="x")
    prefix, which, secret = text.split("_")
    assert (prefix, len(which), len(secret)) == ("dk", 12, 64)
    found = access.by_key(text)
    assert (found.person.name, found.person.role, found.key) == ("alice", "analyst", which)
    assert access.make_key("alice", by="x") != text


def test_of_a_key_only_a_keyed_hash_is_stored(access, ledger):
    text = access.make_key("alice", by="x")
    which, secret = text.split("_")[1:]
    stored = everything_stored(ledger)
    assert which.encode() in stored
    assert secret.encode() not in stored
    assert bytes.fromhex(secret) not in stored
    mac = rows(ledger, "key")[0][4]
    assert mac not in str(told(ledger))
    assert hmac.digest(SECRET, secret.encode(), "sha256").hex() != mac


def test_a_key_that_differs_anywhere_is_nobodys(access):
    """Every letter of the secret counts, and the id; another's secret does not serve."""
    text, other = access.make_key("alice", by="x"), access.make_key("olga", by="x")
    for place in range(3, len(text)):
        if text[place] != "_":
            changed = text[:place] + ("0" if text[place] != "0" else "1") + text[place + 1 :]
            assert access.by_key(changed) is None
    head, secret = text.rsplit("_", 1)
    assert access.by_key(other.rsplit("_", 1)[0] + "_" + secret) is None
    for wrong in (
        "", "dk", head, f"{head}_", text[:-1], text + "0", text + "\n", f" {text}", text.upper(),
        f"{head}_{secret[:32]}", text.replace("_", "-"), "dk_" + "٠" * 12 + f"_{secret}",
        "x" * 10_000, f"{head}_{'é' * 64}", f"{text}\x00", "\ud800",
    ):  # fmt: skip
        assert access.by_key(wrong) is None
    assert access.by_key(text) is not None


def test_a_hash_serves_no_other_key(access, ledger):
    """Who can write to the table cannot put the own secret under another's id."""
    mine, other = access.make_key("alice", by="x"), access.make_key("olga", by="x")
    which, secret = mine.split("_")[1:]
    copied = f"UPDATE discreet_key SET mac = (SELECT mac FROM discreet_key WHERE id = '{which}')"
    ledger._database._raw.execute(copied)
    assert access.by_key(mine) is not None
    assert access.by_key(f"dk_{other.split('_')[1]}_{secret}") is None


def test_an_unknown_id_takes_the_same_way(access, ledger, monkeypatch):
    """One look into the table and one comparison of equal length, in constant time."""
    text = access.make_key("alice", by="x")
    access.by_key(text)
    looked, compared = [], []
    glance, equal = ledger.glance, hmac.compare_digest
    monkeypatch.setattr(ledger, "glance", lambda *a, **k: looked.append(1) or glance(*a, **k))
    monkeypatch.setattr(
        module.hmac, "compare_digest", lambda a, b: compared.append((len(a), len(b))) or equal(a, b)
    )
    head, secret = text.rsplit("_", 1)
    for one in (text, f"{head}_{'0' * 64}", f"dk_{'0' * 12}_{secret}"):
        access.by_key(one)
        assert (looked, compared) == ([1], [(64, 64)])
        looked.clear()
        compared.clear()


def test_a_key_ends_on_time(access, clock):
    text = access.make_key("alice", days=3, by="x")
    default = access.make_key("alice", by="x")
    found = access.keys()
    assert {one.expires - one.created for one in found} == {timedelta(days=3), timedelta(days=90)}
    clock.move(days=3, seconds=-1)
    assert access.by_key(text) is not None
    clock.move(seconds=1)
    assert access.by_key(text) is None
    clock.move(days=87)
    assert access.by_key(default) is None


@pytest.mark.parametrize("days", [0, -1, 367, 10**30, 1.5, "9", True, None])
def test_a_key_lives_a_year_at_most(access, days):
    with pytest.raises(ParameterError, match="1 to 366"):
        access.make_key("alice", days=days, by="x")
    assert access.keys() == []


def test_a_revoked_key_ends_at_once_at_every_server(access, ledger, clock):
    text = access.make_key("alice", by="x")
    with Ledger(ledger.address) as elsewhere:
        other = Access(elsewhere, SECRET, clock=clock)
        assert other.by_key(text) is not None
        access.revoke(text.split("_")[1], by="x")
        assert other.by_key(text) is None
        assert access.by_key(text) is None
    before = ledger.head
    access.revoke(text.split("_")[1], by="x")  # again: nothing happens
    assert ledger.head == before
    (found,) = access.keys("alice")
    assert found.revoked == clock.now


def test_who_is_shut_out_has_no_keys_any_more(access):
    mine, other = access.make_key("alice", by="x"), access.make_key("olga", by="x")
    access.disable("alice", by="x")
    assert access.by_key(mine) is None
    assert access.by_key(other) is not None
    found = access.keys()
    assert {(one.person, one.revoked is None) for one in found} == {
        ("alice", False),
        ("olga", True),
    }
    access.disable("alice", by="x")  # again: nothing happens
    assert len([one for one in access.people if one.disabled]) == 1


def test_shutting_out_is_enough_even_if_a_key_is_not_revoked(access, ledger):
    text = access.make_key("alice", by="x")
    ledger._database._raw.execute("UPDATE discreet_person SET disabled = 1")
    assert access.by_key(text) is None


def test_the_last_day_of_a_person(access, clock):
    access.add("bob", "analyst", expires=date(2026, 5, 6), password="the first of bob", by="x")
    text = access.make_key("bob", by="x")
    clock.now = datetime.fromisoformat("2026-05-06T23:59:59+00:00")
    assert access.by_key(text) is not None
    token, _ = access.login("bob", "the first of bob")
    assert access.session(token) is not None
    clock.move(seconds=1)
    assert access.by_key(text) is None
    assert access.session(token) is None
    assert access.login("bob", "the first of bob") is None


def test_scopes_of_a_person_and_a_key_go_together(access, ledger):
    whole, part = access.make_key("alice", by="x"), access.make_key("alice", datasets=["b"], by="x")
    seen = lambda text: [name for name in "abc" if access.by_key(text).may_see(name)]
    assert seen(whole) == ["a", "b"]
    assert seen(part) == ["b"]
    assert seen(access.make_key("olga", by="x")) == ["a", "b", "c"]
    assert seen(access.make_key("olga", datasets=["c", "a", "a"], by="x")) == ["a", "c"]
    with pytest.raises(ParameterError, match="nothing that alice may see"):
        access.make_key("alice", datasets=["a", "c"], by="x")
    ledger._database._raw.execute("UPDATE discreet_key SET datasets = '[\"c\"]'")
    assert seen(part) == []


@pytest.mark.parametrize("label", ["x" * 61, "two\nlines", "\x00"])
def test_labels_are_short(access, label):
    with pytest.raises(ParameterError, match="label"):
        access.make_key("alice", label=label, by="x")


def test_the_last_use_is_written_once_a_minute(access, ledger, clock, monkeypatch):
    text = access.make_key("alice", by="x")
    assert access.keys()[0].last_used is None
    jotted = []
    jot, head = ledger.jot, ledger.head
    monkeypatch.setattr(ledger, "jot", lambda *a, **k: jotted.append(1) or jot(*a, **k))
    for _ in range(130):
        access.by_key(text)
        clock.move(seconds=1)
    assert len(jotted) == 3
    assert access.keys()[0].last_used == START + timedelta(seconds=120)
    assert ledger.head == head
    verified(ledger)


def test_a_use_that_cannot_be_written_hinders_nobody(access, ledger, monkeypatch):
    text = access.make_key("alice", by="x")

    def fails(*_, **__):
        raise LedgerError("full")

    monkeypatch.setattr(ledger, "jot", fails)
    assert access.by_key(text) is not None


def test_keys_of_one_and_of_all(access, ledger, clock):
    for who in ("alice", "olga", "alice"):
        access.make_key(who, label=f"of {who}", by="x")
        clock.move(seconds=1)
    found = access.keys()
    assert [one.label for one in found] == ["of alice", "of olga", "of alice"]
    assert len(access.keys("alice")) == 2
    assert access.keys("nobody") == []
    assert keys_of(ledger) == access.keys()


# the secret


def test_another_secret_is_refused(access, ledger, clock):
    text = access.make_key("alice", by="x")
    before = ledger.head
    with pytest.raises(LedgerError, match=r"another secret.*people reset"):
        Access(ledger, OTHER)
    assert ledger.head == before
    assert Access(ledger, SECRET, clock=clock).by_key(text).person.name == "alice"
    with pytest.raises(ParameterError, match="32 bytes"):
        Access(ledger, SECRET[:31])


def test_a_new_secret_ends_everything(access, ledger, clock):
    text = access.make_key("alice", by="x")
    token, _ = access.login("alice", "the first of alice")
    made = Access.anew(ledger, OTHER, by="x", clock=clock)
    assert made.by_key(text) is None
    assert made.session(token) is None
    assert made.login("alice", "the first of alice") is None
    assert [one.has_password for one in made.people] == [False] * 3
    found = made.keys()
    assert [one.revoked for one in found] == [clock.now]
    assert rows(ledger, "session") == []
    with pytest.raises(LedgerError, match="another secret"):
        Access(ledger, SECRET)
    made.set_password("alice", "the second of alice", by="x")
    assert made.login("alice", "the second of alice") is not None
    verified(ledger)


def test_nothing_secret_is_shown_or_logged(access, ledger):
    text = access.make_key("alice", by="x")
    token, session = access.login("alice", "the first of alice")
    access.set_password("olga", "the second of olga", by="x")
    shown = repr([access, access._pepper, access._passwords, session, access.people, access.keys()])
    written = str([entry.body for entry in ledger.entries()])
    hashes = [row[4] for row in rows(ledger, "person") if row[4]]
    for secret in (
        SECRET.hex(), repr(SECRET), text.split("_")[2], token, session.csrf, *hashes,
        "the first of alice", "the second of olga",
    ):  # fmt: skip
        assert secret not in shown
        assert secret not in written


# the log


def test_every_change_is_an_entry_with_who_did_it(access, ledger):
    text = access.make_key("alice", by="olga")
    access.revoke(text.split("_")[1], by="olga")
    access.set_password("olga", "the second of olga", by="olga")
    access.disable("alice", by="o" * 300)
    acts = [(one["act"], one["by"][:5]) for one in told(ledger)]
    assert acts == [
        ("secret", "owner"), ("add", "x"), ("add", "x"), ("add", "x"), ("key", "olga"),
        ("revoke", "olga"), ("password", "olga"), ("disable", "ooooo"),
    ]  # fmt: skip
    assert len(told(ledger)[-1]["by"]) == 200
    assert all(one["at"].startswith("2026-05-04T12:00:00") for one in told(ledger))


def test_notes_are_bounded_and_plain(access, ledger):
    access.note("looked", who="alice", where="x" * 500, times=3, well=True, none=None)
    (found,) = notes(ledger, "looked")
    assert found == {
        "what": "looked", "who": "alice", "at": "2026-05-04T12:00:00+00:00",
        "more": {"where": "x" * 200, "times": 3, "well": True, "none": None},
    }  # fmt: skip
    access.note("w" * 300, who="\ud800" * 300)
    assert len(notes(ledger, "w" * 200)[0]["who"]) == 200
    for wrong in (1.5, [1], {"a": 1}, b"x", 1 << 63, object()):
        with pytest.raises(InputTypeError, match="value must be"):
            access.note("looked", who="alice", value=wrong)
    with pytest.raises(InputTypeError, match="at most 20"):
        access.note("looked", who="alice", **{f"v{n}": 1 for n in range(21)})
    assert len(told(ledger)) == 6


def test_a_note_changes_nobody(access, ledger):
    """Whatever it is called, it is no act."""
    access.note("add", who="eve", act="add", name="eve", role="owner")
    assert [one.name for one in access.people] == ["alice", "olga", "rex"]
    assert verified(ledger).people == 3


def test_many_threads_share_one(access, ledger):
    text, failed = access.make_key("alice", by="x"), []

    def work(number):
        try:
            for turn in range(20):
                assert access.by_key(text).person.name == "alice"
                if not turn % 10:
                    access.note("worked", who=str(number))
        except Exception as error:  # noqa: BLE001 - told below
            failed.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert failed == []
    assert len(notes(ledger, "worked")) == 12
    verified(ledger)
