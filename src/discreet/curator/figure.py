"""A picture of a release: its numbers as bars or lines, its intervals as whiskers or bands.

What is drawn follows from the keys. No key: one bar. A key that is a bin of a number: bars from
where it begins to where it ends. One that is a date, or a number with many values: a line with a
band. Any other: bars, lying down where labels are long or many. Two keys: one is the colour, or a
panel each where it has many values. Of many groups the largest are drawn, and the figure says so.

Keys may hold anything that people wrote into the data. They are never used as names of fields, and
"<" before a letter, "/", "!" or "?" is parted from it by an invisible joiner, so that no text can
end the script that a chart is embedded in (altair writes its HTML without escaping).
Tested by tests/curator/test_figure.py
"""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.curator.binned import Bins, bins_of
from discreet.curator.frames import library
from discreet.curator.one_level import finest
from discreet.curator.printed import confidence_of, key_text, sentence
from discreet.curator.values import Value, kind_of, shortened, visible
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.curator.release import Release

__all__ = ["figure", "saved"]

MOST_BARS = 60
"""More groups than these are not drawn as bars: the largest are, or a line is."""
LARGEST = 40
MOST_PANELS = 12
WIDE, PANEL, LINE = 620, 190, 100
HAS_INTERVAL = "isValid(datum.low) && isValid(datum.high)"
BAR, DARK = "#7b9fc4", "#222222"
COLOURS = ["#4477aa", "#cc6677", "#117733", "#ddaa33", "#88ccee", "#aa4499"]
"""Told apart by colour-blind readers too."""

Point = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Axis:
    """One key: its field in the data, its name, its scale, and its labels in order."""

    field: str
    name: str
    scale: str  # "nominal", "ordinal", "quantitative" or "temporal"
    labels: list[Any]
    bins: Bins | None = None

    @property
    def is_line(self) -> bool:
        """Whether neighbouring values are joined by a line."""
        return self.bins is None and self.scale in ("quantitative", "temporal")

    @property
    def room(self) -> int:
        """How wide the longest label is, with a space beside it."""
        return 7 * (1 + max((len(label) for label in self.labels), default=0))

    def lies_down(self, width: int = WIDE) -> bool:
        """Whether bars have to lie down because the labels would not fit side by side."""
        alone = len(self.labels) == 1
        return self.scale == "nominal" and (alone or self.room * len(self.labels) > width)


@dataclass(frozen=True, slots=True)
class Picture:
    """What is drawn: points, the keys they are drawn against, and what was left out."""

    column: str
    points: list[Point]
    main: Axis
    split: Axis | None
    told: list[str]


def figure(release: Release, column: str | None = None, path: str | Path | None = None) -> Any:
    """An altair chart of one column, saved where a path is given (.png, .svg or .html)."""
    alt = library("altair", "plot()")
    drawn = finest(release)
    picture = _picture(drawn, _column(release, column))
    if len(drawn) < len(release):
        picture.told.append("Drawn: the finest groups; the others are their sums.")
    return saved(_drawn(alt, picture).properties(title=_title(alt, release, picture)), path)


def saved(chart: Any, path: str | Path | None) -> Any:
    """A chart in the look of all charts, saved where a path is given."""
    chart = chart.configure_view(stroke=None).configure_axis(
        labelFontSize=12, titleFontSize=13, titleFontWeight="normal", gridColor="#e6e6e6"
    )
    chart = chart.configure_title(
        anchor="start", fontSize=15, subtitleFontSize=11.5, subtitleColor="#555", offset=14
    )
    chart = chart.configure_header(labelFontSize=12, titleFontSize=13, titleFontWeight="normal")
    if path is not None:
        _save(chart, Path(path))
    return chart


def _save(chart: Any, path: Path) -> None:
    options: dict[str, dict[str, Any]] = {
        ".png": {"scale_factor": 2},
        ".svg": {},
        ".html": {"inline": True},  # with all scripts in the file
    }
    if path.suffix.lower() not in options:
        raise ParameterError("path", str(path), "must end in .png, .svg or .html")
    library("vl_convert", "plot(path=...)", "vl-convert-python")
    chart.save(str(path), format=path.suffix.lower()[1:], **options[path.suffix.lower()])


def _column(release: Release, column: str | None) -> str:
    """The column to draw: the one that was named, or the first of numbers."""
    if column is not None:
        if kind_of(release[column]) not in ("int", "float", "none"):
            raise ParameterError("column", column, "must hold numbers to be drawn")
        return column
    others = [name for name in release.columns if name not in release.keys]
    for name in sorted(others, key=lambda name: name not in release.intervals):
        if kind_of(release[name]) in ("int", "float", "none"):
            return name
    raise ParameterError("column", None, "must be named: there is no column of numbers to draw")


