"""Randomised response: every person flips coins before answering, and nobody need be trusted.

Theorem. Let K[x][y] = P(report y | true answer x). One report is epsilon-differentially private
for epsilon = the largest ln(K[x][y]/K[x'][y]) over all reports y and all ordered pairs x, x' of
true answers, and for no smaller one.

Proof. A set S of reports has probability sum of K[x][y] over y in S, and a sum of terms each at
most e^epsilon times the other's is at most e^epsilon times the other's sum; for S = {y} with the
largest ratio there is equality. Both directions of every ratio count: for two categories that is
ln((1-p0)/(1-p1)) as well as ln(p1/p0), and it is often the larger (see the tests).

Two standard cases (Warner 1965). Tell the truth with probability q, else answer uniformly at random
among k categories: the ratio is (q + (1-q)/k)/((1-q)/k) = 1 + k q/(1-q), which for k = 2 is
(1+q)/(1-q), so fair coins cost ln 3. Report the truth with probability p and each other category
with (1-p)/(k-1): the ratio is p (k-1)/(1-p), at most e^epsilon if and only if
p <= e^epsilon/(e^epsilon + k - 1).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputTypeError, ParameterError
from discreet.exact import Exact, Interval, exp, log, probability, rational, whole, written
from discreet.mechanisms.base import PureMechanism, plain_array
from discreet.mechanisms.proportions import (
    Matrix,
    Proportions,
    estimated,
    hoeffding,
    inverse,
    spreads,
)
from discreet.noise.categorical import Categorical
from discreet.noise.law import Outcomes
from discreet.noise.source import Source, system_source
from discreet.noise.table import CHUNK, Inversion
from discreet.privacy.guarantee import Neighbours, epsilon_of

__all__ = ["LARGEST_KERNEL", "MOST_CATEGORIES", "Category", "RandomizedResponse", "cost"]

Category = str | int | bool
MOST_CATEGORIES = 256
"""More answers than this call for a frequency oracle: the coins would drown the truth."""
LARGEST_KERNEL = 64
"""The largest kernel that is inverted by elimination."""
_GRID = 60


@dataclass(frozen=True, slots=True, init=False, repr=False)
class RandomizedResponse(PureMechanism):
    """Answer a question about oneself through coins, so that no answer is evidence.

    Say one of: `epsilon` (the best symmetric coins for it), `truth` (tell the truth with this
    probability, else answer at random: uniformly, or as `otherwise` says), or `kernel` (row x holds
    the probabilities of every report for the true category x). All probabilities are exact
    rationals, and `kernel` holds them whichever way they were said.

    Guarantee. One report is epsilon-differentially private; `epsilon` is as asked, or the cost of
    the coins rounded up to a multiple of 2^-60.
    Neighbours. "replace", always: this is the local model, in which a person's true answer is
    replaced by any other, and everybody's report is seen. (Whether a person takes part is seen.)
    Assumes. Each person answers once per question; every further report costs as much again.
    Proof. At the top of this module. For `epsilon`, p is rounded down and never below 1/k: the
    ratio p (k-1)/(1-p) grows with p, so it lies between 1 and e^epsilon.
    Tested by tests/mechanisms/test_response.py

    >>> coins = RandomizedResponse(truth="1/2", categories=("yes", "no"))
    >>> round(float(coins.epsilon), 6)  # ln 3
    1.098612
    >>> coins.release("yes") in ("yes", "no")
    True
    >>> coins.estimate({"yes": 400, "no": 600}).proportions
    {'yes': 0.3, 'no': 0.7}
    """

    categories: tuple[Category, ...]
    kernel: Matrix
    epsilon: Fraction
    _said: str = field(compare=False)
    _drawer: _Drawer = field(compare=False)
    _decoder: Matrix | None = field(compare=False)

    def __init__(
        self,
        *,
        categories: Sequence[Category] = ("yes", "no"),
        epsilon: Exact | None = None,
        truth: Exact | None = None,
        otherwise: Sequence[Exact] | None = None,
        kernel: Sequence[Sequence[Exact]] | None = None,
    ) -> None:
        names = categories_of(categories)
        given = {"epsilon": epsilon, "truth": truth, "kernel": kernel}
        chosen = [name for name, value in given.items() if value is not None]
        if len(chosen) != 1:
            problem = "must be exactly one of epsilon=..., truth=... and kernel=..."
            raise ParameterError("the coins", chosen or None, problem)
        if otherwise is not None and truth is None:
            raise ParameterError("otherwise", otherwise, "needs truth=... beside it")
        asked = None
        if epsilon is not None:
            asked = epsilon_of(epsilon)
            rows, said = _best_for(asked, len(names)), f"epsilon={written(asked)}"
        elif truth is not None:
            rows, said = _coins(truth, otherwise, len(names))
        else:
            rows, said = _declared(kernel, len(names))
        put = object.__setattr__
        put(self, "categories", names)
        put(self, "kernel", rows)
        put(self, "epsilon", asked if asked is not None else epsilon_of(cost(rows)))
        put(self, "_said", said)
        put(self, "_drawer", _Drawer(names, rows))
        put(self, "_decoder", None)

    def __repr__(self) -> str:
        return f"RandomizedResponse({self._said}, categories={self.categories!r})"

    @property
    def neighbours(self) -> Neighbours:  # type: ignore[override]
        """One person's answer is replaced by any other."""
        return "replace"

    @overload
    def release(self, value: Category, *, source: Source | None = None) -> Category: ...
    @overload
    def release(self, value: list[Category], *, source: Source | None = None) -> list[Category]: ...
    @overload
    def release(self, value: NDArray[Any], *, source: Source | None = None) -> NDArray[Any]: ...
    def release(self, value: Any, *, source: Source | None = None) -> Any:
        """Return a randomised report for one true category, or for each of a list or an array.

        A value that was not declared is refused without being quoted, before anything is drawn.
        """
        if source is None:
            source = system_source()
        drawer = self._drawer
        if isinstance(value, np.ndarray):
            value = plain_array(value)
            reports = drawer.many(drawer.encode(value), source)
            return drawer.table[reports].reshape(value.shape)
        if isinstance(value, list | tuple):
            codes = np.array([drawer.code(item) for item in value], dtype=np.int64)
            return [self.categories[report] for report in drawer.many(codes, source).tolist()]
        return self.categories[drawer.one(drawer.code(value), source)]

    def law(self, value: Category) -> Outcomes:
        """The exact law of the report of a person whose true category is `value`."""
        masses = [Interval.of(p) for p in self.kernel[self._drawer.code(value)]]
        return Outcomes(self.categories, lambda _: masses)

    def small_neighbours(self) -> Iterator[tuple[Category, Category]]:
        """All pairs of categories."""
        return combinations(self.categories, 2)

    def expected_absolute_error(self, value: Category) -> float:
        """The probability that the report differs from the truth: the distance is 0 or 1."""
        code = self._drawer.code(value)
        return float(1 - self.kernel[code][code])

    def estimate(self, reports: Iterable[Category] | Mapping[Category, int]) -> Proportions:
        """Estimate how common each category is from released reports: free post-processing.

        Takes a list or an array of reports, or a dictionary of their counts. See
        `discreet.mechanisms.proportions` for what is unbiased and what is proved.
        """
        counts = self._counts(reports)
        if not sum(counts) > 0:
            raise ParameterError("reports", sum(counts), "must be at least one")
        return estimated(self.categories, counts, self._inverse())

    def _counts(self, reports: Any) -> list[int]:
        counts = [0] * len(self.categories)
        if isinstance(reports, Mapping):
            for report, count in reports.items():
                counts[self._drawer.code(report)] += whole(count, name="a count", at_least=0)
        else:
            values = reports if isinstance(reports, np.ndarray) else _objects(list(reports))
            codes = self._drawer.encode(values)
            counts = np.bincount(codes, minlength=len(counts)).tolist()
        return counts

    def error(self, confidence: Exact = 0.95, *, n: int) -> float:
        """A half-width for every estimated proportion from n reports, rounded up.

        Guarantee. Each estimated proportion is within it of the share among the n people with at
        least this probability, whatever their answers: Hoeffding's inequality, no approximation.
        """
        level = probability(confidence, name="confidence")
        size = whole(n, name="n", at_least=1)
        return hoeffding(max(spreads(self._inverse())), size, level)

    def _inverse(self) -> Matrix:
        decoder = self._decoder
        if decoder is None:  # computed once
            decoder = inverse(self.kernel)
            object.__setattr__(self, "_decoder", decoder)
        return decoder

    def posterior(
        self, prior: Mapping[Category, Exact] | Sequence[Exact], report: Category
    ) -> dict[Category, float]:
        """P(true category | report) by Bayes' rule, for a reader who believed `prior`.

        It is at most e^epsilon times the prior, and at least e^-epsilon times it.

        >>> coins = RandomizedResponse(truth="1/2", categories=("yes", "no"))
        >>> coins.posterior({"yes": "1/10", "no": "9/10"}, "yes")["yes"]
        0.25
        """
        if isinstance(prior, Mapping):
            if set(prior) != set(self.categories):
                raise ParameterError("prior", prior, "must name every category once")
            prior = [prior[name] for name in self.categories]
        beliefs = row_of(prior, len(self.categories), name="prior")
        column = self._drawer.code(report)
        joint = [belief * row[column] for belief, row in zip(beliefs, self.kernel, strict=True)]
        total = sum(joint)
        if not total > 0:
            raise ParameterError("report", report, "must be possible under this prior")
        shares = [float(share / total) for share in joint]
        return dict(zip(self.categories, shares, strict=True))


