"""Add up releases that are fixed ahead of time, in every way that is valid, and take the best.

The four ways, from the simplest to the tightest:

basic      epsilons add, deltas add.
zcdp       rhos add; then rho-zCDP gives (epsilon, delta) (`discreet.privacy.convert`).
renyi      Renyi divergences add at each order; the best order is converted.
loss distribution
           the laws of the losses are convolved (`discreet.privacy.distribution`).

Guarantee. What `epsilon_upper`, `delta_upper` and `guarantee` return is never below the truth:
each way is a theorem, each number is rounded up, and the least of several true bounds is true.
Assumes. The list of losses does not depend on the answers. (The questions may: "ten counts at
epsilon 0.1, each chosen after the one before" is a fixed list. "Go on until the answer is above
100" is not; that needs a `dp.Budget`.)
Tested by tests/privacy/test_accountant.py
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any

from discreet.errors import ParameterError, UnsupportedError
from discreet.exact import Exact, shown, whole
from discreet.exact.interval import round_up
from discreet.privacy.bounds import (
    add_upper,
    failure,
    gamma_of,
    pure_upper,
    renyi_estimate,
    renyi_upper,
    rho_upper,
)
from discreet.privacy.convert import (
    delta_upper,
    epsilon_upper,
    zcdp_delta_upper,
    zcdp_epsilon_upper,
)
from discreet.privacy.guarantee import (
    ZCDP,
    ApproxDP,
    Guarantee,
    Neighbours,
    PureDP,
    RandomDP,
    delta_of,
    epsilon_or_zero,
    neighbours_of,
)
from discreet.privacy.loss import HasLoss, Loss, loss_from_dict, loss_of

if TYPE_CHECKING:
    from discreet.privacy.distribution import Distribution

__all__ = ["Accountant", "Explanation", "Way"]

FORMAT = 1
CONVOLVED = "loss distribution"


@dataclass(frozen=True, slots=True)
class Way:
    """One way to add up: what it gives, or why it gives nothing."""

    name: str
    value: Fraction | None
    why: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """All ways to add the same releases up, and the one that was taken: the least.

    `str(explanation)` is a small table.
    """

    asked: str
    said: str
    ways: tuple[Way, ...]

    @property
    def chosen(self) -> Way:
        """The way with the least value; the simplest of them if there are several."""
        known = [way for way in self.ways if way.value is not None]
        return min(known, key=lambda way: way.value if way.value is not None else 0)

    @property
    def value(self) -> Fraction:
        """The least value, rounded up."""
        value = self.chosen.value
        assert value is not None  # noqa: S101 - `chosen` has one
        return value

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        lines = [f"{self.said}: {self.asked}"]
        for way in self.ways:
            mark = "*" if way is self.chosen else " "
            value = "-" if way.value is None else _digits(way.value)
            lines.append(f" {mark} {way.name:<18}{value:<13}{way.why}")
        return "\n".join(
            [*lines, " * is the least; every line is an upper bound, shown to six digits"]
        )


class Accountant:
    """Adds up what releases leak, for anybody's mechanisms.

    Args:
        releases: mechanisms or losses, once each; `add` takes more.
        random: say True to add up random differential privacy too; what comes out is then no
            better, and its releases must have been chosen before the first answer.
        neighbours: "add_or_remove" or "replace".

    >>> import discreet as dp
    >>> accountant = dp.Accountant()
    >>> accountant.add(dp.Geometric(epsilon="0.01"), times=400)
    Accountant(400 releases)
    >>> round(float(accountant.epsilon_upper(delta="1e-6")), 3)
    0.831
    >>> print(accountant.guarantee())
    4-differential privacy (neighbours: one person is added or removed)
    """

    def __init__(
        self,
        releases: Iterable[Loss | HasLoss] = (),
        *,
        random: bool = False,
        neighbours: Neighbours = "add_or_remove",
    ) -> None:
        self.neighbours = neighbours_of(neighbours)
        self.random = bool(random)
        self._losses: Counter[Loss] = Counter()
        for release in releases:
            self.add(release)

    def add(self, release: Loss | HasLoss, *, times: int = 1) -> Accountant:
        """Count a loss, or a mechanism's loss, `times` over; returns the accountant itself."""
        loss = loss_of(release)
        if loss.neighbours != self.neighbours:
            raise ParameterError(
                "neighbours",
                loss.neighbours,
                f"of a loss must be {self.neighbours!r}, like the accountant's",
            )
        if gamma_of(loss) and not self.random:
            raise UnsupportedError(
                "this is random differential privacy, which is not mixed with plain privacy "
                "unless you say dp.Accountant(random=True)"
            )
        self._losses[loss] += whole(times, name="times", at_least=1, at_most=10**12)
        return self

    @property
    def losses(self) -> Mapping[Loss, int]:
        """A copy of what was added: each distinct loss with its number."""
        return dict(self._losses)

    def __len__(self) -> int:
        return sum(self._losses.values())

    def __repr__(self) -> str:
        return f"Accountant({len(self):,} release{'' if len(self) == 1 else 's'})"

    def epsilon_upper(self, delta: Exact) -> Fraction:
        """The least epsilon, rounded up, at which all of it is (epsilon, delta)-private."""
        return self._least(_Epsilons(self._sums(), delta_of(delta)))

    def delta_upper(self, epsilon: Exact) -> Fraction:
        """The least delta, rounded up, at which all of it is (epsilon, delta)-private."""
        return self._least(_Deltas(self._sums(), epsilon_or_zero(epsilon)))

    def _least(self, ways: _Epsilons | _Deltas) -> Fraction:
        """The least of all ways, without certifying those that cannot win."""
        known = [way.value for way in (ways.basic(), ways.convolved()) if way.value is not None]
        if not known or self._may_win(ways, min(known)):
            known += [way.value for way in (ways.zcdp(), ways.renyi()) if way.value is not None]
        if not known:
            raise ParameterError(
                "delta",
                float(ways.delta) if isinstance(ways, _Epsilons) else None,
                f"is too small: the releases alone fail with {float(ways.sums.fails):.3g}",
            )
        return min(known)

    @staticmethod
    def _may_win(ways: _Epsilons | _Deltas, known: Fraction) -> bool:
        """Whether the other ways could give less; where floats cannot tell, they could."""
        if known < Fraction(1, 10**6):
            return True
        try:
            return ways.estimate() < float(known) * (1 + 2.0**-30)
        except (ArithmeticError, ValueError):
            return True

    def explain(self, *, delta: Exact | None = None, epsilon: Exact | None = None) -> Explanation:
        """All ways to add up, as a table: epsilons at a delta, or deltas at an epsilon."""
        ways: _Epsilons | _Deltas
        if delta is not None and epsilon is None:
            ways = _Epsilons(self._sums(), delta_of(delta))
            asked = f"epsilon at delta {shown(ways.delta)}"
        elif epsilon is not None and delta is None:
            ways = _Deltas(self._sums(), epsilon_or_zero(epsilon))
            asked = f"delta at epsilon {shown(ways.epsilon)}"
        else:
            raise ParameterError("delta", delta, "or epsilon must be said, one of the two")
        self._least(ways)
        rows = (ways.basic(), ways.zcdp(), ways.renyi(), ways.convolved())
        return Explanation(asked, f"{len(self):,} releases", rows)

    def guarantee(self, delta: Exact | None = None) -> Guarantee:
        """What all of it together promises: at this delta, or the strongest without one."""
        if delta is not None:
            allowed = delta_of(delta)
            return ApproxDP(self.epsilon_upper(allowed), allowed, self.neighbours)
        sums = self._sums(random=True)
        gamma = _sum(self._losses, gamma_of)
        if gamma and (sums.pure is None or sums.fails):
            raise UnsupportedError("random differential privacy adds up with pure privacy only")
        if sums.pure is None and not sums.fails:
            return ZCDP(sums.rho, self.neighbours)
        if sums.pure is None:
            raise ParameterError("delta", None, "must be said: the releases may fail")
        if gamma:
            return RandomDP(sums.pure, gamma, self.neighbours)
        if sums.fails:
            return ApproxDP(sums.pure, sums.fails, self.neighbours)
        return PureDP(sums.pure, self.neighbours)

    def _sums(self, *, random: bool = False) -> _Sums:
        if not self._losses:
            raise ParameterError("releases", None, "are missing: add at least one")
        if not random and any(gamma_of(loss) for loss in self._losses):
            raise UnsupportedError(
                "random differential privacy has no delta; ask for guarantee() alone"
            )
        return _Sums(self._losses)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, fit for JSON; `from_dict` reads it back, years later too."""
        losses = [{"times": n, "loss": loss.to_dict()} for loss, n in self._losses.items()]
        return {"format": FORMAT, "neighbours": self.neighbours, "losses": losses}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Accountant:
        """Read a stored accountant back; an unknown format is refused, never guessed."""
        known: object = stored
        if not isinstance(known, Mapping) or type(known.get("format")) is not int:
            raise ParameterError("format", None, "of a stored accountant is missing: json.loads it")
        if known["format"] != FORMAT:
            raise ParameterError("format", None, f"of a stored accountant must be {FORMAT}")
        if set(known) != {"format", "neighbours", "losses"}:
            raise ParameterError("fields", None, "must be format, neighbours and losses")
        if not isinstance(known.get("losses"), Sequence) or isinstance(known["losses"], str):
            raise ParameterError("losses", None, "of a stored accountant must be a list")
        accountant = cls(random=True, neighbours=neighbours_of(known.get("neighbours")))
        for entry in known["losses"]:
            if not isinstance(entry, Mapping) or set(entry) != {"times", "loss"}:
                raise ParameterError("losses", None, "must each have a loss and its times")
            accountant.add(loss_from_dict(entry["loss"]), times=entry["times"])
        accountant.random = any(gamma_of(loss) for loss in accountant.losses)
        return accountant


def _digits(number: Fraction) -> str:
    """About six digits, for a table."""
    try:
        return f"{float(number):.6g}"
    except OverflowError:
        return shown(number)


def _sum(losses: Mapping[Loss, int], bound: Callable[[Loss], Fraction]) -> Fraction:
    return reduce(add_upper, (n * bound(loss) for loss, n in losses.items()), Fraction(0))


class _Sums:
    """The sums of a list of losses, and what they give."""

    def __init__(self, losses: Mapping[Loss, int]) -> None:
        self.losses = losses

    @cached_property
    def fails(self) -> Fraction:
        return _sum(self.losses, failure)

    @cached_property
    def pure(self) -> Fraction | None:
        if any(pure_upper(loss) is None for loss in self.losses):
            return None
        return _sum(self.losses, lambda loss: pure_upper(loss) or Fraction(0))

    @cached_property
    def rho(self) -> Fraction:
        return _sum(self.losses, rho_upper)

    def divergence(self, order: Fraction) -> Fraction:
        """The Renyi divergences at this order, added up."""
        return _sum(self.losses, lambda loss: renyi_upper(loss, order))

    def estimate(self, order: float) -> float:
        """The same in floats, to look for a good order with."""
        return sum(n * renyi_estimate(loss, order) for loss, n in self.losses.items())

    @cached_property
    def distribution(self) -> Distribution | str:
        """The convolved law, or why there is none."""
        from discreet.privacy.distribution import distribution_of  # noqa: PLC0415

        try:
            return distribution_of(self.losses)
        except UnsupportedError as problem:
            return str(problem)


class _Epsilons:
    """Every way to an epsilon at a given delta."""

    def __init__(self, sums: _Sums, delta: Fraction) -> None:
        self.sums, self.delta, self.rest = sums, delta, delta - sums.fails

    def basic(self) -> Way:
        if self.sums.pure is None:
            return Way("basic", None, "some releases have no pure epsilon")
        if self.rest < 0:
            return Way("basic", None, f"the releases fail with {shown(self.sums.fails)}")
        return Way("basic", self.sums.pure, "the epsilons, added up")

    def zcdp(self) -> Way:
        if not self.rest > 0:
            return Way("zcdp", None, f"the releases fail with {shown(self.sums.fails)}")
        rho = self.sums.rho
        value = zcdp_epsilon_upper(rho, self.rest) if rho else Fraction(0)
        return Way("zcdp", value, f"the rhos add up to {_digits(rho)}")

    def renyi(self) -> Way:
        if not self.rest > 0:
            return Way("renyi", None, f"the releases fail with {shown(self.sums.fails)}")
        order = self.order()
        value = epsilon_upper(order, self.sums.divergence(order), self.rest)
        return Way("renyi", value, f"the divergences of order {float(order):.4g}, added up")

    def order(self) -> Fraction:
        return _best_order(self._cost)

    def estimate(self) -> float:
        """About what `renyi` would give (`zcdp` seldom gives less), without certifying it."""
        return self._cost(float(self.order())) if self.rest > 0 else math.inf

    def _cost(self, a: float) -> float:
        small = math.log(self.rest.numerator) - math.log(self.rest.denominator)
        lost = (small + math.log(a)) / (a - 1)
        return self.sums.estimate(a) + math.log1p(-1 / a) - lost

    def convolved(self) -> Way:
        found = self.sums.distribution
        if isinstance(found, str):
            return Way(CONVOLVED, None, found)
        value = found.epsilon_upper(self.delta)
        if value is None:
            return Way(CONVOLVED, None, "this delta is below what floats can tell")
        return Way(CONVOLVED, value, f"the laws of the losses convolved, grid {found.grid:.2g}")


class _Deltas:
    """Every way to a delta at a given epsilon."""

    def __init__(self, sums: _Sums, epsilon: Fraction) -> None:
        self.sums, self.epsilon = sums, epsilon

    def basic(self) -> Way:
        if self.sums.pure is None:
            return Way("basic", None, "some releases have no pure epsilon")
        if self.sums.pure > self.epsilon:
            return Way("basic", None, f"the epsilons add up to {shown(self.sums.pure)}")
        return Way("basic", min(self.sums.fails, Fraction(1)), "the deltas, added up")

    def zcdp(self) -> Way:
        rho = self.sums.rho
        value = zcdp_delta_upper(rho, self.epsilon) if rho else Fraction(0)
        return Way("zcdp", self._with_failures(value), f"the rhos add up to {_digits(rho)}")

    def renyi(self) -> Way:
        order = self.order()
        value = delta_upper(order, self.sums.divergence(order), self.epsilon)
        said = f"the divergences of order {float(order):.4g}, added up"
        return Way("renyi", self._with_failures(value), said)

    def order(self) -> Fraction:
        return _best_order(self._cost)

    def estimate(self) -> float:
        """About what `renyi` would give (`zcdp` seldom gives less), without certifying it."""
        return math.exp(min(0.0, self._cost(float(self.order())))) + float(self.sums.fails)

    def _cost(self, a: float) -> float:
        above = self.sums.estimate(a) - float(self.epsilon) + math.log1p(-1 / a)
        return (a - 1) * above - math.log(a)

    def convolved(self) -> Way:
        found = self.sums.distribution
        if isinstance(found, str):
            return Way(CONVOLVED, None, found)
        value = found.delta_upper(self.epsilon)
        return Way(CONVOLVED, value, f"the laws of the losses convolved, grid {found.grid:.2g}")

    def _with_failures(self, value: Fraction) -> Fraction:
        return min(value + self.sums.fails, Fraction(1))


def _best_order(cost: Callable[[float], float]) -> Fraction:
    """An order near the least cost: first a coarse look over all, then a finer one around it.

    Whatever order is found is valid; a better one is only tighter.
    """

    def at_order(at: float) -> float:  # log2 of a - 1
        try:
            return cost(1 + 2.0**at)
        except (ArithmeticError, ValueError):  # beyond floats: any order will do
            return math.inf

    best = min(map(float, range(-6, 17)), key=at_order)
    for step in (0.5, 0.25, 0.12, 0.06, 0.03):
        best = min((best - step, best, best + step), key=at_order)
    return 1 + round_up(Fraction(2.0**best), 12)
