"""The coins' laws as fractions, by walking their own choices."""

from fractions import Fraction

import pytest

from discreet.audit.walk import walk
from discreet.exact import Interval, exp
from discreet.noise import coins
from discreet.noise.source import ReplayedSource


@pytest.mark.parametrize("n", [1, 2, 3, 5, 6, 7, 8, 11])
def test_below_is_uniform(n):
    """One attempt, walked completely; and `below` repeats it until it succeeds."""
    found = walk(lambda source: coins.below_attempt(n, source), atoms=())
    assert found.unresolved == 0
    for k in range(n):
        assert found.agrees_with(k, Interval.of(Fraction(1, n)))
    assert set(found.weights) == set(range(n))
    top = (1 << (n - 1).bit_length()) - 1
    script = [top] * (3 if top >= n else 0) + [n - 1]
    assert coins.below(n, ReplayedSource(script)) == n - 1


@pytest.mark.parametrize("p", [Fraction(0), Fraction(1, 3), Fraction(5, 7), Fraction(1)])
def test_bernoulli_has_its_probability(p):
    found = walk(lambda source: coins.bernoulli(p, source), atoms=("below",))
    assert found.unresolved == 0
    assert found.agrees_with(True, Interval.of(p))
    assert found.mass_bounds(True).width < Fraction(1, 1 << 180)


@pytest.mark.parametrize(
    "x", [Fraction(0), Fraction(1, 40), Fraction(1, 3), Fraction(1), Fraction(7, 4), Fraction(3)]
)
def test_bernoulli_exp_has_its_probability(x):
    found = walk(
        lambda source: coins.bernoulli_exp(x, source),
        atoms=("flip",),
        unresolved=Fraction(1, 10**15),
    )
    assert found.unresolved <= Fraction(1, 10**15)
    assert found.agrees_with(True, exp(-x, 128))


def test_many_rationals():
    """All x = p/q <= 2 with q <= 12, to 1e-12."""
    for q in range(1, 13):
        for p in range(2 * q + 1):
            x = Fraction(p, q)
            found = walk(lambda source, x=x: coins.bernoulli_exp(x, source), atoms=("flip",))
            assert found.agrees_with(True, exp(-x, 128)), x


def test_wrong_parity_would_be_seen():
    def planted(x, source):
        k = 1
        while source.flip(x / k):
            k += 1
        return k % 2 == 0

    found = walk(lambda source: planted(Fraction(1, 3), source), atoms=("flip",))
    assert not found.agrees_with(True, exp(Fraction(-1, 3), 128))


def test_biased_modulo_would_be_seen():
    found = walk(lambda source: source.bits(3) % 6, atoms=())
    assert not found.agrees_with(0, Interval.of(Fraction(1, 6)))


def test_nonsense_is_refused():
    source = ReplayedSource([])
    with pytest.raises(ValueError, match="at least one"):
        coins.below(0, source)
    with pytest.raises(ValueError, match="between 0 and 1"):
        coins.bernoulli(Fraction(3, 2), source)
    with pytest.raises(ValueError, match="x >= 0"):
        coins.bernoulli_exp(Fraction(-1), source)
