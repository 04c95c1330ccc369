"""The release itself: frozen, equal, checked, and free to compute with."""

import copy
import pickle
from dataclasses import FrozenInstanceError, replace
from datetime import datetime, timedelta, timezone

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.curator.releases import DAY, HOSTILE, any_release, counts, make

from discreet.curator.release import Release
from discreet.errors import InputTypeError, ParameterError, UnsupportedError

STAFF = counts([12, 7, -3], keys=["Sales", "Legal", None])


def test_rows_columns_and_length():
    assert len(STAFF) == 3
    assert list(STAFF)[1] == {"department": "Legal", "count": 7}
    assert STAFF["count"] == [12, 7, 0]
    assert STAFF.raw["count"] == (12, 7, -3)
    assert bool(STAFF)


@pytest.mark.parametrize("column", ["mean", "", 3, None])
def test_an_unknown_column_is_refused_with_those_there_are(column):
    with pytest.raises(ParameterError, match="must be one of department, count"):
        STAFF[column]


def test_the_value_of_one_number():
    assert make(("count",), (), ((41,),)).value == 41
    assert make(("k", "count"), ("k",), (("a", 41),)).value == 41
    assert make(("median",), (), ((DAY,),)).value == DAY
    for release in (
        STAFF,
        counts([]),
        make(("a", "b"), (), ((1, 2),)),
        make(("k",), ("k",), (("a",),)),
    ):
        with pytest.raises(UnsupportedError, match="one row with one number"):
            _ = release.value


def test_nothing_can_be_changed():
    with pytest.raises(FrozenInstanceError):
        STAFF.rows = ()
    with pytest.raises((FrozenInstanceError, TypeError)):
        STAFF.extra = 1
    for mapping in (STAFF.intervals, STAFF.raw, STAFF.mechanisms):
        with pytest.raises(TypeError):
            mapping["count"] = ()
    given_intervals = {"count": [(0, 1)]}
    release = make(("count",), (), [[1]], given_intervals)
    given_intervals["count"].append((5, 6))
    assert release.intervals["count"] == ((0, 1),)
    assert release.rows == ((1,),)
    release["count"].append(5)
    next(iter(release))["count"] = 9
    assert release["count"] == [1]


@given(any_release())
def test_pickled_copied_and_equal(release):
    for other in (
        pickle.loads(pickle.dumps(release)),
        copy.deepcopy(release),
        copy.copy(release),
        replace(release),
    ):
        assert other == release
        assert hash(other) == hash(release)
        assert other.rows == release.rows


def test_equality_looks_at_everything():
    assert counts([1, 2]) == counts([1, 2])
    assert counts([1, 2]) != counts([1, 3])
    assert replace(STAFF, notes=()) != STAFF
    assert replace(STAFF, raw={}) != STAFF
    assert STAFF != "STAFF"
    assert len({counts([1]), counts([1]), counts([2])}) == 2


def test_what_is_not_finite_is_none_everywhere():
    nan, inf = float("nan"), float("inf")
    release = make(("x",), (), ((nan,), (inf,)), {"x": ((-inf, 3), (nan, nan))}, {"x": (inf, 1)})
    assert release["x"] == [None, None]
    assert release.intervals["x"] == ((None, 3), None)
    assert release.raw["x"] == (None, 1)
    assert release == make(
        ("x",), (), ((nan,), (inf,)), {"x": ((-inf, 3), (nan, nan))}, release.raw
    )


def test_numbers_of_numpy_become_plain():
    release = make(("k", "x"), ("k",), ((np.str_("a"), np.int64(5)),))
    assert [type(value) for value in release.rows[0]] == [str, int]


def test_time_is_utc():
    there = timezone(timedelta(hours=2))
    release = replace(STAFF, asked_at=datetime(2026, 1, 1, 2, tzinfo=there))
    assert release.asked_at.isoformat() == "2026-01-01T00:00:00+00:00"
    with pytest.raises(ParameterError, match="time zone"):
        replace(STAFF, asked_at=datetime(2026, 1, 1))  # noqa: DTZ001


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"columns": ("count", "count")}, "different names"),
        ({"columns": ("department", 5)}, "must be names"),
        ({"keys": ("town",)}, "keys must name columns"),
        ({"mechanisms": {"town": "x"}}, "mechanisms must name columns"),
        ({"rows": (("a",),)}, "2 values each"),
        ({"intervals": {"town": ()}}, "intervals must name columns"),
        ({"intervals": {"count": ()}}, "as many as the rows, 3"),
        ({"raw": {"count": (1,)}}, "as many as the rows, 3"),
    ],
)
def test_parts_that_do_not_fit_are_refused(changes, words):
    with pytest.raises(ParameterError, match=words):
        replace(STAFF, **changes)


def test_values_of_other_types_are_refused():
    with pytest.raises(InputTypeError, match="'count' cannot hold a list"):
        make(("count",), (), (([1],),))


