"""What a budget's rest would still buy: the same question, coarser.

An offer is a price that fits into what is left, rounded down to three digits, so that it can be
typed. Where prices add up, what is left is the price; where they do not (a budget in rho, a price
in epsilon), it is searched for. If delta is what is short, smaller ones are tried.

Whose rest: an analyst is told of the own allowance, and of the people's budget only where the
policy says `tells_rest = true` (docs/decisions/0014).
Tested by tests/curator/test_offer.py
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

from discreet.curator.ledger.amounts import Amount, told_apart
from discreet.curator.ledger.values import Account
from discreet.curator.questions import Questions, rounded_down
from discreet.errors import BudgetExceededError, DiscreetError
from discreet.query.explain import PriceLine, figure, price_of
from discreet.query.plan import Plan
from discreet.query.price import Priced, Target

__all__ = ["Offer", "largest", "offered", "offering", "short_of_people"]

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


@dataclass(frozen=True, slots=True)
class Offer:
    """A question at a price that fits.

    Attributes:
        target: the price.
        confidence: with which the numbers are as accurate as the lines say.
        lines: how far off each number would be.
    """

    target: Target
    confidence: Fraction
    lines: tuple[PriceLine, ...]

    def errors(self) -> str:
        """How far off the numbers would be, in words: ": n within 10"; or nothing."""
        said = [f"{line.name} {told}" for line in self.lines if (told := _off(line))]
        return f": {', '.join(said)}" if said else ""

    def to_dict(self) -> dict[str, Any]:
        """As plain values; exact numbers as text."""
        price = {"epsilon": self.target.epsilon, "delta": self.target.delta, "rho": self.target.rho}
        told = {name: str(number) for name, number in price.items() if number is not None}
        columns = [line.to_dict() for line in self.lines]
        return {**told, "confidence": str(self.confidence), "columns": columns}


def _off(line: PriceLine) -> str:
    return line.note if line.half_width is None else f"within {figure(line.half_width)}"


def offered(questions: Questions, plan: Plan, target: Target, *, confidence: Fraction) -> Offer:
    """A question at a price, with the errors that it would have."""
    priced, _ = questions.priced(plan, target)
    return Offer(target, confidence, price_of(priced, confidence=confidence).lines)


def offering(
    refusal: BudgetExceededError, offer: Offer | None, *, searched: bool
) -> BudgetExceededError:
    """The refusal, with what the rest would still buy, and what was charged before it.

    Args:
        refusal: what was refused.
        offer: what could be answered; None for nothing.
        searched: whether something had to be found for the question, which was charged.
    """
    words, could, told = str(refusal), None, dict(refusal.told)
    if searched:
        told["charged"] = True
        words += " for the question itself; what had to be found for it is charged, and kept"
    if offer is not None:
        price = offer.target
        words += f". With {price} it could be answered{offer.errors()}"
        could = price.epsilon if price.epsilon is not None else price.rho
        told["offer"] = offer.to_dict()
    return BudgetExceededError(
        words, asked=refusal.asked, left=refusal.left, could=could, told=told
    )


def short_of_people(asked: Amount, people: Account, *, tells_rest: bool) -> BudgetExceededError:
    """What an analyst is told whose own allowance suffices, where the people's budget does not.

    Args:
        asked: what the question costs.
        people: their account.
        tells_rest: whether the policy lets analysts know what is left of it.
    """
    words, left = "the budget of these people does not suffice for this question", None
    kind = people.accounting
    told = {"cost": asked.to_dict(kind)}
    if people.sealed:
        words = "these data were retired: no question is answered from them any more"
    elif tells_rest:
        left = people.left
        told["left"] = left.to_dict(kind)
        cost, rest = told_apart(asked, left, kind)
        words = f"this question costs {cost}, and of the budget of these people {rest} is left"
    words += "; nothing was charged"
    return BudgetExceededError(words, asked=asked, left=left, could=None, told=told)
