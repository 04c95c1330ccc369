"""Marks of data: a version stands for one state of its files, and the log tells nothing of it."""

import json

import pytest
from tests.curator.ledger.harness import registration

from discreet.curator.ledger.chain import canonical
from discreet.curator.ledger.listing import lines_of
from discreet.curator.ledger.marks import Data, marks_in, note, otherwise
from discreet.curator.ledger.registry import register
from discreet.curator.ledger.verify import rebuilt, verified
from discreet.errors import LedgerError, ParameterError

PAYROLL = Data("payroll", "a.csv", "2024", "1999 17")
TOUCHED = Data("payroll", "a.csv", "2024", "1999 18")
NEWER = Data("payroll", "a.csv", "2025", "1999 18")
BLOCK = Data("payroll/q1", "q1.csv", "2024", "1999 17")


def noted(ledger, *data, fingerprint="policy-1", **more):
    return register(ledger, registration(fingerprint=fingerprint, data=data), **more)


def kinds(ledger):
    return [entry.kind for entry in ledger.entries()]


def test_the_first_sight_of_a_version_is_noted_once(ledger):
    before = kinds(ledger)
    assert noted(ledger, PAYROLL) == (1, [])
    assert kinds(ledger) == [*before, "data"]
    assert noted(ledger, PAYROLL) == (1, [])
    assert kinds(ledger) == [*before, "data"]
    assert marks_in(ledger)[PAYROLL.key].fits(PAYROLL)
    assert not marks_in(ledger)[PAYROLL.key].fits(TOUCHED)
    verified(ledger)


def test_files_that_changed_under_their_version_are_refused(ledger):
    noted(ledger, PAYROLL)
    before = ledger.everything(), ledger.policy
    for fingerprint in ("policy-1", "policy-2"):
        with pytest.raises(LedgerError) as refused:
            noted(ledger, TOUCHED, fingerprint=fingerprint)
        for words in ("'payroll'", "'2024'", "new version", "--same-data payroll", "Nothing was"):
            assert words in str(refused.value)
        assert "1999" not in str(refused.value)
    assert (ledger.everything(), ledger.policy) == before
    assert noted(ledger, NEWER, fingerprint="policy-2") == (2, [])


def test_an_owner_may_say_that_the_rows_are_the_same(ledger):
    noted(ledger, PAYROLL)
    version, words = noted(ledger, TOUCHED, same_data=["payroll"])
    assert (version, words) == (1, ["payroll: its files have changed, and its rows are the same"])
    assert not otherwise(marks_in(ledger), [TOUCHED])
    assert otherwise(marks_in(ledger), [PAYROLL]) == [PAYROLL]
    entries, accounts, _ = ledger.everything()
    (line,) = lines_of(entries, accounts)
    assert (line.state, line.what) == ("same data", "changed files, the same rows: payroll")
    told = [one.what for one in lines_of(entries, accounts, everything=True)]
    assert "files noted: a.csv is version 2024" in told
    verified(ledger)


def test_what_is_said_of_one_part_is_not_said_of_another(ledger):
    noted(ledger, PAYROLL, BLOCK)
    other = Data("payroll/q1", "q1.csv", "2024", "7 7")
    with pytest.raises(LedgerError, match="--same-data payroll/q1"):
        noted(ledger, TOUCHED, other, same_data=["payroll"])
    assert len(noted(ledger, TOUCHED, other, same_data=["payroll", "payroll/q1"])[1]) == 2


def test_what_is_said_of_nothing_is_refused(ledger):
    for wrong in ("staff", "payroll/q2", ""):
        with pytest.raises(ParameterError, match="there: payroll, payroll/q1"):
            noted(ledger, PAYROLL, BLOCK, same_data=[wrong])
    with pytest.raises(ParameterError, match="there: none"):
        noted(ledger, same_data=["payroll"])


def test_going_back_to_an_older_version_needs_its_files(ledger):
    """A source and a version keep their mark for good, whatever the policy was in between."""
    noted(ledger, PAYROLL)
    noted(ledger, NEWER, fingerprint="policy-2")
    renamed = Data("people", "a.csv", "2024", "1999 18")
    with pytest.raises(LedgerError, match="--same-data people"):
        noted(ledger, renamed, fingerprint="policy-3")
    assert noted(ledger, PAYROLL, fingerprint="policy-3")[0] == 3


def test_two_datasets_over_the_same_files_share_their_mark(ledger):
    again = Data("again", "a.csv", "2024", PAYROLL.state)
    noted(ledger, PAYROLL, again)
    (entry,) = [e.values() for e in ledger.entries() if e.kind == "data"]
    assert len(entry["marks"]) == 1
    both = [TOUCHED, Data("again", "a.csv", "2024", TOUCHED.state)]
    assert len(noted(ledger, *both, same_data=["again"])[1]) == 2


def test_the_log_shows_neither_a_state_nor_that_two_are_equal(ledger, tmp_path):
    noted(ledger, PAYROLL, BLOCK)
    with ledger.writing() as on:
        note(on, [PAYROLL], "2026-01-01")
    first, second = [e.values() for e in ledger.entries() if e.kind == "data"]
    told = [digest for entry in (first, second) for _, _, digest in entry["marks"]]
    assert len(set(told)) == 3
    assert "1999" not in json.dumps([first["marks"], second["marks"]])
    assert "1999" not in repr(PAYROLL)


def test_a_mark_that_was_changed_is_found(ledger):
    noted(ledger, PAYROLL)
    entries = list(ledger.entries())
    (place,) = [i for i, e in enumerate(entries) if e.kind == "data"]
    values = entries[place].values()
    values["marks"] = []
    entries[place] = entries[place]._replace(body=canonical(values))
    with pytest.raises(LedgerError, match="was changed at or before"):
        rebuilt(entries)


@pytest.mark.parametrize("marks", [[["a.csv", "2024"]], 7])
def test_a_mark_that_cannot_be_read_is_found(ledger, marks):
    with ledger.writing() as on:
        on.append("data", {"at": "2026-01-01", "marks": marks, "salt": "s", "same": []})
    with pytest.raises(LedgerError, match="cannot be read"):
        verified(ledger)