class _Drawer:
    """Reads categories and draws reports, as places 0 .. k-1.

    A report is drawn as a move: (true place + move) mod k. Rows of the kernel that are the same
    after this rotation share one table of thresholds; symmetric coins need a single one.
    """

    def __init__(self, categories: tuple[Category, ...], kernel: Matrix) -> None:
        self.categories = categories
        self.places: dict[Any, int] = {name: place for place, name in enumerate(categories)}
        self.table = _category_array(categories)
        laws: dict[tuple[Fraction, ...], int] = {}
        rotated = (row[x:] + row[:x] for x, row in enumerate(kernel))
        self.which = [laws.setdefault(row, len(laws)) for row in rotated]
        self.laws = [Categorical(weights) for weights in laws]
        self._tables: list[Inversion | None] = [None] * len(laws)

    def _inversion(self, number: int) -> Inversion:
        found = self._tables[number]
        if found is None:
            found = self._tables[number] = Inversion(self.laws[number])
        return found

    def one(self, code: int, source: Source) -> int:
        move = self._inversion(self.which[code]).one(source)
        return (code + move) % len(self.categories)

    def many(self, codes: NDArray[Any], source: Source) -> NDArray[Any]:
        out = np.empty(codes.size, dtype=np.int64)
        for start in range(0, codes.size, CHUNK):
            piece = codes[start : start + CHUNK]
            moved = piece + self._moves(piece, source)
            out[start : start + CHUNK] = moved - len(self.places) * (moved >= len(self.places))
        return out

    def _moves(self, codes: NDArray[Any], source: Source) -> NDArray[Any]:
        if len(self.laws) == 1:
            return self._inversion(0).chunk(codes.size, source)
        moves = np.empty(codes.size, dtype=np.int64)
        numbers = np.array(self.which)[codes]
        for number in range(len(self.laws)):
            mine = np.flatnonzero(numbers == number)
            moves[mine] = self._inversion(number).chunk(mine.size, source)
        return moves

    def code(self, value: object) -> int:
        """The place of a category; the message names what was declared, never the value."""
        known = isinstance(value, str | int | np.integer | np.bool_)
        place = self.places.get(value) if known else None
        if place is None:
            raise self._unknown()
        return place

    def encode(self, values: NDArray[Any]) -> NDArray[Any]:
        """The places of an array of categories, as a flat array."""
        flat = values.reshape(-1)
        if self.table.dtype.kind == "i" and flat.dtype.kind == "u" and flat.dtype != np.uint64:
            flat = flat.astype(np.int64)
        if self.table.dtype.kind == "O" or flat.dtype.kind != self.table.dtype.kind:
            return np.array([self.code(value) for value in flat.tolist()], dtype=np.int64)
        order = np.argsort(self.table, kind="stable")
        ranks = np.searchsorted(self.table[order], flat)
        places = order[np.minimum(ranks, len(order) - 1)]
        if not np.array_equal(self.table[places], flat):
            raise self._unknown()
        return places

    def _unknown(self) -> InputTypeError:
        names = ", ".join(map(repr, self.categories[:8]))
        more = ", ..." if len(self.categories) > 8 else ""
        return InputTypeError(
            f"the value is not one of the declared categories ({names}{more}); nothing was released"
        )


