import math

import numpy as np
import pytest

import discreet as dp
from discreet.local import hashing


def test_the_formulas():
    e = math.e
    oracle = dp.local.LocalHashing(1024, 1)
    assert oracle.buckets == 4
    assert float(oracle.p) == pytest.approx(e / (e + 3), rel=1e-15)
    assert 4 * oracle.q == 1
    assert oracle.normalised_variance() == pytest.approx(3.69, abs=0.005)


@pytest.mark.parametrize("buckets", [3, 4, 6])
def test_comparing_and_counting_agree(buckets, monkeypatch):
    """Supports by the table of reports equal those of each report against each value."""
    oracle = dp.local.LocalHashing(50, 1, buckets=buckets)
    reports = oracle.reports(np.arange(3000) % 50)
    by_table, _ = oracle.supports(oracle.tally(reports))
    monkeypatch.setattr(hashing, "LARGEST_TABLE", 1)
    monkeypatch.setattr(hashing, "_CELLS_AT_ONCE", 7000)
    assert oracle.cells == 50
    by_comparing, _ = oracle.supports(oracle.tally(reports))
    assert by_comparing.tolist() == by_table.tolist()
    collector = dp.local.Collector(oracle)
    collector.add(reports)
    assert collector.estimate().n == 3000


def test_large_domains_and_large_epsilon():
    """Codes fit 62 bits, whatever is asked; buckets become a prime where they must."""
    for k in (2, 1000, 1 << 20, 1 << 24):
        for epsilon in ("0.001", 1, 3, 5, 8, 20, 1000):
            oracle = dp.local.LocalHashing(k, epsilon)
            assert oracle.codes <= 1 << 62
            assert 2 <= oracle.buckets <= 4096
    oracle = dp.local.LocalHashing(1 << 20, 2)
    collector = dp.local.Collector(oracle)
    collector.add(oracle.reports(np.array([5, 1 << 19])))
    collector.add(oracle.report(7))
    assert (collector.n, oracle.width, len(collector.tally)) == (3, 8, 1 << 20)
    with pytest.raises(dp.ParameterError, match="prime"):
        dp.local.LocalHashing(1 << 20, 5, buckets=150)
    for bad in (1, 0, 1.5, 5000):
        with pytest.raises(dp.ParameterError, match="buckets"):
            dp.local.LocalHashing(10, 1, buckets=bad)
