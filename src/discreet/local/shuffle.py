"""Shuffling: what reports promise once nobody can tell whose is whose.

n people randomise a value each, with eps0-differential privacy, and a shuffler that is trusted with
this alone puts the n reports into random order. A person hides among the others: (epsilon, delta)
with a far smaller epsilon.

Theorem 1, any randomizer (Feldman, McMillan and Talwar 2021). Let E = e^eps0, x and x' the two
values of the person who is replaced, and R the law of a report. Every other person's R(y) is at
least 1/E times R(x) and R(x'), so it is R(x)/2 + R(x')/2 with probability 1/E (a clone), and
something else otherwise. And R(x) = (E U + V)/(E + 1), R(x') = (U + E V)/(E + 1) for two laws U, V,
because R is eps0-private. Show who is no clone and what they report: that tells more. What is left
are the numbers of U and V among C clones and the person, C ~ Bin(n - 1, 1/E), which is the pair of
`discreet.local.clones`.

Theorem 2, k-ary randomized response (the truth with probability E/(E+k-1), each other category with
1/(E+k-1)). Every other person reports x and x' with probability at least 1/(E+k-1) each: a clone
with probability 2/(E+k-1), uniform on the two. The person reports x or x' with probability
s = (E+1)/(E+k-1), of which E/(E+1) fall on the true one, and another category in a way that does
not depend on which of the two is true. Show who is no clone, what they report, and whether the
person reported another category: then nothing is told with probability 1 - s, and the pair of the
clones remains with probability s, so delta is s times its delta, C ~ Bin(n - 1, 2/(E+k-1)). For
k = 2, s = 1.

Theorem 2 is not exact: showing who is no clone costs about a factor sqrt(2 E/(E + 1)) against what
an attack achieves for k = 2 (the tests compute it). No better bound is proved here.

What is not used. The general theorem of the follow-up of 2023 (clones with probability 2/(E+1) for
any randomizer) has a published erratum: it does not hold for all. For k = 2 it is Theorem 2. And
the last step of Theorem 2 cannot be spared: if one hides whether the person reported another
category, what the others report there tells it, and the smaller delta that results is exceeded (the
tests hold the example: k = 3, three people, E = 2, e^epsilon = 3/2: 5/128 against 4/128).

Tested by tests/local/test_shuffle.py
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from discreet.errors import ParameterError, UnsupportedError
from discreet.exact import Exact, Interval, certify, exp, log, probability, shown, sqrt, whole
from discreet.exact.interval import round_down, round_up
from discreet.local.clones import Clones, hidden
from discreet.local.response import KaryResponse
from discreet.local.subset import SubsetSelection
from discreet.mechanisms.response import RandomizedResponse
from discreet.privacy.guarantee import ApproxDP, PureDP, epsilon_of

__all__ = ["MOST_PEOPLE", "ShuffledDP", "closed_form", "shuffled"]

MOST_PEOPLE = 10**8
"""The bound for so many people is stated for more of them too: more people hide better."""
_BITS = 128
_GRID = 40


@dataclass(frozen=True, slots=True, init=False)
class ShuffledDP(ApproxDP):
    """What shuffled reports promise, and why.

    Guarantee. (Epsilon, delta)-differential privacy of the shuffled reports of `n` people, where a
    person's value is replaced by any other; epsilon is rounded up.
    Assumes. Everybody uses the same randomizer, once; the shuffler permutes the reports uniformly
    and shows nothing else (no addresses, no times); `n` counts honest people only: those who tell
    the analyst their own report hide nobody.
    Proof. At the top of this module.
    Tested by tests/local/test_shuffle.py

    Attributes:
        n: how many people.
        lower: how tight the evaluation is: at this epsilon the theorem's own delta is certainly
            larger than the one asked. (A better theorem might do better.)
        why: which theorem was used, in words.
    """

    n: int
    lower: Fraction = field(compare=False)
    why: str = field(compare=False)

    def __init__(
        self, epsilon: Exact, delta: Exact, *, n: int, lower: Fraction = Fraction(0), why: str = ""
    ) -> None:
        ApproxDP.__init__(self, epsilon, delta, "replace")
        object.__setattr__(self, "n", n)
        object.__setattr__(self, "lower", lower)
        object.__setattr__(self, "why", why)


def shuffled(reports: Any, *, n: Exact, delta: Exact) -> ShuffledDP:
    """What is promised when the reports of n people are shuffled before anybody sees them.

    Args:
        reports: the guarantee of one report (a `dp.PureDP` under replacement), or the mechanism,
            oracle or `dp.local.Frequency` that every person uses. Randomized response has a better
            bound than its guarantee alone, and so have oracles that are nothing else (k-ary
            response, subsets of one).
        n: how many honest people send one report each.
        delta: the delta of the promise.

    >>> from discreet.privacy.guarantee import PureDP
    >>> found = shuffled(PureDP(4, "replace"), n=100_000, delta="1e-6")
    >>> round(float(found.epsilon), 4)
    0.1698
    >>> better = shuffled(RandomizedResponse(epsilon=4), n=100_000, delta="1e-6")
    >>> round(float(better.epsilon), 4)
    0.1182
    >>> same = shuffled(KaryResponse(2, 4), n=100_000, delta="1e-6")
    >>> round(float(same.epsilon), 4)
    0.1182
    """
    people = whole(n, name="n", at_least=1)
    share = probability(delta, name="delta")
    promise, coins = _read(reports)
    others = min(people, MOST_PEOPLE) - 1
    candidates = [_Bound("Theorem 1 (any randomizer)", lambda low: _general(promise, others, low))]
    if coins is not None:
        ratio, k = coins
        name = f"Theorem 2 ({'binary' if k == 2 else f'{k}-ary'} randomized response)"
        candidates.append(_Bound(name, lambda low: _k_ary(ratio, k, others, low)))
    found = [_solve(bound.pair, share, promise.epsilon) for bound in candidates]
    best = min(range(len(found)), key=lambda place: found[place][1])
    lower, upper = found[best]
    why = _why(candidates[best].name, upper, promise, people, others + 1)
    if len(found) > 1:
        other = found[1 - best][1]
        why += f" {candidates[1 - best].name} would give {float(other):.6g}."
    return ShuffledDP(upper, share, n=people, lower=lower, why=why)


@dataclass(frozen=True, slots=True)
class _Bound:
    """A theorem's name, and its pair for E rounded down (True) or up (False)."""

    name: str
    pair: Callable[[bool], Clones]


