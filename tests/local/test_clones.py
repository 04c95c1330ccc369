"""The sums behind the shuffle: against plain sums of fractions, term by term."""

from fractions import Fraction
from math import comb

import pytest

from discreet.local.clones import Clones, binomial, hidden

F = Fraction


def pmf(n, p):
    return [comb(n, c) * p**c * (1 - p) ** (n - c) for c in range(n + 1)]


def plain(pair, e):
    """delta from its definition: a double sum over c and a, both directions."""
    alpha = pair.factor / (pair.factor + 1)
    forth = back = F(0)
    for c, weight in enumerate(pmf(pair.others, pair.chance)):
        b = [*pmf(c, F(1, 2)), F(0)]
        shifted = [F(0), *b[:-1]]
        for here, before in zip(b, shifted, strict=True):
            p, q = alpha * before + (1 - alpha) * here, (1 - alpha) * before + alpha * here
            forth += weight * max(p - e * q, F(0))
            back += weight * max(q - e * p, F(0))
    assert forth == back  # turning the coordinates round exchanges the two
    return pair.share * forth


PAIRS = [
    Clones(others, factor, chance, share)
    for others in (0, 1, 5, 40)
    for factor in (F(101, 100), F(3), F(50))
    for chance, share in ((1 / factor, F(1)), (F(1, 7), F(2, 3)))
]


@pytest.mark.parametrize("pair", PAIRS, ids=repr)
@pytest.mark.parametrize("e", [F(1), F(1001, 1000), F(3, 2), F(7), F(60)])
def test_the_sum_is_the_plain_sum(pair, e):
    """All the window is kept, so nothing but rounding is left: 2^-100 of it."""
    found, exact = hidden(pair, e, w=200, keep=200), plain(pair, e)
    assert found.lower <= exact <= found.upper
    assert found.width <= F(1, 1 << 100)


@pytest.mark.parametrize("pair", PAIRS[-6:], ids=repr)
@pytest.mark.parametrize(("w", "keep"), [(40, 20), (64, 30), (24, 12)])
def test_a_narrow_window_and_few_bits_are_still_bounds(pair, w, keep):
    for e in (F(1), F(11, 10), F(2)):
        found, exact = hidden(pair, e, w=w, keep=keep), plain(pair, e)
        assert found.lower <= exact <= found.upper


@pytest.mark.parametrize(("n", "p"), [(0, F(1, 2)), (1, F(1, 3)), (30, F(1, 2)), (60, F(9, 10))])
@pytest.mark.parametrize("keep", [3, 10, 90])
def test_binomial_weights_enclose_the_law(n, p, keep):
    w = 90
    weights, exact = binomial(n, p, w, keep), pmf(n, p)
    mode = max(exact)
    last = weights.first + len(weights.low)
    for c, low in enumerate(weights.low, start=weights.first):
        assert low <= exact[c] / mode * 2**w <= low + weights.slack
    rest = sum(exact[: weights.first]) + sum(exact[last:])
    assert rest / mode * 2**w <= weights.outside
    least, most = weights.total
    assert least <= 2**w / mode <= most
    if keep == 90:
        assert weights.outside <= 2**8


def test_a_degenerate_binomial_is_refused():
    for p in (F(0), F(1), F(3, 2)):
        with pytest.raises(ValueError, match="strictly between"):
            binomial(3, p, 40, 20)


@pytest.mark.parametrize("factor", [F(3, 2), F(3), F(9)])
@pytest.mark.parametrize("others", [3, 12, 40])
def test_every_rounding_goes_outward(factor, others):
    """So few bits that one rounding to the wrong side would show."""
    pair = Clones(others, factor, 1 / factor)
    for place in range(12):
        e = 1 + (factor - 1) * F(place, 12)
        exact = plain(pair, e)
        for w in (8, 10, 12, 14, 16):
            found = hidden(pair, e, w=w, keep=w)
            assert found.lower <= exact <= found.upper, w
