"""A sampled sensitivity leads to random privacy and to nothing else."""

from fractions import Fraction

import numpy as np
import pytest

import discreet as dp
from discreet.errors import DiscreetError, ParameterError
from discreet.mechanisms.base import Mechanism
from discreet.noise.source import ReplayedSource
from discreet.privacy.guarantee import PureDP, RandomDP
from discreet.privacy.loss import RandomLoss
from discreet.sensitivity import L1, RandomMechanism, SensitivityEstimate


def estimate(**changed):
    fields = {
        "value": Fraction(3),
        "mean": 1.5,
        "m": 19,
        "k": 19,
        "gamma": Fraction(1, 20),
        "confidence": None,
        "bound": "exchangeable",
        "n": 1,
        "norm": "L1",
        "every_record": False,
        "neighbours": "replace",
        "numbers": 1,
    }
    return SensitivityEstimate(**fields | changed)


def test_the_guarantee_is_random_and_never_pure():
    mechanism = estimate().mechanism(dp.Laplace, epsilon=1, grid="0.01")
    assert isinstance(mechanism, RandomMechanism)
    assert mechanism.guarantee == RandomDP(1, "0.05", "replace")
    assert mechanism.privacy_loss == RandomLoss(epsilon=1, gamma="0.05", neighbours="replace")
    assert mechanism.privacy_loss.guarantee == mechanism.guarantee
    assert not isinstance(mechanism.guarantee, PureDP)
    assert not mechanism.guarantee <= PureDP(1000, "replace")
    assert not isinstance(mechanism, Mechanism)
    assert repr(mechanism) == (
        "RandomMechanism(Laplace, epsilon=1, gamma=0.05, sensitivity=3 (sampled))"
    )


def test_it_releases_as_the_mechanism_with_this_sensitivity_does():
    mechanism = estimate().mechanism(dp.Laplace, epsilon=1, grid="0.01")
    plain = dp.Laplace(epsilon=1, sensitivity=3, grid="0.01", neighbours="replace")
    words = [12345678 << 30, 1 << 61, 3 << 50, 1 << 63]
    assert mechanism.release(170.5, source=ReplayedSource(words)) == plain.release(
        170.5, source=ReplayedSource(words)
    )
    assert mechanism.error(0.9) == plain.error(0.9)
    assert isinstance(mechanism.release(170.5), float)
    assert mechanism == estimate().mechanism(dp.Laplace, epsilon=1, grid="0.01")
    assert hash(mechanism) == hash(estimate().mechanism(dp.Laplace, epsilon=1, grid="0.01"))


def test_a_sampled_float_is_handed_on_exactly():
    made = []

    def maker(**given):
        made.append(given)
        return dp.Laplace(**given)

    estimate(value=0.1).mechanism(maker, epsilon="1/2", grid=1)
    assert made == [
        {"epsilon": "1/2", "sensitivity": Fraction(0.1), "neighbours": "replace", "grid": 1}
    ]


@pytest.mark.parametrize("made", [float, int, abs, round, lambda it: it + 1, lambda it: 2 * it])
def test_an_estimate_is_no_number(made):
    with pytest.raises(TypeError):
        made(estimate())


@pytest.mark.parametrize(
    "maker",
    [
        lambda it: dp.Laplace(epsilon=1, sensitivity=it, grid=1),
        lambda it: dp.Geometric(epsilon=1, sensitivity=it),
        lambda it: dp.NoisyMax(epsilon=1, sensitivity=it),
        lambda it: dp.rational(it, name="sensitivity"),
    ],
)
def test_a_mechanism_refuses_an_estimate(maker):
    with pytest.raises(ParameterError, match="must be a number"):
        maker(estimate())


