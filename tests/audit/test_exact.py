from fractions import Fraction

import pytest

import discreet as dp
from discreet.audit.exact import hockey_stick, pure_loss
from discreet.exact import Interval
from discreet.noise.geometric import Geometric
from discreet.noise.law import Outcomes


class Toy:
    """A mechanism given by its laws."""

    def __init__(self, laws, guarantee):
        self.laws, self.guarantee = laws, guarantee

    def law(self, value):
        return self.laws[value]

    def small_neighbours(self):
        yield from [(x, y) for x in self.laws for y in self.laws if repr(x) < repr(y)]


def finite(**masses):
    return Outcomes(
        list(masses), lambda _: [Interval.of(Fraction(mass)) for mass in masses.values()]
    )


def test_proven_refuted_and_the_witness():
    toy = Toy({0: finite(a="1/2", b="1/2"), 1: finite(a="1/4", b="3/4")}, dp.PureDP("0.7"))
    verdict = dp.audit.verify(toy)
    assert verdict.proven  # ln 2 = 0.693
    assert (verdict.witness.output, verdict.witness.first, verdict.witness.second) == ("a", 0, 1)
    verdict = dp.audit.verify(toy, guarantee=dp.PureDP("0.69"))
    assert verdict.refuted
    assert not verdict.proven
    assert "refuted" in str(verdict)
    assert "output 'a'" in str(verdict)


def test_disjoint_supports_are_an_infinite_loss_and_a_delta_of_one():
    """An output that is absent on one side counts in full (a fault that auditors have had)."""
    toy = Toy({0: finite(a=1), 1: finite(b=1)}, dp.PureDP(100))
    assert dp.audit.verify(toy).refuted
    assert hockey_stick(toy.law(0), toy.law(1), Fraction(1)) == Interval.of(1)
    assert dp.audit.verify(toy, guarantee=dp.ApproxDP(1, "0.999")).refuted


def test_publishing_everything_with_probability_delta():
    """(0, delta) in effect: at a tiny epsilon its delta is just below delta."""
    leak = Fraction(1, 1000)
    laws = {x: finite(**{f"it is {x}": leak, "nothing": 1 - leak}) for x in (0, 1)}
    verdict = dp.audit.verify(Toy(laws, dp.ApproxDP("1e-9", leak)))
    assert verdict.proven
    assert verdict.worst.lower == leak


def test_both_orders_are_compared():
    toy = Toy({0: finite(a="1/2", b="1/2"), 1: finite(a="9/10", b="1/10")}, dp.PureDP(1))
    assert dp.audit.verify(toy, pairs=[(0, 1)]).refuted
    assert dp.audit.verify(toy, pairs=[(1, 0)]).refuted


def test_what_cannot_be_compared_is_said():
    with pytest.raises(dp.UnsupportedError, match="nothing was compared"):
        dp.audit.verify(Toy({0: finite(a=1)}, dp.PureDP(1)))
    with pytest.raises(dp.UnsupportedError, match="neither finite nor periodic"):
        pure_loss(Geometric(Fraction(1)), Geometric(Fraction(2)))
    with pytest.raises(dp.UnsupportedError, match="different kinds"):
        pure_loss(Geometric(Fraction(1)), finite(a=1))


def test_a_guarantee_just_below_the_truth_is_refuted():
    """One part in 10^20 too small is found; one part in 10^20 too large is proven."""
    mechanism = dp.Geometric(epsilon=1, bounds=(0, 5))
    less, more = (dp.PureDP(1 + Fraction(sign, 10**20)) for sign in (-1, 1))
    assert dp.audit.verify(mechanism, guarantee=less).refuted
    assert dp.audit.verify(mechanism, guarantee=more).proven
