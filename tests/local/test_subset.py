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


@pytest.mark.parametrize("k", [8, 20, 60, 64, 100, 200, 500])
def test_a_subset_of_another_size_is_refused(k):
    oracle = dp.local.SubsetSelection(k, 1)
    reports = oracle.reports(np.arange(2 * k) % k)
    reports[3] = 0
    reports[4, 0] ^= 1
    reports[6, -1] ^= 1
    bad = [3, 4, 6]
    if k % 8:  # of the right size, but with a value that is none
        reports[7] = np.frombuffer(
            ((1 << oracle.size) - 2 | 1 << k).to_bytes(oracle.width, "little"), dtype=np.uint8
        )
        bad.append(7)
    assert np.flatnonzero(~oracle.well_formed(reports)).tolist() == bad


def test_sizes_that_are_none_are_refused():
    oracle = dp.local.SubsetSelection(20, 1)
    for size in (0, 20, 1.5, "x"):
        with pytest.raises(dp.ParameterError, match="size"):
            dp.local.SubsetSelection(20, 1, size=size)
    assert oracle.chance(0, frozenset({1})) == Fraction(0)
