"""One part of a dataset, open for questions."""

from dataclasses import replace
from fractions import Fraction

import pytest
from tests.curator.payroll import DEARER

from discreet.curator.asking import wanting


@pytest.fixture
def policy():
    return DEARER


def test_each_plan_and_declaration_has_its_own_price(curator):
    """What was found for one is not handed out for the next, with OPTIONS or without."""
    said = {"epsilon": None, "delta": None, "rho": None}
    wanted = wanting(curator.policy.defaults, **said, within=None, rows=None, column=None)
    part = curator._part("payroll", None)
    words = "WITH DIFFERENTIAL_PRIVACY OPTIONS"
    asked = [
        part.plan(f"SELECT {options} COUNT(*) AS n FROM payroll")
        for options in (f"{words} (epsilon = 0.25)", "", f"{words} (epsilon = 0.5)")
    ]
    prices = [Fraction(1, 4), curator.policy.defaults.epsilon, Fraction(1, 2)]
    for _ in range(2):
        for plan, price in zip(asked, prices, strict=True):
            for schema in (part.schema, replace(part.schema), part.schema):
                assert wanted(plan, schema) == wanted(plan, schema)
                assert wanted(plan, schema).epsilon == price
