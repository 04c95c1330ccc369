"""From one kind of promise to another: the arithmetic, with the direction of rounding in the name.

All arguments are exact rationals that were checked before: an order a > 1, a Renyi divergence, a
rho or an epsilon of at least 0, and 0 < delta < 1. What is rounded is always a bound.

Theorem 1 (Canonne, Kamath and Steinke 2020, Proposition 12). If the Renyi divergence of order a of
P from Q is at most r, then P(S) <= e^epsilon Q(S) + delta for every set S and every epsilon, with
    delta = exp((a - 1) (r - epsilon)) (1 - 1/a)^(a - 1)/a.
Proof. Let Z = log(P/Q), under P. The least delta is the sum of (P - e^epsilon Q)+, which is the
mean of (1 - e^(epsilon - Z))+. Write u = e^-Z. Then (1 - e^epsilon u) u^(a - 1) is largest at
u = (1 - 1/a) e^-epsilon, where it is c = e^(-(a - 1) epsilon) (1 - 1/a)^(a - 1)/a. So
(1 - e^(epsilon - Z))+ <= c e^((a - 1) Z) always, and the mean of e^((a - 1) Z) is exp((a - 1) D)
with D the divergence.

Solved for the others:
    epsilon = r + log(1 - 1/a) - (log delta + log a)/(a - 1),
    r = epsilon - log(1 - 1/a) + (log delta + log a)/(a - 1).

Theorem 2. For rho-zCDP, r = a rho, and every order gives a true bound. The best order solves
    (2 a - 1) rho + log(1 - 1/a) = epsilon        where epsilon is given,
    (a - 1)^2 rho + log a + log delta = 0         where delta is given,
    (a - 1)^2 X + (2 a - 1) (log delta + log a) = 0,  X = epsilon - log(1 - 1/a),  where both are,
and each left side passes its right side once, from below.
Proof. log delta = (a - 1) (a rho - epsilon) + (a - 1) log(a - 1) - a log a is convex in a: its
derivative (2 a - 1) rho - epsilon + log(1 - 1/a) grows. So for each epsilon, and likewise for each
rho, the orders that give delta or less are an interval, and the best order is where the derivative
is 0; the second and third lines put in the epsilon and the rho that belong to delta. (Where that
rho is not above 0, the third left side is at most -a (a - 1) X < 0.) How well the equation is
solved matters for tightness only: the bound is certified at whatever order was found.

Theorem 3. What is epsilon-private is rho-zCDP with rho = epsilon tanh(epsilon/2) <= epsilon^2/2,
and with no smaller rho, as randomised response shows.
Proof. Let the ratio L = P/Q lie between e^-epsilon and e^epsilon; its mean under Q is 1. x^a is
convex, so among all such L the mean of L^a is largest when L takes the two ends only, which is
randomised response: P = (e^epsilon, 1)/(1 + e^epsilon), and Q the other way round. There
    K(a) = log(mean of L^a) = log(cosh((a - 1/2) epsilon)/cosh(epsilon/2)).
Put s = (a - 1/2)^2, so that a (a - 1) = s - 1/4. The slope of log cosh(epsilon sqrt(s)) in s is
epsilon^2/2 times tanh(x)/x at x = epsilon sqrt(s), which falls; the function is concave. So the
divergence over the order, K(a)/(a (a - 1)), is the slope of a chord that starts at s = 1/4, and it
is less than the slope there, epsilon tanh(epsilon/2). That is its limit for a -> 1, too.

Tested by tests/privacy/test_convert.py
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from discreet.exact import Interval, certify, exp, log
from discreet.exact.interval import round_down, round_up
from discreet.remembered import remembered

__all__ = [
    "delta_upper",
    "epsilon_upper",
    "largest_divergence",
    "largest_rho",
    "pure_rho_upper",
    "zcdp_delta_upper",
    "zcdp_epsilon_upper",
]

_BITS = 40  # relative precision of what is returned
_WORKING = 64
_ONE = Fraction(1)
_LEAST = Fraction(1, 10**400)


@remembered(1 << 14)
def epsilon_upper(order: Fraction, divergence: Fraction, delta: Fraction) -> Fraction:
    """An epsilon, rounded up, at which this Renyi divergence gives (epsilon, delta); 0 or more."""

    def epsilon(w: int) -> Interval:
        return divergence + _rest(order, w) - (log(delta, w) + _log(order, w)) / (order - 1)

    return max(certify(epsilon, _BITS, start=_WORKING).upper, Fraction(0))


@remembered(1 << 14)
def delta_upper(order: Fraction, divergence: Fraction, epsilon: Fraction) -> Fraction:
    """A delta, rounded up, at which this Renyi divergence gives (epsilon, delta).

    At most 1, and at least 10^-400, which is as small as a parameter can be.
    """
    w = _WORKING
    exponent = (order - 1) * (divergence - epsilon + _rest(order, w)) - _log(order, w)
    if not exponent.upper < 0:
        return _ONE
    return min(max(exp(round_up(exponent.upper, w), _BITS).upper, _LEAST), _ONE)


@remembered(1 << 14)
def largest_divergence(order: Fraction, epsilon: Fraction, delta: Fraction) -> Fraction | None:
    """The largest Renyi divergence at this order, rounded down, that gives (epsilon, delta).

    None where the order gives it for no divergence above 0: a higher order may.
    """

    def divergence(w: int) -> Interval:
        return epsilon - _rest(order, w) + (log(delta, w) + _log(order, w)) / (order - 1)

    found = certify(divergence, _BITS, start=_WORKING).lower
    return found if found > 0 else None


@remembered(1 << 12)
def zcdp_epsilon_upper(rho: Fraction, delta: Fraction) -> Fraction:
    """An epsilon, rounded up, at which rho-zCDP gives (epsilon, delta); 0 or more."""
    log_delta = log(delta, _WORKING)
    order = passing_order(lambda a: (a - 1) ** 2 * rho + log(a, _WORKING) + log_delta)
    return epsilon_upper(order, order * rho, delta)


@remembered(1 << 12)
def zcdp_delta_upper(rho: Fraction, epsilon: Fraction) -> Fraction:
    """A delta, rounded up, at which rho-zCDP gives (epsilon, delta); 1 at most."""
    order = passing_order(lambda a: (2 * a - 1) * rho - epsilon + log_rest(a, _WORKING))
    return delta_upper(order, order * rho, epsilon)


@remembered(1 << 12)
def largest_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest rho, rounded down, for which rho-zCDP gives (epsilon, delta)."""
    log_delta = log(delta, _WORKING)

    def slope(a: Fraction) -> Interval:
        rest = epsilon - log_rest(a, _WORKING)
        return (a - 1) ** 2 * rest + (2 * a - 1) * (log_delta + log(a, _WORKING))

    order = passing_order(slope)
    divergence = largest_divergence(order, epsilon, delta)
    if divergence is None:  # not met for any epsilon and delta within 10^-400
        raise ArithmeticError("no order gives this epsilon and delta")
    return round_down(divergence / order, _BITS)


