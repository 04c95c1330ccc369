"""Many draws at once have the law of the scalar reference.

Statistical tests here reject a true law with probability below 1e-10 each, a dozen in all.
"""

import math
from collections import Counter
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import chi2

from discreet.noise import bulk
from discreet.noise.categorical import Bernoulli
from discreet.noise.source import ReplayedSource, system_source
from discreet.noise.table import Inversion


def chi_square_p(seen, masses, total):
    statistic = sum((seen.get(key, 0) - total * m) ** 2 / (total * m) for key, m in masses.items())
    assert set(seen) <= set(masses)
    return float(chi2.sf(statistic, len(masses) - 1))


@pytest.mark.statistical
@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 37, 1000])
def test_uniforms_are_uniform(n):
    drawn = bulk.uniforms(n, 100_000, system_source())
    assert drawn.dtype == np.int64
    seen = Counter(drawn.tolist())
    assert set(seen) <= set(range(n))
    if n > 1:
        assert chi_square_p(seen, dict.fromkeys(range(n), 1 / n), 100_000) > 1e-10
        skewed = {i: (2 if i == 0 else 1) / (n + 1) for i in range(n)}
        assert n > 100 or chi_square_p(seen, skewed, 100_000) < 1e-10


def test_uniforms_draw_again_what_is_not_below():
    """Only the words that are not below n are replaced: each value keeps its own weight."""
    found = bulk.uniforms(3, 4, ReplayedSource([3, 1, 3, 2, 3, 0, 2]))
    assert found.tolist() == [2, 1, 0, 2]
    assert bulk.uniforms(1 << 63, 3, system_source()).min() >= 0
    for n in (0, (1 << 63) + 1):
        with pytest.raises(ValueError, match="needs 1 <= n"):
            bulk.uniforms(n, 1, system_source())


@pytest.mark.parametrize("p", [Fraction(1, 3), Fraction(5, 8), Fraction(1, 4), Fraction(9, 11)])
def test_coin_words_compare_digit_by_digit(p, monkeypatch):
    """All 2^3 patterns of three digits, one per lane: decided as U < p, or left to the coin."""
    monkeypatch.setattr(bulk, "DEPTH", 3)
    scaled = p * 8
    digits, rest = scaled.numerator // scaled.denominator, scaled % 1
    depth = 3
    while rest == 0 and digits % 2 == 0:
        digits, depth = digits // 2, depth - 1
    reals = [lane % (1 << depth) for lane in range(64)]  # the first digits of each lane's U
    rows = [
        sum((1 - (real >> place & 1)) << lane for lane, real in enumerate(reals))
        for place in range(depth)
    ]
    for coins in (0, 1):
        ties = sum(real == digits for real in reals) if rest else 0
        tail = [word for _ in range(ties) for word in coin_answers(rest, coins)]
        (word,) = bulk.coin_words(
            p, 1, ReplayedSource(rows + sorted(tail, key=lambda w: w > 65535))
        )
        for lane, real in enumerate(reals):
            expected = real < digits or (rest > 0 and real == digits and coins == 1)
            assert (int(word) >> lane & 1) == expected, (lane, real)


def coin_answers(rest, wanted):
    """A 16-bit cell for which the coin of probability `rest` gives the wanted answer."""
    if not rest:
        return []
    table = Inversion(Bernoulli(rest))
    return [int(np.flatnonzero(table.answers == wanted)[0])]


@pytest.mark.statistical
@pytest.mark.parametrize(
    "p", [Fraction(1, 2), Fraction(1, 4), Fraction(1, 3), Fraction(1, 100_000), Fraction(999, 1000)]
)
def test_coin_words_have_their_probability(p):
    words = bulk.coin_words(p, 20_000, system_source())
    ones, total = int(bulk.ones(words).sum(dtype=np.int64)), 64 * 20_000
    deviation = abs(ones - total * p) / math.sqrt(total * p * (1 - p))
    assert deviation < 6.9  # two-sided normal tail below 1e-11
    lanes = np.unpackbits(words.view(np.uint8), bitorder="little").reshape(-1, 64).sum(axis=0)
    spread = ((lanes - 20_000 * float(p)) ** 2).sum() / (20_000 * float(p * (1 - p)))
    assert chi2.sf(spread, 64) > 1e-11 or p < Fraction(1, 1000)


def test_coins_of_no_chance_are_refused():
    for p in (0, 1):
        with pytest.raises(ValueError, match="strictly between"):
            bulk.coin_words(Fraction(p), 1, system_source())


@pytest.mark.statistical
@pytest.mark.parametrize(("k", "size", "avoid"), [(5, 2, 0), (5, 2, 4), (6, 4, 3), (7, 1, 2)])
def test_subsets_are_uniform_and_avoid(k, size, avoid):
    n = 30_000
    rows = bulk.subsets(k, np.full(n, size), np.full(n, avoid), system_source())
    seen = Counter(tuple(j for j in range(k) if int(row) >> j & 1) for row in rows[:, 0])
    others = [j for j in range(k) if j != avoid]
    fair = dict.fromkeys(combinations(others, size), 1 / math.comb(k - 1, size))
    assert chi_square_p(seen, fair, n) > 1e-10


def test_subsets_have_their_sizes():
    """Mixed sizes in one call, from none to all but one, over several words."""
    k = 130
    sizes = np.arange(k, dtype=np.int64)
    avoid = np.arange(k, dtype=np.int64)[::-1].copy()
    rows = bulk.subsets(k, sizes, avoid, system_source())
    assert bulk.ones(rows).sum(axis=1).tolist() == sizes.tolist()
    for row, hole in zip(rows, avoid, strict=True):
        assert not int(row[hole >> 6]) >> (int(hole) & 63) & 1
        assert not np.any(row & ~bulk.padding(k))
    assert bulk.subsets(9, sizes[:0], avoid[:0], system_source()).shape == (0, 1)


def test_ones_without_numpy_2(monkeypatch):
    words = np.array([[0, 1], [(1 << 64) - 1, 0x8001]], dtype=np.uint64)
    assert bulk.ones(words).tolist() == [[0, 1], [64, 2]]
    monkeypatch.delattr(np, "bitwise_count", raising=False)
    assert bulk.ones(words).tolist() == [[0, 1], [64, 2]]
