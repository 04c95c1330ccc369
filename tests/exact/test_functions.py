"""The enclosures against an independent oracle: Python's decimal module at 400 digits."""

from decimal import Context, Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.exact import Interval, certify, exp, gauss_integral, log, pi, sqrt

HIGH = Context(prec=400)
ORACLE_ERROR = Fraction(1, 10**380)

rationals = st.builds(Fraction, st.integers(-(10**6), 10**6), st.integers(1, 10**6)).filter(
    lambda x: abs(x) < 3000
)
precisions = st.sampled_from([5, 30, 64, 128, 500])


def decimal(x: Fraction) -> Decimal:
    return HIGH.divide(Decimal(x.numerator), Decimal(x.denominator))


def holds(found: Interval, truth: Decimal) -> bool:
    value = Fraction(truth)
    error = abs(value) * ORACLE_ERROR + ORACLE_ERROR
    return found.lower <= value + error and value - error <= found.upper


@given(rationals, precisions)
def test_exp_is_enclosed_to_the_promised_width(x, bits):
    found = exp(x, bits)
    assert holds(found, decimal(x).exp(HIGH))
    assert found.within(bits)


@given(rationals.filter(lambda x: x > 0), precisions)
def test_log_is_enclosed_to_the_promised_width(x, bits):
    found = log(x, bits)
    assert holds(found, decimal(x).ln(HIGH))
    assert found.width <= Fraction(1, 1 << bits)


@given(rationals.filter(lambda x: x > 0), precisions)
def test_sqrt_is_enclosed_to_the_promised_width(x, bits):
    found = sqrt(x, bits)
    assert found.lower**2 <= x <= found.upper**2
    assert found.within(bits)


def test_exp_just_beside_multiples_of_log_two():
    """Reduction must not let the remainder turn negative unnoticed."""
    ln2 = log(2, 400)
    for k in range(-300, 301, 7):
        for x in (ln2.lower * k, ln2.upper * k):
            found = exp(x, 64)
            assert found.within(64)
            assert holds(found, decimal(x).exp(HIGH))


@pytest.mark.parametrize("bits", [10, 64, 1000])
def test_pi(bits):
    digits = (
        "3.14159265358979323846264338327950288419716939937510"
        "582097494459230781640628620899862803482534211706798"
    )
    found = pi(bits)
    assert found.width <= Fraction(1, 1 << bits)
    assert (
        found.lower - Fraction(1, 10**100) <= Fraction(digits) <= found.upper + Fraction(1, 10**100)
    )


@given(st.fractions(0, 80, max_denominator=1000), st.sampled_from([10, 64, 128]))
def test_the_gaussian_integral_by_an_alternating_series(y, bits):
    """sum of (-y/2)^n/(n! (2n+1)): independent of the series used, summed exactly."""
    total, term, n = Fraction(0), Fraction(1), 0
    while abs(term) > Fraction(1, 10**80) or n < y:
        total += term / (2 * n + 1)
        n += 1
        term = Fraction(round(term * -y / 2 / n * 10**150), 10**150)
    found = gauss_integral(y, bits)
    assert found.within(bits)
    assert found.lower - Fraction(1, 10**60) <= total <= found.upper + Fraction(1, 10**60)


def test_tiny_exponentials_end():
    assert exp(Fraction(-(10**12)), 64).lower == 0
    assert 0 < exp(Fraction(-(10**12)), 64).upper < Fraction(1, 2**100_000)
    assert exp(Fraction(0), 64) == Interval.of(1)


def test_what_has_no_value_is_refused():
    for wrong in (0, -1):
        with pytest.raises(ValueError, match="above 0"):
            log(wrong, 10)
    with pytest.raises(ValueError, match="y >= 0"):
        gauss_integral(Fraction(-1), 10)


def test_intervals_in_give_intervals_out():
    x = Interval(Fraction(1, 3), Fraction(1, 2))
    assert exp(x, 30).lower <= exp(x.lower, 40).lower
    assert log(x, 30).upper >= log(x.upper, 40).lower


fractions = st.fractions(-50, 50, max_denominator=50)
intervals = st.tuples(fractions, fractions).map(lambda ends: Interval(min(ends), max(ends)))


@given(intervals, intervals, st.fractions(0, 1), st.fractions(0, 1))
def test_interval_arithmetic_encloses(x, y, s, t):
    a, b = x.lower + s * x.width, y.lower + t * y.width
    assert a + b in x + y
    assert a - b in x - y
    assert a * b in x * y
    assert a + 1 in 1 + x
    assert 1 - a in 1 - x
    if not y.lower <= 0 <= y.upper:
        assert a / b in x / y
        assert 1 / b in 1 / y
    assert a in x.rounded(4)


def test_intervals_refuse_nonsense():
    with pytest.raises(ArithmeticError):
        Interval(Fraction(1), Fraction(0))
    with pytest.raises(ZeroDivisionError):
        Interval.of(1) / Interval(Fraction(-1), Fraction(1))
    assert Interval(Fraction(-1), Fraction(3)).clipped(0, 1) == Interval(Fraction(0), Fraction(1))


def test_certify_asks_for_more_precision_until_it_is_enough():
    asked = []

    def cancelling(w: int) -> Interval:
        asked.append(w)
        return exp(Fraction(1, 10**40), w) - 1

    assert certify(cancelling, 64).within(60)
    assert len(asked) > 1


def test_certify_gives_up_on_an_exact_zero():
    with localcontext():
        found = certify(lambda w: Interval(Fraction(0), Fraction(1, 1 << w)), 8)
    assert found.lower == 0
