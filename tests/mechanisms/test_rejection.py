from fractions import Fraction

import numpy as np
import pytest
from tests.noise.test_sampler import goodness

import discreet as dp
from discreet.mechanisms.rejection import conditioned_loss, exact_rate
from discreet.noise.clamped import ConditionedGeometric


@pytest.mark.parametrize(("epsilon", "n"), [("0.1", 30), (1, 8), ("0.01", 12), (3, 1)])
def test_the_guarantee_holds_and_is_tight(epsilon, n):
    verdict = dp.audit.verify(dp.RejectionGeometric(epsilon=epsilon, bounds=(0, n)))
    assert verdict.proven
    assert verdict.tight


def test_the_exact_parameter():
    """0.053252 for 0.1 on {0..30}, rounded down; mechanisms.md has the other ones for n >= 20."""
    assert round(float(exact_rate(Fraction(1, 10), 30)), 6) == 0.053252
    for epsilon, rate in (
        ("0.1", 0.054),
        ("0.25", 0.143),
        ("0.5", 0.319),
        ("1", 0.778),
        ("2", 1.878),
    ):
        assert float(exact_rate(Fraction(epsilon), 20)) == pytest.approx(rate, abs=6e-4)
    assert conditioned_loss(exact_rate(Fraction(1, 10), 30), 30).upper <= Fraction(1, 10)


def test_the_losses_of_other_parameters():
    """No correction: 0.1818. The literature's parameter 0.008634: 0.0166, safe but wasteful."""
    assert round(float(conditioned_loss(Fraction(1, 10), 30)), 4) == 0.1818
    assert round(float(conditioned_loss(Fraction("0.008634"), 30)), 4) == 0.0166
    assert round(float(conditioned_loss(Fraction(1, 2), 50)), 3) == 0.714


def test_the_table_of_expected_errors_to_four_decimals():
    mechanism = dp.RejectionGeometric(epsilon="0.1", bounds=(0, 30))
    assert round(mechanism.expected_absolute_error(20), 4) == 6.9750
    assert round(sum(mechanism.expected_absolute_error(i) for i in range(31)) / 31, 4) == 7.9306
    wasteful = [
        ConditionedGeometric(Fraction("0.008634"), i, 0, 30).absolute_error(i) for i in range(31)
    ]
    assert round(wasteful[20], 4) == 8.2757
    assert round(sum(wasteful) / 31, 4) == 9.9099


@pytest.mark.parametrize(
    ("n", "epsilon", "clamped", "conditioned", "read"),
    [
        (5, "0.1", 2.094, 1.830, 1.431),
        (5, "0.25", 1.641, 1.653, 1.340),
        (10, "0.1", 3.621, 3.296, 2.583),
        (10, "0.25", 2.436, 2.787, 2.092),
        (10, "1", 0.729, 0.972, 0.729),
        (20, "0.1", 5.599, 5.837, 4.403),
        (50, "0.5", 1.823, 2.854, 1.810),
    ],
)
def test_clamp_and_remap_is_never_worse(n, epsilon, clamped, conditioned, read):
    """Mean absolute error under a uniform true value, as in mechanisms.md section 3."""
    geometric = dp.Geometric(epsilon=epsilon, bounds=(0, n))
    rejection = dp.RejectionGeometric(epsilon=epsilon, bounds=(0, n))
    assert np.mean([geometric.expected_absolute_error(i) for i in range(n + 1)]) == pytest.approx(
        clamped, abs=6e-4
    )
    assert np.mean([rejection.expected_absolute_error(i) for i in range(n + 1)]) == pytest.approx(
        conditioned, abs=6e-4
    )
    assert geometric.remap().expected_loss == pytest.approx(read, abs=6e-4)


@pytest.mark.statistical
def test_releases_have_the_stated_law():
    """False alarm below 1e-9."""
    for flat in (
        dp.RejectionGeometric(epsilon="0.1", bounds=(0, 9)),
        dp.RejectionGeometric(epsilon=1, bounds=(0, 2)),
    ):
        assert flat._is_flat
        assert goodness(flat.release(np.full(20_000, 2)), flat.law(2), bins=6) > 1e-10
    mechanism = dp.RejectionGeometric(epsilon="0.5", bounds=(0, 30))
    assert not mechanism._is_flat
    assert goodness(mechanism.release(np.full(200_000, 20)), mechanism.law(20), bins=25) > 1e-10
    assert (
        goodness([mechanism.release(20) for _ in range(4000)], mechanism.law(20), bins=12) > 1e-10
    )


def test_ranges_and_errors():
    mechanism = dp.RejectionGeometric(epsilon=1, bounds=(0, 4))
    assert set(np.unique(mechanism.release(np.full(500, 100)))) <= set(range(5))
    assert mechanism.release([-5, 3]) is not None
    assert mechanism.error(0.999999) == 4
    with pytest.raises(dp.ParameterError, match="epsilon"):
        dp.RejectionGeometric(epsilon=0, bounds=(0, 4))
