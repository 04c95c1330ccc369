"""Small laws with plain formulas: a coin, a coin of exp(-x), a uniform integer, a finite list.

Three of the four have rational probabilities, so their bounds are single points: nothing in them
is rounded, and every comparison with a level is decided exactly.
"""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate

from discreet.exact import Exact, Interval, exp, probability
from discreet.noise.law import Law

__all__ = ["Bernoulli", "BernoulliExp", "Categorical", "RationalLaw", "Uniform"]

_DOUBLE = 64


class RationalLaw(Law):
    """A law on finitely many integers, all of whose probabilities are rational.

    A subclass gives the first and the last value that can occur, and exact formulas.
    """

    __slots__ = ()

    lowest: int
    highest: int

    @abstractmethod
    def exact_mass(self, k: int) -> Fraction:
        """P(X = k), for any k."""

    @abstractmethod
    def exact_cumulative(self, k: int) -> Fraction:
        """P(X <= k), for any k."""

    @property
    @abstractmethod
    def exact_mean(self) -> Fraction:
        """E X."""

    @property
    @abstractmethod
    def exact_variance(self) -> Fraction:
        """E (X - E X)^2."""

    @abstractmethod
    def exact_absolute_error(self, target: int) -> Fraction:
        """E |X - target|."""

    def mass_bounds(self, k: int, *, bits: int = _DOUBLE) -> Interval:  # noqa: ARG002
        """P(X = k), as a point."""
        return Interval.of(self.exact_mass(k))

    def cumulative_bounds(self, k: int, *, bits: int = _DOUBLE) -> Interval:  # noqa: ARG002
        """P(X <= k), as a point."""
        return Interval.of(self.exact_cumulative(k))

    def tail_bounds(self, k: int, *, bits: int = _DOUBLE) -> Interval:  # noqa: ARG002
        """P(X > k), as a point."""
        return Interval.of(1 - self.exact_cumulative(k))

    def mean_bounds(self, *, bits: int = _DOUBLE) -> Interval:  # noqa: ARG002
        """E X, as a point."""
        return Interval.of(self.exact_mean)

    def variance_bounds(self, *, bits: int = _DOUBLE) -> Interval:  # noqa: ARG002
        """The variance, as a point."""
        return Interval.of(self.exact_variance)

    def _mass(self, k: int, w: int) -> Interval:  # noqa: ARG002
        return Interval.of(self.exact_mass(k))

    def _cumulative(self, k: int, w: int) -> Interval:  # noqa: ARG002
        return Interval.of(self.exact_cumulative(k))

    def _tail(self, k: int, w: int) -> Interval:  # noqa: ARG002
        return Interval.of(1 - self.exact_cumulative(k))

    def _mean(self, w: int) -> Interval:  # noqa: ARG002
        return Interval.of(self.exact_mean)

    def _variance(self, w: int) -> Interval:  # noqa: ARG002
        return Interval.of(self.exact_variance)

    def _absolute_error(self, target: int, w: int) -> Interval:  # noqa: ARG002
        return Interval.of(self.exact_absolute_error(target))

    def _compare(self, k: int, level: Fraction) -> bool:
        return self.exact_cumulative(k) >= level


@dataclass(frozen=True, slots=True)
class Bernoulli(RationalLaw):
    """P(X = 1) = p and P(X = 0) = 1 - p, for a rational p.

    >>> Bernoulli(Fraction(1, 3)).exact_mass(0)
    Fraction(2, 3)
    """

    p: Fraction

    def __post_init__(self) -> None:
        if not 0 <= self.p <= 1:
            raise ValueError("a probability lies between 0 and 1")

    @property
    def lowest(self) -> int:  # type: ignore[override]
        """The smallest value that can occur."""
        return 1 if self.p == 1 else 0

    @property
    def highest(self) -> int:  # type: ignore[override]
        """The largest value that can occur."""
        return 0 if self.p == 0 else 1

    def exact_mass(self, k: int) -> Fraction:
        """P(X = k)."""
        return {0: 1 - self.p, 1: self.p}.get(k, Fraction(0))

    def exact_cumulative(self, k: int) -> Fraction:
        """P(X <= k)."""
        return 1 - self.p if k == 0 else Fraction(k >= 1)

    @property
    def exact_mean(self) -> Fraction:
        """E X = p."""
        return self.p

    @property
    def exact_variance(self) -> Fraction:
        """The product p (1 - p)."""
        return self.p * (1 - self.p)

    def exact_absolute_error(self, target: int) -> Fraction:
        """E |X - target|."""
        return (1 - self.p) * abs(target) + self.p * abs(1 - target)


