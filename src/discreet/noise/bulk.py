"""Many exact uniform integers, coins and random subsets at once, as numpy arrays.

Each function has exactly the law of a loop over its scalar reference:

* `uniforms(n, size)`: integers uniform below n, by drawing again what is not below n;
* `coin_words(p, size)`: 64-bit words of independent bits, each 1 with probability exactly p. A bit
  is the comparison of a uniform real U with p, digit by digit, for 64 lanes at a time: with the
  first d binary digits of U drawn as d words, a lane is decided unless all its d digits equal those
  of p; what is left then is a coin whose probability is the fractional part of 2^d p, and that
  coin is drawn exactly for the few lanes that need it;
* `subsets(k, sizes, avoid)`: for each row a subset of 0 .. k-1 of the given size, uniform among
  those that avoid one element. Independent coins of one probability are exchangeable, so given
  their number the set of ones is uniform; a set that is too small gets uniformly drawn absent
  elements, one that is too large loses uniformly drawn present ones, and either step keeps the
  set uniform given its size. The probability of the coins plays no part in the law.

Words are little-endian: bit j of a row is bit j mod 64 of its word j div 64.
Tested by tests/noise/test_bulk.py
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.noise.categorical import Bernoulli
from discreet.noise.source import Source, Width
from discreet.noise.table import CHUNK, Inversion, inversion

__all__ = ["coin_words", "flips", "ones", "padding", "subsets", "uniforms", "words_of"]

Array = NDArray[Any]

DEPTH = 12
"""Binary digits compared before the few undecided lanes are looked at."""
_WORDS = 1 << 14
_WORD = np.dtype("<u8")


def uniforms(n: int, size: int, source: Source) -> Array:
    """`size` independent integers uniform on 0 .. n - 1, as int64; n is at most 2^63."""
    if not 1 <= n <= 1 << 63:
        raise ValueError("a uniform 64-bit integer needs 1 <= n <= 2^63")
    count = (n - 1).bit_length()
    width: Width = 16 if count <= 16 else 32 if count <= 32 else 64
    mask = (1 << count) - 1
    out = np.empty(size, dtype=np.int64)
    for start in range(0, size, CHUNK):
        piece = out[start : start + CHUNK]
        piece[:] = source.array(piece.size, width) & mask
        again = np.flatnonzero(piece >= n)
        while again.size:
            piece[again] = source.array(again.size, width) & mask
            again = again[piece[again] >= n]
    return out


def flips(coin: Inversion, size: int, source: Source) -> Array:
    """`size` draws from the table of a small law, as int64."""
    out = np.empty(size, dtype=np.int64)
    for start in range(0, size, CHUNK):
        piece = out[start : start + CHUNK]
        piece[:] = coin.chunk(piece.size, source)
    return out


def words_of(k: int) -> int:
    """How many 64-bit words hold k bits."""
    return -(-k // 64)


def padding(k: int) -> Array:
    """A row of words with bits 0 .. k-1 set, and no others."""
    row = np.full(words_of(k), (1 << 64) - 1, dtype=_WORD)
    if k % 64:
        row[-1] = (1 << k % 64) - 1
    return row


def ones(words: Array) -> Array:
    """How many bits are set in each word."""
    if hasattr(np, "bitwise_count"):
        return np.asarray(np.bitwise_count(words))
    table = np.array([byte.bit_count() for byte in range(256)], dtype=np.uint8)
    return np.asarray(table[words[..., None].view(np.uint8)].sum(axis=-1, dtype=np.uint8))


def coin_words(p: Fraction, size: int, source: Source) -> Array:
    """`size` words of 64 independent bits, each set with probability exactly p, 0 < p < 1."""
    if not 0 < p < 1:
        raise ValueError("the probability of a coin lies strictly between 0 and 1")
    scaled = p * (1 << DEPTH)
    digits = scaled.numerator // scaled.denominator
    rest, depth = scaled - digits, DEPTH
    while rest == 0 and digits % 2 == 0:  # the last digits decide nothing
        digits, depth = digits // 2, depth - 1
    coin = inversion(Bernoulli(rest)) if rest else None
    out = np.empty(size, dtype=_WORD)
    for start in range(0, size, _WORDS):
        piece = out[start : start + _WORDS]
        drawn = source.array(depth * piece.size, 64).astype(_WORD, copy=False)
        _compare(drawn.reshape(depth, -1), digits, coin, piece, source)
    return out


def _compare(drawn: Array, digits: int, coin: Inversion | None, out: Array, source: Source) -> None:
    """Put into `out` the lanes whose real is below p; row j of `drawn` holds the inverted digits
    of weight 2^j, so that a set bit stands for the digit 0.
    """
    out[:] = 0
    if coin is None:
        for place, row in enumerate(drawn):
            (np.bitwise_or if digits >> place & 1 else np.bitwise_and)(out, row, out=out)
        return
    same = np.full(out.size, (1 << 64) - 1, dtype=_WORD)
    for place, row in enumerate(drawn):
        if digits >> place & 1:
            out |= row
            same &= ~row
        else:
            out &= row
            same &= row
    open_words = np.flatnonzero(same)
    lanes = np.unpackbits(same[open_words].view(np.uint8), bitorder="little")
    places = np.flatnonzero(lanes)
    if places.size:
        lanes[places] = flips(coin, places.size, source)
        out[open_words] |= np.packbits(lanes, bitorder="little").view(_WORD)


def subsets(k: int, sizes: Array, avoid: Array, source: Source) -> Array:
    """For each row i the words of a uniform subset of {0..k-1} without avoid[i], of sizes[i].

    Sizes lie between 0 and k - 1.
    """
    width, rows = words_of(k), len(sizes)
    typical = int(sizes.max()) if rows else 0
    theta = Fraction(min(max(round(128 * typical / k), 1), 127), 128)
    bits = coin_words(theta, rows * width, source).reshape(rows, width) if rows else None
    if bits is None:
        return np.empty((0, width), dtype=_WORD)
    bits &= padding(k)
    index = np.arange(rows)
    bits[index, avoid >> 6] &= ~(np.uint64(1) << (avoid & 63).astype(np.uint64))
    missing = sizes - ones(bits).sum(axis=1, dtype=np.int64)
    _adjust(k, bits.reshape(-1), width, missing, avoid, source)
    return bits


def _adjust(k: int, bits: Array, width: int, missing: Array, avoid: Array, source: Source) -> None:
    """Add or remove uniformly drawn elements until no row misses any, or has too many."""
    rows = np.flatnonzero(missing)
    left = missing[rows]
    while rows.size:
        element = uniforms(k, rows.size, source)
        place = rows * width + (element >> 6)
        mask = np.uint64(1) << (element & 63).astype(np.uint64)
        is_there = (bits[place] & mask) != 0
        fits = ((left > 0) != is_there) & (element != avoid[rows])
        bits[place[fits]] ^= mask[fits]
        left = left - np.where(fits, np.sign(left), 0)
        more = left != 0
        rows, left = rows[more], left[more]
