"""The regression cases of RAPPOR, to try a design on known populations and to score a decoder.

A case is a distribution over the words v1 .. vD, a size (D and the number of clients, one report
each) and a configuration (p, q, f, and what the decoder is told). Its name is r-<distribution>-
<size>-<configuration>, as in the original's tests. All have k = 8, h = 2, m = 128.

* typical: (0.39, 0.61, 0.45); a fifth more candidates than words, and words that end in 9 unknown;
* sharp: the same, all words known and no others;
* loose: (0.225, 0.775, 0); over_x2, over_x10: twice and ten times as many candidates extra.

Tested by tests/local/rappor/test_cases.py
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.local.rappor.bloom import Candidates
from discreet.local.rappor.decoding import Decoded
from discreet.local.rappor.files import Counts
from discreet.local.rappor.params import Params
from discreet.local.rappor.simulate import collect
from discreet.noise.categorical import Categorical
from discreet.noise.source import Source, system_source
from discreet.noise.table import CHUNK, inversion

__all__ = ["CONFIGURATIONS", "DISTRIBUTIONS", "SIZES", "Case", "Collected", "Score"]

DISTRIBUTIONS = ("unif", "exp", "gauss", "zipf1", "zipf1.5")
SIZES = {
    "tiny": (100, 1_000),
    "small": (100, 1_000_000),
    "medium": (1_000, 10_000_000),
    "large": (10_000, 100_000_000),
}
_MODEST = ("0.39", "0.61", "0.45")
CONFIGURATIONS = {
    "typical": (_MODEST, Fraction(1, 5), True),
    "sharp": (_MODEST, Fraction(0), False),
    "loose": (("0.225", "0.775", "0"), Fraction(1, 5), True),
    "over_x2": (_MODEST, Fraction(2), True),
    "over_x10": (_MODEST, Fraction(10), True),
}
_GRID = 1 << 40


@dataclass(frozen=True, slots=True)
class Score:
    """How well a decoding did.

    Attributes:
        actual: words that occurred.
        found: candidates that were found.
        false_positives: found, and did not occur.
        extra: candidates that did not occur.
        false_negatives: occurred, and were not found (unknown words are among them).
        variation: the total variation between the true shares and those of the found words.
        variation_all: the same, with the shares of all candidates.
        total: the sum of the shares of the found words.
    """

    actual: int
    found: int
    false_positives: int
    extra: int
    false_negatives: int
    variation: float
    variation_all: float
    total: float

    @property
    def false_positive_rate(self) -> float:
        """False positives over extra candidates."""
        return self.false_positives / self.extra if self.extra else 0.0

    @property
    def false_negative_rate(self) -> float:
        """False negatives over words that occurred."""
        return self.false_negatives / self.actual


@dataclass(frozen=True, eq=False)
class Collected:
    """A case that was played: what the decoder sees, and the truth."""

    params: Params
    candidates: Candidates
    counts: Counts
    truth: dict[str, float]

    def score(self, decoded: Decoded) -> Score:
        """How well a decoding of this did."""
        found = {one.word: one.share for one in decoded.found}
        extra = [word for word in self.candidates.words if word not in self.truth]
        return Score(
            actual=len(self.truth),
            found=len(found),
            false_positives=sum(word not in self.truth for word in found),
            extra=len(extra),
            false_negatives=sum(word not in found for word in self.truth),
            variation=_variation(self.truth, found),
            variation_all=_variation(self.truth, {one.word: one.share for one in decoded}),
            total=sum(found.values()),
        )


@dataclass(frozen=True, slots=True)
class Case:
    """One case of the matrix.

    >>> Case.named("r-zipf1-small-typical")
    Case(distribution='zipf1', size='small', configuration='typical')
    """

    distribution: str
    size: str
    configuration: str

    def __post_init__(self) -> None:
        for name, known in (
            ("distribution", DISTRIBUTIONS),
            ("size", SIZES),
            ("configuration", CONFIGURATIONS),
        ):
            if getattr(self, name) not in known:
                problem = f"must be one of {', '.join(known)}"
                raise ParameterError(name, getattr(self, name), problem)

    @classmethod
    def named(cls, name: str) -> Case:
        """The case of a name such as r-unif-small-sharp."""
        parts = name.split("-")
        if len(parts) != 4 or parts[0] != "r":
            problem = "must be r-<distribution>-<size>-<configuration>"
            raise ParameterError("the case", name, problem)
        return cls(*parts[1:])

    @property
    def params(self) -> Params:
        """The parameters of the collection."""
        return Params(8, 2, 128, *CONFIGURATIONS[self.configuration][0])

    def law(self) -> Categorical:
        """The law of a client's value: the place of its word, from 0 on."""
        number = SIZES[self.size][0]
        weights = [_weight(self.distribution, place, number) for place in range(1, number + 1)]
        total = math.fsum(weights)
        exact = [Fraction(round(weight / total * _GRID), _GRID) for weight in weights]
        exact[0] += 1 - sum(exact)
        return Categorical(tuple(exact))

    def candidates(self) -> list[str]:
        """What the decoder is told: known words, and words that nobody has."""
        number = SIZES[self.size][0]
        _, more, removed = CONFIGURATIONS[self.configuration]
        words = [f"v{place}" for place in range(1, number + 1)]
        known = [word for word in words if not (removed and word.endswith("9"))]
        return known + [f"v{number + i}" for i in range(1, int(more * number) + 1)]

    def play(self, *, source: Source | None = None) -> Collected:
        """Draw the clients and their reports."""
        number, clients = SIZES[self.size]
        if source is None:
            source = system_source()
        values = np.empty(clients, np.int64)
        table = inversion(self.law())
        for start in range(0, clients, CHUNK):
            piece = values[start : start + CHUNK]
            piece[:] = table.chunk(piece.size, source)
        params = self.params
        words = Candidates.of([f"v{place}" for place in range(1, number + 1)], params)
        counts = collect(params, words, values, source=source)
        return Collected(
            params, Candidates.of(self.candidates(), params), counts, _truth(words, values)
        )


def _weight(distribution: str, place: int, number: int) -> float:
    match distribution:
        case "exp":
            return math.exp(-5 * place / number)
        case "gauss":
            return math.exp(-(((place - number / 2) / (number / 6)) ** 2) / 2)
        case "zipf1" | "zipf1.5":
            return float(place ** -float(distribution.removeprefix("zipf")))
        case _:
            return 1.0


def _truth(words: Candidates, values: NDArray[np.int64]) -> dict[str, float]:
    shares = np.bincount(values, minlength=len(words.words)) / values.size
    return {word: float(x) for word, x in zip(words.words, shares, strict=True) if x > 0}


def _variation(truth: dict[str, float], found: dict[str, float]) -> float:
    words = truth.keys() | found.keys()
    return sum(abs(truth.get(word, 0.0) - found.get(word, 0.0)) for word in words) / 2
