"""One person's report, on her own device: this file and Python's standard library, nothing else.

It can be copied alone to where people are, or imported as `discreet.local.device`:

    python device.py survey.json tea        # the report, in base64

What one report is, is written here once: the oracles of `discreet.local` draw single reports with
these functions, so the same coins give the same bytes.

Guarantee. A report is epsilon-differentially private with the epsilon that the survey says. The
survey is not trusted beyond that: parameters for which it would not hold are refused.
Neighbours. "replace": one person's value is replaced by any other.
Assumes. Bits of the operating system that nobody can guess. One report per person and epoch: every
further one costs as much again. `discreet.local.diary` sees to that, and to what all of them cost.
Proof. In the modules of the oracles (`discreet.local.oracle` and its neighbours).
Tested by tests/local/test_device.py
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import sys
import time
from calendar import timegm
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import Any, Protocol

__all__ = ["Coins", "Question", "ratio_below"]

FORMAT, FIRST = "discreet-report/1", 0xD1
"""The format of a report, and its first byte."""
LARGEST_TABLE = 1 << 23
"""Counts that a collector keeps for one oracle, at most."""
_MOST_VALUES, _MOST_EPSILON, _MOST_EPOCHS, _MOST_SECONDS = 1 << 24, 1000, 10_000, 366 * 86_400
_NAMES = (
    "format", "name", "oracle", "domain", "epsilon", "parameters", "fingerprint", "start",
    "seconds", "epochs",
)  # fmt: skip


class Randomness(Protocol):
    """Exact coins: `Coins` here, any source of `discreet.noise` there."""

    def below(self, n: int, /) -> int:
        """An integer uniform on 0 .. n - 1."""

    def flip(self, p: Fraction, /) -> bool:
        """True with probability exactly p."""


class Coins:
    """Exact coins from the bits of the operating system, as in `discreet.noise.coins`."""

    def bits(self, size: int) -> int:
        """An integer uniform on 0 .. 2^size - 1."""
        return int.from_bytes(os.urandom((size + 7) // 8), "little") >> (-size % 8)

    def below(self, n: int) -> int:
        """Bits until they spell an integer below n."""
        while True:
            value = self.bits((n - 1).bit_length())
            if value < n:
                return value

    def flip(self, p: Fraction) -> bool:
        """A uniform integer below the denominator is below the numerator."""
        return self.below(p.denominator) < p.numerator


@lru_cache(maxsize=256)
def ratio_below(epsilon: Fraction) -> Fraction:
    """The largest multiple of 2^-b that is at most e^epsilon, for a b that is fine enough.

    Both e^epsilon and e^epsilon - 1 are met to about one part in 2^64. The Taylor series of
    e^(epsilon/2^h), then h squares, in integers: once rounded down and once rounded up, with more
    digits until both have the same multiple. e^epsilon is irrational, so that comes.
    """
    grid = 64 + int(1 / epsilon).bit_length()
    halvings = 9 + int(epsilon).bit_length()
    w = grid + 64 + 2 * int(epsilon)
    while True:
        t = (epsilon.numerator << w) // (epsilon.denominator << halvings)
        lower, upper = _series(t, w, 0), _series(t + 1, w, 1) + 2
        for _ in range(halvings):
            lower, upper = lower * lower >> w, (upper * upper >> w) + 1
        if lower >> (w - grid) == upper >> (w - grid):
            return Fraction(lower >> (w - grid), 1 << grid)
        w *= 2


def _series(t: int, w: int, up: int) -> int:
    """2^w e^(t/2^w) for t/2^w < 1/256, terms rounded down, or up; what is left out is below 2."""
    term = total = 1 << w
    for n in count(1):
        term = (term * t >> w) // n + up
        total += term
        if term <= up:
            return total
    raise AssertionError  # pragma: no cover - the terms fall by 256 at least


def fingerprint_of(oracle: str, domain: str, epsilon: Fraction, given: Mapping[str, Any]) -> bytes:
    """What tells the parameters of a report from all others: 8 bytes."""
    said = {
        "format": FORMAT,
        "oracle": oracle,
        "domain": domain,
        "epsilon": str(epsilon),
        **{name: str(value) for name, value in sorted(given.items())},
    }
    text = json.dumps(said, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).digest()[:8]


def digest_of(values: Sequence[Any] | int) -> str:
    """What tells a domain from all others, as text."""
    if isinstance(values, int):
        return f"0..{values - 1}"
    text = json.dumps(list(values), ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


# one report of each oracle; what is drawn, and its law, is told in their modules


def kary(place: int, k: int, p: Fraction, coins: Randomness) -> int:
    """The truth, or a uniform move away from it."""
    return place if coins.flip(p) else (place + 1 + coins.below(k - 1)) % k


def unary(place: int, k: int, chances: tuple[Fraction, Fraction], coins: Randomness) -> int:
    """A coin for each of k places, the own one first in `chances`; bit j tells place j."""
    own, other = chances
    return sum(coins.flip(own if j == place else other) << j for j in range(k))


def subset(place: int, k: int, size: int, p: Fraction, coins: Randomness) -> int:
    """In or out by a coin; then the others by Floyd's algorithm (Bentley and Floyd 1987)."""
    is_in = coins.flip(p)
    chosen: set[int] = set()
    for last in range(k - 1 - (size - is_in), k - 1):
        pick = coins.below(last + 1)
        chosen.add(last if pick in chosen else pick)
    return sum(1 << j + (j >= place) for j in chosen) | is_in << place


