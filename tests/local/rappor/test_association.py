"""Two variables: the original's tolerances, errors that hold, a test that does not cry wolf."""

import itertools

import numpy as np
import pytest
from scipy import stats

import discreet as dp
from discreet.local.rappor import Candidates, Params
from discreet.local.rappor.association import OTHER, Variable, _random_word, associate
from discreet.local.rappor.simulate import instantaneous_rows, permanent_rows
from discreet.noise.source import KeyedSource

LIGHT = Params(k=8, h=2, m=4, p="0.2", q="0.8", f="0.2")


def reported(params, words, places, cohorts, *, told=None, other=False, source=None):
    blooms = words.bits[cohorts, places]
    kept = permanent_rows(blooms, params, source=source)
    rows = instantaneous_rows(kept, params, source=source)
    return Variable(params, told or words, rows, other)


def played(params, joint, number, generator=3):
    """Clients with values drawn from a joint law; the same in every run."""
    rng = np.random.default_rng(generator)
    joint = np.array(joint)
    cells = rng.choice(joint.size, size=number, p=joint.reshape(-1))
    cohorts = np.arange(number) % params.m
    words = [Candidates.of([f"{name}{i}" for i in range(size)], params)
             for name, size in zip("ab", joint.shape, strict=True)]  # fmt: skip
    places = np.unravel_index(cells, joint.shape)
    source = KeyedSource(generator.to_bytes(32, "big"))
    pair = [
        reported(params, w, p, cohorts, source=source) for w, p in zip(words, places, strict=True)
    ]
    return associate(*pair, cohorts)


def test_perfect_correlation_without_noise():
    clean = Params(k=8, h=2, m=4, p=0, q=1, f=0)
    found = played(clean, [[0.5, 0], [0, 0.5]], 2000)
    assert np.abs(found.shares - np.diag([0.5, 0.5])).max() < 0.06
    assert found["a0", "b1"] < 0.01
    assert found.p_value < 1e-12


def test_perfect_correlation_with_noise():
    """The original's tolerance is 0.15; that is over 7 standard errors here."""
    found = played(LIGHT, [[0.5, 0], [0, 0.5]], 5000)
    assert np.abs(found.shares - np.diag([0.5, 0.5])).max() < 0.15
    assert found.standard_errors.max() < 0.15 / 7
    assert found.p_value < 1e-12


def test_forbidden_cells_stay_small():
    """Zero cells of a three by three law: the original asks for less than 0.02."""
    joint = np.array([[0.3, 0.1, 0], [0.1, 0.2, 0.1], [0, 0.1, 0.1]])
    found = played(LIGHT, joint, 40_000)
    assert found.shares[joint == 0].max() < 0.02
    z = (found.shares - joint)[joint > 0] / found.standard_errors[joint > 0]
    assert np.abs(z).max() < 7


def test_independent_variables_are_not_called_dependent():
    """40 collections: p below 0.05 no more often than a binomial law allows, at 1e-10; and the
    scores of the shares have variance 1, within 7 standard errors or below.
    """
    joint = np.outer([0.5, 0.3, 0.2], [0.6, 0.4])
    found = [played(LIGHT, joint, 3000, turn) for turn in range(40)]
    assert {one.freedom for one in found} == {2}
    below = sum(one.p_value < 0.05 for one in found)
    assert stats.binom.sf(below - 1, 40, 0.05) > 1e-10
    z = np.array([(one.shares - joint) / one.standard_errors for one in found])
    assert abs(z.var() - 1) < 7 * np.sqrt(2 / z.size)


def test_words_that_are_no_candidates_go_to_other():
    """A third of the clients have an unknown word: "(other)" gets it, to 0.06.

    The hashes are fixed, and the standard errors are below 0.007.
    """
    params = Params(k=8, h=2, m=64, p="0.2", q="0.8", f="0.2")
    words = Candidates.of(["x", "y", "z"], params)
    told = Candidates.of(["x", "y"], params)
    number = 30_000
    cohorts = np.arange(number) % params.m
    places = np.arange(number) // params.m % 3
    source = KeyedSource(bytes(32))
    first = reported(params, words, places, cohorts, told=told, other=True, source=source)
    second = reported(params, words, places, cohorts, source=source)
    found = associate(first, second, cohorts)
    assert found.first == ("x", "y", OTHER)
    assert found.shares.sum() == pytest.approx(1)
    assert found[OTHER, "z"] == pytest.approx(1 / 3, abs=0.06)
    assert found["x", "x"] == pytest.approx(1 / 3, abs=0.06)


@pytest.mark.parametrize("h", [1, 2, 3])
def test_the_likelihood_of_a_random_word_by_enumeration(h):
    params = Params(k=4, h=h, m=1)
    ratios = np.array([[0.5, 2.0, 3.0, 0.1], [1.0, 1.0, 1.0, 1.0]])
    slow = np.zeros(2)
    for hashes in itertools.product(range(4), repeat=h):
        slow += ratios[:, sorted(set(hashes))].prod(axis=1) / 4**h
    assert _random_word(ratios, params) == pytest.approx(slow)


def test_what_is_refused():
    words = Candidates.of(["x", "y"], LIGHT)
    one = Variable(LIGHT, words, np.zeros((5, 8), bool))
    for cohorts in ([0, 1, 2, 3, 4], [0, 1, 2, 3, -1], [], [0.5] * 5, [[0]]):
        with pytest.raises(dp.ParameterError, match="cohorts"):
            associate(one, one, cohorts)
    with pytest.raises(dp.ParameterError, match="6 rows of 8 bits"):
        associate(one, one, [0] * 6)
    many = Candidates(tuple(map(str, range(20_000))), np.zeros((4, 20_000, 8), bool))
    big = Variable(LIGHT, many, np.zeros((5, 8), bool))
    with pytest.raises(dp.ParameterError, match="too many"):
        associate(big, big, [0] * 5)
