"""A released count, made coarser: the answer that a smaller epsilon would have given, for free.

Theorem. Let Y = f(x) + Z be a release of `Geometric` noise with the rate r (epsilon over
sensitivity and changes), and let D be drawn independently of Y from the law of
`discreet.noise.coarsening` for r and a smaller rate s. Then, for every x, Y + D has exactly the law
of a release of `Geometric` noise with the rate s; and Y and Y + D together have the guarantee of Y.

Proof. The first is the theorem of that module, moved by f(x). For the second, Y + D is a function
of Y and of something that does not depend on the data: post-processing. []

So the people in the data pay for Y alone, and who is given Y + D and not Y learns as much as the
smaller epsilon pays for: she has the law of that mechanism, whatever else is done with Y. That
concerns one such answer. Two that are made of the same Y have noise in common: they are not
independent of each other, as two releases would be, and must not be combined as if they were.

Both bounds are tight: Y + D alone reaches the loss of its own epsilon, being that mechanism, and
the pair reaches the loss of Y, being no less than Y. (Only geometric noise can be made coarser so:
discrete Gaussian variables do not add up to one, staircases do not, and a selection is no sum.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from discreet.errors import ParameterError
from discreet.mechanisms.base import integer
from discreet.mechanisms.geometric import Geometric
from discreet.noise.categorical import Uniform
from discreet.noise.coarsening import GeometricDifference, difference
from discreet.noise.law import Law
from discreet.noise.source import Source, system_source
from discreet.noise.table import CHUNK
from discreet.privacy.guarantee import PureDP

__all__ = ["Coarsening"]


@dataclass(frozen=True, slots=True)
class Coarsening:
    """The step from a release with little geometric noise to one with more.

    Guarantee. What `release` returns has the law and the guarantee of `coarse`; together with what
    it was given, the guarantee of `fine`.
    Neighbours. Those of the two mechanisms.
    Assumes. The numbers were released by `fine`, unclamped. Who is to learn no more than `coarse`
    pays for must not get them, nor others that are made of them.
    Proof. At the top of this module.
    Tested by tests/mechanisms/test_gradual.py

    Args:
        fine: the mechanism that released the numbers.
        coarse: the mechanism whose law they should have.

    >>> step = Coarsening(Geometric(epsilon=1), Geometric(epsilon="0.5"))
    >>> len(step.release([120, 80]))
    2
    >>> print(step.guarantee)
    0.5-differential privacy (neighbours: one person is added or removed)
    """

    fine: Geometric
    coarse: Geometric

    def __post_init__(self) -> None:
        pair: tuple[tuple[str, object], ...] = (("fine", self.fine), ("coarse", self.coarse))
        for name, given in pair:
            if not isinstance(given, Geometric) or given.bounds is not None:
                raise ParameterError(name, given, "must be geometric noise without bounds")
        if not self.coarse.rate <= self.fine.rate:
            raise ParameterError("coarse", self.coarse, "must have no less noise than `fine`")

    @property
    def guarantee(self) -> PureDP:
        """Of the coarser numbers alone."""
        return self.coarse.guarantee

    @property
    def noise_law(self) -> Law:
        """The law of what is added; where the noise is wide enough, nothing."""
        if self.fine.rate == self.coarse.rate:
            return Uniform(1)
        return GeometricDifference(self.fine.rate, self.coarse.rate)

    def release(self, noisy: Sequence[int], *, source: Source | None = None) -> list[int]:
        """The coarser numbers, each with noise of its own."""
        values = [integer(value) for value in noisy]
        if self.fine.rate == self.coarse.rate:
            return values
        chosen = system_source() if source is None else source
        sampler = difference(self.fine.rate, self.coarse.rate)
        moves: list[int] = []
        for start in range(0, len(values), CHUNK):
            moves += sampler.chunk(min(CHUNK, len(values) - start), chosen).tolist()
        return [value + move for value, move in zip(values, moves, strict=True)]
