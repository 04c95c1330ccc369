"""What every mechanism offers, and how values to be released are read.

A mechanism is a frozen value. It can draw (`release`), and it can say what it would draw with
which probability (`law`), what that promises (`guarantee`), what it leaks (`privacy_loss`) and how
far off it will be (`error`, `expected_absolute_error`, `variance`).

Types decide what is refused, values never do: a list of integers is released or not whatever the
integers are, because a refusal that depended on them would tell something about them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, ClassVar, overload

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputTypeError, ParameterError, UnsupportedError
from discreet.exact import Exact, probability
from discreet.noise.clamped import Shifted
from discreet.noise.law import Law, Outcomes, smallest
from discreet.noise.sampler import Sampler
from discreet.noise.source import Source, system_source
from discreet.privacy.guarantee import Neighbours, Promise, PureDP
from discreet.privacy.loss import Loss, PureLoss

__all__ = [
    "AdditiveMechanism",
    "Mechanism",
    "PureMechanism",
    "half_width",
    "integer",
    "integer_array",
    "kind_of",
    "plain_array",
]

IntegerArray = NDArray[Any]


class Mechanism(ABC):
    """One private release.

    Contract, which tests/contracts/mechanism.py checks for every subclass: equal parameters give
    equal, hashable values; `release` has exactly the law `law`; the loss between the laws of any
    two inputs of `small_neighbours` is within `guarantee`, and for one pair it is reached.
    """

    __slots__ = ()
    dial: ClassVar[str] = "epsilon"
    """The parameter that a budget or a calibration turns: more of it is less noise."""

    @property
    def parts(self) -> int:
        """Of how many equal parts the guarantee is made, where `law` is the law of one.

        The theorem behind the mechanism adds the parts up. 0 where they do not add up, so that the
        law of one part says nothing about the whole.
        """
        return 1

    @property
    @abstractmethod
    def guarantee(self) -> Promise:
        """What is promised to each person, and under which neighbour relation."""

    @property
    @abstractmethod
    def privacy_loss(self) -> Loss:
        """What one release leaks, as a value that an accountant can add up."""

    @abstractmethod
    def law(self, value: Any) -> Law | Outcomes:
        """The exact law of `release(value)`."""

    @property
    def variance(self) -> float:
        """The variance of the noise, for mechanisms whose answers are numbers."""
        raise UnsupportedError(f"{type(self).__name__} has no variance: its answers are no numbers")

    def expected_absolute_error(self, value: Any) -> float:
        """How far off the answer is on average, for mechanisms for which that has a meaning."""
        del value
        raise UnsupportedError(f"{type(self).__name__} has no distance between answer and truth")

    @abstractmethod
    def small_neighbours(self) -> Iterator[tuple[Any, Any]]:
        """Pairs of neighbouring inputs that attain every loss this mechanism can have.

        Every pair is given in one order; an audit checks both. For mechanisms on a finite range
        of inputs the pairs are all there are, on a range small enough to enumerate.
        """


class PureMechanism(Mechanism):
    """A mechanism whose guarantee is epsilon-differential privacy."""

    __slots__ = ()
    epsilon: Fraction
    neighbours: Neighbours

    @property
    def guarantee(self) -> PureDP:
        """Epsilon-differential privacy under the declared neighbour relation."""
        return PureDP(self.epsilon, self.neighbours)

    @property
    def privacy_loss(self) -> Loss:
        """A loss of at most epsilon, always."""
        return PureLoss(neighbours=self.neighbours, epsilon=self.epsilon)


_WHOLE = frozenset((int,))


class AdditiveMechanism(Mechanism):
    """A mechanism on integers that adds noise from one law to each number.

    Subclasses give `noise_law` and `_sampler`; clamping ones also override `_finish`.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def noise_law(self) -> Law:
        """The law of the noise on one number."""

    @property
    @abstractmethod
    def _sampler(self) -> Sampler: ...

    @overload
    def release(self, value: int, *, source: Source | None = None) -> int: ...
    @overload
    def release(self, value: list[int], *, source: Source | None = None) -> list[int]: ...
    @overload
    def release(self, value: IntegerArray, *, source: Source | None = None) -> IntegerArray: ...
    def release(self, value: Any, *, source: Source | None = None) -> Any:
        """Return `value` plus noise, exactly: an int for an int, a list for a list of integers,
        int64 for an integer array. RangeError where a noisy value does not fit 64 bits; Python
        integers have no limit. `source` is for tests; the default is the system's randomness.
        """
        if source is None:
            source = system_source()
        if type(value) is int:
            return self._one(value, source)
        if type(value) is list and _WHOLE.issuperset(map(type, value)):
            return self._several(value, source)
        return released(value, source, self._one, self._many)

    def _several(self, values: list[int], source: Source) -> list[int]:
        return [self._one(value, source) for value in values]

    def _one(self, value: int, source: Source) -> int:
        return value + self._sampler.one(source)

    def _many(self, values: IntegerArray, source: Source) -> IntegerArray:
        return self._sampler.add(values, source)

    def law(self, value: int) -> Law:
        """The exact law of one released number whose true value is `value`."""
        return Shifted(self.noise_law, integer(value))

    def expected_absolute_error(self, value: int | None = None) -> float:
        """E |released - value| for one number, from the exact law.

        The value may be left out where it makes no difference, that is, without a range.
        """
        if value is None and self._bounds is not None:
            raise ParameterError(
                "value", None, "must be said: with a range the error depends on it"
            )
        at = 0 if value is None else integer(value)
        return self.law(at).absolute_error(at)

    @property
    def _bounds(self) -> tuple[int, int] | None:
        bounds: tuple[int, int] | None = getattr(self, "bounds", None)
        return bounds

    @property
    def variance(self) -> float:
        """The variance of the noise on one number, before any clamping.

        For a clamped mechanism it bounds the mean squared error at every value from above; the
        exact variance at one value is `law(value).variance`.
        """
        return self.noise_law.variance

    def error(self, confidence: Exact = 0.95, *, value: int | None = None) -> int:
        """The smallest h so that one released number is within h of its true value with at least
        this probability, by certified bounds.

        With a range, say at which true `value`; without one the answer holds for all of them, as
        an upper bound: clamping only brings the result nearer, and so does conditioning. (Let
        t <= 1/2 be the noise's tail beyond h, u and v its tails beyond the two ends. If both ends
        are further than h, missing by more than h has the chance (2t - u - v)/(1 - u - v) <= 2t;
        if one is nearer, so that u > t, it has (t - v)/(1 - u - v) <= 2t because u <= 1/2; if both
        are, none.)
        """
        level = probability(confidence, name="confidence")
        if value is not None and self._bounds is not None:
            return half_width_at(self.law(value), integer(value), level)
        width = half_width(self.noise_law, level)
        return width if self._bounds is None else min(width, self._bounds[1] - self._bounds[0])


