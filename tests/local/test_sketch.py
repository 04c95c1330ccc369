import math
from itertools import combinations

import numpy as np
import pytest

import discreet as dp

SKETCHES = [dp.local.CountMeanSketch, dp.local.HadamardSketch]


@pytest.mark.parametrize("make", SKETCHES)
def test_the_estimates_are_apples(make):
    """Apple's own formulas, written out report by report, give the same numbers."""
    oracle = make(12, 2, rows=5, columns=16)
    k, m = oracle.rows, oracle.columns
    reports = oracle.reports(np.arange(800) % 12)
    n = len(reports)
    sketch = np.zeros((k, m))
    if make is dp.local.CountMeanSketch:
        c = (math.e + 1) / (math.e - 1)
        for report in reports:
            bits = np.unpackbits(report[2:], bitorder="little")[:m].astype(float)
            sketch[int(report[0])] += k * (c / 2 * (2 * bits - 1) + 0.5)
    else:
        c = (math.exp(2) + 1) / (math.exp(2) - 1)
        for report in reports.tolist():
            row, rest = divmod(report, 2 * m)
            sketch[row, rest // 2] += k * c * (1 - 2 * (rest % 2))
        signs = np.array([[(-1) ** (i & j).bit_count() for i in range(m)] for j in range(m)])
        sketch = sketch @ signs
    apple = [
        m / (m - 1) * (sketch[np.arange(k), oracle.hashed[:, d]].mean() - n / m) for d in range(12)
    ]
    collector = dp.local.Collector(oracle)
    collector.add(reports)
    assert (collector.estimate().raw * n).tolist() == pytest.approx(apple, rel=1e-6, abs=1e-6)


def test_the_variance_formula():
    """n (m/(m-1))^2 [s/(s-1)^2 + 1/m - 1/m^2] for s = e^(eps/2), without the shared collisions."""
    oracle = dp.local.CountMeanSketch(49, 2, rows=32, columns=64)
    s, m = math.e, 64
    expected = (m / (m - 1)) ** 2 * (s / (s - 1) ** 2 + 1 / m - 1 / m**2)
    assert oracle.normalised_variance() == pytest.approx(expected, rel=1e-12)
    assert 2000 * oracle.normalised_variance() == pytest.approx(1932, abs=1)


@pytest.mark.parametrize("make", SKETCHES)
def test_the_bias_bounds_the_exact_expectation(make):
    """Given the hash functions, the expectation of an estimate is `expected`, off by at most
    `bias`.
    """
    oracle = make(6, 1, rows=2, columns=4)
    worst = 0.0
    for x in range(6):
        for d in range(6):
            mean = sum(
                float(mass) * int(oracle.supports(oracle.tally(oracle.array_of(payload)))[0][d])
                for payload, mass in oracle.listed(x).items()
            )
            estimate = (mean - float(oracle.q)) / float(oracle.p - oracle.q)
            worst = max(worst, abs(estimate - (x == d)))
            assert oracle.expected(np.eye(6)[x])[d] == pytest.approx(estimate)
    assert worst <= oracle.bias + 1e-12
    assert worst == pytest.approx(oracle.bias)
    assert make(5000, 1, rows=2, columns=4).bias == 1


def test_what_collisions_add_to_the_error():
    """Mean over 80 sketches' functions: the sum of the other shares' squares over K (m - 1).

    The mean of 80 squares over 40 values moves by some per cent; 20 % is beyond. The functions are
    public and fixed, so this is the same in every run.
    """
    shares = np.arange(1, 41) ** -1.1
    shares /= shares.sum()
    found = []
    for rows in range(4, 84):
        oracle = dp.local.CountMeanSketch(40, 1, rows=rows, columns=16)
        found.append(rows * ((oracle.expected(shares) - shares) ** 2).mean())
    theory = (shares @ shares - (shares**2).mean()) / 15
    assert np.mean(found) == pytest.approx(theory, rel=0.2)


def test_over_many_rows_collisions_are_one_in_columns():
    """The public hash functions behave as the family does: 600 rows, 28 pairs, width 8. Each
    pair's collisions are within 6.9 standard deviations: false alarm below 1e-9, once and for all.
    """
    cells = dp.local.CountMeanSketch(8, 1, rows=600, columns=8).hashed
    for x, y in combinations(range(8), 2):
        assert abs((cells[:, x] == cells[:, y]).sum() - 75) < 6.9 * math.sqrt(600 * 7 / 64)


def test_bad_sizes():
    for make in SKETCHES:
        for bad in ({"rows": 0}, {"columns": 1}, {"rows": 1 << 17}, {"rows": 9000}):
            with pytest.raises(dp.ParameterError, match=r"rows|columns"):
                make(8, 1, **bad)
    with pytest.raises(dp.ParameterError, match="power of two"):
        dp.local.HadamardSketch(8, 1, columns=6)


def test_malformed_reports():
    oracle = dp.local.CountMeanSketch(8, 1, rows=3, columns=6)
    reports = oracle.reports(np.arange(8))
    reports[0, 0] = 3
    reports[1, 1] = 1
    reports[2, 2] |= 0x40
    assert np.flatnonzero(~oracle.well_formed(reports)).tolist() == [0, 1, 2]
