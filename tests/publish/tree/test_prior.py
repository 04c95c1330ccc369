"""The ways to split: weights and densities."""

import numpy as np
import pytest

from discreet.publish.tree.prior import Prior

PRIOR = Prior(empty=3, even=1, weights=(4, 2), alphas=(1, 6))


def test_weights_sum_to_one():
    assert PRIOR.start.tolist() == pytest.approx([0.3, 0.1, 0.4, 0.2])


@pytest.mark.parametrize("place", [0, 1])
def test_densities_in_the_angle_integrate_to_one(place):
    angle = (np.arange(100_000) + 0.5) * (np.pi / 2) / 100_000
    product = np.sin(angle) * np.cos(angle)
    density = np.exp(PRIOR.constants[place]) * product ** PRIOR.exponents[place]
    assert density.mean() * np.pi / 2 == pytest.approx(1, rel=1e-6)


def test_learning_adds_what_was_found_to_the_weights():
    found = np.array([[0.0, 0, 0, 0], [8, 0, 0, 0]])
    learned = PRIOR.learned(found)
    assert learned[0] == pytest.approx(PRIOR.start)
    assert learned[1] == pytest.approx((PRIOR.start + np.eye(4)[0]) / 2)
