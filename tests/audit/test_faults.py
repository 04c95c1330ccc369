"""Test the tester: faults planted on purpose, every one of which the audit must find.

Two kinds. Faults of the *law* (the mechanism promises what its law does not keep) are refuted by
`verify`. Faults of the *code* (the sampler has another law than stated) are found by `walk`.
"""

from fractions import Fraction

import pytest

import discreet as dp
from discreet.audit.exact import verify
from discreet.audit.walk import walk
from discreet.exact import Interval, exp
from discreet.noise import reference
from discreet.noise.clamped import ClampedGeometric, ConditionedGeometric, Shifted
from discreet.noise.geometric import TwoSidedGeometric
from discreet.noise.law import Outcomes
from discreet.noise.staircase import IntegerStaircase
from discreet.noise.table import Inversion

TENTH, ONE = Fraction(1, 10), Fraction(1)


class Planted:
    """A mechanism with a law of its own."""

    def __init__(self, epsilon, law, pairs, guarantee=None):
        self.guarantee = guarantee or dp.PureDP(epsilon)
        self.law, self._pairs = law, pairs

    def small_neighbours(self):
        yield from self._pairs

    def __repr__(self):
        return "planted"


def neighbours(n):
    return [(i, i + 1) for i in range(n)]


def softmax(scores, rate):
    def masses(w):
        weights = [exp(rate * (score - max(scores)), w) for score in scores]
        total = sum(weights, Interval.of(0))
        return [weight / total for weight in weights]

    return Outcomes(range(len(scores)), masses)


def squared_utilities(ones):
    """-(mean - l)^2 for a hundred bits and candidates l = 0, 0.1 .. 1; moves by over 1/100."""
    return [-((Fraction(ones, 100) - Fraction(place, 10)) ** 2) for place in range(11)]


def clamped_then_plus_one(value):
    """The output clamp is missing on one side: a larger range when the value is larger."""
    return ClampedGeometric(ONE, value, 0, 4 + value)


LAW_FAULTS = {
    "rejection without correction": Planted(
        TENTH, lambda v: ConditionedGeometric(TENTH, v, 0, 30), neighbours(30)
    ),
    "scale two percent too small": Planted(
        ONE, lambda v: Shifted(TwoSidedGeometric(ONE * 51 / 50), v), [(0, 1)]
    ),
    "half the sensitivity": Planted(ONE, lambda v: Shifted(TwoSidedGeometric(ONE), v), [(0, 2)]),
    "a histogram's replacement counted once": Planted(
        ONE, lambda v: Shifted(TwoSidedGeometric(ONE), v[0] + v[1] * 0), [((0, 1), (2, 0))]
    ),
    "range that follows the data": Planted(ONE, clamped_then_plus_one, neighbours(4)),
    "exponential mechanism without its factor 2": Planted(
        ONE, lambda ones: softmax(squared_utilities(ones), 100 * ONE), [(0, 1), (50, 51), (99, 100)]
    ),
    "staircase one step too wide": Planted(
        ONE, lambda v: Shifted(IntegerStaircase(ONE, 3, 1), v), [(0, 4)]
    ),
    "noise that is always even": Planted(
        ONE,
        lambda v: Outcomes(
            [v + 2 * k for k in range(-9, 10)], lambda _: [Interval.of(Fraction(1, 19))] * 19
        ),
        [(0, 1)],
    ),
    "wrong sign: less noise for larger counts": Planted(
        ONE, lambda v: Shifted(TwoSidedGeometric(ONE * (v + 1)), v), [(0, 1), (1, 2)]
    ),
    "disjoint supports": Planted(
        ONE, lambda v: Outcomes([v], lambda _: [Interval.of(1)]), [(0, 1)]
    ),
    "truth always told": Planted(
        ONE,
        lambda v: Outcomes(
            ["yes", "no"],
            lambda _: [
                Interval.of(Fraction(99, 100) if v else Fraction(1, 100)),
                Interval.of(Fraction(1, 100) if v else Fraction(99, 100)),
            ],
        ),
        [(0, 1)],
    ),
    "unequal coins charged as fair ones": Planted(
        Fraction(11, 10),
        dp.RandomizedResponse(truth="0.99", otherwise=("0.9", "0.1"), categories=("yes", "no")).law,
        [("yes", "no")],
    ),
    "mass at the threshold not charged": Planted(
        None,
        lambda n: Outcomes([True, False], lambda w: _shown_from(n, w)),
        neighbours(3),
        guarantee=dp.ApproxDP(1, "1e-8"),
    ),
}