def _text(text: str, most: int = 60) -> str:
    """Visible text that ends neither a script nor a formula in which it is embedded.

    A backslash becomes a letter that looks like one: formulas of charts do not escape it.
    """
    harmless = visible(text).replace("\\", "\u29f5")
    return re.sub(r"<(?=[/!?A-Za-z])", "<\u2060", shortened(harmless, most))


def _number(value: Value) -> float | None:
    if value is None or isinstance(value, str | date):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def _picture(release: Release, name: str) -> Picture:
    keys = [key for key in release.keys if key != name]
    points: list[Point] = []
    places: list[list[Value]] = []
    for row, pair in zip(release, release.intervals.get(name, (None,) * len(release)), strict=True):
        value, (low, high) = _number(row[name]), pair or (None, None)
        if value is not None:
            points.append({"value": value, "low": _number(low), "high": _number(high)})
            places.append([row[key] for key in keys])
    told = []
    if len(points) < len(release):
        told.append(f"{len(release) - len(points):,} of {len(release):,} rows have no value.")
    columns = [[place[i] for place in places] for i in range(len(keys))]
    split = None
    if len(keys) == 2:
        along = _along(columns)
        main = _axis(points, "main", keys[along], columns[along])
        split = _axis(points, "split", keys[1 - along], columns[1 - along], discrete=True)
    elif len(keys) == 1:
        bins = bins_of(release)
        main = (
            _axis(points, "main", keys[0], columns[0])
            if bins is None or bins.key != keys[0]
            else _binned(points, bins, columns[0])
        )
    else:
        joined: list[Value] = [" · ".join(map(key_text, place)) or name for place in places]
        main = _axis(points, "main", ", ".join(keys), joined)
    return _fewer(Picture(_text(name), points, main, split, told))


def _along(columns: list[list[Value]]) -> int:
    """Which of two keys runs along the axis: one with an order, else the one with more values."""
    lines = [_scale(column) in ("temporal", "quantitative") for column in columns]
    if lines[0] != lines[1]:
        return lines.index(True)
    return 0 if len(set(columns[0])) >= len(set(columns[1])) else 1


def _scale(values: list[Value]) -> str:
    kind, some = kind_of(values), len(set(values))
    if kind == "date" and some > 2:
        return "temporal"
    if kind in ("int", "float"):
        return "quantitative" if some > MOST_BARS else "ordinal"
    return "ordinal" if kind == "date" else "nominal"


def _axis(
    points: list[Point], field: str, name: str, values: list[Value], *, discrete: bool = False
) -> Axis:
    """Choose the scale of a key and write its place on it into every point."""
    scale, labels = _scale(values), _labels(values)
    if discrete and scale in ("temporal", "quantitative"):
        scale = "ordinal"
    for point, value in zip(points, values, strict=True):
        if scale == "temporal":  # midnight here, wherever that is
            point[field] = None if value is None else f"{value}T00:00:00"
        elif scale == "quantitative":
            point[field] = _number(value)
        else:
            point[field] = labels[type(value), value]
    return Axis(field, _text(name), scale, list(labels.values()))


def _binned(points: list[Point], bins: Bins, lows: list[Value]) -> Axis:
    """An axis of bins: every point knows its ends, and its middle for the whiskers."""
    width = float(bins.width)
    for point, low in zip(points, lows, strict=True):
        begin = _number(low)
        point["main"] = begin
        point["end"] = None if begin is None else begin + width
        point["middle"] = None if begin is None else begin + width / 2
        point["label"] = bins.label(low)
    return Axis("main", _text(bins.column), "quantitative", [], bins)


def _labels(values: list[Value]) -> dict[Any, str]:
    """A label for each different value, no two alike; numbers and dates in their order."""
    different: list[Any] = list(dict.fromkeys((type(value), value) for value in values))
    if kind_of(values) in ("int", "float", "date"):
        different.sort(key=lambda one: (one[1] is None, 0 if one[1] is None else one[1]))
    labels: dict[Any, str] = {}
    taken: Counter[str] = Counter()
    for one in different:
        label = _text(key_text(one[1]))
        taken[label] += 1
        labels[one] = label if taken[label] == 1 else f"{label} ({taken[label]})"
    return labels


def _fewer(picture: Picture) -> Picture:
    """Leave out what cannot be drawn well, and say so: the largest groups stay."""
    points, main, split, told = picture.points, picture.main, picture.split, list(picture.told)
    if main.is_line or main.bins is not None:
        points = [point for point in points if point["main"] is not None]
        if len(points) < len(picture.points):
            told.append(f"The group without {main.name} is not drawn.")
    elif main.scale == "nominal" and len(main.labels) > MOST_BARS:
        main, points = _largest(points, main, LARGEST, told)
    if split is not None and len(split.labels) > MOST_PANELS:
        split, points = _largest(points, split, MOST_PANELS, told)
    return Picture(picture.column, points, main, split, told)


