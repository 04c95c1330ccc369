"""No person moves a block further than `stability` says, and some person moves it that far.

All people with up to four rows of a few kinds are enumerated; the exact totals are those of
tests/query/measuring.py, which follow the words of discreet/query/request.py.
"""

import itertools
from fractions import Fraction

import pytest
from tests.query.measuring import (
    PLUS,
    SURE,
    Aggregate,
    PerPerson,
    PerRow,
    X,
    declared,
    every_way,
    everybody,
    furthest,
    number,
    question,
)

from discreet.errors import QueryError
from discreet.query.stability import key_bound, number_of_groups

COUNT, PEOPLE = Aggregate("count"), Aggregate("people")
BOTH = ["add_or_remove", "replace"]
SIGNED = number(-2, 2, nullable=True)
OFFSET = number(3, 5)
MEDIAN = Aggregate("quantile", number(0, 1), level=Fraction(1, 2))

# what is asked, and the values that its rows may have: the ends, the middle, a missing one
QUESTIONS = {
    "rows": ([COUNT], [1]),
    "there": ([Aggregate("count", X)], [0, None]),
    "sum": ([Aggregate("sum", OFFSET)], [3, 5]),
    "signed": ([Aggregate("sum", SIGNED)], [-2, 2, None]),
    "mean": ([Aggregate("mean", X)], [0, 1, 4]),
    "mean, rows": ([Aggregate("mean", X), COUNT], [0, 1, 4, None]),
    "filtered": ([Aggregate("mean", SURE, PLUS), Aggregate("count", None, PLUS)], [0, 4]),
    "variance": ([Aggregate("variance", X)], [0, 2, 4]),
    "variance, rows": ([Aggregate("variance", X), COUNT], [0, 2, 4, None]),
    "quantile": ([MEDIAN], [0, 1]),
}


def rows(values, groups, filters=(1,)):
    return [{"x": v, "y": v, "g": g, "f": f} for v in values for g in groups for f in filters]


def bounds(stability):
    scale = stability.bounding.scale
    return stability.l1 / scale, stability.changes * (stability.move / scale) ** 2


def check(name, plan, unit, people, *, tight=True):
    """Every way of bounding keeps its word; and reaches it, if enough people are enumerated."""
    block, ways = every_way(plan, unit)
    assert ways
    for stability in ways:
        l1, l2 = furthest(block, stability, plan, people, unit)
        scale = stability.bounding.scale
        most_l1, most_l2 = bounds(stability)
        assert l1 / scale <= most_l1 * (1 + 1e-12), (name, stability)
        assert l2 / scale**2 <= most_l2 * (1 + 1e-12), (name, stability)
        if tight:
            assert l1 / scale == pytest.approx(most_l1), (name, stability)
            assert l2 / scale**2 == pytest.approx(most_l2), (name, stability)
        if stability.one:
            assert len(block.cells) == 1
    return ways


@pytest.mark.parametrize("neighbours", BOTH)
@pytest.mark.parametrize("name", QUESTIONS)
@pytest.mark.parametrize("keys", [None, ["a", "b"]])
@pytest.mark.parametrize("together", [1, 2])
def test_one_row_each(name, keys, neighbours, together):
    wanted, values = QUESTIONS[name]
    plan = question(*wanted, keys=keys, where=PLUS)
    unit = PerRow(neighbours=neighbours, together=together)
    people = list(everybody(rows(values, "ab", (0, 1)), 1))
    check(name, plan, unit, people)


@pytest.mark.parametrize("neighbours", BOTH)
@pytest.mark.parametrize("name", QUESTIONS)
@pytest.mark.parametrize("max_rows", [1, 2])
def test_many_rows_and_one_group(name, neighbours, max_rows):
    wanted, values = QUESTIONS[name]
    plan = question(*wanted, where=PLUS)
    unit = PerPerson("id", max_rows=max_rows, neighbours=neighbours)
    people = list(everybody(rows(values, "a", (0, 1)), 3))
    ways = check(name, plan, unit, people)
    clamps = name not in ("sum", "signed", "variance", "variance, rows", "quantile")
    expected = ["weight", *["sample"] * (name != "quantile"), *["clamp"] * clamps]
    assert [way.bounding.way for way in ways] == expected


