import math

import numpy as np
import pytest

import discreet as dp


def test_the_coins_are_those_of_randomised_response():
    """The same probabilities as the mechanism with a kernel, to its rounding."""
    for k, epsilon in ((2, 1), (10, "0.1"), (200, 3)):
        ours = dp.local.KaryResponse(k, epsilon)
        theirs = dp.RandomizedResponse(epsilon=epsilon, categories=range(k)).kernel
        assert abs(ours.p - theirs[0][0]) < 2**-60
        assert abs(ours.q - theirs[0][1]) < 2**-60


def test_the_formulas():
    e = math.e
    oracle = dp.local.KaryResponse(1024, 1)
    assert float(oracle.p) == pytest.approx(e / (e + 1023), rel=1e-15)
    assert float(oracle.q) == pytest.approx(1 / (e + 1023), rel=1e-15)


def test_two_values_and_many():
    for k in (2, 257, 100_000):
        oracle = dp.local.KaryResponse(k, 1)
        reports = oracle.reports(np.zeros(1000, dtype=np.int64))
        assert int(reports.max()) < k
        assert oracle.report(k - 1).payload
