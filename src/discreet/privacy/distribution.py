"""Privacy loss distributions: the tightest sum of losses that are fixed ahead of time.

The privacy loss distribution of a pair (P, Q) is the law of L = log P(out)/Q(out) when out is drawn
from P. It says everything: the least delta for epsilon is E max(0, 1 - exp(epsilon - L)), and the
losses of independent pairs add, so their laws are convolved. `dp_accounting` convolves; what it is
given is made here, from exact laws, on a grid of losses, and never too good:

Rounding ("connecting the dots": Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022). An output
with probabilities p under P and q under Q, whose loss lies between the grid points g and g + h, is
replaced by two outputs with losses g and g + h that have the same p and the same q together.
Merging the two gives back the first, so the new pair is at least as easy to tell apart: every delta
can only grow. The upper one gets the mass u = (p e^(-g) - q)/(e^(-g) - e^(-g-h)); moving still more
of p up is safe too, and is done where floats round.

Geometric noise. A run of neighbouring outputs between the two centres has q = p e^(-l) with l the
loss in the middle of the run: it is split as if it were one output of that loss.

Gaussian noise is added up first, exactly: normal noise with squared distances d_i over variances
v_i is one normal pair with the sum m of d_i/v_i. Discrete Gaussian noise on k numbers is
post-processing of normal noise of variance v_i - s^2, up to factors (1 +- z)^k (Theorem 2 of
`discreet.mechanisms.gaussian_calibration`); the factors of all releases multiply, whatever else was
released between them, so they cost extra epsilon = sum of k log((1 + z)/(1 - z)) and a factor
(1 + z)^k of delta, once, at the end.

Directions. A person may be in the first law of one release and in the second of another. Every pair
that is convolved here is symmetric, so that this makes no difference; one that is not is replaced
by the worst that has its epsilon.

Valid for losses that are fixed ahead (the questions themselves may still be chosen adaptively: Zhu,
Dong and Wang 2022, Theorem 10). It is not a filter: see `discreet.privacy.budget`.

Floats, with u = 2^-53. A short convolution adds at most N products of non-negative numbers and errs
by a factor within 1 +- N u. A long one is made by fast Fourier transform; on two laws x, y its
error is, in total variation, below 3 c sqrt(N) log2(N) u max(|x|, |y|) with c < 8 and 2-norms |.|
(Higham 2002, section 24.1, for each of the three transforms; no transform of a law exceeds 1; the
1-norm is at most sqrt(N) times the 2-norm). These are added up along the way, doubled, and given
to every delta: the first as a factor, the second as `slack`.
Tested by tests/privacy/test_distribution.py
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from itertools import count
from typing import TYPE_CHECKING, assert_never

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UnsupportedError
from discreet.exact.interval import round_up
from discreet.privacy.bounds import failure, log_ratio, pure_upper
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

if TYPE_CHECKING:
    from dp_accounting.pld.pld_pmf import DensePLDPmf

__all__ = ["Distribution", "distribution_of"]

Floats = NDArray[np.float64]
UP = 1 + 2.0**-46
"""Every probability is raised by this factor; the floats that make it err by a few 2^-53."""
UNIT = 2.0**-53  # the relative error of one operation on floats
DIRECT = 1 << 12  # laws that come out shorter than this are convolved term by term
LONGEST = 1 << 20  # grid points that a grid may take
COARSER = 1 << 17  # a law longer than this may be up to four times coarser
TRUNCATE = 1 << 17  # laws longer than this lose tails of probability TAIL, to infinity
TAIL = 1e-14  # above the errors of transforms, which would keep longer tails alive
FINE = 1e-4  # the rounding may add this share of the variance of the whole loss
RUNS = 4096  # geometric noise with more steps than this is cut into runs along the grid
LOUDEST = 4000.0  # beyond this variance of the loss every epsilon is above 1000
QUIETEST = 2.0**-900  # and below this one floats end
LEEWAY = 2.0**-48  # of an epsilon, for the floats that the grid is made of
SMALLEST = 2.0**-900  # added to every delta, for what floats cannot hold
TRIES = 40  # at an epsilon that meets its delta, in doubling steps
REACH = 9.5  # standard deviations beyond which normal noise is put to the ends; tail 2e-21
COLLAPSE = 256  # discrete Gaussians above this many s^2 are read as normal


@dataclass(frozen=True)
class Cells:
    """A law of losses on the grid: masses at (start + i) h, and the mass at infinity."""

    start: int
    masses: Floats
    infinity: float = 0.0


@dataclass(frozen=True)
class Distribution:
    """The composed law of many losses, and what was given away to certify it.

    Attributes:
        grid: the distance h between two losses.
        slack: what is added to every delta for the errors of the transforms.
        extra: what is added to every epsilon for reading discrete Gaussian noise as normal.
        factor: what every delta is multiplied with, for that and for the errors of products.
    """

    law: DensePLDPmf
    grid: float
    slack: float
    extra: float
    factor: float

    def delta_upper(self, epsilon: Fraction) -> Fraction:
        """A delta, rounded up, at which all the releases together are (epsilon, delta)-private."""
        near = float(epsilon)
        at = near - LEEWAY * max(near, self.grid) - self.extra
        below = -math.expm1(at) if at < 0 else 0.0  # delta at -x is at most delta at 0 + 1 - e^-x
        with np.errstate(over="ignore"):
            found = float(self.law.get_delta_for_epsilon(max(at, 0.0)))
        whole = (found * UP + self.slack + below + SMALLEST) * self.factor
        return min(Fraction(1), round_up(Fraction(whole), 48))

    def epsilon_upper(self, delta: Fraction) -> Fraction | None:
        """An epsilon, rounded up, that is met at this delta; None where the floats cannot tell."""
        target = math.nextafter(float(delta), 0) / self.factor - self.slack
        if not target > self.slack:
            return None
        at, step = float(self.law.get_epsilon_for_delta(target)), 2.0**-32
        for _ in range(TRIES):
            if not math.isfinite(at):
                break
            epsilon = round_up(Fraction(at + self.extra), 40)
            if self.delta_upper(epsilon) <= delta:
                return epsilon
            at, step = at + step * max(1.0, at), 2 * step
        return None


def distribution_of(losses: Mapping[Loss, int]) -> Distribution:
    """Convolve the loss distributions of all these releases; refuse where one has none."""
    if sum(times * failure(loss) for loss, times in losses.items()) > Fraction(1, 2):
        raise UnsupportedError("the releases fail too often")
    try:
        with np.errstate(over="raise", divide="raise", invalid="raise"):
            return _distribution_of(losses)
    except ArithmeticError:
        raise UnsupportedError("so much or so little leaks that floats cannot tell") from None


def _distribution_of(losses: Mapping[Loss, int]) -> Distribution:
    normal, extra, factor, others = _collapse(losses)
    grid = _grid(others, normal)
    h = float(grid)
    cells = [(_cells(loss, grid), times) for loss, times in _unfold(others)]
    cells += [(_normal_cells(normal, h), 1)] if normal else []
    total = _Sum(h)
    law = total.of(cells)
    return Distribution(law, h, 2 * total.absolute, extra, factor * math.exp(2 * total.relative))


def _unfold(losses: Mapping[Loss, int]) -> Iterator[tuple[Loss, int]]:
    """Noise on several numbers is one release for each of them."""
    for loss, times in losses.items():
        if isinstance(loss, GeometricLoss) and loss.changes > 1:
            each = loss.epsilon / loss.changes
            yield GeometricLoss(epsilon=each, sensitivity=loss.sensitivity), times * loss.changes
        else:
            yield loss, times


def _collapse(losses: Mapping[Loss, int]) -> tuple[Fraction, float, float, dict[Loss, int]]:
    """All Gaussian noise as one normal pair: its m, what that costs, and the other losses."""
    moved = sum(
        times * math.floor(loss.distance_squared)
        for loss, times in losses.items()
        if isinstance(loss, GaussianLoss)
    )
    smoothing = Fraction(math.ceil(8 * math.log(1e11 * (moved + 1)) / (2 * math.pi**2)), 8)
    m, k, others = Fraction(0), 0, dict[Loss, int]()
    for loss, times in losses.items():
        if isinstance(loss, NormalLoss):
            m += times * loss.distance_squared / loss.sigma_squared
        elif isinstance(loss, GaussianLoss) and _is_wide(loss, smoothing):
            m += times * loss.distance_squared / (loss.sigma_squared - smoothing)
            k += times * math.floor(loss.distance_squared)
        else:
            others[loss] = times
    z = 2 * math.exp(-2 * math.pi**2 * float(smoothing)) * 1.001
    return round_up(m, 64) if m else m, UP * 2 * k * z / (1 - z), UP * math.exp(k * z), others


def _is_wide(loss: GaussianLoss, smoothing: Fraction) -> bool:
    """Whether discrete noise is read as normal: where it costs little, or where it must be."""
    if loss.distance_squared == 1:
        return loss.sigma_squared > COLLAPSE * smoothing
    if not loss.sigma_squared > 2 * smoothing:
        raise UnsupportedError(
            "discrete Gaussian noise this small on several numbers has no known loss distribution"
        )
    return True


def _grid(others: Mapping[Loss, int], normal: Fraction) -> Fraction:
    """A grid so fine that rounding adds little, and that meets every atom where it can.

    Rounding a loss to a grid of step h adds at most h^2/4 to the variance of its law, and the
    variance of the loss of an epsilon-private release is at most about epsilon^2.
    """
    unfolded = list(_unfold(others))
    variance = float(normal) + sum(times * _variance(loss) for loss, times in unfolded)
    if variance and not variance > QUIETEST:
        raise UnsupportedError("so little leaks here that floats cannot tell")
    if variance > LOUDEST:
        raise UnsupportedError("far more leaks here than any epsilon says")
    width = 2 * REACH * math.sqrt(variance) + variance
    points = [pure_upper(loss) for loss, _ in unfolded if _is_two_point(loss)]
    releases = sum(times for _, times in unfolded) + 1
    fine = 2 * math.sqrt(FINE * variance / releases)
    fine = max(fine, min(4 * fine, width / COARSER))
    known = [point for point in points if point]
    if known:
        common = reduce(_common_divisor, known)
        exact = not normal and len(points) == len(unfolded)  # then no law needs a finer grid
        grid = common if exact else common / math.ceil(float(common) / fine)
        if grid and width / float(grid) < LONGEST:
            return grid
    grid = round_up(Fraction(max(fine, width / LONGEST, 2.0**-40)), 4)
    if float(grid) > 10 * fine > 0:
        raise UnsupportedError("so many releases, so small, would need too fine a grid")
    return grid


def _variance(loss: Loss) -> float:
    if isinstance(loss, GaussianLoss):
        return float(loss.distance_squared / loss.sigma_squared)
    return float(pure_upper(loss) or 0) ** 2


def _is_two_point(loss: Loss) -> bool:
    """Whether the loss takes two values only: at epsilon and at -epsilon."""
    two = isinstance(loss, PureLoss | RangeLoss | ApproxLoss | RandomLoss)
    two = two or (isinstance(loss, PairLoss) and not _is_symmetric(loss))
    return two or (isinstance(loss, GeometricLoss) and loss.sensitivity == 1)


def _common_divisor(a: Fraction, b: Fraction) -> Fraction:
    """The largest rational of which both are multiples."""
    numerator = math.gcd(a.numerator * b.denominator, b.numerator * a.denominator)
    return Fraction(numerator, a.denominator * b.denominator)


def _cells(loss: Loss, grid: Fraction) -> Cells:
    match loss:
        case PureLoss() | RangeLoss() | RandomLoss():
            return _two_points(loss.epsilon, Fraction(0), grid)
        case ApproxLoss():
            return _two_points(loss.epsilon, loss.delta, grid)
        case GeometricLoss(sensitivity=1):
            return _two_points(loss.epsilon, Fraction(0), grid)
        case GeometricLoss():
            return _geometric_cells(loss.epsilon, loss.sensitivity, float(grid))
        case LaplaceLoss():
            return _geometric_cells(loss.epsilon, None, float(grid))
        case PairLoss():
            return _pair_cells(loss, grid)
        case GaussianLoss():
            return _discrete_gaussian_cells(float(loss.sigma_squared), float(grid))
        case ZCDPLoss() | NormalLoss():  # (normal noise was taken out by `_collapse`)
            raise UnsupportedError("a release of which only rho is known has no loss distribution")
        case _:
            assert_never(loss)


def _pair_cells(loss: PairLoss, grid: Fraction) -> Cells:
    if not _is_symmetric(loss):
        return _two_points(pure_upper(loss) or Fraction(0), Fraction(0), grid)
    pairs = list(zip(loss.first, loss.second, strict=True))
    losses = np.array([float(log_ratio(p, q).upper) for p, q in pairs])
    return _split(losses, np.array([float(p) for p, _ in pairs]), float(grid))


def _is_symmetric(loss: PairLoss) -> bool:
    """Whether the law of the loss is the same in both directions.

    Where it is not, one person may be in the first direction of one release and in the second of
    another, so that neither product of laws is the worst: then only its epsilon is used.
    """
    pairs = list(zip(loss.first, loss.second, strict=True))
    return Counter(pairs) == Counter((q, p) for p, q in pairs)


def _two_points(epsilon: Fraction, failing: Fraction, grid: Fraction) -> Cells:
    """Losses epsilon and -epsilon, the worst that is epsilon-private; and a chance to fail."""
    at = float(epsilon)
    high = UP * float(1 - failing) / (1 + math.exp(-at))
    low = UP * float(1 - failing) / (1 + math.exp(at))
    if (epsilon / grid).denominator == 1:
        steps = int(epsilon / grid)
        masses = np.zeros(2 * steps + 1)
        masses[0] += low
        masses[-1] += high
        return Cells(-steps, masses, UP * float(failing))
    split = _split(np.array([-at, at]), np.array([low, high]), float(grid))
    return Cells(split.start, split.masses, UP * float(failing))


def _geometric_cells(epsilon: Fraction, sensitivity: int | None, h: float) -> Cells:
    """Geometric noise moved by `sensitivity` steps; Laplace noise where that is None."""
    whole = float(epsilon)
    t = 0.0 if sensitivity is None else whole / sensitivity
    if sensitivity is not None and sensitivity <= RUNS:
        edges = t * np.arange(1, sensitivity + 1)
    else:
        edges = (whole - h * np.arange(math.floor(whole / h), -math.ceil(whole / h), -1.0)) / 2
        edges = edges if sensitivity is None else t * np.ceil(edges / t)
        edges = np.unique(np.concatenate(([t], edges[(edges > t) & (edges < whole)], [whole])))
    from_, to = edges[:-1], edges[1:]
    both = 1 + math.exp(-t)
    runs = np.exp(-from_) * -np.expm1(from_ - to) / both
    losses = np.concatenate(([whole], whole - from_ - to + t, [-whole]))
    return _split(losses, np.concatenate(([1 / both], runs, [math.exp(-whole) / both])), h)


def _discrete_gaussian_cells(v: float, h: float) -> Cells:
    """Discrete Gaussian noise on one number that moves by 1: loss (1 - 2 k)/(2 v) at k."""
    reach = math.ceil(REACH * math.sqrt(v)) + 2
    k = np.arange(-reach, reach + 1.0)
    masses = np.exp(-k * k / (2 * v))
    cells = _split((1 - 2 * k) / (2 * v), masses / masses.sum(), h)
    return Cells(cells.start, cells.masses, 2.0**-60)


def _split(losses: Floats, masses: Floats, h: float) -> Cells:
    """Put outputs of these losses on the grid, each on the two points around it."""
    below = np.floor(losses / h)
    part = np.clip(np.expm1(below * h - losses) / math.expm1(-h), 0, 1)
    part = np.minimum(1.0, part + 2.0**-49 * (np.abs(losses) / h + 2))
    start = int(below.min())
    index = (below - start).astype(np.int64)
    cells = np.zeros(int(index.max()) + 2)
    np.add.at(cells, index + 1, UP * masses * part)
    np.add.at(cells, index, UP * masses * (1 - part))
    return Cells(start, cells)


def _normal_cells(m: Fraction, h: float) -> Cells:
    """Normal noise: the loss is normal with mean m/2 and variance m."""
    from scipy.special import ndtr  # noqa: PLC0415

    mean, sd = float(m) / 2, math.sqrt(float(m))
    low, high = math.floor((mean - REACH * sd) / h), math.ceil((mean + REACH * sd) / h)
    points = h * np.arange(low, high + 1.0)

    def between(centre: float) -> Floats:
        x = (points - centre) / sd
        sign = np.where(x[:-1] + x[1:] > 0, -1.0, 1.0)  # differences of the smaller tail
        return sign * (ndtr(sign * x[1:]) - ndtr(sign * x[:-1]))

    p, q = between(mean), between(-mean)
    known = (p > 0) & (q > 0)  # elsewhere all of p goes up
    logs = np.log(q, where=known, out=np.zeros_like(q)) + points[:-1]
    there = np.exp(logs, where=known, out=np.zeros_like(q))
    part = (p - there) / np.where(p > 0, p, 1.0) / -math.expm1(-h)
    doubt = 2.0**-44 * (1 + sd / h) / h  # the relative error of p, over the width of a cell
    part = np.clip(part + min(1.0, doubt), 0, 1)
    cells = np.zeros(len(points))
    cells[1:] += UP * p * part
    cells[:-1] += UP * p * (1 - part)
    cells[0] += 2.0**-60
    return Cells(low, cells, 2.0**-60)


@dataclass(frozen=True)
class _Part:
    """A law on its way: our own cells while it is short, `dp_accounting`'s when it is long.

    `norm` is an upper bound of the 2-norm of its masses (convolving can only lower it: Young).
    """

    law: Cells | DensePLDPmf
    size: int
    norm: float


class _Sum:
    """Convolves laws, short ones directly and long ones by `dp_accounting`, and adds up the errors.

    Attributes:
        relative: short convolutions add up non-negative products and err by a factor only.
        absolute: transforms err by an absolute amount, in total variation.
    """

    def __init__(self, h: float) -> None:
        self.h = h
        self.relative = 0.0
        self.absolute = 0.0

    def of(self, cells: list[tuple[Cells, int]]) -> DensePLDPmf:
        """Compose all of them, small ones first."""
        number = count()
        heap: list[tuple[int, int, _Part]] = []
        for one, times in cells:
            part = _Part(one, len(one.masses), float(np.linalg.norm(one.masses)))
            part = self.power(part, times)
            heapq.heappush(heap, (part.size, next(number), part))
        while len(heap) > 1:
            first, second = heapq.heappop(heap)[2], heapq.heappop(heap)[2]
            part = self.compose(first, second, 1)
            heapq.heappush(heap, (part.size, next(number), part))
        return self.dense(heap[0][2])

    def power(self, part: _Part, times: int) -> _Part:
        """The law composed with itself, by doubling: the error of a square counts for each copy."""
        result: _Part | None = None
        while True:
            if times % 2:
                result = part if result is None else self.compose(result, part, 1)
            times //= 2
            if times == 0:
                return result if result is not None else part
            part = self.compose(part, part, times)

    def compose(self, first: _Part, second: _Part, used: int) -> _Part:
        """The convolution; its error counts as often as the result is used."""
        length = first.size + second.size
        if isinstance(first.law, Cells) and isinstance(second.law, Cells) and length <= DIRECT:
            self.relative += used * (length + 2) * UNIT
            cells = _convolved(first.law, second.law)
            return _Part(cells, len(cells.masses), float(np.linalg.norm(cells.masses)))
        norm = max(first.norm, second.norm)
        self.absolute += used * norm * 24 * math.sqrt(length) * math.log2(length) * UNIT
        tail = TAIL if length > TRUNCATE else 0
        law = self.dense(first).compose(self.dense(second), tail_mass_truncation=tail)
        return _Part(law, law.size, min(first.norm, second.norm) + norm * 2.0**-30)

    def dense(self, part: _Part) -> DensePLDPmf:
        """The law in the shape that `dp_accounting` takes."""
        from dp_accounting.pld.pld_pmf import DensePLDPmf  # noqa: PLC0415

        if not isinstance(part.law, Cells):
            return part.law
        cells = part.law
        return DensePLDPmf(
            self.h, cells.start, cells.masses.copy(), cells.infinity, pessimistic_estimate=True
        )


def _convolved(first: Cells, second: Cells) -> Cells:
    infinity = first.infinity + second.infinity
    return Cells(first.start + second.start, np.convolve(first.masses, second.masses), infinity)
