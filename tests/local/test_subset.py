import math
from fractions import Fraction

import numpy as np
import pytest

import discreet as dp


def test_the_formulas():
    e, k, w = math.e, 1024, 275
    oracle = dp.local.SubsetSelection(k, 1)
    assert oracle.size == w
    p = e * w / (e * w + k - w)
    assert float(oracle.p) == pytest.approx(p, rel=1e-15)
    assert float(oracle.q) == pytest.approx((p * (w - 1) + (1 - p) * w) / (k - 1), rel=1e-15)


@pytest.mark.parametrize(
    ("k", "epsilon"), [(2, 1), (4, "0.1"), (23, "0.1"), (16, "0.5"), (128, 4), (1024, 1), (50, 8)]
)
def test_no_other_size_is_better(k, epsilon):
    chosen = dp.local.SubsetSelection(k, epsilon)
    others = [dp.local.SubsetSelection(k, epsilon, size=w) for w in range(1, k)]
    assert chosen.normalised_variance() == min(o.normalised_variance() for o in others)


def test_subsets_of_one_are_k_ary_response():
    one, kary = dp.local.SubsetSelection(9, 2, size=1), dp.local.KaryResponse(9, 2)
    assert (one.p, one.q) == (kary.p, kary.q)


def test_a_subset_of_another_size_is_refused():
    oracle = dp.local.SubsetSelection(20, 1)
    reports = oracle.reports(np.arange(20))
    reports[3] = 0
    reports[4, 0] ^= 1
    assert np.flatnonzero(~oracle.well_formed(reports)).tolist() == [3, 4]
    for size in (0, 20, 1.5, "x"):
        with pytest.raises(dp.ParameterError, match="size"):
            dp.local.SubsetSelection(20, 1, size=size)
    assert oracle.chance(0, frozenset({1})) == Fraction(0)
