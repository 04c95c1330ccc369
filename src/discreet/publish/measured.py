"""What every published object offers, and the one place where counts meet noise.

A publication has two halves, kept visibly apart. A *measuring* function takes the exact cells, asks
an `Account` for noisy numbers and returns a frozen `Measured`; nothing else sees the cells. Reading
(`cells`, `range`, `rectangle`) takes the `Measured` alone, so it is post-processing and free.

Neighbours. The cells of neighbours differ by a vector d of whole numbers with |d|_1 <= sensitivity:
1 if a person with one row is added or removed, 2 if one is replaced, more where a person has more
rows. The number of all records is as private as any other.

Theorem (levels). Let A be a matrix of numbers -1, 0, 1 in whose columns at most k entries are not
0. Adding independent two-sided geometric noise at rate share/(k sensitivity) to A x is
share-differentially private, and steps whose shares add up to epsilon, each chosen after seeing the
outputs before, are epsilon-private together.
Proof. |A d|_1 <= k |d|_1 <= k sensitivity, and the log ratio of the masses of any output is at most
rate |A d|_1. Given the same earlier outputs a step is the same for neighbours, so the log ratios
add up to at most the sum of the shares. A person who moves one cell by the whole sensitivity meets
the bound, where every step covers that cell k times.

Answers. `raw` is linear in the noisy numbers and unbiased, where the class does not say otherwise;
`value` is read from the cells that obey what counts obey, and moved into the interval. The interval
[low, high] holds the truth with at least the stated confidence, by `discreet.mechanisms.sums`: no
normal approximation takes part. Where a question cuts through blocks that were measured as a whole,
the truth lies between the blocks inside and those that it touches; the low end is that of the
former, the high end that of the latter, each with half the risk.
Tested by tests/publish/test_measured.py
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError, UnsupportedError
from discreet.exact import Exact, probability, shown, whole
from discreet.mechanisms.base import integer_array, plain_array
from discreet.mechanisms.geometric import Geometric, sensitivity_of
from discreet.mechanisms.sums import geometric_variance, geometric_width, laplace_error
from discreet.noise.source import Source, system_source
from discreet.privacy.guarantee import Neighbours, PureDP, epsilon_of, neighbours_of
from discreet.privacy.loss import PureLoss
from discreet.publish.consistency import nonnegative, whole_numbers

__all__ = ["Account", "Answer", "Box", "LinearAnswer", "Measured", "Noisy", "Terms", "counted"]

Array = NDArray[Any]
Box = tuple[tuple[int, int], ...]
"""A range of cells for each axis: the first, and the first that is no longer in it."""
LEAST_VARIANCE = 1e-60
"""Weights are one over variances: at rates of hundreds these would not fit floats."""
Reading = Literal["raw", "read", "whole"]
Part = tuple[Array, "Noisy"]
"""Weights on noisy numbers."""


@dataclass(frozen=True, slots=True, init=False)
class Terms:
    """What a publication promises, and to whom.

    Attributes:
        epsilon: the privacy parameter of everything together, exact as typed.
        sensitivity: how far the cells of neighbours can be apart, in the sum of differences.
        neighbours: the relation under which that holds.
    """

    epsilon: Fraction
    sensitivity: int
    neighbours: Neighbours

    def __init__(
        self,
        epsilon: Exact,
        sensitivity: Exact = 1,
        neighbours: Neighbours = "add_or_remove",
    ) -> None:
        object.__setattr__(self, "epsilon", epsilon_of(epsilon))
        object.__setattr__(self, "sensitivity", sensitivity_of(sensitivity))
        object.__setattr__(self, "neighbours", neighbours_of(neighbours))

    @property
    def unit(self) -> Fraction:
        """Epsilon for a move of one in one cell."""
        return self.epsilon / self.sensitivity

    @property
    def guarantee(self) -> PureDP:
        """Epsilon-differential privacy."""
        return PureDP(self.epsilon, self.neighbours)

    @property
    def privacy_loss(self) -> PureLoss:
        """A loss of at most epsilon, always."""
        return PureLoss(neighbours=self.neighbours, epsilon=self.epsilon)


@dataclass(frozen=True, slots=True, eq=False)
class Noisy:
    """Numbers with independent two-sided geometric noise at one rate: public."""

    values: Array
    rate: Fraction

    def __post_init__(self) -> None:
        self.values.setflags(write=False)

    @property
    def variance(self) -> float:
        """Of the noise on each number; never taken as 0, which would mean that it is given."""
        return max(geometric_variance(self.rate), LEAST_VARIANCE)


class Account:
    """Epsilon, spent step by step in exact arithmetic: the only way from counts to noisy numbers.

    Guarantee. Whatever is returned by `measure`, all together, is epsilon-differentially private,
    if the values of each step are as the theorem of this module wants them.
    Proof. That theorem; no step is made that would take the sum of shares above epsilon.
    Tested by tests/publish/test_measured.py
    """

    def __init__(self, terms: Terms, source: Source | None) -> None:
        self.terms = terms
        self.source = system_source() if source is None else source
        self.spent = Fraction(0)

    @property
    def left(self) -> Fraction:
        """What is not spent yet."""
        return self.terms.epsilon - self.spent

    def spend(self, share: Fraction) -> None:
        """Book a share before it is used; ParameterError where it is not there."""
        if not 0 < share <= self.left:
            problem = f"must be above 0 and at most what is left, {shown(self.left)}"
            raise ParameterError("share", share, problem)
        self.spent += share

    def measure(self, values: Array, share: Fraction, *, depth: int = 1) -> Noisy:
        """The values plus noise; every cell is in at most `depth` of them, with factor 1 or -1."""
        self.spend(share)
        mechanism = Geometric(
            epsilon=share,
            sensitivity=self.terms.sensitivity,
            changes=depth,
            neighbours=self.terms.neighbours,
        )
        return Noisy(mechanism.release(values, source=self.source), mechanism.rate)


def counted(cells: object, *, axes: tuple[int, ...] = (1, 2, 3)) -> Array:
    """The exact cells as an int64 array of one of these numbers of axes, safe to be summed.

    Each is cut to 0 .. 2^62 / (number of cells): counts are never negative, no sum of cells can
    leave 64 bits, and cutting moves neighbours no further apart.
    """
    values = integer_array(plain_array(np.asarray(cells)))
    if values.ndim not in axes or not values.size:
        wanted = " or ".join(map(str, axes))
        raise ParameterError(
            "cells", values.shape, f"must be an array of {wanted} axes that is not empty"
        )
    return np.clip(values, 0, (1 << 62) // values.size)


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer from a published object.

    Attributes:
        value: as a reader wants it: obeys what counts obey, and lies in the interval.
        low, high: the ends of an interval that holds the truth at the stated confidence.
        confidence: of the interval.
    """

    value: float
    low: float
    high: float
    confidence: float


