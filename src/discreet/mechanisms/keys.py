"""Which unknown groups may be shown: optimal selection of keys, with or without a noisy count.

The keys of a private table (cities, words, diagnoses) may themselves betray a person: a key that
one person alone brought in must almost never be shown. A key that n people share is shown with
probability p(n), and p(0) = 0: nothing is ever shown that is not in the data.

Theorem 1 (Desfontaines, Voss, Gipson and Mandayam 2022). For one key per person,
p(n+1) = min(e^epsilon p(n) + delta, 1 - e^-epsilon (1 - p(n) - delta), 1) is
(epsilon, delta)-private, and no private p is larger at any n.

Proof. Showing a key has two outcomes, so (epsilon, delta)-privacy of counts n and n+1 is four
inequalities: (1) p(n+1) <= e^epsilon p(n) + delta, (2) 1 - p(n) <= e^epsilon (1 - p(n+1)) + delta,
and the same two with n and n+1 exchanged, (3) and (4), which hold whenever p(n) <= p(n+1) because
e^epsilon >= 1. Solved for p(n+1), (1) and (2) are the first two terms of the minimum. Both terms
grow with p(n), so by induction every private p lies below this one.

Rounding. Let r <= e^epsilon be rational, r >= 1, and d <= delta a positive multiple of a grid
2^-g. Each step computes the same minimum with r and d for e^epsilon and delta, and rounds it *down*
to the grid. (1) and (2) hold for r and d because p(n+1) only became smaller, hence for e^epsilon
and delta. While p = p(n) has p + d <= 1, each term is at least p + d, since r >= 1 gives
r p + d >= p + d and 1 - (1 - p - d)/r >= p + d; and p + d is on the grid, so rounding down does not
pass it. So p grows by d or more a step until p + d > 1, and is 1 thereafter; (3) and (4) hold too,
and the rational p is exactly (epsilon, delta)-private.

Theorem 2 (the same authors). Let X have P(x) proportional to e^(-epsilon |x|) on |x| <= m. Showing
n + X if it is above m, strictly, and nothing otherwise, is (epsilon, delta)-private if and only if
P(X = m) <= delta, that is m >= (1/epsilon) ln((e^epsilon - 1 + 2 delta)/((e^epsilon + 1) delta)).

Proof. With c = P(X = 0), an output z > m has probability c e^(-epsilon |z-n|) where |z - n| <= m.
From n+1 to n: outputs that both can give differ by at most e^epsilon; nothing shown is no likelier
under n+1 than under n; and z = n+1+m, which only n+1 can give, has P(X = m). So the excess of n+1
over e^epsilon times n is exactly P(X = m), and no less would do. From n to n+1: if n > 2m, the one
output that n+1 cannot give is z = n-m, of probability P(X = -m) = P(X = m). If n <= 2m, that value
is not shown: the event "nothing" has P(X <= m-n) against P(X <= m-n-1), and pairing each x of the
second sum with x+1 of the first leaves only x = -m, so the excess is at most P(X = m). With
P(X = m) = (1-a) a^m/(1 + a - 2 a^(m+1)) and a = e^-epsilon, solve P(X = m) <= delta for a^m.

The comparison has to be strict. "At least m" would show a key of one person with
P(X >= m-1) = (1 + e^epsilon) P(X = m): at (1, 1e-8) that is 2.62 delta.

Theorem 3. If one person is among the people of at most k keys, decide each key on its own with
epsilon/k and delta/k. Proof. Neighbouring tables differ in the counts of at most k keys, by one
each, and all other decisions have the same law; k independent (epsilon/k, delta/k)-private
decisions are (epsilon, delta)-private together (basic composition). A key that only one of the
tables has counts 0 in the other, where it is never shown, so the list of keys itself is no leak.
When a person is replaced, the two people touch at most 2k keys, by at most one each: the shares are
epsilon/(2k) and delta/(2k).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any, Literal, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputTypeError, ParameterError
from discreet.exact import Exact, Interval, exp, probability, shown, whole, written
from discreet.mechanisms.base import Mechanism, integer, kind_of, plain_array
from discreet.noise.geometric import power
from discreet.noise.law import Outcomes, smallest
from discreet.noise.sampler import two_sided
from discreet.noise.source import Source, system_source
from discreet.noise.table import CHUNK
from discreet.privacy.guarantee import ApproxDP, Neighbours, delta_of, epsilon_of, neighbours_of
from discreet.privacy.loss import ApproxLoss
from discreet.remembered import remembered

__all__ = ["LARGEST_TABLE", "SelectKeys"]

LARGEST_TABLE = 1 << 20
"""Entries of the table of probabilities beyond which an epsilon is refused as too small."""
_SHORT = 1 << 14
"""A threshold from which on a table takes megabytes."""
LARGEST_COUNT = 1 << 62
"""Counts in arrays are clamped to this: it brings neighbours no further apart."""
_WORD: Literal[64] = 64
_PRECISION = 128


@dataclass(frozen=True, slots=True, init=False, repr=False)
class SelectKeys(Mechanism):
    """Decide which keys of a private table may be shown, from the number of people per key.

    Guarantee. One call of `release`, with or without counts, is (epsilon, delta)-private; without
    counts no private rule shows any key more often (for `max_keys` = 1, but for a rounding in
    the 19th digit).
    Neighbours. As said in `neighbours`; a replaced person counts as two changes.
    Assumes. Each number counts *distinct people*, and one person is counted under at most
    `max_keys` keys: bound that before counting. Nothing is assumed about the keys.
    Proof. Theorems 1 to 3 at the top of this module.
    Tested by tests/mechanisms/test_keys.py

    Args:
        epsilon: the privacy parameter, exact as typed.
        delta: the probability with which a key of one single person may be shown, at most.
        max_keys: how many keys one person can be counted under.
        neighbours: "add_or_remove" or "replace".

    >>> keys = SelectKeys(epsilon=1, delta="1e-8")
    >>> keys.release({"common": 40, "rare": 0})
    ['common']
    >>> float(keys.probability(1)), keys.error(confidence=0.5), keys.sure_from
    (1e-08, 19, 37)
    """

    epsilon: Fraction
    delta: Fraction
    max_keys: int
    neighbours: Neighbours
    _rule: _Rule = field(compare=False)

    def __init__(
        self,
        *,
        epsilon: Exact,
        delta: Exact,
        max_keys: int = 1,
        neighbours: Neighbours = "add_or_remove",
    ) -> None:
        put = object.__setattr__
        put(self, "epsilon", epsilon_of(epsilon))
        put(self, "delta", delta_of(delta))
        put(self, "max_keys", whole(max_keys, name="max_keys", at_least=1, at_most=1 << 32))
        put(self, "neighbours", neighbours_of(neighbours))
        shares = self.max_keys * (2 if self.neighbours == "replace" else 1)
        put(self, "_rule", _rule(self.epsilon / shares, self.delta / shares))

    def __repr__(self) -> str:
        said = f"epsilon={written(self.epsilon)}, delta={written(self.delta)}"
        more = "" if self.max_keys == 1 else f", max_keys={self.max_keys}"
        return f"SelectKeys({said}{more}, neighbours={self.neighbours!r})"

    @property
    def guarantee(self) -> ApproxDP:
        """(Epsilon, delta)-differential privacy of one call of `release`."""
        return ApproxDP(self.epsilon, self.delta, self.neighbours)

    @property
    def privacy_loss(self) -> ApproxLoss:
        """An approximate bound, which is all that is known."""
        return ApproxLoss(neighbours=self.neighbours, epsilon=self.epsilon, delta=self.delta)

    @property
    def parts(self) -> int:
        """The keys whose counts one person changes: each takes a share of epsilon and delta."""
        return self.max_keys * (2 if self.neighbours == "replace" else 1)

    def probability(self, n: int) -> Fraction:
        """The exact probability with which `release` shows a key that n people share."""
        return self._rule.probability(integer(n))

    @property
    def sure_from(self) -> int:
        """The smallest number of people from which a key is always shown (without counts)."""
        return self._rule.sure_from

    @property
    def threshold(self) -> int:
        """With counts: a noisy count is shown if it is above this, strictly."""
        return self._rule.threshold

    def error(self, confidence: Exact = 0.95) -> int:
        """The smallest number of people that is shown with at least this probability."""
        return self._rule.smallest_shown(probability(confidence, name="confidence"))

    def law(self, value: int, *, counts: bool = False) -> Outcomes:
        """The exact law of what is released for one key that `value` people share.

        Without counts the outcomes are False and True; with counts they are None, for a key that
        is not shown, and the noisy count.
        """
        n = max(integer(value), 0)
        if counts:
            return self._rule.count_law(n)
        p = self._rule.probability(n)
        masses = [Interval.of(1 - p), Interval.of(p)]
        return Outcomes((False, True), lambda _: masses)

    def small_neighbours(self) -> Iterator[tuple[int, int]]:
        """All pairs n, n+1 of counts of one key, up to where it is surely shown either way."""
        return ((n, n + 1) for n in range(max(self.sure_from, 2 * self.threshold + 1) + 1))

    @overload
    def release(
        self,
        people_per_key: Mapping[Hashable, int],
        *,
        counts: Literal[False] = False,
        source: Source | None = None,
    ) -> list[Hashable]: ...
    @overload
    def release(
        self,
        people_per_key: Mapping[Hashable, int],
        *,
        counts: Literal[True],
        source: Source | None = None,
    ) -> dict[Hashable, int]: ...
    @overload
    def release(
        self, people_per_key: NDArray[Any], *, counts: bool = False, source: Source | None = None
    ) -> NDArray[Any]: ...
    def release(
        self, people_per_key: Any, *, counts: bool = False, source: Source | None = None
    ) -> Any:
        """Return the keys that may be shown; with `counts`, a noisy count for each of them.

        A dictionary gives a list of keys, or with counts a dictionary. Its order is that of the
        keys (by type, then by size for integers and by text for others), so it tells nothing about
        the data, provided that different keys have different texts.

        An integer array gives a boolean array, or with counts an int64 array that holds
        0 where the key may not be shown; the array's own length and order are then taken to be
        public. A number below 0 counts as 0, and is never shown.

        Each call is one release at full price: do not ask for the keys first and then for counts.
        """
        if source is None:
            source = system_source()
        if isinstance(people_per_key, np.ndarray):
            found = self._rule.released(_people(people_per_key), source, counts=counts)
            return found.reshape(people_per_key.shape)
        if not isinstance(people_per_key, Mapping):
            raise InputTypeError(
                "a dictionary from each key to its number of distinct people, or an array of such "
                "numbers, is needed here. Nothing was released"
            )
        inside = [min(max(integer(n), 0), LARGEST_COUNT) for n in people_per_key.values()]
        found = self._rule.released(np.array(inside, dtype=np.int64), source, counts=counts)
        kept = {key: n for key, n in zip(people_per_key, found.tolist(), strict=True) if n}
        ordered = sorted(kept, key=_place)
        return {key: kept[key] for key in ordered} if counts else ordered


def _place(key: Hashable) -> tuple[str, int, str]:
    """Where a key stands in the list of kept keys: it depends on nothing but the key."""
    size = int(key) if isinstance(key, int | np.integer) else 0
    return type(key).__qualname__, size, "" if isinstance(key, int) else f"{key}\0{key!r}"


def _people(values: NDArray[Any]) -> NDArray[Any]:
    """A flat int64 array of counts clamped to 0 .. 2^62; other types are refused by their type."""
    values = plain_array(values)
    if values.dtype.kind not in "iu":
        raise InputTypeError(
            f"an array of integers is needed here, not of {kind_of(values)}: the number of "
            "distinct people of each key. Nothing was released"
        )
    flat = values.reshape(-1)
    if flat.dtype == np.uint64:
        flat = np.minimum(flat, np.uint64(LARGEST_COUNT))
    return np.clip(flat.astype(np.int64), 0, LARGEST_COUNT)


class _Table(NamedTuple):
    """What decides for every number of people.

    Attributes:
        values: the probability p(n) in units of 2^-grid; the last is 2^grid.
        words: the first 64 bits of every p(n) below 1.
    """

    values: list[int]
    words: NDArray[Any]


@dataclass(frozen=True, slots=True)
class _Rule:
    """The decision for one key, with the share of epsilon and delta that it may spend.

    It holds no table: a price needs the threshold only, and who keeps many prices keeps little.
    """

    rate: Fraction
    delta: Fraction
    threshold: int

    @property
    def grid(self) -> int:
        """The probabilities are whole numbers in units of 2^-grid."""
        return max(_PRECISION, _WORD + int(1 / self.delta).bit_length())

    @property
    def table(self) -> _Table:
        """Every p(n) up to the first that is 1. Of long ones only the last that was needed is kept,
        and none for an asker apart.
        """
        return (_short if self.threshold < _SHORT else _long)(self)

    @property
    def sure_from(self) -> int:
        return _smallest(self, 1 << self.grid)

    def probability(self, n: int) -> Fraction:
        values = self.table.values
        return Fraction(values[min(max(n, 0), len(values) - 1)], 1 << self.grid)

    def smallest_shown(self, level: Fraction) -> int:
        scaled = level * (1 << self.grid)
        return _smallest(self, -(-scaled.numerator // scaled.denominator))

    def steps(self) -> Iterator[int]:
        """p(0), p(1) and so on, up to the first that is 1, each step rounded down (see Rounding at
        the top).
        """
        grid, epsilon, delta = self.grid, self.rate, self.delta
        precision = grid + int(1 / epsilon).bit_length()
        factor = max(exp(epsilon, precision + _WORD).lower, Fraction(1))
        r = (factor.numerator << precision) // factor.denominator  # in units of 2^-precision
        one = 1 << grid
        d = (delta.numerator << grid) // delta.denominator
        p = 0
        yield p
        while p < one:
            by_shown = (r * p >> precision) + d
            by_hidden = one + ((p + d - one) << precision) // r
            p = min(by_shown, by_hidden, one)
            yield p

    def released(self, people: NDArray[Any], source: Source, *, counts: bool) -> NDArray[Any]:
        """What is shown of each key, drawn in pieces that stay in the processor's cache."""
        out: NDArray[Any] = np.zeros(people.size, dtype=np.int64 if counts else np.bool_)
        draw = self.counted if counts else partial(self.shown, self.table)
        for start in range(0, people.size, CHUNK):
            out[start : start + CHUNK] = draw(people[start : start + CHUNK], source)
        return out

    def shown(self, table: _Table, people: NDArray[Any], source: Source) -> NDArray[Any]:
        """True with probability p(n): a uniform real U is below it.

        The first 64 bits of U decide unless they are those of p(n); then the rest of p(n) is
        compared with as many further bits of the same U. Where p(n) = 1 no bits are needed.
        """
        (values, words), more = table, self.grid - _WORD
        inside = np.minimum(people, len(values) - 1)
        high, u = words[inside], source.array(inside.size, _WORD)
        sure = inside == len(values) - 1
        shown: NDArray[Any] = (u < high) | sure
        for place in np.flatnonzero((u == high) & ~sure).tolist():
            shown[place] = source.bits(more) < values[int(inside[place])] % (1 << more)
        return shown

    def counted(self, people: NDArray[Any], source: Source) -> NDArray[Any]:
        """The noisy counts where they are above the threshold, strictly, else 0.

        The noise is two-sided geometric, drawn again while it is beyond the threshold: given that
        it is within, it has the truncated law. How often that happens does not depend on the data.
        """
        draws = two_sided(self.rate)
        noise = draws.chunk(people.size, source).astype(np.int64)
        again = np.flatnonzero(np.abs(noise) > self.threshold)
        while again.size:
            noise[again] = draws.chunk(again.size, source)
            again = again[np.abs(noise[again]) > self.threshold]
        noisy = people + noise
        return np.where(noisy > self.threshold, noisy, 0)

    def count_law(self, n: int) -> Outcomes:
        m = self.threshold
        shown = range(max(m + 1, n - m), n + m + 1)

        def masses(w: int) -> list[Interval]:
            each = [power(self.rate, x, w) for x in range(m + 1)]
            whole_sum = 2 * sum(each[1:], Interval.of(0)) + 1
            hidden = sum((each[abs(x)] for x in range(-m, min(m - n, m) + 1)), Interval.of(0))
            return [hidden / whole_sum, *(each[abs(z - n)] / whole_sum for z in shown)]

        return Outcomes((None, *shown), masses)


