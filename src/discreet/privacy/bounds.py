"""What one loss amounts to, in each of the currencies that add up; every number rounded up.

epsilon (`pure_upper`): log ratios of probabilities add.
delta (`failure`): chances to fail add, by the union bound.
rho (`rho_upper`): Renyi divergences add, at every order at once.
divergence of one order (`renyi_upper`): the same, at that order.

Write L for the log ratio log P(out)/Q(out) of a pair of neighbours, K(a) for log E_Q exp(a L), and
D_a = K(a)/(a - 1) for the Renyi divergence. Always K(0) = K(1) = 0.

Lemma 1 (range). If L lies in an interval of length w, then D_a <= a w^2/8.
Proof. K'' is the variance of L under a tilted law, at most w^2/4. So K(a) - (w^2/8) a (a - 1) is
concave and 0 at a = 0 and a = 1, hence at most 0 beyond 1. For an epsilon-private pair w = 2
epsilon, which gives the well-known epsilon^2/2; for a `RangeLoss` w = epsilon.

Lemma 2 (geometric noise). Let P be two-sided geometric of ratio r = exp(-t), Q the same moved by D,
and epsilon = D t. Then
    exp((a - 1) D_a) = (e^((a - 1) epsilon) (1 + (1 - r) S) + e^(-a epsilon))/(1 + r),
    S = the sum of exp(-(2 a - 1) t k) over k = 1..D-1,
and the largest D_a/a over all orders is its limit as a goes to 1, the Kullback-Leibler divergence
    rho = epsilon - (1 - e^(-epsilon)) t/sinh(t).
So this rho is exact: geometric noise is rho-zCDP and not less. D = 1 is randomised response, rho =
epsilon tanh(epsilon/2), and as D grows it falls to epsilon - 1 + e^(-epsilon), Laplace noise.
Proof. The sum is over k <= 0, where L = epsilon, over 0 < k < D, where L = (D - 2 k) t, and over
k >= D, where L = -epsilon. For the second part take the middle law, proportional to sqrt(P Q):
there L + epsilon, in steps of 2 t, has weights 1, 1 - r, ..., 1 - r, 1 on 0..D. Their polynomial
times (1 - z) is (1 - r z) - z^D (z - r), so at its zeros z^D (z - r)/(1 - r z) = 1; the left side
is a finite Blaschke product, of modulus 1 on the unit circle only, so that all zeros lie there. A
real even function u -> E exp(u L) with zeros on the imaginary axis alone is a constant times the
product of (1 + u^2/c^2) over its zeros i c. With u = a - 1/2 and s = u^2, K(a) is a constant plus
the sum of log(1 + s/c^2), concave in s; and a (a - 1) = s - 1/4. So K(a)/(a (a - 1)) = D_a/a is
the slope of a chord of a concave function from s = 1/4 and falls as s grows. Its limit is K'(1).
A smaller move than D is dominated: a log-concave law's best test against its own shift is a
half-line, whose power grows with the shift.

Tested by tests/privacy/test_bounds.py
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import assert_never

from discreet.exact import Interval, certify, exp, log
from discreet.exact.interval import round_up
from discreet.privacy.convert import pure_rho_upper
from discreet.privacy.loss import (
    ApproxLoss,
    GaussianLoss,
    GeometricLoss,
    LaplaceLoss,
    Loss,
    NormalLoss,
    PairLoss,
    PureLoss,
    RandomLoss,
    RangeLoss,
    ZCDPLoss,
)
from discreet.remembered import remembered

__all__ = [
    "add_upper",
    "failure",
    "gamma_of",
    "log_ratio",
    "pure_upper",
    "renyi_estimate",
    "renyi_upper",
    "rho_upper",
]

BITS = 64  # of every number that has to be rounded
LONGEST = 1024  # bits of a denominator up to which sums stay exact


def add_upper(first: Fraction, second: Fraction) -> Fraction:
    """The sum, exactly; rounded up in its 512th bit where the denominator gets absurdly long."""
    total = first + second
    return total if total.denominator.bit_length() <= LONGEST else round_up(total, LONGEST // 2)


@remembered(4096)
def pure_upper(loss: Loss) -> Fraction | None:
    """An epsilon that the loss never exceeds but for its failure; None where there is none."""
    match loss:
        case PureLoss() | RangeLoss() | GeometricLoss() | LaplaceLoss() | RandomLoss():
            return loss.epsilon
        case ApproxLoss():
            return loss.epsilon
        case PairLoss():
            ratios = [log_ratio(p, q) for p, q in _atoms(loss)]
            return max(max(ratio.upper, -ratio.lower) for ratio in ratios)
        case GaussianLoss() | NormalLoss() | ZCDPLoss():
            return None
        case _:
            assert_never(loss)


def failure(loss: Loss) -> Fraction:
    """The delta with which the other bounds of this loss may fail; 0 for most kinds."""
    return loss.delta if isinstance(loss, ApproxLoss) else Fraction(0)


def gamma_of(loss: Loss) -> Fraction:
    """The gamma of random differential privacy; 0 for everything else."""
    return loss.gamma if isinstance(loss, RandomLoss) else Fraction(0)


@remembered(4096)
def rho_upper(loss: Loss) -> Fraction:
    """A rho, rounded up, with which the loss is zero-concentrated but for its failure."""
    match loss:
        case PureLoss() | RandomLoss():
            return pure_rho_upper(loss.epsilon)
        case ApproxLoss():
            return pure_rho_upper(loss.epsilon) if loss.epsilon else Fraction(0)
        case RangeLoss():
            return min(loss.epsilon**2 / 8, pure_rho_upper(loss.epsilon))
        case GeometricLoss():
            each = loss.epsilon / loss.changes
            return loss.changes * geometric_rho_upper(each, loss.sensitivity)
        case LaplaceLoss():
            return laplace_rho_upper(loss.epsilon)
        case GaussianLoss() | NormalLoss():
            return loss.distance_squared / (2 * loss.sigma_squared)
        case ZCDPLoss():
            return loss.rho
        case PairLoss():
            epsilon = pure_upper(loss)
            assert epsilon is not None  # noqa: S101
            return min(_width_upper(loss) ** 2 / 8, pure_rho_upper(epsilon))
        case _:
            assert_never(loss)


@remembered(65536)
def renyi_upper(loss: Loss, order: Fraction) -> Fraction:
    """The Renyi divergence of this order, rounded up, but for the failure of the loss."""
    match loss:
        case PureLoss() | RandomLoss():
            return geometric_renyi_upper(loss.epsilon, 1, order)
        case ApproxLoss():
            return geometric_renyi_upper(loss.epsilon, 1, order) if loss.epsilon else Fraction(0)
        case RangeLoss():
            pure = geometric_renyi_upper(loss.epsilon, 1, order)
            return min(order * loss.epsilon**2 / 8, pure)
        case GeometricLoss():
            each = loss.epsilon / loss.changes
            return loss.changes * geometric_renyi_upper(each, loss.sensitivity, order)
        case LaplaceLoss():
            return laplace_renyi_upper(loss.epsilon, order)
        case GaussianLoss() | NormalLoss() | ZCDPLoss():
            return order * rho_upper(loss)
        case PairLoss():
            return max(_pair_renyi(loss, order, mirror) for mirror in (False, True))
        case _:
            assert_never(loss)


def renyi_estimate(loss: Loss, order: float) -> float:
    """The divergence in floats, to look for a good order with; it is no bound."""
    match loss:
        case GaussianLoss() | NormalLoss():
            return order * float(loss.distance_squared / loss.sigma_squared) / 2
        case ZCDPLoss():
            return order * float(loss.rho)
        case GeometricLoss():
            each = float(loss.epsilon / loss.changes)
            return loss.changes * _geometric_estimate(each, loss.sensitivity, order)
        case LaplaceLoss():
            return _geometric_estimate(float(loss.epsilon), None, order)
        case RangeLoss():
            pure = _geometric_estimate(float(loss.epsilon), 1, order)
            return min(pure, order * float(loss.epsilon) ** 2 / 8)
        case PairLoss():
            atoms = [(float(p), float(q)) for p, q in _atoms(loss)]
            mirrored = [(q, p) for p, q in atoms]
            return max(_pair_estimate(atoms, order), _pair_estimate(mirrored, order))
        case PureLoss() | ApproxLoss() | RandomLoss():
            return _geometric_estimate(float(loss.epsilon), 1, order)
        case _:
            assert_never(loss)


def _geometric_estimate(epsilon: float, sensitivity: int | None, order: float) -> float:
    """Lemma 2 with (rest - 1) kept apart, because it is small; Laplace where D is None."""
    if epsilon == 0:
        return 0.0
    a, whole = order, -math.expm1(-(2 * order - 1) * epsilon)
    if sensitivity is None:
        small = -(a - 1) / (2 * a - 1) * whole
    else:
        t = epsilon / sensitivity
        down, step = -math.expm1(-t), -math.expm1(-(2 * a - 1) * t)
        inner = (whole - step) / step  # the sum of all powers below the D-th
        small = (down * (1 + inner) - whole) / (2 - down)
    return epsilon + math.log1p(small) / (a - 1)


def _pair_estimate(atoms: list[tuple[float, float]], order: float) -> float:
    """log(the sum of p (p/q)^(a-1))/(a - 1), with the largest term taken out."""
    terms = [math.log(p) + (order - 1) * math.log(p / q) for p, q in atoms if p > 0 and q > 0]
    largest = max(terms, default=0.0)
    return (largest + math.log(sum(math.exp(term - largest) for term in terms))) / (order - 1)


def geometric_rho_upper(epsilon: Fraction, sensitivity: int) -> Fraction:
    """The rho of Lemma 2, rounded up."""
    t = epsilon / sensitivity

    def rho(w: int) -> Interval:
        ratio = exp(-t, w)
        return epsilon - (1 - exp(-epsilon, w)) * (2 * t * ratio / (1 - ratio * ratio))

    return certify(rho, BITS).upper


def laplace_rho_upper(epsilon: Fraction) -> Fraction:
    """The limit of Lemma 2 as D grows, epsilon - 1 + e^(-epsilon), rounded up."""
    return certify(lambda w: epsilon - 1 + exp(-epsilon, w), BITS).upper


def geometric_renyi_upper(epsilon: Fraction, sensitivity: int, order: Fraction) -> Fraction:
    """The divergence of Lemma 2 at one order, rounded up."""
    t = epsilon / sensitivity

    def divergence(w: int) -> Interval:
        ratio, step = exp(-t, w), exp(-(2 * order - 1) * t, w)
        whole = exp(-(2 * order - 1) * epsilon, w)
        inner = (step - whole) / (1 - step) if sensitivity > 1 else Interval.of(0)
        # e^((a - 1) epsilon) is taken out, so that nothing grows: e^(-a e) = e^((a-1) e) whole
        rest = (1 + (1 - ratio) * inner + whole) / (1 + ratio)
        return epsilon + log(rest, w) / (order - 1)

    return certify(divergence, BITS).upper


def laplace_renyi_upper(epsilon: Fraction, order: Fraction) -> Fraction:
    """Mironov 2017, Proposition 6: the limit of Lemma 2 as D grows, rounded up."""

    def divergence(w: int) -> Interval:
        rest = (order + (order - 1) * exp(-(2 * order - 1) * epsilon, w)) / (2 * order - 1)
        return epsilon + log(rest, w) / (order - 1)

    return certify(divergence, BITS).upper


def _atoms(loss: PairLoss) -> list[tuple[Fraction, Fraction]]:
    return list(zip(loss.first, loss.second, strict=True))


def log_ratio(p: Fraction, q: Fraction) -> Interval:
    """log(p/q), enclosed to 64 bits."""
    return Interval.of(0) if p == q else certify(lambda w: log(p / q, w), BITS)


def _width_upper(loss: PairLoss) -> Fraction:
    ratios = [log_ratio(p, q) for p, q in _atoms(loss)]
    return max(ratio.upper for ratio in ratios) - min(ratio.lower for ratio in ratios)


def _pair_renyi(loss: PairLoss, order: Fraction, mirror: bool) -> Fraction:  # noqa: FBT001
    """log(the sum of p (p/q)^(a-1))/(a - 1), rounded up; the largest ratio r is taken out."""
    atoms = [(q, p) if mirror else (p, q) for p, q in _atoms(loss)]
    r = max(p / q for p, q in atoms)

    def divergence(w: int) -> Interval:
        powers = [p * exp((order - 1) * log(p / q / r, w), w) for p, q in atoms]
        return log(r, w) + log(sum(powers, Interval.of(0)), w) / (order - 1)

    found = certify(divergence, 32)
    return round_up(max(found.upper, Fraction(0)), BITS)
