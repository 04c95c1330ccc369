"""The account, the cells, and what every published object answers."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from discreet.errors import InputTypeError, ParameterError, UnsupportedError
from discreet.noise.geometric import TwoSidedGeometric
from discreet.privacy.guarantee import PureDP
from discreet.privacy.loss import PureLoss
from discreet.publish.grids import adaptive_grid, uniform, uniform_grid
from discreet.publish.levels import hierarchy, identity, quadtree
from discreet.publish.measured import Account, Terms, counted
from discreet.publish.privtrees import privtree
from discreet.publish.pruning import pruned
from discreet.publish.wavelets import wavelet

ONE_AXIS = [identity, uniform, hierarchy, wavelet, pruned, privtree, quadtree]
TWO_AXES = [*ONE_AXIS, uniform_grid, adaptive_grid]


def test_an_account_never_spends_more_than_epsilon():
    account = Account(Terms(1, 2), None)
    assert account.measure(np.array([5]), Fraction(2, 3)).rate == Fraction(1, 3)
    assert account.left == Fraction(1, 3)
    with pytest.raises(ParameterError, match="at most what is left, 1/3"):
        account.measure(np.array([5]), Fraction(1, 2))
    with pytest.raises(ParameterError, match="share"):
        account.spend(Fraction(0))
    assert account.measure(np.array([5]), account.left, depth=3).rate == Fraction(1, 18)
    assert account.left == 0


def test_the_log_ratio_of_the_law_is_rate_times_distance():
    """What the transcripts of tests/publish/forced.py rest on."""
    law = TwoSidedGeometric(Fraction(2, 7))
    for k in range(-5, 6):
        ratio = math.log(law.mass(k) / law.mass(k + 3))
        assert ratio == pytest.approx(2 / 7 * (abs(k + 3) - abs(k)), abs=1e-12)


def test_cells_are_counts_and_their_sums_fit():
    assert counted(np.array([3, -2])).tolist() == [3, 0]
    big = counted(np.full(4, (1 << 63) - 1))
    assert int(big.sum()) == 1 << 62
    with pytest.raises(InputTypeError):
        counted(np.array([1.5]))
    for wrong in (np.zeros((2, 2, 2, 2), dtype=int), np.array(3), np.zeros(0, dtype=int)):
        with pytest.raises(ParameterError, match="cells"):
            counted(wrong)
    with pytest.raises(ParameterError, match="2 axes"):
        uniform_grid(np.zeros(4, dtype=int), epsilon=1)


@pytest.mark.parametrize("publish", TWO_AXES)
def test_every_object_knows_its_promise_and_its_noise(publish):
    cells = np.arange(64).reshape(8, 8)
    made = publish(cells, epsilon="0.5", sensitivity=2, neighbours="replace")
    assert made.guarantee == PureDP("0.5", "replace")
    assert made.privacy_loss == PureLoss(epsilon="0.5", neighbours="replace")
    assert "0.5-differential privacy" in repr(made)
    assert made.noise
    assert all(noisy.rate <= Fraction(1, 4) for noisy in made.noise)
    with pytest.raises(ValueError, match="read-only"):
        made.noise[0].values[0] = 0


@pytest.mark.parametrize("publish", TWO_AXES)
def test_readings_obey(publish):
    cells = np.array([[100, 0, 0, 0, 7], [0, 0, 3, 0, 0], [1, 2, 0, 0, 900]])
    made = publish(cells, epsilon=1)
    read, whole = made.cells(), made.cells("whole")
    assert read.shape == whole.shape == made.cells("raw").shape == cells.shape
    assert read.min() >= 0
    assert whole.min() >= 0
    assert whole.dtype == np.int64
    assert whole.sum() == round(float(read.sum()))
    assert read.sum() == pytest.approx(max(made.cells("raw").sum(), 0))
    assert made.cells() is read
    with pytest.raises(ValueError, match="read-only"):
        read[0, 0] = 1
    with pytest.raises(ParameterError, match="reading"):
        made.cells("best")


@pytest.mark.parametrize("publish", ONE_AXIS)
def test_a_range_is_a_rectangle_of_one_axis(publish):
    made = publish(np.arange(20), epsilon=1)
    found = made.range(3, 11)
    assert found == made.rectangle((3, 11))
    assert found.low <= found.value <= found.high
    assert found.confidence == 0.95
    assert made.range(4, 4).high == 0
    wider = made.range(3, 11, confidence=0.999)
    assert wider.low <= found.low <= found.high <= wider.high
    for wrong in ((-1, 3), (5, 3), (0, 21), (0.5, 3)):
        with pytest.raises(ParameterError):
            made.range(*wrong)
    with pytest.raises(ParameterError, match="axes"):
        made.rectangle((0, 1), (0, 1))


@pytest.mark.parametrize("publish", TWO_AXES)
def test_nearly_no_noise_is_read_like_any_other(publish):
    """At epsilon 1000 a variance is below all floats; another value than the true one has a chance
    of e^-40 at most.
    """
    cells = np.arange(16).reshape(4, 4)
    found = publish(cells, epsilon=1000).rectangle((0, 2), (0, 2))
    assert found.low <= 10 <= found.high
    assert found.low <= found.value <= found.high


def test_a_plane_has_no_range():
    with pytest.raises(UnsupportedError, match="rectangle"):
        identity(np.ones((2, 2), dtype=int), epsilon=1).range(0, 1)


UNEVEN = np.array([[0, 0, 0, 90], [4, 0, 1, 0], [0, 30, 0, 0], [0, 0, 0, 2]])


@pytest.mark.statistical
@pytest.mark.parametrize("publish", TWO_AXES)
def test_intervals_hold_the_truth(publish):
    """At 80 %, a question that cuts blocks; false alarm below 1e-10 each."""
    runs, truth = 300, int(UNEVEN[1:4, 0:3].sum())
    found = [
        publish(UNEVEN, epsilon=1).rectangle((1, 4), (0, 3), confidence=0.8) for _ in range(runs)
    ]
    held = sum(answer.low <= truth <= answer.high for answer in found)
    assert held >= binom.ppf(1e-10, runs, 0.8)


@pytest.mark.statistical
@pytest.mark.parametrize("publish", [identity, hierarchy, quadtree, wavelet])
def test_raw_answers_have_the_stated_standard_error(publish):
    """Mean within 7 standard errors of the truth, variance within 60 % (false alarm below 1e-9: the
    fourth moment of a sum of such noise is at most 6 times the squared variance).
    """
    runs, truth = 2_000, int(UNEVEN[1:4, 0:3].sum())
    answers = [publish(UNEVEN, epsilon=1) for _ in range(runs)]
    raw = np.array([made.cells("raw")[1:4, 0:3].sum() for made in answers])
    error = answers[0].rectangle((1, 4), (0, 3)).standard_error
    assert abs(raw.mean() - truth) <= 7 * error / math.sqrt(runs)
    assert np.mean((raw - truth) ** 2) == pytest.approx(error**2, rel=0.6)
