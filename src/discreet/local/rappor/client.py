"""The client: permanent and instantaneous responses, and the exact law of a report.

Permanent response (PRR). Each bit of the Bloom filter is replaced with probability f by a fair
coin, once and for all: the coins come from a secret of the client and from the filter, so that the
same value has the same permanent response for ever, and nothing need be stored.

* compatible: byte i of HMAC-SHA256(secret, filter as four bytes, big end first) decides bit i: its
  lowest bit is the coin, and the coin is used where the other seven bits are below 128 f. These are
  the bits of the original clients. f must be a multiple of 1/128 and k at most 32.
* exact: HMAC-SHA256(secret, a label and the filter) is the key of an AES-256 counter stream, and
  the coins are exact ones made from it: any rational f, any k.

Instantaneous response (IRR). A permanent 0 is reported as 1 with probability p, a permanent 1 with
probability q, by fresh exact coins: k coins of p, then k coins of q, from bit 0 on.

Tested by tests/local/rappor/test_client.py
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations

from discreet.errors import InputTypeError, ParameterError
from discreet.exact import Interval, shown, whole
from discreet.local.rappor import cost
from discreet.local.rappor.bloom import Candidates, bloom_integer
from discreet.local.rappor.params import Params
from discreet.noise.law import Outcomes
from discreet.noise.source import KeyedSource, Source, system_source
from discreet.privacy.guarantee import PureDP

__all__ = ["SHORTEST_SECRET", "Client", "OneReport", "instantaneous", "permanent"]

SHORTEST_SECRET = 16
"""Bytes: a secret that can be guessed is none. The original's examples have six: `permanent` and
`instantaneous` reproduce those, and no client is made with them."""
_LABEL = b"discreet.rappor.permanent.1"
_LARGEST_LAW = 10


def permanent(bloom: int, secret: bytes, params: Params, *, compatible: bool = False) -> int:
    """The permanent response to a Bloom filter: always the same for the same secret.

    Law. Over a uniform secret, each bit is 1 with probability 1 - f/2 where the filter has a 1 and
    f/2 where it has a 0, independently. Assumes that HMAC-SHA256 (and, in the exact mode, AES-256)
    cannot be told from a random function.
    """
    filled = whole(bloom, name="bloom", at_least=0, at_most=(1 << params.k) - 1)
    coins = _compatible_coins if compatible else _exact_coins
    noisy, uniform = coins(filled, secret, params)
    return (filled & ~noisy) | (uniform & noisy)


def _compatible_coins(bloom: int, secret: bytes, params: Params) -> tuple[int, int]:
    """Which bits are replaced, and the coins that replace them, as the original clients do."""
    if not params.is_compatible:
        nearest = f"; the original clients take f = {params.compatible().f} for it"
        problem = f"must be a multiple of 1/128 for compatible reports{nearest}"
        raise ParameterError("f", shown(params.f), problem)
    digest = hmac.new(secret, bloom.to_bytes(4, "big"), hashlib.sha256).digest()
    limit = int(params.f * 128)
    noisy = uniform = 0
    for bit in range(params.k):
        uniform |= (digest[bit] & 1) << bit
        noisy |= (digest[bit] >> 1 < limit) << bit
    return noisy, uniform


def _exact_coins(bloom: int, secret: bytes, params: Params) -> tuple[int, int]:
    """Which bits are replaced, and the coins that replace them, by exact coins."""
    filled = bloom.to_bytes((params.k + 7) // 8, "big")
    message = b"|".join((_LABEL, str(params.k).encode(), filled))
    source = KeyedSource(hmac.new(secret, message, hashlib.sha256).digest())
    return _coins(params.f, params.k, source), source.bits(params.k)


def instantaneous(prr: int, params: Params, *, source: Source | None = None) -> int:
    """A fresh report of a permanent response.

    Law. Each bit is 1 with probability q where the permanent bit is 1 and p where it is 0,
    independently of each other and of everything before; exactly so.
    """
    kept = whole(prr, name="prr", at_least=0, at_most=(1 << params.k) - 1)
    if source is None:
        source = system_source()
    zeros = _coins(params.p, params.k, source)
    ones = _coins(params.q, params.k, source)
    return (zeros & ~kept) | (ones & kept)


def _coins(chance: Fraction, k: int, source: Source) -> int:
    found = 0
    for bit in range(k):
        found |= source.flip(chance) << bit
    return found


@dataclass(frozen=True, slots=True)
class Client:
    """One person's client: reports words so that no report is evidence.

    Guarantee. One report is epsilon-differentially private with `guarantee`; any number of
    reports of one value together with `forever`. Both are upper bounds and tight (for k >= 2h).
    Neighbours. "replace": the person's word is replaced by any other. That the person reports, how
    often, and the cohort are seen. Several words add up only where the pattern of changes is
    public: see `discreet.local.rappor.cost`.
    Assumes. The secret is uniform, known to nobody else and kept for ever; a client that loses it
    draws a new permanent response, which costs `forever` again.
    Proof. At the top of `discreet.local.rappor.cost`.
    Tested by tests/local/rappor/test_client.py

    >>> client = Client(Params(k=8, h=1, m=4), secret=bytes(16), cohort=2)
    >>> 0 <= client.report("apple") < 256
    True
    >>> client.prr("apple") == client.prr("apple")
    True
    """

    params: Params
    secret: bytes = field(repr=False)
    cohort: int
    compatible: bool = False
    values: Candidates | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        whole(self.cohort, name="cohort", at_least=0, at_most=self.params.m - 1)
        given: object = self.secret
        if not isinstance(given, bytes) or not len(given) >= SHORTEST_SECRET:
            problem = f"must be at least {SHORTEST_SECRET} bytes that nobody can guess"
            raise ParameterError("secret", None, problem)
        if self.compatible:
            permanent(0, self.secret, self.params, compatible=True)
        if self.values is not None:
            self.values.check(self.params)
            most = 1 if self._one_hot else self.params.h  # with more, a report would cost more
            if self.values.bits.sum(axis=2).max() > most:
                problem = f"must give each word at most {most} of the bits of a cohort"
                raise ParameterError("the map", None, problem)

    @property
    def guarantee(self) -> PureDP:
        """What one report promises."""
        return cost.guarantee(cost.one_report(self.params, one_hot=self._one_hot))

    @property
    def forever(self) -> PureDP:
        """What any number of reports of one value promise together."""
        return cost.guarantee(cost.forever(self.params, one_hot=self._one_hot))

    @property
    def _one_hot(self) -> bool:
        return self.values is not None and not self.values.hashed

    def bloom(self, word: str) -> int:
        """The Bloom filter of a word in this client's cohort; private."""
        if self.values is not None:
            return self.values.integer(word, self.cohort)
        return bloom_integer(word, self.cohort, self.params)

    def prr(self, word: str) -> int:
        """The permanent response; private as long as further reports are to be made of it."""
        return permanent(self.bloom(word), self.secret, self.params, compatible=self.compatible)

    def report(self, word: str, *, source: Source | None = None) -> int:
        """A report of a word: an integer whose bit i is the reported bit i."""
        given: object = word
        if not isinstance(given, str):
            raise InputTypeError("a word must be text. Nothing was released")
        return instantaneous(self.prr(word), self.params, source=source)


