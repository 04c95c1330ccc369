"""Heights with noise, each person adding her own: which sensitivity, and what it promises.

Heights are whole millimetres, so that `Geometric` with a sensitivity in millimetres is `Laplace`
with a grid of 0.1 cm, drawn for many people at once.
Tested by tests/gallery/test_heights.py
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.gallery import charts
from discreet.gallery.experiment import Effort, Experiment, Fact, Figure, Found
from discreet.mechanisms.geometric import Geometric
from discreet.sensitivity.oracle import GaussianMixture, Normal
from discreet.sensitivity.sampler import sample_sensitivity

__all__ = ["EXPERIMENT", "curator_error", "local_error", "people", "quantile", "share_beyond"]

SHERPA = "Sherpa's notebook"
PEOPLE = 500
NARROW = Normal(170, 1)
MIXTURE = GaussianMixture([(178, 7), (162, "6.5")])
BOUNDS = (1000, 2500)
"""What the curator declares, in millimetres: nobody is smaller or taller."""
WIDTH = BOUNDS[1] - BOUNDS[0]
GAMMA = Fraction(1, 20)
THEIR_PAIRS, OUR_PAIRS = 1325, 19
PLACES = ("0.001", "0.003", "0.01", "0.03", "0.1", "0.3", "1", "3")
FIRST, LAST = math.log10(0.001), math.log10(3)


def people() -> NDArray[np.int64]:
    """500 heights in millimetres: the quantiles of N(170, 1), about nobody."""
    from scipy.special import ndtri  # noqa: PLC0415

    level = (np.arange(PEOPLE) + 0.5) / PEOPLE
    centimetres = float(NARROW.mean) + float(NARROW.sd) * ndtri(level)
    found: NDArray[np.int64] = np.rint(10 * centimetres).astype(np.int64)
    return found


def density(height: float, part: Normal) -> float:
    """The density of a normal law, for each centimetre."""
    z = (height - float(part.mean)) / float(part.sd)
    return math.exp(-z * z / 2) / (float(part.sd) * math.sqrt(2 * math.pi))


def share_beyond(distance: float) -> float:
    """The share of pairs of the mixture that are further apart than this, in centimetres.

    X - Y is normal with mean m_i - m_j and variance s_i^2 + s_j^2 with chance w_i w_j.
    """
    total = 0.0
    parts = list(zip(MIXTURE.weights, MIXTURE.components, strict=True))
    for v, a in parts:
        for w, b in parts:
            middle, root = float(a.mean - b.mean), math.sqrt(2 * float(a.sd**2 + b.sd**2))
            ends = math.erfc((distance - middle) / root) + math.erfc((distance + middle) / root)
            total += float(v * w) * ends / 2
    return total


def quantile(level: float) -> float:
    """The distance that this share of pairs does not exceed."""
    low, high = 0.0, 200.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (low, middle) if share_beyond(middle) <= 1 - level else (middle, high)
    return high


def typical_largest(pairs: int) -> float:
    """The median of the largest distance of this many sampled pairs."""
    return quantile(0.5 ** (1 / pairs))


@lru_cache(maxsize=1)
def sensitivities() -> Mapping[str, int]:
    """The choices of the notebook, in millimetres, rounded up."""
    expected, spread = MIXTURE.expected_distance(), MIXTURE.sd
    return {
        f"each person, {expected + times * spread:.1f} cm: {what}": math.ceil(
            10 * (expected + times * spread)
        )
        for times, what in enumerate(("expected difference", "and one sd", "and two sd"))
    }


def reports(epsilon: Fraction | str, sensitivity: int) -> Geometric:
    """How one person adds noise to her own height, in millimetres."""
    return Geometric(epsilon=epsilon, sensitivity=sensitivity, neighbours="replace")


def local_error(epsilon: Fraction | str, sensitivity: int) -> float:
    """The root mean square error of the mean of all reports, in centimetres."""
    return math.sqrt(reports(epsilon, sensitivity).variance / PEOPLE) / 10


def curator_error(epsilon: Fraction | str) -> float:
    """The same from a curator who adds noise once, to the sum of heights within BOUNDS."""
    return math.sqrt(reports(epsilon, WIDTH).variance) / PEOPLE / 10


def drawn_errors(epsilon: str, repetitions: int) -> tuple[float, float]:
    """The root mean square errors of drawn means: all reporting, and the curator's."""
    heights = people()
    first = next(iter(sensitivities().values()))
    each = reports(epsilon, first).release(np.tile(heights, (repetitions, 1)))
    inside = np.clip(heights, *BOUNDS)
    total = np.full(repetitions, int(inside.sum()))
    once = reports(epsilon, WIDTH).release(total)
    local = each.mean(axis=1) - heights.mean()
    central = once / PEOPLE - heights.mean()
    return _root(local) / 10, _root(central) / 10