def _objects(values: list[Any]) -> NDArray[Any]:
    """A list as an array of its own objects, without numpy's conversions."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _category_array(categories: tuple[Category, ...]) -> NDArray[Any]:
    """The categories as numpy holds them: their own type if that loses nothing, else objects."""
    array = np.array(categories)
    back = array.tolist()
    same = back == list(categories) and list(map(type, back)) == list(map(type, categories))
    return array if same and array.dtype.kind in "iUb" else _objects(list(categories))


def categories_of(value: object) -> tuple[Category, ...]:
    """Declared categories: two or more different texts, integers or truth values."""
    if isinstance(value, str) or not isinstance(value, Sequence | np.ndarray):
        problem = "must be a list of categories, for example ('yes', 'no')"
        raise ParameterError("categories", value, problem)
    names = tuple(name.item() if isinstance(name, np.generic) else name for name in value)
    if not all(isinstance(name, str | int) for name in names):
        problem = "must be texts, integers or truth values"
        raise ParameterError("categories", value, problem)
    if not 2 <= len(names) <= MOST_CATEGORIES:
        raise ParameterError("categories", value, f"must be 2 to {MOST_CATEGORIES} in number")
    if len(set(names)) < len(names):
        problem = "must all be different (1 and True are equal)"
        raise ParameterError("categories", value, problem)
    return names


def row_of(value: object, size: int, *, name: str) -> tuple[Fraction, ...]:
    """Exact probabilities of `size` outcomes: each at least 0, summing to exactly 1."""
    if isinstance(value, str) or not isinstance(value, Sequence | np.ndarray):
        raise ParameterError(name, value, f"must be a list of {size} probabilities")
    row = tuple(rational(p, name=f"{name}[{place}]") for place, p in enumerate(value))
    if len(row) != size:
        raise ParameterError(name, value, f"must hold {size} probabilities, one per category")
    if not min(row) >= 0:
        raise ParameterError(name, value, "must hold no negative probability")
    if sum(row) != 1:
        problem = f"must sum to exactly 1, not to {sum(row)} (write thirds as '1/3')"
        raise ParameterError(name, value, problem)
    return row


def _best_for(epsilon: Fraction, k: int) -> Matrix:
    """The symmetric coins of the largest p with p (k-1)/(1-p) <= e^epsilon, on a fine grid.

    The grid resolves both 1 - p, which is near e^-epsilon, and p - 1/k, which is near epsilon/k.
    """
    grid = 64 + 2 * k.bit_length() + 2 * int(epsilon) + int(1 / epsilon).bit_length()
    factor = exp(epsilon, grid + 64).lower
    share = factor / (factor + k - 1)
    floor = Fraction((share.numerator << grid) // share.denominator, 1 << grid)
    p = max(floor, Fraction(1, k))
    other = (1 - p) / (k - 1)
    return tuple(tuple(p if x == y else other for y in range(k)) for x in range(k))


def _coins(truth: Exact, otherwise: Sequence[Exact] | None, k: int) -> tuple[Matrix, str]:
    """Tell the truth with probability `truth`, else answer y with probability otherwise[y]."""
    q = rational(truth, name="truth")
    if not 0 <= q < 1:
        problem = "must be at least 0 and below 1: who always tells the truth has no privacy"
        raise ParameterError("truth", truth, problem)
    said = f"truth={written(q)}"
    if otherwise is None:
        answers = (Fraction(1, k),) * k
    else:
        answers = row_of(otherwise, k, name="otherwise")
        said += f", otherwise={_written_row(answers)}"
    off, on = [(1 - q) * a for a in answers], [q + (1 - q) * a for a in answers]
    return tuple(tuple(on[y] if x == y else off[y] for y in range(k)) for x in range(k)), said


def _declared(kernel: object, k: int) -> tuple[Matrix, str]:
    """A kernel as it was typed."""
    shape_problem = f"must be {k} rows, one per true category, of {k} probabilities each"
    if isinstance(kernel, str) or not isinstance(kernel, Sequence | np.ndarray) or len(kernel) != k:
        raise ParameterError("kernel", kernel, shape_problem)
    if k > LARGEST_KERNEL:
        raise ParameterError("kernel", k, f"must have at most {LARGEST_KERNEL} categories")
    rows = tuple(row_of(row, k, name=f"kernel[{x}]") for x, row in enumerate(kernel))
    return rows, f"kernel=({', '.join(map(_written_row, rows))})"


def _written_row(row: tuple[Fraction, ...]) -> str:
    return f"({', '.join(map(written, row))})"


def cost(kernel: Matrix) -> Fraction:
    """The epsilon of a kernel, rounded up to a multiple of 2^-60 and to no less than 2^-60.

    The largest ratio of two entries of one column is the largest entry over the smallest, so
    every report and every ordered pair of true categories has been looked at.
    """
    worst = Fraction(1)
    for y, column in enumerate(zip(*kernel, strict=True)):
        high, low = max(column), min(column)
        if high > 0 and not low > 0:
            problem = (
                f"gives report number {y} probability 0 for some true categories and not for "
                "others, so that this report proves something: no epsilon is finite. Make every "
                "entry of the column positive, or all of them 0"
            )
            raise ParameterError("the kernel", kernel, problem)
        worst = max(worst, high / low) if high > 0 else worst
    bound = log(worst, _GRID + 20).upper
    return Fraction(max(-(-(bound.numerator << _GRID) // bound.denominator), 1), 1 << _GRID)