def half_width(law: Law, confidence: Fraction) -> int:
    """The smallest h with P(|Z| <= h) >= confidence, for a law symmetric about 0."""
    tail = (1 - confidence) / 2

    def covers(h: int) -> bool:
        if h < 0:
            return False
        bits = 64
        while bits <= 1 << 12:
            found = law.tail_bounds(h, bits=bits)
            if found.upper <= tail:
                return True
            if found.lower > tail:
                return False
            bits *= 2
        return False  # equal to 4096 bits: the next h is surely enough

    return smallest(covers, start=max(law.near_tail(tail), 0))


def half_width_at(law: Law, at: int, confidence: Fraction) -> int:
    """The smallest h with P(|X - at| <= h) >= confidence; one more where 128 bits cannot tell."""

    def covers(h: int) -> bool:
        if h < 0:
            return False
        inside = law.cumulative_bounds(at + h, bits=128) - law.cumulative_bounds(
            at - h - 1, bits=128
        )
        return inside.lower >= confidence

    return smallest(covers, start=0)


def released(
    value: Any,
    source: Source,
    one: Callable[[int, Source], int],
    many: Callable[[IntegerArray, Source], IntegerArray],
) -> Any:
    """Release whatever shape `value` has: an integer, a list of integers, an integer array."""
    if isinstance(value, np.ndarray):
        return many(integer_array(plain_array(value)), source)
    if isinstance(value, list | tuple):
        return [one(integer(item), source) for item in value]
    return one(integer(value), source)


def integer(value: object) -> int:
    """A Python or numpy integer as a Python integer; anything else is refused by its type."""
    if type(value) is int:
        return value
    no_number = isinstance(value, bool | np.bool_ | np.timedelta64)
    if no_number or not isinstance(value, int | np.integer):
        hint = "; dp.count counts flags" if isinstance(value, bool | np.bool_) else ""
        hint = "; dp.Laplace releases real numbers" if isinstance(value, float) else hint
        raise InputTypeError(
            f"an integer is needed here, not {_type_name(value)}{hint}. Nothing was released"
        )
    return int(value)


def integer_array(values: NDArray[Any]) -> IntegerArray:
    """An integer array as int64; other types are refused by their type alone."""
    if values.dtype.kind not in "iu":
        raise InputTypeError(
            f"an array of integers is needed here, not of {kind_of(values)}; count or sum first, "
            "or use dp.Laplace for real numbers. Nothing was released"
        )
    if values.dtype == np.uint64:
        raise InputTypeError(
            "uint64 holds values that int64 does not; release array.astype(numpy.int64) if yours "
            "fit, or array.tolist() if they may not. Nothing was released"
        )
    return values.astype(np.int64, copy=False)


def plain_array(values: NDArray[Any]) -> NDArray[Any]:
    """The array without any subclass of its own; a masked one is refused by its type."""
    if isinstance(values, np.ma.MaskedArray):
        raise InputTypeError(
            "a masked array is not released, because it is for its owner to say what the mask "
            "means: use array.compressed() or array.filled(...). Nothing was released"
        )
    return np.asarray(values)


_KINDS = {
    "b": "booleans",
    "i": "integers",
    "u": "unsigned integers",
    "f": "floats",
    "c": "complex numbers",
    "m": "time differences",
    "M": "dates",
    "U": "strings",
    "S": "byte strings",
}


def kind_of(values: NDArray[Any]) -> str:
    """What an array holds, in a word. (Its type would tell the length of the longest string.)"""
    return _KINDS.get(values.dtype.kind, "objects")


def _type_name(value: object) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")
