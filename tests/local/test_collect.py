from itertools import permutations

import numpy as np
import pyarrow.parquet
import pytest

import discreet as dp
from discreet.local.catalogue import oracles
from discreet.local.collect import collect_parquet
from discreet.local.report import Report

ORACLES = oracles()


def people(oracle, n=600):
    labels = oracle.domain.labels()
    return [labels[i % len(labels)] for i in range(n)]


@pytest.mark.parametrize("oracle", ORACLES, ids=repr)
def test_merging_is_associative_commutative_and_exact(oracle):
    reports = oracle.reports(people(oracle))
    whole = dp.local.Collector(oracle)
    whole.add(reports)
    parts = []
    for piece in (reports[:100], reports[100:101], reports[101:]):
        part = dp.local.Collector(oracle)
        part.add(piece)
        parts.append(part)
    for a, b, c in permutations(parts):
        assert a.merge(b).merge(c) == whole == a.merge(b.merge(c))
        assert a.merge(b).to_bytes() == b.merge(a).to_bytes()
    assert dp.local.Collector(oracle).merge(whole) == whole
    assert [part.n for part in parts] == [100, 1, 499]


def test_different_parameters_are_refused():
    a = dp.local.Collector(dp.local.SubsetSelection(8, 1))
    for other in (dp.local.SubsetSelection(8, 2), dp.local.SubsetSelection(9, 1),
                  dp.local.OptimizedUnary(8, 1)):  # fmt: skip
        b = dp.local.Collector(other)
        with pytest.raises(dp.ParameterError, match="same parameters"):
            a.merge(b)
        with pytest.raises(dp.ParameterError, match="same parameters"):
            dp.local.Collector.from_bytes(b.to_bytes(), a.oracle)
        with pytest.raises(dp.ParameterError, match="with these parameters"):
            a.add(other.report(0))
    with pytest.raises(dp.InputTypeError):
        a.merge("collector")
    assert a.n == 0


@pytest.mark.parametrize(
    "change",
    [
        lambda d: b"", lambda d: d[:-1], lambda d: d + bytes(8), lambda d: b"x" + d,
        lambda d: d.replace(b'"n": 3', b'"n": -3'), lambda d: d.replace(b'"n": 3', b'"n": 1'),
        lambda d: d[:-8] + b"\xff" * 8, lambda d: d.replace(b'"n"', b'"m"'),
        lambda d: d.replace(b"collector/1", b"collector/2"), lambda d: None,
        *(lambda d, n=n: d.replace(b'"n": 3', b'"n": ' + n)
          for n in (b"Infinity", b"1e400", b"3.5", b"true", b"1" + b"0" * 16, b"[" * 100_000)),
    ],
)  # fmt: skip
def test_what_is_no_stored_collector_is_refused(change):
    oracle = dp.local.KaryResponse(2, 1)
    collector = dp.local.Collector(oracle)
    collector.add(oracle.reports([0, 1, 1]))
    stored = collector.to_bytes()
    assert dp.local.Collector.from_bytes(stored, oracle) == collector
    with pytest.raises(dp.ParameterError, match="data"):
        dp.local.Collector.from_bytes(change(stored), oracle)


def test_malformed_reports_are_refused_whole_or_left_out():
    oracle = dp.local.KaryResponse(5, 1)
    good = oracle.report(1)
    wrong_code = Report(oracle.number, oracle.fingerprint, bytes([5]))
    too_long = Report(oracle.number, oracle.fingerprint, bytes(2))
    for bad in (wrong_code, too_long, b"nonsense", wrong_code.to_bytes(), 5):
        collector = dp.local.Collector(oracle)
        with pytest.raises((dp.ParameterError, dp.InputTypeError)):
            collector.add([good, bad, good])
        assert (collector.n, collector.refused, int(collector.tally.sum())) == (0, 0, 0)
        collector.add([good, bad, good], skip_malformed=True)
        assert (collector.n, collector.refused) == (2, 1)
    collector = dp.local.Collector(oracle)
    array = np.array([0, 1, 9, 4, 255], dtype=np.uint8)
    with pytest.raises(dp.ParameterError, match="2 malformed of 5"):
        collector.add(array)
    assert collector.n == 0
    collector.add(array, skip_malformed=True)
    assert (collector.n, collector.refused) == (3, 2)
    for bad in (array.astype(np.int64), array.reshape(5, 1), "text", None, 5):
        with pytest.raises(dp.InputTypeError):
            collector.add(bad)


