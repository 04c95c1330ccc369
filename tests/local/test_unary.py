import math

import numpy as np
import pytest

import discreet as dp


def test_the_formulas():
    e = math.e
    oue, sue = dp.local.OptimizedUnary(100, 1), dp.local.SymmetricUnary(100, 1)
    assert float(oue.q) == pytest.approx(1 / (e + 1), rel=1e-15)
    assert oue.normalised_variance() == pytest.approx(4 * e / (e - 1) ** 2, rel=1e-12)
    assert float(sue.p) == pytest.approx(math.exp(0.5) / (math.exp(0.5) + 1), rel=1e-15)


@pytest.mark.parametrize("k", [2, 63, 64, 65, 130])
def test_bits_across_words(k):
    """Each person's own bit is set half the time wherever it lies; no bit after the last is."""
    oracle = dp.local.OptimizedUnary(k, 20)  # other bits are almost never set
    reports = oracle.reports(np.repeat(np.arange(k), 400))
    counts = oracle.tally(reports)
    assert oracle.well_formed(reports).all()
    assert counts.min() > 200 - 7 * 10  # binomial(400, 1/2): 7 standard deviations, below 1e-11
    assert counts.max() < 200 + 7 * 10
    if k % 8:
        bad = reports.copy()
        bad[0, -1] |= 0x80
        assert oracle.well_formed(bad).tolist() == [False] + [True] * (len(bad) - 1)
