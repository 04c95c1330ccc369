"""Collecting numbers: exact sums, merging, intervals that hold, vectors."""

import math
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

import discreet as dp
from discreet.errors import InputTypeError, ParameterError
from discreet.local.averages import MeanCollector, Means, VectorCollector
from discreet.local.mean import Mean

F = Fraction
KINDS = ["duchi", "piecewise", "hybrid"]


def filled(mechanism, reports):
    collector = MeanCollector(mechanism)
    collector.add(reports)
    return collector


@pytest.mark.parametrize("method", KINDS)
def test_the_estimate_is_the_mean_of_what_the_reports_stand_for(method):
    mechanism = Mean((10, 50), 2, method=method)
    reports = mechanism.reports(np.linspace(0, 60, 500))
    found = filled(mechanism, reports).estimate()
    stands = [mechanism.stands_for(int(y)) for y in reports]
    mean = sum(stands) / 500
    assert found.exact == mean
    assert found.variance == sum((v - mean) ** 2 for v in stands) / 500 / 499
    assert found.n == 500
    assert found.spread == max(map(mechanism.stands_for, range(mechanism.outputs))) - min(
        map(mechanism.stands_for, range(mechanism.outputs))
    )


@pytest.mark.parametrize("method", KINDS)
def test_merging_is_exact_in_any_order(method):
    mechanism = Mean((0, 1), 1, method=method)
    reports = mechanism.reports(np.linspace(0, 1, 300))
    a, b, c = (
        filled(mechanism, reports[part]) for part in (slice(0, 9), slice(9, 99), slice(99, 300))
    )
    whole = filled(mechanism, reports).to_bytes()
    for merged in (a.merge(b).merge(c), a.merge(b.merge(c)), c.merge(a).merge(b)):
        assert merged.to_bytes() == whole
        assert merged.n == 300
    again = MeanCollector(mechanism).read(whole)
    assert again.estimate() == a.merge(b).merge(c).estimate()
    one_by_one = MeanCollector(mechanism)
    for report in reports.tolist():
        one_by_one.add(report)
    assert one_by_one.to_bytes() == whole


@pytest.mark.statistical
@pytest.mark.parametrize("method", KINDS)
@pytest.mark.parametrize("epsilon", ["0.5", 4])
def test_the_interval_holds(method, epsilon):
    """At confidence 1 - 1e-10 it fails that rarely; and it is not absurdly wide."""
    mechanism = Mean((0, 100), epsilon, method=method)
    values = np.linspace(20, 90, 50_000)
    found = filled(mechanism, mechanism.reports(values)).estimate()
    low, high = found.interval(1 - F(1, 10**10))
    assert low <= values.mean() <= high
    assert found.error("0.95") <= 2.8 * math.sqrt(mechanism.variance / 50_000)


@pytest.mark.statistical
def test_the_standard_error_is_the_theory():
    """Within 5 percent of the worst case at an end; 200,000 reports: false alarm below 1e-20."""
    mechanism = Mean((-1, 1), 1)
    found = filled(mechanism, mechanism.reports(np.ones(200_000))).estimate()
    assert found.standard_error == pytest.approx(math.sqrt(mechanism.variance / 200_000), rel=0.05)


def test_the_interval_holds_where_floats_are_coarse():
    """Floats near 10^17 are 16 apart, so that the value is read as another one."""
    mechanism = Mean((10**17, 10**17 + 32), 100)
    found = filled(mechanism, mechanism.reports(np.full(1000, 10**17 + 7))).estimate()
    assert abs(found.exact - (10**17 + 7)) > 1
    low, high = found.interval()
    assert F(low) <= 10**17 + 7 <= F(high)
    near = filled(Mean((0, 1), 1), [0]).estimate()
    assert near.slip == F(1, 1 << 32) + F(1, 1 << 49)


def test_bernsteins_width_solves_its_equation():
    mechanism = Mean((-1, 1), 4)
    found = filled(mechanism, mechanism.reports(np.zeros(1000))).estimate()
    h = found.error("0.95") - float(found.slip)
    exponent = 1000 * h * h / (2 * mechanism.variance + 2 * float(found.spread) * h / 3)
    assert 2 * math.exp(-exponent) == pytest.approx(0.05, rel=1e-9)


def test_one_report_has_no_standard_error():
    mechanism = Mean((0, 1), 1)
    found = filled(mechanism, mechanism.report(0.5)).estimate()
    assert found.standard_error == math.inf
    assert found.error() > 0