@pytest.mark.parametrize("neighbours", BOTH)
@pytest.mark.parametrize("name", QUESTIONS)
@pytest.mark.parametrize(("max_rows", "max_groups"), [(1, 1), (1, 2), (2, 1), (2, None)])
@pytest.mark.parametrize("other", [False, True])
def test_many_rows_and_several_groups(name, neighbours, max_rows, max_groups, other):
    wanted, values = QUESTIONS[name]
    keys = ["a", "b"] if other else ["a", "b", "c", "d"]
    plan = question(*wanted, keys=keys, other=other)
    unit = PerPerson("id", max_rows=max_rows, max_groups=max_groups, neighbours=neighbours)
    values = [v for v in values if v != 1] or values
    people = list(everybody(rows(values, "abcd"), 3 if len(values) < 3 else 2))
    # not every pair of people of two groups ends in the row of the others
    tight = not (other and max_groups == 2 and neighbours == "replace")
    check(name, plan, unit, people, tight=tight)


@pytest.mark.parametrize("neighbours", BOTH)
@pytest.mark.parametrize("max_groups", [1, 2, None])
@pytest.mark.parametrize("other", [False, True])
def test_people_in_groups(neighbours, max_groups, other):
    plan = question(PEOPLE, keys=["a", "b"], other=other)
    unit = PerPerson("id", max_groups=max_groups, neighbours=neighbours)
    if max_groups is None and other:
        with pytest.raises(QueryError, match="max_groups"):
            every_way(plan, unit)
        return
    people = list(everybody(rows([1], "abcde"), 4))
    check("people", plan, unit, people, tight=max_groups == 1)


@pytest.mark.parametrize("neighbours", BOTH)
@pytest.mark.parametrize("other", [False, True])
@pytest.mark.parametrize("max_rows", [1, 2, 3])
def test_trusted_people_in_groups(neighbours, other, max_rows):
    """However they are grouped: a person is in no more groups than she has rows."""
    plan = question(PEOPLE, keys=["a", "b"], other=other)
    unit = PerPerson("id", max_rows=max_rows, neighbours=neighbours, trusted=True)
    check("people", plan, unit, list(everybody(rows([1], "abcde"), max_rows)), tight=False)


def test_a_person_in_many_unlisted_groups_is_bounded_by_what_was_declared():
    """The row of the others adds up groups: public keys do not bound how many."""
    plan = question(PEOPLE, keys=["a"], other=True)
    unit = PerPerson("id", max_groups=3)
    _, ways = every_way(plan, unit)
    assert [way.bounding.way for way in ways] == ["weight", "sample"]
    check("people", plan, unit, list(everybody(rows([1], "abcdef"), 4)), tight=False)
    trusted = PerPerson("id", max_rows=5, trusted=True)
    alone = [rows([1], "bcdef")]
    check("rows", question(COUNT, keys=["a"], other=True), trusted, alone)
    check("people", plan, trusted, alone)


@pytest.mark.parametrize("name", ["rows", "mean, rows", "signed"])
@pytest.mark.parametrize("neighbours", BOTH)
def test_trusted_people(name, neighbours):
    wanted, values = QUESTIONS[name]
    unit = PerPerson("id", max_rows=2, trusted=True, neighbours=neighbours)
    people = list(everybody(rows(values, "ab"), 2))
    for asked in (question(*wanted, keys="abcd"), question(*wanted)):
        (way,) = check(name, asked, unit, people)
        assert way.bounding.way == "none"


@pytest.mark.parametrize("neighbours", BOTH)
@pytest.mark.parametrize("name", ["rows", "mean", "signed"])
def test_households_of_two_people(neighbours, name):
    wanted, values = QUESTIONS[name]
    people = list(everybody(rows(values, "a"), 3))
    unit = PerPerson("id", max_rows=2, together=2, neighbours=neighbours)
    check(name, question(*wanted, where=PLUS), unit, [*people, *everybody(rows([1], "a", (0,)), 1)])
    grouped = PerPerson("id", max_rows=1, max_groups=2, together=2, neighbours=neighbours)
    people = list(everybody(rows(values, "abc"), 2))
    check(name, question(*wanted, keys="abc"), grouped, people, tight=False)


@pytest.mark.parametrize("neighbours", BOTH)
def test_a_public_number_of_rows(neighbours):
    """Everybody has exactly one row and is replaced: 2t - D moves by 2D, and no further."""
    plan = question(Aggregate("mean", SURE))
    unit = PerRow(neighbours="replace", rows=5)
    block, (stability,) = every_way(plan, unit, known=5)
    assert block.what == "centred"
    people = [(row,) for row in rows([0, 1, 2, 3, 4], "a")]
    l1, l2 = furthest(block, stability, plan, people, unit)
    assert (l1, l2) == (2, 4) == bounds(stability)
    assert stability.one


# one single number: where staircase noise is allowed


