"""What `discreet audit` audits: every mechanism at several parameters, and every sampler.

A new mechanism is added here; `tests/audit/test_catalogue.py` fails while one is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from discreet.audit.exact import Auditable
from discreet.audit.walk import ATOMS
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
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.geometric import TwoSidedGeometric
from discreet.noise.law import Law
from discreet.noise.source import Source
from discreet.noise.staircase import IntegerStaircase
from discreet.noise.table import Inversion

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
    sampler: Callable[[Source], Hashable]
    law: Law
    outcomes: range
    atoms: Sequence[str] = ATOMS
    unresolved: Fraction = Fraction(1, 10**12)


def samplers() -> list[SamplerCase]:
    """Every sampler, walked at small parameters."""
    rates = (Fraction(1), Fraction(1, 2), Fraction(2))
    return [
        *(_uniform(n) for n in (1, 3, 6, 7)),
        *(_coin(x) for x in (Fraction(1, 3), Fraction(1), Fraction(7, 4))),
        *(_two_sided(rate, way) for rate in rates for way in _WAYS),
        *(_table(rate) for rate in (Fraction(1), Fraction(1, 2))),
        _staircase(Fraction(2), width=3, inner=1),
        _gaussian(Fraction(2)),
    ]


_WAYS: dict[str, tuple[Callable[[Fraction, Source], int | None], Fraction]] = {
    "signed, minus zero drawn again": (reference.two_sided_attempt, Fraction(1, 10**12)),
    "difference of two geometrics": (reference.two_sided_by_difference, Fraction(1, 10**12)),
    "zero, or a signed geometric": (reference.zero_or_signed, Fraction(1, 10**7)),
}


def _uniform(n: int) -> SamplerCase:
    def draw(source: Source) -> int | None:
        return coins.below_attempt(n, source)

    return SamplerCase(f"uniform below {n}", draw, Uniform(n), range(n), atoms=())


def _coin(x: Fraction) -> SamplerCase:
    def draw(source: Source) -> int:
        return int(coins.bernoulli_exp(x, source))

    atoms = ("below", "flip")
    return SamplerCase(f"coin of probability exp(-{x})", draw, BernoulliExp(x), range(2), atoms)


def _two_sided(rate: Fraction, way: str) -> SamplerCase:
    attempt, unresolved = _WAYS[way]

    def draw(source: Source) -> int | None:
        return attempt(rate, source)

    name, law = f"two-sided geometric, rate {rate}: {way}", TwoSidedGeometric(rate)
    return SamplerCase(name, draw, law, range(-20, 21), unresolved=unresolved)


def _table(rate: Fraction) -> SamplerCase:
    """Inversion with words of six bits, so that ties and further words are walked through too."""
    law = TwoSidedGeometric(rate)
    name, draw = f"two-sided geometric, rate {rate}: inversion", Inversion(law, word=6, guide=3).one
    return SamplerCase(name, draw, law, range(-12, 13), atoms=(), unresolved=Fraction(1, 200))


def _staircase(rate: Fraction, *, width: int, inner: int) -> SamplerCase:
    def draw(source: Source) -> int | None:
        return reference.staircase_attempt(rate, width, inner, source)

    name, law = f"integer staircase, width {width}", IntegerStaircase(rate, width, inner)
    return SamplerCase(name, draw, law, range(-9, 10))


def _gaussian(sigma_squared: Fraction) -> SamplerCase:
    def draw(source: Source) -> int | None:
        return reference.gaussian_attempt(sigma_squared, source)

    name, law = f"discrete Gaussian, variance {sigma_squared}", DiscreteGaussian(sigma_squared)
    return SamplerCase(name, draw, law, range(-12, 13))
