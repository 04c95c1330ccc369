"""From noisy cells to numbers: exact without noise, and intervals that cover what they say.

Coverage is computed from the exact laws: the masses of all noise vectors whose interval holds the
truth are added up. What is cut off has a mass below 1e-9.
"""

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.query.measuring import (
    PLUS,
    SURE,
    Aggregate,
    PerPerson,
    PerRow,
    X,
    ask,
    cells_of,
    contribution,
    number,
    part_of,
)

from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.geometric import Geometric
from discreet.mechanisms.selection import PermuteAndFlip
from discreet.noise.source import system_source
from discreet.query import reading
from discreet.query.logarithm import chord_error
from discreet.query.price import Target, _Share, _with_noise
from discreet.query.reading import (
    Form,
    error_of,
    half_width,
    rank_error,
    rank_width,
    read,
    standard_deviation,
    sum_form,
)

COUNT = Aggregate("count")
LEVEL = Fraction(19, 20)
WHOLE = {"count": COUNT, "people": Aggregate("people")}


def exact(measured, plan, values):
    """The noiseless cells of rows with these values, one person each."""
    part = part_of(measured.block, measured.stability, plan)
    cells = [0] * len(measured.block.cells)
    for value in values:
        row = {"x": value, "y": value, "g": "a", "f": 1}
        for (_, j), n in cells_of(measured.block, contribution(part, [row]), plan).items():
            cells[j] += n
    return cells


def measured_of(*wanted, target=None, **more):
    priced = ask(*wanted, target=target or Target(epsilon=1), **more)
    (measured,) = priced.measured
    return measured, priced.plan


# without noise


def population(values):
    mean = Fraction(sum(values), len(values))
    return mean, sum((v - mean) ** 2 for v in values) / len(values)


ENDS = [(0, 4), (-3, 2), (5, 6), (-9, -2)]


@pytest.mark.parametrize(("low", "high"), ENDS)
@pytest.mark.parametrize("grid", [1, "1/100"])
@pytest.mark.parametrize("unit", [PerRow(), PerPerson("id", max_rows=2)])
@pytest.mark.parametrize("degree", [1, 2])
@given(data=st.data())
def test_every_number_is_right_without_noise(low, high, grid, unit, degree, data):
    x = number(low, high, grid=grid, nullable=True)
    names = ["sum", "mean"] if degree == 1 else ["sum", "mean", "variance", "stddev"]
    wanted = {name: Aggregate(name, x) for name in names}
    wanted |= {"count": COUNT, "there": Aggregate("count", x)}
    measured, plan = measured_of(*wanted.values(), unit=unit)
    values = data.draw(st.lists(st.integers(low, high) | st.none(), max_size=6))
    cells = exact(measured, plan, values)
    known = [n * Fraction(grid) for n in values if n is not None]
    found = {n: read(a, measured, cells, confidence=LEVEL) for n, a in wanted.items()}
    expected = {"count": len(values), "there": len(known), "sum": sum(known)}
    if known:
        expected["mean"], variance = population(known)
        expected |= {"variance": variance, "stddev": math.sqrt(variance)} if degree == 2 else {}
    for name, truth in expected.items():
        assert found[name].value == pytest.approx(float(truth), abs=1e-9), name
        assert found[name].raw == pytest.approx(float(truth), abs=1e-9), name
        assert found[name].low - 1e-9 <= truth <= found[name].high + 1e-9, name
    assert type(found["count"].value) is type(found["there"].value) is int


@given(st.lists(st.integers(0, 4), min_size=3, max_size=3))
def test_around_the_middle(values):
    unit = PerRow(neighbours="replace", rows=3)
    wanted = {n: Aggregate(n, SURE) for n in ("sum", "mean")}
    measured, plan = measured_of(*wanted.values(), unit=unit)
    assert measured.block.what == "centred"
    cells = exact(measured, plan, values)
    for name, truth in (("sum", sum(values)), ("mean", sum(values) / 3)):
        found = read(wanted[name], measured, cells, confidence=LEVEL, rows=3)
        assert found.value == found.raw == pytest.approx(truth)
        assert found.low <= truth <= found.high
    far = read(wanted["mean"], measured, [10**9], confidence=LEVEL, rows=3)
    assert (far.value, far.high) == (4, 4)
    assert far.raw > 10**8
    half = read(wanted["sum"], measured, [1], confidence=LEVEL, rows=3)
    assert half.value == 6
    assert half.raw == 6.5


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("values", [[2, 4, 8], [1, 1, 1], [8, 8, 8]])
def test_products_and_geometric_means(known, values):
    """With a public number of rows too, where the sum is measured around its middle."""
    x = number(1, 8)
    wanted = {n: Aggregate(n, x) for n in ("product", "geometric_mean")}
    unit = PerRow(neighbours="replace", rows=3) if known else PerRow()
    measured, plan = measured_of(*wanted.values(), unit=unit)
    assert (measured.block.what == "centred") is known
    cells = exact(measured, plan, values)
    error = 3 * float(chord_error(x.kind)) + 1e-6
    for name, truth in (
        ("product", math.prod(values)),
        ("geometric_mean", math.cbrt(math.prod(values))),
    ):
        found = read(wanted[name], measured, cells, confidence=LEVEL, rows=3 if known else None)
        assert found.value == pytest.approx(truth, rel=error)
        assert found.low <= truth * (1 + error)
        assert found.high >= truth * (1 - error)


