"""Logarithms by chords: below the curve, and no further than stated."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import QueryError
from discreet.exact import log
from discreet.query import expr as e
from discreet.query import total
from discreet.query.evaluate import evaluate
from discreet.query.kinds import WIDEST, Number
from discreet.query.logarithm import GRID, chord_error, chords

KINDS = [
    Number(1, 1_000_000),
    Number(1, 10),
    Number(7, 7),
    Number(50, 40_000_000, Fraction(1, 100)),
    Number(3, 5, Fraction(1, 7)),
    Number(1, 10**13),
]


@given(st.sampled_from(KINDS), st.data())
def test_a_chord_is_below_and_within_the_stated_error(kind, data):
    n = data.draw(st.integers(kind.low, kind.high))
    node = total.logarithm(e.Column("x", kind))
    found = evaluate(node, {"x": n}) * GRID
    true = log(n * kind.grid, 96)
    assert found <= true.upper
    assert true.lower - found <= chord_error(kind)
    assert node.kind.low * GRID <= found <= node.kind.high * GRID


@given(st.sampled_from(KINDS), st.data())
def test_it_never_falls(kind, data):
    n = data.draw(st.integers(kind.low, kind.high))
    m = data.draw(st.integers(n, kind.high))
    node = total.logarithm(e.Column("x", kind))
    assert evaluate(node, {"x": n}) <= evaluate(node, {"x": m})


def test_the_error_of_the_docstring():
    assert float(chord_error(Number(1, 1_000_000))) < 0.0035
    assert float(chord_error(Number(1, 2))) < 3e-6  # no number between the knots
    for u in (0.01, 0.1, 0.5, 0.9, 1.0):
        m = u / (math.exp(u) - 1)
        steps = (1 + (math.exp(u) - 1) * i / 1000 for i in range(1001))
        gap = max(math.log(x) - (x - 1) * u / (math.exp(u) - 1) for x in steps)
        assert gap <= m - 1 - math.log(m) + 1e-12 <= u * u / 8 + 1e-12


def test_knots_rise_and_end_at_the_ends():
    for kind in KINDS:
        knots, levels, grid = chords(kind)
        assert (knots[0], knots[-1], grid) == (kind.low, kind.high, GRID)
        assert list(knots) == sorted(set(knots))
        assert list(levels) == sorted(levels)


def test_too_wide_a_range_is_refused():
    with pytest.raises(QueryError, match="would overflow"):
        chords(Number(1, WIDEST))
