"""What `discreet audit` audits: every mechanism at several parameters, and every sampler.

A new mechanism is added here; `tests/audit/test_catalogue.py` fails while one is missing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from discreet.audit.exact import Auditable
from discreet.audit.walk import Walk, walk, walk_table
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.geometric import Geometric
from discreet.mechanisms.keys import SelectKeys
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.rejection import RejectionGeometric
from discreet.mechanisms.response import RandomizedResponse
from discreet.mechanisms.selection import Exponential, NoisyMax, PermuteAndFlip, TopK
from discreet.mechanisms.sparse import AboveThreshold
from discreet.mechanisms.staircase import Staircase
from discreet.noise import coins, reference
from discreet.noise.categorical import BernoulliExp, Uniform
from discreet.noise.coarsening import DifferenceCoin
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.geometric import BlockedGeometric, TruncatedGeometric, TwoSidedGeometric
from discreet.noise.geometric import Geometric as OneSidedGeometric
from discreet.noise.law import Law
from discreet.noise.polya import Logarithmic, Poisson, cluster_attempt
from discreet.noise.source import Source
from discreet.noise.staircase import IntegerStaircase
from discreet.noise.table import inversion

__all__ = ["SamplerCase", "mechanisms", "samplers"]


def mechanisms() -> list[Auditable]:
    """Every mechanism, at the parameters that are audited."""
    return [
        *(Geometric(epsilon=epsilon) for epsilon in ("1e-9", "0.01", "0.1", 1, 4, 100)),
        Geometric(epsilon=2, sensitivity=3),
        Geometric(epsilon=1, sensitivity=1 << 40),
        *(Geometric(epsilon=epsilon, bounds=(0, 30)) for epsilon in ("0.01", "0.1", 1)),
        *(Geometric(epsilon=e, bounds=(0, 30), constant_time=True) for e in ("0.01", "0.1", 1)),
        *(RejectionGeometric(epsilon=epsilon, bounds=(0, 20)) for epsilon in ("0.1", 1)),
        *(Staircase(epsilon=epsilon, sensitivity=5) for epsilon in ("0.5", 2)),
        Laplace(epsilon=1, sensitivity="0.5", grid="1/16"),
        Laplace(epsilon=1, sensitivity="0.3", grid="0.25"),
        Gaussian(rho="0.1"),
        Gaussian(epsilon=1, delta="1e-6"),
        Gaussian(epsilon="0.5", delta="1e-6", sensitivity=2),
        RandomizedResponse(epsilon=1, categories=("yes", "no")),
        RandomizedResponse(epsilon=1, categories=("a", "b", "c", "d")),
        RandomizedResponse(truth="1/2", categories=("yes", "no")),
        RandomizedResponse(truth="0.99", otherwise=("0.9", "0.1"), categories=("yes", "no")),
        *(Exponential(epsilon=1, monotone=monotone) for monotone in (False, True)),
        *(PermuteAndFlip(epsilon=1, monotone=monotone) for monotone in (False, True)),
        *(NoisyMax(epsilon=1, monotone=monotone) for monotone in (False, True)),
        TopK(epsilon=1, k=2),
        AboveThreshold(epsilon=1, threshold=3),
        AboveThreshold(epsilon=1, threshold=3, answers=2, monotone=True),
        SelectKeys(epsilon=1, delta="1e-8"),
        SelectKeys(epsilon=1, delta="1e-6", max_keys=3),
    ]


@dataclass(frozen=True)
class SamplerCase:
    """Sampler code, the law that it should have, and the outcomes to compare."""

    name: str
    law: Law
    outcomes: range
    walked: Callable[[], Walk]
    unresolved: Fraction = Fraction(1, 10**12)


def samplers() -> list[SamplerCase]:
    """Every sampler: the textbook ones walked choice by choice, the tables word by word."""
    one, half, two = Fraction(1), Fraction(1, 2), Fraction(2)
    return [
        *(_uniform(n) for n in (1, 3, 6, 7)),
        *(_coin(x) for x in (Fraction(1, 3), one, Fraction(7, 4))),
        *(_two_sided(rate, "signed, minus zero drawn again") for rate in (half, one, two)),
        *(_two_sided(rate, "difference of two geometrics") for rate in (half, one, two)),
        *(_two_sided(rate, "zero, or a signed geometric") for rate in (one, two)),
        _staircase(two, width=3, inner=1),
        _gaussian(two),
        _table(BlockedGeometric(one, 1)),
        _table(BlockedGeometric(Fraction(1, 10), 1)),
        _table(BlockedGeometric(Fraction(1, 10**6), 1 << 20)),
        _table(TruncatedGeometric(Fraction(1, 10**6), 1 << 10)),
        _table(OneSidedGeometric(half)),
        _table(IntegerStaircase(two, 10, 4)),
        _table(DiscreteGaussian(Fraction(100))),
        _table(DifferenceCoin(one, half)),
        _clusters(Fraction(1, 3)),
        _table(Logarithmic(half)),
        _table(Poisson(half, Fraction(1, 10))),
    ]


_WAYS: dict[str, Callable[[Fraction, Source], int | None]] = {
    "signed, minus zero drawn again": reference.two_sided_attempt,
    "difference of two geometrics": reference.two_sided_by_difference,
    "zero, or a signed geometric": reference.zero_or_signed,
}


def _uniform(n: int) -> SamplerCase:
    def walked() -> Walk:
        return walk(lambda source: coins.below_attempt(n, source), atoms=())

    return SamplerCase(f"uniform below {n}", Uniform(n), range(n), walked)


def _coin(x: Fraction) -> SamplerCase:
    def walked() -> Walk:
        return walk(lambda bits: int(coins.bernoulli_exp(x, bits)), atoms=("below", "flip"))

    return SamplerCase(f"coin of probability exp(-{x})", BernoulliExp(x), range(2), walked)


def _two_sided(rate: Fraction, way: str) -> SamplerCase:
    def walked() -> Walk:
        return walk(lambda source: _WAYS[way](rate, source))

    name = f"two-sided geometric, rate {rate}: {way}"
    return SamplerCase(name, TwoSidedGeometric(rate), range(-20, 21), walked)


def _staircase(rate: Fraction, *, width: int, inner: int) -> SamplerCase:
    def walked() -> Walk:
        return walk(lambda source: reference.staircase_attempt(rate, width, inner, source))

    law = IntegerStaircase(rate, width, inner)
    return SamplerCase(f"integer staircase, width {width}", law, range(-9, 10), walked)


def _gaussian(sigma_squared: Fraction) -> SamplerCase:
    def walked() -> Walk:
        return walk(lambda source: reference.gaussian_attempt(sigma_squared, source))

    law = DiscreteGaussian(sigma_squared)
    return SamplerCase(f"discrete Gaussian, variance {sigma_squared}", law, range(-12, 13), walked)


def _clusters(rate: Fraction) -> SamplerCase:
    def walked() -> Walk:
        return walk(lambda source: cluster_attempt(rate, source))

    name = f"size of a cluster, rate {rate}: classes of sizes"
    return SamplerCase(name, Logarithmic(rate), range(1, 21), walked)


def _table(law: Law) -> SamplerCase:
    """The table that releases draw from, with its real 64-bit words."""

    def walked() -> Walk:
        return walk_table(inversion(law))

    first = law.lowest if law.lowest is not None else -50
    last = law.highest if law.highest is not None else 50
    return SamplerCase(f"table of {law}", law, range(first, min(last, first + 200) + 1), walked)