def test_products_beyond_floats_are_infinite():
    x = number(1, 10**6)
    measured, _ = measured_of(Aggregate("product", x))
    unit = measured.block.cells[0].unit
    found = read(Aggregate("product", x), measured, [unit * 1000, 0], confidence=LEVEL)
    assert found.value == math.inf
    found = read(Aggregate("product", x), measured, [-unit * 1000, 0], confidence=LEVEL)
    assert found.value == 0


# counts


def test_a_count_of_something_that_cannot_miss_counts_all_rows():
    """COUNT(y) of a column without gaps is COUNT(*), also where x, which has gaps, carries it."""
    sure = Aggregate("count", SURE)
    wanted = [COUNT, sure, Aggregate("count", X), Aggregate("sum", X)]
    measured, plan = measured_of(*wanted)
    cells = exact(measured, plan, [1, None, 4, None, None])
    found = [read(a, measured, cells, confidence=LEVEL).raw for a in wanted]
    assert found == [5, 5, 2, 5]


@given(st.integers(-100, 100), st.sampled_from(["1/10", 1, 5]))
def test_counts_are_whole_and_never_negative_and_raw_stays_raw(cell, epsilon):
    for name, wanted in WHOLE.items():
        unit = PerRow() if name == "count" else PerPerson("id")
        measured, _ = measured_of(wanted, unit=unit, target=Target(epsilon=epsilon))
        found = read(wanted, measured, [cell], confidence=LEVEL)
        assert found.raw == cell
        assert found.value == max(cell, 0)
        assert all(type(n) is int and n >= 0 for n in (found.value, found.low, found.high))
        width = half_width(measured, Form((Fraction(1),)), LEVEL)
        assert found.low == max(cell - width, 0)
        assert found.high == max(cell + width, 0)


def test_counts_are_no_larger_than_what_is_public():
    wanted = Aggregate("count", None, PLUS)
    measured, _ = measured_of(wanted, unit=PerRow(neighbours="replace", rows=10))
    found = read(wanted, measured, [14], confidence=LEVEL, rows=10)
    assert (found.value, found.high, found.raw) == (10, 10, 14)
    assert read(wanted, measured, [-4], confidence=LEVEL, rows=10).value == 0