def smallest_factor(g: int) -> int:
    """The smallest prime factor of g >= 2."""
    factor = 2
    while factor * factor <= g:
        if g % factor == 0:
            return factor
        factor += 1
    return g


def digits_for(k: int, base: int) -> int:
    """How many digits a value below k has in a base, at least one."""
    found, reach = 1, base
    while reach < k:
        found, reach = found + 1, reach * base
    return found


def linear_hash(member: int, value: int, g: int, k: int) -> int:
    """The hash of one value by one member of the family (`discreet.local.linear`)."""
    total, base = 0, smallest_factor(g)
    for _ in range(digits_for(k, base)):
        total += (member % g) * (value % base)
        member, value = member // g, value // base
    return total % g


def hashing(place: int, k: int, g: int, p: Fraction, coins: Randomness) -> int:
    """A seed, the bucket, and k-ary response on it: seed times g plus bucket."""
    chosen = coins.below(g ** digits_for(k, smallest_factor(g)))
    return chosen * g + kary(linear_hash(chosen, place, g, k), g, p, coins)


def hadamard(place: int, blocks: int, length: int, ratio: Fraction, coins: Randomness) -> int:
    """A place of the own block with the wanted sign, or any place of another block.

    Changing the lowest bit of the row in y changes the sign, so a uniform y, changed where its
    sign is wrong, is uniform among those of the wanted sign.
    """
    block, row = place % blocks, place // blocks + 1
    own = ratio / (ratio + 2 * blocks - 1)
    rest = own / ratio
    wanted = 0 if coins.flip(own) else 1
    if wanted and coins.flip(1 - rest / (1 - own)):
        block = (block + 1 + coins.below(blocks - 1)) % blocks
        return block * length + coins.below(length)
    y = coins.below(length)
    if (row & y).bit_count() % 2 != wanted:
        y ^= row & -row
    return block * length + y


