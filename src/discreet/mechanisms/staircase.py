"""The staircase mechanism: less noise than the geometric for sums with a large sensitivity.

Theorem (the integer form of Geng and Viswanath 2014). Let f be integer-valued and move by at most
D between neighbours, and let X have P(X = x) proportional to b^e(|x|), b = exp(-epsilon),
e(m) = floor(m/D) + [m mod D >= r] for any r in 1..D. Then f(x) + X is epsilon-private.

Proof. e never falls, and e(m + D) = e(m) + 1. For outputs k, the magnitudes |k - f(x)| and
|k - f(y)| differ by at most D, so their e differ by at most 1: the ratio is at most 1/b. With
|f(x) - f(y)| = D it is reached at every k beyond both, so the bound is tight.

For D = 1 it is the geometric mechanism. For D >= 2 and epsilon >= 1 it is clearly better: at
D = 10, epsilon = 4 the variance is 6.66 against 12.33.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction

from discreet.exact import Exact, whole, written
from discreet.mechanisms.base import AdditiveMechanism, PureMechanism
from discreet.mechanisms.geometric import sensitivity_of
from discreet.noise.sampler import Sampler
from discreet.noise.staircase import IntegerStaircase, best_inner, staircase
from discreet.privacy.guarantee import Neighbours, epsilon_of, neighbours_of

__all__ = ["Staircase"]


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Staircase(PureMechanism, AdditiveMechanism):
    """Add integer staircase noise to one integer, or to integers of which a person moves one.

    Guarantee. If one person moves the released number by at most `sensitivity`, releasing it is
    epsilon-differentially private. Of a vector, one person may move one number only: a staircase
    has no guarantee of that size for moves that are spread over several numbers.
    Neighbours. As said; the sensitivity must hold under that relation.
    Assumes. Integers, and a true sensitivity.
    Proof. At the top of this module.
    Tested by tests/mechanisms/test_staircase.py

    `inner` is the width of the inner step, chosen for the least variance if it is not given.

    >>> round(Staircase(epsilon=4, sensitivity=10).variance, 2)
    6.66
    """

    epsilon: Fraction
    sensitivity: int
    inner: int
    neighbours: Neighbours
    noise_law: IntegerStaircase = field(compare=False)

    def __init__(
        self,
        *,
        epsilon: Exact,
        sensitivity: Exact = 1,
        inner: int | None = None,
        neighbours: Neighbours = "add_or_remove",
    ) -> None:
        put = object.__setattr__
        put(self, "epsilon", epsilon_of(epsilon))
        put(self, "sensitivity", sensitivity_of(sensitivity))
        put(self, "neighbours", neighbours_of(neighbours))
        chosen = best_inner(self.epsilon, self.sensitivity) if inner is None else inner
        put(self, "inner", whole(chosen, name="inner", at_least=1, at_most=self.sensitivity))
        put(self, "noise_law", IntegerStaircase(self.epsilon, self.sensitivity, self.inner))

    def __repr__(self) -> str:
        said = f"epsilon={written(self.epsilon)}, sensitivity={self.sensitivity}"
        return f"Staircase({said}, inner={self.inner}, neighbours={self.neighbours!r})"

    @property
    def _sampler(self) -> Sampler:
        return staircase(self.noise_law)

    def small_neighbours(self) -> Iterator[tuple[int, int]]:
        """Zero and every move of one person (up to 32 of them, the largest among them)."""
        for move in {*range(1, min(self.sensitivity, 32) + 1), self.sensitivity}:
            yield 0, move
