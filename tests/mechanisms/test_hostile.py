"""Inputs and moments that somebody would try on purpose; each was once a way in somewhere."""

import os
from fractions import Fraction

import numpy as np
import pytest
from tests.noise.test_sampler import goodness

import discreet as dp
from discreet.exact import exp, log
from discreet.mechanisms import choosing
from discreet.noise.constant_time import FixedWords
from discreet.noise.sampler import one_sided, two_sided
from discreet.noise.source import system_source

HUGE = [
    dp.Geometric(epsilon=1, sensitivity=1 << 62),
    dp.Staircase(epsilon=1, sensitivity=1 << 60),
    dp.Gaussian(rho="1/2", sensitivity=1 << 61),
]


@pytest.mark.statistical
@pytest.mark.parametrize("mechanism", HUGE, ids=lambda mechanism: type(mechanism).__name__)
def test_large_noise_is_not_cut_off_around_the_value(mechanism):
    """A sum that fits is released, however large its noise: from far below, values far above come
    with the chance that the law states. (Refusing large *noise* would cut the law off around the
    private value.) False alarm below 1e-9: six standard deviations.
    """
    start, tries = -(1 << 62), 1500
    above = 0
    for _ in range(tries):
        try:
            above += int(mechanism.release(np.array([start]))[0]) > 1 << 60
        except dp.RangeError:
            continue
    law = mechanism.law(start)
    chance = law.tail(1 << 60) - law.tail((1 << 63) - 1)
    assert abs(above / tries - chance) <= 6.5 * (chance * (1 - chance) / tries) ** 0.5 + 1e-3


def test_staircase_noise_beyond_64_bits_is_carried_exactly():
    """Nearly half of these draws do not fit 64 bits; that all 500 fit has a chance below 2^-400."""
    mechanism = dp.Staircase(epsilon="0.1", sensitivity=1 << 60)
    noise = mechanism._sampler.chunk(500, system_source())
    assert noise.dtype == object
    assert max(abs(z) for z in noise) > 1 << 63


@pytest.mark.statistical
def test_a_range_always_fits():
    """Clamped output fits whatever the noise, so nothing is refused, and the law is the stated."""
    mechanism = dp.Geometric(epsilon=1, sensitivity=1 << 62, bounds=(-(2**61), 2**61))
    released = mechanism.release(np.full(5000, -(2**61)))
    law = mechanism.law(-(2**61))
    low = np.mean(released == -(2**61))
    assert abs(low - law.mass(-(2**61))) < 0.045  # six standard deviations
    rejection = dp.RejectionGeometric(epsilon="1e-30", bounds=(0, 9))
    assert set(np.unique(rejection.release(np.zeros(20, dtype=int)))) <= set(range(10))


def test_refusals_in_arrays_are_range_errors():
    for constant_time in (False, True):
        wide = dp.Geometric(epsilon="1e-30", bounds=(0, 1 << 70), constant_time=constant_time)
        with pytest.raises(dp.RangeError):
            wide.release(np.full(50, 5))
    assert dp.Geometric(epsilon=1, bounds=(1 << 70, 1 << 71)).release(5) >= 1 << 70


def test_the_sparse_vector_never_raises_by_the_size_of_a_count():
    mechanism = dp.AboveThreshold(epsilon=Fraction(1, 1 << 19), threshold=0, sensitivity=1 << 40)
    for count in ((1 << 61) - 1, 1 << 61, (1 << 63) - 1):
        for _ in range(20):
            assert isinstance(mechanism.release(np.full(100, count)), list)


def test_numpy_integers_inside_fractions_do_not_wrap():
    read = choosing.read_scores([Fraction(1, 4), np.int64(2**62)])
    assert read.exact_gaps() == [2**64 - 1, 0]
    laplace = dp.Laplace(epsilon=1, sensitivity=1, grid="1/1024")
    third = Fraction(np.int64(2**55), np.int64(3))
    assert laplace.on_grid(third) == 2**65 // 3 + 1 == 12297829382473034411
    assert dp.rational(third, name="x").numerator == 2**55


