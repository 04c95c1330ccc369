"""Aggregators: clipped exactly, noisy as they say, with the cost that they have."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dp
from discreet.compat.sherpa import CDPAggregator, NormClipAggregator, WeakDPAggregator
from discreet.compat.sherpa.aggregators import _clipped
from discreet.compat.sherpa.mechanisms import grid_of
from discreet.errors import InputTypeError, ParameterError, UnsupportedError
from discreet.noise.source import KeyedSource


def keyed(number=0):
    return KeyedSource(number.to_bytes(32, "little"))


def test_short_updates_are_averaged_and_long_ones_clipped():
    short, long = np.array([0.3, 0.4]), np.array([30.0, -40.0])
    found = NormClipAggregator(1).aggregate_weights([short, long])
    assert found == pytest.approx([(0.3 + 0.6) / 2, (0.4 - 0.8) / 2], abs=1e-3)


def test_lists_of_arrays_keep_their_shapes_and_are_clipped_as_one():
    update = [np.full((2, 3), 2.0), np.array([2.0, 2.0]), np.float64(2.0)]
    found = NormClipAggregator(3).aggregate_weights([update, update])
    assert [np.shape(part) for part in found] == [(2, 3), (2,), ()]
    assert math.sqrt(sum((part**2).sum() for part in found)) == pytest.approx(3, abs=1e-2)


@given(
    st.lists(st.floats(-1e30, 1e30), min_size=1, max_size=20),
    st.fractions(Fraction(1, 1000), Fraction(1000)),
)
def test_the_norm_is_at_most_clip_exactly(numbers, clip):
    """In integers, whatever floats did before; and no update that is short is shortened."""
    update = np.array(numbers)
    grid = grid_of(clip / update.size)
    steps = _clipped(update, clip, grid)
    assert sum(step * step for step in steps.tolist()) * grid**2 <= clip**2
    if math.hypot(*numbers) < float(clip) * 0.999:
        assert abs(steps * float(grid) - update).max() <= float(grid)
    elif math.hypot(*numbers) > float(clip):
        norm = math.sqrt(sum(step * step for step in steps.tolist())) * float(grid)
        assert norm == pytest.approx(float(clip), rel=0.01)


def test_a_norm_that_floats_cannot_write_is_kept():
    """This clip is 1 as a float, and an update of norm 1 is longer."""
    clip = 1 - Fraction(1, 1 << 60)
    for update in ([1.0], [-7.0], [0.0, 1.0]):
        grid = grid_of(clip / len(update))
        steps = _clipped(np.array(update), clip, grid)
        assert sum(step * step for step in steps.tolist()) * grid**2 <= clip**2


@pytest.mark.parametrize("noise_mult", ["0.5", 1, 3, "0.1"])
def test_the_cost_is_that_of_replacing_a_client(noise_mult):
    """Sensitivity 2 clip against noise of noise_mult clip, whatever clip is."""
    for clip in (1, "0.001", 100):
        made = CDPAggregator(clip, noise_mult)
        assert made.guarantee == dp.ZCDP(2 / Fraction(noise_mult) ** 2, "replace")
        assert made.privacy_loss.guarantee == made.guarantee
    budget = dp.Budget(rho=2 * made.guarantee.rho, neighbours="replace")
    budget.charge(made)
    budget.charge(made)
    with pytest.raises(dp.BudgetExceededError):
        budget.charge(made)


def test_the_weak_one_says_how_weak_it_is():
    with pytest.raises(ParameterError, match=r"would be 3,200-zCDP, which protects nobody.*0\.045"):
        WeakDPAggregator(clip=1)
    weak = WeakDPAggregator(clip=1, noise_mult="0.05")
    assert weak.guarantee.rho == 800
    assert weak.epsilon("1e-6") > 800
    strong = CDPAggregator(clip=1, noise_mult=10)
    assert 0.5 < strong.epsilon("1e-6") < 1.1
    with pytest.raises(UnsupportedError, match="promises nothing"):
        _ = NormClipAggregator(1).privacy_loss


@pytest.mark.parametrize("clients", [1, 4, 20])
def test_the_noise_has_the_stated_size(clients):
    """50,000 numbers from a keyed source, so the same each time: the deviation to one in a hundred.

    Noise of half the size, or not divided by the clients, would be off by a factor.
    """
    updates = [np.zeros(50_000)] * clients
    found = CDPAggregator(clip=5, noise_mult="0.7").aggregate_weights(updates, source=keyed())
    assert found.std() == pytest.approx(0.7 * 5 / clients, rel=0.01)
    assert abs(found.mean()) < 5 * 0.7 * 5 / clients / math.sqrt(50_000)


def test_noise_is_added_to_the_clipped_mean():
    updates = [[np.array([100.0]), np.zeros(2)], [np.array([0.5]), np.ones(2) / 2]]
    plain = NormClipAggregator(1).aggregate_weights(updates)
    noisy = CDPAggregator(1, 2).aggregate_weights(updates, source=keyed(3))
    zero = CDPAggregator(1, 2).aggregate_weights([[np.zeros(1), np.zeros(2)]] * 2, source=keyed(3))
    for part, with_noise, noise in zip(plain, noisy, zero, strict=True):
        assert with_noise - noise == pytest.approx(part, abs=1e-12)
        assert (noise != 0).all()


@pytest.mark.parametrize(
    ("updates", "error"),
    [
        ([], ParameterError),
        ([np.zeros(2), np.zeros(3)], ParameterError),
        ([np.zeros(2), [np.zeros(2)]], ParameterError),
        ([[]], InputTypeError),
        ([np.array([1.0, np.nan])], InputTypeError),
        ([np.array([np.inf])], InputTypeError),
        ([np.array(["a secret"])], InputTypeError),
    ],
)
def test_what_is_no_update_is_refused_and_not_quoted(updates, error):
    for made in (NormClipAggregator(1), CDPAggregator(1, 1)):
        with pytest.raises(error) as caught:
            made.aggregate_weights(updates)
        assert "a secret" not in str(caught.value)


def test_parameters():
    for bad in (0, -1, float("nan"), "x"):
        with pytest.raises(ParameterError, match="clip"):
            NormClipAggregator(bad)
        with pytest.raises(ParameterError, match="noise_mult"):
            CDPAggregator(1, bad)
