"""Two answers combined: the weights, the law of the sum, and what is left alone."""

import math
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction

import pytest

from discreet.curator.combine import combined
from discreet.curator.release import Release
from discreet.mechanisms.geometric import Geometric
from discreet.privacy.guarantee import PureDP
from discreet.privacy.loss import PureLoss

LEVEL = Fraction(19, 20)


def release(values, half, epsilon, *, keys=("a", "b"), **more):
    made = Release(
        columns=("g", "n"),
        keys=("g",),
        rows=tuple(zip(keys, (max(round(v), 0) for v in values), strict=True)),
        intervals={"n": tuple((max(v - half, 0), v + half) for v in values)},
        raw={"n": tuple(values)},
        guarantee=PureDP(epsilon),
        losses=(PureLoss(epsilon=epsilon),),
        sql="SELECT g, COUNT(*) AS n FROM t GROUP BY g",
        mechanisms={"n": "geometric noise"},
        confidence=LEVEL,
        covers="Intervals cover the noise.",
        notes=(),
        asked_at=datetime(2026, 1, 1, tzinfo=UTC),
    )
    return replace(made, **more)


def test_weights_are_inverse_variances():
    made = combined(release([100, 50], 30, "0.1"), release([110, 40], 10, "0.3"), counts=["n"])
    assert made.raw["n"] == (pytest.approx(109), pytest.approx(41))
    assert made["n"] == [109, 41]
    half = 1 / math.sqrt(1 / 30**2 + 1 / 10**2)
    assert made.intervals["n"][0] == (109 - math.ceil(half), 109 + math.ceil(half))
    assert made.guarantee.epsilon == Fraction(2, 5)
    assert len(made.losses) == 2
    assert "combined" in made.notes[-1]


def test_negative_means_are_cut_at_zero_and_stay_raw():
    made = combined(release([-9, 3], 30, "0.1"), release([-5, 3], 10, "0.3"), counts=["n"])
    assert made["n"][0] == 0
    assert made.raw["n"][0] < -5
    assert made.intervals["n"][0][0] == 0


@pytest.mark.parametrize(
    "other",
    [
        release([1, 2], 3, "0.1", intervals={}),
        release([1, 2], 3, "0.1", raw={}),
        release([1, 2], 3, "0.1", keys=("x", "y")),
        release([1, 2], 3, "0.1", intervals={"n": (None, None)}),
        release([1, 2], 3, "0.1", intervals={"n": ((None, 5), (1, None))}),
        release([1, 2], 0, "0.1"),
        release([1, 2], 3, "0.1", keys=("a", "a")),
        release([1, 2], 3, "0.1", confidence=Fraction(1, 2)),
    ],
)
def test_what_cannot_be_combined_is_left_alone(other):
    fine = release([5, 6], 2, "0.3")
    assert combined(other, fine, counts=["n"]) == fine


def test_sums_may_be_negative():
    def below(values, half, epsilon):
        ends = tuple((v - half, v + half) for v in values)
        rows = tuple(zip("ab", values, strict=True))
        return release(values, half, epsilon, rows=rows, intervals={"n": ends})

    made = combined(below([-100, -50], 30, "0.1"), below([-110, -40], 10, "0.3"), counts=[])
    assert made["n"] == [-109, -41]
    assert made.intervals["n"][0] == (-119, -99)


def test_only_rows_of_both_are_combined():
    made = combined(
        release([100], 10, "0.1", keys=("b",)), release([5, 6], 10, "0.3"), counts=["n"]
    )
    assert made["n"] == [5, 53]


@pytest.mark.parametrize("level", [Fraction(9, 10), LEVEL, Fraction(99, 100), Fraction(999, 1000)])
@pytest.mark.parametrize("pair", [("0.1", "0.1"), ("0.1", "0.3"), ("0.05", "0.5"), ("0.3", "1")])
def test_the_interval_covers_at_its_confidence(pair, level):
    """The exact law of the weighted sum of two geometric noises, by enumeration."""
    noises = [Geometric(epsilon=epsilon) for epsilon in pair]
    halves = [noise.error(level) for noise in noises]
    if 0 in halves:
        pytest.skip("nothing to combine")
    weights = [1 / half**2 for half in halves]
    total, half = sum(weights), 1 / math.sqrt(sum(weights))
    far = [min(int(40 / float(Fraction(epsilon))), 900) for epsilon in pair]
    laws = []
    for noise, most in zip(noises, far, strict=True):
        rate = float(noise.rate)
        scale = math.tanh(rate / 2)
        laws.append({z: scale * math.exp(-rate * abs(z)) for z in range(-most, most + 1)})
    covered = 0.0
    for z, p in laws[0].items():
        for y, q in laws[1].items():
            mean = (weights[0] * z + weights[1] * y) / total
            middle = round(mean)  # the truth is 0 here
            if abs(middle) <= math.ceil(half + abs(mean - middle)):
                covered += p * q
    assert covered >= float(level)
