"""Linear hashing over the integers modulo g, and counting all its supports at once.

Let r be the smallest prime factor of g, and write a value as digits d_1 .. d_t in base r. For a
seed a in {0..g-1}^t the hash is the sum of a_j d_j modulo g.

Theorem. Two different values have the same hash for exactly one seed in g.
Proof. The digits of two values differ at some j, by an integer between -r and r that is not 0, so
it has no prime factor of g (all are at least r) and is a unit modulo g. Whatever the other digits
of the seed are, exactly one a_j makes the difference of the hashes 0.

So the family is exactly universal: no approximation enters q. And because it is linear, how many of
n reports (a, y) have hash y at v can be found for all values together, from the g^(t+1) counts of
the reports: eliminate one digit of the seed at a time,
new[d, .., y] = sum over a of old[a, .., y + a d], in about t r g^(t+1) additions whatever n is.
Tested by tests/local/test_linear.py
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.local.device import digits_for, linear_hash, smallest_factor
from discreet.local.oracle import Array

__all__ = ["LinearHash", "all_supports"]


@dataclass(frozen=True, slots=True)
class LinearHash:
    """Hashes of 0 .. size-1 into 0 .. g-1, one for each seed below `seeds`.

    >>> family = LinearHash(3, 9)
    >>> sum(family.one(seed, 4) == family.one(seed, 7) for seed in range(family.seeds))
    3
    """

    g: int
    size: int

    @property
    def base(self) -> int:
        """The base of a value's digits."""
        return smallest_factor(self.g)

    @property
    def digits(self) -> int:
        """How many digits a value has."""
        return digits_for(self.size, self.base)

    @property
    def seeds(self) -> int:
        """How many seeds there are."""
        return int(self.g**self.digits)

    def one(self, member: int, value: int) -> int:
        """The hash of one value, by one member of the family."""
        return linear_hash(member, value, self.g, self.size)

    def many(self, seeds: Array, values: Array) -> Array:
        """The hashes of many values, each with its own seed."""
        total, base = np.zeros(len(seeds), dtype=np.int64), self.base
        for _ in range(self.digits):
            next_seeds, next_values = seeds // self.g, values // base
            total += (seeds - next_seeds * self.g) * (values - next_values * base)
            seeds, values = next_seeds, next_values
        return np.asarray(total % self.g)

    def digits_of(self, numbers: Array, base: int) -> Array:
        """The digits of numbers in a base, one row each, the lowest first."""
        out = np.empty((len(numbers), self.digits), dtype=np.int64)
        for j in range(self.digits):
            out[:, j] = numbers % base
            numbers = numbers // base
        return out


def all_supports(counts: Array, family: LinearHash) -> Array:
    """For every value below base^digits how many reports have their own hash at it.

    `counts[a g + y]` is the number of reports with the seed a and the hash y.
    """
    g, base = family.g, family.base
    table = counts.reshape(1, -1, g)
    for _ in range(family.digits):
        done, left = table.shape[0], table.shape[1] // g
        old = table.reshape(done, g, left, g)
        new = np.zeros((done, base, left, g), dtype=np.int64)
        for d in range(base):
            for a in range(g):
                _add_rolled(new[:, d], old[:, a], a * d % g)
        table = new.reshape(done * base, left, g)
    return np.ascontiguousarray(table[:, 0, 0])


def _add_rolled(into: Array, rows: Array, shift: int) -> None:
    """Add rows[..., y + shift mod g] to into[..., y]."""
    if shift == 0:
        into += rows
        return
    into[..., :-shift] += rows[..., shift:]
    into[..., -shift:] += rows[..., :shift]
