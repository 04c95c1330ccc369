"""One report of a number: its exact law, its guarantee, its mean and its variance, as fractions."""

import math
import pickle
from fractions import Fraction
from itertools import pairwise, permutations

import numpy as np
import pytest
from scipy.stats import chi2

import discreet as dp
from discreet.audit import verify
from discreet.errors import InputTypeError, ParameterError
from discreet.exact import exp
from discreet.local import mean
from discreet.local.mean import Mean, Shape, shape_for
from discreet.local.shuffle import shuffled
from discreet.mechanisms.response import RandomizedResponse

F = Fraction
METHODS = [
    ("duchi", "best"),
    ("piecewise", "published"),
    ("piecewise", "best"),
    ("hybrid", "published"),
    ("hybrid", "best"),
    ("best", "best"),
]


@pytest.fixture
def small(monkeypatch):
    """Grids of four steps and places of six bits, so that everything can be enumerated."""
    monkeypatch.setattr(mean, "COARSEST", 2)
    monkeypatch.setattr(mean, "FINEST", 2)
    monkeypatch.setattr(mean, "RESOLUTION", 6)


def laws(mechanism):
    return [mechanism.masses(place) for place in range((1 << mechanism._bits) + 1)]


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(("method", "window"), METHODS)
@pytest.mark.parametrize("epsilon", ["0.01", "0.7", 1, 3, 8])
def test_the_guarantee_by_enumeration(method, window, epsilon):
    """∀ reports y, ∀ places x, x':  P(y|x) <= e^ε P(y|x'); and some pair attains it to 2^-50."""
    mechanism = Mean((-1, 1), epsilon, method=method, window=window)
    columns = list(zip(*laws(mechanism), strict=True))
    worst = max(max(column) / min(column) for column in columns)
    assert worst <= exp(mechanism.epsilon, 200).lower
    assert worst > exp(mechanism.epsilon * (1 - F(1, 1 << 50)), 200).upper


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(("method", "window"), METHODS)
@pytest.mark.parametrize("epsilon", ["0.7", 1, 4])
def test_the_code_has_the_law(method, window, epsilon):
    """Every outcome of the table, with every integer for the rounding, at every place."""
    mechanism = Mean((-1, 1), epsilon, method=method, window=window)
    weights, fine = mechanism.weights(), np.arange(64)
    assert sum(weights) == 1
    for place in range(65):
        found = [F(0)] * mechanism.outputs
        for outcome, weight in enumerate(weights):
            if weight == 0:
                continue
            full = np.full(64, outcome)
            for report in mechanism.moved(full, np.full(64, place), fine).tolist():
                found[report] += weight / 64
        assert found == mechanism.masses(place)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(("method", "window"), METHODS)
@pytest.mark.parametrize("epsilon", ["0.3", 1, 4])
def test_mean_and_variance_are_those_of_the_formulas(method, window, epsilon):
    mechanism = Mean((10, 30), epsilon, method=method, window=window)
    stands = [mechanism.stands_for(y) for y in range(mechanism.outputs)]
    variances = []
    for place, masses in enumerate(laws(mechanism)):
        true = 10 + F(20 * place, 64)
        assert sum(p * v for p, v in zip(masses, stands, strict=True)) == true
        square = sum(p * v * v for p, v in zip(masses, stands, strict=True))
        variances.append(square - true**2)
    assert max(variances) <= mechanism.worst_variance
    assert max(variances) >= mechanism.worst_variance * F(4, 5)  # a grid of four steps


@pytest.mark.parametrize(
    ("epsilon", "duchi", "piecewise", "hybrid"),
    [
        ("0.5", 16.7, 21.2, 16.7),
        (1, 4.68, 5.22, 4.29),
        (2, 1.72, 1.23, 1.04),
        (4, 1.08, 0.241, 0.219),
    ],
)
def test_the_published_variances(epsilon, duchi, piecewise, hybrid):
    """To one percent: the window is a whole number of grid points."""
    known = {"duchi": duchi, "piecewise": piecewise, "hybrid": hybrid}
    for method, value in known.items():
        shape = shape_for(F(epsilon), method, "published")
        assert float(shape.worst_variance) == pytest.approx(value, rel=0.01)


@pytest.mark.parametrize(("epsilon", "gain"), [(1, 0.996), (2, 0.95), (4, 0.72), (8, 0.36)])
def test_the_best_window_beats_the_published_one(epsilon, gain):
    best = shape_for(F(epsilon), "hybrid", "best").worst_variance
    assert best < gain * shape_for(F(epsilon), "hybrid", "published").worst_variance


@pytest.mark.parametrize("epsilon", ["0.2", 1, 3])
def test_no_window_is_better_than_the_best(epsilon):
    found = shape_for(F(epsilon), "piecewise", "best")
    costs = [
        Shape(found.ratio, found.steps, window, F(1)).worst_variance
        for window in range(1, 2 * found.steps)
    ]
    assert found.worst_variance == min(costs)
    dips = [b > a for a, b in pairwise(costs)]
    assert dips == sorted(dips)  # it falls, then it rises


