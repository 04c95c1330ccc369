"""The game: its optimum against enumeration, its bound against a search, its play against both."""

import json
import math
import re
from fractions import Fraction

import numpy as np
import pytest

import discreet as dp
from discreet.gallery import game
from discreet.gallery.experiment import Effort
from discreet.gallery.game import Game, best_odds, optimum, told_odds

HALF = Fraction(1, 2)
MECHANISMS = [
    (dp.Geometric(epsilon="0.5"), 20, 21),
    (dp.Geometric(epsilon="0.5", sensitivity=5), 0, 5),
    (dp.Geometric(epsilon=1, bounds=(0, 6)), 2, 3),
    (dp.Staircase(epsilon=2, sensitivity=5), 0, 5),
    (dp.RandomizedResponse(epsilon=1, categories=("a", "b", "c")), "a", "c"),
    (dp.RandomizedResponse(truth="1/2"), "yes", "no"),
]


def enumerated(mechanism, first, second, prior):
    """The sum of the larger chance over the answers, far beyond where anything is left."""
    one, other = mechanism.law(first), mechanism.law(second)
    answers = one.outcomes if hasattr(one, "outcomes") else range(first - 400, second + 401)
    return sum(max(prior * one.mass(x), (1 - prior) * other.mass(x)) for x in answers)


@pytest.mark.parametrize(("mechanism", "first", "second"), MECHANISMS)
@pytest.mark.parametrize("prior", ["1/2", "3/10", "19/20"])
def test_the_optimum_by_enumeration_is_within_the_bound(mechanism, first, second, prior):
    one = Game(mechanism, first, second, Fraction(prior))
    found = optimum(one)
    assert found == pytest.approx(enumerated(mechanism, first, second, float(Fraction(prior))))
    assert found <= best_odds(float(mechanism.epsilon), float(Fraction(prior))) + 1e-12


def test_the_discrete_gaussian_has_an_optimum_too():
    mechanism = dp.Gaussian(epsilon=1, delta="1e-6")
    assert optimum(Game(mechanism, 0, 1)) == pytest.approx(enumerated(mechanism, 0, 1, 0.5))


def test_the_bound_is_attained_by_counts_and_by_coins():
    for epsilon in ("0.1", "1", "3"):
        bound = math.exp(float(epsilon)) / (1 + math.exp(float(epsilon)))
        assert best_odds(float(epsilon)) == pytest.approx(bound)
        assert optimum(game.count_game(epsilon)) == pytest.approx(bound)
        assert optimum(game.coins_game(epsilon)) == pytest.approx(bound)
        assert bound <= told_odds(float(epsilon))
    assert told_odds(0.1) == 0.55
    assert told_odds(1) == told_odds(2) == 1


def test_the_bound_is_the_largest_over_all_private_tests():
    """Try all pairs (P(A), Q(A)) of a fine grid that privacy allows."""
    for epsilon in (0.5, 2.0):
        grid = np.linspace(0, 1, 801)
        p, q = np.meshgrid(grid, grid)
        factor = math.exp(epsilon)
        kept = (p <= factor * q) & (q <= factor * p)
        kept &= (1 - q <= factor * (1 - p)) & (1 - p <= factor * (1 - q))
        for prior in (0.5, 0.3, 0.9):
            most = np.max((prior * p + (1 - prior) * (1 - q))[kept])
            bound = best_odds(epsilon, prior)
            assert bound - 0.005 < most <= bound + 1e-12


def test_fine_laplace_noise_is_that_of_real_numbers():
    for epsilon in ("0.5", "1", "4"):
        real = 1 - math.exp(-float(epsilon) / 2) / 2
        assert optimum(game.fine_game(epsilon)) == pytest.approx(real, abs=0.01)
    assert round(optimum(game.fine_game("1")), 4) == 0.6967


@pytest.mark.parametrize("prior", ["1/2", "1/5"])
def test_playing_is_as_good_as_the_optimum(prior):
    """False alarm below 1e-9 each: six and a half standard deviations of 20,000 rounds."""
    for mechanism, first, second in (MECHANISMS[0], MECHANISMS[4]):
        one = Game(mechanism, first, second, Fraction(prior))
        rate = one.win_rate(20_000, one.by_likelihood)
        assert abs(rate - optimum(one)) < 6.5 * 0.5 / math.sqrt(20_000)


