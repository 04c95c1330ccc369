"""Means of numbers that nobody shows: every person sends one report out of finitely many.

Let x lie in the declared bounds, moved to [-1, 1], and let t <= e^epsilon be rational.

Two reports (Duchi, Jordan and Wainwright 2018). Round x to +1 with probability (1 + x)/2, else to
-1, and answer by binary randomized response that tells the truth with p = t/(t + 1). The reports
stand for +C and -C, C = 1/(2p - 1), so their mean is x and their variance is C^2 - x^2.

Piecewise on a grid (after Wang et al. 2019, who have continuous reports). Round x at random to one
of the grid points g_i = -1 + 2i/m, i = 0..m, so that the mean stays x. There are M = m + L reports
0..M-1; those from i to i + L - 1 have probability a = t b each, all others b = 1/(t L + m). The
mean of the report less (M-1)/2 is (a - b) L (i - m/2), a multiple of g_i; so standing for that
times k = 2/(m (a-b) L), the report has the mean x exactly. Its variance is

    A + (B - 1) x^2 + B r,   A = k^2 (b M(M^2-1) + (a-b) L(L^2-1))/12,   B = 1/((a-b) L) >= 1,

where r = (x - g_i)(g_{i+1} - x) <= 1/m^2 comes from rounding x. The published window is
L = m e^(-eps/2); the one with the least A + B - 1 is wider, and the variance is a third less at
epsilon 4.

Hybrid. Piecewise with probability s, else the two reports; which one is seen. The variance is
s (A + (B-1) x^2 + B r) + (1-s)(C^2 - x^2), and with s = 1/B it is the same at all x, but for r. For
the published window s = 1 - e^(-eps/2).

Theorem. One report is epsilon-differentially private.
Proof. Every report has, under any two grid points, probabilities whose ratio is at most t, and so
under any two x, whose laws are mixtures of these. (A mixture's probability lies between the
least and the largest.) The ratio t is attained, so the bound is tight up to the rounding of t.

Tested by tests/local/test_mean.py
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputTypeError, ParameterError
from discreet.exact import Exact, Interval, exp, rational, shown, written
from discreet.exact.interval import round_down
from discreet.mechanisms.base import PureMechanism, plain_array
from discreet.mechanisms.response import RandomizedResponse
from discreet.noise.categorical import Categorical
from discreet.noise.law import Outcomes
from discreet.noise.source import Source, system_source
from discreet.noise.table import CHUNK, Inversion
from discreet.privacy.guarantee import Neighbours, epsilon_of

__all__ = ["RESOLUTION", "Mean", "Method", "Shape", "shape_for"]

Method = Literal["best", "duchi", "piecewise", "hybrid"]
Window = Literal["best", "published"]
RESOLUTION = 32
"""A value is read as one of 2^32 + 1 points of the bounds. It costs no privacy, whatever it does to
the value, and moves it by at most 2^-33 of their distance."""
COARSEST, FINEST = 8, 12


@dataclass(frozen=True, slots=True)
class Shape:
    """The numbers of one mechanism on [-1, 1], all exact.

    `steps` m and `window` L are 0 where there are only the two reports, and `share` s is the
    probability of the piecewise reports.
    """

    ratio: Fraction
    steps: int
    window: int
    share: Fraction

    @property
    def size(self) -> int:
        """M, the number of piecewise reports."""
        return self.steps + self.window

    @property
    def low(self) -> Fraction:
        """The probability b of a piecewise report outside the window, given that it is one."""
        return 1 / (self.ratio * self.window + self.steps)

    @property
    def unit(self) -> Fraction:
        """What one piecewise report and the next differ by."""
        return 2 / (self.steps * self.slope)

    @property
    def slope(self) -> Fraction:
        """(a - b) L."""
        return (self.ratio - 1) * self.low * self.window

    @property
    def reach(self) -> Fraction:
        """C, what the two reports stand for."""
        return (self.ratio + 1) / (self.ratio - 1)

    @property
    def flat(self) -> Fraction:
        """A: the variance of a piecewise report at x = 0."""
        m, w = self.size, self.window
        spread = m * (m * m - 1) + (self.ratio - 1) * w * (w * w - 1)
        return self.unit**2 * self.low * spread / 12

    @property
    def worst_variance(self) -> Fraction:
        """A bound of the variance at every x: the larger of both ends, and the rounding of x."""
        two = self.reach**2
        if self.share == 0:
            return two
        steep = 1 / self.slope
        centre = self.share * self.flat + (1 - self.share) * two
        end = self.share * (self.flat + steep - 1) + (1 - self.share) * (two - 1)
        return max(centre, end) + self.share * steep / self.steps**2


def shape_for(epsilon: Fraction, method: Method, window: Window) -> Shape:
    """The shape of the least worst-case variance among those that were asked for."""
    bits = 64 + math.ceil(1 / epsilon).bit_length()
    ratio = max(round_down(exp(epsilon, bits + 64).lower, bits), Fraction(1) + epsilon)
    two = Shape(ratio, 0, 0, Fraction(0))
    if method == "duchi":
        return two
    root = math.exp(min(float(epsilon), 40.0) / 2)
    steps = 1 << min(max(COARSEST, math.ceil(math.log2(16 * root))), FINEST)
    mixed = method in {"hybrid", "best"}
    published = max(round(steps / root), 1)
    if window == "published":
        found = [_with_share(ratio, steps, published, mixed=mixed)]
    else:
        found = [_least(ratio, steps, mixed=mixed)]
    if method == "best":
        found += [two, _least(ratio, steps, mixed=False)]
    if method == "hybrid":
        found.append(two)
    return min(found, key=lambda shape: shape.worst_variance)


def _with_share(ratio: Fraction, steps: int, window: int, *, mixed: bool) -> Shape:
    """The shape with the share 1/B that makes the variance the same everywhere, or 1."""
    pure = Shape(ratio, steps, window, Fraction(1))
    return Shape(ratio, steps, window, round_down(pure.slope, 64)) if mixed else pure


def _least(ratio: Fraction, steps: int, *, mixed: bool) -> Shape:
    """The window of the least worst-case variance: golden steps over a function of one dip."""
    known: dict[int, Shape] = {}

    def cost(window: int) -> Fraction:
        if window not in known:
            known[window] = _with_share(ratio, steps, window, mixed=mixed)
        return known[window].worst_variance

    low, high = 1, 2 * steps
    while high - low > 2:
        third = (high - low) // 3
        left, right = low + third, high - third
        low, high = (low, right) if cost(left) <= cost(right) else (left, high)
    return known.setdefault(
        best := min(range(low, high + 1), key=cost), _with_share(ratio, steps, best, mixed=mixed)
    )


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Mean(PureMechanism):
    """Report a number within public bounds so that the mean of many people can be told.

    `method` is "best" (the least worst-case variance, the default), "duchi", "piecewise" or
    "hybrid"; `window` is "best" or "published". `why` says what was chosen and what else there was.

    Guarantee. One report is epsilon-differentially private.
    Neighbours. "replace", always: a person's value is replaced by any other.
    Assumes. Each person sends one report; a value outside the bounds is moved to the nearer one.
    Proof. At the top of this module.
    Tested by tests/local/test_mean.py

    >>> ages = Mean(bounds=(0, 100), epsilon=1)
    >>> 0 <= ages.report(41) < ages.outputs
    True
    """

    bounds: tuple[Fraction, Fraction]
    epsilon: Fraction
    method: Method
    window: Window
    shape: Shape = field(compare=False)
    _table: Inversion | None = field(compare=False)
    _bits: int = field(compare=False)

    def __init__(
        self,
        bounds: tuple[Exact, Exact],
        epsilon: Exact,
        *,
        method: Method = "best",
        window: Window = "best",
    ) -> None:
        if method not in ("best", "duchi", "piecewise", "hybrid"):
            problem = "must be 'best', 'duchi', 'piecewise' or 'hybrid'"
            raise ParameterError("method", method, problem)
        if window not in ("best", "published"):
            raise ParameterError("window", window, "must be 'best' or 'published'")
        put = object.__setattr__
        put(self, "bounds", bounds_of(bounds))
        put(self, "epsilon", epsilon_of(epsilon))
        put(self, "method", method)
        put(self, "window", window)
        put(self, "shape", shape_for(self.epsilon, method, window))
        put(self, "_table", None)
        put(self, "_bits", RESOLUTION)

    def __repr__(self) -> str:
        low, high = map(written, self.bounds)
        said = f"bounds=({low}, {high}), epsilon={written(self.epsilon)}"
        if self.method != "best":
            said += f", method={self.method!r}"
        if self.window != "best":
            said += f", window={self.window!r}"
        return f"Mean({said})"

    @property
    def neighbours(self) -> Neighbours:  # type: ignore[override]
        """One person's value is replaced by any other."""
        return "replace"

    @property
    def outputs(self) -> int:
        """How many different reports there are: 0 .. outputs - 1."""
        return self.shape.size + (2 if self.shape.share < 1 else 0)

    @property
    def extremes(self) -> tuple[int, ...]:
        """The reports that stand for the least and the largest number of their kind."""
        size = self.shape.size
        piecewise = (0, size - 1) if self.shape.share > 0 else ()
        return piecewise + ((size, size + 1) if self.shape.share < 1 else ())

    @property
    def kind(self) -> str:
        """What was chosen, in a word."""
        if self.shape.share == 0:
            return "duchi"
        return "piecewise" if self.shape.share == 1 else "hybrid"

    @property
    def coins(self) -> RandomizedResponse | None:
        """Binary randomized response behind the two reports, where there are no others."""
        if self.shape.share > 0:
            return None
        p = self.shape.ratio / (self.shape.ratio + 1)
        return RandomizedResponse(kernel=((p, 1 - p), (1 - p, p)), categories=(0, 1))

    @property
    def variance(self) -> float:
        """A bound of the variance of one report, at every true value."""
        return float(self.worst_variance)

    @property
    def worst_variance(self) -> Fraction:
        """The same, exactly."""
        return self.shape.worst_variance * self.half**2

    @property
    def half(self) -> Fraction:
        """Half the distance of the bounds."""
        return (self.bounds[1] - self.bounds[0]) / 2

    @property
    def why(self) -> str:
        """What was chosen, with the worst-case variances of the others, on bounds (-1, 1)."""
        others: list[tuple[Method, Window]] = [
            ("duchi", "best"),
            ("piecewise", "published"),
            ("hybrid", "published"),
            ("piecewise", "best"),
            ("hybrid", "best"),
        ]
        found = {
            f"{method} ({window} window)" if method != "duchi" else method: float(
                shape_for(self.epsilon, method, window).worst_variance
            )
            for method, window in others
        }
        listed = ", ".join(f"{name} {value:.4g}" for name, value in found.items())
        mine = float(self.shape.worst_variance)
        return (
            f"{self.kind} with a worst-case variance of {mine:.4g} on (-1, 1) at epsilon "
            f"{shown(self.epsilon)}; the choices were {listed}."
        )

    def report(self, value: Any, *, source: Source | None = None) -> int:
        """The randomised report of one person. A value that is no finite number is refused."""
        number = isinstance(value, int | float | Fraction | np.integer | np.floating)
        if not number or isinstance(value, bool):
            raise InputTypeError("a number is needed here; nothing was released")
        return int(self.reports(np.array([_float(value)]), source=source)[0])

    def reports(self, values: NDArray[Any], *, source: Source | None = None) -> NDArray[Any]:
        """One report for each of an array of values, of the same law as `report`."""
        places = self.places(values)
        if source is None:
            source = system_source()
        table = self._drawer()
        out = np.empty(places.size, dtype=np.int32)
        for start in range(0, places.size, CHUNK):
            piece = places[start : start + CHUNK]
            chosen = table.chunk(piece.size, source).astype(np.int64)
            fine = source.array(piece.size, 32).astype(np.int64)
            out[start : start + CHUNK] = self.moved(chosen, piece, fine)
        return out

    def places(self, values: NDArray[Any]) -> NDArray[Any]:
        """The values as whole numbers 0 .. 2^32 between the bounds."""
        array = plain_array(np.asarray(values)).reshape(-1)
        if array.dtype.kind not in "iuf":
            raise InputTypeError("an array of numbers is needed here; nothing was released")
        array = array.astype(np.float64)
        if not np.all(np.isfinite(array)):
            raise InputTypeError("every value must be a finite number; nothing was released")
        low, high = map(float, self.bounds)
        scaled = (np.clip(array, low, high) - low) / (high - low)
        found: NDArray[Any] = np.rint(scaled * float(1 << self._bits)).astype(np.int64)
        return found

    def moved(self, chosen: NDArray[Any], places: NDArray[Any], fine: NDArray[Any]) -> NDArray[Any]:
        """The report for an outcome of the table, a place and a uniform integer for rounding."""
        size, window, steps = self.shape.size, self.shape.window, self.shape.steps
        width = self._bits - (steps.bit_length() - 1 if steps else 0)
        grid = (places + (fine >> (self._bits - width))) >> width
        end = (places + fine) >> self._bits
        near = np.where(chosen < size, chosen, grid + chosen - size)
        two = chosen - (size + window)
        far = size + np.where(two == 2, end, two)
        reports: NDArray[Any] = np.where(chosen < size + window, near, far)
        return reports

    def _drawer(self) -> Inversion:
        table = self._table
        if table is None:
            table = Inversion(Categorical(self.weights()))
            object.__setattr__(self, "_table", table)
        return table

    def weights(self) -> tuple[Fraction, ...]:
        """The table: any report, a place in the window, either of the two reports, the truth."""
        shape, s = self.shape, self.shape.share
        lie = 1 / (shape.ratio + 1)
        two = ((1 - s) * lie, (1 - s) * lie, (1 - s) * (1 - 2 * lie))
        if s == 0:
            return two
        any_one, inside = s * shape.low, s * shape.low * (shape.ratio - 1)
        return (any_one,) * shape.size + (inside,) * shape.window + two

    def law(self, value: Any) -> Outcomes:
        """The exact law of the report of a person whose value is `value`."""
        masses = [
            Interval.of(p) for p in self.masses(int(self.places(np.array([_float(value)]))[0]))
        ]
        return Outcomes(range(self.outputs), lambda _: masses)

    def masses(self, place: int) -> list[Fraction]:
        """The exact probabilities of all reports at a place 0 .. 2^32."""
        shape, s = self.shape, self.shape.share
        found = [s * shape.low] * shape.size if s else []
        if s:
            at = Fraction(place * shape.steps, 1 << self._bits)
            first = min(at.numerator // at.denominator, shape.steps - 1)
            inside = s * shape.low * (shape.ratio - 1)
            for start, weight in ((first, 1 - (at - first)), (first + 1, at - first)):
                for j in range(start, start + shape.window):
                    if weight:
                        found[j] += inside * weight
        if s < 1:
            lie, up = 1 / (shape.ratio + 1), Fraction(place, 1 << self._bits)
            plus = lie + (1 - 2 * lie) * up
            found += [(1 - s) * (1 - plus), (1 - s) * plus]
        return found

    def stands_for(self, report: int) -> Fraction:
        """The number that a report stands for, exactly; its mean is the true value."""
        shape, centre = self.shape, (self.bounds[0] + self.bounds[1]) / 2
        if report < shape.size:
            on_unit = shape.unit * (report - Fraction(shape.size - 1, 2))
        else:
            on_unit = shape.reach * (2 * (report - shape.size) - 1)
        return centre + self.half * on_unit

    def small_neighbours(self) -> Iterator[tuple[Any, Any]]:
        """The ends and the middle: the windows of the ends do not overlap, or barely."""
        low, high = self.bounds
        return combinations((low, (low + high) / 2, high), 2)


def _float(value: Any) -> float:
    """A number as a double; one that is too large becomes infinite, and is refused later."""
    try:
        return float(value)
    except OverflowError:
        return math.inf


def bounds_of(value: object) -> tuple[Fraction, Fraction]:
    """Two declared numbers, the first below the second."""
    if isinstance(value, str) or not isinstance(value, tuple | list) or len(value) != 2:
        raise ParameterError("bounds", value, "must be two numbers, for example (0, 100)")
    low, high = (rational(end, name="bounds") for end in value)
    if not low < high:
        raise ParameterError("bounds", value, "must be a lower and a higher number")
    least, most = _float(low), _float(high)
    if not (least < most and math.isfinite(most - least)):
        problem = "must be different floating-point numbers, with a difference that is one"
        raise ParameterError("bounds", value, problem)
    return low, high
