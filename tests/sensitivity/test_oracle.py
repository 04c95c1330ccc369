"""Oracles: strictly inside their range, with the law they name, and loud where nothing holds."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

from discreet.errors import ParameterError
from discreet.noise.source import ReplayedSource, system_source
from discreet.sensitivity import (
    Empirical,
    EmpiricalOracleWarning,
    GaussianMixture,
    Normal,
    Uniform,
)
from discreet.sensitivity.oracle import _uniforms

HEIGHTS = GaussianMixture([(178, 7), (162, "6.5")])
EXTREMES = [0, 2**64 - 1, 2**63, 4095, 4096]


def test_uniforms_are_exact_and_strictly_inside():
    """The first 52 bits of a word, and a half: no rounding, so neither 0 nor 1 is met."""
    found = _uniforms(5, ReplayedSource(EXTREMES))
    assert found.tolist() == [2**-53, 1 - 2**-53, 0.5 + 2**-53, 2**-53, 3 * 2**-53]
    assert np.isfinite(Normal(0, 1).draw(5, ReplayedSource(EXTREMES))).all()


def test_a_normal_draw_is_the_quantile_of_its_uniform():
    words = [2**63, 2**62, 12345 << 40]
    drawn = Normal(170, "2.5").draw(3, ReplayedSource(words))
    expected = stats.norm(170, 2.5).ppf(_uniforms(3, ReplayedSource(words)))
    assert drawn == pytest.approx(expected, rel=1e-12)


def test_a_mixture_chooses_by_weight_and_then_draws():
    """Weights 1:3: a uniform below 1/4 chooses the first component, any other the second."""
    oracle = GaussianMixture([(0, 1), (1000, 1)], weights=[1, 3])
    choosing = [0, (1 << 62) - 1, 1 << 62, 2**64 - 1]
    drawn = oracle.draw(4, ReplayedSource(choosing + [2**63] * 4))
    assert drawn == pytest.approx([0, 0, 1000, 1000], abs=1e-6)


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("oracle", "law"),
    [
        (Normal(170, 2), stats.norm(170, 2).cdf),
        (Uniform(-1, 3), stats.uniform(-1, 4).cdf),
        (
            HEIGHTS,
            lambda x: (stats.norm(178, 7).cdf(x) + stats.norm(162, 6.5).cdf(x)) / 2,
        ),
    ],
    ids=["normal", "uniform", "mixture"],
)
def test_draws_have_the_law(oracle, law):
    """Kolmogorov-Smirnov on 50,000 draws: false alarm 1e-10; a shift by a fifth of a sd moves the
    statistic by 0.05 or more and is missed below 1e-10 too.
    """
    drawn = oracle.draw(50_000, system_source())
    assert stats.kstest(drawn, law).pvalue > 1e-10
    assert stats.kstest(drawn + 0.2 * drawn.std(), law).pvalue < 1e-10


def test_the_heights():
    """The expected distance by formula and by integrating 2 F (1 - F), independently."""
    assert HEIGHTS.mean == 170
    assert round(HEIGHTS.sd, 2) == 10.47
    assert round(HEIGHTS.expected_distance(), 3) == 11.994

    def below(x):
        return (stats.norm(178, 7).cdf(x) + stats.norm(162, 6.5).cdf(x)) / 2

    integral = integrate.quad(lambda x: 2 * below(x) * (1 - below(x)), 80, 260, limit=200)[0]
    assert HEIGHTS.expected_distance() == pytest.approx(integral, rel=1e-8)


def test_a_mixture_of_one_is_a_normal():
    one = GaussianMixture([(3, 2)], weights=[7])
    assert one.sd == 2
    assert one.expected_distance() == Normal(3, 2).expected_distance()
    assert Normal(3, 2).expected_distance() == pytest.approx(4 / math.sqrt(math.pi))


def test_resampled_records_come_with_a_warning():
    with pytest.warns(EmpiricalOracleWarning, match="no guarantee"):
        oracle = Empirical([["a"], ["b"], ["c"]])
    assert oracle.draw(4, ReplayedSource([2, 0, 3, 1, 2])) == [["c"], ["a"], ["b"], ["c"]]
    assert "a" not in repr(oracle).removeprefix("Empirical")
    with pytest.warns(EmpiricalOracleWarning):
        rows = Empirical(np.array([[1, 2], [3, 4]]))
    drawn = rows.draw(3, ReplayedSource([1, 0, 1]))
    assert drawn.tolist() == [[3, 4], [1, 2], [3, 4]]


def test_oracles_are_values():
    assert Normal(0, 1) == Normal("0", 1.0)
    assert GaussianMixture([(0, 1), (1, 2)]) == GaussianMixture([(0, 1), (1, 2)], weights=[2, 2])
    assert hash(Uniform(0, 1)) == hash(Uniform(0, 1))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Normal(0, 0),
        lambda: Normal(float("nan"), 1),
        lambda: Uniform(1, 1),
        lambda: Uniform(2, 1),
        lambda: GaussianMixture([]),
        lambda: GaussianMixture([(0, 1)], weights=[1, 2]),
        lambda: GaussianMixture([(0, 1), (0, 2)], weights=[1, 0]),
        lambda: GaussianMixture([(0, -1)]),
        lambda: Empirical([]),
    ],
)
def test_nonsense_is_refused(wrong):
    with pytest.raises(ParameterError):
        wrong()