def numbers_moved(plan, unit, people):
    """For each way of bounding, how many numbers of the answer one person moves at most."""
    from tests.query.measuring import vectors

    block, ways = every_way(plan, unit)
    found = []
    for stability in ways:
        table, _ = vectors(block, stability, plan, people)
        changes = table
        if unit.neighbours == "replace":
            changes = (table[:, None, :] - table[None, :, :]).reshape(-1, table.shape[1])
        found.append((stability.one, int((changes != 0).sum(axis=1).max())))
    return found


@pytest.mark.parametrize("neighbours", BOTH)
@pytest.mark.parametrize("name", QUESTIONS)
@pytest.mark.parametrize("keys", [None, "ab"])
@pytest.mark.parametrize(
    "unit",
    [
        {"max_rows": 1},
        {"max_rows": 2},
        {"max_rows": 1, "max_groups": 1},
        {"max_rows": 2, "max_groups": 1},
        {"max_rows": 1, "max_groups": 2},
        {"max_rows": 1, "trusted": True},
        {},
    ],
)
def test_one_means_one_number(neighbours, name, keys, unit):
    wanted, values = QUESTIONS[name]
    plan = question(*wanted, keys=keys)
    most = 2
    who = PerRow(neighbours=neighbours)
    if unit:
        who = PerPerson("id", neighbours=neighbours, **unit)
    if not unit or unit.get("trusted"):
        most = 1
    found = numbers_moved(plan, who, list(everybody(rows(values, "ab"), most)))
    for one, moved in found:
        assert moved <= 1 or not one
    if len(plan.groupings) == 0 and name in ("rows", "there", "sum", "signed"):
        assert all(one for one, _ in found)
    if name == "quantile":
        assert not any(one for one, _ in found)


def test_one_number_that_is_never_negative_is_not_moved_twice_as_far():
    plan = question(COUNT, where=PLUS)
    _, (stability,) = every_way(plan, PerRow(neighbours="replace"))
    assert (stability.l1, stability.move, stability.changes) == (1, 1, 1)
    _, (grouped,) = every_way(question(COUNT, keys="ab"), PerRow(neighbours="replace"))
    assert (grouped.l1, grouped.move, grouped.changes) == (2, 1, 2)
    _, (signed,) = every_way(question(Aggregate("sum", SIGNED)), PerRow(neighbours="replace"))
    assert (signed.l1, signed.move, signed.changes) == (2, 2, 1)


# weights


@pytest.mark.parametrize("max_rows", [1, 3, 10, 1000, 10**6, 10**9])
def test_weights_never_add_up_to_more_than_was_declared(max_rows):
    plan = question(COUNT)
    _, ways = every_way(plan, PerPerson("id", max_rows=max_rows))
    weight = next(way for way in ways if way.bounding.way == "weight")
    scale, most = weight.bounding.scale, weight.bounding.rows
    assert weight.l1 == scale * most
    for count in {1, most - 1, most, most + 1, 2 * most - 1, 7 * most + 3, 10**12} - {0}:
        each = scale if count <= most else scale * most // count
        assert count * each <= weight.l1
        assert count * each / scale > min(count, most) - count / scale
        # a person of R rows loses at most R / 2^20 of her share
        assert count * each / scale / min(count, most) >= 1 - count / 2**20


@pytest.mark.parametrize("together", [1, 10**6])
@pytest.mark.parametrize("neighbours", BOTH)
@pytest.mark.parametrize("bits", [1, 20, 40, 50, 57])
def test_weights_fit_64_bits_or_are_refused(together, neighbours, bits):
    unit = PerPerson("id", max_rows=5, together=together, neighbours=neighbours, bounding="weight")
    plan = question(Aggregate("mean", number(0, 1 << bits)), COUNT)
    if bits + (10 * together).bit_length() > 60:
        with pytest.raises(QueryError, match="do not fit 64 bits; declare tighter bounds"):
            every_way(plan, unit)
        return
    block, (weight,) = every_way(plan, unit)
    assert weight.l1 * block.cells[0].unit <= 1 << 62
    assert weight.bounding.scale >= 2


def test_sampling_is_left_where_weights_have_no_room():
    unit = PerPerson("id", max_rows=5)
    _, ways = every_way(question(Aggregate("mean", number(0, 1 << 58))), unit)
    assert [way.bounding.way for way in ways] == ["sample", "clamp"]
    with pytest.raises(QueryError, match="do not fit 64 bits"):
        every_way(question(Aggregate("mean", number(0, 1 << 61))), unit)
    with pytest.raises(QueryError, match="do not fit 64 bits"):
        every_way(question(Aggregate("variance", number(0, 1 << 32))), PerRow())
    every_way(question(Aggregate("variance", number(0, 1 << 31))), PerRow())
    with pytest.raises(QueryError, match="do not fit 64 bits"):
        every_way(question(Aggregate("mean", number(0, 1 << 62))), PerRow(neighbours="replace"))
    with pytest.raises(QueryError, match="do not fit 64 bits"):
        every_way(question(Aggregate("sum", number(0, 1 << 62))), PerRow(together=2))


