"""What a budget's rest would still buy: the same question, coarser.

An offer is a price that fits into what is left, rounded down to three digits, so that it can be
typed. Where prices add up, what is left is the price; where they do not (a budget in rho, a price
in epsilon), it is searched for. If delta is what is short, smaller ones are tried.
Tested by tests/curator/test_offer.py
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial

from discreet.curator.questions import Questions, rounded_down
from discreet.errors import BudgetExceededError, DiscreetError
from discreet.query.explain import figure, price_of
from discreet.query.plan import Plan
from discreet.query.price import Priced, Target

__all__ = ["largest", "offering", "widths"]

_STEPS = 24
_DELTAS = 8
_LESS = (Fraction(1), Fraction(99, 100), Fraction(1, 2))
"""What is left may fall short of its own price by the rounding up of the parts of a question."""


def largest(
    questions: Questions,
    plan: Plan,
    asked: Target,
    fits: Callable[[Priced], bool],
    *,
    left: Fraction,
    adds_up: bool = True,
) -> Target | None:
    """The largest price, up to the asked one, at which a question fits; None if nothing does.

    Args:
        questions: what can be asked.
        plan: the question.
        asked: what it was to cost.
        fits: whether a priced question is affordable.
        left: what is left: the price that fits, if prices add up; else where the search begins.
        adds_up: whether a price is what is taken off.
    """
    most = asked.rho if asked.rho is not None else asked.epsilon
    if most is None:  # pragma: no cover - a target has one of them
        return None

    def tried(delta: Fraction | None, price: Fraction) -> Target | None:
        rounded = rounded_down(price)
        if rounded <= 0:
            return None
        try:
            named = {"epsilon": rounded} if asked.rho is None else {"rho": rounded}
            target = Target(**named, delta=delta)
            return target if fits(questions.priced(plan, target)[0]) else None
        except DiscreetError:
            return None

    for delta in _deltas(asked):
        found = None
        for less in _LESS:
            found = found or tried(delta, min(most, left) * less)
        if found is not None and not adds_up:
            found = _searched(partial(tried, delta), most, found)
        if found is not None:
            return found
    return None


def _deltas(asked: Target) -> Iterator[Fraction | None]:
    for i in range(_DELTAS if asked.delta is not None else 1):
        yield None if asked.delta is None else asked.delta / 2**i


def _searched(tried: Callable[[Fraction], Target | None], most: Fraction, found: Target) -> Target:
    """The largest price that fits, by halving, from one that does."""
    low, high = found.rho if found.rho is not None else found.epsilon, most
    for _ in range(_STEPS):
        assert low is not None  # noqa: S101 - a target has one of them
        middle = (low + high) / 2
        better = tried(middle)
        if better is None:
            high = middle
        else:
            low, found = middle, better
    return found


def widths(questions: Questions, plan: Plan, target: Target, *, confidence: Fraction) -> str:
    """How accurate the numbers of a question would be, in words: ": n within 10"; or nothing."""
    priced, _ = questions.priced(plan, target)
    price = price_of(priced, confidence=confidence)
    said = [f"{x.name} within {figure(x.half_width)}" for x in price if x.half_width]
    return f": {', '.join(said)}" if said else ""


def offering(
    refusal: BudgetExceededError, smaller: Target | None, errors: str, *, searched: bool
) -> BudgetExceededError:
    """The refusal, with what the rest would still buy, and what was charged before it.

    Args:
        refusal: what was refused.
        smaller: a price that fits; None for none.
        errors: how far off the answer would be at that, in words.
        searched: whether something had to be found for the question, which was charged.
    """
    words, could = str(refusal), None
    if searched:
        words += " for the question itself; what had to be found for it is charged, and kept"
    if smaller is not None:
        words += f". With {smaller} it could be answered{errors} (--with-what-is-left asks it)"
        could = smaller.epsilon if smaller.epsilon is not None else smaller.rho
    return BudgetExceededError(words, asked=refusal.asked, left=refusal.left, could=could)
