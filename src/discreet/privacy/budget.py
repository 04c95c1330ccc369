"""A budget: charge it before every release, and it refuses what would exceed it.

Guarantee. Whatever is released after successful charges has, all together, the budget's guarantee,
however the analyst chose each release from the answers before it. (With `gamma`: if she chose
those that cost gamma ahead.)
Neighbours. As said when the budget is made; losses under another relation are refused.
Assumes. Every release is charged first, in this process, with its true loss.
Proof. `discreet.privacy.filter`, for the rule that the budget was made with. A charge is checked
and booked under one lock, for the budget and for all that it is part of, or not at all. For
parallel branches: a person is in one of the disjoint parts, so that her loss is at most that of her
branch, and the whole is charged the largest of the branches, currency by currency.
Tested by tests/privacy/test_budget.py
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from fractions import Fraction
from functools import reduce
from typing import Any, NoReturn, Protocol

from discreet.errors import BudgetExceededError, ParameterError, UnsupportedError
from discreet.exact import Exact, positive, shown, whole
from discreet.privacy.balance import QUIET, Balance, Node, Parts, added
from discreet.privacy.bounds import LONGEST
from discreet.privacy.dial import FINEST, LARGEST, Dial, Made, crossing, name_of
from discreet.privacy.filter import (
    DELTA,
    EPSILON,
    GAMMA,
    Accounting,
    Amounts,
    Cap,
    Currency,
    Limits,
    Rule,
    guaranteed,
    prices,
)
from discreet.privacy.guarantee import Guarantee, Neighbours, neighbours_of
from discreet.privacy.loss import HasLoss, Loss, PureLoss, loss_of

__all__ = ["Balance", "Budget", "Chargeable"]

MOST = 10**12  # times that one charge may count


class Chargeable(Protocol):
    """What every budget offers, in memory or on disk; tests/contracts/budget.py checks it."""

    @property
    def guarantee(self) -> Guarantee:
        """What everything that is charged to it has together."""

    @property
    def spent(self) -> Balance:
        """What was charged so far."""

    @property
    def left(self) -> Balance:
        """What may still be charged."""

    def affords(self, *releases: Loss | HasLoss, times: int = 1) -> bool:
        """Whether a charge would be accepted now."""

    def charge(self, *releases: Loss | HasLoss, times: int = 1) -> None:
        """Book all these losses, or raise BudgetExceededError and book nothing."""


class Budget:
    """How much may leak in all, and how much has.

    Guarantee. What is released after successful charges has `guarantee`, however it was chosen.
    Proof. At the top of this module.
    Tested by tests/privacy/test_budget.py

    Args:
        epsilon: the budget of pure privacy or, with `delta`, of approximate privacy.
        delta: 0, or the delta of the whole.
        rho: instead of epsilon: a budget of zero-concentrated privacy.
        renyi: instead of epsilon: {order: divergence}, all of which must hold.
        accounting: for epsilon and delta: "zcdp" (rhos are added up, or epsilons while they fit;
            the default), "renyi" (one order, fixed ahead in `order`, or epsilons while they fit),
            or "basic" (epsilons and deltas are added up).
        order: the order of accounting="renyi"; `dp.best_order` finds a good one.
        failures: how much of delta is kept for releases that have a delta of their own. It has to
            be said ahead; plain sums need no such word.
        gamma: above 0, random differential privacy may be charged too, and the whole is no better
            than random differential privacy. Every release that costs gamma has to be chosen
            ahead, before the first answer: gammas do not add up for those who look first.
        neighbours: "add_or_remove" or "replace".

    >>> budget = Budget(epsilon=1)
    >>> budget.charge(PureLoss(epsilon="0.7"))
    >>> print(budget.left)
    epsilon 0.3
    >>> budget.charge(PureLoss(epsilon="0.5"))
    Traceback (most recent call last):
        ...
    discreet.errors.BudgetExceededError: this release costs epsilon 0.5, and epsilon 0.3 is left; \