# what the declaration allows


def test_what_is_not_bounded_is_refused_with_the_words_to_write():
    with pytest.raises(QueryError, match=r"dp.PerPerson\('id', max_rows=...\); COUNT\(DISTINCT id"):
        every_way(question(COUNT), PerPerson("id"))
    with pytest.raises(QueryError, match="has still to be found, which a question does"):
        every_way(question(COUNT), PerPerson("id", max_rows="find", find_epsilon=1))
    with pytest.raises(QueryError, match=r"dp.PerPerson\('id', max_groups=...\)"):
        every_way(question(PEOPLE, unknown=True), PerPerson("id"))
    (way,) = every_way(question(PEOPLE), PerPerson("id"))[1]
    assert way.l1 == 1


@pytest.mark.parametrize("bounding", ["weight", "sample", "clamp"])
def test_the_owner_may_choose_how_people_are_bounded(bounding):
    unit = PerPerson("id", max_rows=2, max_groups=3, bounding=bounding)
    plan = question(COUNT, keys="abcd")
    (way,) = every_way(plan, unit)[1]
    assert way.bounding.way == bounding
    (people,) = every_way(question(PEOPLE, keys="abcd"), unit)[1]
    assert people.bounding.way == ("sample" if bounding == "clamp" else bounding)
    (quantile,) = every_way(question(MEDIAN, keys="abcd"), unit)[1]
    assert quantile.bounding.way == "weight"


def test_a_way_that_does_not_fit_is_refused_in_words():
    ungrouped = PerPerson("id", max_rows=2, bounding="sample")
    every_way(question(COUNT), ungrouped)
    with pytest.raises(QueryError, match=r"needs max_groups=... for"):
        every_way(question(COUNT, keys="ab"), ungrouped)
    clamped = PerPerson("id", max_rows=2, bounding="clamp")
    for wanted in (Aggregate("sum", X), Aggregate("variance", X)):
        with pytest.raises(QueryError, match="cannot clamp plain sums or variances"):
            every_way(question(wanted), clamped)


def test_numbers_of_groups():
    assert number_of_groups(question(COUNT)) == 1
    assert number_of_groups(question(COUNT, keys="abc")) == 3
    assert number_of_groups(question(COUNT, unknown=True)) is None
    listed = question(COUNT, keys="abc", combinations=(("a",), ("b",)))
    assert number_of_groups(listed) == 2
    many = question(COUNT, keys=range(1_000_000))
    assert number_of_groups(many) == 1_000_000


@pytest.mark.parametrize(
    ("unit", "more", "expected"),
    [
        ({"max_groups": 3}, {"unknown": True}, 3),
        ({"max_rows": 4}, {"unknown": True}, 4),
        ({"max_rows": 4, "max_groups": 2}, {"unknown": True}, 2),
        ({"max_groups": 9}, {"keys": "ab"}, 2),
        ({"max_groups": 9}, {"keys": "ab", "other": True}, 9),
        ({}, {"keys": "ab"}, 2),
    ],
)
def test_in_how_many_groups_a_person_can_be(unit, more, expected):
    assert key_bound(question(PEOPLE, **more), PerPerson("id", **unit)) == expected


def test_fewer_groups_than_declared_are_all_there_are():
    unit = PerPerson("id", max_rows=2, max_groups=10)
    _, ways = every_way(question(COUNT, keys="abc"), unit)
    assert {way.l1 // way.bounding.scale for way in ways} == {6}
    _, ways = every_way(question(COUNT, keys="abc", other=True), unit)
    assert {way.l1 // way.bounding.scale for way in ways} == {20}


def test_reasons_are_in_words():
    unit = PerPerson("id", max_rows=2, max_groups=3, neighbours="replace", together=4)
    words = [way.why for way in every_way(question(COUNT, keys="abcd"), unit)[1]]
    whose = ", who may be replaced, in groups of 4 people"
    kept = "at most 2 rows in each of 3 groups of a person count, "
    assert words == [
        f"a person's rows are weighted so that they count as at most 6 in all{whose}",
        f"{kept}chosen by a keyed hash{whose}",
        f"{kept}and totals are clamped to that{whose}",
    ]
    assert declared(unit).unit == unit
    assert len(list(itertools.islice(everybody([1, 2], 2), 10))) == 6