@dataclass(frozen=True, slots=True)
class LinearAnswer(Answer):
    """An answer whose interval is that of an estimate that is linear in the noisy numbers.

    Attributes:
        raw: what the noisy numbers say, untouched.
        standard_error: of the linear estimate behind the interval; from the noise alone.
    """

    raw: float
    standard_error: float


@dataclass(frozen=True, slots=True, eq=False)
class Linear:
    """An estimate that is linear in noisy numbers: its value, and the weights of the noise."""

    value: float
    parts: Sequence[Part]

    @property
    def standard_error(self) -> float:
        """The root of the exact variance."""
        return math.sqrt(sum(float((w * w).sum()) * noisy.variance for w, noisy in self.parts))

    @property
    def error(self) -> float:
        """How far off it is to be expected: E |noise|, by the law of Laplace sums."""
        scales = [np.abs(w[w != 0]) * math.sqrt(noisy.variance / 2) for w, noisy in self.parts]
        together = np.concatenate(scales) if scales else np.zeros(0)
        return laplace_error(together) if together.size else 0.0

    def width(self, risk: Fraction) -> float:
        """How far off it is, except with probability `risk`."""
        return geometric_width([(w, noisy.rate) for w, noisy in self.parts], risk)


@dataclass(frozen=True, eq=False, repr=False)
class Measured(ABC):
    """Noisy numbers about cells, and everything that can be read from them: public.

    Attributes:
        algorithm: what made it.
        terms: epsilon, sensitivity and neighbours.
        shape: how many cells along each axis.
    """

    algorithm: str
    terms: Terms
    shape: tuple[int, ...]

    def __repr__(self) -> str:
        size = " x ".join(map(str, self.shape))
        return f"<{self.algorithm}: {size} cells, {self.guarantee}>"

    @property
    def guarantee(self) -> PureDP:
        """What is promised to each person."""
        return self.terms.guarantee

    @property
    def privacy_loss(self) -> PureLoss:
        """What the publication leaks, as a value that an accountant can add up."""
        return self.terms.privacy_loss

    @property
    @abstractmethod
    def noise(self) -> tuple[Noisy, ...]:
        """All noisy numbers, with their rates."""

    @abstractmethod
    def _raw(self) -> Array:
        """Unbiased cells."""

    @abstractmethod
    def _read(self) -> Array:
        """Cells without a negative one."""

    @abstractmethod
    def _ends(self, box: Box) -> tuple[Linear, Linear]:
        """Linear estimates of a number that is at most the truth, and of one that is at least."""

    @cached_property
    def _known(self) -> dict[str, Array]:
        return {}

    def cells(self, reading: Reading = "read") -> Array:
        """The cells: "raw" (linear in the noise, unbiased), "read" (no cell is negative), "whole"
        (the same in whole numbers, with the same sum, rounded).
        """
        if reading not in {"raw", "read", "whole"}:
            raise ParameterError("reading", reading, "must be 'raw', 'read' or 'whole'")
        if reading not in self._known:
            made: Array
            if reading == "raw":
                made = self._raw()
            elif reading == "read":
                made = self._read()
            else:
                made = whole_numbers(nonnegative(self.cells("read")))
            made.setflags(write=False)
            self._known[reading] = made
        return self._known[reading]

    def range(self, low: int, high: int, *, confidence: Exact = 0.95) -> LinearAnswer:
        """How many are in the cells low, ..., high - 1 of the only axis."""
        if len(self.shape) != 1:
            raise UnsupportedError("a range needs one axis; ask for a rectangle")
        return self.rectangle((low, high), confidence=confidence)

    def rectangle(self, *sides: tuple[int, int], confidence: Exact = 0.95) -> LinearAnswer:
        """How many are in the cells low, ..., high - 1 along each axis."""
        level = probability(confidence, name="confidence")
        box = self._box(sides)
        under, over = self._ends(box)
        low = under.value - under.width(1 - level)
        high = over.value + over.width(1 - level)
        low, high = max(low, 0.0), max(high, 0.0)
        inside = tuple(slice(*side) for side in box)
        value = float(self.cells("read")[inside].sum())
        return LinearAnswer(
            value=min(max(value, low), high),
            low=low,
            high=high,
            raw=float(self.cells("raw")[inside].sum()),
            standard_error=max(under.standard_error, over.standard_error),
            confidence=float(level),
        )

    def _box(self, sides: Sequence[tuple[int, int]]) -> Box:
        if len(sides) != len(self.shape):
            raise ParameterError("sides", len(sides), f"must be as many as axes, {len(self.shape)}")
        box = []
        for (low, high), size in zip(sides, self.shape, strict=True):
            first = whole(low, name="low", at_least=0, at_most=size)
            box.append((first, whole(high, name="high", at_least=first, at_most=size)))
        return tuple(box)