def test_two_levels_add_up():
    """Either the sampler is bad, or it is good and the pair is one of a share gamma."""
    sure = estimate(gamma=Fraction(1, 20), confidence=Fraction(9, 10))
    mechanism = sure.mechanism(dp.Laplace, epsilon=1, grid=1)
    assert mechanism.guarantee.gamma == Fraction(1, 20) + Fraction(1, 10)
    assert mechanism.privacy_loss.gamma == sure.joint_gamma == Fraction(3, 20)
    hopeless = estimate(gamma=Fraction(3, 4), confidence=Fraction(1, 2))
    with pytest.raises(ParameterError, match="below 1"):
        hopeless.mechanism(dp.Laplace, epsilon=1, grid=1)


def test_noise_of_scale_zero_is_refused():
    for zero in (0, Fraction(0), 0.0):
        with pytest.raises(ParameterError, match="sampled as 0"):
            estimate(value=zero).mechanism(dp.Laplace, epsilon=1, grid=1)


@pytest.mark.parametrize("extra", [{"sensitivity": 1}, {"neighbours": "replace"}])
def test_the_estimate_alone_says_the_sensitivity(extra):
    with pytest.raises(ParameterError, match="leave them out"):
        estimate().mechanism(dp.Laplace, epsilon=1, grid=1, **extra)


def test_several_numbers_pay_for_the_sum_of_their_moves():
    many = estimate(numbers=2)
    with pytest.raises(ParameterError, match="changes must be said: how many of the 2"):
        many.mechanism(dp.Laplace, epsilon=1, grid=1)
    mechanism = many.mechanism(dp.Laplace, epsilon=1, grid=1, changes=2)
    assert mechanism.release(np.array([1.0, 2.0])).shape == (2,)
    for norm in ("L2", "Linf"):
        with pytest.raises(ParameterError, match="must be L1"):
            estimate(numbers=2, norm=norm).mechanism(dp.Laplace, epsilon=1, grid=1, changes=2)
        one = estimate(norm=norm).mechanism(dp.Laplace, epsilon=1, grid=1)
        assert one.epsilon == 1
    with pytest.raises(ParameterError, match="has no theorem"):
        estimate(norm="half").mechanism(dp.Laplace, epsilon=1, grid=1)


def test_selection_pays_for_the_largest_move():
    chosen = estimate(numbers=3, norm="Linf").mechanism(dp.PermuteAndFlip, epsilon=100)
    assert chosen.release({"a": 0, "b": 10**6, "c": 1}) == "b"


def test_only_pure_mechanisms_are_wrapped():
    with pytest.raises((DiscreetError, TypeError)):
        estimate().mechanism(dp.Gaussian, epsilon=1)
    with pytest.raises(ParameterError, match="epsilon-privacy of its own"):
        estimate().mechanism(lambda **_: L1(), epsilon=1)
    with pytest.raises(ParameterError, match="epsilon"):
        estimate().mechanism(dp.Laplace, epsilon=0, grid=1)


def test_a_maker_that_takes_less_noise_than_it_is_told_is_refused():
    def loud(epsilon, sensitivity, neighbours):
        return dp.Laplace(epsilon=100, sensitivity=sensitivity, grid=1, neighbours=neighbours)

    def small(epsilon, sensitivity, neighbours):
        return dp.Laplace(epsilon=epsilon, sensitivity="0.001", grid=1, neighbours=neighbours)

    def other(epsilon, sensitivity, neighbours):
        return dp.Laplace(epsilon=epsilon, sensitivity=sensitivity, grid=1)

    for maker in (loud, small, other):
        with pytest.raises(dp.ParameterError, match="maker must"):
            estimate().mechanism(maker, epsilon="0.1")


def test_the_sampled_number_is_taken_by_no_mechanism():
    value = estimate().value
    with pytest.raises(dp.ParameterError, match="sensitivity must be a number"):
        dp.Laplace(epsilon=1, sensitivity=value, grid=1)
    with pytest.raises(dp.ParameterError):
        dp.losses.GeometricLoss(epsilon=1, sensitivity=value)
    assert value == value.number
    assert value > 0
    assert float(value) == float(value.number)
