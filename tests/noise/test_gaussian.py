"""The discrete Gaussian law by three ways of summing, and its samplers decision by decision."""

import math
from fractions import Fraction
from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2, norm

from discreet.errors import ParameterError, RangeError, UnsupportedError
from discreet.exact import Interval, exp
from discreet.noise import gaussian as module
from discreet.noise.gaussian import BlockedGaussian, DiscreteGaussian
from discreet.noise.gaussian_sampler import Blocks, Squeeze, gaussian, is_kept
from discreet.noise.law import Law
from discreet.noise.reference import gaussian_attempt
from discreet.noise.sampler import TableSampler
from discreet.noise.source import ReplayedSource, Source, system_source
from discreet.noise.table import Inversion, inversion

VARIANCES = [
    Fraction(1, 10**4),
    Fraction(1, 9),
    Fraction(99, 100),
    Fraction(1),
    Fraction(7, 3),
    Fraction(100),
    Fraction(4095),
    Fraction(4096),
    Fraction(12345, 2),
    Fraction(10**6, 3),
    Fraction(10**18),
]


def overlap(x, y):
    return x.lower <= y.upper and y.lower <= x.upper


def floor_of(x, bits):
    """floor(2^bits x) of an enclosed real, if both ends agree on it."""
    low, high = ((end.numerator << bits) // end.denominator for end in (x.lower, x.upper))
    assert low == high
    return low


# The law.


@pytest.mark.parametrize("v", VARIANCES)
def test_masses_and_tails_sum_to_one(v):
    """P(|Y| <= n) from the masses plus both tails encloses 1, to 60 bits."""
    law = DiscreteGaussian(v)
    total = 2 * law.tail_bounds(40) + law.mass_bounds(0)
    for k in range(1, 41):
        total = total + 2 * law.mass_bounds(k)
    assert 1 in total
    assert total.width < Fraction(1, 1 << 56)


@pytest.mark.parametrize("v", VARIANCES)
@pytest.mark.parametrize("z", [0, 1, 3, 7])
def test_cumulatives_tails_and_masses_agree(v, z):
    law, reach = DiscreteGaussian(v), math.isqrt(z * z * math.ceil(v))
    for k in (reach, -reach):
        assert overlap(law.cumulative_bounds(k) + law.tail_bounds(k), Interval.of(1))
        assert overlap(law.tail_bounds(k - 1) - law.tail_bounds(k), law.mass_bounds(k))
        assert law.cumulative_bounds(k) == law.tail_bounds(-k - 1) or law.cumulative(k) > 0.99
        assert law.cumulative_bounds(k).upper < 1 or k * k > 80_000 * v


@pytest.mark.parametrize("v", [Fraction(1), Fraction(3, 2), Fraction(9), Fraction(200)])
def test_normaliser_by_poisson_is_the_defining_sum(v):
    defined = 1 + 2 * module.direct_sum(v, 0, 0, 160)
    poisson = module.normaliser(v, 160)
    assert overlap(defined, poisson)
    assert defined.within(150)
    assert poisson.within(150)


@pytest.mark.parametrize("v", [Fraction(4096), Fraction(6000 * 7 + 1, 7), Fraction(10**5)])
@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("k", [0, 1, 50, 333, 1000, 3500])
def test_euler_maclaurin_is_the_direct_sum(v, order, k):
    """Both paths at the same sigma, to 150 bits relatively."""
    smooth, direct = module.sum_beyond(v, k, order, 170), module.direct_sum(v, k, order, 170)
    assert overlap(smooth, direct)
    assert smooth.within(150)
    assert direct.within(150)


@pytest.mark.parametrize("p", [1, 2, 3, 5])
@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("k", [0, 3, 10])
def test_remainder_is_within_its_bound_and_the_bound_is_not_idle(p, order, k):
    """At sigma = 4, where the remainder is large enough to see."""
    v, n = Fraction(16), 2 * p + order
    smooth = module.smooth_sum(v, k, order, p, 200)
    direct = module.direct_sum(v, k, order, 200) / (v if order else 1)
    left = abs(float(direct - smooth))
    bound = 2 * 39.0**-p * math.sqrt(7 * math.factorial(n) * float(v) ** (1 - n))
    assert left <= bound
    if k or order:  # at k = 0 every odd derivative vanishes, so there R is tiny for all p
        assert left > bound / 10**7


def test_bernoulli_terms():
    """b_m = B_2m/(2m)!, and their generating function (x/2) coth(x/2) at x = 1."""
    found = module.bernoulli_terms(16)
    assert found[:4] == (*(Fraction(1, n) for n in (12, -720, 30240)), Fraction(-1, 1209600))
    assert math.isclose(float(1 + sum(found)), 0.5 / math.tanh(0.5), rel_tol=1e-15)


@pytest.mark.parametrize(
    ("v", "k", "tail"),
    [  # summed term by term, or by the error function, in 60-digit arithmetic of another program
        (Fraction(9), 3, "0.120575634021598312374764"),
        (Fraction(1, 4), 0, "0.1067146464790260501477047"),
        (Fraction(5000), 100, "0.07761529402226695909444428"),
        (Fraction(10**18), 10**9, "0.15865525381047168917536"),
    ],
)
def test_tails_against_known_values(v, k, tail):
    found = DiscreteGaussian(v).tail_bounds(k, bits=90)
    assert abs(found.lower / Fraction(tail) - 1) < Fraction(1, 10**22)


@pytest.mark.parametrize("v", [v for v in VARIANCES if 1 / 10 < v < 200])
def test_variance_and_absolute_error_are_those_of_the_masses(v):
    law, reach = DiscreteGaussian(v), 40 + 15 * math.isqrt(math.ceil(v))
    masses = {k: law.mass(k) for k in range(-reach, reach + 1)}
    spread = math.fsum(k * k * p for k, p in masses.items())
    assert math.isclose(law.variance, spread, rel_tol=1e-12)
    assert law.variance_bounds().upper <= v
    for target in (0, 1, -3, 20):
        mean = math.fsum(abs(k - target) * p for k, p in masses.items())
        assert math.isclose(law.absolute_error(target), mean, rel_tol=1e-12)
    assert law.mean == 0


def test_large_scales_are_normal():
    """E |Y| = sigma sqrt(2/pi) and the variance, from both sides of the two formulas."""
    law = DiscreteGaussian(Fraction(10**18))
    assert math.isclose(law.absolute_error(0), 1e9 * math.sqrt(2 / math.pi), rel_tol=1e-15)
    assert math.isclose(law.variance, 1e18, rel_tol=1e-15)
    assert law.quantile("0.975") == 1959963985


def test_far_tails_are_bounded_quickly():
    """Beyond 2^-131072 only an upper bound is given; it is one, and it does not hang."""
    for v in (Fraction(1, 4), Fraction(100), Fraction(10**12)):
        found = DiscreteGaussian(v).tail_bounds(10**40)
        assert 0 <= found.lower <= found.upper < Fraction(1, 1 << 1000)


def test_too_small_a_scale_is_refused():
    with pytest.raises(ParameterError, match="sigma_squared must be at least 1/10000"):
        DiscreteGaussian(Fraction(1, 10001))


# Tables.


@pytest.mark.parametrize("v", [Fraction(1, 10**4), Fraction(1, 7), Fraction(2), Fraction(333)])
def test_thresholds_are_floors_of_the_cumulatives(v):
    table = Inversion(DiscreteGaussian(v))
    assert table.thresholds[0] == 0
    assert table.thresholds[-1] == (1 << 64) - 1
    for k, threshold in enumerate(table.thresholds, start=table.first):
        assert threshold == floor_of(table.law.cumulative_bounds(k, bits=140), 64)


@pytest.mark.parametrize("v", [Fraction(65536), Fraction(200**2 + 1, 3), Fraction(10**15, 7)])
def test_table_encloses_the_cumulatives(v):
    law = DiscreteGaussian(v)
    for first, last in ((-40, 45), (-9, -3), (100, 130)):
        found = law.table(first, last, 96)
        assert len(found) == last - first + 1
        for k, (low, high) in enumerate(found, start=first):
            exact = law.cumulative_bounds(k, bits=130) * (1 << 96)
            assert low <= exact.lower
            assert exact.upper <= high
            assert high - low <= 2


@pytest.mark.parametrize(
    ("v", "size"),
    [(Fraction(300**2), 2), (Fraction(8400**2 * 3 + 1, 3), 64), (Fraction(10**18), 1 << 22)],
)
def test_block_table_encloses_the_cumulatives(v, size):
    law = BlockedGaussian(v, size)
    for first, last in ((-30, 20), (90, 120), (-1, -1), (0, 0), (-1300, -1290)):
        plain, fast = Law.table(law, first, last, 96), law.table(first, last, 96)
        for (low, high), (least, most) in zip(plain, fast, strict=True):
            assert least <= high
            assert low <= most
            assert most - least <= 2


def test_huge_scales_keep_their_digits():
    law = BlockedGaussian(Fraction(10**400, 3), 1 << 656)
    assert all(high - low <= 2 for low, high in law.table(-50, 50, 96))


def test_block_masses_are_sums_of_masses():
    law, whole = BlockedGaussian(Fraction(50), 4), DiscreteGaussian(Fraction(50))
    for q in range(-6, 6):
        inside = [whole.mass_bounds(4 * q + r) for r in range(4)]
        assert overlap(law.mass_bounds(q), sum(inside, Interval.of(0)))
    with pytest.raises(UnsupportedError):
        law.mean_bounds()
    with pytest.raises(UnsupportedError):
        law.variance_bounds()


# Decisions of the samplers.


def test_direct_sampler_answers_by_the_thresholds():
    """A word just above a threshold counts its value, one just below does not, a tie asks on."""
    v = Fraction(9)
    table, sampler = inversion(DiscreteGaussian(v)), gaussian(v)
    assert isinstance(sampler, TableSampler)
    for k in (-20, -3, 0, 4, 25):
        threshold = table.thresholds[k - table.first]
        assert sampler.one(ReplayedSource([threshold - 1])) <= k
        assert sampler.one(ReplayedSource([threshold + 1])) == k + 1
        more = floor_of(table.law.cumulative_bounds(k, bits=260), 128) % (1 << 64)
        assert sampler.one(ReplayedSource([threshold, more - 1])) == k
        assert sampler.one(ReplayedSource([threshold, more + 1])) == k + 1


@pytest.mark.parametrize("gap", [Fraction(1, 10**9), Fraction(1, 3), Fraction(22, 7)])
def test_a_near_tie_reveals_more_bits_of_the_same_real(gap):
    digits = floor_of(exp(-gap, 300), 192)
    first, second, third = digits >> 128, (digits >> 64) % (1 << 64), digits % (1 << 64)
    assert is_kept(gap, first - 1, 64, ReplayedSource([]))
    assert not is_kept(gap, first + 1, 64, ReplayedSource([]))
    assert is_kept(gap, first, 64, ReplayedSource([second - 1]))
    assert not is_kept(gap, first, 64, ReplayedSource([second + 1]))
    assert is_kept(gap, first, 64, ReplayedSource([second, third - 1]))
    assert not is_kept(gap, first, 64, ReplayedSource([second, third + 1]))


def test_the_nearest_end_is_always_kept():
    assert is_kept(Fraction(0), (1 << 64) - 1, 64, ReplayedSource([]))


@given(
    shift=st.integers(1, 24),
    scale=st.fractions(1, 4),
    block=st.integers(-4095, 4095),
    part=st.fractions(0, 1),
)
def test_squeeze_bounds_are_bounds(shift, scale, block, part):
    """low <= 2^31 exp(-g) <= high for all blocks and places, up to the largest that fit."""
    v = scale * (1 << (2 * shift + 14))
    size = 1 << shift
    nearest = block * size if block >= 0 else (-block - 1) * size + 1
    away = min(int(part * size), size - 1)
    low, high = Squeeze(v, shift).bounds(np.array([nearest]), np.array([away]))
    exact = exp(-away * (2 * nearest + away) / (2 * v), 80) * (1 << 31)
    assert int(low[0]) <= exact.lower
    assert exact.upper <= int(high[0])
    gap = float(away * (2 * nearest + away) / (2 * v))
    assert int(high[0]) - int(low[0]) <= 8 + gap**3 / 6 * 2**31


def model(sampler, block, source):
    """What the sampler should do after the block is drawn, in plain fractions."""
    width = 16 if sampler.shift <= 16 else 32 if sampler.shift <= 32 else 64
    while True:
        away = source.bits(width) >> (width - sampler.shift)
        u = source.bits(16)
        x0 = block * sampler.size if block >= 0 else block * sampler.size + sampler.size - 1
        x = x0 + away if block >= 0 else x0 - away
        gap = Fraction(x * x - x0 * x0) / (2 * sampler.sigma_squared)
        least = Fraction((sampler.size - 1) * (2 * abs(x0) + sampler.size - 1))
        cell = exp(-least / (2 * sampler.sigma_squared), 60)
        if u + 1 <= cell.lower * (1 << 16):
            return x
        u = (u << 48) | (source.bits(64) >> 16)
        if (u + 1) <= exp(-gap, 120).lower * (1 << 64):
            return x
        assert u >= exp(-gap, 120).upper * (1 << 64)


@pytest.mark.parametrize("sigma", [257, 8400, 10**6, 10**9, 10**13])
def test_blocks_keep_and_reject_as_fractions_say(sigma):
    """Single draws on words that lie near exp(-g), against the model, word for word."""
    sampler = gaussian(Fraction(sigma * sigma))
    assert isinstance(sampler, Blocks)
    words = np.random.default_rng(sigma)
    width = 16 if sampler.shift <= 16 else 32 if sampler.shift <= 32 else 64
    rejected = 0
    for _ in range(150):
        cell = int(words.integers(100, (1 << 16) - 100))
        tail = [int(words.integers(1 << 62))]
        top = [cell] if sampler.top.answers[cell] != sampler.top.marked else [cell, *tail]
        block = int(sampler.top.chunk(1, ReplayedSource(top))[0])
        rest = []
        for _ in range(12):
            away = int(words.integers(1 << sampler.shift))
            gap = sampler.gap(block, away)
            near = floor_of(exp(-gap, 200), 64) if gap else (1 << 64) - 1
            u = min(max(near + int(words.choice([-(2**40), -(2**20), -1, 1, 2**20])), 0), 2**64 - 1)
            rest += [away << (width - sampler.shift), u >> 48]
            if u >> 48 >= sampler.sure[block - sampler.first]:
                rest += [(u % (1 << 48)) << 16]
        one, expected = ReplayedSource(top + rest), ReplayedSource(rest)
        found = sampler.chunk(1, one)[0]
        assert found == model(sampler, block, expected)
        assert one.served == len(top) + expected.served
        assert found >> sampler.shift == block
        rejected += expected.served > 4
    assert rejected > 20


def plain_cell(sampler):
    """A cell of the guide, far above zero, that no threshold falls into."""
    return next(c for c in range(64000, 65000) if sampler.top.answers[c] != sampler.top.marked)


def test_a_rejected_place_is_redrawn_in_the_same_block():
    sampler = gaussian(Fraction(8400**2))
    cell = plain_cell(sampler)
    block = int(sampler.top.chunk(1, ReplayedSource([cell]))[0])
    far = (sampler.size - 1) << (16 - sampler.shift)
    words = [cell, far, 0xFFFF, 0xFFFF << 48, far, 0xFFFF, 0xFFFF << 48, 5 << 10, 0]
    source = ReplayedSource(words)
    assert int(sampler.chunk(1, source)[0]) == block * sampler.size + 5
    assert source.served == len(words)
    source = ReplayedSource([cell << 48, sampler.size - 1, (1 << 64) - 1, 5, 0])
    assert sampler.one(source) == block * sampler.size + 5
    assert source.served == 5


def test_a_scalar_near_tie_asks_for_more_bits():
    sampler = gaussian(Fraction(8400**2))
    cell = plain_cell(sampler)
    block = int(sampler.top.one(ReplayedSource([cell << 48])))
    gap = sampler.gap(block, 63)
    digits = floor_of(exp(-gap, 300), 128)
    tie, more = digits >> 64, digits % (1 << 64)
    assert sampler.one(ReplayedSource([cell << 48, 63, tie, more - 1])) % 64 == 63
    assert sampler.one(ReplayedSource([cell << 48, 63, tie, more + 1, 7, 0])) % 64 == 7
    words = [cell, 63 << 10, tie >> 48, (tie << 16) % (1 << 64)]
    assert sampler.chunk(1, ReplayedSource([*words, more - 1]))[0] % 64 == 63
    assert sampler.chunk(1, ReplayedSource([*words, more + 1, 7 << 10, 0]))[0] % 64 == 7


def test_the_sure_part_is_below_every_keeping_probability():
    sampler = gaussian(Fraction(300**2))
    for index in (0, 5, len(sampler.sure) // 2, len(sampler.sure) - 1):
        block = sampler.first + index
        for away in range(sampler.size):
            assert (
                Fraction(sampler.sure[index], 1 << 16) <= exp(-sampler.gap(block, away), 64).lower
            )


def test_blocks_beyond_the_table_are_decided_exactly():
    """A block from a tie has no sure part; it is still decided, by certified bounds."""
    sampler = gaussian(Fraction(8400**2))
    found = sampler._sure_of(np.array([0, sampler.first - 1, 10**6]))
    assert found[0] > 0
    assert found[1] == found[2] == 0
    far = np.array([3 * 10**6])
    kept = sampler._decide(far, np.array([1]), np.array([0], dtype=np.uint16), ReplayedSource([0]))
    assert kept[0]


# Draws.


def chi_square_p(draws, law, cells):
    """P(chi-square at least this large): cells of similar size, from the exact cumulatives."""
    sigma = math.sqrt(law.sigma_squared)
    ends = sorted({round(sigma * norm.ppf(i / cells)) for i in range(1, cells)})
    below = [0.0, *(law.cumulative(k) for k in ends), 1.0]
    expected = np.diff(below) * len(draws)
    seen = np.bincount(np.searchsorted(ends, draws, side="left"), minlength=len(ends) + 1)
    return chi2.sf(((seen - expected) ** 2 / expected).sum(), len(expected) - 1)


@pytest.mark.statistical
@pytest.mark.parametrize("sigma", [Fraction(3, 4), 10, 100, 300, 8400, 10**9, 10**16])
def test_draws_have_the_law(sigma):
    """False alarm below 1e-9 each; a sigma 6 % off is missed far more rarely than that."""
    v = Fraction(sigma) ** 2
    draws = gaussian(v).many(100_000, system_source())
    assert chi_square_p(draws, DiscreteGaussian(v), 60) > 1e-9
    for wrong in (Fraction(94, 100), Fraction(106, 100)):
        assert chi_square_p(draws, DiscreteGaussian(v * wrong**2), 60) < 1e-9


@pytest.mark.statistical
def test_single_draws_have_the_law():
    """False alarm below 1e-9; a sigma 10 % off is rejected."""
    v = Fraction(8400**2)
    sampler = gaussian(v)
    draws = np.array([sampler.one(system_source()) for _ in range(30_000)])
    assert chi_square_p(draws, DiscreteGaussian(v), 40) > 1e-9
    assert chi_square_p(draws, DiscreteGaussian(v * Fraction(121, 100)), 40) < 1e-9


@pytest.mark.statistical
@pytest.mark.parametrize("batch", [True, False])
def test_coarse_blocks_have_the_law(batch):
    """Blocks as wide as sigma reject often, so a wrong redraw shows. False alarm below 1e-9."""
    v = Fraction(16**2)
    sampler = Blocks(v, 4)
    assert sampler.squeeze is None
    if batch:
        draws = sampler.many(40_000, system_source())
    else:
        draws = np.array([sampler.one(system_source()) for _ in range(40_000)])
    assert chi_square_p(draws, DiscreteGaussian(v), 64) > 1e-9


class Branching(Source):
    """Replays a list of choices, weighs the path, and notes where a new choice was needed."""

    def __init__(self, path):
        self.path, self.used, self.weight, self.width = path, 0, 1.0, None

    def bits(self, count):
        raise NotImplementedError

    def array(self, size, width):
        raise NotImplementedError

    def choose(self, weights):
        if self.used == len(self.path):
            self.width = len(weights)
            raise LookupError
        choice = self.path[self.used]
        self.used += 1
        self.weight *= weights[choice]
        return choice

    def below(self, n):
        return self.choose([1 / n] * n)

    def flip(self, p):
        return bool(self.choose([1 - float(p), float(p)]))

    def flip_exp(self, x):
        return bool(self.choose([-math.expm1(-x), math.exp(-x)]))


@pytest.mark.parametrize("v", [Fraction(1, 3), Fraction(2), Fraction(5)])
def test_the_reference_attempt_has_the_law(v):
    """Walk the tree of its choices: the weights of the values are proportional to the masses."""
    law, found, paths = DiscreteGaussian(v), {}, [()]
    while paths:
        path = paths.pop()
        source = Branching(path)
        try:
            value = gaussian_attempt(v, source)
        except LookupError:
            if len(path) < 12:
                paths += [(*path, choice) for choice in range(source.width)]
            continue
        found[value] = found.get(value, 0.0) + source.weight
    for k in range(-4, 5):
        assert math.isclose(found[k] / found[0], law.mass(k) / law.mass(0), rel_tol=1e-9)
    assert found[None] > 0


def test_scales_beyond_64_bits_are_drawn_as_python_integers():
    sampler = gaussian(Fraction(10**60))
    assert any(abs(sampler.one(system_source())) > 10**28 for _ in range(100))
    with pytest.raises(RangeError, match="Python integers"):
        sampler.many(50, system_source())


def test_no_draws_are_no_draws():
    for sigma in (3, 1000):
        sampler = gaussian(Fraction(sigma * sigma))
        assert sampler.many(0, system_source()).shape == (0,)
        assert sampler.chunk(0, system_source()).shape == (0,)


def test_falling_is_two_products_a_step():
    v = Fraction(50)
    values = islice(module.falling(v, 3, 2, (1 << 80, 1 << 80), 80), 9)
    for i, (low, high, _) in enumerate(values):
        x = 3 + 2 * i
        exact = exp(-Fraction(x * x - 9) / (2 * v), 90) * (1 << 80)
        assert low <= exact.lower
        assert exact.upper <= high
        assert high - low < 100
