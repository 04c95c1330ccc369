"""Private quantiles: the exact law on small histograms, for every neighbour."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from tests.query.measuring import Aggregate, PerPerson, PerRow, ask, number

from discreet.audit.exact import SLACK, pure_loss
from discreet.curator import quantiles as module
from discreet.curator.quantiles import _crossing, _middle, quantiles, rank_error
from discreet.noise.source import system_source
from discreet.query.kinds import Number
from discreet.query.price import Target

LEVEL = Fraction(19, 20)
LEVELS = [Fraction(n) for n in ("0", "1/2", "3/4", "1", "0.999")]
REPLACED = PerRow(neighbours="replace")


def measured_for(*levels, low=0, high=2, epsilon=1, unit=None, grid=1, **more):
    x = number(low, high, grid=grid, nullable=True)
    wanted = [Aggregate("quantile", x, level=Fraction(a)) for a in levels]
    target = Target(epsilon=epsilon)
    (measured,) = ask(*wanted, unit=unit or PerRow(), target=target, **more).measured
    return measured


@pytest.fixture
def scored(monkeypatch):
    """The law of the chosen bin for a histogram, through the very scores that are released on."""
    made = []
    true_chooser = module.chooser

    class Spy:
        def __init__(self, mechanism):
            self.mechanism = mechanism

        def release(self, scores, *, source):
            made.append((self.mechanism, tuple(scores)))
            return 0

    monkeypatch.setattr(module, "chooser", lambda *given: Spy(true_chooser(*given)))
    known = {}

    def law(measured, histogram):
        made.clear()
        counts = dict(enumerate(histogram))
        quantiles(measured, counts, system_source(), confidence=LEVEL)
        ((mechanism, scores),) = made
        if (mechanism, scores) not in known:
            known[mechanism, scores] = mechanism.law(scores), scores
        return known[mechanism, scores]

    return law


def histograms(bins, most):
    return [h for h in itertools.product(range(most + 1), repeat=bins) if sum(h) <= most]


def moved(histogram, place, by):
    return tuple(n + by * (i == place) for i, n in enumerate(histogram))


@pytest.mark.parametrize("level", LEVELS)
def test_adding_a_row_costs_epsilon(scored, level):
    measured = measured_for(level)
    worst = Fraction(0)
    for histogram in histograms(3, 4):
        p, _ = scored(measured, histogram)
        for place in range(3):
            q, _ = scored(measured, moved(histogram, place, 1))
            for first, second in ((p, q), (q, p)):
                worst = max(worst, pure_loss(first, second)[0].upper)
    assert worst <= 1 + SLACK
    assert worst > Fraction(3, 10)


@pytest.mark.parametrize("level", LEVELS)
def test_replacing_a_row_costs_epsilon(scored, level):
    measured = measured_for(level, unit=REPLACED)
    assert measured.stability.l1 == 2
    worst = Fraction(0)
    for histogram in histograms(3, 4):
        p, _ = scored(measured, histogram)
        for place, other in itertools.permutations(range(3), 2):
            if histogram[place]:
                q, _ = scored(measured, moved(moved(histogram, place, -1), other, 1))
                worst = max(worst, pure_loss(p, q)[0].upper)
    assert worst <= 1 + SLACK


@pytest.mark.parametrize("level", ["1/2", "9/10", "0"])
def test_a_person_who_moves_to_another_group_costs_epsilon_in_both_together(scored, level):
    """Removed here and added there: more than replacing her inside one group would cost."""
    measured = measured_for(level, unit=REPLACED, keys="ab")
    changes = []
    for histogram in [*histograms(3, 3), (8, 1, 0), (0, 4, 4), (9, 0, 0), (0, 0, 9)]:
        p, _ = scored(measured, histogram)
        for place in range(3):
            q, _ = scored(measured, moved(histogram, place, 1))
            changes.append((pure_loss(q, p)[0].upper, pure_loss(p, q)[0].upper))
    leaves, enters = (max(side) for side in zip(*changes, strict=True))
    assert leaves + enters <= 1 + SLACK
    assert leaves + enters > Fraction(3, 10)


@pytest.mark.parametrize("level", ["1/2", "1/3"])
def test_weights_spread_over_bins(scored, level):
    """A household of three rows, which may fall in several bins."""
    measured = measured_for(level, unit=PerRow(together=3))
    assert measured.stability.l1 == 3
    worst = Fraction(0)
    for histogram, more in itertools.product(histograms(3, 2), histograms(3, 3)):
        p, _ = scored(measured, histogram)
        q, _ = scored(measured, tuple(a + b for a, b in zip(histogram, more, strict=True)))
        worst = max(worst, pure_loss(p, q)[0].upper, pure_loss(q, p)[0].upper)
    assert worst <= 1 + SLACK


def test_weighting_scales_the_scores_and_not_the_law(scored):
    plain = measured_for("1/2")
    weighted = measured_for("1/2", unit=PerPerson("id", max_rows=1))
    scale = weighted.scale
    for histogram in histograms(3, 3):
        p, _ = scored(plain, histogram)
        q, _ = scored(weighted, tuple(scale * n for n in histogram))
        assert [p.mass(i) for i in range(3)] == pytest.approx([q.mass(i) for i in range(3)])


def ranks_away(histogram, place, level):
    """How many rows bin `place` is away from holding the quantile."""
    aim = level * sum(histogram)
    below, upto = sum(histogram[:place]), sum(histogram[: place + 1])
    return max(0, below - aim, aim - upto)


@pytest.mark.parametrize("level", LEVELS)
def test_scores_are_ranks(scored, level):
    measured = measured_for(level)
    for histogram in histograms(3, 4):
        _, scores = scored(measured, histogram)
        assert [Fraction(-s, level.denominator) for s in scores] == [
            ranks_away(histogram, i, level) for i in range(3)
        ]
        assert max(scores) == 0


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("confidence", ["1/2", "9/10", "19/20"])
def test_the_rank_error_holds_by_the_exact_law(scored, level, confidence):
    measured = measured_for(level, epsilon=4)
    most = rank_error(measured, level, Fraction(confidence))
    for histogram in [*histograms(3, 3), (9, 0, 9), (40, 0, 0), (0, 0, 40), (12, 12, 12)]:
        law, _ = scored(measured, histogram)
        near = [i for i in range(3) if ranks_away(histogram, i, level) <= most]
        assert sum(law.mass(i) for i in near) >= float(Fraction(confidence)) - 1e-9


def test_epsilon_is_divided_among_up_to_three_levels(monkeypatch):
    made = []
    true_chooser = module.chooser
    monkeypatch.setattr(
        module, "chooser", lambda *given: made.append(given) or true_chooser(*given)
    )
    measured = measured_for("1/4", "1/2", "3/4", epsilon="3/2")
    found = quantiles(measured, {0: 4, 1: 4}, system_source(), confidence=LEVEL)
    assert [epsilon for *_, epsilon in made] == [Fraction(1, 2)] * 3
    assert sorted(found) == [Fraction(n, 4) for n in (1, 2, 3)]
    assert all(e.low is e.high is None and e.value == e.raw for e in found.values())


# the histogram


@pytest.mark.parametrize("unit", [PerRow(), REPLACED, PerPerson("id", max_rows=2)])
def test_both_levels_of_the_histogram_together_cost_epsilon(monkeypatch, unit):
    measured = measured_for(*[f"{n}/5" for n in range(1, 5)], high=99, unit=unit)
    given = []

    def noisy(exact, noise, source):
        given.append((tuple(exact), noise))
        return list(exact)

    monkeypatch.setattr(module, "_noisy", noisy)

    def levels(histogram):
        given.clear()
        quantiles(measured, histogram, system_source(), confidence=LEVEL)
        return list(given)

    base = {3: 50_000_000, 40: 50_000_000, 99: 50_000_000}
    weight = measured.stability.l1 // (2 if unit is REPLACED else 1)
    worst = 0
    for place in range(0, 100, 9):
        other = {**base, place: base.get(place, 0) + weight}
        if unit is REPLACED:
            other[3] -= weight
        cost = Fraction(0)
        for (exact, noise), (changed, again) in zip(levels(base), levels(other), strict=True):
            assert noise == again
            cost += noise.rate * sum(abs(a - b) for a, b in zip(exact, changed, strict=True))
        worst = max(worst, cost)
    assert worst == measured.epsilon == 1
    assert [len(exact) for exact, _ in given] == [128, 4]


def test_without_noise_the_histogram_is_exact():
    levels = [Fraction(n, 10) for n in range(11)]
    measured = measured_for(*levels, high=99, epsilon=999)
    values = sorted([*range(0, 100, 3), 7, 7, 7, 98] * 20)
    histogram = {v: values.count(v) for v in values}
    found = quantiles(measured, histogram, system_source(), confidence=LEVEL)
    for level, estimate in found.items():
        aim = level * len(values)
        place = int(estimate.value)
        below = sum(n for v, n in histogram.items() if v < place)
        upto = below + histogram.get(place, 0)
        assert below <= aim <= upto
        assert estimate.low <= estimate.value <= estimate.high


def test_blocks_and_bins_are_made_consistent():
    """One value holds all rows: nothing of it may be spread over the other bins of its block."""
    levels = [Fraction(n, 1000) for n in (1, 10, 500, 990, 999)]
    measured = measured_for(*levels, high=99, epsilon=999)
    found = quantiles(measured, {50: 1000}, system_source(), confidence=LEVEL)
    assert {estimate.value for estimate in found.values()} == {50}


def crossing(upto, level, width):
    kind = Number(0, len(upto) - 1)
    return _crossing(kind, np.array(upto, dtype=float), Fraction(level), width)


def test_intervals_look_at_each_bin_by_itself():
    """A spike of the noise far from the quantile must not pull the high end below it."""
    quiet = crossing([0, 0, 0, 50, 100], "1/2", 10)
    assert (quiet.low, quiet.value, quiet.high) == (3, 3, 4)
    spiked = crossing([0, 70, 0, 50, 100], "1/2", 10)
    assert (spiked.low, spiked.high) == (1, 4)
    dipped = crossing([0, 0, 0, 50, 55, 55, 12, 100], "1/2", 10)
    assert (dipped.low, dipped.high) == (3, 7)
    assert dipped.low <= dipped.value <= dipped.high
    nothing = crossing([0, 0, 0], "1/2", 1)
    assert (nothing.low, nothing.high) == (0, 2)
    negative = crossing([-5, -9, -7], "1/2", 1)
    assert negative.low <= negative.value <= negative.high


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("high", "values"),
    [
        (1, [0] * 30 + [1] * 30),
        (4, [0] * 50 + [4] * 52),
        (40, list(range(41)) * 5),
        (1023, [0] * 500 + [1023] * 505),
        (5000, [2500] * 3),
    ],
)
def test_intervals_and_ranks_of_the_histogram_hold(high, values):
    """300 draws each; false alarms: 40 P(Binomial(300, 0.05) > 52) < 1e-9."""
    levels = [Fraction(n) for n in ("1/10", "1/2", "501/1000", "9/10")]
    measured = measured_for(*levels, high=high, epsilon=1)
    step = -(-(high + 1) // 1024)
    histogram = {v // step: 0 for v in values}
    for v in values:
        histogram[v // step] += 1
    ranked = sorted(values)
    missed, far = dict.fromkeys(levels, 0), dict.fromkeys(levels, 0)
    for _ in range(300):
        found = quantiles(measured, histogram, system_source(), confidence=LEVEL)
        for level, estimate in found.items():
            truth = ranked[max(math.ceil(level * len(values)) - 1, 0)]
            half = (step - 1) / 2
            missed[level] += not estimate.low - half <= truth <= estimate.high + half
            below = sum(v < estimate.value - half for v in values)
            upto = sum(v <= estimate.value + half for v in values)
            off = max(0, below - level * len(values), level * len(values) - upto)
            far[level] += off > rank_error(measured, level, LEVEL)
    assert max(missed.values()) <= 52
    assert max(far.values()) <= 52


# edges


@pytest.mark.parametrize("levels", [["1/2"], ["1/10", "1/2", "3/4", "9/10"]])
def test_an_empty_group_has_an_answer_like_any_other(levels):
    measured = measured_for(*levels, low=-5, high=5)
    found = quantiles(measured, {}, system_source(), confidence=LEVEL)
    assert sorted(found) == sorted(Fraction(a) for a in levels)
    for estimate in found.values():
        assert -5 <= estimate.value <= 5


@pytest.mark.parametrize("levels", [["1/2"], ["1/10", "1/2", "3/4", "9/10"]])
def test_one_bin(levels):
    measured = measured_for(*levels, low=7, high=7)
    found = quantiles(measured, {0: 3}, system_source(), confidence=LEVEL)
    assert {estimate.value for estimate in found.values()} == {7}


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (Number(0, 3), [0, 1, 2, 3]),
        (Number(-4, -2, Fraction(1, 2)), [-2, -1.5, -1]),
        (Number(0, 2047), [0.5, 2.5, 4.5]),
        (Number(0, 2048), [1, 4, 7]),
    ],
)
def test_values_are_the_middles_of_their_bins(kind, values):
    assert [_middle(kind, place) for place in range(len(values))] == values


def test_the_last_bin_ends_where_the_range_ends():
    kind = Number(0, 2048)  # bins of 3 steps; the last holds 2046 to 2048
    assert _middle(kind, 682) == 2047
    kind = Number(0, 2049)  # the last holds 2049 alone
    assert _middle(kind, 683) == 2049


@pytest.mark.parametrize("high", [9, 1023, 1024, 10**6])
def test_wide_ranges(high):
    measured = measured_for("1/2", low=-high, high=high, epsilon=999, grid="1/100")
    step = -(-(2 * high + 1) // 1024)
    place = (high + 5) // step  # of the value 5
    found = quantiles(measured, {place: 1000}, system_source(), confidence=LEVEL)
    assert found[Fraction(1, 2)].value == pytest.approx(0.05, abs=step / 100)


def test_scores_of_huge_weights_do_not_overflow():
    unit = PerPerson("id", max_rows=10**9)
    measured = measured_for("1/3", unit=unit, epsilon=999)
    counts = {0: 10**30, 2: 1}
    assert quantiles(measured, counts, system_source(), confidence=LEVEL)[Fraction(1, 3)].value == 0


def test_measured_blocks_with_other_levels_are_other_questions():
    first = measured_for("1/2")
    assert replace(first, epsilon=Fraction(2)) != first
