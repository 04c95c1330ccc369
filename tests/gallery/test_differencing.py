"""The classroom attack: exact chances by enumeration, drawn attacks within stated limits."""

import math
from fractions import Fraction

import pytest

from discreet.gallery import differencing
from discreet.gallery.differencing import attacked, bound, guess, laplace, majority, notes_bound
from discreet.gallery.experiment import Effort
from discreet.mechanisms.laplace import Laplace


def ratio(epsilon):
    """A rational number within 1e-15 of e^epsilon."""
    return Fraction(math.exp(epsilon))


def clamped(a, count):
    """The law of a clamped geometric count of 30, for a rational a."""
    inner = [(1 - a) / (1 + a) * a ** abs(j - count) for j in range(31)]
    inner[0], inner[30] = a**count / (1 + a), a ** (30 - count) / (1 + a)
    assert sum(inner) == 1
    return inner


@pytest.mark.parametrize("epsilon", ["0.1", "0.5", "1", "3"])
@pytest.mark.parametrize(
    "prior", [Fraction(1, 2), Fraction(1, 5), Fraction(4, 5), Fraction(11, 20)]
)
def test_the_guess_by_enumerating_all_rules(epsilon, prior):
    """The best rule is a threshold, because the ratio only grows; all 32 of them are tried."""
    a = 1 / ratio(float(epsilon))
    failed, passed = clamped(a, 20), clamped(a, 19)
    best = max(
        prior * sum(failed[t:]) + (1 - prior) * sum(passed[:t]) for t in range(32)
    )  # fmt: skip
    assert guess(epsilon, float(prior)) == pytest.approx(float(best), rel=1e-12)
    q = 1 / (1 + a)
    assert best == max(prior, 1 - prior, q)


def test_the_bounds():
    for epsilon in ("0.1", "1", "3"):
        x = float(epsilon)
        assert bound(epsilon) == pytest.approx(math.exp(x) / (1 + math.exp(x)))
        assert guess(epsilon) == pytest.approx(bound(epsilon))
        assert laplace(x) < bound(epsilon) <= 0.5 + x / 4 < notes_bound(x)
    assert [round(bound(e), 4) for e in ("0.1", "1", "3")] == [0.525, 0.7311, 0.9526]


@pytest.mark.parametrize("epsilon", ["0.1", "1", "3"])
def test_laplace_noise_by_the_mechanism_on_a_grid(epsilon):
    """Answers nearer to 20 than to 19 speak for 20; the one in the middle for neither."""
    law = Laplace(epsilon=epsilon, sensitivity=1, grid="1/1024").noise_law
    right = law.cumulative(511) + law.mass(512) / 2
    assert laplace(float(epsilon)) == pytest.approx(right)


@pytest.mark.parametrize("times", [1, 2, 3, 4, 6])
def test_several_answers_by_all_ways_they_can_speak(times):
    q = ratio(0.3) / (1 + ratio(0.3))
    best = Fraction(0)
    for ways in range(2**times):
        right = ways.bit_count()
        best += max(q**right * (1 - q) ** (times - right),
                    (1 - q) ** right * q ** (times - right)) / 2  # fmt: skip
    assert majority(0.3, times) == pytest.approx(float(best), rel=1e-12)
    assert majority(0.3, times) <= bound(Fraction(3, 10) * times) + 1e-12


def test_many_answers():
    q = Fraction(math.exp(0.1)) / (1 + Fraction(math.exp(0.1)))
    chances = [math.comb(100, k) * q**k * (1 - q) ** (100 - k) for k in range(101)]
    assert majority(0.1, 100) == pytest.approx(float(sum(chances[51:]) + chances[50] / 2))
    assert majority(0.1, 1) == pytest.approx(bound("0.1"))


@pytest.mark.statistical
@pytest.mark.parametrize(("epsilon", "times"), [("0.1", 1), ("1", 1), ("3", 1), ("0.1", 11)])
def test_drawn_attacks(epsilon, times):
    """Hoeffding: 2 exp(-2 n d^2) < 2e-10 for n = 200,000 rounds and d = 0.0076."""
    share = attacked(epsilon, 100_000, times)
    assert 2 * math.exp(-2 * 200_000 * 0.0076**2) < 2e-10
    assert abs(share - majority(float(epsilon), times)) < 0.0076


def test_what_is_told():
    found = differencing.run(Effort(fast=True))
    assert found["right guesses without privacy"].ours == 1
    assert found["chance of a right guess at epsilon 0.1"].theirs == "at most 0.55"
    assert found["after 100 questions of epsilon 0.1"].ours == 0.691
    assert found["chance with Laplace noise at epsilon 1"].ours == 0.6967
    assert found["chance at epsilon 0.5 for who believed 80 % before"].ours == 0.8
    assert [figure.name for figure in found.figures] == [
        "differencing", "differencing-prior", "differencing-again",
    ]  # fmt: skip
