"""What has to be added to geometric noise so that the sum is wider geometric noise.

Theorem. Let a = exp(-fine) < b = exp(-coarse), for rates fine > coarse > 0, and let

    c = a (1-b)^2 / (b (1-a)^2).

Let D be 0 with probability c, and otherwise two-sided geometric with the ratio b. If Z is two-sided
geometric with the ratio a, independent of D, then Z + D is two-sided geometric with the ratio b.

Proof. The generating function of the two-sided law with the ratio a is (1-a)^2/N(a), where
N(a) = (1 - a z)(1 - a/z) = 1 + a^2 - a (z + 1/z). Since z + 1/z = (1 + b^2 - N(b))/b,

    N(a) = (a/b) N(b) + 1 + a^2 - (a/b)(1 + b^2) = (a/b) N(b) + (1 - a/b)(1 - a b).

So the quotient of the generating functions for b and for a is

    (1-b)^2/(1-a)^2 N(a)/N(b) = c + (1 - a/b)(1 - a b)/(1-a)^2 (1-b)^2/N(b):

a constant c and a multiple of the law with the ratio b. Both weights are positive, because
0 < a < b < 1, and at z = 1 they add up to 1; so it is the generating function of D. []

c is the quotient of the two variances, 2a/(1-a)^2 over 2b/(1-b)^2. It is no rational number, and
is never rounded: the coin is drawn by inversion on a certified table, like every law here.
(For Laplace noise: Koufogiannis, Han and Pappas 2017, "Gradual release of sensitive data under
differential privacy".)
Tested by tests/noise/test_coarsening.py
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from discreet.exact import Interval, exp
from discreet.noise.geometric import TwoSidedGeometric, power
from discreet.noise.law import Law
from discreet.noise.sampler import Sampler, two_sided
from discreet.noise.source import Source
from discreet.noise.table import APART, KEPT, Array, Inversion, inversion
from discreet.remembered import remembered

__all__ = ["DifferenceCoin", "GeometricDifference", "difference"]


def _kept(fine: Fraction, coarse: Fraction, w: int) -> Interval:
    """The probability c that nothing is added."""
    narrower = (1 - power(coarse, 1, w)) / (1 - power(fine, 1, w))
    return exp(coarse - fine, w) * narrower * narrower


def _check(fine: Fraction, coarse: Fraction) -> None:
    if not 0 < coarse < fine:
        raise ValueError("noise can only be made wider: the rates must be 0 < coarse < fine")


@dataclass(frozen=True, slots=True)
class DifferenceCoin(Law):
    """P(X = 0) = c: nothing is added; P(X = 1) = 1 - c.

    >>> round(DifferenceCoin(Fraction(1), Fraction(1, 2)).mass(0), 6)
    0.235004
    """

    fine: Fraction
    coarse: Fraction
    lowest = 0
    highest = 1

    def __post_init__(self) -> None:
        _check(self.fine, self.coarse)

    def _mass(self, k: int, w: int) -> Interval:
        kept = _kept(self.fine, self.coarse, w)
        return 1 - kept if k else kept

    def _tail(self, k: int, w: int) -> Interval:  # noqa: ARG002
        return 1 - _kept(self.fine, self.coarse, w)

    def _cumulative(self, k: int, w: int) -> Interval:  # noqa: ARG002
        return _kept(self.fine, self.coarse, w)

    def _mean(self, w: int) -> Interval:
        return 1 - _kept(self.fine, self.coarse, w)

    def _variance(self, w: int) -> Interval:
        kept = _kept(self.fine, self.coarse, w)
        return kept * (1 - kept)


@dataclass(frozen=True, slots=True)
class GeometricDifference(Law):
    """The law of D: 0 with probability c, else two-sided geometric with the rate `coarse`.

    >>> law = GeometricDifference(Fraction(1), Fraction(1, 2))
    >>> round(law.mass(0), 6), round(law.variance, 6)
    (0.422366, 5.994049)
    """

    fine: Fraction
    coarse: Fraction

    def __post_init__(self) -> None:
        _check(self.fine, self.coarse)

    def _moved(self, w: int) -> Interval:
        return 1 - _kept(self.fine, self.coarse, w)

    def _mass(self, k: int, w: int) -> Interval:
        wide = self._moved(w) * TwoSidedGeometric(self.coarse)._mass(k, w)
        return wide if k else wide + _kept(self.fine, self.coarse, w)

    def _tail(self, k: int, w: int) -> Interval:
        return self._cumulative(-k - 1, w)

    def _cumulative(self, k: int, w: int) -> Interval:
        beyond = power(self.coarse, -k if k < 0 else k + 1, w) / (1 + power(self.coarse, 1, w))
        side = self._moved(w) * beyond
        return side if k < 0 else 1 - side

    def _mean(self, w: int) -> Interval:  # noqa: ARG002
        return Interval.of(0)

    def _variance(self, w: int) -> Interval:
        return self._moved(w) * TwoSidedGeometric(self.coarse)._variance(w)


class _Difference(Sampler):
    """A coin, and wide noise that counts where the coin says so."""

    def __init__(self, coin: Inversion, wide: Sampler) -> None:
        self.coin = coin
        self.wide = wide

    def one(self, source: Source) -> int:
        moved = self.coin.one(source)
        return moved * self.wide.one(source)

    def chunk(self, size: int, source: Source) -> Array:
        moved = self.coin.chunk(size, source)
        found = self.wide.chunk(size, source)
        found[moved == 0] = 0
        return found


@remembered(KEPT, apart=APART)
def difference(fine: Fraction, coarse: Fraction) -> Sampler:
    """Draws of D."""
    return _Difference(inversion(DifferenceCoin(fine, coarse)), two_sided(coarse))
