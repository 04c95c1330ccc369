"""What a release may hold, and how text is made harmless."""

from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from tests.curator.releases import HOSTILE

from discreet.curator.values import finished, kind_of, same, shortened, visible, width_of
from discreet.errors import InputTypeError


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (3, 3),
        (True, True),
        (2.5, 2.5),
        (float("nan"), None),
        (float("inf"), None),
        (float("-inf"), None),
        (np.int64(7), 7),
        (np.float64("nan"), None),
        (np.float32(0.5), 0.5),
        (np.bool_(True), True),
        (np.str_("a"), "a"),
        (np.datetime64("2024-02-29"), date(2024, 2, 29)),
        (np.array(4), 4),
        (Fraction(6, 2), 3),
        (Fraction(1, 2), 0.5),
        (Fraction(10**400 * 2 + 1, 2), 10**400),
        (Decimal("NaN"), None),
        (Decimal("2.50"), 2.5),
        (datetime(2024, 2, 29), date(2024, 2, 29)),  # noqa: DTZ001
        (None, None),
    ],
)
def test_odd_values_have_one_rule_each(given, wanted):
    found = finished(given, where="x")
    assert same(found, wanted)


def test_minus_zero_is_zero():
    assert str(finished(-0.0, where="x")) == "0.0"


@pytest.mark.parametrize(
    "given",
    [[1], {"a": 1}, b"x", 1j, datetime(2024, 2, 29, 1, tzinfo=UTC), np.array([1]), object()],
)
def test_other_types_are_refused_by_type_alone(given):
    with pytest.raises(InputTypeError, match=f"'salary' cannot hold a {type(given).__name__}"):
        finished(given, where="salary")


def test_the_kind_of_a_column():
    assert kind_of([]) == kind_of([None]) == "none"
    assert kind_of([1, None]) == "int"
    assert kind_of([1, 2.0]) == "float"
    assert kind_of([True, False]) == "bool"
    assert kind_of([True, 1]) == "mixed"
    assert kind_of([date(2024, 1, 1), "other"]) == "mixed"


@pytest.mark.parametrize("text", [text for text in HOSTILE if text is not None])
def test_visible_text_drives_no_terminal(text):
    shown = visible(text)
    assert shown.isprintable()
    shown.encode("utf-8")
    assert width_of(shortened(shown, 20)) <= 20


def test_widths_are_terminal_columns():
    assert width_of("日本") == 4
    assert width_of("e\u0301") == 1
    assert shortened("日本語", 5) == "日本…"
    assert shortened("日本語", 4) == "日…"
    assert shortened("abc", 3) == "abc"
    assert visible("a\u00a0b") == "a b"
    assert visible("\u202egnp\u200b\n") == "\\u202egnp\\u200b\\n"
    for letter in "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069":
        assert visible(f"a{letter}b") == f"a\\u{ord(letter):04x}b"
