"""Asking again and again: noise that is remembered, fresh noise on top, and what it costs.

Two steps, both symmetric randomized response on k categories (Erlingsson, Pihur and Korolova 2014
for bits). The permanent one is drawn once for each value of a person and kept; the instantaneous
one is drawn anew for each report, from the kept one. With the truth told with probability q1 and q2
(else any category at random), one report is randomized response with q1 q2.

Theorem. Let p1, o1 be the probabilities of the truth and of each other category in the first step,
p2, o2 in the second, and r = (p2/o2)^n for n reports of one value. All n together cost exactly

    ln( (p1 r + (k-1) o1) / (o1 r + p1 + (k-2) o1) ),

which grows with n towards ln(p1/o1), the cost for ever.
Proof. Given a sequence of reports, let w(y) be its probability if y is kept, W the sum of all w(y).
Its probability for the value x is o1 W + (p1 - o1) w(x). The ratio for x and x' grows with w(x)/W
and falls with w(x')/W. If c(y) of the reports are y, w(y)/w(x) = (p2/o2)^(c(y) - c(x)) is at least
1/r, so w(x)/W <= r/(r + k - 1); and W/w(x') is convex in the c(y), so it is largest if all reports
are one y other than x': w(x')/W >= 1/(r + k - 1). Both are attained if all reports are x. That is
the formula.

Several values. The kept ones are independent, so histories that are equal at the same times cost,
for d different values, d times as much, for ever. *Only such histories*: memoisation hides which
values a person had, not when they changed. Of two histories, one that changes and one that does
not, the one can keep two different answers and the other cannot, and enough reports show it: no
finite epsilon holds for ever. What holds for any two histories is n ln(p2/o2) for n reports.

Epochs are the honest answer for values that change: one value is read at the start of each epoch,
with permanent noise of its own for this epoch. The schedule is fixed, so any two histories of T
epochs cost at most T times the cost for ever of one value, whatever changes when.

The memo. The kept category is a function of a secret of the client: the first 64 bits of
HMAC-SHA256(secret, epoch and value) are compared with a threshold, so every probability is a
multiple of 2^-64, and the costs are those of these probabilities. That HMAC under a secret key
looks random is assumed, as it is of the system's random bits.

Tested by tests/local/test_longitudinal.py
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from typing import Any, Self

from discreet.errors import ParameterError
from discreet.exact import Exact, Interval, exp, log, shown, whole
from discreet.exact.interval import round_down, round_up
from discreet.mechanisms.base import PureMechanism
from discreet.mechanisms.proportions import Proportions
from discreet.mechanisms.response import Category, RandomizedResponse, categories_of
from discreet.noise.law import Outcomes
from discreet.noise.source import Source, new_key
from discreet.privacy.guarantee import Neighbours, PureDP, epsilon_of

__all__ = ["Comparison", "EpochClient", "MemoClient", "Memoised", "compare"]

_WORD = 64
_BITS = 128
_FORMAT = "discreet-memo/1"
_FAR = 1000  # beyond e^1000 nothing is left between the cost so far and the cost for ever


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Memoised(PureMechanism):
    """Permanent plus instantaneous randomized response: parameters that everybody may know.

    Guarantee. All reports of one value together, however many, are epsilon-differentially private
    for epsilon = `forever`; one report alone is for `once`. `cost` says what is between.
    Neighbours. "replace": a person's value is replaced by any other, at all times at once.
    Assumes. The value does not change: see the top of this module for values that do. The client's
    secret stays on the client.
    Proof. At the top of this module.
    Tested by tests/local/test_longitudinal.py

    >>> browser = Memoised(categories=("a", "b", "c"), forever=2, once=1)
    >>> round(float(browser.cost(reports=1)), 6), round(float(browser.cost(reports=50)), 6)
    (1.0, 2.0)
    """

    categories: tuple[Category, ...]
    epsilon: Fraction
    once: Fraction
    threshold: int = field(compare=False)
    instant: RandomizedResponse = field(compare=False)
    both: RandomizedResponse = field(compare=False)

    def __init__(self, *, categories: Sequence[Category], forever: Exact, once: Exact) -> None:
        names = categories_of(categories)
        asked, first = epsilon_of(forever, name="forever"), epsilon_of(once, name="once")
        if not first < asked:
            problem = "must be below forever: fresh noise is what makes one report cheaper"
            raise ParameterError("once", once, problem)
        threshold = _threshold(asked, len(names))
        q1 = _truth(Fraction(threshold, 1 << _WORD), len(names))
        factor = round_down(exp(first, _BITS).lower, _BITS)
        q = (factor - 1) / (factor + len(names) - 1)
        if not 0 < q < q1:
            problem = "must differ more from forever, and from 0: probabilities have 64 bits here"
            raise ParameterError("once", once, problem)
        q2 = round_down(q / q1, _BITS)
        put = object.__setattr__
        put(self, "categories", names)
        put(self, "epsilon", asked)
        put(self, "once", first)
        put(self, "threshold", threshold)
        put(self, "instant", RandomizedResponse(truth=q2, categories=names))
        put(self, "both", RandomizedResponse(truth=q1 * q2, categories=names))

    def __repr__(self) -> str:
        return (
            f"Memoised(categories={self.categories!r}, forever='{self.epsilon}', "
            f"once='{self.once}')"
        )

    @property
    def neighbours(self) -> Neighbours:  # type: ignore[override]
        """One person's value is replaced by any other."""
        return "replace"

    @property
    def one_report(self) -> PureDP:
        """What a single report promises."""
        return PureDP(self.once, "replace")

    @property
    def permanent(self) -> tuple[Fraction, Fraction]:
        """The probabilities of the truth and of each other category in the permanent step."""
        p = Fraction(self.threshold, 1 << _WORD)
        return p, (1 - p) / (len(self.categories) - 1)

    def cost(self, *, reports: Exact | None = None, distinct: Exact = 1) -> Fraction:
        """The epsilon of so many reports of each of so many different values, rounded up.

        Without `reports`: for ever. It holds for histories that are equal at the same times; what
        holds for any two is `cost_of_any_history`.
        """
        values = whole(distinct, name="distinct", at_least=1)
        (p1, o1), k = self.permanent, len(self.categories)
        most = self.epsilon
        if reports is None:
            ratio = p1 / o1
        else:
            many = whole(reports, name="reports", at_least=1)
            most = self.once if many == 1 else most
            far = many * log(self._step(), _BITS + many.bit_length()).upper
            if far > _FAR:
                return values * self.cost()
            r = exp(far, _BITS).upper  # the ratio grows with r
            ratio = (p1 * r + (k - 1) * o1) / (o1 * r + p1 + (k - 2) * o1)
        return values * min(round_up(log(ratio, _BITS).upper, 60), most)

    def cost_of_any_history(self, *, reports: Exact) -> Fraction:
        """The epsilon of so many reports for any two histories, rounded up: it has no limit."""
        many = whole(reports, name="reports", at_least=1)
        return many * round_up(log(self._step(), _BITS).upper, 60)

    def _step(self) -> Fraction:
        row = self.instant.kernel[0]
        return row[0] / row[1]

    def keep(self, place: int, word: int) -> int:
        """The category to keep for a value at `place`, from 64 uniform bits."""
        if word < self.threshold:
            return place
        share = ((1 << _WORD) - self.threshold) // (len(self.categories) - 1)
        other = (word - self.threshold) // share
        return other + (other >= place)

    def kept_law(self, value: Category) -> dict[Category, Fraction]:
        """The exact law of the kept category."""
        p, o = self.permanent
        place = self.place(value)
        return {name: p if y == place else o for y, name in enumerate(self.categories)}

    def law(self, value: Category) -> Outcomes:
        """The exact law of the kept category: the whole of what reports can ever tell."""
        masses = [Interval.of(p) for p in self.kept_law(value).values()]
        return Outcomes(self.categories, lambda _: masses)

    def small_neighbours(self) -> Iterator[tuple[Category, Category]]:
        """All pairs of categories."""
        return combinations(self.categories, 2)

    def place(self, value: Category) -> int:
        """The place of a category; what is none is refused without being quoted."""
        self.instant.expected_absolute_error(value)  # refuses what was not declared
        return self.categories.index(value)

    def estimate(self, reports: Iterable[Category] | Mapping[Category, int]) -> Proportions:
        """How common each category is, from one report of each person: free post-processing."""
        return self.both.estimate(reports)

    def client(self, *, budget: Exact | None = None) -> MemoClient:
        """A client with a secret of its own, from the operating system."""
        return MemoClient(self, new_key(), budget=budget)


