"""The look of the figures."""

from discreet.gallery import charts


def test_a_chart_of_curves_marks_and_a_band_is_a_picture(tmp_path):
    alt = charts.altair()
    rows = [{"x": 10.0**i, "y": 10.0**-i, "of": name} for i in range(4) for name in ("a", "b")]
    x = alt.X(**charts.log_axis("x", "across", low=0, high=3))
    y = alt.Y(**charts.log_axis("y", "up", low=-2, high=0))
    lines = charts.curves(rows, x=x, y=y, colour="of", order=("b", "a"), columns=1)
    band = charts.band(
        [{"x": 1, "low": 0.1, "high": 1}, {"x": 100, "low": 0.1, "high": 1}],
        x=x, low="low", high="high", colour=charts.COLOURS[0],
    )  # fmt: skip
    chart = charts.themed(band + lines + charts.marks({"here": 5.0}, x=x, y=y, top=0.9), "T", "S")
    chart.save(str(tmp_path / "x.svg"))
    text = (tmp_path / "x.svg").read_text()
    assert all(
        f">{word}<" in text for word in ("T", "S", "a", "b", "here", "across", "up", "1,000")
    )


def test_panels_have_their_headings_in_order(tmp_path):
    alt = charts.altair()
    rows = [{"x": i, "of": name} for i in range(3) for name in ("a", "b")]
    bars = alt.Chart(charts.data(rows)).mark_bar().encode(x="x:Q").properties(width=50, height=50)
    chart = charts.panels(bars, "of", order=("b", "a"), columns=2)
    charts.themed(chart, "T", sized=False).save(str(tmp_path / "x.svg"))
    text = (tmp_path / "x.svg").read_text()
    assert 0 < text.index(">b<") < text.index(">a<")