nothing was charged and nothing was released. One pure release of epsilon 0.3 would still fit; \
budget.finest(...) makes it
    """

    __slots__ = ("_losses", "_node")

    def __init__(  # noqa: PLR0913 - every word that an owner may say
        self,
        *,
        epsilon: Exact | None = None,
        delta: Exact = 0,
        rho: Exact | None = None,
        renyi: Mapping[Exact, Exact] | None = None,
        accounting: Accounting | None = None,
        order: Exact | None = None,
        failures: Exact = 0,
        gamma: Exact = 0,
        neighbours: Neighbours = "add_or_remove",
    ) -> None:
        limits = Limits(
            epsilon=epsilon,
            delta=delta,
            rho=rho,
            renyi=renyi,
            accounting=accounting,
            order=order,
            failures=failures,
            gamma=gamma,
        )
        self._node = Node(limits.rule(neighbours_of(neighbours)), None)
        self._losses: Counter[Loss] = Counter()

    @classmethod
    def _over(cls, node: Node) -> Budget:
        part = cls.__new__(cls)
        part._node, part._losses = node, Counter()  # noqa: SLF001
        return part

    @property
    def guarantee(self) -> Guarantee:
        """What everything that is charged here has together."""
        return self._node.nearest_rule().guarantee

    @property
    def neighbours(self) -> Neighbours:
        """The relation that the guarantee speaks of."""
        return self.guarantee.neighbours

    @property
    def spent(self) -> Balance:
        """What was charged here so far."""
        return self._node.spent()

    @property
    def left(self) -> Balance:
        """What may still be charged here; where a rule needs one of two caps, both are said."""
        return self._node.left()

    @property
    def losses(self) -> Mapping[Loss, int]:
        """What was charged here directly, not through parts; each distinct loss with its number."""
        with self._node.held():
            return dict(self._losses)

    def __len__(self) -> int:
        """The number of releases that were charged here directly, not through parts."""
        with self._node.held():
            return sum(self._losses.values())

    def __repr__(self) -> str:
        return f"<Budget: {self.guarantee}; {self.left} left>"

    def __bool__(self) -> bool:
        return True

    def affords(self, *releases: Loss | HasLoss, times: int = 1) -> bool:
        """Whether this charge would be accepted now."""
        _, amounts = self._priced(releases, self._number(times))
        with self._node.held():
            return self._node.plan(amounts) is not None

    def charge(self, *releases: Loss | HasLoss, times: int = 1) -> None:
        """Book the loss of a release, `times` over, before it is made; or refuse, booking nothing.

        Takes losses or mechanisms; several are booked together or not at all. Safe from several
        threads.

        >>> import discreet as dp
        >>> budget = dp.Budget(epsilon=1)
        >>> budget.charge(dp.Geometric(epsilon="0.3"), dp.NoisyMax(epsilon="0.2"))
        >>> print(budget.left)
        epsilon 0.5
        """
        number = self._number(times)
        losses, amounts = self._priced(releases, number)
        with self._node.held():
            plan = self._node.plan(amounts)
            if plan is None:
                self._refuse(losses, amounts)
            for node, totals in reversed(plan):  # the whole first: what interrupts it overcounts
                node.totals = totals
            for loss in losses:
                self._losses[loss] += number

    @staticmethod
    def _number(times: object) -> int:
        if type(times) is int and 1 <= times <= MOST:
            return times
        return whole(times, name="times", at_least=1, at_most=MOST)

    def _priced(
        self, releases: tuple[Loss | HasLoss, ...], times: int
    ) -> tuple[list[Loss], Amounts]:
        if not releases:
            raise ParameterError("releases", None, "are missing: say what is to be charged")
        self._node.held()
        losses = [self._checked(loss_of(release)) for release in releases]
        amounts = reduce(added, map(self._node.price, losses))
        if times == 1:
            return losses, amounts
        return losses, tuple(None if one is None else times * one for one in amounts)

    def _checked(self, loss: Loss) -> Loss:
        if loss.neighbours != self.neighbours:
            raise ParameterError(
                "neighbours",
                loss.neighbours,
                f"of a release must be {self.neighbours!r} like the budget's (say neighbours=... "
                "to both); nothing was charged",
            )
        return loss

    def _refuse(self, losses: list[Loss], amounts: Amounts) -> NoReturn:
        counted = {currency for currency, _ in self.left.amounts}
        pairs = zip(self._node.currencies, amounts, strict=True)
        asked = Balance(tuple((each, amount) for each, amount in pairs if each in counted))
        could = self._largest(self._pure, "epsilon") or None
        hint = (
            "Nothing more fits"
            if could is None
            else f"One pure release of epsilon {shown(could)} would still fit; "
            "budget.finest(...) makes it"
        )
        what = "this release costs" if len(losses) == 1 else f"these {len(losses)} releases cost"
        raise BudgetExceededError(
            f"{what} {asked}, and {self.left} is left; nothing was charged and nothing was "
            f"released. {hint}{self._why(losses)}",
            asked=losses[0] if len(losses) == 1 else tuple(losses),
            left=self.left,
            could=could,
        )

    def _why(self, losses: list[Loss]) -> str:
        """A word on what no amount of budget would help against."""
        gamma, fails, pure = reduce(
            added, (prices(loss, (GAMMA, DELTA, EPSILON)) for loss in losses)
        )
        limits = {cap.currency: cap.limit for cap in self._node.nearest_rule().caps}
        if gamma and not limits.get(GAMMA):
            return ". (It is random differential privacy: say gamma=... to allow that at all)"
        if fails and not limits.get(DELTA):
            return ". (It may fail: use a budget of epsilon and delta, and say failures=...)"
        if pure is None and not any(one.name in ("rho", "renyi") for one in limits):
            return (
                ". (Its noise has no pure epsilon: use dp.Budget(epsilon=, delta=), which adds up "
                "rhos, or charge dp.losses.ApproxLoss(epsilon=, delta=) where delta is counted)"
            )
        return ""

    def _pure(self, epsilon: Fraction) -> PureLoss:
        return PureLoss(epsilon=epsilon, neighbours=self.neighbours)

    def _largest(self, make: Callable[[Fraction], Loss | HasLoss | None], dial: str) -> Fraction:
        """The largest number for which `make` gives something affordable, rounded down; or 0."""

        def exceeds(at: Fraction) -> bool:
            made = make(at)
            return made is None or not self.affords(made)

        exact = {str(each): amount for each, amount in self.left.amounts}.get(dial) or Fraction(0)
        if 0 < exact <= LARGEST and exact.denominator.bit_length() <= LONGEST:
            more = min(exact * 1001 / 1000, LARGEST)
            if not exceeds(exact) and (exact == LARGEST or exceeds(more)):
                return exact
        low, _ = crossing(exceeds, exact or Fraction(1))
        return low or Fraction(0)

    def finest(self, maker: Callable[..., Made], **parameters: Any) -> Made:
        """The least noise that is still affordable: the maker with its largest epsilon.

        `maker` is a mechanism, or any function of `epsilon` (or of what its `dial` names, as `rho`
        for `dp.Gaussian`) that returns something with a `privacy_loss`. It is told the neighbours
        of the budget where it asks for them. Nothing is charged.

        >>> import discreet as dp
        >>> budget = dp.Budget(epsilon=1)
        >>> budget.charge(dp.Geometric(epsilon="0.9"))
        >>> budget.finest(dp.Geometric, sensitivity=1)
        Geometric(epsilon='0.1', sensitivity=1, neighbours='add_or_remove')
        """
        dial = Dial.of(maker, parameters, self.neighbours)
        found = self._largest(dial.tried, dial.name)
        if not found:
            made = dial.tried(FINEST) or dial.tried(Fraction(1))
            raise BudgetExceededError(
                f"nothing that {name_of(maker)} can make is affordable: {self.left} is left. "
                f"Nothing was charged{'' if made is None else self._why([loss_of(made)])}",
                asked=None,
                left=self.left,
                could=None,
            )
        return dial.at(found)

    def allowance(self, **limits: Any) -> Budget:
        """A part of this budget with limits of its own; what it spends, the whole spends too.

        The limits are those of `Budget`. Several allowances may add up to more than the whole:
        each is a ceiling, and the whole is never exceeded.
        """
        known = {field.name for field in fields(Limits)}
        for name in limits:
            if name not in known:
                raise ParameterError(name, None, f"is no limit; these are: {', '.join(known)}")
        rule = Limits(**limits).rule(self.neighbours)
        return Budget._over(Node(rule, self._node))

    def split(self, parts: int | Mapping[str, Exact]) -> Any:
        """Divide what is left, ahead of time: into equal parts, or by named weights.

        Returns a list, or a dictionary of allowances that add up to exactly what is left. Sums of
        rhos (or divergences) are divided where the budget adds these up, of epsilons otherwise.

        >>> shares = Budget(epsilon=1).split({"counts": 3, "sums": 2})
        >>> print(shares["counts"].left, "|", shares["sums"].left)
        epsilon 0.6 | epsilon 0.4
        """
        with self._node.held():
            return self._split(parts)

    def _split(self, parts: int | Mapping[str, Exact]) -> Any:
        rooms = self._shareable()
        if isinstance(parts, Mapping):
            weights = {name: positive(parts[name], name=f"weight {name!r}") for name in parts}
            if not weights:
                raise ParameterError("parts", None, "must name at least one part")
            whole_ = sum(weights.values())
            rules = {name: self._share(rooms, weights[name] / whole_) for name in weights}
            return {name: Budget._over(Node(rules[name], self._node)) for name in rules}
        number = whole(parts, name="parts", at_least=1, at_most=10**6)
        rule = self._share(rooms, Fraction(1, number))
        return [Budget._over(Node(rule, self._node)) for _ in range(number)]

    def _shareable(self) -> dict[Currency, Fraction]:
        """What is left of what a split divides: one of the caps of which one is enough, and all
        that must hold.
        """
        rule, node = self._node.nearest_rule(), self._node
        room = {each: node.room(i) or Fraction(0) for i, each in enumerate(node.currencies)}
        open_ = [cap.currency for cap in rule.any_of if room[cap.currency]]
        shared = [*open_[-1:], *(cap.currency for cap in rule.all_of)]
        above = set() if node.parent is None else node.parent.must()
        closed = [each for each in above if not room[each] and each.name not in QUIET]
        if closed or not any(room[each] for each in shared):
            raise BudgetExceededError(
                "nothing is left to be split; nothing was charged",
                asked=None,
                left=self.left,
                could=None,
            )
        return {each: room[each] for each in shared}

    def _share(self, rooms: Mapping[Currency, Fraction], part: Fraction) -> Rule:
        caps = tuple(Cap(currency, part * room) for currency, room in rooms.items())
        return Rule(caps, (), guaranteed(caps, self.guarantee))

    def parallel(self, parts: Iterable[str]) -> dict[str, Budget]:
        """A branch for each of several disjoint parts of the people; the whole pays the largest.

        Assumes. No person is in two parts, and which part she is in is decided by her own data
        alone. Only for neighbours that differ by one added or removed person: a *replaced* person
        can leave one part and enter another, so that two branches would count.

        >>> budget = Budget(epsilon=1)
        >>> regions = budget.parallel(["north", "south"])
        >>> regions["north"].charge(PureLoss(epsilon="0.7"))
        >>> regions["south"].charge(PureLoss(epsilon="0.8"))
        >>> print(budget.left, "|", regions["north"].left)
        epsilon 0.2 | epsilon 0.3
        """
        given: object = parts
        names = list(given) if isinstance(given, Iterable) else []
        named = all(isinstance(name, str) for name in names) and not isinstance(parts, str)
        if not names or not named or len(set(names)) != len(names):
            raise ParameterError("parts", parts, "must be a list of different names")
        if self.neighbours != "add_or_remove":
            raise ParameterError(
                "neighbours",
                self.neighbours,
                "must be 'add_or_remove' for parallel branches: a replaced person can leave one "
                "part and enter another",
            )
        if self.left.gamma:
            raise ParameterError(
                "gamma",
                self.left.gamma,
                "must be 0 for parallel branches: nobody knows in whose part the random pair of "
                "neighbours differs, so that gammas of all branches would add up",
            )
        parts_ = Parts(None, self._node)
        return {name: Budget._over(Node(None, parts_)) for name in names}

    def __copy__(self) -> NoReturn:
        raise UnsupportedError("a budget is not copied: the copy could be spent a second time")

    def __deepcopy__(self, memo: object) -> NoReturn:
        self.__copy__()

    def __reduce__(self) -> NoReturn:
        self.__copy__()
