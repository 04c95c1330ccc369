from fractions import Fraction

import numpy as np
import pytest

import discreet as dp
from discreet.audit.exact import Witness, _verdict, hockey_stick, pure_loss
from discreet.exact import Interval
from discreet.noise.clamped import ClampedGeometric, Shifted
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.geometric import Geometric, TwoSidedGeometric
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
    with pytest.raises(dp.UnsupportedError, match="different kinds"):
        pure_loss(Geometric(Fraction(1)), finite(a=1))


@pytest.mark.parametrize("wrong", [5, dp.count, dp.Geometric, None])
def test_only_mechanisms_can_be_verified(wrong):
    with pytest.raises(dp.UnsupportedError, match="verify needs a mechanism"):
        dp.audit.verify(wrong)


def test_a_guarantee_is_no_number():
    with pytest.raises(dp.ParameterError, match=r"guarantee must be a dp\.PureDP"):
        dp.audit.verify(dp.Geometric(epsilon=1), guarantee=0.5)


def test_a_vector_says_that_one_number_was_compared():
    verdict = dp.audit.verify(dp.Geometric(epsilon=1, changes=1000))
    assert "one of 1,000 parts, with its share" in str(verdict)
    assert verdict.tight
    assert float(verdict.worst) == pytest.approx(0.001)


def test_a_guarantee_just_below_the_truth_is_refuted():
    """One part in 10^20 too small is found; one part in 10^20 too large is proven."""
    mechanism = dp.Geometric(epsilon=1, bounds=(0, 5))
    less, more = (dp.PureDP(1 + Fraction(sign, 10**20)) for sign in (-1, 1))
    assert dp.audit.verify(mechanism, guarantee=less).refuted
    assert dp.audit.verify(mechanism, guarantee=more).proven


def shifted(rate, at):
    return Shifted(TwoSidedGeometric(Fraction(rate)), at)


def test_a_scale_that_follows_the_data_is_never_proven():
    """Unbounded loss: refuted if it shows near the centres, undecided otherwise, never proven."""
    laws = {0: shifted(1, 0), 1: shifted("1/2", 1)}
    assert dp.audit.verify(Toy(laws, dp.PureDP(3))).refuted
    assert not dp.audit.verify(Toy(laws, dp.PureDP(900))).proven


def test_a_range_on_one_side_only_is_an_infinite_loss():
    laws = {0: ClampedGeometric(Fraction(1), 0, -30, 30), 1: shifted(1, 0)}
    assert dp.audit.verify(Toy(laws, dp.PureDP(900))).refuted


def test_long_inputs_are_not_mixed_up():
    """Arrays whose text is shortened look alike; their laws differ all the same."""

    class Leaky:
        guarantee = dp.PureDP(1)

        def law(self, value):
            return finite(a=1) if value[1500] else finite(b=1)

        def small_neighbours(self):
            changed = np.zeros(3000)
            changed[1500] = 1
            yield np.zeros(3000), changed

    assert dp.audit.verify(Leaky()).refuted


def test_what_is_no_law_is_said():
    half = Outcomes("a", lambda _: [Interval.of(Fraction(1, 2))])
    with pytest.raises(dp.UnsupportedError, match="do not add up to 1"):
        dp.audit.verify(Toy({0: half, 1: half}, dp.PureDP(1)))
    with pytest.raises(ValueError, match="must differ from each other"):
        Outcomes("abab", lambda _: [Interval.of(Fraction(1, 4))] * 4)


def test_the_slack_is_relative():
    """A promise of 1e-30 and a loss of 1e-25."""
    tilt = Fraction(1, 10**25)
    laws = {
        0: finite(a="1/2", b="1/2"),
        1: finite(a=Fraction(1, 2) + tilt / 4, b=Fraction(1, 2) - tilt / 4),
    }
    verdict = dp.audit.verify(Toy(laws, dp.PureDP("1e-30")))
    assert verdict.refuted
    assert not verdict.proven


def test_an_open_verdict_gets_no_more_than_its_share_of_slack():
    """Bounds that straddle a tiny promise by 2^-90: not refuted, and not proven either."""
    tiny = dp.PureDP("1e-30")
    straddling = Interval(tiny.epsilon, tiny.epsilon + Fraction(1, 1 << 90))
    verdict = _verdict("toy", tiny, straddling, Witness(None, 0, 1), 2)
    assert not verdict.refuted
    assert not verdict.proven


