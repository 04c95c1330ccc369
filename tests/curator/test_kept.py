"""What the ledger keeps: read back as it was, with cells or without, and nothing guessed."""

import json

import pytest
from tests.curator.test_record import record

from discreet.curator.kept import SCHEMA, Cells, Kept
from discreet.curator.record import Record
from discreet.errors import ParameterError
from discreet.query.price import Target

NOISY = (((3, -4), (10**30, 0)), ((7,), (8,)))


@pytest.mark.parametrize(
    "price",
    [Target(epsilon="0.3"), Target(epsilon="1/3", delta="1e-6"), Target(rho="0.1")],
    ids=str,
)
def test_cells_and_record_come_back(price):
    kept = Kept(record(), Cells(price, NOISY))
    assert Kept.from_text(kept.to_text()) == kept
    parts = {"epsilon": price.epsilon, "delta": price.delta, "rho": price.rho}
    values = {
        "schema": SCHEMA,
        "price": {name: None if part is None else str(part) for name, part in parts.items()},
        "cells": NOISY,
        "record": record().to_dict(),
    }
    assert kept.to_text() == json.dumps(values, separators=(",", ":"))


def test_without_cells_it_is_the_record_as_ever():
    kept = Kept(record())
    assert kept.to_text() == record().to_line()
    assert Kept.from_text(record().to_json()) == kept


def test_the_exported_record_has_no_cells():
    kept = Kept.from_text(Kept(record(), Cells(Target(epsilon=1), NOISY)).to_text())
    assert kept.record == record()
    assert kept.record.to_json() == record().to_json()
    with pytest.raises(ParameterError):
        Record.from_json(kept.to_text())


@pytest.mark.parametrize(
    "change",
    [
        {"more": 1},
        {"schema": "discreet-kept/2"},
        {"price": None},
        {"price": {"epsilon": "1"}},
        {"price": {"epsilon": "one", "delta": None, "rho": None}},
        {"price": {"epsilon": "1", "delta": None, "rho": "1"}},
        {"cells": 5},
        {"cells": [5]},
        {"cells": [[["1"]]]},
        {"cells": [[[True]]]},
        {"cells": [[[1.5]]]},
        {"cells": None},
        {"record": {}},
        {"record": None},
    ],
    ids=str,
)
def test_what_is_not_known_is_refused(change):
    values = json.loads(Kept(record(), Cells(Target(epsilon=1), NOISY)).to_text())
    assert values["schema"] == SCHEMA
    with pytest.raises(ParameterError):
        Kept.from_text(json.dumps({**values, **change}))


@pytest.mark.parametrize("name", ["price", "cells", "record"])
def test_what_is_missing_is_refused(name):
    values = json.loads(Kept(record(), Cells(Target(epsilon=1), NOISY)).to_text())
    del values[name]
    with pytest.raises(ParameterError):
        Kept.from_text(json.dumps(values))


MARKS = {
    "id": "aa" * 6,
    "block": "may",
    "entry": 18,
    "release": {"asked_at": "2026-11-19T10:00:00+00:00"},
}


@pytest.mark.parametrize("cells", [None, Cells(Target(epsilon=1), NOISY)], ids=["bare", "cells"])
def test_marks_stand_in_the_place_of_what_is_stored(cells):
    kept = Kept.from_text(Kept(record(), cells).to_text(), MARKS)
    told = record().to_dict()
    assert kept.record.to_dict() == {
        **told,
        **MARKS,
        "release": {**told["release"], **MARKS["release"]},
    }
    assert kept.cells == cells


@pytest.mark.parametrize("name", ["id", "block", "entry", "release", "asked_at"])
@pytest.mark.parametrize("wrong", [..., None, 5.5], ids=["missing", "none", "half"])
def test_marks_mend_nothing(name, wrong):
    """What is missing or of another kind is refused with them as it is without."""
    values = record().to_dict()
    place = values["release"] if name == "asked_at" else values
    if wrong is ...:
        del place[name]
    else:
        place[name] = wrong
    text = json.dumps(values)
    for marks in ({}, MARKS):
        if name == "block" and (wrong is None or (marks and wrong is not ...)):
            assert Kept.from_text(text, marks).record.block == marks.get("block")
        else:
            with pytest.raises(ParameterError):
                Kept.from_text(text, marks)


@pytest.mark.parametrize(
    "marks", [{"id": 5}, {"more": "x"}, {"release": {"asked_at": None}}], ids=str
)
def test_marks_of_another_kind_are_refused(marks):
    with pytest.raises(ParameterError):
        Kept.from_text(Kept(record()).to_text(), marks)