def _threshold(epsilon: Fraction, k: int) -> int:
    """2^64 p for the largest p with p (k-1)/(1-p) <= e^epsilon whose rest divides by k - 1."""
    factor = exp(epsilon, _BITS).lower
    share = factor / (factor + k - 1)
    most = min((share.numerator << _WORD) // share.denominator, (1 << _WORD) - (k - 1))
    threshold = most - (most - (1 << _WORD)) % (k - 1)
    if not threshold * k > 1 << _WORD:
        raise ParameterError("forever", epsilon, "must be larger: probabilities have 64 bits here")
    return threshold


def _truth(p: Fraction, k: int) -> Fraction:
    """The q of "the truth with probability q, else any at random" whose truth comes out with p."""
    return (k * p - 1) / (k - 1)


class _Client:
    """What both clients hold: the secret, and how much of the budget has been used."""

    def __init__(self, memo: Memoised, secret: bytes, *, budget: Exact | None = None) -> None:
        given: object = secret
        if not isinstance(given, bytes) or len(given) < 16:
            raise ParameterError("secret", None, "must be at least 16 random bytes, from new_key()")
        self.memo = memo
        self.budget = None if budget is None else epsilon_of(budget, name="budget")
        if self.budget is not None and self.budget < memo.cost():
            problem = f"must be at least forever, {shown(memo.epsilon)}"
            raise ParameterError("budget", budget, problem)
        self._secret = secret
        self._used: list[tuple[int, int]] = []  # epochs and places, the last one last

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.memo!r}>"

    @property
    def spent(self) -> Fraction:
        """The epsilon of everything that was kept so far, for ever."""
        return len(self._used) * self.memo.cost()

    def _affordable(self) -> bool:
        return self.budget is None or self.spent + self.memo.cost() <= self.budget

    def _kept(self, epoch: int, place: int) -> int:
        message = epoch.to_bytes(8, "big") + place.to_bytes(4, "big")
        digest = hmac.new(self._secret, message, hashlib.sha256).digest()
        return self.memo.keep(place, int.from_bytes(digest[: _WORD // 8], "big"))

    def _answer(self, epoch: int, place: int, source: Source | None) -> Category:
        kept = self.memo.categories[self._kept(epoch, place)]
        return self.memo.instant.release(kept, source=source)

    def to_dict(self) -> dict[str, Any]:
        """The state as plain values, fit for JSON. It is private: it tells all that is hidden."""
        return {
            "format": _FORMAT,
            "client": type(self).__name__,
            "memo": repr(self.memo),
            "budget": None if self.budget is None else str(self.budget),
            "secret": self._secret.hex(),
            "used": [list(pair) for pair in self._used],
        }

    @classmethod
    def from_dict(cls, memo: Memoised, stored: Mapping[str, Any]) -> Self:
        """The client that `to_dict` described; one of another kind or mechanism is refused."""
        try:
            known = (stored["format"], stored["client"], stored["memo"])
            secret, budget = bytes.fromhex(stored["secret"]), stored["budget"]
            used = [(_stored(epoch), _stored(place)) for epoch, place in stored["used"]]
            if len(set(used)) < len(used) or any(y >= len(memo.categories) for _, y in used):
                raise ValueError
        except (KeyError, TypeError, ValueError):
            raise ParameterError("stored", None, "must be what to_dict gave") from None
        if known != (_FORMAT, cls.__name__, repr(memo)):
            raise ParameterError("stored", None, "must describe a client of the same kind")
        client = cls(memo, secret, budget=budget)
        client._used = used
        return client


def _stored(number: object) -> int:
    if type(number) is not int or not 0 <= number < 1 << 63:
        raise ValueError("no epoch and no place")
    return number


class MemoClient(_Client):
    """Reports a value again and again; each different value is kept once and for all.

    Guarantee. `spent` is the cost for ever of everything that was reported, for histories that are
    equal at the same times. It never exceeds `budget`: once a further value cannot be paid, the
    client goes on reporting the last one that was.
    Tested by tests/local/test_longitudinal.py
    """

    def report(self, value: Category, *, source: Source | None = None) -> Category:
        """One more report of the value that the person has now."""
        place = self.memo.place(value)
        known = (0, place) in self._used
        if not known and not self._affordable():
            return self._answer(0, self._used[-1][1], source)
        if known:
            self._used.remove((0, place))
        self._used.append((0, place))
        return self._answer(0, place, source)


class EpochClient(_Client):
    """Reports the value that the person had when the epoch began, with noise of the epoch's own.

    Guarantee. For any two histories, everything reported in T epochs is (T times `memo.cost()`)-
    differentially private; `spent` says so, and never exceeds `budget`: after the last epoch that
    can be paid the client goes on reporting that one.
    Assumes. Epochs are a public schedule, the same for everybody, and do not go back.
    Tested by tests/local/test_longitudinal.py
    """

    def report(self, value: Category, *, epoch: Exact, source: Source | None = None) -> Category:
        """One more report in this epoch; the value counts only if it is the epoch's first."""
        number = whole(epoch, name="epoch", at_least=0, at_most=(1 << 63) - 1)
        place = self.memo.place(value)
        last = self._used[-1][0] if self._used else -1
        if number < last:
            raise ParameterError("epoch", epoch, f"must not be before the last one, {last}")
        if number > last and self._affordable():
            self._used.append((number, place))
        first, held = self._used[-1]
        return self._answer(first, held, source)


@dataclass(frozen=True, slots=True)
class Comparison:
    """What the ways to report a history cost, each for ever and rounded up.

    Attributes:
        memoised: each different value kept; hides which values, and not when they change.
        memoised_any: the same reports, for any two histories.
        epochs: one value for each epoch; any two histories.
        fresh: a fresh report each time at the cost of one; any two histories.
        recommended: "memoised", "epochs" or "fresh".
        why: the reason, in words.
    """

    memoised: Fraction
    memoised_any: Fraction
    epochs: Fraction
    fresh: Fraction
    recommended: str
    why: str


def compare(
    memo: Memoised,
    history: Sequence[Hashable],
    *,
    epoch: Exact = 1,
    changes_are_public: bool = False,
) -> Comparison:
    """Both costs for a made-up pattern of changes, and which way to go.

    Args:
        memo: the parameters of the two steps.
        history: what a person might have at each report, such as "aaabbbaac"; only which entries
            are equal matters. Make one up: a real person's history is private.
        epoch: how many reports an epoch has.
        changes_are_public: whether everybody may know when the value changes.

    >>> memo = Memoised(categories=range(10), forever=2, once="0.5")
    >>> compare(memo, "aaaaaaaaaaaa").recommended, compare(memo, "abcabdabeabf").recommended
    ('memoised', 'fresh')
    """
    length = whole(epoch, name="epoch", at_least=1)
    reports = len(history)
    if not reports:
        raise ParameterError("history", None, "must hold at least one report")
    distinct = len(set(history))
    memoised, per_epoch = memo.cost(distinct=distinct), -(-reports // length)
    costs = {"epochs": per_epoch * memo.cost(), "fresh": reports * memo.once}
    cheapest = min(costs, key=lambda name: costs[name])
    hides = distinct == 1 or changes_are_public
    if hides and memoised <= costs[cheapest]:
        recommended = "memoised"
        why = f"{distinct} value(s) kept for ever cost {float(memoised):.4g}, the least"
    else:
        recommended = cheapest
        why = f"{cheapest} costs {float(costs[cheapest]):.4g} for any two histories"
        if not hides:
            why += (
                f"; memoisation would cost {float(memoised):.4g} and still show when the value "
                "changes"
            )
    return Comparison(
        memoised,
        memo.cost_of_any_history(reports=reports),
        costs["epochs"],
        costs["fresh"],
        recommended,
        why + ".",
    )
