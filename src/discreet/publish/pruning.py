"""The pruned hierarchy: a fixed measurement, and all adaptivity in the reading.

Measured are the levels of one tree of blocks (`discreet.publish.levels`), with shares of epsilon
that grow towards the top: weight 1 + slope x level for the levels below the root, and a share
`root` of its own. That does not look at the data, so the proof is that of the levels. Then, bottom
up, a block becomes *flat* (all its cells alike) if that costs less than its parts do: the cost of a
fit is its weighted sum of squared residuals plus `kappa` for each free count. Least squares on what
is left, and on one axis the nearest cells whose cumulative counts rise.

Why the costs can be added up. For a subtree of measurements y with variances s, let the best fit
with total t cost C + (t - z)^2/V. For the split this is the theorem of the tree fit with the
children's costs added; for the flat one, every block below holds its share f of the cells, so the
sums of y^2/s, f y/s and f^2/s give C, z and V. Both are exact, level by level.

Branching 4 and 16 are the settings that were tuned on published data sets (DPBench); without a
branching, a twentieth of epsilon buys the number of records, whose noisy product with epsilon
chooses among three settings. That number joins the root's in the reading; raw cells and intervals
leave it out, because its noise had a part in choosing the tree.
Tested by tests/publish/test_pruning.py
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.exact import Exact
from discreet.noise.source import Source
from discreet.privacy.guarantee import Neighbours
from discreet.publish.blocks import blocks_of, obedient
from discreet.publish.consistency import summed
from discreet.publish.levels import Hierarchy, branching_of, levels_measured
from discreet.publish.measured import Account, Array, Noisy, Terms, counted

__all__ = ["Pruned", "Setting", "pruned"]

TOTAL = Fraction(1, 20)
"""The share of epsilon that buys the number of records where it chooses the setting."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A branching, the share of the root, how shares grow, and the price of a free count."""

    branching: int
    root: Fraction
    slope: Fraction
    kappa: float

    def shares(self, levels: int, *, paid: Fraction = Fraction(0)) -> list[Fraction]:
        """The shares of the levels, the cells first; the root has paid a part of its share."""
        if levels == 1:
            return [1 - paid]
        weights = [1 + self.slope * level for level in range(levels - 1)]
        rest = (1 - self.root) / sum(weights, Fraction(0))
        return [*(rest * weight for weight in weights), self.root - paid]


_SMALL = Setting(4, Fraction(1, 5), Fraction(2), 4.5)
_MIDDLE = Setting(4, Fraction(1, 10), Fraction(1), 4.5)
_LARGE = Setting(16, Fraction(1, 10), Fraction(1), 3.0)
_PLANE = Setting(4, Fraction(1, 10), Fraction(0), 3.0)


@dataclass(frozen=True, eq=False, repr=False)
class Pruned(Hierarchy):
    """A hierarchy that is read after pruning.

    Attributes:
        kappa: the price of a free count.
        total: the noisy number of records that chose the setting; None if none did.
    """

    kappa: float
    total: Noisy | None

    @property
    def noise(self) -> tuple[Noisy, ...]:
        """The noisy counts of all levels, the cells first, and of all records."""
        return super().noise if self.total is None else (*super().noise, self.total)

    def flattened(self) -> Array:
        """The cells after pruning and least squares; some may be negative."""
        numbers, variances = self._numbers, list(self._variances)
        if self.total is not None:
            joint = 1 / (1 / variances[-1] + 1 / self.total.variance)
            both = numbers[-1] / variances[-1] + self.total.values / self.total.variance
            numbers[-1], variances[-1] = joint * both, joint
        sizes = self.blocks.sums(np.ones(self.shape))
        flat = [level.reshape(-1) for level in sizes]
        found = _pruned_fit(numbers, variances, list(self.blocks.parents), flat, self.kappa)
        return found.reshape(self.shape)

    def _read(self) -> Array:
        return obedient(self.flattened())


@dataclass(frozen=True, slots=True, eq=False)
class _Fit:
    """For each node of a level: best total z, its variance, the cost; and what the split had."""

    z: Array
    variance: Array
    cost: Array
    is_flat: Array
    below: Array
    noise: Array


@dataclass(frozen=True, slots=True, eq=False)
class _Moments:
    """For each node, over all measurements in its subtree: sums of y^2/s, f y/s and f^2/s."""

    squares: Array
    cross: Array
    precision: Array

    def raised(self, y: Array, s: float, up: Array, part: Array) -> _Moments:
        """Those of the parents, whose own numbers are y; `part` is each child's part of it."""
        n = len(y)
        return _Moments(
            summed(self.squares, up, n) + y * y / s,
            summed(self.cross * part, up, n) + y / s,
            summed(self.precision * part**2, up, n) + 1 / s,
        )

    @property
    def flat_cost(self) -> Array:
        """The residuals of the best flat fit."""
        return np.asarray(self.squares - self.cross**2 / self.precision)


