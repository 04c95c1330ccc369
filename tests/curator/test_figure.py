"""Charts: the right marks, the right words, and no way out of the script for hostile text."""

import json
import re
import sys
from datetime import date, timedelta

import altair as alt
import pytest
from hypothesis import HealthCheck, given, settings
from tests.curator.releases import DAY, HOSTILE, any_release, counts, make

from discreet.errors import DiscreetError, ParameterError

DAYS = [date(2026, 1, 5) + timedelta(weeks=i) for i in range(30)]


def layers(chart):
    spec = chart.to_dict()
    return spec.get("spec", spec)["layer"]


def marks(chart):
    return [layer["mark"]["type"] for layer in layers(chart)]


def points(chart):
    (values,) = (
        chart.to_dict()["datasets"].values()
        if "datasets" in chart.to_dict()
        else (chart.to_dict()["data"]["values"],)
    )
    return values


def two(first, second, width=5):
    rows = tuple((a, b, 10 * i + j) for i, a in enumerate(first) for j, b in enumerate(second))
    pairs = tuple((row[2] - width, row[2] + width) for row in rows)
    return make(("first", "second", "count"), ("first", "second"), rows, {"count": pairs})


def test_bars_with_whiskers():
    chart = counts([12, 7, 3], keys=["a", "b", "c"]).plot()
    assert isinstance(chart, alt.TopLevelMixin)
    assert marks(chart) == ["bar", "rule", "tick", "tick"]
    encoding = layers(chart)[0]["encoding"]
    assert encoding["x"]["field"] == "main"
    assert encoding["x"]["sort"] == ["a", "b", "c"]
    assert points(chart)[1] == {"main": "b", "value": 7.0, "low": 1.0, "high": 13.0}


def test_long_or_many_labels_lie_down():
    for keys in (["a long name of a department", "b", "c", "d", "e"], [f"k{i}" for i in range(30)]):
        chart = counts(list(range(len(keys))), keys=keys).plot()
        assert layers(chart)[0]["encoding"]["y"]["field"] == "main"


def test_labels_side_by_side_have_room():
    """Five of them, as wide as labels are that just do not lie down: they met before."""
    chart = counts([1, 2, 3, 4, 5], keys=["a name, Nord", 'The "Old" Port', "c", "d", "e"]).plot()
    assert layers(chart)[0]["encoding"]["x"]["field"] == "main"
    assert chart.to_dict()["width"] >= 5 * 15 * 7


def test_the_words_around_it():
    title = counts([1, 2]).plot().to_dict()["title"]
    assert title["text"] == "count by department"
    assert title["subtitle"] == [
        "SELECT department, COUNT(*) AS count FROM staff GROUP BY department",
        "0.5-differential privacy (neighbours: one person is added or removed)",
        "Intervals: 95 %. They cover the noise only.",
    ]
    bare = make(("k", "count"), ("k",), (("a", 1),), sql="SELECT " + "something, " * 100)
    subtitle = bare.plot().to_dict()["title"]["subtitle"]
    assert len(subtitle) == 4
    assert subtitle[2].endswith("…")


def test_dates_are_a_line_with_a_band():
    chart = counts(list(range(30)), keys=DAYS, name="week").plot()
    assert marks(chart) == ["area", "line", "point"]
    assert layers(chart)[0]["encoding"]["x"]["type"] == "temporal"
    assert points(chart)[0]["main"] == "2026-01-05T00:00:00"
    two_days = counts([1, 2], keys=DAYS[:2]).plot()
    assert marks(two_days)[0] == "bar"


def test_numbers_are_ordered_bars_or_a_line():
    chart = counts([3, 1, 2], keys=[30, 10, 20], name="age").plot()
    assert marks(chart)[0] == "bar"
    assert layers(chart)[0]["encoding"]["x"]["sort"] == ["10", "20", "30"]
    many = counts(list(range(100)), keys=list(range(100)), name="age").plot()
    assert marks(many) == ["area", "line"]
    assert layers(many)[0]["encoding"]["x"]["type"] == "quantitative"


def test_of_many_groups_the_largest_are_drawn_and_it_is_said():
    chart = counts(list(range(1000))).plot()
    assert len(points(chart)) == 40
    assert points(chart)[0]["value"] in (999.0, 960.0)
    assert {point["value"] for point in points(chart)} == set(map(float, range(960, 1000)))
    assert layers(chart)[0]["encoding"]["y"]["sort"][0] == "group 999"
    assert (
        "Drawn: the 40 largest of 1,000 groups by department."
        in (chart.to_dict()["title"]["subtitle"])
    )


def test_two_keys_are_colours():
    chart = two(["a", "b", "c"], ["x", "y"]).plot()
    encoding = layers(chart)[0]["encoding"]
    assert encoding["color"]["field"] == "split"
    assert encoding["xOffset"]["field"] == "split"
    assert encoding["x"]["title"] == "first"
    turned = layers(two(["x", "y"], ["a", "b", "c"]).plot())[0]["encoding"]
    assert turned["x"]["title"] == "second"


def test_two_keys_with_dates_are_coloured_lines():
    chart = two(["north", "south"], DAYS).plot()
    assert marks(chart) == ["area", "line", "point"]
    assert layers(chart)[0]["encoding"]["color"]["title"] == "first"


