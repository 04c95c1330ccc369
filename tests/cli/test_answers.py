import json

from tests.curator.releases import counts, make

from discreet.cli.answers import answered, bar, table

BY_DEPARTMENT = "SELECT department, COUNT(*) FROM payroll GROUP BY department"


def test_bars():
    assert bar(0, 4) == "    "
    assert bar(1, 4) == "████"
    assert bar(0.53, 4).startswith("██▏")
    assert bar(7, 2) == "██"


def test_an_analyst_sees_the_own_allowance_only(registered, run):
    words = ("ask", "policy.toml", BY_DEPARTMENT, "--epsilon", "0.5")
    first = run(*words, "--as", "alice")
    assert "charged epsilon 0.5 · left epsilon 0.5 of 1 · release " in first.stderr
    assert "ledger" not in first.stderr
    other = run(*words, "--as", "bob")  # somebody else's answer: paid for all the same
    assert "charged epsilon 0.5 · left epsilon 0.5 of 1 · release " in other.stderr
    again = run(*words, "--as", "bob")
    assert again.stderr.startswith("free: asked before, on ")
    owner = run(*words)  # the people's budget is not charged again
    assert owner.stderr.startswith("free: ")
    assert "left epsilon 2.5 of 3" in owner.stderr


def test_an_answer_that_somebody_else_got_a_moment_before_is_free(here):
    """Two loops on one file: who is served by the other's answer was not charged."""
    from discreet.curator.oneoff import open_file

    columns = {"department": ["Fire", "Police", "Library"]}
    with (
        open_file("payroll.csv", columns=columns) as one,
        open_file("payroll.csv", columns=columns) as two,
    ):
        first = []

        def race():
            first.append(answered(two, None, lambda: two.ask(BY_DEPARTMENT, epsilon="0.4")))
            return one.ask(BY_DEPARTMENT, epsilon="0.4")

        served = answered(one, None, race)
        assert first[0].charged == "epsilon 0.4"
        assert served.charged is None
        assert served.words().startswith("free: asked before, on ")
        assert served.record == first[0].record
        assert served.left == first[0].left == "epsilon 9.6 of 10"


def test_public_releases_are_free_for_everybody(here, run):
    text = (here / "policy.toml").read_text()
    (here / "policy.toml").write_text(
        text.replace("epsilon = 3\n", 'epsilon = 3\nreleases = "public"\n')
    )
    run("register", "policy.toml")
    words = ("ask", "policy.toml", BY_DEPARTMENT, "--epsilon", "0.5")
    assert "charged epsilon 0.5" in run(*words, "--as", "alice").stderr
    found = run(*words, "--as", "bob")
    assert found.stderr.startswith("free: ")
    assert "left epsilon 1 of 1" in found.stderr


def test_json_holds_the_answer_and_its_price(registered, run):
    told = json.loads(run("ask", "policy.toml", BY_DEPARTMENT, "--json", "--as", "alice").stdout)
    assert told["charged"] == "epsilon 0.1"
    assert told["left"] == "epsilon 0.9 of 1"
    assert told["record"]["schema"] == "discreet-record/1"
    told = json.loads(run("ask", "policy.toml", BY_DEPARTMENT, "--json", "--as", "alice").stdout)
    assert told["free"] is True
    assert told["charged"] is None


def test_short_releases_print_themselves_and_long_ones_in_full():
    made = counts([5, 3])
    assert table(made) == str(made)
    long = counts(list(range(30)), keys=[f"k{i}" for i in range(30)])
    text = table(long)
    assert all(f"k{i} " in text for i in range(30))
    assert "more" not in text
    assert "█" in text
    assert text.rpartition("\n\n")[2] == str(long).rpartition("\n\n")[2]


def test_no_bars_where_they_would_mislead():
    rows = [(f"k{i}", i - 5, 2.5) for i in range(30)]
    assert "█" not in table(make(("k", "n", "m"), ("k",), rows))
    negative = [(f"k{i}", i - 5) for i in range(30)]
    assert "█" not in table(make(("k", "n"), ("k",), negative))
    missing = [(f"\x1b[2J{i}", None) for i in range(30)]
    text = table(make(("k", "n"), ("k",), missing))
    assert "–" in text
    assert "\x1b" not in text
