import math

import numpy as np
import pytest
from scipy.stats import binom

import discreet as dp
from discreet.local.estimates import _support_bounds, estimated


def test_the_bounds_are_clopper_and_pearsons():
    """At the ends of the interval the tails have exactly half the error each."""
    n, miss = 500, 0.01
    counts = np.array([0, 1, 17, 250, 499, 500])
    low, high = _support_bounds(counts, n, miss)
    for c, a, b in zip(counts.tolist(), low, high, strict=True):
        if c > 0:
            assert binom.sf(c - 1, n, a) == pytest.approx(miss / 2, rel=1e-6)
        if c < n:
            assert binom.cdf(c, n, b) == pytest.approx(miss / 2, rel=1e-6)
    assert low[0] == 0
    assert high[-1] == 1


def test_the_formulas_on_counts_by_hand():
    oracle = dp.local.OptimizedUnary(["a", "b"], 1)
    q, gap = float(oracle.q), float(oracle.p - oracle.q)
    found = estimated(oracle, np.array([400, 300]), None, 1000, "0.9")
    assert found.raw.tolist() == pytest.approx([(0.4 - q) / gap, (0.3 - q) / gap])
    assert found["a"] == found.raw[0]
    assert found.standard_errors[0] == pytest.approx(math.sqrt(0.4 * 0.6 / 1000) / gap)
    low, high = _support_bounds(np.array([400]), 1000, 0.05)
    assert found.lower[0] == pytest.approx((low[0] - q) / gap)
    assert found.upper[0] == pytest.approx((high[0] - q) / gap)
    rows = list(found.rows())
    assert [row["value"] for row in rows] == ["a", "b"]
    assert list(rows[0]) == ["value", "raw", "standard_error", "lower", "upper", "share"]
    assert sum(row["share"] for row in rows) == pytest.approx(1)
    assert found.top(1) == [rows[0]]
    assert found.to_pandas().shape == (2, 6)
    assert "from 1,000 reports" in repr(found)


def test_for_and_against():
    """Reports that count against a value are subtracted, and both shares are bounded."""
    oracle = dp.local.KaryResponse(2, 1)
    plus, minus = np.array([50, 10]), np.array([20, 10])
    found = estimated(oracle, plus, minus, 100, "0.9")
    q, gap = float(oracle.q), float(oracle.p - oracle.q)
    assert found.raw == pytest.approx((np.array([0.3, 0.0]) - q) / gap)
    assert found.standard_errors[0] == pytest.approx(math.sqrt((0.7 - 0.09) / 100) / gap)
    assert (found.lower <= np.clip(found.raw, 0, 1)).all()
    assert (np.clip(found.raw, 0, 1) <= found.upper).all()


@pytest.mark.statistical
@pytest.mark.parametrize("make", ["KaryResponse", "OptimizedUnary", "SubsetSelection"])
def test_intervals_hold_all_at_once(make):
    """400 surveys at confidence 0.9: false alarm below 1e-10 if the promise holds; intervals of
    half the width miss nearly always.
    """
    least = binom.ppf(1e-10, 400, 0.9)
    oracle = getattr(dp.local, make)(6, 1)
    people = np.repeat(np.arange(6), [200, 100, 50, 30, 15, 5])
    truth = np.bincount(people) / 400
    hits = narrow = 0
    for _ in range(400):
        collector = dp.local.Collector(oracle)
        collector.add(oracle.reports(people))
        found = collector.estimate("0.9")
        hits += bool(((found.lower <= truth) & (truth <= found.upper)).all())
        middle, half = found.raw, 0.5 * 0.5 * (found.upper - found.lower)
        narrow += bool((abs(middle - truth) <= half).all())
    assert hits >= least
    assert narrow < least
