"""The discrete Gaussian noise that (epsilon, delta) needs: exact for one number, proved for many.

Write v for sigma squared, P for the law of Y, P(Y = k) proportional to exp(-k^2/(2 v)).

Theorem 1 (one number). If neighbours differ by at most the integer D, releasing f(x) + Y is
(epsilon, delta)-differentially private if and only if delta is at least
    P(Y > a) - e^epsilon P(Y > a + D),  a = epsilon v/D - D/2.
Proof. For a move of d, the set on which P(k) > e^epsilon P(k + d) is the half-line
k > epsilon v/d - d/2, because P(k)/P(k + d) = exp((2 k d + d^2)/(2 v)) grows with k. So the least
delta for d is the largest P(Y > b) - e^epsilon P(Y > b + d) over all half-lines b, and each of
these grows with d; the largest move is the worst. The other direction is the mirror image.

Theorem 2 (K numbers). Let one person move at most K numbers, by a squared distance of at most D2
in all. Take any s with s^2 < v, z = 2 (the sum of exp(-2 pi^2 s^2 j^2) over j >= 1) < 1 and
c^2 = v - s^2. Then releasing all numbers, each with its own Y, is (epsilon, delta)-private with
    epsilon = e + K log((1 + z)/(1 - z)),  delta = (1 + z)^K delta_c(e, D2/c^2),
where delta_c(e, m) = N(sqrt(m)/2 - e/sqrt(m)) - e^e N(-sqrt(m)/2 - e/sqrt(m)) is the least delta of
the continuous Gaussian mechanism (Balle and Wang 2018) and N the standard normal cumulative.
Proof. Let X be normal with variance c^2 and, given X = x, let W be the integer k with probability
exp(-(k - x)^2/(2 s^2))/S(x), S(x) the sum over all k. S has period 1, so rounding x + m gives
m + W: adding X and then rounding randomly has the law of adding W, and it is post-processing of
the continuous mechanism, hence (e, delta_c)-private. By Poisson summation
S(x) = s sqrt(2 pi) (1 + 2 (the sum of exp(-2 pi^2 s^2 j^2) cos(2 pi j x) over j >= 1)), which is
between 1 - z and 1 + z times s sqrt(2 pi). A normal density convolved with another is normal, so
P(W = k) is the normal density g(k) of variance v times a number between 1/(1 + z) and 1/(1 - z),
while P(Y = k) = t g(k) with one t <= 1 (1/t is the same series with v for s^2 and x = 0). So
t (1 - z) <= P(Y = k)/P(W = k) <= t (1 + z). Only K of the numbers have laws that differ between
neighbours; the others are independent of them and the same for both. For a set A of outputs of
the K and inputs x, y this gives
P(x + Y in A) <= (t (1 + z))^K P(x + W in A) <= (t (1 + z))^K (e^e P(y + W in A) + delta_c)
<= ((1 + z)/(1 - z))^K e^e P(y + Y in A) + (1 + z)^K delta_c.

Theorem 3. This mechanism is rho-zCDP with rho = D2/(2 v), and so it is (epsilon, delta)-private
wherever Theorem 1 of `discreet.privacy.convert` says so of every rho-zCDP mechanism.

For K = 1 Theorem 1 decides. For K > 1 the smaller v of Theorems 2 and 3 is taken. All comparisons
are made by certified bounds, so what is returned meets its delta whatever the search did.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial

from discreet.exact import Interval, certify, exp, gauss_integral, pi, sqrt
from discreet.exact.interval import round_down, round_up
from discreet.noise.gaussian import SMALLEST, DiscreteGaussian, theta
from discreet.noise.law import smallest
from discreet.privacy.convert import largest_rho, zcdp_delta_upper
from discreet.remembered import remembered

__all__ = [
    "continuous_delta",
    "exact_delta",
    "least_variance",
    "least_variance_for_many",
    "many_delta_upper",
    "rounding_delta_upper",
]

_FINE = 15  # a search ends within a factor 1 + 2^-15 of the least variance
_SHORT = 32  # bits of the numbers that a search tries
_SMOOTHINGS = [Fraction(j, 8) for j in range(4, 49)]
"""The s^2 that are tried; the largest has z < 10^-50, so it serves any K up to 2^62."""


def exact_delta(v: Fraction, move: int, epsilon: Fraction, w: int) -> Interval:
    """The least delta of Theorem 1, at working precision w."""
    law, start = DiscreteGaussian(v), epsilon * v / move - Fraction(move, 2)
    k = start.numerator // start.denominator  # k > start for integers means beyond its floor
    return law._tail(k, w) - exp(epsilon, w) * law._tail(k + move, w)  # noqa: SLF001


def continuous_delta(epsilon: Fraction, m: Fraction, w: int) -> Interval:
    """delta_c(epsilon, m) of Theorem 2, at working precision w."""
    rise = m / 2 - epsilon
    upper = normal_cumulative(rise * rise / m, w, negative=rise < 0)
    fall = m / 2 + epsilon
    return upper - exp(epsilon, w) * normal_cumulative(fall * fall / m, w, negative=True)


def normal_cumulative(square: Fraction, w: int, *, negative: bool) -> Interval:
    """N(x) for x = sqrt(square), or for x = -sqrt(square).

    Far out the series would be long and its value is below 2^-w: N(-x) <= exp(-x^2/2)/2 is enough.
    """
    if square > 2 * w + 64:
        tail = Interval(Fraction(0), exp(-square / 2, 16).upper / 2)
        return tail if negative else 1 - tail
    circle = 2 * pi(w + 8)
    scaled = Interval(
        sqrt(square / circle.upper, w + 8).lower, sqrt(square / circle.lower, w + 8).upper
    )
    half = scaled * gauss_integral(square, w + 8)
    return Fraction(1, 2) + (-half if negative else half)


def is_at_most(formula: Callable[[int], Interval], limit: Fraction) -> bool:
    """Whether a real is at most `limit`, certainly; where 16,384 bits cannot tell, it is not."""
    w = 64
    while w <= 1 << 14:
        found = formula(w)
        if found.upper <= limit:
            return True
        if found.lower > limit:
            return False
        w *= 2
    return False


def crossing(holds: Callable[[Fraction], bool], low: Fraction, high: Fraction) -> Fraction:
    """A number that holds, within a factor 1 + 2^-15 of one below that does not.

    `high` must hold and `low` must not; where the predicate turns true once, it is the least one.
    """
    while high - low > high / (1 << _FINE):
        middle = round_up((low + high) / 2, _SHORT)
        if not low < middle < high:
            break
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


@remembered(1024)
def least_variance(move: int, epsilon: Fraction, delta: Fraction) -> Fraction:
    """The least v for which Theorem 1 gives (epsilon, delta), to one part in 2^15.

    As v grows, the least delta does not always fall: it is smooth while floor(a) stays the same
    and has a valley near each v at which a is an integer. So the first valley that is deep
    enough is found, and then the slope that leads down to it.
    """

    def enough(v: Fraction) -> bool:
        return is_at_most(lambda w: exact_delta(v, move, epsilon, w), delta)

    def valley(k: int) -> Fraction:
        return (2 * k + move) * Fraction(move) / (2 * epsilon)

    lowest = -(move // 2) + (1 - move % 2)  # the least k whose valley lies above 0
    k = smallest(lambda k: k >= lowest and enough(valley(k)), start=lowest)
    low = valley(k - 1) if k > lowest else SMALLEST
    return crossing(enough, low, valley(k))


def rounding_terms(s_squared: Fraction, changes: int) -> tuple[Fraction, Fraction]:
    """Upper bounds of K log((1 + z)/(1 - z)) and of (1 + z)^K, for Theorem 2.

    log((1 + z)/(1 - z)) <= 2 z/(1 - z), and (1 + z)^K <= exp(K z).
    """
    circle = pi(72)
    z = (2 * theta(2 * s_squared * circle * circle, 0, 64)).upper
    if not changes * z < 1000:
        return Fraction(10**6), Fraction(1)
    return round_up(2 * changes * z / (1 - z), 64), exp(round_up(changes * z, 64), 64).upper


@remembered(1024)
def least_variance_for_many(
    changes: int, distance_squared: Fraction, epsilon: Fraction, delta: Fraction
) -> Fraction:
    """A v for which Theorem 2 or Theorem 3 gives (epsilon, delta): the smaller of the two."""
    best = distance_squared / (2 * largest_rho(epsilon, delta))
    worse = 0
    for s_squared in _SMOOTHINGS:
        extra, factor = rounding_terms(s_squared, changes)
        if not extra < epsilon:
            continue
        share = continuous_share(epsilon - extra, delta / factor)
        found = distance_squared * share + s_squared
        worse = 0 if found < best else worse + 1
        best = min(best, found)
        if worse == 3:
            break
    return max(round_up(best, _SHORT), SMALLEST)


def continuous_share(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The least c^2/D2 for which the continuous mechanism is (epsilon, delta)-private."""

    def enough(share: Fraction) -> bool:
        return is_at_most(lambda w: continuous_delta(epsilon, 1 / share, w), delta)

    exponent = smallest(lambda i: enough(Fraction(2) ** i), start=0)
    return crossing(enough, Fraction(2) ** (exponent - 1), Fraction(2) ** exponent)


def rounding_delta_upper(
    v: Fraction, changes: int, distance_squared: Fraction, epsilon: Fraction
) -> Fraction:
    """The least delta that Theorem 2 gives, rounded up; 1 where it gives nothing."""
    best = Fraction(1)
    for s_squared in _SMOOTHINGS:
        extra, factor = rounding_terms(s_squared, changes)
        if not (s_squared < v and extra < epsilon):
            continue
        e, m = round_down(epsilon - extra, 64), distance_squared / (v - s_squared)
        found = certify(partial(continuous_delta, e, m), 24).upper * factor
        if found > best:
            break
        best = found
    return best


def many_delta_upper(
    v: Fraction, changes: int, distance_squared: Fraction, epsilon: Fraction
) -> Fraction:
    """A delta, rounded up, that Theorem 2 or 3 proves for this noise."""
    by_rounding = rounding_delta_upper(v, changes, distance_squared, epsilon)
    return min(by_rounding, zcdp_delta_upper(distance_squared / (2 * v), epsilon))
