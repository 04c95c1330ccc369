"""Two answers combined: the weights, the law of the sum, and what is left alone."""

import math
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction

import pytest

from discreet.curator.combine import combined
from discreet.curator.release import Release
from discreet.mechanisms.geometric import Geometric
from discreet.mechanisms.gradual import Coarsening
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
    again = combined(release([90, 60], 90, "0.05"), made, counts=["n"])
    assert again.raw != made.raw
    assert again.notes == made.notes, "it is said once"


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
    if 0 in [noise.error(level) for noise in noises]:
        pytest.skip("nothing to combine")
    laws = [law(noise.noise_law, noise.rate) for noise in noises]
    pairs = ((z, y, p * q) for z, p in laws[0].items() for y, q in laws[1].items())
    assert covered(noises, level, pairs) >= float(level)


def law(noise, rate):
    """The law as good as all of it."""
    far = min(int(40 / rate), 900)
    half = [noise.mass(z) for z in range(far + 1)]
    return {z: half[abs(z)] for z in range(-far, far + 1)}


def covered(noises, level, pairs):
    """How often the combined interval holds the truth, 0, over pairs of noises and their chance."""
    halves = [noise.error(level) for noise in noises]
    weights = [1 / half**2 for half in halves]
    total, half = sum(weights), 1 / math.sqrt(sum(weights))
    found = 0.0
    for z, y, p in pairs:
        mean = (weights[0] * z + weights[1] * y) / total
        middle = round(mean)
        if abs(middle) <= math.ceil(half + abs(mean - middle)):
            found += p
    return found


@pytest.mark.parametrize(("fine", "coarse"), [("0.5", "0.4"), ("0.1", "0.09"), ("0.2", "0.1")])
def test_answers_with_noise_in_common_must_not_be_combined(fine, coarse):
    """One that was made of the other: the interval would not cover. Exact law, by enumeration."""
    step = Coarsening(Geometric(epsilon=fine), Geometric(epsilon=coarse))
    narrow, added = law(step.fine.noise_law, step.fine.rate), law(step.noise_law, step.coarse.rate)
    pairs = ((z + d, z, p * q) for z, p in narrow.items() for d, q in added.items())
    found = covered([step.coarse, step.fine], LEVEL, pairs)
    assert found < float(LEVEL) - 0.01
    apart = law(step.coarse.noise_law, step.coarse.rate)
    pairs = ((y, z, p * q) for y, p in apart.items() for z, q in narrow.items())
    assert covered([step.coarse, step.fine], LEVEL, pairs) >= float(LEVEL)
