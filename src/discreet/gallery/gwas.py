"""Two million counts on the same people: noise that grows with their number or does not.

In a genome-wide study one person is in every count. Standard deviations and errors come from the
exact laws; the release of all 2,000,000 counts is drawn, on counts made by formula.
Tested by tests/gallery/test_gwas.py
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.exact import log
from discreet.gallery import charts
from discreet.gallery.experiment import Effort, Experiment, Fact, Figure, Found
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.geometric import Geometric
from discreet.mechanisms.selection import NoisyMax, TopK

__all__ = ["EXPERIMENT", "Released", "crossing", "deviation", "error", "most", "release", "study"]

NOTES = "class notes"
EPSILON, DELTA = log(2, 80).lower, Fraction(1, 10**6)
PLACES, PEOPLE, NAMED = 2_000_000, 100_000, 10
LAPLACE, NORMAL = "Laplace (geometric) noise", "discrete Gaussian noise, delta 1e-6"
TEN, BEST = "the ten largest, by name", "the largest, by name"
LINES = (LAPLACE, NORMAL, TEN, BEST)
Counts = NDArray[np.int64]
CHOOSING: dict[str, TopK | NoisyMax] = {
    TEN: TopK(epsilon=EPSILON, k=NAMED, monotone=True),
    BEST: NoisyMax(epsilon=EPSILON, monotone=True),
}
"""Mechanisms that name places; their noise does not depend on how many there are."""


def adding(kind: str, places: int) -> Geometric | Gaussian:
    """Noise for counts at so many places, all on the same people, at epsilon ln 2."""
    if kind == LAPLACE:
        return Geometric(epsilon=EPSILON, changes=places)
    return Gaussian(epsilon=EPSILON, delta=DELTA, changes=places)


def deviation(kind: str, places: int) -> float:
    """The standard deviation of the noise on one count, or on one score."""
    if kind in CHOOSING:
        return one_sided(CHOOSING[kind].rate)
    return math.sqrt(adding(kind, places).variance)


def one_sided(rate: Fraction) -> float:
    """The standard deviation of one-sided geometric noise: the root of a, over 1 - a."""
    a = math.exp(-float(rate))
    return math.sqrt(a) / (1 - a)


def error(kind: str, places: int) -> float:
    """What is missed with 95 %: by one noisy count, or by the worst count that is named."""
    if kind in CHOOSING:
        return float(CHOOSING[kind].error(0.95, places))
    return float(adding(kind, places).error(0.95))


def crossing() -> int:
    """The least number of counts for which Gaussian noise is smaller than Laplace noise."""
    places = 1
    while deviation(NORMAL, places) >= deviation(LAPLACE, places):
        places += 1
    return places


def most(kind: str, people: int = PEOPLE) -> int:
    """The largest number of counts, up to a tenth of the people, that are within 1 % of them.

    Each with 95 %.
    """
    low, high = 1, people // 10
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if 100 * error(kind, middle) <= people else (low, middle - 1)
    return low


def ten_counts() -> float:
    """The deviation of the ten named counts, if half of epsilon went into naming them."""
    return math.sqrt(Geometric(epsilon=EPSILON / 2, changes=NAMED).variance)


def study(places: int = PLACES, people: int = PEOPLE) -> Counts:
    """How many of the people have a variant and the disease, at each place of the genome.

    At most places few do, and nowhere more than 30 %; at ten places 31 % to 35.5 % do.
    """
    step = 1_000_003  # prime, so that multiplying by it permutes the places
    level = (np.arange(places) * step) % places / places
    counts: Counts = np.floor(0.3 * people * level**4).astype(np.int64)
    counts[associated(places)] = people * (310 + 5 * np.arange(NAMED)) // 1000
    return counts


def associated(places: int = PLACES) -> Counts:
    """The ten places that matter, from the least to the largest."""
    found: Counts = (2 * np.arange(NAMED) + 1) * places // (2 * NAMED)
    return found


@dataclass(frozen=True, slots=True)
class Released:
    """The real release: noisy counts of two mechanisms, and the places that a third one names."""

    counts: Counts
    noisy: dict[str, Counts]
    named: list[int]

    def largest(self, name: str) -> list[int]:
        """The ten places with the largest noisy counts."""
        noisy = self.noisy[name]
        places = np.argpartition(noisy, -NAMED)[-NAMED:]
        return [int(place) for place in places[np.argsort(noisy[places])[::-1]]]

    def right(self, places: list[int]) -> int:
        """How many of these places are among the ten that matter."""
        return len(set(places) & set(associated(len(self.counts)).tolist()))


def release(effort: Effort, places: int = PLACES) -> Released:
    """Release all counts twice, and the names of the ten largest."""
    counts = study(places)
    kinds = (LAPLACE, NORMAL)
    noisy = {
        kinds[i]: adding(kinds[i], places).release(counts)
        for i in effort.each(f"{places:,} counts", len(kinds))
    }
    return Released(counts, noisy, [int(place) for place in CHOOSING[TEN].release(counts)])


def run(effort: Effort) -> Found:
    """Compute the noise for 10 to 2,000,000 counts, and release the latter."""
    points = effort.of(33, 7)
    last = math.log10(PLACES)
    numbers = [round(10 ** (1 + (last - 1) * i / (points - 1))) for i in range(points)]
    noise: list[dict[str, Any]] = []
    missed: list[dict[str, Any]] = []
    for i in effort.each("noise", points):
        at = numbers[i]
        for kind in LINES:
            noise.append({"places": at, "kind": kind, "deviation": deviation(kind, at)})
            if missing := error(kind, at):  # who names ten of ten misses nothing
                missed.append({"places": at, "kind": kind, "people": 100 * missing})
    real = release(effort)
    return Found(_facts(real), (_noise(noise), _people(missed), _real(real)), (SAME, NAMES, SHOWN))


def _facts(real: Released) -> tuple[Fact, ...]:
    many = {kind: deviation(kind, PLACES) for kind in LINES}
    spread = {name: _spread(real, name) for name in (LAPLACE, NORMAL)}
    return (
        Fact("deviation of Laplace noise, 10 counts", round(deviation(LAPLACE, 10), 1), 20, NOTES),
        Fact("deviation of Laplace noise, 2,000,000 counts, in millions",
             round(many[LAPLACE] / 1e6, 2), 4.08, NOTES, "where the notes stop"),
        Fact("deviation of Gaussian noise, 2,000,000 counts", round(many[NORMAL]), 8400,
             "Balle and Wang, continuous noise", "ours is discrete, with a proof of its own"),
        Fact("Laplace to Gaussian, 2,000,000 counts", round(many[LAPLACE] / many[NORMAL], 1)),
        Fact("counts from which on Gaussian noise is smaller", crossing()),
        Fact("deviation of the noise for the largest alone, any number of counts",
             round(many[BEST], 2)),
        Fact("how far behind the largest, 95 %: 10 counts", round(error(BEST, 10))),
        Fact("how far behind the largest, 95 %: 2,000,000 counts", round(error(BEST, PLACES)),
             remark="the noise is the same, but the luckiest of 2,000,000 is luckier"),
        Fact("how far behind the ten largest, 95 %: 2,000,000 counts", round(error(TEN, PLACES))),
        Fact("deviation of the ten counts, half of epsilon for their names and half for them",
             round(ten_counts(), 1)),
        Fact("counts that 100,000 people bear within 1 %, Laplace", most(LAPLACE)),
        Fact("counts that 100,000 people bear within 1 %, Gaussian", most(NORMAL)),
        Fact("drawn: deviation of the Laplace release, in millions",
             round(spread[LAPLACE] / 1e6, 1)),
        Fact("drawn: deviation of the Gaussian release, in thousands",
             round(spread[NORMAL] / 1e3, 1)),
        Fact("drawn: of the ten places, found by Laplace noise", real.right(real.largest(LAPLACE))),
        Fact("drawn: of the ten places, found by Gaussian noise", real.right(real.largest(NORMAL))),
        Fact("drawn: of the ten places, found by naming ten", real.right(real.named)),
    )  # fmt: skip


def _spread(real: Released, name: str) -> float:
    """The root of the mean square of the noise."""
    return math.sqrt(float(np.mean((real.noisy[name] - real.counts) ** 2.0)))


SAME = """\
One person is in every count, so the promise has to cover all of them at once: Laplace noise grows
with their number, Gaussian noise with its root."""
NAMES = """\
Who only wants to know where the largest counts are asks for their names: that noise does not grow
at all, and what is missed grows with the logarithm. Ten counts on top of ten names are cheap."""
SHOWN = """\
With 95 % for each of 2,000,000 counts, an error within 1 % of the people takes 864 million people
with Laplace noise and 1.6 million with Gaussian noise. The names of ten take 25,000."""


def _axis() -> Any:
    alt = charts.altair()
    words = charts.log_axis("places", "counts on the same people", low=1, high=6)
    return alt.X(**{**words, "scale": alt.Scale(type="log", nice=False, domain=[10, 3e6])})


def _noise(rows: list[dict[str, Any]]) -> Figure:
    alt = charts.altair()
    y = alt.Y(**charts.log_axis("deviation", "standard deviation of the noise", low=0, high=7))
    lines = charts.curves(rows, x=_axis(), y=y, colour="kind", order=LINES)
    return Figure(
        "gwas",
        charts.themed(lines, "Noise on one of many counts, epsilon ln 2"),
        "Laplace noise grows with the number of counts, Gaussian noise with its root; the noise "
        "that chooses names does not grow at all.",
    )


def _people(rows: list[dict[str, Any]]) -> Figure:
    alt = charts.altair()
    y = alt.Y(**charts.log_axis("people", "people needed", low=2, high=9))
    lines = charts.curves(rows, x=_axis(), y=y, colour="kind", order=LINES)
    return Figure(
        "gwas-people",
        charts.themed(
            lines, "How large a study must be", "so that 95 % of errors are below 1 % of the people"
        ),
        "A study of 100,000 people can name the ten largest of millions of counts, or publish "
        "about 7,000 counts with Gaussian noise, or 230 with Laplace noise.",
    )


def _real(real: Released) -> Figure:
    alt = charts.altair()
    shown = np.linspace(0, len(real.counts) - 1, 150).astype(np.int64).tolist()
    panels = []
    for name, unit, word in ((LAPLACE, 1e6, "million"), (NORMAL, 1e3, "thousand")):
        kinds = {
            "some of 2,000,000 places": shown,
            "seem largest": real.largest(name),
            "the ten that are, and that naming finds": associated(len(real.counts)).tolist(),
        }
        rows = [
            {"true": int(real.counts[place]) / 1e3, "noisy": int(real.noisy[name][place]) / unit,
             "what": kind}
            for kind, places in kinds.items() for place in places
        ]  # fmt: skip
        panels.append(_panel(alt, rows, list(kinds), name, word))
    chart = alt.hconcat(*panels, bounds="flush", spacing=75).resolve_scale(y="independent")
    return Figure(
        "gwas-release",
        charts.themed(chart, "The release of 2,000,000 counts on 100,000 people, epsilon ln 2",
                      sized=False),
        "With Laplace noise the counts that seem largest are noise alone; with Gaussian noise they "
        "are large, but not the largest. The mechanism that names ten finds the ten that matter.",
    )  # fmt: skip


def _panel(alt: Any, rows: list[dict[str, Any]], kinds: list[str], name: str, word: str) -> Any:
    order = {"domain": kinds}
    legend = alt.Legend(title=None, orient="top", columns=3, labelLimit=320)
    return (
        alt.Chart(charts.data(rows))
        .mark_point(filled=True, opacity=0.9)
        .encode(
            x=alt.X("true:Q", title="true count, thousand", scale=alt.Scale(domain=[0, 36])),
            y=alt.Y("noisy:Q", title=f"released count, {word}"),
            color=alt.Color(
                "what:N", legend=legend,
                scale=alt.Scale(**order, range=["#bbbbbb", charts.COLOURS[1], charts.COLOURS[0]]),
            ),
            shape=alt.Shape(
                "what:N", legend=legend,
                scale=alt.Scale(**order, range=["circle", "triangle-up", "diamond"]),
            ),
            size=alt.Size(
                "what:N", legend=None, scale=alt.Scale(**order, range=[18, 70, 90])
            ),
        )
        .properties(width=290, height=300, title=alt.Title(name, fontSize=13, fontWeight="normal"))
    )  # fmt: skip


EXPERIMENT = Experiment(
    "gwas",
    "Two million counts on the same people",
    "Noise for 10 to 2,000,000 counts on the same people: Laplace, Gaussian, noisy max, top ten.",
    run,
)
