"""Rows of statements: by part and type, as exact integers."""

from datetime import date, datetime
from decimal import Decimal

from tests.engines import corpus
from tests.engines.corpus import AGE, DEPT, LEVEL, NOTE, SEEN, SMOKER, START

from discreet.engines.reading import Reading, cells
from discreet.query.request import Bounding, Part, Total

NONE = Bounding("none")


def test_rows_of_one_part():
    request = corpus.asked(Part((DEPT, SMOKER), (Total(), Total(AGE)), NONE))
    rows = [("a", True, 3, Decimal(2)), (None, None, 1, 0)]
    assert cells(request, rows) == [{("a", True): (3, 2), (None, None): (1, 0)}]


def test_rows_of_several_parts_stand_by_type():
    request = corpus.asked(
        Part((DEPT, LEVEL), (Total(), Total(AGE)), NONE),
        Part((START, NOTE, SEEN), (Total(),), NONE),
        Part((), (), NONE, spread=(1,)),
        Part((), (Total(),), NONE),
    )
    day, moment = date(2020, 1, 1), datetime.fromisoformat("2020-01-02 10:00")
    rows = [
        # part, number, text, two days, two totals
        (0, 7, "a", None, None, Decimal(5), Decimal(6)),
        (1, None, "b", day, moment, 1, None),
        (2, 1, None, None, None, 9, None),
        (3, None, None, None, None, 4, None),
    ]
    assert cells(request, rows) == [
        {("a", 7): (5, 6)},
        {(day, "b", date(2020, 1, 2)): (1,)},
        {(1,): (9,)},
        {(): (4,)},
    ]
    assert cells(request, []) == [{}, {}, {}, {}]


def test_totals_are_multiplied_in_whole_numbers():
    parts = (Part((DEPT,), (Total(), Total(AGE)), NONE), Part((), (Total(),), NONE))
    far = 10**37 + 1
    rows = [(0, "a", far, Decimal(3)), (0, None, 0, -1), (1, None, 7, None)]
    found = Reading(parts, times=(1 << 70, 3))(rows)
    assert found == [{("a",): (far << 70, 3 << 70), (None,): (0, -(1 << 70))}, {(): (21,)}]
    assert all(type(n) is int for part in found for totals in part.values() for n in totals)
    assert Reading(parts[:1], times=(5,))([("a", 1, 2)]) == [{("a",): (5, 10)}]
