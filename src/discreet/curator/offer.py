"""What a budget's rest would still buy: the same question, coarser.

Tested by tests/curator/test_offer.py
"""

from __future__ import annotations

from fractions import Fraction

from discreet.curator.asking import Asking
from discreet.curator.ledger.amounts import Accounting, Amount, cost_of
from discreet.curator.questions import rounded_down
from discreet.errors import DiscreetError
from discreet.query.plan import Plan
from discreet.query.price import Target

__all__ = ["largest"]

_STEPS = 24
_DELTAS = 8


def largest(
    asking: Asking, plan: Plan, target: Target, left: Amount, accounting: Accounting
) -> Target | None:
    """The largest price, up to the asked one, at which a question fits into what is left.

    Rounded down to three digits, so that it can be typed; None if nothing fits.
    """
    asked = target.rho if target.rho is not None else target.epsilon
    assert asked is not None  # noqa: S101 - one of the two is there
    deltas = [None] if target.delta is None else [target.delta / 2**i for i in range(_DELTAS)]
    for delta in deltas:
        found = _most(asking, plan, left, accounting, asked, delta, rho=target.rho is not None)
        if found is not None:
            return found
    return None


def _most(
    asking: Asking,
    plan: Plan,
    left: Amount,
    accounting: Accounting,
    asked: Fraction,
    delta: Fraction | None,
    *,
    rho: bool,
) -> Target | None:
    def fits(price: Fraction) -> Target | None:
        rounded = rounded_down(price)
        if rounded <= 0:
            return None
        try:
            target = Target(rho=rounded) if rho else Target(epsilon=rounded, delta=delta)
            priced, _ = asking.priced(plan, target)
            return target if cost_of(priced.losses, accounting).within(left) else None
        except DiscreetError:
            return None

    straight = min(asked, left.value())  # where the price is what is added up
    found = fits(straight)
    if found is not None and (accounting == "pure" or rho):
        return found
    low, high = Fraction(0), asked
    for _ in range(_STEPS):
        middle = (low + high) / 2
        tried = fits(middle)
        if tried is None:
            high = middle
        else:
            low, found = middle, tried
    return found
