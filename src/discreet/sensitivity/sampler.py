"""Estimate a sensitivity by drawing pairs of neighbours from an assumed distribution.

What comes out is *random* differential privacy: a promise about random data, and not about the
worst case. It is never a plain sensitivity, and the type says so: an estimate is no number.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import total_ordering
from typing import Any, ClassVar

import numpy as np

from discreet.errors import InputTypeError, ParameterError, RangeError
from discreet.exact import Exact, shown, whole
from discreet.noise.source import Source, system_source
from discreet.privacy.guarantee import Neighbours, neighbours_of
from discreet.sensitivity.mechanism import RandomMechanism, random_mechanism
from discreet.sensitivity.norms import Norm, Number, as_norm, real, size_of
from discreet.sensitivity.oracle import Oracle
from discreet.sensitivity.plan import Bound, plan_of

__all__ = ["Sampled", "SensitivityEstimate", "sample_sensitivity"]

Query = Callable[[Any], Any]


@total_ordering
@dataclass(frozen=True, slots=True, eq=False)
class Sampled:
    """A sampled number. It compares with numbers and prints, but no mechanism takes it for one.

    Whoever writes `float(...)` around it leaves the guarantee behind: what is scaled to a sampled
    number is random differential privacy, and `SensitivityEstimate.mechanism` says so.
    """

    number: Number

    def __float__(self) -> float:
        return float(self.number)

    def __eq__(self, other: object) -> bool:
        return self.number == (other.number if isinstance(other, Sampled) else other)

    def __lt__(self, other: Sampled | Number) -> bool:
        return self.number < (other.number if isinstance(other, Sampled) else other)

    def __hash__(self) -> int:
        return hash(self.number)

    def __str__(self) -> str:
        return f"{float(self.number):.6g} (sampled)"


@dataclass(frozen=True, slots=True)
class SensitivityEstimate:
    """A sampled sensitivity. It is no number; `mechanism` is the only way to noise.

    Guarantee. Without `confidence`: draw one real pair of neighbours. With probability at least
    1 - gamma, over the sampler and that pair jointly, its answers are at most `value` apart. With
    `confidence`: with that probability over the sampler alone, at most a share gamma of all pairs
    is further apart than `value`. For each of the n records at once: `for_all_records`.
    Assumes. Real records are independent, come from the oracle's distribution, and had no part in
    the sampling.
    Proof. In `discreet.sensitivity.plan`.
    Tested by tests/sensitivity/test_sampler.py

    Attributes:
        value: the k-th smallest of the m sampled distances.
        mean: their mean.
        numbers: how many numbers one answer of the query has.
    """

    value: Sampled
    mean: float
    m: int
    k: int
    gamma: Fraction
    confidence: Fraction | None
    bound: Bound
    n: int
    norm: str
    every_record: bool
    neighbours: Neighbours
    numbers: int
    kind: ClassVar[str] = "random-DP"

    def __post_init__(self) -> None:
        given: Any = self.value
        object.__setattr__(self, "value", given if isinstance(given, Sampled) else Sampled(given))

    def __str__(self) -> str:
        who = "all records at once" if self.every_record else "one record"
        sure = "" if self.confidence is None else f", at confidence {shown(self.confidence)}"
        return (
            f"{float(self.value):.6g} in the {self.norm} norm, from {self.m} sampled pairs: random "
            f"differential privacy with gamma {shown(self.gamma)} for {who}{sure}"
        )

    @property
    def joint_gamma(self) -> Fraction:
        """The gamma over the sampler and the real pair jointly.

        In the two-level form it is gamma + (1 - confidence), by the union bound: either the
        sampler is one of the bad ones, or it is good and the pair is one of a share gamma.
        """
        return self.gamma if self.confidence is None else self.gamma + 1 - self.confidence

    def for_all_records(self) -> Fraction:
        """The gamma for which all n records are covered at once (at the same `confidence`).

        With `every_record` that was sampled, and it is gamma. Otherwise it is at most n gamma, by
        the union bound over the records: 1, that is no promise, for most n.
        """
        return self.gamma if self.every_record else min(Fraction(1), self.n * self.gamma)

    def mechanism(
        self, maker: Callable[..., Any], *, epsilon: Exact, **more: Any
    ) -> RandomMechanism:
        """A mechanism with this sensitivity, such as `mechanism(dp.Laplace, epsilon=1, grid=1)`.

        Its guarantee is `RandomDP(epsilon, joint_gamma)`. `more` is handed to the maker. An answer
        of several numbers needs the L1 norm and `changes`, unless the mechanism only selects.
        """
        return random_mechanism(self, maker, epsilon, more)


def sample_sensitivity(  # noqa: PLR0913
    query: Query,
    norm: Norm | str,
    oracle: Oracle,
    n: int,
    *,
    gamma: Exact | None = None,
    m: int | None = None,
    confidence: Exact | None = None,
    bound: Bound = "exchangeable",
    every_record: bool = False,
    neighbours: Neighbours = "replace",
    source: Source | None = None,
) -> SensitivityEstimate:
    """Draw m pairs of neighbouring datasets from the oracle; take a high distance between answers.

    Guarantee. Without `confidence`: P(one real pair is further apart than the value) <= gamma, over
    the sampler AND the one random real pair jointly. It is not a promise about the value that came
    out: given that value the true share of worse pairs exceeds 1/(m+1) with chance about 0.37. With
    `confidence` it is: with that probability over the sampler, at most a share gamma of pairs is
    further apart. The real pair is n records and a replacement for a random one of them; for all n
    records the union bound gives n gamma, and `every_record=True` samples the largest distance
    over all of them instead.
    Assumes. Real records are independent draws from the oracle's distribution, and independent of
    the sampler. Resampled private data is not.
    Proof. The m sampled distances and the real one are exchangeable. With ties broken at random the
    rank of the real one is uniform on 1..m+1, and to exceed the k-th smallest it needs a rank above
    k: chance (m+1-k)/(m+1), and ties only help. With `confidence`: let q be the (1-gamma)-quantile.
    The value is below q only if k of m draws are, each with chance at most 1-gamma: at most
    1 - BinomialCDF(k-1; m, 1-gamma) <= 1 - confidence. In full in `discreet.sensitivity.plan`.
    Tested by tests/sensitivity/test_sampler.py

    Args:
        query: takes n records, an array or a list as the oracle gives them.
        norm: "L1", "L2", "Linf", or anything with `name` and `between`.
        oracle: the assumed distribution of one record; anything with `draw(size, source)`.
        n: how many records the real dataset has; public.
        gamma: the share of pairs that may be worse. Alone: the fewest pairs that promise it.
        m: how many pairs to draw. Alone: the smallest gamma that they promise. With gamma: the
            smallest rank k, and so the smallest value, that promises it.
        confidence: asks for the two-level form.
        bound: "exchangeable", or "dkw" for the bound of Rubinstein and Alda 2017: 70 times as many
            pairs for the same gamma; it is here for comparison.
        every_record: promise for all n records at once; takes n + 1 queries for each of the m.
        neighbours: "replace", which is what the pairs are.
        source: for tests; the default is the system's randomness.

    >>> from discreet.sensitivity import L1, Normal
    >>> estimate = sample_sensitivity(lambda data: data.mean(), L1(), Normal(0, 1), 100, gamma=0.05)
    >>> estimate.m, estimate.k, estimate.gamma
    (19, 19, Fraction(1, 20))
    """
    if neighbours_of(neighbours) != "replace":
        raise ParameterError(
            "neighbours", neighbours, "must be 'replace': the sampled pairs are replacements"
        )
    size = whole(n, name="n", at_least=1)
    plan = plan_of(gamma=gamma, m=m, confidence=confidence, bound=bound)
    random = system_source() if source is None else source
    distance = as_norm(norm)
    if not callable(getattr(oracle, "draw", None)):
        raise ParameterError(
            "oracle",
            type(oracle).__name__,
            "must be a distribution such as dp.sensitivity.Normal(170, 10): what it draws must not "
            "be the private data",
        )
    sample = _Sample(query, distance, oracle, size, random)
    draw = sample.every_record if every_record else sample.one_record
    distances = sorted(draw() for _ in range(plan.m))
    return SensitivityEstimate(
        value=Sampled(distances[plan.k - 1]),
        mean=math.fsum(distance / plan.m for distance in distances),
        m=plan.m,
        k=plan.k,
        gamma=plan.gamma,
        confidence=plan.confidence,
        bound=plan.bound,
        n=size,
        norm=distance.name,
        every_record=bool(every_record),
        neighbours="replace",
        numbers=sample.numbers,
    )


@dataclass(slots=True)
class _Sample:
    """Draws of one distance."""

    query: Query
    norm: Norm
    oracle: Oracle
    n: int
    source: Source
    numbers: int = 0

    def one_record(self) -> Number:
        """N records, one more, and a random place for it: the distance of this pair.

        The place is random so that the union bound over all places holds for queries that look at
        the order of their records too.
        """
        records = self._records(self.n + 1)
        data, place = records[: self.n], self.source.below(self.n)
        return self._distance(self._answer(data), _replaced(data, place, records[self.n]))

    def every_record(self) -> Number:
        """N records and a replacement for each: the largest distance of these n pairs."""
        records = self._records(2 * self.n)
        data, fresh = records[: self.n], records[self.n :]
        answer = self._answer(data)
        return max(
            self._distance(answer, _replaced(data, place, fresh[place])) for place in range(self.n)
        )

    def _records(self, size: int) -> Any:
        records = self.oracle.draw(size, self.source)
        records = records if isinstance(records, np.ndarray) else list(records)
        if len(records) != size:
            raise InputTypeError(f"the oracle was asked for {size} records and gave another number")
        return records

    def _answer(self, data: Any) -> Any:
        answer = self.query(data.copy())  # a query may sort in place
        if not self.numbers:
            self.numbers = size_of(answer)
        return answer

    def _distance(self, answer: Any, other: Any) -> Number:
        distance = real(self.norm.between(answer, self.query(other)))
        if not distance >= 0:
            raise InputTypeError("a norm must be at least 0; nothing was released")
        if not distance <= sys.float_info.max:
            raise RangeError("two answers are too far apart for a float; nothing was released")
        return distance


def _replaced(data: Any, place: int, record: Any) -> Any:
    changed = data.copy()
    changed[place] = record
    return changed
