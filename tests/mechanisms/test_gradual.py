"""A release made coarser: the law of the smaller epsilon, and the loss of nothing more."""

from math import log, sqrt

import numpy as np
import pytest
from tests.noise.test_coarsening import convolved

from discreet.errors import InputTypeError, ParameterError
from discreet.exact import exp
from discreet.mechanisms.geometric import Geometric
from discreet.mechanisms.gradual import Coarsening
from discreet.mechanisms.staircase import Staircase
from discreet.noise.source import KeyedSource, new_key, system_source
from discreet.privacy.guarantee import PureDP

STEPS = [
    Coarsening(Geometric(epsilon=1), Geometric(epsilon="0.5")),
    Coarsening(Geometric(epsilon="0.6", sensitivity=2), Geometric(epsilon="0.4", sensitivity=2)),
    Coarsening(Geometric(epsilon=4, changes=2), Geometric(epsilon=1, changes=2)),
]


@pytest.mark.parametrize("step", STEPS, ids=str)
def test_the_law_is_that_of_the_coarser_mechanism(step):
    """For several outputs and two inputs, by certified enclosures of the convolution."""
    far = int(30 / step.coarse.rate) + 5
    for value in (0, 5):
        for k in (-2, 0, 3, 9):
            found = convolved(step.fine.law(value), step.noise_law, k, far, 80)
            wanted = step.coarse.law(value).mass_bounds(k, bits=80)
            assert found.lower <= wanted.upper
            assert wanted.lower <= found.upper
            assert found.width < 1e-9


@pytest.mark.parametrize("step", STEPS, ids=str)
def test_the_guarantee_is_reached_and_not_passed(step):
    """Of the coarser number alone its own epsilon; of the pair that of the finer one."""
    move, each = step.coarse.sensitivity, step.coarse.epsilon / step.coarse.changes
    far = int(30 / step.coarse.rate) + 5
    bound = exp(each, 80)
    for k in range(-4, 5):
        ratio = convolved(step.fine.law(0), step.noise_law, k, far, 100) / convolved(
            step.fine.law(move), step.noise_law, k, far, 100
        )
        assert ratio.lower <= bound.upper
        if k <= 0:
            assert float(ratio) == pytest.approx(float(bound), rel=1e-9)
    assert step.guarantee == PureDP(step.coarse.epsilon)
    fine, worst = step.fine, 0.0
    for y in range(-4, 5):
        for z in range(-4, 5):
            joint = [fine.law(at).mass(y) * step.noise_law.mass(z - y) for at in (0, move)]
            worst = max(worst, log(joint[0] / joint[1]))
    assert worst == pytest.approx(float(fine.epsilon / fine.changes))


@pytest.mark.statistical
@pytest.mark.parametrize("step", STEPS, ids=str)
def test_releases_have_the_law(step):
    """False alarm below 1e-9: Dvoretzky, Kiefer, Wolfowitz and Massart."""
    size = 400_000
    noisy = step.fine.release(np.full(size, 7), source=system_source()).tolist()
    found = np.sort(step.release(noisy))
    margin = sqrt(log(2e9 * 2) / (2 * size))
    law = step.coarse.law(7)
    for k in range(-20, 35):
        below = np.searchsorted(found, k, side="right") / size
        assert abs(below - law.cumulative(k)) < margin


def test_equal_noise_is_left_alone():
    step = Coarsening(Geometric(epsilon=1, sensitivity=2), Geometric(epsilon="0.5"))
    assert step.release([3, -4]) == [3, -4]
    assert step.noise_law.mass(0) == 1


def test_the_same_key_gives_the_same_noise():
    key, step = new_key(), STEPS[0]
    first = step.release([0] * 200, source=KeyedSource(key))
    assert step.release([0] * 200, source=KeyedSource(key)) == first
    assert step.release([0] * 200, source=KeyedSource(new_key())) != first
    assert step.release([], source=KeyedSource(key)) == []


def test_many_numbers_have_noise_of_their_own():
    moved = STEPS[0].release([10**30] * 300_000)
    assert len(moved) == 300_000
    assert moved[:1000] != moved[1 << 17 : (1 << 17) + 1000]
    assert min(moved) > 10**30 - 10**6


@pytest.mark.parametrize(
    ("fine", "coarse"),
    [
        (Geometric(epsilon="0.5"), Geometric(epsilon=1)),
        (Geometric(epsilon=1), Geometric(epsilon=1, sensitivity=1, bounds=(0, 9))),
        (Geometric(epsilon=2, bounds=(0, 9)), Geometric(epsilon=1)),
        (Staircase(epsilon=2, sensitivity=5), Geometric(epsilon=1)),
        (Geometric(epsilon=2), Staircase(epsilon=1, sensitivity=5)),
    ],
)
def test_what_cannot_be_made_coarser_is_refused(fine, coarse):
    with pytest.raises(ParameterError):
        Coarsening(fine, coarse)


def test_only_integers_are_made_coarser():
    with pytest.raises(InputTypeError):
        STEPS[0].release([1.5])
    assert STEPS[0].noise_law.variance == pytest.approx(
        STEPS[0].coarse.variance - STEPS[0].fine.variance
    )