def points(m: int, t: int) -> int:
    """How many points the projective space of t dimensions over m elements has."""
    return int((m**t - 1) // (m - 1))


def dimension(m: int, k: int) -> int:
    """The dimensions that k points need."""
    t = 2
    while points(m, t) < k:
        t += 1
    return t


def vector_of(point: int, m: int) -> int:
    """The vector of a point, as the number that its digits in base m spell.

    Points are numbered by their leading place: that with the lowest place first, then the m whose
    leading 1 is at the next, and so on.
    """
    power, before = 1, 0
    while point >= before + power:
        before, power = before + power, power * m
    return power + point - before


def digits_of(number: int, m: int, t: int) -> list[int]:
    """The digits of a number in base m, the lowest first."""
    return [number // m**j % m for j in range(t)]


def projective(place: int, m: int, t: int, p: Fraction, coins: Randomness) -> int:
    """All digits but one at random; that one makes the product 0, or the wanted other number.

    The digit is the one where the value's vector has its leading 1. A point has m - 1 vectors,
    so uniform vectors give uniform points.
    """
    value = digits_of(vector_of(place, m), m, t)
    lead = max(j for j in range(t) if value[j])
    orthogonal = coins.flip(p)
    others = m ** (t - 1)
    free = 1 + coins.below(others - 1) if orthogonal else coins.below(others)
    product = 0 if orthogonal else 1 + coins.below(m - 1)
    digits = digits_of(free, m, t - 1)
    digits.insert(lead, 0)
    digits[lead] = (product - sum(x * y for x, y in zip(value, digits, strict=True))) % m
    top = max(j for j in range(t) if digits[j])
    inverse = pow(digits[top], -1, m)
    vector = sum(x * inverse % m * m**j for j, x in enumerate(digits))
    return int(points(m, top) + vector - m**top)


def row_digits(row: int, size: tuple[int, int], k: int) -> list[int]:
    """The public hash function of a row of a sketch of size[0] rows and size[1] columns."""
    rows, width = size
    text = f"discreet-sketch/1 row {row} of {rows}, width {width}, domain {k}"
    return [
        int.from_bytes(hashlib.sha256(f"{text}, digit {j}".encode()).digest(), "big") % width
        for j in range(digits_for(k, smallest_factor(width)) + 1)
    ]


def cell_of(row: int, place: int, size: tuple[int, int], k: int) -> int:
    """The cell of a value in a row of a sketch."""
    first, *others = row_digits(row, size, k)
    base = smallest_factor(size[1])
    total = first + sum(d * (place // base**j % base) for j, d in enumerate(others))
    return int(total % size[1])


def sketch(
    place: int, size: tuple[int, int], k: int, p: Fraction, coins: Randomness
) -> tuple[int, int]:
    """Apple's CMS: a row, and a coin for each of its cells."""
    row = coins.below(size[0])
    return row, unary(cell_of(row, place, size, k), size[1], (p, 1 - p), coins)


def hadamard_sketch(
    place: int, size: tuple[int, int], k: int, p: Fraction, coins: Randomness
) -> int:
    """Apple's HCMS: a row, a coordinate, and a coin for its sign."""
    row, coordinate = coins.below(size[0]), coins.below(size[1])
    sign = (cell_of(row, place, size, k) & coordinate).bit_count() % 2
    if not coins.flip(p):
        sign = 1 - sign
    return (row * size[1] + coordinate) * 2 + sign


# how each oracle is set up from a survey: the number of its reports, and how a payload is drawn

Draw = Callable[[int, Randomness], bytes]


def code_bytes(codes: int) -> int:
    """Bytes of the smallest unsigned integer of 1, 2, 4 or 8 bytes that holds 0 .. codes - 1."""
    return next(size for size in (1, 2, 4, 8) if codes <= 1 << 8 * size)


def _coded(codes: int, draw: Callable[[int, Randomness], int]) -> Draw:
    width = code_bytes(codes)
    return lambda place, coins: draw(place, coins).to_bytes(width, "little")


def _mapped(k: int, draw: Callable[[int, Randomness], int]) -> Draw:
    return lambda place, coins: draw(place, coins).to_bytes(-(-k // 8), "little")


def _kary(k: int, epsilon: Fraction) -> Draw:
    r = ratio_below(epsilon)
    return _coded(k, lambda place, coins: kary(place, k, r / (r + k - 1), coins))


def _symmetric(k: int, epsilon: Fraction) -> Draw:
    s = ratio_below(epsilon / 2)
    chances = s / (s + 1), 1 / (s + 1)
    return _mapped(k, lambda place, coins: unary(place, k, chances, coins))


def _optimised(k: int, epsilon: Fraction) -> Draw:
    chances = Fraction(1, 2), 1 / (ratio_below(epsilon) + 1)
    return _mapped(k, lambda place, coins: unary(place, k, chances, coins))


def _hashing(k: int, epsilon: Fraction, *, buckets: int) -> Draw:
    g, r = _whole(buckets, 2, 1 << 12), ratio_below(epsilon)
    codes = g ** digits_for(k, smallest_factor(g)) * g
    _needed(codes <= 1 << 62)
    return _coded(codes, lambda place, coins: hashing(place, k, g, r / (r + g - 1), coins))


def _subset(k: int, epsilon: Fraction, *, size: int) -> Draw:
    w, r = _whole(size, 1, k - 1), ratio_below(epsilon)
    p = r * w / (r * w + k - w)
    return _mapped(k, lambda place, coins: subset(place, k, w, p, coins))


def _hadamard(k: int, epsilon: Fraction, *, blocks: int) -> Draw:
    b, r = _whole(blocks, 1, k), ratio_below(epsilon)
    _needed(b & (b - 1) == 0)
    length = 1 << (-(-k // b)).bit_length()
    return _coded(b * length, lambda place, coins: hadamard(place, b, length, r, coins))


def _projective(k: int, epsilon: Fraction, *, prime: int) -> Draw:
    m, r = _whole(prime, 2, LARGEST_TABLE), ratio_below(epsilon)
    t = dimension(m, k)
    _needed(smallest_factor(m) == m and m ** (t + 1) <= LARGEST_TABLE)
    own = r * points(m, t - 1)
    p = own / (own + points(m, t) - points(m, t - 1))
    return _coded(points(m, t), lambda place, coins: projective(place, m, t, p, coins))


def _size(rows: int, columns: int) -> tuple[int, int]:
    found = _whole(rows, 1, 1 << 16), _whole(columns, 2, 1 << 16)
    _needed(found[0] * found[1] * 2 <= LARGEST_TABLE)
    return found


def _sketch(k: int, epsilon: Fraction, *, rows: int, columns: int) -> Draw:
    size, s = _size(rows, columns), ratio_below(epsilon / 2)

    def draw(place: int, coins: Randomness) -> bytes:
        row, bits = sketch(place, size, k, s / (s + 1), coins)
        return row.to_bytes(2, "little") + bits.to_bytes(-(-size[1] // 8), "little")

    return draw


def _hadamard_sketch(k: int, epsilon: Fraction, *, rows: int, columns: int) -> Draw:
    size, r = _size(rows, columns), ratio_below(epsilon)
    _needed(columns & (columns - 1) == 0)
    codes = 2 * rows * columns
    return _coded(codes, lambda place, coins: hadamard_sketch(place, size, k, r / (r + 1), coins))


_ORACLES: dict[str, tuple[int, Callable[..., Draw]]] = {
    "k-ary response": (1, _kary),
    "symmetric unary": (2, _symmetric),
    "optimised unary": (3, _optimised),
    "local hashing": (4, _hashing),
    "subset selection": (5, _subset),
    "Hadamard response": (6, _hadamard),
    "projective geometry response": (7, _projective),
    "sketch, CMS": (8, _sketch),
    "sketch, HCMS": (9, _hadamard_sketch),
}


def _needed(holds: bool) -> None:  # noqa: FBT001
    if not holds:
        raise ValueError("the survey is not one that can be answered; nothing was drawn")


def _whole(value: object, least: int, most: int) -> int:
    _needed(type(value) is int and least <= value <= most)
    return int(str(value))


class Question:
    """What a survey asks, and how one person answers it.

    Args:
        text: a survey in the format "discreet-survey/1", as a collector tells it.

    Attributes:
        epsilon: what one report costs.
        identity: what tells the survey from all others.
    """

    def __init__(self, text: str) -> None:
        try:
            said = json.loads(text)
            _needed(isinstance(said, dict) and sorted(said) == sorted(_NAMES))
            _needed(said["format"] == "discreet-survey/1" and isinstance(said["name"], str))
            self.epsilon = _epsilon(said["epsilon"])
            self._values = _domain(said["domain"])
            k = self._values if isinstance(self._values, int) else len(self._values)
            number, plan = _ORACLES[said["oracle"]]
            self._draw = plan(k, self.epsilon, **said["parameters"])
            self._start = timegm(time.strptime(said["start"], "%Y-%m-%dT%H:%M:%SZ"))
        except (ValueError, TypeError, KeyError, RecursionError):
            raise ValueError(
                "the survey is not one that can be answered; nothing was drawn"
            ) from None
        self._seconds = _whole(said["seconds"], 1, _MOST_SECONDS)
        self._epochs = _whole(said["epochs"], 1, _MOST_EPOCHS)
        mark = fingerprint_of(
            said["oracle"], digest_of(self._values), self.epsilon, said["parameters"]
        )
        _needed(mark.hex() == said["fingerprint"])
        self._head = bytes((FIRST, number)) + mark
        whole = json.dumps({name: said[name] for name in _NAMES}, indent=2) + "\n"
        self.identity = hashlib.sha256(whole.encode()).hexdigest()[:16]
        if not isinstance(self._values, int):
            self._places = {(isinstance(v, bool), v): i for i, v in enumerate(self._values)}

    def epoch(self, now: float) -> int | None:
        """The number of the epoch at a time in seconds; None outside all of them."""
        number = int((now - self._start) // self._seconds)
        return number if 0 <= number < self._epochs else None

    def place(self, value: object) -> int:
        """The place of a value; one that is not in the domain is refused without being quoted."""
        place = None
        if isinstance(self._values, int):
            place = value if type(value) is int and 0 <= value < self._values else None
        elif isinstance(value, str | int):
            place = self._places.get((isinstance(value, bool), value))
        if place is None:
            raise ValueError("a value is not in the declared domain; nothing was drawn")
        return place

    def report(self, value: object, *, coins: Randomness | None = None) -> bytes:
        """A randomised report, in the format "discreet-report/1". Every call costs epsilon."""
        return self._head + self._draw(self.place(value), coins if coins is not None else Coins())


def _epsilon(text: object) -> Fraction:
    _needed(isinstance(text, str) and len(text) <= 2000 and set(text) <= set("0123456789/"))
    epsilon = Fraction(str(text))
    _needed(0 < epsilon <= _MOST_EPSILON and str(epsilon) == text)
    return epsilon


def _domain(said: object) -> list[Any] | int:
    if not isinstance(said, list):
        return _whole(said, 2, _MOST_VALUES)
    _needed(2 <= len(said) <= _MOST_VALUES and all(isinstance(v, str | int) for v in said))
    _needed(len(set(said)) == len(said))
    return said


def main(survey: str, text: str) -> str:
    """A report in base64; a text that is no value of the domain, but a number, is the number."""
    asked = Question(Path(survey).read_text(encoding="utf-8"))
    try:
        report = asked.report(text)
    except ValueError:
        report = asked.report(int(text) if text.lstrip("-").isdecimal() else None)
    return base64.b64encode(report).decode()


if __name__ == "__main__":
    sys.stdout.write(main(*sys.argv[1:3]) + "\n")
