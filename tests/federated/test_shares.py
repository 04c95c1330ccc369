"""What shares of noise promise, by certified computation, whoever is missing."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.noise.test_sampler import goodness

import discreet as dp
from discreet.audit.exact import verify
from discreet.exact import Interval, log
from discreet.federated import Shares
from discreet.noise.clamped import Shifted
from discreet.noise.geometric import TwoSidedGeometric
from discreet.noise.polya import PolyaDifference
from discreet.noise.source import ReplayedSource


def within(interval, low, high):
    return Fraction(low) < interval.lower <= interval.upper < Fraction(high)


@pytest.mark.parametrize(
    ("nodes", "present", "low", "high"),
    [(10, 9, "1.0985", "1.0995"), (100, 90, "1.0985", "1.0995"),
     (10, 5, "1.6745", "1.6755"), (2, 1, "1.6745", "1.6755")],
)  # fmt: skip
def test_the_figures_for_missing_nodes(nodes, present, low, high):
    """Epsilon 1 becomes 1.099 with a tenth gone and 1.675 with half, by certified bounds."""
    shares = Shares(epsilon=1, nodes=nodes)
    assert within(shares.loss_bounds(present), low, high)
    assert shares.guarantee_with(present) == dp.PureDP(shares.loss_bounds(present).upper)
    kept = Shares(epsilon=1, nodes=nodes, missing=nodes - present)
    assert kept.guarantee_with(present) == dp.PureDP(1)


def largest(law, move, reach):
    """The largest loss over all outputs within reach, both ways, as a certified interval."""
    found = Interval.of(0)
    for k in range(-reach, reach + 1):
        p, q = law.mass_bounds(k, bits=96), law.mass_bounds(k + move, bits=96)
        loss = log(p / q, 90)
        for way in (loss, -loss):
            if way.upper > found.upper:
                found = way
    return found


@pytest.mark.slow
@settings(max_examples=6, deadline=None)
@given(
    st.fractions("1/3", 3, max_denominator=6),
    st.integers(2, 6).flatmap(lambda n: st.tuples(st.just(n), st.integers(1, n - 1))),
    st.integers(1, 3),
)
def test_the_loss_is_attained_at_no_noise_and_nowhere_exceeded(epsilon, counts, sensitivity):
    """Theorem 2 against an enumeration of outputs; every smaller move loses less."""
    nodes, present = counts
    shares = Shares(epsilon=epsilon, nodes=nodes, sensitivity=sensitivity)
    law, claimed = shares.noise_law(present), shares.loss_bounds(present)
    assert claimed.lower > epsilon
    found = [largest(law, move, 8) for move in range(1, sensitivity + 1)]
    assert all(one.upper <= claimed.upper + Fraction(1, 1 << 50) for one in found)
    assert abs(found[-1].upper - claimed.upper) < Fraction(1, 1 << 50)


@pytest.mark.slow
@settings(max_examples=6, deadline=None)
@given(
    st.fractions("1/3", 3, max_denominator=6),
    st.integers(2, 6).flatmap(lambda n: st.tuples(st.just(n), st.integers(1, n - 1))),
    st.integers(1, 3),
    st.data(),
)
def test_larger_shares_keep_the_promise_whoever_is_missing(epsilon, counts, sensitivity, data):
    """Theorem 3 against an enumeration of outputs."""
    nodes, missing = counts
    present = data.draw(st.integers(nodes - missing, nodes))
    shares = Shares(epsilon=epsilon, nodes=nodes, missing=missing, sensitivity=sensitivity)
    assert shares.loss_bounds(present) == Interval.of(epsilon)
    law = shares.noise_law(present)
    found = [largest(law, move, 8) for move in range(1, sensitivity + 1)]
    assert all(one.upper <= epsilon + Fraction(1, 1 << 50) for one in found)


def test_all_there_is_the_central_mechanism():
    shares = Shares(epsilon="0.5", nodes=7, sensitivity=2)
    central = dp.Geometric(epsilon="0.5", sensitivity=2)
    assert shares.noise_law() == central.noise_law == TwoSidedGeometric(Fraction(1, 4))
    assert shares.error("0.9") == central.error("0.9")
    assert shares.variance() == central.variance
    assert shares.guarantee == central.guarantee

    class Total:
        guarantee = shares.guarantee

        def law(self, value):
            return Shifted(shares.noise_law(), value)

        def small_neighbours(self):
            return iter([(0, 1), (0, 2)])

    verdict = verify(Total())
    assert verdict.proven
    assert verdict.tight


def test_the_price_of_tolerance_is_variance():
    plain, safe = Shares(epsilon=1, nodes=10), Shares(epsilon=1, nodes=10, missing=5)
    assert math.isclose(safe.variance(), 2 * plain.variance())
    assert math.isclose(safe.variance(present=5), plain.variance())
    assert isinstance(safe.noise_law(), PolyaDifference)
    assert safe.error("0.95") >= plain.error("0.95")


def test_the_whole_move_of_a_person_counts():
    shares = Shares(epsilon=1, nodes=2, sensitivity=3)
    found = largest(shares.noise_law(1), 3, 6)
    assert abs(found.upper - shares.loss_bounds(1).upper) < Fraction(1, 1 << 50)


def test_several_numbers_lose_as_many_times():
    one = Shares(epsilon=1, nodes=4).loss_bounds(3)
    four = Shares(epsilon=4, nodes=4, changes=4).loss_bounds(3)
    assert abs(four.upper - 4 * one.upper) < Fraction(1, 10**12)


@pytest.mark.statistical
def test_drawn_totals_have_the_central_law():
    """False alarm below 1e-9; a missing half is rejected (missed below 1e-6)."""
    shares = Shares(epsilon="0.2", nodes=5)
    cells = np.arange(100_000) % 7
    given_ = [shares.share(cells) for _ in range(5)]
    noise = shares.total(given_) - 5 * cells
    assert goodness(noise, shares.noise_law()) > 1e-10
    assert goodness(shares.total(given_[:2]) - 2 * cells, shares.noise_law()) < 1e-10
    assert goodness(shares.total(given_[:2]) - 2 * cells, TwoSidedGeometric(Fraction(1, 5))) < 1e-10


def test_shapes_of_values():
    shares = Shares(epsilon=1, nodes=3)
    quiet = ReplayedSource([0] * 2)
    assert shares.share(5, source=quiet) == 5
    assert shares.total([[1, 2], [3, 4]]) == [4, 6]
    assert shares.total([1, 2, 3]) == 6
    assert len(shares.share([1, 2])) == 2
    with pytest.raises(dp.InputTypeError):
        shares.share(1.5)
    with pytest.raises(dp.InputTypeError, match="one length"):
        shares.total([[1], [1, 2]])
    with pytest.raises(dp.ParameterError):
        shares.total([])


@pytest.mark.parametrize(
    "wrong",
    [{"epsilon": 0}, {"epsilon": float("nan")}, {"nodes": 0}, {"missing": 3}, {"missing": -1},
     {"sensitivity": 0}, {"changes": 0}, {"neighbours": "maybe"}, {"nodes": 2.5}],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(wrong):
    with pytest.raises(dp.ParameterError):
        Shares(**{"epsilon": 1, "nodes": 3, **wrong})


@pytest.mark.parametrize("present", [0, 4, -1])
def test_how_many_are_there_is_checked(present):
    shares = Shares(epsilon=1, nodes=3)
    with pytest.raises(dp.ParameterError, match="present"):
        shares.guarantee_with(present)


def test_it_prints_what_to_write_and_can_be_charged():
    shares = Shares(epsilon="0.5", nodes=3, missing=1, changes=2)
    assert eval(repr(shares)) == shares
    budget = dp.Budget(epsilon=1)
    budget.charge(shares, shares)
    assert not budget.affords(shares)


@pytest.mark.parametrize("epsilon", ["1e-9", "1e-3", 60, 1000])
def test_the_smallest_and_the_largest_epsilon(epsilon):
    """Shares are drawn; the loss is told, or refused in words where it would take too long."""
    shares = Shares(epsilon=epsilon, nodes=3)
    assert isinstance(shares.share(3), int)
    assert shares.guarantee_with(3).epsilon == shares.epsilon
    if shares.rate < Fraction(1, 10_000):
        with pytest.raises(dp.UnsupportedError, match="missing="):
            shares.guarantee_with(1)
    elif epsilon == 1000:  # ln(n/present) more, which is above what can be promised at all
        assert shares.loss_bounds(1).lower > 1001
    else:
        assert shares.guarantee_with(1).epsilon > shares.epsilon
    if epsilon == 60:  # of one share of three: P(0)/P(1) is about 1/(a/3)
        assert abs(float(shares.loss_bounds(1).upper) - 60 - math.log(3)) < 1e-12


def test_totals_are_exact_or_refused():
    most = np.array([(1 << 63) - 1, 5])
    assert Shares.total([most, -most, np.array([1, 2])]).tolist() == [1, 2]
    with pytest.raises(dp.RangeError, match="64 bits"):
        Shares.total([most, most])
    assert Shares.total([[1 << 80], [1 << 80]]) == [1 << 81]
    for wrong in (
        None, 5, "ab", [1, [1]], [1.5, 2], ["a"], [[1.5]], [np.array([1]), np.array([1, 2])],
        [np.array([1.5])], [np.array([1]), 1],
    ):  # fmt: skip
        with pytest.raises(dp.InputTypeError):
            Shares.total(wrong)
