"""Sums, differences and ratios of stored releases: the numbers of the API, for nothing."""

import json
import shutil

import pytest
from tests.cli.conftest import POLICY

from discreet.curator.curator import Curator
from discreet.curator.derive import difference, ratio, rolled_up
from discreet.curator.record import Record
from discreet.curator.release import Release

OF = ("--policy", "policy.toml")
ASKED = {
    "aaaa1": "SELECT department, COUNT(*) AS n FROM payroll GROUP BY department",
    "bbbb2": "SELECT department, salary > 90000 AS high, COUNT(*) AS n FROM payroll GROUP BY 1, 2",
    "cccc3": "SELECT department, SUM(salary) AS pay, COUNT(*) AS n FROM payroll GROUP BY 1",
    "dddd4": "SELECT department, AVG(salary) AS mean FROM payroll GROUP BY 1",
    "eeee5": "SELECT department, COUNT(*) AS n FROM payroll WHERE department <> 'Fire' GROUP BY 1",
}


@pytest.fixture(scope="module")
def asked(made, tmp_path_factory):
    """A folder in which all was asked, once for all tests; each has a copy."""
    folder = tmp_path_factory.mktemp("deriving") / "asked"
    shutil.copytree(made, folder)
    (folder / "policy.toml").write_text(POLICY)
    Curator.register(folder / "policy.toml")
    with Curator(folder / "policy.toml") as curator:
        for key, question in ASKED.items():
            curator.ask(question, epsilon="0.4", key=key)
    return folder


@pytest.fixture
def stored(asked, tmp_path, monkeypatch):
    folder = shutil.copytree(asked, tmp_path / "here")
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def releases(stored, run):
    told = {key: json.loads(run("show", key, *OF, "--json").stdout) for key in ASKED}
    return {key[:4]: Record.from_dict(one).release for key, one in told.items()}


WAYS = {
    ("bbbb", "--by", "department"): lambda r: rolled_up(r["bbbb"], ["department"]),
    ("aaaa", "--total"): lambda r: rolled_up(r["aaaa"]),
    ("cccc", "--total", "--column", "n"): lambda r: rolled_up(r["cccc"], columns=["n"]),
    ("aaaa", "--difference", "cccc", "--column", "n"): lambda r: difference(
        r["aaaa"], r["cccc"], "n"
    ),
    ("cccc", "--ratio", "aaaa", "--column", "n"): lambda r: ratio(r["cccc"], r["aaaa"], "n"),
    ("cccc", "--per", "n"): lambda r: ratio(r["cccc"], "pay", "n"),
    ("bbbb", "--by", "department", "--difference", "aaaa"): lambda r: difference(
        rolled_up(r["bbbb"], ["department"]), rolled_up(r["aaaa"], ["department"]), "n"
    ),
    ("bbbb", "--total", "--ratio", "aaaa"): lambda r: ratio(
        rolled_up(r["bbbb"]), rolled_up(r["aaaa"]), "n"
    ),
    ("cccc", "--total", "--per", "n", "--column", "pay"): lambda r: ratio(
        rolled_up(r["cccc"]), "pay", "n"
    ),
}


@pytest.mark.parametrize("words", WAYS, ids=" ".join)
def test_the_numbers_are_those_of_the_api(words, releases, run):
    told = json.loads(run("derive", *words, *OF, "--json").stdout)
    made = Release.from_dict(told["release"])
    assert made == WAYS[words](releases)
    assert (told["free"], told["charged"]) == (True, None)
    others = [word for word in words[1:] if word in releases]
    assert [name[:4] for name in told["of"]] == [words[0], *others]


def test_it_costs_nothing_reads_no_data_and_says_so(stored, run):
    before = [
        run(*words).stdout for words in (("budget", "policy.toml"), ("ledger", "head", *OF[1:]))
    ]
    (stored / "payroll.csv").unlink()
    found = run("derive", "bbbb", "--by", "department", "--difference", "aaaa", *OF).stdout
    after = [
        run(*words).stdout for words in (("budget", "policy.toml"), ("ledger", "head", *OF[1:]))
    ]
    assert after == before
    assert "0.8-differential privacy" in found
    assert "Free steps since: rolled up by department, n minus that of another release." in found
    said = " ".join(found.split())
    assert "This cost nothing: it was computed from releases bbbb2 and aaaa1" in said
    assert "Its guarantee is that of both together. Release bbbb2: payroll, data version" in said
    alone = run("derive", "aaaa", "--total", *OF).stdout
    assert "0.4-differential privacy" in alone
    assert "computed from release aaaa1, no row was read" in " ".join(alone.split())