def test_what_is_refused():
    mechanism = Mean((0, 1), 1)
    collector = MeanCollector(mechanism)
    for reports in ([0, mechanism.outputs], [-1], np.array([0, 10**6])):
        with pytest.raises(ParameterError, match="must be below"):
            collector.add(reports)
    assert collector.n == 0
    with pytest.raises(InputTypeError, match="whole numbers"):
        collector.add([0.5])
    with pytest.raises(ParameterError, match="at least one"):
        collector.estimate()
    with pytest.raises(ParameterError, match="same"):
        collector.merge(MeanCollector(Mean((0, 2), 1)))
    with pytest.raises(InputTypeError, match="a collector needs"):
        MeanCollector("mean")
    good = collector.to_bytes()
    for bad in (b"", b"[]", b"{}", good.replace(b"mean/1", b"mean/2"), good.replace(b"1)", b"2)")):
        with pytest.raises(ParameterError, match="stored"):
            collector.read(bad)
    with pytest.raises(ParameterError):
        collector.read(good.replace(b"[0,0,0,0,0]", b"[0,0,0,0,0.5]"))
    with pytest.raises(ParameterError):
        collector.read(good.replace(b"[0,0,0,0,0]", b"[0,0]"))
    wrong = ("[0,0,0,-5,10]", "[5,0,-100,0,0]", "[5,9,9,0,0]", "[0,5,0,0,0]", "[0,0,5,0,0]",
             "[1,0,9999999,0,0]", "[true,0,0,0,0]", '["5",0,0,0,0]', "[" * 100_000)  # fmt: skip
    for sums in map(str.encode, wrong):
        with pytest.raises(ParameterError, match="stored"):
            collector.read(good.replace(b"[0,0,0,0,0]", sums))


# --- vectors


@pytest.mark.parametrize(
    ("epsilon", "dimensions", "drawn"),
    [(1, 10, 1), (4, 10, 1), (5, 10, 2), (100, 10, 10), (9, 3, 3)],
)
def test_how_many_places_are_drawn(epsilon, dimensions, drawn):
    """The largest of 1 and the whole part of ε/2.5, at most d; ε/t is spent on each."""
    means = Means((0, 1), epsilon, dimensions=dimensions)
    assert means.drawn == drawn
    assert means.each.epsilon * drawn == means.epsilon == epsilon
    assert means.guarantee == dp.PureDP(epsilon, "replace")


def test_the_places_of_a_person_differ_and_all_sets_occur():
    means = Means((0, 1), 6, dimensions=4)
    places, reports = means.reports(np.zeros((4000, 4)))
    assert places.shape == reports.shape == (4000, 2)
    assert {tuple(row) for row in places.tolist()} == {
        (a, b) for a in range(4) for b in range(4) if a != b
    }


@pytest.mark.statistical
def test_the_means_of_a_vector():
    """At confidence 1 - 1e-10 each of five intervals fails that rarely."""
    means = Means((-1, 1), 3, dimensions=5)
    values = np.tile(np.linspace(-0.8, 0.8, 5), (40_000, 1))
    values[::2] *= 0.5
    collector, other = VectorCollector(means), VectorCollector(means)
    collector.add(*means.reports(values[:10_000]))
    other.add(*means.reports(values[10_000:]))
    merged = collector.merge(other)
    for true, found in zip(values.mean(axis=0), merged.estimate(), strict=True):
        assert found.worst is None
        low, high = found.interval(1 - F(1, 10**10))
        assert low <= true <= high
        assert high - low < 1
    assert sum(place.n for place in merged.places) == 40_000


def test_bad_vectors_are_refused():
    means = Means((0, 1), 1, dimensions=3)
    for values in (np.zeros(3), np.zeros((2, 4))):
        with pytest.raises(InputTypeError, match="rows of 3"):
            means.reports(values)
    bad = np.zeros((5, 3))
    bad[4, 2] = math.nan
    for _ in range(10):
        with pytest.raises(InputTypeError, match="finite"):
            means.reports(bad)
    for arguments in ({"dimensions": 0}, {"dimensions": 3, "drawn": 4}, {"dimensions": 2**21}):
        with pytest.raises(ParameterError):
            Means((0, 1), 1, **arguments)
    collector = VectorCollector(means)
    for places in ([3, 0], [-1, 0], [0.5, 0], [0]):
        with pytest.raises(ParameterError, match="place for each"):
            collector.add(np.array(places), np.array([0, 1]))
    with pytest.raises(ParameterError, match="must be below"):
        collector.add(np.array([0, 1]), np.array([0, 10**6]))
    assert [place.n for place in collector.places] == [0, 0, 0]
    with pytest.raises(ParameterError, match="same"):
        collector.merge(VectorCollector(Means((0, 1), 1, dimensions=4)))


@pytest.mark.parametrize(("dimensions", "drawn"), [(4, 3), (4, 4), (3, 3)])
def test_draws_without_replacement_reach_every_order(dimensions, drawn):
    """3,000 people: an order that can occur is missed with a chance of at most 24 e^-125."""
    means = Means((0, 1), 1, dimensions=dimensions, drawn=drawn)
    places, _ = means.reports(np.zeros((3000, dimensions)))
    assert {tuple(row) for row in places.tolist()} == set(permutations(range(dimensions), drawn))
