"""Words as Bloom filters, and the map of candidates to the bits they set.

In cohort c the word w sets the bits digest[i] mod k for i = 0 .. h-1, where digest is the MD5 of
the cohort as four bytes, big end first, followed by w in UTF-8. (MD5 spreads words over bits here
and protects nothing. Where k does not divide 256 the low bits are a little more likely.)

A map file has one row for each candidate: the word, then for each cohort c and hash i the number
c k + bit + 1: m h numbers, counted from 1.
Tested by tests/local/rappor/test_bloom.py
"""

from __future__ import annotations

import csv
import hashlib
import io
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputTypeError, ParameterError
from discreet.exact import whole
from discreet.local.rappor.params import Params

__all__ = ["Candidates", "bit_chances", "bloom_bits", "bloom_integer", "pair_chances"]

MOST_CELLS = 1 << 31
"""Candidates times bits times cohorts: more does not fit the memory of most machines."""


def bloom_bits(word: str, cohort: int, params: Params) -> list[int]:
    """The bits that a word sets in a cohort, one for each hash, in order; they may coincide.

    >>> bloom_bits("apple", 1, Params(k=16, h=2, m=4))
    [9, 9]
    """
    given: object = word
    if not isinstance(given, str):
        raise InputTypeError("a word must be text. Nothing was released")
    place = whole(cohort, name="cohort", at_least=0, at_most=params.m - 1)
    try:
        letters = word.encode("utf-8")
    except UnicodeEncodeError:
        raise InputTypeError("a word must be text that UTF-8 can write") from None
    message = place.to_bytes(4, "big") + letters
    digest = hashlib.md5(message, usedforsecurity=False).digest()
    return [byte % params.k for byte in digest[: params.h]]


def bloom_integer(word: str, cohort: int, params: Params) -> int:
    """The Bloom filter of a word as an integer: bit i of it is the filter's bit i."""
    filled = 0
    for bit in bloom_bits(word, cohort, params):
        filled |= 1 << bit
    return filled


def bit_chances(params: Params) -> list[Fraction]:
    """For each bit, the chance that a word of which nothing is known sets it.

    >>> bit_chances(Params(k=8, h=2))[0]
    Fraction(15, 64)
    """
    return [1 - (1 - hit) ** params.h for hit in _hits(params)]


def pair_chances(params: Params) -> NDArray[np.float64]:
    """For each two bits, the chance that an unknown word sets both; on the diagonal, one."""
    hits = np.array([float(hit) for hit in _hits(params)])
    miss = (1 - hits) ** params.h
    both: NDArray[np.float64] = (
        1 - miss[:, None] - miss[None, :] + (1 - hits[:, None] - hits[None, :]) ** params.h
    )
    np.fill_diagonal(both, 1 - miss)
    return both


def _hits(params: Params) -> list[Fraction]:
    """The chance of each bit under one hash: how many of the 256 bytes fall on it."""
    least, more = divmod(256, params.k)
    return [Fraction(least + (bit < more), 256) for bit in range(params.k)]