def _why(name: str, epsilon: Fraction, promise: PureDP, n: int, counted: int) -> str:
    said = (
        f"one report promises epsilon {shown(promise.epsilon)}; shuffled among {n:,} people, "
        f"{name} gives {float(epsilon):.6g}."
    )
    return said if n == counted else f"{said} It was evaluated for {counted:,} people."


def _read(reports: Any) -> tuple[PureDP, tuple[Fraction, int] | None]:
    """The promise of one report, and E and k where it is symmetric randomized response."""
    promise = reports if isinstance(reports, PureDP) else getattr(reports, "guarantee", None)
    if not isinstance(promise, PureDP):
        raise UnsupportedError(
            "shuffled needs the pure guarantee of one report, such as dp.PureDP(1, 'replace'), or "
            "a mechanism that has one"
        )
    if promise.neighbours != "replace":
        problem = "must be 'replace': in the local model a person's value is replaced by another"
        raise ParameterError("neighbours", promise.neighbours, problem)
    oracle = getattr(reports, "oracle", reports)
    if isinstance(oracle, KaryResponse) or (
        isinstance(oracle, SubsetSelection) and oracle.size == 1
    ):
        return promise, (oracle.ratio, oracle.domain.size)
    coins = getattr(reports, "coins", reports)
    if isinstance(coins, RandomizedResponse):
        rows = coins.kernel
        truth, other = rows[0][0], rows[0][1]
        even = all(
            p == (truth if x == y else other) for x, r in enumerate(rows) for y, p in enumerate(r)
        )
        if even and truth >= other:
            return promise, (truth / other, len(rows))
    return promise, None


def _general(promise: PureDP, others: int, low: bool) -> Clones:  # noqa: FBT001
    bits = _BITS + promise.epsilon.denominator.bit_length()
    found = exp(promise.epsilon, bits)
    factor = _to_grid(found.lower if low else found.upper, bits, low=low)
    return Clones(others, factor, 1 / factor)


def _k_ary(ratio: Fraction, k: int, others: int, low: bool) -> Clones:  # noqa: FBT001
    """More coins make a smaller E from a larger one, so E may be rounded up here too."""
    factor = _to_grid(ratio, _BITS + _smallness(ratio), low=low)
    if not factor > 1:
        return Clones(others, Fraction(1), Fraction(1, 2))
    return Clones(others, factor, 2 / (factor + k - 1), (factor + 1) / (factor + k - 1))


def _smallness(factor: Fraction) -> int:
    """How many bits a factor near 1 needs to be told from it."""
    return math.ceil(1 / (factor - 1)).bit_length() if factor > 1 else 0