def _largest(
    points: list[Point], axis: Axis, most: int, told: list[str]
) -> tuple[Axis, list[Point]]:
    """The largest groups along one key, largest first."""
    sums: dict[str, float] = dict.fromkeys(axis.labels, 0.0)
    for point in points:
        sums[point[axis.field]] += point["value"]
    kept = sorted(sums, key=lambda label: -sums[label])[:most]
    if axis.scale == "ordinal":
        kept = [label for label in axis.labels if label in kept]
    told.append(f"Drawn: the {most} largest of {len(axis.labels):,} groups by {axis.name}.")
    chosen = set(kept)
    return replace(axis, labels=kept), [p for p in points if p[axis.field] in chosen]


def _title(alt: Any, release: Release, picture: Picture) -> Any:
    """What is shown, the question, the promise, and what the intervals cover."""
    by = [axis.name for axis in (picture.main, picture.split) if axis is not None and axis.name]
    head = f"{picture.column} by {' and '.join(by)}" if by else picture.column
    bins = bins_of(release)
    asked = release.sql if bins is None else f"{bins.words()}: {bins.question}"
    question = textwrap.wrap(_text(" ".join(asked.split()), 400), LINE)
    lines = question[:3]
    if len(question) > 3:
        lines[-1] += " …"
    lines += textwrap.wrap(_text(str(release.guarantee), 400), LINE)
    if any(point["low"] is not None for point in picture.points):
        said = f"Intervals: {confidence_of(release)}. {_text(sentence(release.covers), 400)}"
        lines += textwrap.wrap(said, LINE)
    if not picture.points:
        lines.append("There is nothing to draw.")
    return alt.Title(head, subtitle=[*lines, *picture.told])


def _drawn(alt: Any, picture: Picture) -> Any:
    main, split = picture.main, picture.split
    data = alt.Data(values=picture.points)
    if split is None or _is_coloured(main, split):
        colours = 1 if split is None else len(split.labels)
        down = main.lies_down()
        layers = _lines(alt, picture, split) if main.is_line else _bars(alt, picture, split, down)
        if main.bins is not None:
            layers = _histogram(alt, picture, main.bins)
        width, height = _size(main, colours, down=down)
        return alt.layer(*layers, data=data).properties(width=width, height=height)
    down = main.lies_down(PANEL)
    layers = _lines(alt, picture, None) if main.is_line else _bars(alt, picture, None, down)
    panel = alt.Facet(
        field="split",
        type="nominal",
        title=split.name,
        sort=split.labels,
        header=alt.Header(labelLimit=PANEL),
    )
    height = 14 * len(main.labels) if down else 130
    small = alt.layer(*layers, data=data).properties(width=PANEL, height=height)
    return small.facet(facet=panel, columns=2 if down else 3)


def _is_coloured(main: Axis, split: Axis) -> bool:
    """Whether the second key is told by colour: few colours, and not too many bars."""
    few = main.is_line or len(main.labels) * len(split.labels) <= MOST_BARS
    return few and len(split.labels) <= len(COLOURS)


def _size(main: Axis, colours: int, *, down: bool) -> tuple[int, int]:
    many = max(1, len(main.labels))
    if down:
        return WIDE - 120, max(40, many * max(19, 11 * colours + 8))
    if main.bins is not None:
        return WIDE, 260
    if main.is_line or main.scale == "ordinal":
        return WIDE if many > 4 else 320, 260
    return min(WIDE, max(160, many * max(64, 26 * colours + 16, main.room))), 260


def _bars(alt: Any, picture: Picture, colour: Axis | None, down: bool) -> list[Any]:  # noqa: FBT001
    """Bars, and whiskers over them."""
    main = picture.main
    along, across = ("y", "x") if down else ("x", "y")
    axis = alt.Axis(
        labelAngle=0, labelLimit=240, grid=False, ticks=False, labelPadding=6,
        labelOverlap=main.scale == "ordinal",
    )  # fmt: skip
    channel = alt.Y if down else alt.X
    place = {
        along: channel(
            field="main", type=main.scale, sort=main.labels, title=main.name or None, axis=axis
        )
    }
    if colour is not None:
        offset = alt.YOffset if down else alt.XOffset
        place[f"{along}Offset"] = offset(field="split", type="nominal", sort=colour.labels)
    value, other = (alt.X, alt.X2) if down else (alt.Y, alt.Y2)
    bars = alt.Chart().encode(
        **place,
        **{across: _value(alt, value, picture, stack=None)},
        **_colour(alt, colour),
        tooltip=_tooltip(alt, picture),
    )
    known = alt.Chart().transform_filter(HAS_INTERVAL)
    ends = {across: value(field="low", type="quantitative"), f"{across}2": other(field="high")}
    layers = [
        bars.mark_bar(**({} if colour else {"color": BAR})),
        known.mark_rule(color=DARK, strokeWidth=1.4).encode(**place, **ends),
    ]
    if len(picture.points) <= MOST_BARS:
        for end in ("low", "high"):
            cap = known.mark_tick(color=DARK, thickness=1.4, size=7, opacity=1)
            at = {across: value(field=end, type="quantitative")}
            layers.append(cap.encode(**place, **at))
    return layers