@dataclass(frozen=True, eq=False)
class Candidates:
    """Words that may have been reported, and the bits that each sets in each cohort.

    Attributes:
        words: the candidates, all different.
        bits: an array of m cohorts, S candidates and k bits, True where the candidate sets it.
        hashed: whether words are hashed to bits, so that unknown words can set bits too. Not so
            for an identity map, in which every value has a bit of its own.
    """

    words: tuple[str, ...]
    bits: NDArray[Any]
    hashed: bool = True

    @classmethod
    def of(cls, words: Iterable[str], params: Params) -> Candidates:
        """The map of words under the Bloom encoding."""
        names = _distinct(words, params)
        rows = np.zeros((params.m, len(names), params.k), dtype=bool)
        for place, name in enumerate(names):
            for cohort in range(params.m):
                rows[cohort, place, bloom_bits(name, cohort, params)] = True
        return cls(names, rows)

    @classmethod
    def identity(cls, words: Iterable[str], params: Params) -> Candidates:
        """One bit for each value, the same in all cohorts: "basic" RAPPOR."""
        names = _distinct(words, params)
        if not len(names) <= params.k:
            raise ParameterError("words", len(names), f"must be at most {params.k}, one for a bit")
        one = np.eye(len(names), params.k, dtype=bool)
        return cls(names, np.broadcast_to(one, (params.m, *one.shape)), hashed=False)

    @classmethod
    def read(cls, path: str | Path, params: Params, *, hashed: bool | None = None) -> Candidates:
        """Read a map file.

        The file does not say whether its words were hashed: where `hashed` does not say it either,
        a map that gives each word one bit of its own, the same in all cohorts, is an identity map.
        """
        try:
            text = Path(path).read_text(encoding="utf-8-sig")
        except UnicodeDecodeError:
            raise ParameterError("the map file", str(path), "is no UTF-8 text") from None
        rows = [row for row in csv.reader(io.StringIO(text, newline="")) if row]
        if not rows:
            raise ParameterError("the map file", str(path), "must name at least one candidate")
        names = _distinct([row[0] for row in rows], params)
        found = np.zeros((params.m, len(names), params.k), dtype=bool)
        for place, row in enumerate(rows):
            _set_row(found, place, row[1:], params)
        return cls(names, found, hashed=not _is_identity(found) if hashed is None else hashed)

    def write(self, path: str | Path, params: Params) -> None:
        """Write a map file.

        A candidate whose hashes coincide in a cohort has that bit's number as often as is needed
        for h numbers, where the words are hashed by `of` in the order of the hashes.
        """
        out = io.StringIO(newline="")
        writer = csv.writer(out, lineterminator="\n")
        for place, word in enumerate(self.words):
            numbers: list[int] = []
            for cohort in range(params.m):
                hashes = self._hashes(place, cohort, params)
                numbers += [cohort * params.k + bit + 1 for bit in hashes]
            writer.writerow([word, *numbers])
        Path(path).write_text(out.getvalue(), encoding="utf-8", newline="")

    def _hashes(self, place: int, cohort: int, params: Params) -> list[int]:
        held = np.flatnonzero(self.bits[cohort, place]).tolist()
        if self.hashed:
            hashes = bloom_bits(self.words[place], cohort, params)
            if sorted(set(hashes)) == held:
                return hashes
        return held + held[-1:] * (params.h - len(held)) if held else []

    def integer(self, word: str, cohort: int) -> int:
        """The bits of one candidate in one cohort, as an integer."""
        if word not in self.words:
            raise InputTypeError("the value is none of the candidates; nothing was released")
        held = np.flatnonzero(self.bits[cohort, self.words.index(word)])
        return sum(1 << int(bit) for bit in held)

    def check(self, params: Params) -> None:
        """Refuse a map that was made for other parameters."""
        if self.bits.shape != (params.m, len(self.words), params.k):
            problem = f"must have {params.m} cohorts of {params.k} bits, as the parameters say"
            raise ParameterError("the map", None, problem)


def _distinct(words: Iterable[str], params: Params) -> tuple[str, ...]:
    names: tuple[Any, ...] = tuple(words) if not isinstance(words, str) else (words,)
    if not names or not all(isinstance(name, str) for name in names):
        raise ParameterError("words", None, "must be at least one candidate, each a text")
    if len(set(names)) < len(names):
        raise ParameterError("words", None, "must all be different")
    cells = math.prod((len(names), params.m, params.k))
    if not cells <= MOST_CELLS:
        problem = f"times {params.m} cohorts and {params.k} bits are too many to decode at once"
        raise ParameterError("words", len(names), problem)
    return names


def _set_row(found: NDArray[np.bool_], place: int, texts: Sequence[str], params: Params) -> None:
    """Set the bits of one candidate from its numbers."""
    where = f"row {place + 1} of the map file"
    if len(texts) % params.m or not texts:
        problem = f"must have {params.m * params.h} numbers: {params.h} for each of the cohorts"
        raise ParameterError(where, len(texts), problem)
    each = len(texts) // params.m
    for number, text in enumerate(texts):
        cohort = number // each
        low, high = cohort * params.k + 1, (cohort + 1) * params.k
        bit = whole(text, name=f"number {number + 1} in {where}", at_least=low, at_most=high) - low
        found[cohort, place, bit] = True


def _is_identity(bits: NDArray[np.bool_]) -> bool:
    """Whether each word has one bit, its own, and the same in all cohorts."""
    single = bits[0].sum(axis=1).max() == 1 and bits[0].sum(axis=0).max() == 1
    return bool(single and max(bits.shape[:2]) > 1 and (bits == bits[:1]).all())
