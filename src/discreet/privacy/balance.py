"""Where charges are added up: a tree of running sums, from every part to the whole.

Each node adds up in every currency that its own rule or a rule above it needs. A charge goes up the
tree: a plain node adds it, a node of disjoint parts passes on only what rises above all other
branches. The new sums of all nodes are made first and checked against all rules; then they are put
in place together, or not at all.
Tested by tests/privacy/test_balance.py
"""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.errors import UnsupportedError
from discreet.exact import shown
from discreet.privacy.bounds import add_upper
from discreet.privacy.filter import Amounts, Cap, Currency, Rule, prices
from discreet.privacy.loss import Loss

__all__ = ["QUIET", "Balance", "Node", "Parts", "added"]

KNOWN = 4096  # prices that a node remembers


@dataclass(frozen=True, slots=True)
class Balance:
    """An amount in each currency of a budget; a currency that has no end reads None.

    Of the currencies in `either` one is enough: a release is affordable if its price fits any of
    them (and all the others).

    >>> import discreet as dp
    >>> dp.Budget(epsilon=1).left.epsilon
    Fraction(1, 1)
    """

    amounts: tuple[tuple[Currency, Fraction | None], ...]
    either: tuple[Currency, ...] = ()

    def __getitem__(self, name: str) -> Fraction | None:
        for currency, amount in self.amounts:
            if currency.name == name:
                return amount
        counted = ", ".join(sorted({currency.name for currency, _ in self.amounts}))
        raise UnsupportedError(f"this budget does not count {name}; it counts {counted}")

    @property
    def epsilon(self) -> Fraction | None:
        """Of plain sums; None where a release without a pure epsilon was charged."""
        return self["epsilon"]

    @property
    def delta(self) -> Fraction | None:
        """Of releases that may fail."""
        return self["delta"]

    @property
    def gamma(self) -> Fraction | None:
        """Of random differential privacy."""
        return self["gamma"]

    @property
    def rho(self) -> Fraction | None:
        """Of zero-concentrated privacy."""
        return self["rho"]

    @property
    def renyi(self) -> dict[Fraction, Fraction | None]:
        """The divergence at each order of the budget."""
        return {currency.order: amount for currency, amount in self.amounts if currency.order}

    def __str__(self) -> str:
        plain = [
            _said(currency, amount)
            for currency, amount in self.amounts
            if currency not in self.either and (amount != 0 or currency.name not in QUIET)
        ]
        either = [(each, amount) for each, amount in self.amounts if each in self.either]
        alive = [_said(each, amount) for each, amount in either if amount]
        dead = ["nothing"] if either and not alive else []
        return ", ".join([*([" or ".join(alive)] if alive else dead), *plain])

    def __repr__(self) -> str:
        return f"<{self}>"


QUIET = ("delta", "gamma")


def _said(currency: Currency, amount: Fraction | None) -> str:
    return f"no finite {currency}" if amount is None else f"{currency} {shown(amount)}"