@remembered(1 << 12)
def pure_rho_upper(epsilon: Fraction) -> Fraction:
    """The rho of whatever is epsilon-private, epsilon tanh(epsilon/2), rounded up (Theorem 3)."""

    def rho(w: int) -> Interval:
        factor = exp(epsilon, w)
        return epsilon * (factor - 1) / (factor + 1)

    found = certify(rho, _BITS, start=_WORKING).upper
    return min(found, epsilon * epsilon / 2, epsilon)  # both are bounds of it, too


def passing_order(slope: Callable[[Fraction], Interval]) -> Fraction:
    """The order a > 1 at which `slope` passes 0 from below, to one part in 1000 of a - 1."""
    low, high = -(64 << 10), 2048 << 10  # in steps of 1/1024 of a power of two

    def order(i: int) -> Fraction:
        return 1 + Fraction(2) ** (i >> 10) * (1024 + (i & 1023)) / 1024

    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if slope(order(middle)).upper > 0 else (middle, high)
    return order(high)


def log_rest(order: Fraction, w: int) -> Interval:
    """log(1 - 1/order), to w bits after it is multiplied by the order."""
    return log(1 - 1 / order, w + int(order).bit_length())


_rest = remembered(1 << 12)(log_rest)  # the listed orders come back again and again
_log = remembered(1 << 12)(log)