# Post-processing


def test_a_mapped_release_keeps_its_promise():
    def doubled(rows):
        return [{**row, "twice": 2 * row["count"]} for row in rows]

    made = STAFF.map(doubled)
    assert isinstance(made, Release)
    assert made.columns == ("department", "count", "twice")
    assert made.keys == ("department",)
    assert made["twice"] == [24, 14, 0]
    assert made.guarantee == STAFF.guarantee
    assert made.losses == STAFF.losses
    assert made.steps == ("doubled",)
    assert made.intervals == STAFF.intervals
    assert made.raw == STAFF.raw
    assert made.mechanisms["count"] == STAFF.mechanisms["count"]
    assert made.mechanisms["twice"] == "computed from the release by 'doubled'"
    assert made.map(lambda rows: rows, name="again").steps == ("doubled", "again")
    assert made.map(lambda rows: rows).steps == ("doubled", "map")


def test_anything_else_is_handed_back():
    assert STAFF.map(len) == 3
    assert STAFF.map(lambda rows: sum(row["count"] for row in rows)) == 19
    assert STAFF.map(lambda rows: [1, 2]) == [1, 2]
    assert STAFF.map(tuple) == tuple(STAFF)
    assert STAFF.map(lambda rows: None) is None


def test_the_function_gets_copies():
    def spoil(rows):
        for row in rows:
            row["count"] = 0
        rows.clear()

    STAFF.map(spoil)
    assert STAFF["count"] == [12, 7, 0]


def test_intervals_stay_with_the_rows_whose_value_is_unchanged():
    def shuffled(rows):
        changed = [dict(row) for row in reversed(rows)]
        changed[1]["count"] = 8
        return changed

    made = STAFF.map(shuffled)
    assert made["department"] == [None, "Legal", "Sales"]
    first, _, last = STAFF.intervals["count"]
    assert made.intervals["count"] == (STAFF.intervals["count"][2], None, first)
    assert made.raw["count"] == (-3, None, 12)
    assert last is not None
    assert made.mechanisms["count"] == "computed from the release by 'shuffled'"


def test_a_value_of_another_type_is_another_value():
    made = STAFF.map(lambda rows: [{**row, "count": float(row["count"])} for row in rows])
    assert "count" not in made.intervals
    assert "count" not in made.raw


def test_fewer_rows_new_names_and_no_keys():
    top = STAFF.map(lambda rows: [row for row in rows if row["count"] > 10])
    assert top.intervals["count"] == STAFF.intervals["count"][:1]
    renamed = STAFF.map(lambda rows: [{"dept": r["department"], "count": 1} for r in rows])
    assert renamed.keys == ()
    assert not renamed.intervals
    bare = STAFF.map(lambda rows: [{"count": row["count"]} for row in rows])
    assert not bare.intervals  # without its key a row cannot be told
    none = STAFF.map(lambda rows: [])
    assert len(none) == 0
    assert none.columns == STAFF.columns


def test_without_keys_a_row_is_told_by_its_place():
    one = make(("count", "sum"), (), ((5, 9),), {"count": ((1, 9),), "sum": ((8, 10),)})
    made = one.map(lambda rows: [{**rows[0], "sum": 8}])
    assert dict(made.intervals) == {"count": ((1, 9),)}
    twice = one.map(lambda rows: rows * 2)
    assert not twice.intervals


def test_rows_with_the_same_key_keep_no_interval():
    twins = make(("k", "n"), ("k",), ((1, 5), (1, 5)), {"n": ((0, 6), (4, 6))})
    assert not twins.map(lambda rows: rows[:1]).intervals


def test_rows_that_do_not_match_are_refused_in_words():
    with pytest.raises(InputTypeError, match="must all have the same columns"):
        STAFF.map(lambda rows: [{"a": 1}, {"b": 2}])
    with pytest.raises(InputTypeError, match="'a' cannot hold a list"):
        STAFF.map(lambda rows: [{"a": []}])
    with pytest.raises(ParameterError, match="must be names"):
        STAFF.map(lambda rows: [{5: 1}])


@given(any_release(), st.integers(0, 4))
def test_doing_nothing_keeps_everything(release, cut):
    made = release.map(lambda rows: rows, name="nothing")
    assert made.rows == release.rows
    assert made.guarantee == release.guarantee
    keys = [tuple((type(row[k]), row[k]) for k in release.keys) for row in release]
    if not release.keys or len(set(keys)) == len(keys):
        wanted = release.intervals if len(release) else {}
        assert dict(made.intervals) == dict(wanted)
    part = release.map(lambda rows: rows[:cut])
    assert part.rows == release.rows[:cut]


def test_hostile_names_and_keys_go_through():
    names = [text for text in HOSTILE if text]
    release = make(tuple(names), (), (tuple(range(len(names))),))
    assert release.map(lambda rows: rows).rows == release.rows
    assert release["datum['value']"] == [names.index("datum['value']")]
