"""The basis that marginals are measured in: residuals, the matrices of whole numbers, the shares.

The mathematics is at the top of `discreet.publish.marginals`; here is what follows from the sizes
of the columns alone, so everything is public.

Shares. Those with the least sum over the wanted marginals of the variance of a cell: public, from
the sizes alone. Zero-concentrated: in closed form, share_A in proportion to sqrt(c_A p_A) with c_A
the factor of s_A^2 in that sum and p_A = prod_A (1 - 1/n); no other linear mechanism with Gaussian
noise is better (Xiao et al. 2023). Pure: by gradient from two starts; a local optimum.
Tested by tests/publish/test_residuals.py, tests/publish/test_marginals.py
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np

from discreet.publish.measured import Array
from discreet.remembered import remembered

__all__ = ["Columns", "Forms", "centred", "closure_of", "shares_of", "spread_of"]

Columns = tuple[int, ...]
"""A set of columns, by their numbers, rising."""
_UNITS = 1_000_000
"""Shares are multiples of one over this."""
_CUT = 1 << 61


def closure_of(wanted: Iterable[Columns]) -> tuple[Columns, ...]:
    """All subsets of some sets, the empty one first, the largest last.

    >>> closure_of([(0, 2)])
    ((), (0,), (2,), (0, 2))
    """
    found = {part for one in wanted for k in range(len(one) + 1) for part in combinations(one, k)}
    return tuple(sorted(found, key=lambda one: (len(one), one)))


@dataclass(frozen=True, slots=True)
class Forms:
    """How columns are measured: pure privacy or zero-concentrated."""

    sizes: tuple[int, ...]
    pure: bool

    def form(self, i: int) -> str:
        """Of one column."""
        if self.sizes[i] == 2:
            return "difference"
        return "cells" if self.pure else "centred"

    def norm(self, columns: Columns) -> int:
        """S_A (pure) or Q_A."""
        each = (
            self.sizes[i] * (self.sizes[i] - 1) if self.form(i) == "centred" else 1 for i in columns
        )
        return math.prod(each)

    def exact(self, values: Array, columns: Columns) -> Array:
        """C_A times a marginal, in whole numbers of any length, cut."""
        found = values.astype(object)
        for axis, i in enumerate(columns):
            if self.form(i) == "difference":
                found = np.take(found, [0], axis) - np.take(found, [1], axis)
            elif self.form(i) == "centred":
                found = self.sizes[i] * found - found.sum(axis=axis, keepdims=True)
        return np.asarray(np.clip(found, -_CUT, _CUT), dtype=np.int64)

    def told(self, columns: Columns) -> Iterator[Columns]:
        """The sets of whose residuals the numbers of a set say something."""
        fixed = {i for i in columns if self.form(i) != "cells"}
        return (part for part in closure_of([columns]) if fixed <= set(part))

    def factor(self, columns: Columns, part: Columns) -> float:
        """The f of the residual that is estimated from the numbers of a set."""
        found = 1.0
        for i in columns:
            if i not in part:
                found *= self.sizes[i]
            else:
                found /= {"cells": 1, "difference": 2, "centred": self.sizes[i] ** 2}[self.form(i)]
        return found

    def estimate(self, values: Array, columns: Columns, part: Columns) -> Array:
        """The residual of a part, from the numbers of a set."""
        found = values.astype(np.float64)
        for axis, i in reversed(list(enumerate(columns))):
            if i not in part:
                found = found.sum(axis=axis)
            elif self.form(i) == "difference":
                found = np.concatenate([found / 2, found / -2], axis=axis)
            else:
                found = centred(found, axis)
                found = found / self.sizes[i] if self.form(i) == "centred" else found
        return found

    def weights(self, question: Array, columns: Columns, part: Columns) -> Array:
        """The weights of a set's numbers in a sum over a residual: `estimate` turned around."""
        found = question
        for at, i in enumerate(columns):
            if i not in part:
                found = np.repeat(np.expand_dims(found, at), self.sizes[i], axis=at)
            elif self.form(i) == "difference":
                found = (np.take(found, [0], at) - np.take(found, [1], at)) / 2
            else:
                found = centred(found, at)
                found = found / self.sizes[i] if self.form(i) == "centred" else found
        return found


def centred(values: Array, axis: int) -> Array:
    """P along one axis."""
    return np.asarray(values - values.mean(axis=axis, keepdims=True))


def _wanted_factors(
    sizes: tuple[int, ...], wanted: Sequence[Columns], closure: Sequence[Columns]
) -> dict[Columns, float]:
    """The c_A: how much the variance s_A^2 adds to the variances of cells of wanted marginals."""
    found = dict.fromkeys(closure, 0.0)
    for columns in wanted:
        for part in closure_of([columns]):
            found[part] += spread_of(sizes, columns, part)
    return found


def spread_of(sizes: tuple[int, ...], columns: Columns, part: Columns) -> float:
    """The factor of s_A^2 in the variance of a cell of a marginal."""
    return math.prod(1 - 1 / sizes[i] if i in part else sizes[i] ** -2.0 for i in columns)


@remembered(64)
def shares_of(
    sizes: tuple[int, ...], wanted: tuple[Columns, ...], *, pure: bool
) -> dict[Columns, Fraction]:
    """The share of each measured set, exact, adding up to 1 at most: public."""
    forms, closure = Forms(sizes, pure), closure_of(wanted)
    factors = _wanted_factors(sizes, wanted, closure)
    weights = np.array([factors[one] for one in closure])
    if pure:
        found = _pure_shares(forms, closure, weights)
    else:
        noise = np.array([forms.norm(one) * forms.factor(one, one) for one in closure])
        found = np.sqrt(weights * noise)
    spread = max(_UNITS - len(closure), 0) * (1 - 1e-9)  # one unit is there for each
    units = np.floor(found / found.sum() * spread).astype(int)
    told = {part for one, n in zip(closure, units, strict=True) if n for part in forms.told(one)}
    units = np.array([n or one not in told for one, n in zip(closure, units, strict=True)], int)
    units[int(units.argmax())] += _UNITS - int(units.sum())
    return {one: Fraction(int(n), _UNITS) for one, n in zip(closure, units, strict=True) if n}


def _pure_shares(forms: Forms, closure: Sequence[Columns], weights: Array) -> Array:
    """Shares with a small sum of weights/precision; the precision has the square of a share."""
    from scipy.optimize import minimize  # noqa: PLC0415
    from scipy.sparse import csr_array  # noqa: PLC0415

    place = {one: k for k, one in enumerate(closure)}
    entries = [
        (place[one], place[part], 1 / forms.factor(one, part))
        for one in closure
        for part in forms.told(one)
    ]
    rows, columns, values = zip(*entries, strict=True)
    gain = csr_array((values, (rows, columns)), shape=(len(closure),) * 2)

    def cost(logs: Array) -> tuple[float, Array]:
        shares = np.exp(logs - logs.max())
        total = shares.sum()
        shares = shares / total
        precision = gain.T @ shares**2
        value = float((weights / precision).sum())
        slope = -2 * shares * (gain @ (weights / precision**2))
        return math.log(value), (shares * (slope - float(slope @ shares))) / value

    largest = max(len(one) for one in closure)
    starts = [
        np.zeros(len(closure)),
        np.array([0.0 if len(one) == largest else -4.0 for one in closure]),
    ]
    tried = [minimize(cost, start, jac=True, method="L-BFGS-B") for start in starts]
    best = min(tried, key=lambda one: float(one.fun))
    shares = np.exp(best.x - best.x.max())
    shares = shares / shares.sum()
    return np.where(shares < 1e-4 / len(closure), 0.0, shares)