def test_weighted_counts_are_in_whole_rows():
    measured, _ = measured_of(COUNT, unit=PerPerson("id", max_rows=2))
    scale = measured.scale
    assert scale > 1
    found = read(COUNT, measured, [3 * scale + scale // 4], confidence=LEVEL)
    assert found.value == 3
    assert found.raw == 3.25
    assert found.low <= 3.25 <= found.high


# means and spreads at the extremes


@pytest.mark.parametrize("cells", [(0, 0), (-5, -9), (-(10**9), -(10**9))])
def test_a_mean_of_nothing_is_the_whole_range(cells):
    mean = Aggregate("mean", number(-3, 5, grid="1/2"))
    measured, _ = measured_of(mean)
    found = read(mean, measured, cells, confidence=LEVEL)
    assert (found.value, found.low, found.high) == (0.5, -1.5, 2.5)


@given(*[st.integers(-(10**6), 10**6)] * 3)
@example(0, 0, 0)
def test_means_and_spreads_stay_inside_their_range(high, middle, low):
    wanted = [Aggregate(f, X) for f in ("mean", "variance", "stddev")]
    measured, _ = measured_of(*wanted)
    for aggregate, most in zip(wanted, (4, 4, 2), strict=True):
        found = read(aggregate, measured, (high, middle, low), confidence=LEVEL)
        assert 0 <= found.low <= found.value <= found.high <= most
    pair, _ = measured_of(wanted[0])
    found = read(wanted[0], pair, (high, low), confidence=LEVEL)
    assert 0 <= found.low <= found.value <= found.high <= 4


@given(*[st.integers(-3, 12)] * 3)
@example(0, 0, 6)
@example(2, 0, 9)
def test_intervals_hold_whatever_is_within_the_widths_of_the_cells(high, middle, low):
    """All true cells in the box around the noisy ones: every mean and variance is covered."""
    x = number(0, 1)
    wanted = {f: Aggregate(f, x) for f in ("mean", "variance", "stddev")}
    measured, _ = measured_of(*wanted.values(), target=Target(epsilon=4))
    each = 1 - (1 - LEVEL) / 3
    ends = [
        [max(c - error_of(n, each), 0), c, c + error_of(n, each)]
        for c, n in zip((high, middle, low), measured.noise, strict=True)
    ]
    found = {n: read(a, measured, (high, middle, low), confidence=LEVEL) for n, a in wanted.items()}
    for h, m, rest in itertools.product(*ends):
        total = h + m + rest
        if min(h, m, rest) < 0 or total == 0:
            continue
        mean, second = (h + m / 2) / total, h / total
        variance = max(second - mean**2, 0)
        truth = {"mean": mean, "variance": variance, "stddev": math.sqrt(variance)}
        for name, value in truth.items():
            assert found[name].low - 1e-9 <= value <= found[name].high + 1e-9


def test_a_large_group_has_a_narrow_interval():
    wanted = [Aggregate(f, X) for f in ("mean", "variance")]
    measured, plan = measured_of(*wanted)
    values = [0, 1, 2, 3, 4] * 4000
    cells = [4000 * n for n in exact(measured, plan, [0, 1, 2, 3, 4])]
    assert cells == exact(measured, plan, values[:5]) or len(values) == 20_000
    mean, variance = (read(a, measured, cells, confidence=LEVEL) for a in wanted)
    assert mean.value == 2
    assert variance.value == 2
    assert mean.high - mean.low < 0.01
    assert variance.high - variance.low < 0.05


# coverage, exactly


@lru_cache(maxsize=64)
def masses(noise):
    """The law of one cell, as far as it matters: values and their masses."""
    reach = noise.error(1 - Fraction(1, 10**10))
    law = noise.noise_law
    half = [law.mass(k) for k in range(reach + 1)]
    return np.arange(-reach, reach + 1), np.array([*half[:0:-1], *half])


def law_of(measured, form):
    """All values of the noise of a form with their masses: |values|, masses."""
    used = [(f, n) for f, n in zip(form.factors, measured.noise, strict=True) if f]
    scale = math.lcm(*(f.denominator for f, _ in used))
    values, weights = np.zeros(1, dtype=np.int64), np.ones(1)
    for factor, noise in used:
        each, mass = masses(noise)
        values = (values[:, None] + int(factor * scale) * each[None, :]).reshape(-1)
        weights = (weights[:, None] * mass[None, :]).reshape(-1)
    return np.abs(values), weights, scale * measured.scale


def covered(measured, form, width):
    values, weights, scale = law_of(measured, form)
    return weights[values <= float(width * scale) * (1 + 1e-12)].sum()


FORMS = [
    ([COUNT], "rows", {}),
    ([Aggregate("sum", number(-2, 3))], "sum", {}),
    ([Aggregate("sum", number(-2, 3))], "sum", {"keys": "ab"}),
    ([Aggregate("mean", number(0, 1))], "count", {}),
    ([Aggregate("mean", number(-1, 2))], "sum", {}),
    ([Aggregate("mean", number(5, 6))], "sum", {}),
    ([Aggregate("mean", number(0, 1, nullable=True)), COUNT], "rows", {}),
    ([Aggregate("variance", number(0, 1))], "count", {}),
    ([Aggregate("variance", number(0, 2))], "sum", {}),
    ([Aggregate("count", None, PLUS)], "rows", {"unit": PerRow(neighbours="replace")}),
]


@pytest.mark.parametrize(("wanted", "name", "more"), FORMS)
@pytest.mark.parametrize("target", [{"epsilon": 1}, {"epsilon": 4}, {"rho": "1/2"}, {"rho": 4}])
@pytest.mark.parametrize("confidence", ["1/2", "19/20", "999/1000"])
def test_half_widths_cover(wanted, name, more, target, confidence):
    measured, _ = measured_of(*wanted, target=Target(**target), **more)
    form = sum_form(measured) if name == "sum" else measured.block.forms[name]
    level = Fraction(confidence)
    width = half_width(measured, form, level)
    assert covered(measured, form, width) >= float(level) - 1e-9
    if len(measured.noise) == 1:  # the least width that covers
        step = abs(form.factors[0]) / measured.scale
        assert width == 0 or covered(measured, form, width - step) < float(level)


@pytest.mark.parametrize(
    ("target", "most"), [({"epsilon": "1/10"}, 1.002), ({"rho": "1/800"}, 1.05)]
)
def test_half_widths_are_not_wasteful(target, most):
    """Where noise is wide, a slack of one step is small: the least width is just below."""
    measured, _ = measured_of(Aggregate("mean", number(0, 3)), target=Target(**target))
    form = measured.block.forms["count"]
    values, weights, scale = law_of(measured, form)
    order = np.argsort(values)
    place = np.searchsorted(np.cumsum(weights[order]), float(LEVEL))
    least = values[order][place] / scale
    assert least <= half_width(measured, form, LEVEL) <= least * most + 1


def test_extreme_confidence():
    measured, _ = measured_of(Aggregate("mean", X))
    form = measured.block.forms["count"]
    widths = [
        half_width(measured, form, 1 - Fraction(1, 10**n)) for n in (1, 3, 6, 9, 20, 29, 40, 400)
    ]
    assert widths == sorted(widths)
    assert len(set(widths)) == len(widths)
    # two Laplace variables of scale 1: P(|X| > t) = (1 + t/2) exp(-t)
    t = float(widths[3]) - 2 / 4  # without the slack
    assert (1 + t / 2) * math.exp(-t) == pytest.approx(1e-9, rel=1e-3)


@lru_cache(maxsize=8)
def _vectors(noises):
    """All noise vectors of small cells, with their masses."""
    each = [list(zip(*masses(noise), strict=True)) for noise in noises]
    found = []
    for combo in itertools.product(*each):
        mass = math.prod(m for _, m in combo)
        if mass > 1e-9:
            found.append((tuple(int(z) for z, _ in combo), mass))
    return found


RATIOS = [
    ("mean", number(0, 1), [], [0, 1, 1], {"epsilon": 3}),
    ("mean", number(0, 1), [], [1] * 6, {"epsilon": 3}),
    ("mean", number(-1, 1), [], [-1, 0, 0, 1, 1], {"epsilon": 4}),
    ("mean", number(0, 1, nullable=True), [COUNT], [0, 1, None, 1], {"epsilon": 5}),
    ("mean", number(0, 1), [], [0, 0, 1], {"rho": 2}),
    ("variance", number(0, 1), [], [0, 1, 1, 0], {"epsilon": 5}),
    ("stddev", number(0, 1), [], [0, 0, 0, 0, 1], {"epsilon": 5}),
    ("mean", number(0, 1), [Aggregate("variance", number(0, 1))], [0, 1, 1], {"epsilon": 5}),
    ("variance", number(0, 1), [], [0, 1, 1], {"rho": 4}),
]


@pytest.mark.parametrize(("function", "x", "more", "values", "target"), RATIOS)
def test_intervals_of_means_and_spreads_cover(function, x, more, values, target):
    wanted = Aggregate(function, x)
    measured, plan = measured_of(wanted, *more, target=Target(**target))
    cells = exact(measured, plan, values)
    known = [v for v in values if v is not None]
    mean, variance = population(known)
    truth = {"mean": float(mean), "variance": float(variance), "stddev": math.sqrt(variance)}
    inside = missed = 0.0
    for noise, mass in _vectors(measured.noise):
        noisy = [c + z for c, z in zip(cells, noise, strict=True)]
        found = read(wanted, measured, noisy, confidence=LEVEL)
        if found.low - 1e-9 <= truth[function] <= found.high + 1e-9:
            inside += mass
        else:
            missed += mass
    assert inside + missed > 0.999
    assert missed <= 1 - float(LEVEL)


@pytest.mark.statistical
@pytest.mark.parametrize("unit", [PerRow(), PerPerson("id", max_rows=3)])
@pytest.mark.parametrize("target", [{"epsilon": "1/5"}, {"rho": "1/50"}])
def test_intervals_cover_at_usual_scales(unit, target):
    """2,500 draws each; false alarms: 12 P(Binomial(2500, 0.05) > 205) < 1e-9."""
    x = number(0, 1000, nullable=True)
    wanted = [COUNT, Aggregate("sum", x), Aggregate("mean", x)]
    measured, _ = measured_of(*wanted, target=Target(**target), unit=unit)
    scale, size = measured.scale, 2500
    cells = [300_000 * scale, 200_000 * scale, 20_000 * scale]  # 500 rows with values, 20 without
    drawn = [
        n.release(np.zeros(size, dtype=np.int64), source=system_source()) for n in measured.noise
    ]
    truths = [520, 300_000, 600]
    missed = np.zeros(3)
    for i in range(size):
        noisy = [c + int(z[i]) for c, z in zip(cells, drawn, strict=True)]
        found = [read(a, measured, noisy, confidence=LEVEL) for a in wanted]
        missed += [not e.low <= t <= e.high for e, t in zip(found, truths, strict=True)]
    assert all(missed <= 205)


def test_standard_deviations():
    measured, _ = measured_of(Aggregate("mean", number(0, 3)))
    for name in ("count", "first"):
        form = measured.block.forms[name]
        values, weights, scale = law_of(measured, form)
        truth = math.sqrt(float((values.astype(float) ** 2 * weights).sum())) / scale
        assert standard_deviation(measured, form) == pytest.approx(truth, rel=1e-6)


# ranks


def quantile_measured(levels, *, bins=8, epsilon=1, unit=None):
    wanted = [Aggregate("quantile", number(0, bins - 1), level=Fraction(a)) for a in levels]
    return measured_of(*wanted, unit=unit or PerRow(), target=Target(epsilon=epsilon))[0]


def test_ranks_of_chosen_quantiles():
    for level in ("1/2", "0", "1", "9/10"):
        measured = quantile_measured([level])
        a = Fraction(level)
        furthest = max(a.numerator, a.denominator - a.numerator)
        flip = PermuteAndFlip(epsilon=1, sensitivity=furthest)
        assert rank_error(measured, a, LEVEL) == Fraction(flip.error(LEVEL, 8), a.denominator)
    weighted = quantile_measured(["1/2"], unit=PerPerson("id", max_rows=3))
    assert rank_error(weighted, Fraction(1, 2), LEVEL) == 3 * rank_error(
        quantile_measured(["1/2"]), Fraction(1, 2), LEVEL
    )


def test_ranks_of_a_histogram_hold_for_all_bins_together():
    measured = quantile_measured(["1/5", "2/5", "3/5", "4/5"], bins=100)
    (noise,) = measured.noise
    one, all_ = rank_width(noise, 100, LEVEL), rank_error(measured, Fraction(1, 5), LEVEL)
    assert all_ == pytest.approx(rank_width(noise, 100, 1 - (1 - LEVEL) / 100))
    assert one < all_ < 3 * one
    deviation = math.sqrt(34 * noise.variance)  # 3 blocks and 31 bins
    assert 1.96 * deviation < one < 2.05 * deviation + 2
    assert rank_width(noise, 1, LEVEL) > 0


def test_gaussian_cells_of_one_share():
    """The noise of a block is what its share says, for both families."""
    measured, plan = measured_of(Aggregate("mean", X))
    block, stability = measured.block, measured.stability
    half = _with_noise(block, stability, "add_or_remove", _Share(Fraction(1), Fraction(1, 2)))
    assert all(isinstance(n, Gaussian) and n.sigma_squared == 16 for n in half.noise)
    pure = _with_noise(block, stability, "add_or_remove", _Share(Fraction(1), None))
    assert all(isinstance(n, Geometric) and n.rate == Fraction(1, 4) for n in pure.noise)
    assert plan.groupings == replace(plan).groupings


@given(
    st.lists(st.tuples(st.integers(-9, 9), st.integers(-(10**20), 10**20)), max_size=3),
    st.integers(0, 10**12), st.integers(1, 60),
    st.one_of(st.none(), st.integers(0, 100), st.integers(0, 10**20)),
)  # fmt: skip
def test_a_count_is_rounded_to_the_nearest_and_its_ends_outwards(terms, width, below, most):
    factors, cells = [f for f, _ in terms], [n for _, n in terms]
    exact = Fraction(sum(f * n for f, n in terms), below)
    middle = math.floor(exact + Fraction(1, 2))
    reach = math.ceil(Fraction(width, below) + abs(exact - middle))
    ends = [middle, middle - reach, middle + reach]
    if most is not None:
        ends = [min(end, most) for end in ends]
    raw = int(exact) if exact.denominator == 1 else exact.numerator / exact.denominator
    found = reading._count(factors, width, below, cells, most)
    assert found == (*(max(end, 0) for end in ends), raw)
    assert [type(one) for one in found] == [int, int, int, type(raw)]
