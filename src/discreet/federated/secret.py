"""A secure sum for nodes that do not trust each other: secrets split into random parts.

Every node splits its number into n parts, keeps one and sends one to each other node; every node
gathers the parts that it has and publishes their sum modulo 2^bits; these sums join to the total.

Theorem. Any n - 1 of the n parts of a number are independent and uniform below 2^bits, whatever
the number is, and n - 1 of the published sums are, too. So a group of up to n - 1 nodes that pool
what they saw, and everything that is published, learns nothing beyond the total and what follows
from it (they can subtract their own numbers).
Proof. n - 1 parts are drawn uniformly and the last is the number minus their sum, modulo 2^bits.
For each choice of the one part that is left out, the map from the drawn parts to the others is one
to one. Published sums are sums of the parts modulo 2^bits; those of one honest node make n - 1 of
them uniform, and the last is what the total leaves.
The modulus matters: a sum that is not reduced tells carries as well, and how many there are depends
on the number. So `join` refuses such sums.

Assumes. Channels between nodes that others cannot read, and nodes that follow the rules: a node
that lies can spoil the total, not see more. If a node is gone after parts were sent, the others
start again without it (with new parts: `split` draws them).
Tested by tests/federated/test_secret.py
"""

from __future__ import annotations

from collections.abc import Iterable

from discreet.errors import InputTypeError, ParameterError, RangeError
from discreet.exact import whole
from discreet.mechanisms.base import integer
from discreet.noise.source import Source, system_source

__all__ = ["gather", "join", "split"]

BITS = 128


def split(
    value: int, nodes: int, *, bits: int = BITS, source: Source | None = None
) -> tuple[int, ...]:
    """Split an integer into random parts, one for each node, that add up to it modulo 2^bits.

    Whether the number fits is decided by the number, so it is refused here, at its own node, and
    the total has to fit as well: at least |total| < 2^(bits-1).

    >>> parts = split(-5, 3)
    >>> join(parts)
    -5
    """
    number, n = integer(value), whole(nodes, name="nodes", at_least=2)
    size = whole(bits, name="bits", at_least=1, at_most=1 << 16)
    if not -(1 << (size - 1)) <= number < 1 << (size - 1):
        raise RangeError(f"a number does not fit {size} bits; nothing was sent")
    supply = system_source() if source is None else source
    drawn = [supply.bits(size) for _ in range(n - 1)]
    return (*drawn, (number - sum(drawn)) % (1 << size))


def gather(parts: Iterable[int], *, bits: int = BITS) -> int:
    """What a node publishes: the sum of the parts that it has, modulo 2^bits.

    >>> gather([3, 6], bits=3)
    1
    """
    return sum(_numbers(parts, bits)) % (1 << bits)


def join(parts: Iterable[int], *, bits: int = BITS) -> int:
    """The signed total of published sums, or of all parts of one number, modulo 2^bits."""
    total = gather(parts, bits=bits)
    return total - (1 << bits) if total >= 1 << (bits - 1) else total


def _numbers(parts: object, bits: int) -> list[int]:
    if isinstance(parts, str) or not isinstance(parts, Iterable):
        raise InputTypeError("parts must be a list of integers")
    size = whole(bits, name="bits", at_least=1, at_most=1 << 16)
    numbers = [integer(part) for part in parts]
    if not numbers:
        raise ParameterError("parts", None, "must be at least one")
    if not all(0 <= number < 1 << size for number in numbers):
        raise RangeError(
            f"every part lies between 0 and 2^{size} - 1: publish what gather(...) makes of them"
        )
    return numbers
