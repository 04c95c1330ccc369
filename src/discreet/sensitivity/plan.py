"""How many pairs to sample, which of their distances to take, and what that promises.

Let G_1, ..., G_m be the distances of the sampled pairs, G_(k) the k-th smallest of them and G_0
the distance of one real pair, all independent with the same law. Three bounds, each rational.

Theorem (exchangeable). P(G_0 > G_(k)) <= (m+1-k)/(m+1), over the sampler and the real pair jointly.
Proof. Break ties at random: the rank of G_0 among the m+1 exchangeable distances is uniform on
1..m+1. G_0 > G_(k) needs k sampled distances strictly below G_0, so a rank of at least k+1. That
has chance (m+1-k)/(m+1). Ties only help; without ties there is equality.

Theorem (two-level; Wilks 1941). If BinomialCDF(k-1; m, 1-gamma) >= c, then with probability at
least c over the sampler, G_0 > G_(k) has conditional chance at most gamma.
Proof. Let q be the smallest number with P(G <= q) >= 1-gamma; then P(G > q) <= gamma, so all is
well where G_(k) >= q. G_(k) < q needs k draws below q, and each has the chance P(G < q) <= 1-gamma;
that k or more are has chance at most 1 - BinomialCDF(k-1; m, 1-gamma) <= 1-c.

Why two levels. With k = m and no ties, the conditional chance given the realised G_(m) exceeds
1/(m+1) with probability (1 - 1/(m+1))^m, about 0.37: the first theorem holds on average over the
samplers, and more than a third of them do worse than the average.

Theorem (DKW; Rubinstein and Alda 2017). For any rho in (0,1), P(G_0 > G_(k)) <= gamma jointly where
k >= m (1 - gamma + rho + sqrt(ln(1/rho)/(2m))). Kept for comparison: it needs 1305 pairs where
exchangeability needs 19. Any rho is valid; the best one uses Lambert's function, and its branch -1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from discreet.errors import ParameterError
from discreet.exact import Exact, exp, log, probability, sqrt, whole
from discreet.exact.interval import round_up

__all__ = ["LARGEST_M", "Bound", "Plan", "plan_of"]

Bound = Literal["exchangeable", "dkw"]

LARGEST_M = 10_000_000
"""More pairs than this are taken for a slip."""

LARGEST_BINOMIAL = 50_000
"""Up to this m the exact binomial sum takes seconds at most."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Sample m pairs and take the k-th smallest distance: it promises `gamma`.

    Guarantee. Without `confidence`: one real pair is further apart with chance at most gamma, over
    the sampler and the pair jointly. With it: with probability `confidence` over the sampler, a
    real pair is further apart with chance at most gamma.
    Proof. At the top of this module.
    Tested by tests/sensitivity/test_plan.py
    """

    m: int
    k: int
    gamma: Fraction
    confidence: Fraction | None
    bound: Bound


def plan_of(
    *,
    gamma: Exact | None = None,
    m: int | None = None,
    confidence: Exact | None = None,
    bound: Bound = "exchangeable",
) -> Plan:
    """The plan for a gamma (fewest pairs), for m (smallest gamma) or for both (smallest k).

    >>> plan_of(gamma="0.05").m, plan_of(gamma="0.05", confidence="0.95").m
    (19, 59)
    >>> plan_of(gamma="0.05", bound="dkw").m
    1305
    """
    asked = None if gamma is None else probability(gamma, name="gamma")
    draws = None if m is None else whole(m, name="m", at_least=1, at_most=LARGEST_M)
    level = None if confidence is None else probability(confidence, name="confidence")
    match bound, level:
        case "exchangeable", None:
            return _exchangeable(asked, draws)
        case "exchangeable", Fraction():
            return _two_level(asked, draws, level)
        case "dkw", None:
            return _dkw(asked, draws)
        case "dkw", _:
            raise ParameterError("confidence", confidence, "goes with bound='exchangeable' only")
        case _:
            raise ParameterError("bound", bound, "must be 'exchangeable' or 'dkw'")


def _exchangeable(gamma: Fraction | None, m: int | None) -> Plan:
    match gamma, m:
        case Fraction(), None:
            m = k = _limited(_draws_for(gamma))
        case None, int():
            k = m
        case Fraction(), int():
            k = math.ceil((m + 1) * (1 - gamma))  # the smallest with (m+1-k)/(m+1) <= gamma
            if not k <= m:
                raise _too_few(m, _draws_for(gamma))
        case _:
            raise _neither()
    return Plan(m, k, Fraction(m + 1 - k, m + 1), None, "exchangeable")


def _draws_for(gamma: Fraction) -> int:
    """The smallest m >= 1 with 1/(m+1) <= gamma."""
    return max(1, math.ceil(1 / gamma) - 1)


def _two_level(gamma: Fraction | None, m: int | None, confidence: Fraction) -> Plan:
    match gamma, m:
        case Fraction(), None:
            m = k = _least_draws(gamma, confidence)
        case None, int():
            gamma, k = _least_gamma(m, confidence), m
        case Fraction(), int():
            k = _least_rank(m, gamma, confidence)
        case _:
            raise _neither()
    return Plan(m, k, gamma, confidence, "exchangeable")


def _least_draws(gamma: Fraction, confidence: Fraction) -> int:
    """The smallest m with (1-gamma)^m <= 1-confidence."""
    ratio = log(1 - confidence, 128) / log(1 - gamma, 128 + gamma.denominator.bit_length())
    low, high = max(1, math.ceil(ratio.lower)), max(1, math.ceil(ratio.upper))
    _limited(high)
    enough = low == high or (1 - gamma) ** low <= 1 - confidence
    return low if enough else high


def _least_gamma(m: int, confidence: Fraction) -> Fraction:
    """The smallest gamma with (1-gamma)^m <= 1-confidence, rounded up to about 64 bits."""
    return round_up(1 - exp(log(1 - confidence, 128) / m, 128).lower, 64)


def _least_rank(m: int, gamma: Fraction, confidence: Fraction) -> int:
    """The smallest k with BinomialCDF(k-1; m, 1-gamma) >= confidence, in whole numbers.

    It is m - f for the largest f so that at most f of m coins of chance gamma = a/b fall, with
    probability at most 1-confidence. The terms are C(m, f) a^f (b-a)^(m-f), over b^m.
    """
    if m > LARGEST_BINOMIAL or m * gamma.denominator.bit_length() > 4 * LARGEST_BINOMIAL:
        raise ParameterError(
            "m", m, f"may be at most {LARGEST_BINOMIAL} with both gamma and confidence; say one"
        )
    a, b = gamma.numerator, gamma.denominator
    limit = math.floor((1 - confidence) * b**m)
    total = term = (b - a) ** m
    if not total <= limit:
        raise _too_few(m, _least_draws(gamma, confidence))
    falls = 0
    while total <= limit:  # ends: at falls = m the total is b^m, above the limit
        term = term * (m - falls) * a // ((falls + 1) * (b - a))
        falls += 1
        total += term
    return m - falls + 1


def _dkw(gamma: Fraction | None, m: int | None) -> Plan:
    match gamma, m:
        case Fraction(), None:
            return _dkw_for(gamma)
        case None, int():
            slack = _least_slack(m)
            if not slack < 1:
                raise ParameterError("m", m, "is too small: this bound promises nothing for it")
            return Plan(m, m, round_up(slack, 64), None, "dkw")
        case Fraction(), int():
            k = math.ceil(m * (1 - gamma + _least_slack(m)))
            if not k <= m:
                raise _too_few(m, _dkw_for(gamma).m)
            return Plan(m, k, gamma, None, "dkw")
        case _:
            raise _neither()


def _dkw_for(gamma: Fraction) -> Plan:
    """The fewest pairs that the bound allows for gamma; its slack is gamma at most, so k <= m."""
    rho = Fraction(math.exp(_lambert(-float(gamma) / (2 * math.sqrt(math.e))) + 0.5))
    m = _limited(math.ceil(log(1 / rho, 128).upper / (2 * (gamma - rho) ** 2)))
    return Plan(m, min(m, math.ceil(m * (1 - gamma + _slack(rho, m)))), gamma, None, "dkw")


def _least_slack(m: int) -> Fraction:
    """The smallest gamma that the bound allows for m, at the best rho."""
    return _slack(Fraction(math.exp(_lambert(-1 / (4 * m)) / 2)), m)


def _lambert(x: float) -> float:
    """W(x) <= -1, the lower real branch: rho must lie below gamma, the other gives one above."""
    from scipy.special import lambertw  # noqa: PLC0415

    return float(lambertw(x, k=-1).real)


def _slack(rho: Fraction, m: int) -> Fraction:
    """Rho + sqrt(ln(1/rho)/(2m)), rounded up."""
    return rho + sqrt(log(1 / rho, 128).upper / (2 * m), 128).upper


def _limited(m: int) -> int:
    if not m <= LARGEST_M:
        raise ParameterError("gamma", None, f"is too small: it needs more than {LARGEST_M} pairs")
    return m


def _too_few(m: int, needed: int) -> ParameterError:
    return ParameterError("m", m, f"is too small for this gamma, which needs at least {needed}")


def _neither() -> ParameterError:
    return ParameterError("gamma", None, "or m must be said")
