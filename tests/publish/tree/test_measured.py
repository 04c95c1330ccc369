"""The account of every cell, added up in integers."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import BudgetExceededError, ParameterError
from discreet.publish.tree.domain import Domain
from discreet.publish.tree.measured import UNITS, Account, Measured, Request, joined, unit_of

measurements = st.lists(
    st.integers(0, 3).flatmap(
        lambda depth: st.tuples(
            st.just(depth), st.integers(0, (1 << depth) - 1), st.integers(1, UNITS // 2)
        )
    ),
    min_size=1,
    max_size=8,
)


def request(rows):
    return Request(*(np.array(column) for column in zip(*rows, strict=True)))


@given(measurements)
def test_the_account_is_the_largest_sum_over_any_cell(rows):
    """Against adding up cell by cell; what exceeds an account is refused, and not noted."""
    spent = [0] * 8
    account = Account(Domain((8,)))
    for depth, node, units in rows:
        inside = range(node << (3 - depth), (node + 1) << (3 - depth))
        if max(spent[cell] for cell in inside) + units <= UNITS:
            account.charge(request([(depth, node, units)]))
            for cell in inside:
                spent[cell] += units
        else:
            with pytest.raises(BudgetExceededError):
                account.charge(request([(depth, node, units)]))
        assert account.largest == max(spent)


def test_a_measurement_takes_a_unit():
    account = Account(Domain((8,)))
    for units in (0, -5):
        with pytest.raises(ParameterError):
            account.charge(request([(0, 0, 1), (1, 0, units)]))
    assert account.largest == 0


def test_units_that_would_wrap_are_refused():
    """1 and 2^63 - 1 add up to -2^63 in 64 bits, which is below every account."""
    account = Account(Domain((8,)))
    with pytest.raises(ParameterError, match="units"):
        account.charge(request([(0, 0, 1), (0, 0, 2**63 - 1)]))


def test_noise_that_does_not_fit_64_bits_is_refused():
    assert unit_of(Fraction(1, 1 << 40), 1) == Fraction(1, 1 << 56)
    for epsilon, sensitivity in ((Fraction(1, (1 << 40) + 1), 1), (Fraction(1, 2), 1 << 40)):
        with pytest.raises(ParameterError, match="64 bits"):
            unit_of(epsilon, sensitivity)


def test_rates_are_whole_units_of_epsilon_over_sensitivity():
    both = joined([request([(0, 0, 7)]), request([(1, 1, UNITS - 7)])])
    measured = Measured(
        Domain((2,)), Fraction(1, 3), 5, "replace", both.depth, both.node, both.units, both.units
    )
    assert measured.unit * UNITS == Fraction(1, 15)
    assert measured.rate.sum() == pytest.approx(1 / 15)
    assert measured.guarantee.epsilon == Fraction(1, 3)
    assert measured.guarantee.neighbours == measured.privacy_loss.neighbours == "replace"
    assert measured.privacy_loss.epsilon == Fraction(1, 3)
    assert len(both) == 2