def _histogram(alt: Any, picture: Picture, bins: Bins) -> list[Any]:
    """Bars over the bins, and whiskers in their middle."""
    ends = [end for p in picture.points for end in (p["main"], p["end"])] or [0.0, 1.0]
    x = alt.X(
        field="main", type="quantitative", title=_text(bins.words()),
        axis=alt.Axis(format=",.12~g", grid=False, tickCount=9, labelOverlap=True),
        scale=alt.Scale(domain=[min(ends), max(ends)], nice=False),
    )  # fmt: skip
    bars = alt.Chart().encode(
        x=x, x2=alt.X2(field="end"), y=_value(alt, alt.Y, picture, stack=None), y2=alt.datum(0),
        tooltip=_tooltip(alt, picture),
    )  # fmt: skip
    known = alt.Chart().transform_filter(HAS_INTERVAL)
    place = {"x": alt.X(field="middle", type="quantitative")}
    rule = known.mark_rule(color=DARK, strokeWidth=1.4 if len(picture.points) <= MOST_BARS else 0.7)
    low, high = alt.Y(field="low", type="quantitative"), alt.Y2(field="high")
    layers = [
        bars.mark_bar(color=BAR, stroke="white", strokeWidth=0.6),
        rule.encode(**place, y=low, y2=high),
    ]
    for end in ("low", "high") if len(picture.points) <= MOST_BARS else ():
        cap = known.mark_tick(color=DARK, thickness=1.4, size=7, opacity=1, orient="horizontal")
        layers.append(cap.encode(**place, y=alt.Y(field=end, type="quantitative")))
    return layers


def _lines(alt: Any, picture: Picture, colour: Axis | None) -> list[Any]:
    """A line, its points where they are few, and the band of the intervals."""
    main = picture.main
    place = {"x": alt.X(field="main", type=main.scale, title=main.name, axis=alt.Axis(grid=False))}
    plain = {} if colour else {"color": COLOURS[0]}
    base = alt.Chart().encode(**place, **_colour(alt, colour))
    band = (
        base.transform_filter(HAS_INTERVAL)
        .mark_area(opacity=0.22, **plain)
        .encode(y=alt.Y(field="low", type="quantitative"), y2=alt.Y2(field="high"))
    )
    value = base.encode(
        y=_value(alt, alt.Y, picture, scale=alt.Scale(zero=_from_zero(picture.points))),
        tooltip=_tooltip(alt, picture),
    )
    few = len(picture.points) <= MOST_BARS * (1 if colour is None else len(colour.labels))
    layers = [band, value.mark_line(strokeWidth=1.8, **plain)]
    return [*layers, value.mark_point(filled=True, size=22, opacity=1, **plain)] if few else layers


def _from_zero(points: list[Point]) -> bool:
    """Whether the axis starts at 0: yes, unless all numbers are far above it."""
    ends = [end for p in points for end in (p["value"], p["low"], p["high"]) if end is not None]
    return not ends or min(ends) < max(ends) / 2


def _value(alt: Any, channel: Any, picture: Picture, **options: Any) -> Any:
    axis = alt.Axis(domain=False, ticks=False, tickCount=6)
    return channel(field="value", type="quantitative", title=picture.column, axis=axis, **options)


def _colour(alt: Any, colour: Axis | None) -> dict[str, Any]:
    if colour is None:
        return {}
    chosen = alt.Color(
        field="split",
        type="nominal",
        sort=colour.labels,
        title=colour.name,
        scale=alt.Scale(domain=colour.labels, range=COLOURS[: len(colour.labels)]),
        legend=alt.Legend(orient="top", symbolType="square", symbolOpacity=1),
    )
    return {"color": chosen}


def _tooltip(alt: Any, picture: Picture) -> list[Any]:
    main, split = picture.main, picture.split
    shown = [alt.Tooltip(field="main", type=main.scale, title=main.name or picture.column)]
    if main.bins is not None:
        shown = [alt.Tooltip(field="label", type="nominal", title=main.name)]
    if split is not None:
        shown.append(alt.Tooltip(field="split", type="nominal", title=split.name))
    for field, title in (("value", picture.column), ("low", "low"), ("high", "high")):
        shown.append(alt.Tooltip(field=field, type="quantitative", title=title, format=",.6~g"))
    return shown
