"""Norms: of the whole answer, exact where it is, rounded up where it is not, refused in words."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import InputTypeError, ParameterError, RangeError
from discreet.sensitivity import L1, L2, LInf
from discreet.sensitivity.norms import as_norm, is_exact, root_up, size_of

NORMS = [L1(), L2(), LInf()]
fractions = st.fractions(-1000, 1000, max_denominator=1000)
floats = st.floats(-1e100, 1e100)
vectors = st.lists(st.tuples(fractions, fractions), max_size=6)
float_vectors = st.lists(st.tuples(floats, floats), max_size=6)


def sides(pairs):
    return [one for one, _ in pairs], [two for _, two in pairs]


@given(vectors)
def test_exact_answers_have_exact_norms(pairs):
    first, second = sides(pairs)
    moves = [abs(one - two) for one, two in pairs]
    assert L1().between(first, second) == sum(moves)
    assert LInf().between(first, second) == max(moves, default=0)
    squared = sum(move**2 for move in moves)
    root = L2().between(first, second)
    assert Fraction(root) ** 2 >= squared
    if isinstance(root, float):
        assert Fraction(math.nextafter(root, 0)) ** 2 < squared
    else:
        assert root**2 == squared


@given(float_vectors)
def test_floats_are_differenced_exactly_and_rounded_up_once(pairs):
    """The result is the smallest float that is not below the true norm."""
    first, second = sides(pairs)
    moves = [abs(Fraction(one) - Fraction(two)) for one, two in pairs]
    truths = {"L1": sum(moves), "Linf": max(moves, default=0)}
    for norm in (L1(), LInf()):
        found = norm.between(first, second)
        assert found >= truths[norm.name]
        assert found == 0 or math.nextafter(found, 0) < truths[norm.name]
    assert Fraction(L2().between(first, second)) ** 2 >= sum(move**2 for move in moves)


@given(vectors)
def test_one_norm_bounds_the_next(pairs):
    first, second = sides(pairs)
    one, two, largest = (norm.between(first, second) for norm in NORMS)
    assert largest <= two
    assert Fraction(math.nextafter(two, 0)) <= one


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([1, 2, 3, 4], [2, 4, 6, 0]),
        ((1, [2, 3], [[4]]), (2, [4, 6], [[0]])),
        ({"a": 1, "b": {"c": [2, 3]}, "d": 4}, {"d": 0, "b": {"c": [4, 6]}, "a": 2}),
        (np.array([[1, 2], [3, 4]]), np.array([[2, 4], [6, 0]])),
        (
            [np.array([1, 2]), {"x": np.array([[3.0, 4.0]])}],
            [np.array([2, 4]), {"x": np.array([[6.0, 0.0]])}],
        ),
        (np.array([1, 2, 3, Fraction(4)], dtype=object), np.array([2, 4, 6, 0], dtype=object)),
        (np.array([1, 2, 3, 4], dtype=np.float32), np.array([2, 4, 6, 0], dtype=np.float32)),
    ],
)
def test_the_norm_is_that_of_the_whole_answer(first, second):
    """The moves are 1, 2, 3 and 4 in every shape: one number comes back, not one for each part."""
    assert L1().between(first, second) == 10
    assert L2().between(first, second) == root_up(30)
    assert LInf().between(first, second) == 4
    assert size_of(first) == 4


def test_small_integers_do_not_wrap():
    small = np.array([0, 255], dtype=np.uint8), np.array([255, 0], dtype=np.uint8)
    assert L1().between(*small) == 510
    far = np.array([-(2**63)]), np.array([2**63 - 1])
    assert L1().between(*far) == 2**64 - 1
    assert L1().between(np.int64(-(2**63)), 2**63 - 1) == 2**64 - 1


def test_exact_results_stay_exact():
    assert L1().between(3, 1) == 2
    assert type(L1().between(3, 1)) is int
    assert L1().between(Fraction(1, 3), 0) == Fraction(1, 3)
    assert type(L2().between([3, 0], [0, 4])) is int
    assert L2().between([Fraction(3, 2), 0], [0, 2]) == Fraction(5, 2)
    assert type(L1().between(3.0, 1)) is float
    assert L1().between(0.1, 0) == 0.1
    assert L1().between([], []) == L2().between([], []) == LInf().between([], []) == 0
    assert is_exact([1, Fraction(1, 2)])
    assert not is_exact([1, 0.5])


@pytest.mark.parametrize("norm", NORMS, ids=lambda norm: norm.name)
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([731], [731, 2]),
        (np.zeros(3), np.zeros((3, 1))),
        ({"secret": 1}, {"other": 1}),
        ([1], 1),
        ([1], np.array([1])),
        ({"a": 1}, [1]),
        (math.nan, 731.0),
        ([math.inf], [1.0]),
        (np.array([math.nan]), np.array([1.0])),
        (np.array([1.0]), np.array([-math.inf])),
        ("secret", "secret"),
        (["secret"], ["other"]),
        (True, False),
        (np.bool_(True), np.bool_(False)),
        (np.array([True]), np.array([False])),
        (np.array(["secret"]), np.array(["other"])),
        (np.array([1 + 731j]), np.array([1j])),
        (np.array([1], dtype=np.longdouble), np.array([1], dtype=np.longdouble)),
        (np.longdouble(1), np.longdouble(2)),
        (np.timedelta64(731, "s"), np.timedelta64(1, "s")),
        (np.ma.masked_array([1, 2], mask=[True, False]), np.ma.masked_array([1, 2])),
        (None, None),
        ({731}, {731}),
        (731j, 1j),
    ],
)
def test_what_has_no_difference_is_refused_without_being_quoted(norm, first, second):
    with pytest.raises(InputTypeError) as refused:
        norm.between(first, second)
    assert "731" not in str(refused.value)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("norm", NORMS, ids=lambda norm: norm.name)
def test_a_distance_beyond_the_floats_is_refused(norm):
    with pytest.raises(RangeError, match="too far apart"):
        norm.between([1.7e308], [-1.7e308])
    assert L1().between(10**400, 0) == 10**400


def test_norms_are_values():
    assert L1() == L1()
    assert L1() != L2()
    assert len({L1(), L1(), L2(), LInf()}) == 3
    assert [norm.name for norm in NORMS] == ["L1", "L2", "Linf"]


def test_a_norm_may_be_named():
    assert as_norm("L1") == L1()
    assert as_norm("linf") == LInf()
    assert as_norm(L2()) == L2()
    for wrong in ("L3", 5, None, object()):
        with pytest.raises(ParameterError, match="norm must be 'L1', 'L2', 'Linf'"):
            as_norm(wrong)
