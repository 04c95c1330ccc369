"""Try all small datasets: a claimed sensitivity is refuted by a pair, or holds on all of them.

A pair that is further apart than the claim refutes it for good. That no pair of a small size is
says nothing about larger sizes or other records, so "holds" is evidence and not a proof; a claim
that is met by some pair (`tight`) cannot be improved.

The datasets are the caller's own toy records, so a verdict quotes them. Do not hand in private
ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, product
from typing import Any

from discreet.errors import InputTypeError, ParameterError
from discreet.exact import Exact, rational, shown, whole
from discreet.privacy.guarantee import Neighbours, neighbours_of
from discreet.sensitivity.analytic import Sensitivity
from discreet.sensitivity.norms import L1, LInf, Norm, Number, as_norm, is_exact

__all__ = ["Check", "check_sensitivity", "check_utility"]

Dataset = tuple[int, ...]
"""Places in the list of records, so that records need not be hashable."""

_L1, _LINF = L1(), LInf()
_SLACK = Fraction(1, 10**9)

LARGEST_N = 1000
"""Trying all datasets is for small ones."""


@dataclass(frozen=True, slots=True)
class Check:
    """What the search found: the largest distance, a pair that has it, and the verdict."""

    claimed: Fraction
    found: Number
    holds: bool
    tight: bool
    first: tuple[Any, ...]
    second: tuple[Any, ...]
    pairs: int

    def __str__(self) -> str:
        pair = f"records {self.first} and {self.second} are {_said(self.found)} apart"
        claim = _said(self.claimed)
        if not self.holds:
            return f"refuted: {pair}, more than the claimed {claim}"
        if self.tight:
            return f"holds on all {self.pairs} pairs and is tight: {pair}, as claimed"
        return f"holds on all {self.pairs} pairs, with room: {pair}, less than the claimed {claim}"


def check_sensitivity(  # noqa: PLR0913
    query: Callable[[tuple[Any, ...]], Any],
    claimed: Exact | Sensitivity,
    *,
    records: Iterable[Any],
    n: int,
    norm: Norm | str | None = None,
    neighbours: Neighbours | None = None,
    ordered: bool = True,
    exact: bool = True,
    at_most: int = 1_000_000,
) -> Check:
    """Compare a claimed sensitivity with the largest distance over all neighbours of a small size.

    Guarantee. Every pair of neighbours made of `records` is tried: under "replace", all datasets
    of size n and all that differ from them in one place; under "add_or_remove", all datasets of
    sizes 0 to n and all with one record more.
    Proof. Two neighbours under "replace" are n - 1 shared records, a place and two records for it;
    under the other relation some shared records, a place and one record. All of these are made.
    Tested by tests/sensitivity/test_brute.py

    Args:
        query: takes a tuple of records. It must answer on the empty one under "add_or_remove".
        claimed: a number, or a `Sensitivity` of the same norm and relation.
        records: the values that one record may have.
        n: how many records, at most 1000.
        norm: the distance between two answers; by default that of a `Sensitivity`, else L1.
        neighbours: "replace" or "add_or_remove"; by default that of a `Sensitivity`, else
            "replace".
        ordered: False where the order of the records makes no difference: fewer datasets.
        exact: refuse floats, with which a true claim may seem refuted. With False they are
            allowed, and what is within one part in 10^9 of the claim counts as equal to it.
        at_most: the largest number of pairs to try.

    >>> def utilities(data):
    ...     mean = Fraction(sum(data), len(data))
    ...     return [-((mean - place) ** 2) for place in (0, 1)]
    >>> print(check_sensitivity(utilities, "1/3", records=(0, 1), n=3, norm=LInf()))
    refuted: records (0, 0, 0) and (1, 0, 0) are 5/9 apart, more than the claimed 1/3
    """
    said = claimed if isinstance(claimed, Sensitivity) else None
    relation = neighbours_of(neighbours or (said.neighbours if said else "replace"))
    distance = as_norm(norm or (said.norm if said else _L1))
    claim = _claim(claimed, distance, relation)
    values = _records(records, relation)
    size = whole(n, name="n", at_least=1, at_most=LARGEST_N)
    _within(_number_of_pairs(len(values), size, relation, ordered=ordered), at_most)
    pairs = _pairs(len(values), size, relation, ordered=ordered)
    found, first, second, tried = _worst(pairs, _answers(query, values, exact=exact), distance)
    rounded = isinstance(found, float)  # an irrational root, rounded up in its last digit
    slack = claim * (Fraction(1, 2**50) if rounded else 0) if exact else claim * _SLACK
    return Check(
        claimed=claim,
        found=found,
        holds=found <= claim + slack,
        tight=claim - slack <= found <= claim + slack,
        first=_data(first, values),
        second=_data(second, values),
        pairs=tried,
    )


def check_utility(
    utility: Callable[[tuple[Any, ...], Any], Any],
    claimed: Exact | Sensitivity,
    *,
    candidates: Iterable[Any],
    **how: Any,
) -> Check:
    """The same for a utility(data, candidate): the largest move of any candidate's utility.

    `how` takes what `check_sensitivity` takes, without the norm, which is Linf.

    >>> def squared(data, place):
    ...     return -((Fraction(sum(data), len(data)) - place) ** 2)
    >>> check_utility(squared, "5/9", candidates=(0, 1), records=(0, 1), n=3).tight
    True
    """
    places = tuple(candidates)
    if not places:
        raise ParameterError("candidates", None, "must be at least one")
    return check_sensitivity(
        lambda data: [utility(data, place) for place in places], claimed, norm=_LINF, **how
    )


def _claim(claimed: Exact | Sensitivity, norm: Norm, neighbours: Neighbours) -> Fraction:
    if not isinstance(claimed, Sensitivity):
        return rational(claimed, name="claimed")
    if claimed.norm != norm.name:
        raise ParameterError("norm", norm.name, f"must be {claimed.norm}, as in the claim")
    if claimed.neighbours != neighbours:
        raise ParameterError("neighbours", neighbours, f"must be {claimed.neighbours!r} as claimed")
    return claimed.value


def _records(records: Iterable[Any], neighbours: Neighbours) -> tuple[Any, ...]:
    values = tuple(records)
    least = 2 if neighbours == "replace" else 1
    if not len(values) >= least:
        raise ParameterError("records", None, f"must be at least {least} values to choose from")
    return values


def _within(pairs: int, at_most: int) -> None:
    if not pairs <= whole(at_most, name="at_most", at_least=1):
        number = str(pairs) if pairs < 10**15 else "over 10^15"
        raise ParameterError(
            "at_most",
            at_most,
            f"is less than the {number} pairs to try: take fewer records or a smaller n, say "
            "ordered=False where the order makes no difference, or raise at_most",
        )


def _number_of_pairs(values: int, n: int, neighbours: Neighbours, *, ordered: bool) -> int:
    def shared(size: int) -> int:
        """Datasets of this size, times the places where one more record can go."""
        return values**size * (size + 1) if ordered else math.comb(values + size - 1, size)

    if neighbours == "replace":
        return shared(n - 1) * math.comb(values, 2)
    return sum(shared(size) * values for size in range(n + 1))


def _pairs(
    values: int, n: int, neighbours: Neighbours, *, ordered: bool
) -> Iterator[tuple[Dataset, Dataset]]:
    """All pairs of neighbours, each at least once, as places in the list of records."""
    if neighbours == "replace":
        for shared, place in _shared(values, n - 1, ordered=ordered):
            for one, two in combinations(range(values), 2):
                yield _put(shared, place, one), _put(shared, place, two)
        return
    for size in range(n + 1):
        for shared, place in _shared(values, size, ordered=ordered):
            for one in range(values):
                yield shared, _put(shared, place, one)


def _shared(values: int, size: int, *, ordered: bool) -> Iterator[tuple[Dataset, int]]:
    if not ordered:
        for chosen in combinations_with_replacement(range(values), size):
            yield chosen, 0
        return
    for shared in product(range(values), repeat=size):
        for place in range(size + 1):
            yield shared, place


def _put(shared: Dataset, place: int, record: int) -> Dataset:
    return (*shared[:place], record, *shared[place:])


def _data(places: Dataset, values: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(values[place] for place in places)


def _answers(
    query: Callable[[tuple[Any, ...]], Any], values: Sequence[Any], *, exact: bool
) -> Callable[[Dataset], Any]:
    """The query on places, each dataset asked once."""
    known: dict[Dataset, Any] = {}

    def answer(places: Dataset) -> Any:
        if places not in known:
            known[places] = query(_data(places, values))
            if exact and not is_exact(known[places]):
                raise InputTypeError(
                    "the query answers with floats, whose rounding can refute a true claim: let "
                    "it answer with integers or fractions, or say exact=False"
                )
        return known[places]

    return answer


def _worst(
    pairs: Iterator[tuple[Dataset, Dataset]], answer: Callable[[Dataset], Any], norm: Norm
) -> tuple[Number, Dataset, Dataset, int]:
    """The largest distance, the first pair that has it, and how many pairs there were."""
    first, second = next(pairs)
    found, tried = norm.between(answer(first), answer(second)), 1
    for one, two in pairs:
        tried += 1
        apart = norm.between(answer(one), answer(two))
        if apart > found:
            found, first, second = apart, one, two
    return found, first, second, tried


def _said(number: Number) -> str:
    return f"{number:.12g}" if isinstance(number, float) else shown(Fraction(number))