def test_two_keys_with_many_values_are_panels():
    chart = two([f"r{i}" for i in range(9)], [f"j{i}" for i in range(8)]).plot()
    assert chart.to_dict()["facet"]["field"] == "split"
    many = two([f"r{i}" for i in range(30)], [f"j{i}" for i in range(20)]).plot()
    assert len({point["split"] for point in points(many)}) == 12
    dates = two(DAYS, [DAY + timedelta(i) for i in range(20)]).plot()
    assert marks(dates) == ["area", "line"]
    assert dates.to_dict()["facet"]["sort"][0] < dates.to_dict()["facet"]["sort"][-1]
    huge = two([f"r{i}" for i in range(80)], [f"j{i}" for i in range(20)]).plot()
    assert len({point["main"] for point in points(huge)}) == 40


def test_three_keys_are_one_label():
    rows = ((1, "a", True, 5), (1, "a", None, 6))
    chart = make(("p", "q", "r", "count"), ("p", "q", "r"), rows).plot()
    assert [point["main"] for point in points(chart)] == ["1 · a · true", "1 · a · (none)"]


def test_one_number_is_one_bar():
    chart = make(("count",), (), ((41,),), {"count": ((35, 47),)}).plot()
    assert marks(chart)[0] == "bar"
    assert chart.to_dict()["title"]["text"] == "count"
    assert points(chart)[0]["main"] == "count"


def test_nothing_to_draw_is_said():
    for release in (counts([]), make(("k", "count"), ("k",), (("a", None),))):
        subtitle = release.plot().to_dict()["title"]["subtitle"]
        assert "There is nothing to draw." in subtitle


def test_what_is_left_out_is_said():
    rows = (*tuple((day, i) for i, day in enumerate(DAYS)), (None, 7), (DAY, None))
    subtitle = make(("week", "count"), ("week",), rows).plot().to_dict()["title"]["subtitle"]
    assert "1 of 32 rows have no value." in subtitle
    assert "The group without week is not drawn." in subtitle


def test_the_column():
    release = make(
        ("k", "note", "mean", "count"), ("k",), (("a", "x", 1.5, 2),), {"count": ((1, 3),)}
    )
    assert release.plot().to_dict()["title"]["text"] == "count by k"
    assert release.plot("mean").to_dict()["title"]["text"] == "mean by k"
    with pytest.raises(ParameterError, match="must hold numbers to be drawn"):
        release.plot("note")
    with pytest.raises(ParameterError, match="must be one of"):
        release.plot("nonsense")
    with pytest.raises(ParameterError, match="no column of numbers"):
        make(("k", "note"), ("k",), (("a", "x"),)).plot()
    key = make(("year", "count"), ("year",), ((2020, 5),)).plot("year")
    assert points(key)[0]["value"] == 2020.0


def test_labels_that_look_alike_stay_apart():
    release = counts([1, 2, 3], keys=[None, "(none)", "\x1b"])
    chart = counts([1, 2, 3, 4], keys=[None, "(none)", "\x1b", "\\x1b"]).plot()
    assert len({point["main"] for point in points(chart)}) == 4
    assert len(points(release.plot())) == 3


ENDS = re.compile(r"<[/!?A-Za-z]")


def texts(value):
    """Every text inside a specification."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield name
            yield from texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from texts(inner)
    elif isinstance(value, str):
        yield value


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=40)
@given(any_release())
def test_no_text_can_end_the_script_it_stands_in(release):
    try:
        chart = release.plot()
    except DiscreetError:
        return
    for text in texts(chart.to_dict()):
        assert not ENDS.search(text)
        assert text.isprintable() or "\u2060" in text
    json.dumps(chart.to_dict(), allow_nan=False)


def test_hostile_text_in_every_place(tmp_path):
    for text in HOSTILE:
        if not text:
            continue
        release = make(
            (text, "b", "count"),
            (text, "b"),
            ((text, text, 1), ("b", text, 2)),
            sql=text,
            covers=text,
            mechanisms={},
        )
        assert not any(ENDS.search(said) for said in texts(release.plot().to_dict()))
    release = counts(list(range(len(HOSTILE))), keys=list(HOSTILE))
    release.plot(path=tmp_path / "x.html")
    page = (tmp_path / "x.html").read_text(encoding="utf-8")
    assert "</script><script>document" not in page
    assert "<script>alert" not in page
    assert not re.search(r'<script[^>]+src="http', page)  # nothing from outside


def test_files(tmp_path):
    release = counts([5, 6], keys=["a", "b"])
    release.plot(path=tmp_path / "x.png")
    release.plot(path=str(tmp_path / "x.SVG"))
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (tmp_path / "x.SVG").read_text(encoding="utf-8")
    with pytest.raises(ParameterError, match=r"\.png, \.svg or \.html"):
        release.plot(path=tmp_path / "x.pdf")


def test_an_absent_library_is_named_with_its_cure(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(ParameterError, match="pip install vl-convert-python"):
        counts([1]).plot(path=tmp_path / "x.png")
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(ParameterError, match="needs altair: pip install altair"):
        counts([1]).plot()


def test_numbers_too_large_for_a_float_are_left_out():
    chart = make(("k", "sum"), ("k",), (("a", 10**400), ("b", 5))).plot()
    assert [point["value"] for point in points(chart)] == [5.0]


@pytest.mark.parametrize("name", ['a\\" + (6*7) + \\"b', "\\u202e", "\\", "a\\nb"])
def test_a_column_name_is_no_formula(name, tmp_path):
    shown = make(("g", name), ("g",), (("a", 5), ("b", 7)), {name: ((1, 9), (3, 11))})
    shown.plot(name, path=tmp_path / "figure.svg")
    drawn = (tmp_path / "figure.svg").read_text()
    assert not any("a42b" in label for label in re.findall(r'aria-label="([^"]*)"', drawn))
