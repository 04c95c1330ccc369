"""Numpy-shaped helpers: a private count and a private histogram in one call each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import InputTypeError, ParameterError
from discreet.exact import Exact, rational, whole
from discreet.mechanisms.base import kind_of, plain_array
from discreet.mechanisms.geometric import Geometric
from discreet.noise.source import Source
from discreet.privacy.guarantee import Neighbours, neighbours_of

if TYPE_CHECKING:
    from discreet.privacy.budget import Chargeable

__all__ = ["count", "histogram"]

LARGEST_BINS = 1 << 31


def count(
    flags: ArrayLike,
    *,
    epsilon: Exact,
    neighbours: Neighbours = "add_or_remove",
    budget: Chargeable | None = None,
    source: Source | None = None,
) -> int:
    """How many of `flags` are true, with two-sided geometric noise; `budget` is charged first.

    Guarantee. Epsilon-differential privacy if each person is one flag. When a person is added or
    removed the count moves by at most 1 and the answer is any integer, unbiased; when a person is
    replaced it also moves by at most 1, the number of people n is public, and the answer is
    clamped to 0 .. n.
    Tested by tests/mechanisms/test_counts.py

    >>> isinstance(count([True, False, True], epsilon=1), int)
    True
    """
    array = _array(flags, if_empty=np.bool_)
    _check_flat(array, "flags")
    if array.dtype != np.bool_:
        raise InputTypeError(
            f"flags must be true or false, not {kind_of(array)}; compare first, as in "
            "dp.count(ages > 40, epsilon=1). Nothing was released"
        )
    relation = neighbours_of(neighbours)
    bounds = (0, int(array.size)) if relation == "replace" and array.size else None
    mechanism = Geometric(epsilon=epsilon, bounds=bounds, neighbours=relation)
    if budget is not None:
        budget.charge(mechanism)
    return mechanism.release(int(np.count_nonzero(array)), source=source)


def histogram(  # noqa: PLR0913 - numpy's arguments, and ours
    values: ArrayLike,
    *,
    bins: int | Sequence[float],
    range: tuple[Exact, Exact] | None = None,
    epsilon: Exact,
    outside: Literal["drop", "clamp"] = "drop",
    neighbours: Neighbours = "add_or_remove",
    budget: Chargeable | None = None,
    source: Source | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """A histogram like numpy's, with two-sided geometric noise in every bin, empty ones too.

    Guarantee. Epsilon-differential privacy if each person is one value. A person is in one bin,
    so adding or removing one moves one count by 1 (parallel composition: the cost does not depend
    on the number of bins), and replacing one moves two counts by 1 each, for which the noise is
    doubled in scale.
    Assumes. The edges are public: they are required and never taken from the data.
    Tested by tests/mechanisms/test_counts.py

    Args:
        values: one number per person.
        bins: a number of equal bins over `range`, or the edges themselves.
        range: the public (low, high); needed if `bins` is a number.
        epsilon: the privacy parameter.
        outside: "drop" leaves values outside the edges out, "clamp" counts them in the end bins.
            NaN is left out in both.
        neighbours: "add_or_remove" or "replace".
        budget: charged before the values are counted; its refusal leaves them alone.
        source: for tests.

    Returns:
        The noisy counts (int64; unbiased, so some may be negative) and the edges.

    >>> noisy, edges = histogram([1, 2, 2], bins=3, range=(0, 3), epsilon=1)
    >>> len(noisy), edges.tolist()
    (3, [0.0, 1.0, 2.0, 3.0])
    """
    if outside not in ("drop", "clamp"):
        raise ParameterError("outside", outside, "must be 'drop' or 'clamp'")
    edges = _edges(bins, range)
    numbers = _array(values, if_empty=np.float64)
    _check_flat(numbers, "values")
    if numbers.dtype.kind not in "iuf":
        raise InputTypeError(
            f"values must be numbers, not {kind_of(numbers)}; nothing was released"
        )
    changes = 2 if neighbours_of(neighbours) == "replace" else 1
    mechanism = Geometric(epsilon=epsilon, changes=changes, neighbours=neighbours)
    if budget is not None:
        budget.charge(mechanism)
    exact = _count_in_bins(numbers, edges, equal=isinstance(bins, int), clamp=outside == "clamp")
    return mechanism.release(exact, source=source), edges


def _check_flat(array: NDArray[Any], name: str) -> None:
    """One element is one person, so that a table, where a row is one, is no input."""
    if array.ndim != 1:
        raise InputTypeError(
            f"{name} must be a flat list or array, one element for each person, not of "
            f"{array.ndim} dimensions; choose one column. Nothing was released"
        )


def _array(values: ArrayLike, *, if_empty: type[np.generic]) -> NDArray[Any]:
    """The values as a plain array, by their types alone: integers of any size become floats."""
    if isinstance(values, np.ndarray):
        return plain_array(values)
    try:
        array = np.asarray(values)
    except ValueError:  # lists of different lengths
        raise InputTypeError("a flat list is needed here, one element for each person") from None
    if array.size == 0:
        return array.astype(if_empty)
    if array.dtype == object and all(_is_real(item) for item in array.flat):
        return np.array([_float(item) for item in array.flat])
    return array


def _is_real(item: object) -> bool:
    return isinstance(item, int | float | np.integer | np.floating) and not isinstance(item, bool)


def _float(value: float) -> float:
    """The nearest float; an infinite one for an integer beyond them all."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _edges(bins: int | Sequence[float], span: tuple[Exact, Exact] | None) -> NDArray[np.float64]:
    if isinstance(bins, int | np.integer) and not isinstance(bins, bool):
        number = whole(int(bins), name="bins", at_least=1, at_most=LARGEST_BINS)
        if span is None:
            problem = (
                "must be given with a number of bins, as in range=(0, 100_000): edges are public, "
                "never taken from the data"
            )
            raise ParameterError("range", None, problem)
        low, high = _pair(span)
        if not low < high:
            raise ParameterError("range", span, "must have its low end below its high end")
        problem = f"is too wide or too narrow for {number} bins"
        if not math.isfinite(high - low):
            raise ParameterError("range", span, problem)
        edges = np.linspace(low, high, number + 1)
        if not np.all(np.diff(edges) > 0):
            raise ParameterError("range", span, problem)
        return edges
    items: Any = bins
    listed = isinstance(items, list | tuple | np.ndarray)
    if not listed or not all(isinstance(edge, int | float | np.number) for edge in items):
        raise ParameterError("bins", bins, "must be a number or at least two finite edges")
    edges = np.asarray(bins, dtype=np.float64)
    if edges.ndim != 1 or len(edges) < 2 or not np.all(np.isfinite(edges)):
        raise ParameterError("bins", bins, "must be a number or at least two finite edges")
    if not np.all(np.diff(edges) > 0):
        raise ParameterError("bins", bins, "must be edges that increase")
    return edges