@dataclass(frozen=True, slots=True)
class Uniform(RationalLaw):
    """P(X = k) = 1/n on k = 0 .. n - 1. n may be of any size: nothing here makes a list.

    >>> Uniform(2**70).quantile("1/2") == 2**69 - 1
    True
    """

    n: int
    lowest = 0

    def __post_init__(self) -> None:
        if not self.n >= 1:
            raise ValueError("a uniform integer needs at least one value")

    @property
    def highest(self) -> int:  # type: ignore[override]
        """The largest value."""
        return self.n - 1

    def exact_mass(self, k: int) -> Fraction:
        """P(X = k)."""
        return Fraction(1, self.n) if 0 <= k < self.n else Fraction(0)

    def exact_cumulative(self, k: int) -> Fraction:
        """P(X <= k)."""
        return Fraction(min(max(k + 1, 0), self.n), self.n)

    @property
    def exact_mean(self) -> Fraction:
        """E X = (n - 1)/2."""
        return Fraction(self.n - 1, 2)

    @property
    def exact_variance(self) -> Fraction:
        """(n^2 - 1)/12."""
        return Fraction(self.n * self.n - 1, 12)

    def exact_absolute_error(self, target: int) -> Fraction:
        """E |X - target|: two arithmetic series where the target is inside, a shift outside."""
        if not 0 <= target < self.n:
            return abs(self.exact_mean - target)
        below, above = target, self.n - 1 - target
        return Fraction(below * (below + 1) + above * (above + 1), 2 * self.n)

    def quantile(self, p: Exact) -> int:
        """The smallest k with (k + 1)/n >= p."""
        level = probability(p, name="p") * self.n
        return -(-level.numerator // level.denominator) - 1


@dataclass(frozen=True, slots=True)
class Categorical(RationalLaw):
    """P(X = k) = weights[k] on k = 0 .. len(weights) - 1; the weights are rational and sum to 1.

    A weight may be 0. `lowest` and `highest` are the first and the last value of positive weight,
    so no cumulative below `highest` is 1 and none from `lowest` on is 0: what an inversion table
    needs (`discreet.noise.table`).

    >>> Categorical((Fraction(1, 6), Fraction(1, 3), Fraction(1, 2))).exact_cumulative(1)
    Fraction(1, 2)
    """

    weights: tuple[Fraction, ...]
    _sums: tuple[Fraction, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        sums = tuple(accumulate(self.weights))
        if not (sums and min(self.weights) >= 0 and sums[-1] == 1):
            raise ValueError("weights must be at least 0 and sum to exactly 1")
        object.__setattr__(self, "_sums", sums)

    @property
    def lowest(self) -> int:  # type: ignore[override]
        """The first value of positive weight."""
        return next(k for k, weight in enumerate(self.weights) if weight > 0)

    @property
    def highest(self) -> int:  # type: ignore[override]
        """The last value of positive weight."""
        return bisect_left(self._sums, 1)

    def exact_mass(self, k: int) -> Fraction:
        """P(X = k)."""
        return self.weights[k] if 0 <= k < len(self.weights) else Fraction(0)

    def exact_cumulative(self, k: int) -> Fraction:
        """P(X <= k)."""
        return self._sums[min(k, len(self._sums) - 1)] if k >= 0 else Fraction(0)

    @property
    def exact_mean(self) -> Fraction:
        """The sum of k weights[k]."""
        return _mean(range(len(self.weights)), self.weights)

    @property
    def exact_variance(self) -> Fraction:
        """The sum of k^2 weights[k], less the square of the mean."""
        squares = [k * k for k in range(len(self.weights))]
        return _mean(squares, self.weights) - self.exact_mean**2

    def exact_absolute_error(self, target: int) -> Fraction:
        """E |X - target|."""
        return _mean([abs(k - target) for k in range(len(self.weights))], self.weights)

    def quantile(self, p: Exact) -> int:
        """The smallest k with P(X <= k) >= p."""
        return bisect_left(self._sums, probability(p, name="p"))


def _mean(values: Sequence[int], weights: Sequence[Fraction]) -> Fraction:
    return sum((k * weight for k, weight in zip(values, weights, strict=True)), Fraction(0))


@dataclass(frozen=True, slots=True)
class BernoulliExp(Law):
    """P(X = 1) = exp(-x) and P(X = 0) = 1 - exp(-x), for a rational x >= 0.

    >>> round(BernoulliExp(Fraction(1)).mass(1), 6)
    0.367879
    """

    x: Fraction
    highest = 1

    def __post_init__(self) -> None:
        if not self.x >= 0:
            raise ValueError("exp(-x) is a probability only for x >= 0")

    @property
    def lowest(self) -> int:  # type: ignore[override]
        """The smallest value that can occur."""
        return 1 if self.x == 0 else 0

    def _mass(self, k: int, w: int) -> Interval:
        one = exp(-self.x, w)
        return one if k == 1 else 1 - one

    def _cumulative(self, k: int, w: int) -> Interval:  # noqa: ARG002
        return 1 - exp(-self.x, w)

    def _tail(self, k: int, w: int) -> Interval:  # noqa: ARG002
        return exp(-self.x, w)

    def _mean(self, w: int) -> Interval:
        return exp(-self.x, w)

    def _variance(self, w: int) -> Interval:
        one = exp(-self.x, w)
        return one * (1 - one)

    def _absolute_error(self, target: int, w: int) -> Interval:
        one = exp(-self.x, w)
        return (1 - one) * abs(target) + one * abs(1 - target)