def test_masses_below_all_precision_are_undecided_not_a_crash():
    verdict = dp.audit.verify(dp.Geometric(epsilon=1000, bounds=(0, 100)), pairs=[(0, 1)])
    assert not verdict.refuted


def test_a_far_move_is_compared_at_the_ends():
    verdict = dp.audit.verify(dp.Geometric(epsilon=1, sensitivity=1 << 40))
    assert verdict.proven
    assert verdict.tight


def test_a_zero_concentrated_verdict_names_its_orders():
    assert "orders 5/4, 2, 4, 8, 16, 32" in str(dp.audit.verify(dp.Gaussian(rho="0.1")))


def test_more_outputs_than_can_be_listed_are_refused():
    with pytest.raises(dp.UnsupportedError, match="more than 1,000,000 outputs"):
        dp.audit.verify(dp.Staircase(epsilon=1, sensitivity=10**7))


@pytest.mark.parametrize(
    ("mechanism", "less"),
    [
        (dp.Geometric(epsilon=1, changes=10), dp.PureDP("9/10")),
        (dp.Gaussian(rho=1, changes=4), dp.ZCDP("9/10")),
        (
            dp.SelectKeys(epsilon=1, delta="1e-3", max_keys=4, neighbours="replace"),
            dp.ApproxDP(1, "9e-4", "replace"),
        ),
    ],
)
def test_parts_are_compared_with_their_share(mechanism, less):
    """A promise a little too small is refuted, however many parts it is spread over."""
    assert dp.audit.verify(mechanism).proven
    assert dp.audit.verify(mechanism, guarantee=less).refuted


def test_a_delta_of_several_numbers_is_not_audited_by_one():
    with pytest.raises(dp.UnsupportedError, match="delta of several together"):
        dp.audit.verify(dp.Gaussian(epsilon=1, delta="1e-6", changes=50))


def test_the_neighbours_of_a_promise_are_those_of_the_mechanism():
    with pytest.raises(dp.ParameterError, match="must speak of the mechanism's neighbours"):
        dp.audit.verify(dp.Geometric(epsilon=1), guarantee=dp.PureDP(1, "replace"))


def point(outcome):
    return Outcomes([outcome], lambda _: [Interval.of(1)])


@pytest.mark.parametrize(("one", "other"), [(0.0, -0.0), (1, True), (1, 1.0)])
def test_outcomes_that_look_different_are_not_taken_for_equal(one, other):
    with pytest.raises(dp.UnsupportedError, match="do not look the same"):
        dp.audit.verify(Toy({0: point(one), 1: point(other)}, dp.PureDP(1)))


def test_negative_masses_are_no_law():
    odd = finite(a="3/2", b="-1/2")
    with pytest.raises(dp.UnsupportedError, match="negative"):
        dp.audit.verify(Toy({0: odd, 1: odd}, dp.PureDP(1)))


def test_a_period_that_is_not_one_is_seen():
    class Claimed(DiscreteGaussian):
        period = 1

    laws = {x: Shifted(Claimed(Fraction(100)), x) for x in (0, 1)}
    with pytest.raises(dp.UnsupportedError, match="one factor per period"):
        dp.audit.verify(Toy(laws, dp.PureDP("0.1")))


def test_a_zero_concentrated_audit_of_finite_laws():
    """Zero masses do not crash it; what only one input can give is an infinite divergence; and
    orders beyond the listed ones are bounded by the largest loss.
    """
    same = {0: finite(a=1, b=0), 1: finite(a=1, b=0)}
    assert dp.audit.verify(Toy(same, dp.ZCDP("0.1"))).proven
    leaky = {0: finite(a="0.9", b="0.1", c=0), 1: finite(a="0.9", b=0, c="0.1")}
    assert not dp.audit.verify(Toy(leaky, dp.ZCDP(900))).proven
    rare = {
        0: finite(a=Fraction(1, 10**160), b=1 - Fraction(1, 10**160)),
        1: finite(a=Fraction(1, 10**164), b=1 - Fraction(1, 10**164)),
    }
    assert not dp.audit.verify(Toy(rare, dp.ZCDP("0.05"))).proven