class Node:
    """A place where charges are added up, on the way from a budget to the whole it is part of."""

    __slots__ = ("currencies", "known", "lock", "parent", "places", "process", "rule", "totals")

    def __init__(self, rule: Rule | None, parent: Node | None) -> None:
        self.rule = rule
        self.parent = parent
        self.lock: Any = threading.RLock() if parent is None else parent.lock
        self.process: int = os.getpid() if parent is None else parent.process
        inherited: tuple[Currency, ...] = () if parent is None else parent.currencies
        own = () if rule is None else rule.currencies
        self.currencies: tuple[Currency, ...] = inherited + tuple(
            new for new in own if new not in inherited
        )
        self.places = tuple(self.currencies.index(currency) for currency in own)
        self.totals: Amounts = (Fraction(0),) * len(self.currencies)
        self.known: dict[Loss, Amounts] = {}

    def price(self, loss: Loss) -> Amounts:
        """What a loss costs in each currency that is counted here; looked up where it was asked."""
        found = self.known.get(loss)
        if found is None:
            found = prices(loss, self.currencies)
            if len(self.known) < KNOWN:
                self.known[loss] = found
        return found

    def allows(self, totals: Amounts) -> bool:
        """Whether the rule here, if there is one, holds of these totals."""
        return self.rule is None or self.rule.holds([totals[place] for place in self.places])

    def after(self, amounts: Amounts, below: Amounts) -> tuple[Amounts, Amounts]:
        """The new totals and what is passed on, when `amounts` bring the child to `below`."""
        del below
        return added(self.totals, amounts), amounts

    def plan(self, amounts: Amounts) -> list[tuple[Node, Amounts]] | None:
        """The new totals of this node and all above it, or None where a rule forbids it."""
        plan: list[tuple[Node, Amounts]] = []
        node: Node | None = self
        below: Amounts = ()
        while node is not None:
            below, amounts = node.after(amounts, below)
            if not node.allows(below):
                return None
            plan.append((node, below))
            node = node.parent
            width = 0 if node is None else len(node.currencies)
            below, amounts = below[:width], amounts[:width]
        return plan

    def nearest_rule(self) -> Rule:
        """The rule of this node, or of the first above it that has one; the whole has one."""
        node = self
        while node.rule is None and node.parent is not None:
            node = node.parent
        if node.rule is None:  # pragma: no cover
            raise AssertionError("a budget without a rule")
        return node.rule

    def held(self) -> Any:
        """The lock of the whole tree; refused in a forked child, where it may be held for ever."""
        if self.process != os.getpid():
            raise UnsupportedError(
                "this budget belongs to another process: a copy made by fork could spend it "
                "twice. Nothing was charged"
            )
        return self.lock

    def spent(self) -> Balance:
        """What was charged here so far."""
        with self.held():
            return Balance(tuple(zip(self.currencies, self.totals, strict=True)))

    def left(self) -> Balance:
        """What may still be charged here: what this rule counts, and what must hold above it."""
        with self.held():
            rule, must = self.nearest_rule(), self.must()
            either = tuple(cap.currency for cap in rule.any_of)
            if must & set(either):  # what must hold above makes the choice here
                either, counted = (), must
            else:
                counted = must | set(either)
            rooms = [(each, self.room(i)) for i, each in enumerate(self.currencies)]
            return Balance(tuple(pair for pair in rooms if pair[0] in counted), either)

    def must(self) -> set[Currency]:
        """The currencies of all caps, here and above, that must hold."""
        found: set[Currency] = set()
        node: Node | None = self
        while node is not None:
            found |= set() if node.rule is None else {cap.currency for cap in node.rule.all_of}
            node = node.parent
        return found

    def room(self, i: int, *, spare: bool = True) -> Fraction | None:
        """How much of a currency may still come in here; None where nothing limits it.

        A cap that need not hold, because another one may instead, is left out if not `spare`: it
        is no limit to those below who have one of their own.
        """
        caps = () if self.rule is None else self.rule.caps
        here = [cap for cap in caps if cap.currency == self.currencies[i]]
        rooms = [self._under(cap) for cap in here if spare or not self._is_spare(cap)]
        if self.parent is not None and i < len(self.parent.currencies):
            above = self.parent.room_below(i, self.totals[i], spare=spare and not here)
            rooms += [] if above is None else [above]
        return min(rooms, default=None)

    def _under(self, cap: Cap) -> Fraction:
        total = self.totals[self.currencies.index(cap.currency)]
        return Fraction(0) if total is None else max(cap.limit - total, Fraction(0))

    def _is_spare(self, cap: Cap) -> bool:
        either = () if self.rule is None else self.rule.any_of
        return cap in either and any(self._under(other) for other in either if other != cap)

    def room_below(self, i: int, total: Fraction | None, *, spare: bool) -> Fraction | None:
        """How much may come in from a child that has this total."""
        del total
        return self.room(i, spare=spare)


class Parts(Node):
    """Disjoint parts of the people: the totals are the largest of all branches."""

    __slots__ = ()

    def after(self, amounts: Amounts, below: Amounts) -> tuple[Amounts, Amounts]:
        """The branch counts as far as it rises above all others."""
        del amounts
        peaks = tuple(map(_larger, self.totals, below))
        return peaks, tuple(map(_rise, self.totals, peaks))

    def room_below(self, i: int, total: Fraction | None, *, spare: bool) -> Fraction | None:
        """What the whole has left, and what other branches have paid for already."""
        room, peak = self.room(i, spare=spare), self.totals[i]
        if room is None or peak is None or total is None or self._is_over(i):
            return room
        return room + peak - total

    def _is_over(self, i: int) -> bool:
        """Whether a cap above is exceeded already, because another one holds in its place."""
        node, currency = self.parent, self.currencies[i]
        while node is not None and i < len(node.currencies):
            total = node.totals[i]
            for cap in () if node.rule is None else node.rule.caps:
                if cap.currency == currency and not cap.holds(total):
                    return True
            node = node.parent
        return False


def added(first: Amounts, second: Amounts) -> Amounts:
    """The sum, currency by currency."""
    return tuple(map(_plus, first, second))


def _plus(total: Fraction | None, amount: Fraction | None) -> Fraction | None:
    return None if total is None or amount is None else add_upper(total, amount)


def _larger(a: Fraction | None, b: Fraction | None) -> Fraction | None:
    return None if a is None or b is None else max(a, b)


def _rise(before: Fraction | None, after: Fraction | None) -> Fraction | None:
    if before is None:
        return Fraction(0)
    return None if after is None else after - before
