"""The discrete Gaussian law on all integers, and the same law cut into blocks.

P(Y = k) = f(k)/Z with f(x) = exp(-x^2/(2 v)), v = `sigma_squared` rational, Z the sum of f over all
integers. Only v has to be rational, so only even powers of sigma appear below. Three identities
carry everything; each is exact, and each error below is enclosed by integer arithmetic.

* Poisson summation: Z = sqrt(2 pi v) T with T = 1 + 2 (sum of exp(-2 pi^2 v j^2) over j >= 1). For
  v >= 1 a few terms suffice, for v < 1 the defining sum needs only a few itself. As
  E Y^2 = 2 v^2 d(log Z)/dv, the variance is v (1 - 8 pi^2 v (sum of j^2 exp(-2 pi^2 v j^2))/T).
* Direct summation: f(j + 1)/f(j) = exp(-(2j + 1)/(2 v)) falls by the factor exp(-1/v) a step, so a
  sum beyond k takes two products a term, rounded down for the lower and up for the upper bound.
  What is left out is at most a geometric series with the last ratio.
* Euler-Maclaurin: for F with all derivatives vanishing at infinity and b_m = B_2m/(2m)!,
      the sum of F(j) over j > k
        = (the integral of F from k on) - F(k)/2 - (the sum of b_m F^(2m-1)(k) over m <= p) + R,
  where |R| is at most (the maximum of |B_2p(x)|/(2p)! over a period) times (the integral of
  |F^(2p)| from k on). The maximum is |b_p| = 2 zeta(2p)/(2 pi)^2p <= 4 * 39^-p. With F = f^(o) and
  n = 2p + o, the n-th derivative is (-1)^n sigma^-n He_n(x/sigma) f(x), and by Cauchy-Schwarz and
  E He_n(N)^2 = n! for a standard normal N its absolute integral over x >= k >= 0 is at most half
  of sigma^(1-n) sqrt(2 pi n!) (He_n^2 is even, so half of the line has half of it). So
      |R| <= 2 * 39^-p sqrt(7 n! v^(1-n)).
  The polynomials h_n = sigma^-n He_n(x/sigma) have rational coefficients at integer x:
  h_(n+1) = (x h_n - n h_(n-1))/v. With o = 0 this sums f, with o = 1 it sums x f = -v f'.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice

from discreet.errors import ParameterError, UnsupportedError
from discreet.exact import Interval, exp, gauss_integral, pi, sqrt
from discreet.exact.interval import UNDERFLOW
from discreet.noise.law import Law, scaled_ends
from discreet.remembered import remembered

__all__ = ["BlockedGaussian", "DiscreteGaussian"]

_SMOOTH = 4096
"""From this variance on Euler-Maclaurin is used; below, a direct sum is as quick."""

SMALLEST = Fraction(1, 10**4)
"""The smallest variance parameter: there, all but 10^-2171 of the law is at 0."""

_STOP = 16  # a direct sum stops at terms of 2^16 units, of which the first term has 2^(w + 64)


def density(v: Fraction, k: int, w: int) -> Interval:
    """f(k) = exp(-k^2/(2 v)), to a relative width of 2^-w."""
    return exp(-Fraction(k * k) / (2 * v), w)


def root(x: Interval, w: int) -> Interval:
    """The square root of an interval of positive numbers."""
    return Interval(sqrt(x.lower, w).lower, sqrt(x.upper, w).upper)


def falling(
    v: Fraction, first: int, step: int, start: tuple[int, int], w: int
) -> Iterator[tuple[int, int, int]]:
    """Bounds of c f(first + i step) 2^w for i = 0, 1, 2, ..., where `start` bounds c f(first) 2^w.

    The third number bounds 2^w times the ratio of the next value to this one from above. Each step
    rounds lower bounds down and upper bounds up, so all stay bounds whatever the number of steps.
    """
    ratio = scaled_ends(exp(-Fraction(2 * first * step + step * step) / (2 * v), w), w)
    factor = scaled_ends(exp(-Fraction(step * step) / v, w), w)
    low, high = start
    while True:
        yield low, high, ratio[1]
        low, high = low * ratio[0] >> w, -(-(high * ratio[1]) >> w)
        ratio = (ratio[0] * factor[0] >> w, -(-(ratio[1] * factor[1]) >> w))


def theta(rate: Interval, power: int, w: int) -> Interval:
    """The sum of j^power exp(-rate j^2) over j >= 1, for rate >= 1/2 and a power of 0 or 2.

    From j = 2 on a term is at most (9/4) exp(-5/2) < 1/5 of the one before, so the terms left out
    are at most twice the first of them. The sum stops 2^-w below its first term.
    """
    total, j = exp(-rate, w), 2
    while rate.lower * (j * j - 1) * 3 < 2 * (w + 8):
        total = (total + j**power * exp(-rate * (j * j), w)).rounded(w + 16)
        j += 1
    rest = 2 * j**power * exp(-rate * (j * j), 8).upper
    return total + Interval(Fraction(0), rest)


@remembered(512)
def normaliser(v: Fraction, w: int) -> Interval:
    """Z, by Poisson summation for v >= 1 and by definition for v < 1."""
    if v < 1:
        return 1 + 2 * theta(Interval.of(1 / (2 * v)), 0, w)
    circle = pi(w + 8)
    return (root(2 * v * circle, w + 8) * (1 + 2 * _dual(v, 0, w))).rounded(w + 8)


def _dual(v: Fraction, power: int, w: int) -> Interval:
    """The sum of j^power exp(-2 pi^2 v j^2) over j >= 1; tiny for a large v, as 2 pi^2 > 19."""
    if 19 * v > w + 16:
        return Interval(Fraction(0), Fraction(1, 1 << (w + 16)))
    return theta(2 * v * pi(w + 8) * pi(w + 8), power, w)


@remembered(16)
def bernoulli_terms(count: int) -> tuple[Fraction, ...]:
    """b_m = B_2m/(2m)! for m = 1 .. count, from the tangent numbers T_m.

    B_2m = (-1)^(m-1) 2m T_m/(4^m (4^m - 1)), and the T_m come from their integer recurrence.
    """
    tangent = [0, 1]
    for m in range(2, count + 1):
        tangent.append((m - 1) * tangent[m - 1])
    for m in range(2, count + 1):
        for j in range(m, count + 1):
            tangent[j] = (j - m) * tangent[j - 1] + (j - m + 2) * tangent[j]
    found, factorial = [], 1
    for m in range(1, count + 1):
        factorial *= (2 * m - 1) * 2 * m
        numerator = (-1) ** (m - 1) * 2 * m * tangent[m]
        found.append(Fraction(numerator, factorial * 4**m * (4**m - 1)))
    return tuple(found)


def _terms(count: int) -> tuple[Fraction, ...]:
    size = 16
    while size < count:
        size *= 2
    return bernoulli_terms(size)[:count]


def correction_terms(v: Fraction, k: int, order: int, bits: int) -> int | None:
    """The least p for which |R| <= 2^-bits, or None where a direct sum is the better way.

    R^2 <= 28 v^(1-order) (2p + order)!/(39 v)^2p; a p is used only while k + 2p + 2 <= v, which
    keeps the errors of `correction` small.
    """
    if v < _SMOOTH:
        return None
    whole = v.numerator // v.denominator
    numerator, denominator = 28 * ((whole + 1) if order == 0 else 1) << 2 * bits, 1
    p = 0
    while numerator > denominator:
        p += 1
        numerator *= (2 * p + order) * (2 * p + order - 1)
        denominator *= (39 * whole) ** 2
        if p > 64 + whole // 64 or k + 2 * p + 2 > whole:
            return None
    return max(p, 1)


def correction(v: Fraction, x: int, p: int, order: int, w: int) -> tuple[int, int]:
    """Bounds of 2^w times the sum of b_m h_(2m-1+order)(x) over m = 1 .. p.

    With x + n <= v, the error e of h_n in units of 2^-w obeys
    e_(n+1) <= (x/v) e_n + (n/v) e_(n-1) + 1 <= max(e_n, e_(n-1)) + 1, hence e_n <= n; as
    |b_m| <= 1/12, the sum of p terms is off by fewer than p (p + 2) units.
    """
    top, bottom = v.denominator, v.numerator
    before, here = 1 << w, (x * top << w) // bottom
    total, n = 0, 1
    for b in _terms(p):
        if order:
            before, here, n = here, (x * here - n * before) * top // bottom, n + 1
        total += b.numerator * here // b.denominator
        before, here, n = here, (x * here - n * before) * top // bottom, n + 1
        if not order:
            before, here, n = here, (x * here - n * before) * top // bottom, n + 1
    return total - p * (p + 2), total + p * (p + 2)


def smooth_sum(v: Fraction, k: int, order: int, p: int, w: int, *, deep: bool = False) -> Interval:
    """The sum of j^order f(j) over j > k by p terms of Euler-Maclaurin, up to |R| (order 0 or 1).

    order 0: (integral of f from k on) - f(k) (1/2 - sum of b_m h_(2m-1)); order 1, divided by v:
    f(k) (1 - h_1/2 + sum of b_m h_2m).
    """
    guard = w + 16 + 2 * p.bit_length()
    low, high = correction(v, k, p, order, guard)
    terms = Interval(Fraction(low, 1 << guard), Fraction(high, 1 << guard))
    here = density(v, k, w + 8)
    if order:
        return here * (1 - k / (2 * v) + terms)
    integral = here * mills_ratio(v, k, w) if deep else integral_beyond(v, k, w)
    return integral - here * (Fraction(1, 2) - terms)


@remembered(64)
def _half_integral(v: Fraction, w: int) -> Interval:
    return root(v * pi(w) / 2, w)


def integral_beyond(v: Fraction, k: int, w: int) -> Interval:
    """The integral of f from k >= 0 on, to an absolute width of about sqrt(v) 2^-w."""
    return _half_integral(v, w + 8) - k * gauss_integral(Fraction(k * k) / v, w + 8)


def mills_ratio(v: Fraction, k: int, w: int) -> Interval:
    """(The integral of f from k > 0 on)/f(k) = v/(k + v/(k + 2v/(k + ...))), after Laplace.

    Let I_0 = f(k) and I_n be the integral of (x - k)^(n-1) f(x)/(n-1)! from k on, all positive.
    Integration by parts gives v I_(n-1) = k I_n + n I_(n+1), so T_n = v I_(n-1)/I_n satisfies
    T_n = k + n v/T_(n+1) >= k. The last one is enclosed by that, the others follow from it.
    """
    count = w // 8 + 8
    t = Interval(Fraction(k), k + (count + 1) * v / k)
    for n in range(count, 0, -1):
        t = (k + n * v / t).rounded(w + 16)
    return v / t


def direct_sum(v: Fraction, k: int, order: int, w: int) -> Interval:
    """The sum of j^order f(j) over j > k >= 0, term by term (order 0 or 1)."""
    guard = w + 64
    one = 1 << guard
    low_total = high_total = 0
    j = k + 1
    for low, high, ratio in falling(v, j, 1, (one, one), guard):
        if high >> _STOP == 0:
            left = high * one // (one - ratio) + 1
            high_total += left * j + left * one // (one - ratio) + 1 if order else left
            break
        low_total, high_total = low_total + low * j**order, high_total + high * j**order
        j += 1
    bounds = Interval(Fraction(low_total, one), Fraction(high_total, one))
    return density(v, k + 1, w + 8) * bounds


def sum_beyond(v: Fraction, k: int, order: int, w: int) -> Interval:
    """The sum of j^order f(j) over j > k >= 0 (order 0 or 1), relative width near 2^-w.

    Deep in the tail, k^2 >= (2w + 32) v, the bound of R can be relative to f(k) too: all zeros of
    He_n are below 2 sqrt(n) (they are the eigenvalues of a matrix that has sqrt(1) .. sqrt(n - 1)
    beside its diagonal and 0 elsewhere), so f^(n) has one sign from k on if k^2 >= 4 n v, and the
    integral of |f^(n)| is |f^(n-1)(k)| <= (k/v)^(n-1) f(k). With k <= v, |R| < 2^(2-5p) f(k).

    Where f(k) < 2^-131072 only an upper bound is given: f, and x f beyond sigma, are decreasing, so
    the sums are at most the integrals, which are at most v f(k)/k and v f(k).
    """
    drop = 3 * k * k * v.denominator // (4 * v.numerator) + 1  # f(k) >= 2^-drop
    if drop > UNDERFLOW:
        return Interval(Fraction(0), v * density(v, k, 8).upper / (1 if order else k))
    deep = k * k >= (2 * w + 32) * v
    bits = w + 8 if deep else w + drop + 8
    p = bits // 5 + 2 if deep else correction_terms(v, k, order, bits)
    if v < _SMOOTH or p is None or k + 2 * p + 2 > v:
        return direct_sum(v, k, order, w)
    rest = Fraction(1, 1 << bits) * (density(v, k, 8).upper if deep else 1)
    found = smooth_sum(v, k, order, p, bits, deep=deep) + Interval(-rest, rest)
    return found * v if order else found


@dataclass(frozen=True, slots=True)
class DiscreteGaussian(Law):
    """P(Y = k) proportional to exp(-k^2/(2 sigma_squared)) on all integers.

    Symmetric about 0. Its variance is below sigma_squared, by less than one part in 10^8 from
    sigma = 1.1 on; its tails are below those of the normal law of that variance.

    >>> law = DiscreteGaussian(Fraction(1))
    >>> round(law.mass(0), 6), round(law.variance, 6)
    (0.398942, 1.0)
    """

    sigma_squared: Fraction

    def __post_init__(self) -> None:
        if not self.sigma_squared >= SMALLEST:
            raise ParameterError(
                "sigma_squared", self.sigma_squared, f"must be at least {SMALLEST}"
            )

    def _mass(self, k: int, w: int) -> Interval:
        return density(self.sigma_squared, k, w) / normaliser(self.sigma_squared, w)

    def _upper(self, k: int, w: int) -> Interval:
        """P(Y > k) for k >= 0; as Z >= 1, a bound of the sum bounds the probability."""
        found = sum_beyond(self.sigma_squared, k, 0, w)
        return found / normaliser(self.sigma_squared, w) if found.lower else found

    def _tail(self, k: int, w: int) -> Interval:
        return self._upper(k, w) if k >= 0 else 1 - self._upper(-k - 1, w)

    def _cumulative(self, k: int, w: int) -> Interval:
        return self._tail(-k - 1, w)

    def cumulative_bounds(self, k: int, *, bits: int = 64) -> Interval:
        """Enclose P(Y <= k) to a relative error of 2^-bits, and always below 1."""
        found = Law.cumulative_bounds(self, k, bits=bits)
        if found.upper < 1:
            return found
        return Interval(found.lower, 1 - self.tail_bounds(k, bits=8).lower)

    def _mean(self, w: int) -> Interval:  # noqa: ARG002
        return Interval.of(0)

    def _variance(self, w: int) -> Interval:
        v = self.sigma_squared
        if v < 1:
            rate = Interval.of(1 / (2 * v))
            return 2 * theta(rate, 2, w) / (1 + 2 * theta(rate, 0, w))
        loss = 8 * v * pi(w + 8) * pi(w + 8) * _dual(v, 2, w) / (1 + 2 * _dual(v, 0, w))
        return v * (1 - loss)

    def _absolute_error(self, target: int, w: int) -> Interval:
        """E |Y - t| = |t| + 2 (the sum of (j - |t|) f(j) over j > |t|)/Z."""
        t, v = abs(target), self.sigma_squared
        beyond = sum_beyond(v, t, 1, w) - t * sum_beyond(v, t, 0, w)
        return t + 2 * beyond / normaliser(v, w)

    def table(self, first: int, last: int, w: int) -> list[tuple[int, int]]:
        """Bounds of P(Y <= k) 2^w: masses by recurrence, added up from the outermost inward."""
        places = [k if k >= 0 else -k - 1 for k in range(first, last + 1)]
        low, high = min(places), max(places)
        v, guard = self.sigma_squared, w + 64 + 2 * (high - low + 1).bit_length()
        start = scaled_ends(density(v, low, guard), guard)
        masses = list(islice(falling(v, low, 1, start, guard), high - low + 1))
        sums = [scaled_ends(sum_beyond(v, high, 0, guard), guard)]
        for below, above, _ in reversed(masses[1:]):
            sums.append((sums[-1][0] + below, sums[-1][1] + above))
        sums.reverse()  # now sums[m - low] bounds the sum of f beyond m
        shares = _shares(sums, v, guard, w)
        return _cumulatives(first, [shares[m - low] for m in places], w)


def _shares(sums: list[tuple[int, int]], v: Fraction, guard: int, w: int) -> list[tuple[int, int]]:
    """Bounds of 2^w s/Z from bounds of 2^guard s."""
    fine = guard + v.numerator.bit_length()  # Z is below 4 + 3 sigma, so 1/Z keeps its digits
    low, high = scaled_ends(1 / normaliser(v, guard), fine)
    down = guard + fine - w
    return [(below * low >> down, -(-(above * high) >> down)) for below, above in sums]


def _cumulatives(first: int, tails: list[tuple[int, int]], w: int) -> list[tuple[int, int]]:
    """From outer tails to cumulatives: below 0 the tail itself, from 0 on what it leaves."""
    one = 1 << w
    return [
        (one - high, one - low) if k >= 0 else (low, high)
        for k, (low, high) in enumerate(tails, start=first)
    ]


@dataclass(frozen=True, slots=True)
class BlockedGaussian(Law):
    """The law of floor(Y/size) for a discrete Gaussian Y: P(Q <= q) = P(Y <= size (q + 1) - 1)."""

    sigma_squared: Fraction
    size: int

    @property
    def whole(self) -> DiscreteGaussian:
        """The law that is cut into blocks."""
        return DiscreteGaussian(self.sigma_squared)

    def _mass(self, q: int, w: int) -> Interval:
        if q < 0:
            return self._cumulative(q, w) - self._cumulative(q - 1, w)
        return self._tail(q - 1, w) - self._tail(q, w)

    def _tail(self, q: int, w: int) -> Interval:
        return self.whole._tail(self.size * (q + 1) - 1, w)

    def _cumulative(self, q: int, w: int) -> Interval:
        return self.whole._cumulative(self.size * (q + 1) - 1, w)

    def _mean(self, w: int) -> Interval:  # noqa: ARG002
        raise UnsupportedError("the number of a block has no formula for its mean")

    def _variance(self, w: int) -> Interval:  # noqa: ARG002
        raise UnsupportedError("the number of a block has no formula for its variance")

    def table(self, first: int, last: int, w: int) -> list[tuple[int, int]]:
        """Bounds of P(Q <= q) 2^w, all by Euler-Maclaurin with the same number of terms.

        The outer tail of q = -1 - i lies beyond size i, that of q = i - 1 beyond size i - 1, which
        has the one term f(size i) more.
        """
        v, guard = self.sigma_squared, w + 80
        count = max(last + 2, -first)
        p = correction_terms(v, self.size * count, 0, guard)
        if p is None:
            return Law.table(self, first, last, w)
        one = 1 << guard
        below: dict[int, tuple[int, int]] = {}
        for i, (low, high, _) in enumerate(
            islice(falling(v, 0, self.size, (one, one), guard), count)
        ):
            sums = self._smooth_ends(self.size * i, (low, high), p, guard)
            below[-1 - i] = sums
            if i:
                below[i - 1] = (sums[0] + low, sums[1] + high)
        shares = _shares([below[q] for q in range(first, last + 1)], v, guard, w)
        return _cumulatives(first, shares, w)

    def _smooth_ends(self, x: int, mass: tuple[int, int], p: int, w: int) -> tuple[int, int]:
        """Bounds of 2^w (the sum of f beyond x), from those of 2^w f(x); |R| is below one unit."""
        low, high = scaled_ends(integral_beyond(self.sigma_squared, x, w), w)
        least, most = correction(self.sigma_squared, x, p, 0, w)
        half = 1 << (w - 1)
        low -= -(-(mass[1] * (half - least)) >> w) + 1
        high -= (mass[0] * (half - most) >> w) - 1
        return max(low, 0), high