def test_an_empty_collector_estimates_nothing():
    with pytest.raises(dp.ParameterError, match="at least one"):
        dp.local.Collector(dp.local.KaryResponse(3, 1)).estimate()
    with pytest.raises(dp.InputTypeError, match="oracle"):
        dp.local.Collector("k-RR")
    collector = dp.local.Collector(dp.local.KaryResponse(3, 1))
    collector.add(collector.oracle.report(0))
    with pytest.raises(dp.ParameterError, match="confidence"):
        collector.estimate(confidence=1)


def to_parquet(path, values, kind):
    pyarrow.parquet.write_table(pyarrow.table({'a "report': pyarrow.array(values, kind)}), path)


FORMS = [
    (oracle, form)
    for oracle in ORACLES
    for form in ("reports", "payloads", "codes")
    if form != "codes" or oracle.array_of(b"").ndim == 1
]


@pytest.mark.parametrize(("oracle", "form"), FORMS, ids=repr)
def test_parquet_gives_the_same_collector(oracle, form, tmp_path):
    array = oracle.reports(people(oracle, 200))
    expected = dp.local.Collector(oracle)
    expected.add(array)
    payloads = [row.tobytes() for row in array]
    values = {
        "codes": array.tolist(),
        "payloads": payloads,
        "reports": [Report(oracle.number, oracle.fingerprint, p).to_bytes() for p in payloads],
    }[form]
    path = tmp_path / "reports.parquet"
    to_parquet(path, values, "int32" if form == "codes" else "binary")
    assert collect_parquet(oracle, path, column='a "report') == expected


@pytest.mark.parametrize("oracle", [dp.local.KaryResponse(5, 1), dp.local.SubsetSelection(9, 1)])
def test_malformed_rows_of_parquet(oracle, tmp_path):
    good = oracle.report(1)
    full = good.to_bytes()
    values = [full, None, b"", full[:-1], b"\xff" * oracle.width, b"\x00" + full[1:], full + b"x"]
    path = tmp_path / "reports.parquet"
    to_parquet(path, values, "binary")
    with pytest.raises(dp.ParameterError, match="malformed"):
        collect_parquet(oracle, path, column='a "report')
    found = collect_parquet(oracle, path, column='a "report', skip_malformed=True)
    assert (found.n, found.refused) == (1, 6)
    expected = dp.local.Collector(oracle)
    expected.add(good)
    assert np.array_equal(found.tally, expected.tally)


def test_codes_of_parquet_that_are_none(tmp_path):
    path = tmp_path / "reports.parquet"
    to_parquet(path, [0, 4, 5, -1, None, 2**40], "int64")
    oracle = dp.local.KaryResponse(5, 1)
    found = collect_parquet(oracle, path, column='a "report', skip_malformed=True)
    assert (found.n, found.refused) == (2, 4)
    with pytest.raises(dp.ParameterError, match="4 malformed of 6"):
        collect_parquet(oracle, path, column='a "report')
    with pytest.raises(dp.ParameterError, match="must hold blobs"):
        collect_parquet(dp.local.OptimizedUnary(5, 1), path, column='a "report')


@pytest.mark.parametrize("oracle", [dp.local.KaryResponse(5, 1), dp.local.SubsetSelection(9, 1)])
def test_one_row_of_another_length_is_enough_to_refuse(oracle, tmp_path):
    path = tmp_path / "reports.parquet"
    to_parquet(path, [oracle.report(0).to_bytes(), b"x" * 30], "binary")
    with pytest.raises(dp.ParameterError, match="1 malformed of 2"):
        collect_parquet(oracle, path, column='a "report')


def test_counts_of_one_code_add_up():
    collector = dp.local.Collector(dp.local.KaryResponse(3, 1))
    collector.add_counts(np.array([1, 1, 0]), np.array([2, 3, 4]), skip=False)
    assert collector.tally.tolist() == [4, 5, 0]
    assert collector.n == 9


@pytest.mark.parametrize("make", ["KaryResponse", "SubsetSelection", "HadamardResponse"])
def test_counts_that_are_not_those_of_n_reports_are_refused(make):
    oracle = getattr(dp.local, make)(8, 1)
    collector = dp.local.Collector(oracle)
    collector.add(oracle.reports([0, 1, 1]))
    for n in (b"4", b"300"):
        stored = collector.to_bytes().replace(b'"n": 3', b'"n": ' + n)
        with pytest.raises(dp.ParameterError, match="counts of n reports"):
            dp.local.Collector.from_bytes(stored, oracle)


def test_a_negative_number_of_refused_reports_is_refused():
    oracle = dp.local.KaryResponse(3, 1)
    stored = dp.local.Collector(oracle).to_bytes().replace(b'"refused": 0', b'"refused": -1')
    with pytest.raises(dp.ParameterError, match="data"):
        dp.local.Collector.from_bytes(stored, oracle)
