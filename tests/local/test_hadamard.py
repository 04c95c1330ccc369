import math

import numpy as np
import pytest
from scipy.linalg import hadamard

import discreet as dp
from discreet.local.hadamard import parity, walsh_hadamard


@pytest.mark.parametrize("length", [1, 2, 4, 64])
def test_the_transform_is_the_matrix(length):
    rows = np.random.default_rng(length).integers(-50, 50, (3, length))
    before = rows.copy()
    assert np.array_equal(walsh_hadamard(rows), rows @ hadamard(length))
    assert np.array_equal(rows, before)


def test_parity():
    numbers = np.array([0, 1, 3, 7, 0xFFFF, 0x10000, 0x80000001, 0xFFFFFFFE])
    assert parity(numbers).tolist() == [n.bit_count() % 2 for n in numbers.tolist()]


def test_one_block_is_the_textbooks():
    for k, length in ((2, 4), (3, 4), (4, 8), (1000, 1024), (1023, 1024), (1024, 2048)):
        oracle = dp.local.HadamardResponse(k, 1, blocks=1)
        assert oracle.codes == length
        assert oracle.q * 2 == 1
        c = (math.e + 1) / (math.e - 1)
        assert oracle.normalised_variance() == pytest.approx(c * c, rel=1e-12)


@pytest.mark.parametrize(("epsilon", "blocks"), [(1, 1), (2, 4), (3, 8), (4, 32)])
def test_blocks_grow_with_epsilon_and_pay(epsilon, blocks):
    oracle = dp.local.HadamardResponse(1024, epsilon)
    assert oracle.blocks == blocks
    r = math.exp(epsilon)
    expected = (r + 2 * blocks - 1) ** 2 / (blocks * (r - 1) ** 2)
    assert oracle.normalised_variance() == pytest.approx(expected, rel=1e-12)
    one = dp.local.HadamardResponse(1024, epsilon, blocks=1)
    assert oracle.normalised_variance() <= one.normalised_variance()


def test_the_variance_in_blocks_is_that_of_the_law():
    """From the listed masses: the mean over all people of the variance of a score."""
    oracle = dp.local.HadamardResponse(8, 2, blocks=4)
    for share in (0.0, 0.25, 1.0):
        # value 0 has the share, and the others of all blocks the rest, evenly
        together = share + (1 - share) / 4
        weights = np.array([share, 0, 0, 0, together - share, *[0] * 3])
        weights[[1, 2, 3]] = (1 - together) / 3
        variance = 0.0
        for place, weight in enumerate(weights):
            first = second = 0.0
            for payload, mass in oracle.listed(place).items():
                plus, minus = oracle.supports(oracle.tally(oracle.array_of(payload)))
                score = int(plus[0] - minus[0])
                first += float(mass) * score
                second += float(mass) * score**2
            variance += weight * (second - first**2) / float(oracle.p) ** 2
        assert oracle.normalised_variance(share) == pytest.approx(variance, rel=1e-9)


def test_bad_blocks():
    for bad in (0, 3, 16, -1, 1.5):
        with pytest.raises(dp.ParameterError, match="blocks"):
            dp.local.HadamardResponse(8, 1, blocks=bad)
    with pytest.raises(dp.ParameterError, match="share"):
        dp.local.HadamardResponse(8, 4).normalised_variance(2)
