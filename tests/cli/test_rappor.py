"""`discreet rappor`: from words to shares, through files alone."""

import json

import pytest
from typer.testing import CliRunner

from discreet.cli import app

runner = CliRunner()


def run(*words, code=0):
    found = runner.invoke(app, ["rappor", *map(str, words)])
    assert found.exit_code == code, found.output
    return found.output


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "params.csv").write_text("k,h,m,p,q,f\n8,2,4,0.1,0.9,0.125\n")
    (tmp_path / "secret.key").write_bytes(bytes(range(32)))
    rows = [f"c{i},{'apple' if i % 4 else 'pear'}" for i in range(2000)]
    (tmp_path / "values.csv").write_text("\n".join(["client,value", *rows]) + "\n")
    (tmp_path / "words.txt").write_text("apple\npear\nplum\nquince\n")
    return tmp_path


def everything(*more):
    run("encode", "values.csv", "--params", "params.csv", "--secret", "secret.key",
        "-o", "reports.csv", *more)  # fmt: skip
    run("count", "reports.csv", "--params", "params.csv", "-o", "counts.csv")
    run("map", "words.txt", "--params", "params.csv", "-o", "map.csv")


DECODE = ("decode", "--params", "params.csv", "--counts", "counts.csv", "--map", "map.csv")


@pytest.mark.statistical
@pytest.mark.parametrize("mode", [[], ["--compatible"]])
def test_from_words_to_shares(place, mode):
    """2,000 light reports: both words stand out by far more than 7 standard errors."""
    everything(*mode)
    told = run(*DECODE)
    assert "candidates found in 2,000 reports" in told
    assert "epsilon" in told
    found = json.loads(run(*DECODE, "--json"))
    shares = {one["word"]: one["share"] for one in found["estimates"] if one["found"]}
    assert {"apple", "pear"} <= set(shares)
    assert shares["apple"] == pytest.approx(0.75, abs=0.2)
    assert "not found" in run(*DECODE, "--all", "--alpha", "1e-12")
    run(*DECODE, "--correction", "bh")


def test_a_candidate_drives_no_terminal(place):
    (place / "words.txt").write_text("apple\npear\n\x1b[2Jplum\n")
    everything()
    told = run(*DECODE, "--all")
    assert r"\x1b[2Jplum" in told
    assert "\x1b" not in told


def test_the_reports_hold_nothing_private(place):
    everything()
    lines = (place / "reports.csv").read_text().splitlines()
    assert len(lines) == 2001
    assert all(line.split(",")[2:4] == ["", ""] for line in lines[1:])
    assert "apple" not in "".join(lines)


def test_what_was_saved_as_json(place):
    told = run("map", "words.txt", "--params", "params.csv", "-o", "map.csv", "--json")
    assert json.loads(told) == {"saved": "map.csv", "candidates": 4}


def test_insufficient_data_is_said(place):
    run("map", "words.txt", "--params", "params.csv", "-o", "map.csv")
    (place / "counts.csv").write_text("4,2,2,2,2,2,2,2,2\n" * 4)
    assert "insufficient data" in run(*DECODE, code=1)


def test_what_is_wrong_is_said(place):
    everything()
    short = place / "short.key"
    short.write_bytes(b"short")
    words = ("values.csv", "--params", "params.csv", "-o", "x.csv")
    assert "16" in run("encode", *words, "--secret", short, code=2)
    (place / "values.csv").write_text("name\nann\n")
    assert "client,value" in run("encode", *words, "--secret", "secret.key", code=2)
    (place / "values.csv").write_text("client,value\nann\n")
    told = run("encode", *words, "--secret", "secret.key", code=2)
    assert "row 2" in told
    assert "ann" not in told
    assert "alpha" in run(*DECODE, "--alpha", "2", code=2)
    assert "correction" in run(*DECODE, "--correction", "none", code=2)
    assert "missing.csv" in run("decode", "--params", "missing.csv", "--counts", "counts.csv",
                                "--map", "map.csv", code=2)  # fmt: skip
