"""Reports and counts files: read back as written, refused in words that quote nobody."""

import io

import numpy as np
import pytest

import discreet as dp
from discreet.local.rappor import Params
from discreet.local.rappor.files import Counts, Report, counted, read_reports, write_reports

PARAMS = Params(k=4, h=1, m=2)
REPORTS = [Report("ann", 0, 5), Report("bob", 1, 15), Report("cyd", 0, 1, bloom=1, prr=3)]


def text_of(reports):
    out = io.StringIO()
    write_reports(out, reports, PARAMS)
    return out.getvalue()


def test_reports_are_read_as_they_were_written():
    text = text_of(REPORTS)
    lines = ["client,cohort,bloom,prr,irr", "ann,0,,,0101", "bob,1,,,1111", "cyd,0,0001,0011,0001"]
    assert text.splitlines() == lines
    assert list(read_reports(io.StringIO(text), PARAMS)) == REPORTS


def test_counting_is_the_same_in_one_and_in_parts():
    counts = counted(iter(REPORTS), PARAMS)
    assert counts.totals.tolist() == [2, 1]
    assert counts.ones.tolist() == [[2, 0, 1, 0], [1, 1, 1, 1]]
    slow = Counts.of([0, 1, 0], [5, 15, 1], PARAMS)
    parts = counted(REPORTS[:1], PARAMS) + counted(REPORTS[1:], PARAMS)
    for other in (slow, parts):
        assert np.array_equal(other.totals, counts.totals)
        assert np.array_equal(other.ones, counts.ones)


@pytest.mark.parametrize("k", [1, 7, 8, 9, 33, 256])
def test_any_number_of_bits_is_counted(k):
    params = Params(k=k, h=1, m=3)
    reports = [(1 << k) - 1, 1, 1 << (k - 1), 0] * 5
    cohorts = [i % 3 for i in range(20)]
    rows = (Report("", c, r) for c, r in zip(cohorts, reports, strict=True))
    assert np.array_equal(counted(rows, params).ones, Counts.of(cohorts, reports, params).ones)


def test_blocks_of_reports_are_added_up():
    rows = (Report("", i % 2, i % 16) for i in range((1 << 16) + 5))
    counts = counted(rows, PARAMS)
    assert counts.totals.tolist() == [(1 << 15) + 3, (1 << 15) + 2]


def test_a_counts_file(tmp_path):
    file = tmp_path / "counts.csv"
    counts = counted(REPORTS, PARAMS)
    counts.write(file)
    assert file.read_text() == "2,2,0,1,0\n1,1,1,1,1\n"
    assert np.array_equal(Counts.read(file, PARAMS).ones, counts.ones)


@pytest.mark.parametrize(
    "text",
    ["", "2,2,0,1,0\n", "2,2,0,1,0\n1,1,1,1\n", "2,2,0,1,0\n1,1,1,1,2\n", "2,2,0,1,0\n1,1,1,1,x\n",
     "2,2,0,1,-1\n1,1,1,1,1\n", "2,2,0,1,nan\n1,1,1,1,1\n", "2,2,0,1,0.5\n1,1,1,1,1\n",
     "1e300,2,0,1,0\n1,1,1,1,1\n"],
)  # fmt: skip
def test_a_wrong_counts_file_is_refused(text, tmp_path):
    file = tmp_path / "counts.csv"
    file.write_text(text)
    with pytest.raises(dp.ParameterError, match="counts"):
        Counts.read(file, PARAMS)


@pytest.mark.parametrize(
    "row",
    ["eve,0,,,010", "eve,0,,,01012", "eve,2,,,0101", "eve,-1,,,0101", "eve,0,,,", "eve,0,0101",
     "eve,0,,,01x1", "eve,0,x,,0101", "eve,٣,,,0101"],
)  # fmt: skip
def test_a_wrong_report_is_named_by_its_row_alone(row):
    text = text_of(REPORTS) + row + "\n"
    with pytest.raises(dp.ParameterError, match="row 5 of the reports file") as told:
        list(read_reports(io.StringIO(text), PARAMS))
    assert "eve" not in str(told.value)
    assert "01x1" not in str(told.value)


def test_a_file_of_something_else_is_refused():
    with pytest.raises(dp.ParameterError, match="must begin with"):
        list(read_reports(io.StringIO("a,b\n"), PARAMS))


def test_wrong_counts_are_refused():
    ones = np.zeros((2, 4), np.int64)
    with pytest.raises(dp.ParameterError, match="each cohort"):
        Counts(np.zeros(3, np.int64), ones)
    with pytest.raises(dp.ParameterError, match="whole"):
        Counts(np.zeros(2), ones)
    with pytest.raises(dp.ParameterError, match="no more ones"):
        Counts(np.zeros(2, np.int64), ones + 1)
    with pytest.raises(dp.ParameterError, match="same cohorts"):
        Counts.empty(PARAMS) + Counts.empty(Params())
    with pytest.raises(dp.ParameterError, match="as the parameters say"):
        Counts.empty(PARAMS).check(Params())
    with pytest.raises(dp.ParameterError, match="cohort"):
        Counts.of([2], [0], PARAMS)
    with pytest.raises(dp.ParameterError, match="report"):
        Counts.of([0], [16], PARAMS)
