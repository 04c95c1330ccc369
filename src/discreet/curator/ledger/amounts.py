"""What is charged, as integers: epsilon or rho in units of 10^-12, delta in units of 10^-21.

A cost is rounded up and a limit down, each once, when it is made. From there on all sums and
comparisons are of integers, the same in every process and database, so that a running sum that
stays within its limit is a filter in the sense of `discreet.privacy.filter` (Theorems 1, 3 and 4).

The units are decimal because people type decimals: ten questions of 0.1 cost exactly 1. All sums
fit 64 bits: epsilon is at most 1000 and a budget's delta at most 1/128.

Accounting is "pure" (epsilons add up, and deltas beside them) or "zcdp" (rhos add up, and deltas of
what may fail beside them).
Tested by tests/curator/ledger/test_amounts.py
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from discreet.errors import ParameterError, QueryError
from discreet.exact import Exact, rational, whole
from discreet.privacy.convert import largest_rho
from discreet.privacy.filter import DELTA, EPSILON, GAMMA, RHO, prices
from discreet.privacy.guarantee import (
    ZCDP,
    ApproxDP,
    Guarantee,
    Neighbours,
    PureDP,
    delta_of,
    epsilon_of,
)
from discreet.privacy.loss import Loss

__all__ = [
    "NOTHING",
    "Accounting",
    "Amount",
    "Limit",
    "cost_of",
    "decimal",
    "limit_of",
    "told_apart",
]

Accounting = Literal["pure", "zcdp"]
MAIN, DELTAS = 10**12, 10**21
_MAIN: dict[Accounting, str] = {"pure": "epsilon", "zcdp": "rho"}
LARGEST_DELTA = Fraction(1, 128)
"""Beyond it a delta promises nothing, and its units would not fit 64 bits."""


@dataclass(frozen=True, slots=True)
class Amount:
    """Units of epsilon or rho, and units of delta."""

    main: int
    delta: int = 0

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.main + other.main, self.delta + other.delta)

    def __sub__(self, other: Amount) -> Amount:
        return Amount(self.main - other.main, self.delta - other.delta)

    def within(self, other: Amount) -> bool:
        """Whether this is no more than another, in both."""
        return self.main <= other.main and self.delta <= other.delta

    def least(self, other: Amount) -> Amount:
        """The smaller of each."""
        return Amount(min(self.main, other.main), min(self.delta, other.delta))

    def value(self) -> Fraction:
        """The epsilon or rho."""
        return Fraction(self.main, MAIN)

    def failing(self) -> Fraction:
        """The delta."""
        return Fraction(self.delta, DELTAS)

    def to_dict(self, accounting: Accounting) -> dict[str, str]:
        """As exact text: {"epsilon": "0.5", "delta": "0"}, or with "rho"."""
        return {_MAIN[accounting]: decimal(self.main), "delta": decimal(self.delta, 21)}

    @classmethod
    def from_dict(cls, values: Mapping[str, str], accounting: Accounting) -> Amount:
        """Read `to_dict` back; an amount that is none of whole units is refused."""
        main = rational(values[_MAIN[accounting]], name=_MAIN[accounting]) * MAIN
        delta = rational(values["delta"], name="delta") * DELTAS
        return cls(whole(main, name=_MAIN[accounting]), whole(delta, name="delta"))

    def said(self, accounting: Accounting, *, exactly: bool = False) -> str:
        """In words, rounded for people: "epsilon 0.5, delta 1e-06"; or with all digits.

        >>> Amount(500_000_000_000).said("pure")
        'epsilon 0.5'
        """
        exact = decimal(self.main)
        short = exact if exactly or len(exact) <= 8 else f"{float(self.value()):.4g}"
        words = f"{_MAIN[accounting]} {short}"
        if not self.delta:
            return words
        failing = decimal(self.delta, 21) if exactly else f"{float(self.failing()):.4g}"
        return f"{words}, delta {failing}"


def decimal(units: int, places: int = 12) -> str:
    """Units of 10^-places as people type them, exact.

    >>> decimal(750_000_000_000), decimal(10**13)
    ('0.75', '10')
    """
    whole, rest = divmod(abs(units), 10**places)
    return f"{'-' * (units < 0)}{whole}.{rest:0{places}d}".rstrip("0").rstrip(".")


NOTHING = Amount(0)


def told_apart(one: Amount, other: Amount, accounting: Accounting) -> tuple[str, str]:
    """Two amounts in words: rounded, or with all digits where they would look the same.

    >>> told_apart(Amount(500_000_100_000), Amount(500_000_000_000), "pure")
    ('epsilon 0.5000001', 'epsilon 0.5')
    """
    short = one.said(accounting), other.said(accounting)
    if short[0] != short[1] or one == other:
        return short
    return one.said(accounting, exactly=True), other.said(accounting, exactly=True)


@dataclass(frozen=True, slots=True)
class Limit:
    """The most that may be spent, and what it promises together.

    Guarantee. While the charged amounts add up to no more than `most`, everything released has
    `guarantee`, however the questions were chosen.
    Proof. Each charge is at least the loss in its currency; `discreet.privacy.filter` for the sums.
    Tested by tests/curator/ledger/test_amounts.py
    """

    accounting: Accounting
    most: Amount
    guarantee: Guarantee


def limit_of(
    *,
    accounting: Accounting = "pure",
    epsilon: Exact | None = None,
    delta: Exact = 0,
    rho: Exact | None = None,
    neighbours: Neighbours = "add_or_remove",
) -> Limit:
    """What an owner says about a budget, as a limit.

    Args:
        accounting: "pure": epsilons and deltas add up. "zcdp": rhos add up; the limit is `rho`, or
            the largest rho that gives (epsilon, delta), half of delta being kept for releases that
            may fail.
        epsilon: the budget, with
        delta: 0, or the delta of the whole; or
        rho: for "zcdp", instead.
        neighbours: "add_or_remove" or "replace".
    """
    if accounting not in ("pure", "zcdp"):
        raise ParameterError("accounting", accounting, "must be 'pure' or 'zcdp'")
    failing = _delta(delta)
    if accounting == "pure":
        if epsilon is None or rho is not None:
            problem = "is missing; rho goes with accounting = 'zcdp'"
            raise ParameterError("epsilon", None, problem)
        whole = epsilon_of(epsilon)
        promised: Guarantee = PureDP(whole, neighbours)
        if failing:
            promised = ApproxDP(whole, failing, neighbours)
        return Limit("pure", Amount(_down(whole, MAIN), _down(failing, DELTAS)), promised)
    if (rho is None) == (epsilon is None):
        raise ParameterError("rho", None, "or epsilon with delta must be said, one of the two")
    if rho is not None:
        if failing:
            raise ParameterError("delta", delta, "goes with epsilon, not with rho")
        all_of_it = ZCDP(rho, neighbours)
        return Limit("zcdp", Amount(_down(all_of_it.rho, MAIN)), all_of_it)
    if not failing:
        raise ParameterError("delta", None, "is missing: accounting = 'zcdp' with epsilon needs it")
    kept = failing / 2
    most = largest_rho(epsilon_of(epsilon), failing - kept)
    amount = Amount(_down(most, MAIN), _down(kept, DELTAS))
    return Limit("zcdp", amount, ApproxDP(epsilon_of(epsilon), failing, neighbours))


def _delta(delta: Exact) -> Fraction:
    if delta == 0:
        return Fraction(0)
    found = delta_of(delta)
    if found > LARGEST_DELTA:
        raise ParameterError("delta", delta, "of a budget must be at most 1/128, and far smaller")
    return found


def cost_of(losses: Iterable[Loss], accounting: Accounting) -> Amount:
    """What some losses cost together, rounded up; QueryError where they have no such cost."""
    main, failing = Fraction(0), Fraction(0)
    for loss in losses:
        spent, delta, gamma = prices(loss, (EPSILON if accounting == "pure" else RHO, DELTA, GAMMA))
        if spent is None or delta is None:
            raise QueryError(
                "this question costs rho, and the owner's policy adds up epsilons; "
                "ask it with epsilon=..., or let the owner choose accounting = 'zcdp'"
            )
        if gamma:
            raise QueryError("random differential privacy cannot be charged to a ledger")
        main, failing = main + spent, failing + delta
    return Amount(_up(main, MAIN), _up(failing, DELTAS))


def _up(value: Fraction, units: int) -> int:
    return math.ceil(value * units)


def _down(value: Fraction, units: int) -> int:
    return math.floor(value * units)
