"""Adding up: releases moved to published totals, and honest about promises."""

import pytest
from tests.curator.releases import counts, make

from discreet.errors import ParameterError, UnsupportedError
from discreet.privacy.guarantee import PureDP

# Releases


def test_a_release_adds_up_to_a_number():
    release = counts([10, 7, -2])
    fitted = release.adding_up_to(16)
    assert fitted["count"] == [10, 6, 0]
    assert fitted.guarantee == release.guarantee
    assert fitted.losses == release.losses
    assert fitted.intervals == release.intervals  # they are about the truth
    assert fitted.raw == release.raw
    assert fitted.steps == ("count adds up to 16",)
    assert "moved to add up" in fitted.mechanisms["count"]
    assert fitted["department"] == release["department"]
    assert release["count"] == [10, 7, 0]


def test_the_raw_values_are_what_is_moved():
    """From the clamped values (0, 0, 10) each would lose 1; from the noisy ones only the last."""
    release = counts([-30, -30, 10])
    assert release.adding_up_to(9)["count"] == [0, 0, 9]
    assert release.adding_up_to(30)["count"] == [0, 0, 30]
    bare = make(release.columns, release.keys, release.rows)
    assert bare.adding_up_to(30)["count"] == [7, 7, 16]


def test_a_release_adds_up_to_a_release_of_one_row():
    parts, total = counts([10, 7]), make(("count",), (), ((15,),), guarantee=PureDP("0.25"))
    fitted = parts.adding_up_to(total)
    assert sum(fitted["count"]) == 15
    assert fitted.guarantee == PureDP("0.75")  # it tells about both
    assert fitted.losses == parts.losses + total.losses
    assert fitted.steps == ("count adds up to the published total",)
    other = make(("people",), (), ((15,),))
    assert parts.adding_up_to(other)["count"] == fitted["count"]


def tree():
    rows = tuple(
        (region, town, n)
        for region, towns in (("north", (5, 6, 7)), ("south", (1, -2)), (None, (4,)))
        for town, n in enumerate(towns)
    )
    return make(("region", "town", "count"), ("region", "town"), rows)


def test_the_parts_of_each_parent_add_up_to_it():
    parents = make(
        ("region", "count"), ("region",), (("south", 3), ("north", 20), (None, 0), ("east", 0))
    )
    fitted = tree().adding_up_to(parents)
    assert fitted["count"] == [6, 7, 7, 3, 0, 0]
    assert fitted.steps == ("count adds up to the total by region",)


def test_types_of_keys_are_told_apart():
    parts = make(("k", "j", "count"), ("k", "j"), ((1, "a", 5), (True, "a", 6), ("1", "a", 7)))
    parents = make(("k", "count"), ("k",), ((1, 1), (True, 2), ("1", 3)))
    assert parts.adding_up_to(parents)["count"] == [1, 2, 3]


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ((("north", 20), ("south", 3)), "no row for region None"),
        ((("north", 20), ("south", 3), (None, 1), ("east", 5)), "total of region east"),
        ((("north", 20), ("north", 3), ("south", 1), (None, 1)), "two rows for region north"),
        ((("north", -1), ("south", 3), (None, 1)), "the total of region north must be at least 0"),
        ((("north", 1.5), ("south", 3), (None, 1)), "north must be a whole number"),
        ((("north", None), ("south", 3), (None, 1)), "north must be a number"),
    ],
)
def test_a_total_that_does_not_fit_is_refused_in_words(rows, words):
    parents = make(("region", "count"), ("region",), rows)
    with pytest.raises((UnsupportedError, ParameterError), match=words):
        tree().adding_up_to(parents)


def test_other_refusals():
    with pytest.raises(ParameterError, match="grouped by some of department only"):
        counts([1]).adding_up_to(counts([1], name="town"))
    with pytest.raises(ParameterError, match="must be a number"):
        counts([1]).adding_up_to("many")
    with pytest.raises(ParameterError, match="must be one of department, count"):
        counts([1]).adding_up_to(5, column="mean")
    with pytest.raises(ParameterError, match="a number in every row"):
        make(("k", "count"), ("k",), (("a", None),)).adding_up_to(5)
    with pytest.raises(ParameterError, match="must have a column 'count'"):
        counts([1]).adding_up_to(make(("a", "b"), (), ((1, 2),)))
    total = make(("count",), (), ((5,),), guarantee=PureDP(1, "replace"))
    with pytest.raises(ParameterError, match="neighbours"):
        counts([1]).adding_up_to(total)


def test_nothing_adds_up_to_nothing():
    empty = counts([])
    assert len(empty.adding_up_to(0)) == 0
    with pytest.raises(ParameterError, match="nothing adds up to 5"):
        empty.adding_up_to(5)