def _root(errors: NDArray[np.float64]) -> float:
    return float(np.sqrt(np.mean(errors**2)))


BOUNDED, TRUSTED = "each person, 150 cm: everybody", "trusted curator, 150 cm: everybody"


def run(effort: Effort) -> Found:
    """Compute errors over epsilon, draw some, and sample a sensitivity."""
    points = effort.of(61, 31)
    rows: list[dict[str, object]] = []
    for i in effort.each("errors", points):
        epsilon = Fraction(f"{10 ** (FIRST + (LAST - FIRST) * i / (points - 1)):.6g}")
        errors = {name: local_error(epsilon, size) for name, size in sensitivities().items()}
        errors |= {BOUNDED: local_error(epsilon, WIDTH), TRUSTED: curator_error(epsilon)}
        rows += [{"epsilon": float(epsilon), "who": w, "error": e} for w, e in errors.items()]
    drawn = []
    for i in effort.each("draws", len(PLACES)):
        errors_now = drawn_errors(PLACES[i], effort.of(2000, 200))
        drawn += [{"epsilon": float(PLACES[i]), "error": error} for error in errors_now]
    return Found(
        _facts(), (_density(), _errors(rows, drawn), _losses()), (PROMISED, NOT_PROMISED, TRUST)
    )


def _facts() -> tuple[Fact, ...]:
    expected, spread = MIXTURE.expected_distance(), MIXTURE.sd
    own = math.sqrt(2 * spread**2 - expected**2)
    sampled = sample_sensitivity(lambda data: float(data[0]), "L1", MIXTURE, 1, gamma=GAMMA)
    first = next(iter(sensitivities().values()))
    branch = "the notebook takes the wrong branch of Lambert's function; 1305 would do by its bound"
    return (
        Fact("expected difference, cm", round(expected, 2), 11.99, SHERPA),
        Fact("standard deviation of a height, cm", round(spread, 2), 10.47, SHERPA,
             f"that of the distance between two people is {own:.2f}"),
        Fact("with one standard deviation, cm", round(expected + spread, 2)),
        Fact("with two standard deviations, cm", round(expected + 2 * spread, 2)),
        Fact("pairs beyond the expected difference, %", round(100 * share_beyond(expected), 1),
             remark="for so many the noise is too small for the epsilon that is claimed"),
        Fact("pairs beyond one standard deviation more, %",
             round(100 * share_beyond(expected + spread), 1)),
        Fact("pairs beyond two standard deviations more, %",
             round(100 * share_beyond(expected + 2 * spread), 1)),
        Fact("95 % of pairs are within, cm", round(quantile(0.95), 1)),
        Fact("99 % of pairs are within, cm", round(quantile(0.99), 1)),
        Fact("pairs to sample for gamma 0.05", sampled.m, THEIR_PAIRS, SHERPA, branch),
        Fact("largest of 1,325 sampled pairs, median, cm", round(typical_largest(THEIR_PAIRS), 1),
             45.03, SHERPA, "one run of theirs"),
        Fact("largest of 19 sampled pairs, median, cm", round(typical_largest(OUR_PAIRS), 1),
             remark="the same gamma, a third less noise"),
        Fact("largest of 19 pairs sampled now, cm", round(float(sampled.value), 1),
             remark="another one in every run"),
        Fact("chance that 19 pairs miss more than 5 % of all", round((1 - 0.05) ** OUR_PAIRS, 3),
             remark="gamma is about sampler and pair together"),
        Fact("error of the mean at epsilon 1, each person, cm", round(local_error("1", first), 3)),
        Fact("error of the mean at epsilon 1, each for the largest of 19 pairs, cm",
             round(local_error("1", math.ceil(10 * typical_largest(OUR_PAIRS))), 3),
             remark="at the median of the largest, 30.1 cm"),
        Fact("error of the mean at epsilon 1, each for everybody, cm",
             round(local_error("1", WIDTH), 3), remark="with noise for all from 100 to 250 cm"),
        Fact("error of the mean at epsilon 1, curator, cm", round(curator_error("1"), 3),
             remark="for everybody too, from one draw"),
        Fact("a curator's gain at the same sensitivity", round(math.sqrt(PEOPLE), 1),
             remark="the root of the number of people, at every epsilon"),
    )  # fmt: skip


