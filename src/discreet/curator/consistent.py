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
Tested by tests/curator/test_consistent.py
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING

from discreet.curator.values import Value, visible
from discreet.errors import ParameterError, UnsupportedError
from discreet.exact import Exact, positive, rational, whole
from discreet.privacy.compose import sequential

if TYPE_CHECKING:
    from discreet.curator.release import Release

__all__ = ["adding_up", "projected", "with_sums"]

Key = tuple[tuple[type, Value], ...]


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


def with_sums(release: Release, total: int | Release, column: str) -> Release:
    """A release whose column adds up to a total, or to the groups of a coarser release.

    The parts start from the raw noisy values where there are some: clamping them first would push
    small groups up. Intervals stay: they say where the truth lies, which adding up does not move.

    What is promised. With a number, the same as before. With another release, the result tells
    about both, so its guarantee and its losses are those of both together.
    """
    if any(isinstance(value, float) for value in release[column]):
        problem = "must hold whole numbers, such as counts; means do not add up"
        raise ParameterError("column", column, problem)
    noisy = _parts(release, column)
    groups: dict[Key, list[int]] = {(): list(range(len(release)))}
    made = release
    if isinstance(total, type(release)):
        made = _together(release, total)
        groups = _grouped(release, total.keys)
        sums = _sums(total, column, groups)
    else:
        sums = {(): whole(total, name="total", at_least=0)}
    fitted: list[Value] = [None] * len(release)
    for group, places in groups.items():
        parts = adding_up([noisy[i] for i in places], sums[group])
        for i, part in zip(places, parts, strict=True):
            fitted[i] = part
    place = release.columns.index(column)
    rows = tuple(
        (*row[:place], value, *row[place + 1 :])
        for row, value in zip(release.rows, fitted, strict=True)
    )
    how = f"{release.mechanisms.get(column, 'released')}; then moved to add up"
    mechanisms = MappingProxyType({**release.mechanisms, column: how})
    steps = (*release.steps, f"{column} adds up to {_said(total)}")
    return replace(made, rows=rows, mechanisms=mechanisms, steps=steps)


def _parts(release: Release, column: str) -> list[int | float]:
    """The noisy values, or the finished ones where there are no raw ones."""
    finished = release[column]
    raw = release.raw.get(column, (None,) * len(release))
    parts: list[int | float] = []
    for before, after in zip(raw, finished, strict=True):
        value = after if before is None else before
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ParameterError("column", column, "must hold a number in every row to add up")
        parts.append(value)
    return parts


def _together(release: Release, total: Release) -> Release:
    """The release with the promises of both; the total must be a coarser one."""
    strange = [key for key in total.keys if key not in release.keys]
    if strange:
        some = ", ".join(release.keys) or "nothing"
        raise ParameterError("total", strange, f"must be grouped by some of {some} only")
    guarantee = sequential(release.guarantee, total.guarantee)
    return replace(release, guarantee=guarantee, losses=release.losses + total.losses)


def _key(row: dict[str, Value], keys: tuple[str, ...]) -> Key:
    return tuple((type(row[key]), row[key]) for key in keys)


def _grouped(release: Release, keys: tuple[str, ...]) -> dict[Key, list[int]]:
    """The rows under each key of the coarser release."""
    groups: dict[Key, list[int]] = {}
    for place, row in enumerate(release):
        groups.setdefault(_key(row, keys), []).append(place)
    return groups


def _sums(total: Release, column: str, groups: dict[Key, list[int]]) -> dict[Key, int]:
    """The published total of each group; each has one row, and parts."""
    keys = total.keys
    found: dict[Key, int] = {}
    for row, value in zip(total, _totals(total, column), strict=True):
        key = _key(row, keys)
        if key in found:
            raise UnsupportedError(
                f"the total has two rows for {_named(keys, key)}, so it is not known which one the "
                "parts should add up to"
            )
        found[key] = _whole(value, _named(keys, key))
        if key not in groups and found[key]:
            raise UnsupportedError(
                f"nothing can add up to the total of {_named(keys, key)}: it has no parts here; "
                "leave that row out of the total with .map(...)"
            )
    for key in groups:
        if key not in found:
            raise UnsupportedError(
                f"the total has no row for {_named(keys, key)}; leave those parts out with "
                ".map(...), or ask for the total with every key"
            )
    return found


def _whole(value: Value, name: str) -> int:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return whole(value, name=f"the total of {name}", at_least=0)
    raise ParameterError(f"the total of {name}", None, "must be a number for parts to add up to")


def _totals(total: Release, column: str) -> list[Value]:
    """The column of that name, or the only one."""
    if column in total.columns:
        return total[column]
    numbers = [name for name in total.columns if name not in total.keys]
    if len(numbers) != 1:
        raise ParameterError("total", ", ".join(numbers), f"must have a column {column!r}")
    return total[numbers[0]]


def _named(keys: tuple[str, ...], key: Key) -> str:
    told = (f"{n} {visible(str(v))}" for n, (_, v) in zip(keys, key, strict=True))
    return ", ".join(told) or "everybody"


def _said(total: int | Release) -> str:
    keys: tuple[str, ...] | None = getattr(total, "keys", None)
    if keys is None:
        return f"{total:,}"
    return f"the total by {', '.join(keys)}" if keys else "the published total"