def test_who_ignores_the_answer_wins_as_the_coin_falls():
    """False alarm below 1e-9."""
    one = Game(dp.Geometric(epsilon=3), 20, 21, Fraction(1, 5))
    was, seen, guessed = one.play(140_000, lambda _: True)  # more than one chunk of coins
    assert guessed.all()
    assert len(was) == len(seen) == 140_000
    assert abs(was.mean() - 0.2) < 6.5 * 0.4 / math.sqrt(140_000)


def test_no_strategy_beats_the_likelihood():
    one = Game(dp.Geometric(epsilon=1, bounds=(0, 3)), 1, 2, HALF)
    laws = [one.mechanism.law(value) for value in (1, 2)]
    rates = []
    for guesses in range(16):
        right = [laws[0].mass(k) if guesses >> k & 1 else laws[1].mass(k) for k in range(4)]
        rates.append(sum(right) / 2)
    assert max(rates) == pytest.approx(optimum(one))
    best = sum(1 << k for k in range(4) if one.by_likelihood(k))
    assert rates[best] == max(rates)


def test_the_professor():
    with_her, without, hers = game.professor()
    others = [round(x / 1000) for x in dp_salaries()]
    average = Fraction(sum(others), 99)
    assert (with_her, without) == (
        sum(others) + round(average * 3 / 2),
        sum(others) + round(average),
    )
    assert hers == average * 3 / 2
    assert all(40 <= x <= 400 for x in others)
    for total in (with_her, without):
        law = game.salary_sum().law(total)
        near = [k for k in range(5000, 14_000) if abs(Fraction(k * 3, 200) - hers) <= 10]
        assert game.chance_near(total, 10) == pytest.approx(
            law.cumulative(near[-1]) - law.cumulative(near[0] - 1)
        )
    ratio = game.chance_near(with_her, 10) / game.chance_near(without, 10)
    assert math.exp(-1) < ratio < math.exp(1)  # as privacy promises, and in fact far nearer to 1


def test_the_figure_shows_both_peaks_of_the_professor_at_full_height():
    drawn = json.dumps(game._professor().chart.to_dict())
    peaks = {
        name: max(map(float, re.findall(f'"who": "{name}", "chance": ([0-9.e-]+)', drawn)))
        for name in ("after, and she is in the data", "after, and she is not")
    }
    expected = game.salary_sum().law(0).mass(0) * 100 / 1.5
    assert list(peaks.values()) == pytest.approx([expected, expected])


def dp_salaries():
    from discreet.gallery import data

    return data.salaries(99)


def test_what_is_told():
    found = game.run(Effort(fast=True))
    facts = {fact.name: (fact.ours, fact.theirs) for fact in found}
    assert facts["best chance at epsilon 0.1"] == (0.525, 0.55)
    assert facts["best chance at epsilon 1"] == (0.7311, 1)
    assert found["count, epsilon 1: optimum"].ours == 0.7311
    assert found["count, epsilon 1: optimum if 9 in 10 are the first"].ours == 0.9
    assert found["is the professor in the data? Optimum"].ours == 0.532
    near = [fact.ours for fact in found if fact.name.startswith("within")]
    assert near == [5.6, 84.2, 84.3]
    assert all(note.startswith(f"Round {i + 1}: ") for i, note in enumerate(found.notes[:4]))
    for note in found.notes[:4]:
        chosen, guessed = note.split("chose ")[1][:2], note.split("guessed ")[1][:2]
        assert note.endswith(": right." if chosen == guessed else ": wrong.")
    names = [figure.name for figure in found.figures]
    assert names == ["game", "game-answers", "game-professor"]


def test_laws_of_two_kinds_are_no_game():
    class Odd:
        def law(self, value):
            return (dp.Geometric(epsilon=1) if value else dp.RandomizedResponse(epsilon=1)).law(
                value or "yes"
            )

    with pytest.raises(TypeError, match="same kind"):
        optimum(Game(Odd(), 0, 1))