def test_what_is_derived_can_be_shown_drawn_and_derived_from(stored, run):
    made = run("derive", "bbbb", "--by", "department", *OF, "--json").stdout
    (stored / "made.json").write_text(made)
    assert "rolled up by department" in run("show", "made.json").stdout
    run("plot", "made.json", "-o", "f.svg")
    assert run("export", "made.json", "--csv").stdout.startswith("department,n,n_low,n_high")
    again = json.loads(run("derive", "made.json", "--total", "--column", "n", "--json").stdout)
    assert again["of"] == ["bbbb2"]  # what the file was made of
    steps = again["release"]["steps"]
    assert steps == ["rolled up by department", "rolled up by nothing"]


def test_of_a_file_that_was_asked(here, run):
    words = ("--by", "department", "--keys", "Fire,Police,Library")
    run("count", "payroll.csv", *words, "--epsilon", "1")
    listed = json.loads(run("ledger", "show", "payroll.csv", "--json").stdout)
    key = listed["entries"][0]["release"]
    budget = run("budget", "payroll.csv").stdout
    found = run("derive", key[:6], "--total", "--ledger", "payroll.csv").stdout
    assert found.startswith("count\n")
    assert run("budget", "payroll.csv").stdout == budget


def test_the_same_release_twice_is_paid_once(stored, run):
    found = run("derive", "aaaa", "--difference", "aaaa1", *OF).stdout
    assert "0.4-differential privacy" in found
    assert "computed from release aaaa1, no row" in " ".join(found.split())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("aaaa",), "--by or --total, --difference, --ratio or --per must be said"),
        (("zzzz", "--total"), "is not stored here; `discreet ledger show` lists all"),
        (("aaaa", "--difference", "zzzz"), "is not stored here"),
        (("aaaa", "--by", "n"), "must be a key of release aaaa1: department, got 'n'"),
        (("aaaa", "--total", "--column", "x"), "must be a number of release aaaa1: n, got 'x'"),
        (("aaaa", "--per", "x", "--column", "n"), "must be a number of release aaaa1: n, got 'x'"),
        (("aaaa", "--per", "n"), "must say which number is meant: there is none"),
        (("cccc", "--difference", "aaaa"), "must say which number is meant: pay, n"),
        (("cccc", "--per", "n", "--column", "n", "--column", "pay"), "must be one number"),
        (("dddd", "--difference", "aaaa"), "must be a number of release aaaa1: n, got 'mean'"),
        (("aaaa", "--difference", "bbbb"), "say --by with those that both have, or --total"),
        (("bbbb", "--by", "high", "--difference", "aaaa"), "must be a key of release aaaa1"),
        (("aaaa", "--by", "department", "--total"), "leave it out, or --by"),
        (("cccc", "--per", "n", "--ratio", "aaaa"), "--per goes without --ratio"),
        (("dddd", "--total"), "ask for SUM and COUNT, roll both up and take their ratio"),
        (("aaaa", "--difference", "eeee"), "only one of the two releases has the keys Fire"),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, tuple) else "",
)
def test_wrong_words(words, said, stored, run):
    assert said in run("derive", *words, *OF, code=2).stderr
    told = json.loads(run("derive", *words, *OF, "--json", code=2).stderr.splitlines()[-1])
    assert (told["error"]["charged"], told["exit"]) == (False, 2)


def test_a_publication_is_asked_in_ranges(registered, run):
    words = ("salary", "--range", "0:400000", "--bins", "8", "--epsilon", "0.1", "--key", "7c41e")
    run("publish", "policy.toml", *words)
    found = run("derive", "7c41", "--total", *OF, code=2).stderr
    assert "`discreet range` and `discreet quantile` answer from it" in found


def test_a_ledger_that_is_not_there(here, run):
    assert "no ledger" in run("derive", "abcd", "--total", "--ledger", "payroll.csv", code=4).stderr
