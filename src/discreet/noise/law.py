"""An exact law on the integers: mass, cumulative, tail, quantile, mean, variance.

Every quantity is written once, as a formula in interval arithmetic, and is available twice: as a
certified enclosure to any number of bits (`mass_bounds(k, bits=64)`) and as the double nearest
to a much tighter enclosure (`mass(k)`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction

from discreet.errors import ParameterError, UnsupportedError
from discreet.exact import Exact, Interval, certify, probability

__all__ = ["Law", "Outcomes"]

_DOUBLE = 64  # bits of an enclosure whose midpoint is shown as a float


class Law(ABC):
    """A probability law on the integers.

    A subclass gives the support and four formulas; each takes a working precision w and returns
    an interval that holds the exact real for every w and tightens as w grows.
    """

    lowest: int | None = None
    """The smallest value that can occur, or None."""
    highest: int | None = None
    """The largest value that can occur, or None."""
    centre: int = 0
    """The value from which `period` counts."""
    period: int | None = None
    """If not None: `period` steps away from `centre`, on either side, every mass has fallen by one
    constant factor; so what happens within a period beyond the centre happens everywhere."""

    @abstractmethod
    def _mass(self, k: int, w: int) -> Interval:
        """P(X = k), for k in the support."""

    @abstractmethod
    def _tail(self, k: int, w: int) -> Interval:
        """P(X > k), for lowest <= k < highest."""

    @abstractmethod
    def _cumulative(self, k: int, w: int) -> Interval:
        """P(X <= k), for lowest <= k < highest."""

    @abstractmethod
    def _mean(self, w: int) -> Interval:
        """E X."""

    @abstractmethod
    def _variance(self, w: int) -> Interval:
        """E (X - E X)^2."""

    def mass(self, k: int) -> float:
        """P(X = k)."""
        return float(self.mass_bounds(k, bits=_DOUBLE))

    def cumulative(self, k: int) -> float:
        """P(X <= k)."""
        return float(self.cumulative_bounds(k, bits=_DOUBLE))

    def tail(self, k: int) -> float:
        """P(X > k)."""
        return float(self.tail_bounds(k, bits=_DOUBLE))

    def absolute_error(self, target: int) -> float:
        """E |X - target|."""
        return float(certify(lambda w: self._absolute_error(target, w), _DOUBLE))

    def _absolute_error(self, target: int, w: int) -> Interval:
        """E |X - target| at working precision w."""
        del target, w
        raise UnsupportedError(f"{type(self).__name__} has no formula for E |X - target|")

    @property
    def mean(self) -> float:
        """E X."""
        return float(self.mean_bounds())

    @property
    def variance(self) -> float:
        """E (X - E X)^2."""
        return float(self.variance_bounds())

    def mass_bounds(self, k: int, *, bits: int = _DOUBLE) -> Interval:
        """Enclose P(X = k) to a relative error of 2^-bits."""
        if self._is_below(k) or self._is_above(k):
            return Interval.of(0)
        return certify(lambda w: self._mass(k, w), bits)

    def cumulative_bounds(self, k: int, *, bits: int = _DOUBLE) -> Interval:
        """Enclose P(X <= k) to a relative error of 2^-bits."""
        if self._is_below(k):
            return Interval.of(0)
        if self.highest is not None and k >= self.highest:
            return Interval.of(1)
        return certify(lambda w: self._cumulative(k, w), bits)

    def tail_bounds(self, k: int, *, bits: int = _DOUBLE) -> Interval:
        """Enclose P(X > k) to a relative error of 2^-bits."""
        if self._is_below(k):
            return Interval.of(1)
        if self.highest is not None and k >= self.highest:
            return Interval.of(0)
        return certify(lambda w: self._tail(k, w), bits)

    def mean_bounds(self, *, bits: int = _DOUBLE) -> Interval:
        """Enclose E X to a relative error of 2^-bits."""
        return certify(self._mean, bits)

    def variance_bounds(self, *, bits: int = _DOUBLE) -> Interval:
        """Enclose the variance to a relative error of 2^-bits."""
        return certify(self._variance, bits)

    def quantile(self, p: Exact) -> int:
        """The smallest k with P(X <= k) >= p, decided by certified bounds."""
        level = probability(p, name="p")

        def reaches(k: int) -> bool:
            return self._compare(k, level)

        return smallest(reaches, start=self._start())

    def near_tail(self, chance: Fraction) -> int:  # noqa: ARG002
        """Some k near the first with P(X > k) <= chance: where a search had best begin.

        Only the time of the search depends on it.
        """
        return self._start()

    def _compare(self, k: int, level: Fraction) -> bool:
        """Whether P(X <= k) >= level, with as much precision as that takes."""
        bits = 64
        while True:
            found = self.cumulative_bounds(k, bits=bits)
            if found.lower >= level:
                return True
            if found.upper < level:
                return False
            bits *= 2
            if bits > 1 << 14:
                problem = f"equals a cumulative probability to {bits} bits; ask for a nearby level"
                raise ParameterError("p", level, problem)

    def table(self, first: int, last: int, w: int) -> list[tuple[int, int]]:
        """Integers (lower, upper) with lower <= P(X <= k) 2^w <= upper, for first <= k <= last."""
        found = [self.cumulative_bounds(k, bits=w) for k in range(first, last + 1)]
        return [scaled_ends(interval, w) for interval in found]

    def locate(self, u: int, count: int) -> int | None:
        """The value of the inverse cumulative at a real U whose first `count` bits spell u.

        Returns the k with P(X < k) <= U < P(X <= k) if all reals with these first bits agree on
        it, else None: then more bits of the same U have to be revealed. (The sides are chosen so
        that U uniform on [0, 1) gives X exactly its law.)
        """
        if u == 0 and self.lowest is None:
            return None  # there is always a smaller value to exclude
        w = count + 64

        def is_above(k: int) -> bool:
            """Certainly U < P(X <= k), or too close to tell."""
            return self.cumulative_bounds(k, bits=w).upper * (1 << count) > u

        k = smallest(is_above, start=self._start())
        surely = self.cumulative_bounds(k, bits=w).lower * (1 << count) >= u + 1
        return k if surely else None

    def _start(self) -> int:
        return self.lowest if self.lowest is not None else 0

    def _is_below(self, k: int) -> bool:
        return self.lowest is not None and k < self.lowest

    def _is_above(self, k: int) -> bool:
        return self.highest is not None and k > self.highest


def scaled_ends(interval: Interval, w: int) -> tuple[int, int]:
    """The ends of an interval in units of 2^-w, rounded outward."""
    lower, upper = interval.lower, interval.upper
    return (lower.numerator << w) // lower.denominator, -(
        -(upper.numerator << w) // upper.denominator
    )


def smallest(holds: Callable[[int], bool], *, start: int) -> int:
    """The smallest k for which a predicate that turns true once and for good holds.

    Gallops away from `start` in either direction, then bisects.
    """
    step = 1
    if holds(start):
        high = start
        while holds(high - step):
            high -= step
            step *= 2
        low = high - step
    else:
        low = start
        while not holds(low + step):
            low += step
            step *= 2
        high = low + step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


class Outcomes:
    """A law on finitely many outcomes of any kind (keys, indices, tuples), with certified masses.

    `formula(w)` returns the masses in the order of `outcomes`, each enclosed at working
    precision w.

    >>> coin = Outcomes(("heads", "tails"), lambda w: [Interval.of(Fraction(1, 2))] * 2)
    >>> coin.mass("heads")
    0.5
    """

    def __init__(
        self, outcomes: Sequence[Hashable], formula: Callable[[int], Sequence[Interval]]
    ) -> None:
        self.outcomes: tuple[Hashable, ...] = tuple(outcomes)
        if len(set(self.outcomes)) != len(self.outcomes):
            raise ValueError("the outcomes of a law must differ from each other")
        self._formula = formula
        self._places = {outcome: place for place, outcome in enumerate(self.outcomes)}
        self._known: dict[int, Sequence[Interval]] = {}

    def mass(self, outcome: Hashable) -> float:
        """P(X = outcome)."""
        return float(self.mass_bounds(outcome, bits=_DOUBLE))

    def mass_bounds(self, outcome: Hashable, *, bits: int = _DOUBLE) -> Interval:
        """Enclose P(X = outcome) to a relative error of 2^-bits."""
        place = self._places.get(outcome)
        if place is None:
            return Interval.of(0)
        return certify(lambda w: self._at(w)[place], bits)

    def _at(self, w: int) -> Sequence[Interval]:
        if w not in self._known:
            self._known[w] = self._formula(w)
        return self._known[w]