def _pruned_fit(
    numbers: list[Array],
    variances: list[float],
    parents: list[Array],
    sizes: list[Array],
    kappa: float,
) -> Array:
    y, s = numbers[0], variances[0]
    ones = np.ones(len(y))
    moments = _Moments(y * y / s, y / s, ones / s)
    fits = [_Fit(y, ones * s, ones * kappa, ones > 0, y, ones)]
    parts = [below / above[up] for below, above, up in zip(sizes, sizes[1:], parents, strict=False)]
    for y, s, up, part in zip(numbers[1:], variances[1:], parents, parts, strict=True):
        moments = moments.raised(y, s, up, part)
        fits.append(_joined(fits[-1], moments, (y, s), up, kappa))
    total, is_flat = fits[-1].z, fits[-1].is_flat
    for level in range(len(numbers) - 2, -1, -1):
        up, above, own = parents[level], fits[level + 1], fits[level]
        fine = own.z + ((total - above.below) / above.noise)[up] * own.variance
        under = is_flat[up]
        total = np.where(under, total[up] * parts[level], fine)
        is_flat = own.is_flat | under
    return total


def _joined(
    last: _Fit, moments: _Moments, own: tuple[Array, float], up: Array, kappa: float
) -> _Fit:
    """The fits of the parents: flat or split, whichever costs less."""
    y, s = own
    z, noise = summed(last.z, up, len(y)), summed(last.variance, up, len(y))
    split = summed(last.cost, up, len(y)) + (y - z) ** 2 / (s + noise)
    flat = moments.flat_cost + kappa
    is_flat = flat <= split
    variance = 1 / (1 / s + 1 / noise)
    return _Fit(
        np.where(is_flat, moments.cross / moments.precision, variance * (y / s + z / noise)),
        np.where(is_flat, 1 / moments.precision, variance),
        np.where(is_flat, flat, split),
        is_flat,
        z,
        noise,
    )


def pruned(
    cells: Array,
    *,
    epsilon: Exact,
    branching: int | None = None,
    sensitivity: Exact = 1,
    neighbours: Neighbours = "add_or_remove",
    source: Source | None = None,
) -> Pruned:
    """Publish levels of blocks, to be read after pruning.

    Guarantee. Epsilon-differential privacy for neighbours whose cells differ by at most
    `sensitivity` in the sum of differences.
    Proof. `discreet.publish.measured`: one step for each level and, without a branching, one for
    the number of records, whose output alone decides how the others are measured. The shares add
    up to epsilon.
    Tested by tests/publish/test_pruning.py

    Args:
        cells: exact counts, of one to three axes.
        epsilon: the privacy parameter of everything together.
        branching: how many blocks are joined along each axis; on one axis it may be left out.
        sensitivity: how far the cells of neighbours can be apart.
        neighbours: the relation under which that holds.
        source: for tests; the default is the system's randomness.
    """
    account = Account(Terms(epsilon, sensitivity, neighbours), source)
    values = counted(cells)
    total, setting, paid = None, _setting(branching, values.ndim), Fraction(0)
    if setting is None:
        paid = TOTAL
        total = account.measure(values.sum().reshape(1), paid * account.terms.epsilon)
        setting = chosen(int(total.values[0]), account.terms)
    blocks = blocks_of(values.shape, setting.branching)
    shares = setting.shares(len(blocks.shapes), paid=paid)
    levels = levels_measured(
        values, blocks, [share * account.terms.epsilon for share in shares], account
    )
    name = f"pruned (branching {setting.branching}{'' if total is None else ', chosen'})"
    return Pruned(name, account.terms, values.shape, blocks, levels, setting.kappa, total)


def _setting(branching: int | None, axes: int) -> Setting | None:
    if branching is None:
        return None if axes == 1 else _PLANE
    b = branching_of(branching)
    if axes > 1:
        return Setting(b, _PLANE.root, _PLANE.slope, _PLANE.kappa)
    return Setting(b, _MIDDLE.root, _MIDDLE.slope, _LARGE.kappa if b > 8 else _MIDDLE.kappa)


def chosen(total: int, terms: Terms) -> Setting:
    """The setting for a noisy number of records: public."""
    signal = total * terms.unit
    return _SMALL if signal < 300 else _MIDDLE if signal < 30_000 else _LARGE