def _made(rule: _Rule) -> _Table:
    values, more = list(rule.steps()), rule.grid - _WORD
    return _Table(values, np.array([p >> more for p in values[:-1]] + [0], dtype=np.uint64))


_short = remembered(64, apart=4)(_made)
_long = remembered(1, apart=0)(_made)


@remembered(256)
def _smallest(rule: _Rule, wanted: int) -> int:
    """The smallest n with a p(n) of so many units, found without a table."""
    return next(n for n, p in enumerate(rule.steps()) if p >= wanted)


@remembered(256)
def _rule(epsilon: Fraction, delta: Fraction) -> _Rule:
    """The decision at a price; refused where its table would be too long."""
    threshold = _threshold(epsilon, delta)
    if not 2 * threshold < LARGEST_TABLE:  # p is 1 from about 2 m + 1 people on
        problem = (
            "per key is too small for this delta: a key would be sure to be shown from "
            f"{2 * threshold + 1} people on only, and the table of probabilities would be as long. "
            "Choose a larger epsilon or delta, or a smaller max_keys"
        )
        raise ParameterError("epsilon", shown(epsilon), problem)
    return _Rule(epsilon, delta, threshold)


def _threshold(epsilon: Fraction, delta: Fraction) -> int:
    """The smallest m with P(X = m) <= delta, decided by certified bounds.

    Equality would be a polynomial equation for e^epsilon with rational coefficients, which has no
    solution because e^epsilon is transcendental, so enough bits always decide.
    """

    def is_enough(m: int) -> bool:
        bits = _PRECISION
        while m > 0:
            base = exp(epsilon, bits)
            excess = exp(epsilon * m, bits) * (base + 1) * delta - (base - 1 + 2 * delta)
            if excess.lower >= 0 or excess.upper < 0:
                return excess.lower >= 0
            bits *= 2
        return False

    return smallest(is_enough, start=1)
