"""One look for all figures of the gallery: readable in print, told apart without colours too.

Tested by tests/gallery/test_charts.py
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from discreet.curator.figure import COLOURS

__all__ = [
    "COLOURS",
    "DASHES",
    "altair",
    "band",
    "curves",
    "data",
    "log_axis",
    "marks",
    "panels",
    "themed",
]

DASHES = [[1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [12, 4], [1, 4]]
"""So that lines are told apart on a black-and-white printer."""
WIDE, HIGH = 560, 320


def altair() -> Any:
    """The chart library, imported late: listing experiments needs none."""
    import altair as alt  # noqa: PLC0415 - it takes half a second

    return alt


def data(rows: Iterable[Mapping[str, Any]]) -> Any:
    """Rows for a chart."""
    return altair().Data(values=[dict(row) for row in rows])


def log_axis(field: str, title: str, *, low: int, high: int) -> dict[str, Any]:
    """The words of a logarithmic axis from 10^low to 10^high, for alt.X(**...) or alt.Y(**...).

    Powers of ten have lines and labels; no other value has.
    """
    alt = altair()
    powers = [10.0**n for n in range(low, high + 1)]
    return {
        "shorthand": f"{field}:Q", "title": title,
        "scale": alt.Scale(type="log", nice=False, domain=[powers[0], powers[-1]]),
        "axis": alt.Axis(values=powers, format=",~r"),
    }  # fmt: skip


def curves(
    rows: Iterable[Mapping[str, Any]],
    *,
    x: Any,
    y: Any,
    colour: str,
    order: Sequence[str],
    columns: int = 2,
) -> Any:
    """Lines, one for each value of a field, with colours and dashes in a stated order."""
    alt = altair()
    names = list(order)
    legend = alt.Legend(title=None, orient="top", columns=columns, labelLimit=320, symbolSize=260)
    return (
        alt.Chart(data(rows))
        .mark_line(strokeWidth=2.2, clip=True)
        .encode(
            x=x,
            y=y,
            color=alt.Color(
                f"{colour}:N", scale=alt.Scale(domain=names, range=COLOURS[: len(names)]),
                legend=legend, sort=names,
            ),
            strokeDash=alt.StrokeDash(
                f"{colour}:N", scale=alt.Scale(domain=names, range=DASHES[: len(names)]),
                legend=legend, sort=names,
            ),
        )
    )  # fmt: skip


def band(rows: Iterable[Mapping[str, Any]], *, x: Any, low: str, high: str, colour: str) -> Any:
    """A pale band between two fields."""
    alt = altair()
    return (
        alt.Chart(data(rows))
        .mark_area(opacity=0.18, color=colour, clip=True)
        .encode(x=x, y=alt.Y(f"{low}:Q"), y2=f"{high}:Q")
    )


def marks(places: Mapping[str, float], *, x: Any, y: Any, top: float) -> Any:
    """Vertical lines on the axes x and y, with words beside them that begin below `top`."""
    alt = altair()
    across, up = x.shorthand.partition(":")[0], y.shorthand.partition(":")[0]
    rows = [{across: at, "says": says, up: top} for says, at in places.items()]
    lines = alt.Chart(data(rows)).mark_rule(color="#999999", strokeDash=[2, 3]).encode(x=x)
    words = (
        alt.Chart(data(rows))
        .mark_text(angle=270, align="right", baseline="bottom", dy=-3, fontSize=11, color="#555")
        .encode(x=x, y=y, text="says:N")
    )
    return lines + words


def panels(layers: Any, field: str, *, order: Sequence[str], columns: int) -> Any:
    """One small chart for each value of a field, in a stated order, with its value as heading."""
    alt = altair()
    heading = alt.Header(labelAnchor="start", labelFontWeight="bold", title=None)
    by = alt.Facet(f"{field}:N", sort=list(order), title=None, header=heading)
    return layers.facet(facet=by, columns=columns, spacing={"row": 22, "column": 26})


def themed(
    chart: Any, title: str, subtitle: str | Sequence[str] = (), *, sized: bool = True
) -> Any:
    """A finished figure: its title and subtitle, and the fonts and colours of all of them."""
    alt = altair()
    if sized:
        chart = chart.properties(width=WIDE, height=HIGH)
    lines = [subtitle] if isinstance(subtitle, str) else list(subtitle)
    return (
        chart.properties(title=alt.Title(title, subtitle=lines))
        .configure_view(stroke=None)
        .configure_axis(
            labelFontSize=12, titleFontSize=13, titleFontWeight="normal", gridColor="#e9e9e9"
        )
        .configure_legend(labelFontSize=12, titleFontSize=12)
        .configure_header(labelFontSize=13, titleFontSize=13, titleFontWeight="normal")
        .configure_title(
            anchor="start", fontSize=15, subtitleFontSize=12, subtitleColor="#555", offset=12
        )
    )