@dataclass(frozen=True, slots=True)
class OneReport:
    """The exact law of n reports of one value, for an audit: small k only.

    The input is a Bloom filter with at most h bits, as an integer. `dp.audit.verify` enumerates all
    pairs of filters and all sequences of reports.
    """

    params: Params
    reports: int = 1

    def __post_init__(self) -> None:
        whole(self.reports, name="reports", at_least=1)
        if not self.params.k * self.reports <= _LARGEST_LAW:
            problem = f"times reports must be at most {_LARGEST_LAW} to be enumerated"
            raise ParameterError("k", self.params.k, problem)

    @property
    def guarantee(self) -> PureDP:
        """What is promised."""
        return cost.guarantee(cost.reports(self.params, self.reports))

    def law(self, value: int) -> Outcomes:
        """The law of the reports, as integers of k bits for each, the first report lowest."""
        n, k = self.reports, self.params.k
        outcomes = range(1 << n * k)
        chances = [_bit_law(bool(value >> bit & 1), self.params, n) for bit in range(k)]

        def mass(outcome: int) -> Interval:
            total = Fraction(1)
            for bit, chance in enumerate(chances):
                ones = sum(outcome >> (turn * k + bit) & 1 for turn in range(n))
                total *= chance(ones)
            return Interval.of(total)

        masses = [mass(outcome) for outcome in outcomes]
        return Outcomes(outcomes, lambda _: masses)

    def small_neighbours(self) -> Iterator[tuple[int, int]]:
        """All pairs of filters with one to h bits."""
        filters = [x for x in range(1 << self.params.k) if 1 <= x.bit_count() <= self.params.h]
        return combinations(filters, 2)


def _bit_law(filled: bool, params: Params, n: int) -> Callable[[int], Fraction]:  # noqa: FBT001
    """The chance of one sequence of n reported bits with so many ones."""
    one = 1 - params.f / 2 if filled else params.f / 2

    def chance(ones: int) -> Fraction:
        from_one = params.q**ones * (1 - params.q) ** (n - ones)
        from_zero = params.p**ones * (1 - params.p) ** (n - ones)
        return one * from_one + (1 - one) * from_zero

    return chance