def _to_grid(value: Fraction, bits: int, *, low: bool) -> Fraction:
    return max(round_down(value, bits), Fraction(1)) if low else round_up(value, bits)


def _solve(
    bound: Callable[[bool], Clones], delta: Fraction, largest: Fraction
) -> tuple[Fraction, Fraction]:
    """An epsilon that holds with the pair rounded up, and one that fails with it rounded down."""
    size = math.ceil(-_log(delta) / math.log(2)) + 1
    pairs = {low: bound(low) for low in (True, False)}
    factor = pairs[False].factor
    w = _BITS + 2 * size + 2 * _smallness(factor) + int(factor).bit_length()

    def evaluate(epsilon: Fraction, *, low: bool = False) -> Interval:
        found = exp(epsilon, w)
        e = round_up(found.upper, w) if low else round_down(found.lower, w)
        return hidden(pairs[low], max(e, Fraction(1)), w=w, keep=size + 48)

    if evaluate(Fraction(0)).upper <= delta:
        return Fraction(0), Fraction(0)
    guess = _search(
        lambda x: _log(evaluate(Fraction(x)).upper), _log(delta), float(largest), pairs[False]
    )
    return _certified(evaluate, guess, delta, largest)


def _certified(
    evaluate: Callable[..., Interval], guess: float, delta: Fraction, largest: Fraction
) -> tuple[Fraction, Fraction]:
    """Step away from the guess, further and further, until both sides are certain."""
    step = Fraction(1, 1 << 32)
    while True:
        upper = min(round_up(Fraction(guess) * (1 + step), _GRID), largest)
        if upper == largest or evaluate(upper).upper <= delta:
            break
        step *= 16
    step = Fraction(1, 1 << 32)
    while step < 1:
        lower = round_down(Fraction(guess) * (1 - step), _GRID)
        if evaluate(lower, low=True).lower > delta:
            return lower, upper
        step *= 16
    return Fraction(0), upper


def _search(
    log_delta: Callable[[float], float], target: float, largest: float, pair: Clones
) -> float:
    """A float near the root: secants of sqrt(-log delta), which is nearly a line in epsilon."""
    factor, clones = (
        float(min(pair.factor, Fraction(10**300))),
        max(float(pair.others * pair.chance), 1.0),
    )
    shift = 2 * (factor - 1) / (factor + 1) / math.sqrt(clones)
    goal, low, high = math.sqrt(-target), 0.0, largest
    x = min(shift * math.sqrt(-2 * target), largest / 2)
    before: tuple[float, float] | None = None
    for _ in range(60):
        height = math.sqrt(max(-log_delta(x), 0.0))
        low, high = (x, high) if height < goal else (low, x)
        if before is not None and height != before[1]:
            new = x + (goal - height) * (x - before[0]) / (height - before[1])
        else:
            new = x * goal / height if height else high
        before = (x, height)
        inside = low < new < high
        new = new if inside else (low + high) / 2
        if abs(new - x) <= 1e-10 * x:
            return new
        x = new
    return x


def _log(value: Fraction) -> float:
    """The natural logarithm of a rational of any size, as a float."""
    return math.log(value.numerator) - math.log(value.denominator) if value > 0 else -math.inf


def closed_form(epsilon: Exact, *, n: Exact, delta: Exact) -> ApproxDP | None:
    """The closed form of Theorem 1, rounded up; None where it says nothing. For comparison.

    ln(1 + (E-1)/(E+1) (8 sqrt(E ln(4/delta))/sqrt(n) + 8 E/n)) for eps0 <= ln(n/(16 ln(2/delta))).
    (0.538 is also found for the example below; a factor of (1 - 1/E)/(1 + e^-epsilon/E) before the
    bracket instead of (1 - 1/E)/(1 + 1/E) would explain it.)

    >>> found = closed_form(4, n=100_000, delta="1e-6")
    >>> round(float(found.epsilon), 3)
    0.535
    """
    asked, share = epsilon_of(epsilon), probability(delta, name="delta")
    people = whole(n, name="n", at_least=1)
    factor = exp(asked, _BITS)
    if not factor.upper * 16 * log(2 / share, _BITS).upper <= people:
        return None
    under = factor * log(4 / share, _BITS) / people
    root = Interval(sqrt(under.lower, _BITS).lower, sqrt(under.upper, _BITS).upper)
    inner = 1 + (factor - 1) / (factor + 1) * (8 * root + 8 * factor / people)
    bound = certify(lambda w: log(inner, w), 30).upper
    return ApproxDP(min(round_up(bound, _BITS), asked), share, "replace")