def _pair(span: object) -> tuple[float, float]:
    if not isinstance(span, tuple | list) or len(span) != 2:
        raise ParameterError("range", span, "must be a pair (low, high)")
    return float(rational(span[0], name="range")), float(rational(span[1], name="range"))


def _count_in_bins(
    numbers: NDArray[Any], edges: NDArray[np.float64], *, equal: bool, clamp: bool
) -> NDArray[np.int64]:
    """Exact counts. Bins hold their left edge; the last one holds its right edge too.

    Each value is put into one bin by a fixed function of the value and the edges, so that one
    person is in one bin whatever the rounding of the edges.
    """
    bins = len(edges) - 1
    with np.errstate(over="ignore"):  # a long double may become infinite, and is then outside
        real = numbers.astype(np.float64, copy=False)
    kept = real[~np.isnan(real)] if clamp else real[(real >= edges[0]) & (real <= edges[-1])]
    kept = np.clip(kept, edges[0], edges[-1])
    rate = bins / float(edges[-1] - edges[0])
    if equal and math.isfinite(rate):
        place = ((kept - edges[0]) * rate).astype(np.int64)
        place = np.clip(place, 0, bins - 1)
        place -= kept < edges[place]
        place += (kept >= edges[place + 1]) & (place < bins - 1)
    else:
        place = np.minimum(np.searchsorted(edges, kept, side="right") - 1, bins - 1)
    return np.bincount(place, minlength=bins).astype(np.int64, copy=False)
