"""Releases of one shape are those that would be made one by one, and so is their text."""

import pickle
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.curator.releases import GUARANTEES, LOSSES, VALUES

from discreet.curator import stored
from discreet.curator.release import Release
from discreet.curator.shared import Shared
from discreet.curator.stored import as_dict, as_line, in_one_line
from discreet.errors import ParameterError

AT = datetime(2026, 11, 16, 3, 4, 5, tzinfo=UTC)
COMMON = {
    "columns": ("dept", "n"),
    "keys": ("dept",),
    "guarantee": GUARANTEES[0],
    "losses": LOSSES,
    "mechanisms": {"n": "geometric"},
    "confidence": Fraction(19, 20),
    "covers": "They cover the noise only",
    "notes": ("a note",),
}
ANY = st.one_of(VALUES, st.sampled_from([-0.0, Fraction(6, 2), Fraction(1, 3)]))
KINDS = (st.integers(), st.floats(), st.one_of(st.none(), st.integers()), ANY)


@st.composite
def numbers(draw):
    """What differs between releases of one shape; often all of a column is of one kind."""
    size, first = draw(st.integers(0, 4)), draw(st.sampled_from(KINDS))
    columns = [
        draw(st.lists(draw(st.sampled_from((first, ANY))), min_size=size, max_size=size))
        for _ in range(3)
    ]
    pairs = st.one_of(st.none(), st.tuples(first, first), st.tuples(ANY, ANY))
    ends = draw(st.lists(draw(st.sampled_from((st.tuples(first, first), pairs))), min_size=size,
                         max_size=size))  # fmt: skip
    return {
        "rows": tuple(zip(*columns[:2], strict=True)),
        "raw": draw(st.sampled_from([{}, {"n": tuple(columns[2])}])),
        "intervals": draw(st.sampled_from([{}, {"n": tuple(ends)}])),
        "sql": draw(st.text(st.characters(exclude_categories=()), max_size=9)),
        "asked_at": draw(st.sampled_from([AT, AT.astimezone(timezone(timedelta(hours=2)))])),
    }


def typed(release):
    """Every value with its type: 1, 1.0 and True are three values."""
    held = (release.rows, dict(release.intervals), dict(release.raw), release.asked_at.tzinfo)
    return repr(held)


SHARED = Shared(**COMMON)


@given(numbers())
def test_it_is_the_release_and_the_text_of_the_long_way(own):
    release, long = SHARED.release(**own), Release(**COMMON, **own)
    assert release == long
    assert typed(release) == typed(long)
    assert as_line(release) == in_one_line(as_dict(long)) == in_one_line(as_dict(release))
    assert hash(release) == hash(long)


def test_a_time_without_its_zone_is_refused_as_ever():
    own = {"rows": (), "raw": {}, "intervals": {}, "sql": "", "asked_at": datetime(2026, 1, 1)}  # noqa: DTZ001
    with pytest.raises(ParameterError, match="time zone"):
        SHARED.release(**own)


def test_a_copy_shares_nothing():
    """Another release that is made of it may say other things."""
    own = {"rows": (("a", 1),), "raw": {}, "intervals": {}, "sql": "", "asked_at": AT}
    release = SHARED.release(**own)
    as_line(release)
    for copy in (
        pickle.loads(pickle.dumps(release)),
        replace(release, notes=("another",)),
        release.map(lambda rows: rows, "same"),
    ):
        assert as_line(copy) == in_one_line(as_dict(copy))
        assert not hasattr(copy, "shared")


def test_text_is_written_once_whatever_comes_between(monkeypatch):
    """Questions that go together store their answers one after the other, and then tell them."""
    written = []
    inner = stored._line
    monkeypatch.setattr(stored, "_line", lambda one: written.append(one) or inner(one))
    own = {"raw": {}, "intervals": {}, "sql": "", "asked_at": AT}
    some = [SHARED.release(rows=(("a", value),), **own) for value in range(3)]
    first = [as_line(one) for one in some]
    assert [as_line(one) for one in some] == first == [in_one_line(as_dict(one)) for one in some]
    assert written == some


def test_kinds_of_columns_are_those_of_each_release():
    own = {"raw": {}, "intervals": {}, "sql": "", "asked_at": AT}
    for value in (1, 0.5, None, 2, "x", True):
        release = SHARED.release(rows=(("a", value),), **own)
        assert as_line(release) == in_one_line(as_dict(release))