def _shown_from(n, w):
    """Show a key if its count plus noise is >= m, where P(noise >= m + 1) <= delta was charged."""
    law = TwoSidedGeometric(ONE)
    m = law.quantile(1 - Fraction(1, 10**8)) + 1  # P(noise >= m) <= delta: charged for n = 0
    shown = law._tail(m - n - 1, w) if n else Interval.of(0)
    return [shown, 1 - shown]


@pytest.mark.parametrize("name", LAW_FAULTS)
def test_every_fault_of_a_law_is_refuted(name):
    verdict = verify(LAW_FAULTS[name])
    assert verdict.refuted, str(verdict)
    assert not verdict.proven


def test_the_sound_twins_of_the_faults_are_proven():
    """The audit does not refute everything: each fault's repaired form passes."""
    sound = [
        dp.RejectionGeometric(epsilon="0.1", bounds=(0, 30)),
        dp.Geometric(epsilon=1),
        dp.Geometric(epsilon=1, sensitivity=2),
        dp.Staircase(epsilon=1, sensitivity=3),
        dp.Exponential(epsilon=1),
        dp.SelectKeys(epsilon=1, delta="1e-8"),
    ]
    assert all(verify(mechanism).proven for mechanism in sound)


def test_the_figures_of_two_faults():
    assert round(float(verify(LAW_FAULTS["rejection without correction"]).worst), 4) == 0.1818
    exponential = verify(LAW_FAULTS["exponential mechanism without its factor 2"])
    assert round(float(exponential.worst), 2) == 1.94


def biased_sign(source):
    magnitude = reference.geometric_attempt(ONE, source)
    if magnitude is None:
        return None
    return -magnitude if source.flip(Fraction(51, 100)) and magnitude else magnitude


def double_zero(source):
    magnitude = reference.geometric_attempt(ONE, source)
    if magnitude is None:
        return None
    return -magnitude if source.flip(Fraction(1, 2)) else magnitude


def off_by_one(source):
    value = reference.two_sided_attempt(ONE, source)
    return None if value is None else value + (value > 0)


def seed_reuse(source):
    first = reference.geometric_attempt(ONE, source)
    return None if first is None else first - first


class FreshRedraw(Inversion):
    def resolve(self, u, source):
        return self.one(source)


class TieToOneSide(Inversion):
    def resolve(self, u, source):
        return self.first + sum(threshold < u for threshold in self.thresholds)


class ThresholdsRoundedUp(Inversion):
    def __init__(self, law, **sizes):
        super().__init__(law, **sizes)
        self.thresholds = [
            min(threshold + 1, (1 << self.word) - 1) for threshold in self.thresholds
        ]
        self._sorted = self._sorted + 1


CODE_FAULTS = {
    "a sign of 51 percent": biased_sign,
    "double zero": double_zero,
    "off by one": off_by_one,
    "the same geometric twice": seed_reuse,
    "biased modulo": lambda source: source.bits(4) % 11 - 5,
    "a fresh redraw instead of more bits": FreshRedraw(TwoSidedGeometric(ONE), word=6, guide=3).one,
    "a tie broken to one side": TieToOneSide(TwoSidedGeometric(ONE), word=6, guide=3).one,
    "thresholds one unit high": ThresholdsRoundedUp(TwoSidedGeometric(ONE), word=6, guide=3).one,
}


@pytest.mark.parametrize("name", CODE_FAULTS)
def test_every_fault_of_the_code_is_found(name):
    found = walk(
        CODE_FAULTS[name], atoms=("flip", "flip_exp", "below"), unresolved=Fraction(1, 400)
    )
    law = TwoSidedGeometric(ONE)
    assert not all(found.agrees_with(k, law.mass_bounds(k, bits=128)) for k in range(-8, 9))


def test_there_are_at_least_twelve():
    assert len(LAW_FAULTS) + len(CODE_FAULTS) >= 12