def test_a_stream_ends_in_a_forked_child():
    stream = dp.AboveThreshold(epsilon=100, threshold=0).stream()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            stream.ask(10**9)
            os.write(writer, b"answered")
        except dp.StreamEndedError:
            os.write(writer, b"ended")
        os._exit(0)
    os.waitpid(child, 0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        assert pipe.read() == "ended"
    assert stream.ask(10**9) is True


def test_exponentials_near_the_underflow_are_enclosed():
    """Taking logarithms: e^-88000 is above 2^-131072, and its enclosure must say so."""
    for x in (-87_000, -88_000, -90_000, -91_000, -92_000):
        found = exp(Fraction(x), 64)
        assert found.upper > 0
        if found.lower > 0:
            assert Fraction(x) in log(found, 30)
        else:
            assert x * log(2, 60).upper ** 0 < -90_000


def test_long_doubles_are_taken_exactly():
    laplace = dp.Laplace(epsilon=1, sensitivity=2, grid=1)
    low, high = np.longdouble(2) ** 53 + 1, np.longdouble(2) ** 53 + 3
    assert laplace.on_grid(high) - laplace.on_grid(low) == int(high - low) <= laplace.steps


MASKED = np.ma.array([1, 2], mask=[True, False])


@pytest.mark.parametrize(
    "release",
    [
        dp.Geometric(epsilon=1).release,
        dp.Gaussian(rho=1).release,
        dp.Laplace(epsilon=1, sensitivity=1, grid=1).release,
        dp.RandomizedResponse(epsilon=1, categories=(1, 2)).release,
        dp.SelectKeys(epsilon=1, delta="1e-6").release,
        dp.NoisyMax(epsilon=1).release,
        dp.AboveThreshold(epsilon=1, threshold=1).release,
        lambda array: dp.count(array > 1, epsilon=1),
        lambda array: dp.histogram(array, bins=2, range=(0, 2), epsilon=1),
    ],
)
def test_masked_arrays_are_refused_by_their_type(release):
    for array in (MASKED, np.ma.array([1, 2]), np.ma.array([1, 2], mask=True)):
        with pytest.raises(dp.InputTypeError):
            release(array)


def test_other_subclasses_of_arrays_are_released_plainly():
    released = dp.Geometric(epsilon=1).release(np.ones((2, 2), dtype=np.int64).view(np.matrix))
    assert type(released) is np.ndarray


@pytest.mark.parametrize("value", [np.timedelta64(5, "s"), np.timedelta64("NaT")])
def test_times_are_no_integers(value):
    with pytest.raises(dp.InputTypeError):
        dp.Geometric(epsilon=1).release(value)
    with pytest.raises(dp.InputTypeError):
        dp.Laplace(epsilon=1, sensitivity=1, grid=1).release(value)


def test_a_message_does_not_tell_the_length_of_a_string():
    words = set()
    for text in ("ab", "abcdefgh"):
        for release in (
            dp.Geometric(epsilon=1).release,
            lambda a: dp.histogram(a, bins=1, range=(0, 1), epsilon=1),
        ):
            with pytest.raises(dp.InputTypeError) as caught:
                release(np.array([text]))
            words.add(str(caught.value).replace("values must be numbers", ""))
    assert len(words) == 2  # one for each function, whatever the string


def test_integers_of_any_size_are_counted_in_a_histogram():
    for largest in (2**64 - 1, 2**64, 10**400, -(10**400)):
        counts, _ = dp.histogram([1, 2, largest], bins=2, range=(0, 4), epsilon=100)
        assert counts.tolist() == [1, 1]


@pytest.mark.parametrize("span", [(-1e308, 1e308), (1, "1.0000000000000001")])
def test_ranges_that_floats_cannot_divide_are_refused(span):
    with pytest.raises(dp.ParameterError, match="range"):
        dp.histogram([1.0], bins=4, range=span, epsilon=1)


def test_no_table_is_kept_for_a_private_denominator():
    before = one_sided.cache_info().currsize, two_sided.cache_info().currsize
    for mechanism in (
        dp.PermuteAndFlip(epsilon=1),
        dp.NoisyMax(epsilon=1),
        dp.Exponential(epsilon=1),
    ):
        mechanism.release([Fraction(1, 104_729), 2])
    dp.TopK(epsilon=1, k=1).release([Fraction(1, 104_723), 2])
    assert (one_sided.cache_info().currsize, two_sided.cache_info().currsize) == before


@pytest.mark.statistical
def test_fractions_have_the_stated_law_all_the_same():
    """False alarm below 1e-9."""
    scores = [Fraction(1, 3), Fraction(1, 2), 1]
    for mechanism in (
        dp.NoisyMax(epsilon=4),
        dp.PermuteAndFlip(epsilon=4),
        dp.Exponential(epsilon=4),
    ):
        law = mechanism.law(scores)
        found = np.bincount([mechanism.release(scores) for _ in range(3000)], minlength=3) / 3000
        for place, share in enumerate(found):
            chance = law.mass(place)
            assert abs(share - chance) <= 6.5 * (chance * (1 - chance) / 3000) ** 0.5


def test_constant_time_multiplies_alike_for_every_distance(monkeypatch):
    """Ranges without a table: no exponential is computed in a draw, whatever the value."""
    sampler = FixedWords(Fraction(1), 0, (1 << 32) - 1)
    sampler.draw(5, system_source())  # the powers are there now
    from discreet.noise import constant_time

    monkeypatch.setattr(constant_time, "exp", None)
    for at in (0, 1 << 31, (1 << 31) + 70_000, (1 << 32) - 1):
        assert abs(sampler.draw(at, system_source()) - at) < 100  # misses with probability e^-100


def test_long_and_short_ranges_have_the_same_floors():
    short, direct = FixedWords(Fraction(1, 7), 0, 4000), FixedWords(Fraction(1, 7), 0, 4000)
    from discreet.noise.constant_time import _all_sides, _side

    scale = (1 << 64 * short.words) - short.size * short.floor_weight
    sides = _all_sides(short.rate, short.size, scale)
    for distance in (0, 1, 2, 77, 1000, 4001):
        assert sides[distance] == _side(direct.rate, distance, 20, scale)


class Same:
    def __init__(self, name):
        self.name = name

    def __str__(self):
        return "same"

    def __repr__(self):
        return self.name


def test_kept_keys_come_in_an_order_of_their_own():
    one, two = Same("one"), Same("two")
    mechanism = dp.SelectKeys(epsilon=1, delta="1e-6")
    assert mechanism.release({one: 999, two: 999}) == mechanism.release({two: 999, one: 999})


@pytest.mark.statistical
def test_goodness_itself_tells_laws_apart():
    """The statistic used in these tests rejects the law of the next count."""
    mechanism = dp.Geometric(epsilon=1)
    released = mechanism.release(np.zeros(200_000, dtype=np.int64))
    assert goodness(released, mechanism.law(0)) > 1e-10
    assert goodness(released, mechanism.law(1)) < 1e-10


@pytest.mark.parametrize(
    ("epsilon", "delta", "changes"), [("0.01", "1e-6", 2), ("1e-9", "1e-6", 2), (1000, "0.99", 3)]
)
def test_calibration_for_many_ends_at_every_scale(epsilon, delta, changes):
    mechanism = dp.Gaussian(epsilon=epsilon, delta=delta, changes=changes)
    assert mechanism.delta_upper() <= Fraction(delta)


def test_bins_of_the_smallest_floats():
    from discreet.mechanisms.counts import _count_in_bins

    edges = np.linspace(0, 3.5e-323, 8)
    found = _count_in_bins(np.array([3e-323, 0.0]), edges, equal=True, clamp=False)
    assert found.tolist() == [1, 0, 0, 0, 0, 0, 1]


def test_mixed_numbers_are_taken_whatever_their_size():
    for other in (5, 2**70, float("inf")):
        dp.histogram([np.int64(1), other], bins=2, range=(0, 4), epsilon=1)
    dp.histogram(np.array([np.longdouble("1e4000")]), bins=2, range=(0, 4), epsilon=1)


def test_integer_keys_of_any_size_are_shown():
    assert dp.SelectKeys(epsilon=1, delta="1e-6").release({10**5000: 999, 1: 999}) == [1, 10**5000]
