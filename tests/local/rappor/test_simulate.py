"""Simulated clients have the law of single ones."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import discreet as dp
from discreet.audit.walk import walk_table
from discreet.local.rappor import Candidates, OneReport, Params
from discreet.local.rappor.simulate import coins, collect, instantaneous_rows, permanent_rows
from discreet.noise.categorical import Bernoulli
from discreet.noise.table import inversion


@pytest.mark.parametrize("chance", ["0.39", "0.225", "1/3", "1/2"])
def test_the_coins_come_from_the_exact_table(chance):
    """The table that draws, walked through word by word."""
    p = Fraction(chance)
    found = walk_table(inversion(Bernoulli(p)))
    assert p in found.mass_bounds(1)
    assert found.mass_bounds(1).width < Fraction(1, 1 << 60)


def test_sure_coins_are_sure():
    assert coins(Fraction(1), (2, 3)).all()
    assert not coins(Fraction(0), (2, 3)).any()


@pytest.mark.statistical
def test_rows_have_the_law_of_reports():
    """Chi-square over all 64 pairs of reports of three bits; false alarm 1e-10.

    Turning a bit over with f instead of f/2 is missed with a chance below 1e-9.
    """
    params = Params(k=3, h=1, m=1, p="0.3", q="0.8", f="0.4")
    number = 200_000
    blooms = np.broadcast_to(np.array([True, False, False]), (number, 3))
    prr = permanent_rows(blooms, params)
    codes = np.zeros(number, np.int64)
    for turn in range(2):
        rows = instantaneous_rows(prr, params)
        codes += (rows @ np.array([1, 2, 4])) << 3 * turn
    seen = np.bincount(codes, minlength=64)
    law = OneReport(params, 2).law(0b001)
    expected = np.array([law.mass(code) for code in range(64)]) * number
    assert stats.chisquare(seen, expected).pvalue > 1e-10
    wrong = OneReport(Params(k=3, h=1, m=1, p="0.3", q="0.8", f="0.8"), 2).law(0b001)
    expected = np.array([wrong.mass(code) for code in range(64)]) * number
    assert stats.chisquare(seen, expected).pvalue < 1e-10


def test_without_noise_the_counts_are_the_filters():
    params = Params(k=8, h=2, m=4, p=0, q=1, f=0)
    candidates = Candidates.of(["a", "b"], params)
    counts = collect(params, candidates, np.array([0, 0, 1, 1, 0]), reports=3)
    assert counts.totals.tolist() == [6, 3, 3, 3]
    for cohort, places in enumerate([(0, 0), (0,), (1,), (1,)]):
        expected = 3 * sum(candidates.bits[cohort, place].astype(int) for place in places)
        assert counts.ones[cohort].tolist() == expected.tolist()
    other = collect(params, candidates, np.array([0]), cohorts=np.array([2]))
    assert other.totals.tolist() == [0, 0, 1, 0]


def test_a_million_clients():
    params = Params(k=8, h=2, m=128, p="0.39", q="0.61", f="0.45")
    candidates = Candidates.of(["a", "b"], params)
    counts = collect(params, candidates, np.zeros(1_000_000, np.int64))
    assert counts.totals.sum() == 1_000_000
    held = candidates.bits[:, 0]
    shares = counts.ones / counts.totals[:, None]
    for mask, chance in ((held, params.q_star), (~held, params.p_star)):
        number = int(counts.totals[:, None].repeat(8, 1)[mask].sum())
        z = (shares[mask].mean() - float(chance)) / np.sqrt(0.25 / number)
        assert abs(z) < 6.5  # false alarm below 1e-10


def test_wrong_values_are_refused():
    params = Params(k=8, h=2, m=4)
    candidates = Candidates.of(["a", "b"], params)
    for values in (np.array([2]), np.array([-1]), np.array([0.5]), np.array([[0]])):
        with pytest.raises(dp.InputTypeError, match="values must"):
            collect(params, candidates, values)
    with pytest.raises(dp.InputTypeError, match="cohorts must"):
        collect(params, candidates, np.array([0]), cohorts=np.array([4]))
    with pytest.raises(dp.ParameterError, match="cohorts must be 1"):
        collect(params, candidates, np.array([0]), cohorts=np.array([0, 1]))
    with pytest.raises(dp.ParameterError, match="reports"):
        collect(params, candidates, np.array([0]), reports=0)