@pytest.mark.parametrize("epsilon", ["1e-6", "0.2", "0.6", 1, 5, 30, 1000])
def test_best_is_never_worse_than_anything_else(epsilon):
    best = Mean((0, 1), epsilon)
    for method, window in METHODS:
        other = Mean((0, 1), epsilon, method=method, window=window)
        assert best.worst_variance <= other.worst_variance
    assert best.kind in best.why


def test_small_epsilons_get_the_two_reports_and_others_the_hybrid():
    assert Mean((0, 1), "0.5").kind == "duchi"
    assert Mean((0, 1), 1).kind == "hybrid"
    assert Mean((0, 1), 1, method="piecewise").kind == "piecewise"


@pytest.mark.parametrize("epsilon", ["0.1", 1, 6])
@pytest.mark.parametrize(("method", "window"), METHODS)
def test_the_audit_agrees(method, window, epsilon):
    verdict = verify(Mean((-2, 5), epsilon, method=method, window=window))
    assert verdict.proven
    assert verdict.tight


@pytest.mark.statistical
@pytest.mark.parametrize("method", ["duchi", "piecewise", "hybrid"])
def test_many_draws_have_the_law(method):
    """Chi-square of 300,000 reports; false alarm below 1e-10; at a neighbour's value it is seen."""
    mechanism = Mean((0, 1), 2, method=method)
    counts = np.bincount(mechanism.reports(np.full(300_000, 0.3)), minlength=mechanism.outputs)

    def surprise(value):
        place = int(mechanism.places(np.array([value]))[0])
        expected = np.array([float(p) for p in mechanism.masses(place)]) * 300_000
        return chi2.sf(((counts - expected) ** 2 / expected).sum(), mechanism.outputs - 1)

    assert surprise(0.3) > 1e-10
    assert surprise(0.4) < 1e-10


def test_two_reports_are_randomized_response():
    mechanism = Mean((0, 1), "0.5")
    assert isinstance(mechanism.coins, RandomizedResponse)
    assert mechanism.coins.epsilon <= mechanism.epsilon + F(1, 1 << 59)
    p = mechanism.coins.kernel[1][1]
    assert mechanism.masses(1 << 32) == [1 - p, p]
    assert Mean((0, 1), 2).coins is None
    assert "binary" in shuffled(mechanism, n=1000, delta="1e-5").why
    assert "Theorem 2" not in shuffled(Mean((0, 1), 2), n=1000, delta="1e-5").why


def test_values_outside_move_to_the_bounds():
    mechanism = Mean((10, 20), 1)
    assert mechanism.places(np.array([-5, 10, 15, 20, 1e300])).tolist() == [
        0,
        0,
        1 << 31,
        1 << 32,
        1 << 32,
    ]
    assert mechanism.law(15).mass(0) > 0


@pytest.mark.parametrize(
    "value", [math.nan, math.inf, -math.inf, "4711", None, True, [4711], 4711 + 2j, 10**400]
)
def test_what_is_no_finite_number_is_refused_without_being_quoted(value):
    with pytest.raises(InputTypeError) as refusal:
        Mean((0, 1), 1).report(value)
    assert "4711" not in str(refusal.value)


def test_an_array_of_anything_else_is_refused():
    for values in (np.array(["4711"]), np.array([1.0, math.nan]), np.array([True])):
        with pytest.raises(InputTypeError) as refusal:
            Mean((0, 1), 1).reports(values)
        assert "4711" not in str(refusal.value)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"bounds": (1, 1)}, "lower and a higher"),
        ({"bounds": (2, 1)}, "lower and a higher"),
        ({"bounds": (0,)}, "two numbers"),
        ({"bounds": "01"}, "two numbers"),
        ({"bounds": (0, math.nan)}, "finite"),
        ({"bounds": (0, math.inf)}, "finite"),
        ({"bounds": (1, "1.00000000000000000001")}, "different floating"),
        ({"bounds": (0, 10**399)}, "different floating"),
        ({"bounds": (-1e308, 1e308)}, "a difference that is one"),  # places would be NaN
        ({"epsilon": 0}, "above 0"),
        ({"epsilon": -1}, "above 0"),
        ({"epsilon": math.nan}, "finite"),
        ({"epsilon": 10**6}, "at most 1000"),
        ({"method": "laplace"}, "must be 'best'"),
        ({"window": 3}, "must be 'best'"),
    ],
)
def test_bad_parameters_are_refused(arguments, words):
    with pytest.raises(ParameterError, match=words):
        Mean(**{"bounds": (0, 1), "epsilon": 1, **arguments})


def test_it_is_a_frozen_value():
    one = Mean((0, "1/3"), 1, method="hybrid", window="published")
    assert eval(repr(one)) == one == pickle.loads(pickle.dumps(one))
    assert hash(one) == hash(eval(repr(one)))
    assert len({Mean((0, 1), 1), Mean((0, 1), 1), Mean((0, 1), 2), Mean((0, 2), 1)}) == 3
    assert one.guarantee == dp.PureDP(1, "replace")
    assert [len(list(permutations(pair))) for pair in one.small_neighbours()] == [2, 2, 2]
    assert dp.local.Mean is Mean
