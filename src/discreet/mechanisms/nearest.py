"""Numbers that add up: noisy parts moved as little as possible to a published total.

Post-processing of released numbers: it looks at nothing private and costs nothing.

The question. Given numbers v and a whole number T >= 0, which x >= 0 with sum T is nearest, in the
sum of w_i (x_i - v_i)^2 with weights w_i > 0?

Theorem 1 (projection). Let x_i(t) = max(0, v_i - t/w_i). For T > 0 there is exactly one t at which
the x_i(t) add up to T, and x(t) is the one nearest point. Sort the numbers so that s_i = w_i v_i
falls, and let t_k = (v_1 + ... + v_k - T)/(1/w_1 + ... + 1/w_k). Then the t is t_k for the largest
k with s_k > t_k, and all smaller k pass that test too.
Proof. The objective is strictly convex and the set {x >= 0, sum x = T} is convex, closed and not
empty, so there is one nearest point, and the conditions of Karush, Kuhn and Tucker are necessary
and sufficient for it: w_i (x_i - v_i) + t - m_i = 0, m_i >= 0, m_i x_i = 0. Where x_i > 0 they say
x_i = v_i - t/w_i; where x_i = 0 they say v_i <= t/w_i. Together: x_i = max(0, v_i - t/w_i).
g(t) = sum of x_i(t) is continuous, falls strictly from infinity until it is 0, and stays there: one
t has g(t) = T > 0, and g(s) < T if and only if s > t. The positive coordinates there are those with
s_i > t, a beginning {1..k} of the sorted list; adding up over it gives t = t_k. To find k: the sum
h_j(s) of v_i - s/w_i over i <= j falls strictly, and h_j(t_j) = T, so j passes (s_j > t_j) if and
only if h_j(s_j) < T. At s_j the terms up to j are not negative and all later ones are not
positive, so h_j(s_j) = g(s_j). Hence j passes if and only if g(s_j) < T, that is s_j > t, that is
j <= k.

Theorem 2 (whole numbers). With equal weights, rounding x down and giving the units that are then
missing to the largest remainders is a nearest vector of whole numbers n >= 0 with sum T.
Proof. With w = 1 and the conditions above, for every such n
sum (n_i - v_i)^2 = sum (n_i - x_i)^2 + 2 sum (n_i - x_i)(x_i - v_i) + constant, and the middle sum
is sum (n_i - x_i)(m_i - t) = sum n_i m_i >= 0, because n and x have the same sum and m_i x_i = 0.
So no n does better than the least of sum (n_i - x_i)^2, if one that attains it has n_i = 0 wherever
x_i = 0. Largest remainders attain it (moving a unit from i to j changes the sum of squares by
2 (n_j - x_j) - 2 (n_i - x_i) + 2, which is not negative for any i, j when every n_i is x_i rounded
down or up and the units are with the largest remainders; for separable convex sums no better
exchange means no better vector), and fewer units are missing than there are coordinates with a
remainder, so a coordinate without one gets none.

With unequal weights the result is the nearest among the vectors that round each x_i down or up.
`projected` and `adding_up` work with exact fractions, `onto_simplex` with floats on long vectors;
all three follow from Theorem 1.
Tested by tests/mechanisms/test_nearest.py
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.exact import Exact, positive, rational, whole

__all__ = ["adding_up", "onto_simplex", "projected"]

Array = NDArray[Any]


def adding_up(
    values: Sequence[int | float], total: int, *, weights: Sequence[Exact] | None = None
) -> list[int]:
    """The nearest whole numbers, none negative, that add up to the total.

    Weights say how much each number is trusted: one over the variance of its noise. Equal without
    them. Exact arithmetic throughout; between equal remainders the earlier number gets the unit.

    >>> adding_up([10, 7, -2], 16)
    [10, 6, 0]
    >>> adding_up([1, 1, 1], 100)
    [34, 33, 33]
    """
    wanted = whole(total, name="total", at_least=0)
    trusted = _weights(weights, len(values))
    exact = projected([rational(v, name="values") for v in values], wanted, trusted)
    down = [x.numerator // x.denominator for x in exact]
    missing = wanted - sum(down)
    rests = [x - n for x, n in zip(exact, down, strict=True)]
    by_cost = sorted(  # of one unit more: w (1 - 2 rest)
        (i for i, rest in enumerate(rests) if rest), key=lambda i: trusted[i] * (1 - 2 * rests[i])
    )
    for i in by_cost[:missing]:
        down[i] += 1
    return down


def projected(
    values: Sequence[Fraction], total: int, weights: Sequence[Fraction]
) -> list[Fraction]:
    """The nearest numbers, none negative, with this sum: Theorem 1 of this module.

    >>> projected([Fraction(3), Fraction(2), Fraction(-4)], 4, [Fraction(1)] * 3)
    [Fraction(5, 2), Fraction(3, 2), Fraction(0, 1)]
    """
    if total == 0:
        return [Fraction(0)] * len(values)
    if not values:
        raise ParameterError("values", None, f"must not be empty: nothing adds up to {total}")
    order = sorted(range(len(values)), key=lambda i: -weights[i] * values[i])
    above, below, level = Fraction(-total), Fraction(0), Fraction(0)
    for i in order:
        above, below = above + values[i], below + 1 / weights[i]
        if not weights[i] * values[i] > above / below:
            break
        level = above / below
    return [max(Fraction(0), v - level / w) for v, w in zip(values, weights, strict=True)]


def _weights(weights: Sequence[Exact] | None, size: int) -> list[Fraction]:
    if weights is None:
        return [Fraction(1)] * size
    if len(weights) != size:
        raise ParameterError("weights", len(weights), f"must be as many as the values, {size}")
    return [positive(weight, name="weights") for weight in weights]


def onto_simplex(values: Array, total: float = 1.0, weights: Array | None = None) -> Array:
    """The nearest vector with no entry below 0 and this sum: Theorem 1 in floats.

    With the total 1 it is the nearest distribution (Held, Wolfe and Crowder 1974). Weights say how
    much each number is trusted: one over the variance of its noise. Equal without them.

    >>> onto_simplex(np.array([0.5, 0.7, -0.2])).round(2).tolist()
    [0.4, 0.6, 0.0]
    >>> onto_simplex(np.array([10.0, 7.0, -2.0]), 16).tolist()
    [9.5, 6.5, 0.0]
    """
    if not total > 0:
        return np.zeros(len(values))
    trusted = np.ones(len(values)) if weights is None else np.asarray(weights, dtype=np.float64)
    order = np.argsort(-trusted * values, kind="stable")
    levels = (np.cumsum(values[order]) - total) / np.cumsum(1 / trusted[order])
    kept = int(np.flatnonzero((trusted * values)[order] - levels > 0)[-1])
    return np.asarray(np.maximum(values - levels[kept] / trusted, 0))
