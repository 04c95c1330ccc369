"""Bins of a histogram: read from its question, told in words, drawn from end to end."""

from dataclasses import replace

import pytest
from tests.curator.releases import make

from discreet.curator.binned import bins_of
from discreet.query.build import Query
from discreet.query.schema import Bounds, PerRow, Schema


def binned(bounds, bins, name="pay", left_out=()):
    """The release of a histogram as it was asked."""
    schema = Schema("t", PerRow(), {name: bounds}, storage={})
    quoted = '"' + name.replace('"', '""') + '"'
    query = Query(schema).histogram(quoted, bins=bins)
    (grouping,) = query.plan.groupings
    low, width = bounds.low, (bounds.high - bounds.low) / bins
    edges = [low + i * width for i in range(bins) if i not in left_out]
    keys = [int(e) if e.denominator == 1 else float(e) for e in edges]
    rows = tuple((key, 5) for key in keys)
    made = make((grouping.name, "count"), (grouping.name,), rows)
    return replace(made, sql=query.to_sql())


@pytest.mark.parametrize(
    ("bounds", "many", "words", "first", "last"),
    [
        (Bounds(40000, 400000, 1), 50, "pay in 50 bins of 7,200", "40,000 to 47,200",
         "392,800 to 400,000"),
        (Bounds(0, 100, 1), 10, "pay in 10 bins of 10", "0 to 10", "90 to 100"),
        (Bounds(-10, 10, "0.5"), 4, "pay in 4 bins of 5", "-10 to -5", "5 to 10"),
        (Bounds(0, 1, "0.01"), 4, "pay in 4 bins of 0.25", "0 to 0.25", "0.75 to 1"),
    ],
)  # fmt: skip
def test_bins_are_told_by_their_ends(bounds, many, words, first, last):
    release = binned(bounds, many)
    found = bins_of(release)
    assert found.words() == words
    assert (found.label(release.rows[0][0]), found.label(release.rows[-1][0])) == (first, last)
    assert found.key == "pay_group"
    told = " ".join(found.question.split())
    assert told == "SELECT pay_group, COUNT(*) AS count FROM t GROUP BY pay_group"
    assert found.label(None) == "(none)"


def test_a_name_in_quotes():
    found = bins_of(binned(Bounds(0, 100, 1), 5, name='a "b"'))
    assert found.words() == 'a "b" in 5 bins of 20'


def test_bins_that_are_left_out_are_not_counted():
    assert bins_of(binned(Bounds(0, 100, 1), 5, left_out=[2])).words() == "pay in bins of 20"


def test_other_questions_have_no_bins():
    other = binned(Bounds(0, 100, 1), 5)
    assert bins_of(replace(other, sql="SELECT pay_group, COUNT(*) AS count FROM t")) is None
    assert bins_of(replace(other, sql="SELECT 2 * FLOOR(LEAST(pay, 3) / 2) AS x FROM t")) is None
    renamed = replace(other, sql=other.sql.replace("AS pay_group", "AS another"))
    assert bins_of(renamed) is None


def test_the_table_shows_both_ends_and_the_words():
    text = str(binned(Bounds(40000, 400000, 1), 5))
    assert " 40,000 to 112,000" in text
    assert "pay_group: pay in 5 bins of 72,000; an edge is in the bin above." in text
    assert "FLOOR" not in text


def test_the_figure_is_drawn_from_end_to_end():
    chart = binned(Bounds(40000, 400000, 1), 50).plot().to_dict()
    assert "FLOOR" not in str(chart["title"])
    assert chart["title"]["subtitle"][0].startswith("pay in 50 bins of 7,200: SELECT pay_group")
    bars = chart["layer"][0]["encoding"]
    assert bars["x"]["title"] == "pay in 50 bins of 7,200"
    assert bars["x"]["axis"]["format"].startswith(",")
    assert bars["x2"]["field"] == "end"
    first = chart["data"]["values"][0]
    assert (first["main"], first["middle"], first["end"]) == (40000, 43600, 47200)
    assert first["label"] == "40,000 to 47,200"


def test_many_bins_and_none_are_drawn(tmp_path):
    assert binned(Bounds(0, 1000, 1), 200).plot(path=tmp_path / "x.svg")
    empty = binned(Bounds(0, 100, 1), 5, left_out=range(5))
    assert empty.plot(path=tmp_path / "y.svg")
