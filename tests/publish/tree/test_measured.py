"""The account of every cell, added up in integers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import BudgetExceededError, ParameterError
from discreet.publish.tree.domain import Domain
from discreet.publish.tree.measured import Account, Measured, Request, joined
from discreet.publish.tree.terms import UNITS, terms_of

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


def test_what_was_measured_says_what_it_promises():
    both = joined([request([(0, 0, 7)]), request([(1, 1, UNITS - 7)])])
    columns = (both.depth, both.node, both.units, both.units)
    terms = terms_of(epsilon="1/3", sensitivity=5, neighbours="replace")
    measured = Measured(Domain((2,)), terms, *columns)
    assert measured.sharpness.sum() == pytest.approx(1 / 15)
    assert measured.guarantee == terms.guarantee
    assert measured.privacy_loss == terms.privacy_loss
    assert len(both) == 2


@pytest.mark.parametrize("price", [{"epsilon": "1/3"}, {"rho": "1/7"}])
def test_what_was_measured_can_be_written_down(price):
    rows = request([(0, 0, 7), (1, 1, UNITS - 7)])
    terms = terms_of(**price, sensitivity=5, neighbours="replace")
    measured = Measured(Domain((2,)), terms, rows.depth, rows.node, rows.units, rows.units)
    values = measured.to_dict()
    assert Measured.from_dict(values).to_dict() == values
    assert Measured.from_dict(values).terms == terms
    for wrong in (
        {**values, "rho": "1/9", "epsilon": "1/9"},
        {**values, "more": 1},
        {name: value for name, value in values.items() if name != "sensitivity"},
        {name: value for name, value in values.items() if name != "node"},
        {**values, "units": [7, UNITS]},
        {**values, "node": [0, 2]},
    ):
        with pytest.raises((ParameterError, BudgetExceededError)):
            Measured.from_dict(wrong)
