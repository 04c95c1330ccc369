"""A picture of counts over two axes: a heat map, dark where many are.

Tested by tests/curator/test_heatmap.py
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.curator.figure import saved
from discreet.curator.frames import library

if TYPE_CHECKING:
    from discreet.curator.published import Published
    from discreet.curator.release import Release
    from discreet.query.cells import Axis

__all__ = ["heatmap", "heatmap_of"]

FINEST = 64
"""At most so many cells are drawn along an axis."""
COLOURS = ["#f4f8fc", "#9dbfe0", "#4477aa", "#0b2545"]


def heatmap(published: Published, path: str | Path | None = None) -> Any:
    """An altair chart of a publication over two axes; a path (.png, .svg, .html) saves it."""
    alt = library("altair", "plot()")
    first, second = published.axes
    points = _points(published)
    scale = alt.Scale(range=COLOURS, type="symlog")
    chart = alt.Chart(alt.Data(values=points)).mark_rect().encode(
        x=alt.X("x:Q", title=first.of, **_along(alt, first)),
        x2="x2:Q",
        y=alt.Y("y:Q", title=second.of, **_along(alt, second)),
        y2="y2:Q",
        color=alt.Color("n:Q", title="n", scale=scale, legend=alt.Legend(values=_marks(points))),
        tooltip=["x:Q", "y:Q", "n:Q"],
    )  # fmt: skip
    where = "" if published.where is None else f", where {published.where}"
    title = alt.Title(f"{published.table}: {first.of} and {second.of}",
                      subtitle=f"{published.guarantee}{where}")  # fmt: skip
    chart = chart.properties(width=460, height=460, title=title)
    return saved(chart, path)


def _along(alt: Any, axis: Axis) -> dict[str, Any]:
    """The scale of an axis, and how its numbers are written: 2024, not 2,024.0."""
    ends = [float(axis.low), float(axis.high)]
    long = max(map(abs, ends)) >= 10_000
    cells = {"tickMinStep": 1} if axis.low.denominator == axis.width.denominator == 1 else {}
    written = alt.Axis(format=",~f" if long else "~f", **cells)
    return {"scale": alt.Scale(domain=ends, nice=False), "axis": written}


def _marks(points: list[dict[str, float]]) -> list[int]:
    """What the legend names: 0 and the powers of ten, on a scale that is nearly logarithmic."""
    most = max(point["n"] for point in points)
    return [0, *(10**k for k in range(18) if 10**k <= most)]


def heatmap_of(release: Release, path: str | Path | None = None) -> Any:
    """The same, of a release that holds the publication."""
    from discreet.curator.published import Published  # noqa: PLC0415 - it makes releases

    return heatmap(Published.of(release), path)


def _points(published: Published) -> list[dict[str, float]]:
    """The rectangles that are drawn, with their counts."""
    axes = published.axes
    many = [min(axis.bins, FINEST) for axis in axes]
    edges = [
        [axis.low + i * (axis.high - axis.low) / n for i in range(n + 1)]
        for axis, n in zip(axes, many, strict=True)
    ]
    boxes = [(x, y) for x in pairwise(edges[0]) for y in pairwise(edges[1])]
    return [
        {"x": float(x[0]), "x2": float(x[1]), "y": float(y[0]), "y2": float(y[1]), "n": round(n, 3)}
        for (x, y), n in zip(boxes, published.counts(boxes), strict=True)
    ]