PROMISED = """\
Random differential privacy with gamma 0.05 promises: one random pair of people has the epsilon that
is claimed with a chance of 19 in 20, over the sampler's luck too, if all come from the law that was
sampled."""
NOT_PROMISED = """\
It promises nothing to one who is tall: the noise for typical people is too small for her, and
nobody is told. Of 500 pairs, one or more are beyond the largest of 19 in 96 of 100 runs."""
TRUST = """\
A curator who is trusted needs no typical people: with bounds that hold for everybody she has
differential privacy and is more accurate than all reports together."""


def _density() -> Figure:
    alt = charts.altair()
    names = ("all people", "half of them: 178 ± 7", "half of them: 162 ± 6.5")
    rows: list[dict[str, object]] = []
    for i in range(121):
        height = 135 + i * 0.6
        halves = [density(height, part) / 2 for part in MIXTURE.components]
        rows += [
            {"height": height, "of": name, "density": value}
            for name, value in zip(names, (sum(halves), *halves), strict=True)
        ]
    x = alt.X("height:Q", title="height in cm", scale=alt.Scale(domain=[135, 207], nice=False))
    y = alt.Y("density:Q", title="share of people per cm", axis=alt.Axis(format="%"))
    chart = charts.curves(rows, x=x, y=y, colour="of", order=names)
    return Figure(
        "heights-density",
        charts.themed(chart, "Heights: two normal laws, half of the people each"),
        "The law that the sensitivity is sampled from. Two random people are 12 cm apart on "
        "average, and one pair in a hundred 36 cm or more.",
    )


def _errors(rows: list[dict[str, object]], drawn: list[dict[str, float]]) -> Figure:
    alt = charts.altair()
    places = [0.001, 0.01, 0.1, 1, 3]
    x = alt.X("epsilon:Q", title="epsilon", axis=alt.Axis(values=places, format="~r"),
              scale=alt.Scale(type="log", nice=False, domain=[0.001, 3]))  # fmt: skip
    y = alt.Y(**charts.log_axis("error", "error of the mean in cm (root mean square)",
                                low=-1, high=4))  # fmt: skip
    lines = charts.curves(rows, x=x, y=y, colour="who", order=(*sensitivities(), BOUNDED, TRUSTED))
    dots = alt.Chart(charts.data(drawn)).mark_point(color="#222", size=45).encode(x=x, y=y)
    return Figure(
        "heights-error",
        charts.themed(lines + dots, "The mean height of 500 people", "circles: drawn means"),
        "One draw of a trusted curator, for everybody between 100 and 250 cm, disturbs the mean "
        "less than noise of each person's own that is right for typical people only. Circles are "
        "drawn means.",
    )


def _losses() -> Figure:
    alt = charts.altair()
    expected, typical = MIXTURE.expected_distance(), typical_largest(OUR_PAIRS)
    own = {
        f"{expected:.1f} cm: expected difference": expected,
        f"{expected + MIXTURE.sd:.1f} cm: and one sd": expected + MIXTURE.sd,
        f"{expected + 2 * MIXTURE.sd:.1f} cm: and two sd": expected + 2 * MIXTURE.sd,
        f"{typical:.1f} cm: largest of 19 pairs": typical,
    }
    names = sorted(own, key=lambda name: own[name])
    rows = [
        {"loss": i / 20, "noise": name, "share": share_beyond(i / 20 * own[name])}
        for name in names
        for i in range(101)
    ]
    x = alt.X("loss:Q", title="what a pair really has, in multiples of the epsilon claimed")
    y = alt.Y(**charts.log_axis("share", "share of pairs that have more", low=-6, high=0))
    lines = charts.curves(rows, x=x, y=y, colour="noise", order=names)
    chart = lines + charts.marks({"as claimed": 1.0}, x=x, y=y, top=1.5e-5)
    return Figure(
        "heights-loss",
        charts.themed(chart, "Noise for typical people is too small for some of them"),
        "Right of the mark are the pairs whose loss exceeds the epsilon that is claimed. Noise for "
        "the expected difference fails two pairs in five; a larger sensitivity fails fewer, but "
        "each of them fails some.",
    )


EXPERIMENT = Experiment(
    "heights",
    "Whose heights does typical noise hide?",
    "500 heights with noise of their own, for sampled sensitivities, and from a trusted curator.",
    run,
)
