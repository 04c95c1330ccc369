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
        x=alt.X("x:Q", title=first.of, scale=alt.Scale(domain=[float(first.low), float(first.high)],
                                                       nice=False)),
        x2="x2:Q",
        y=alt.Y("y:Q", title=second.of, scale=alt.Scale(
            domain=[float(second.low), float(second.high)], nice=False)),
        y2="y2:Q",
        color=alt.Color("n:Q", title="n", scale=scale),
        tooltip=["x:Q", "y:Q", "n:Q"],
    )  # fmt: skip
    where = "" if published.where is None else f", where {published.where}"
    title = alt.Title(f"{published.table}: {first.of} and {second.of}",
                      subtitle=f"{published.guarantee}{where}")  # fmt: skip
    chart = chart.properties(width=460, height=460, title=title)
    return saved(chart, path)


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
