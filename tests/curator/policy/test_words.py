"""The policy in words: everything is said, and what is unwise is said too."""

import math
import re
from datetime import date

import pytest
from tests.curator.policy.example import FULL, SMALL, changed, policy

from discreet.curator.policy.words import chance_of_guessing, explained, warnings
from discreet.privacy.guarantee import ZCDP, ApproxDP, PureDP

X = "x = { low = 0, high = 10 }\n"


def words(*changes: tuple[str, str], text: str = FULL) -> str:
    return re.sub(r"\s+", " ", explained(policy(*changes, text=text)))


SAID = [
    "Family staff: the people of payroll",
    "Protected is whether any one person is in the data, and what is said about them.",
    "In all, epsilon 3 may be spent on them",
    "has to guess whether a person is in the data is right at most 96 times in 100",
    "Questions are answered until 2027-12-31, that day included.",
    "Answers are private",
    "alice may use epsilon 1 of staff, until 2027-06-30, that day included.",
    "An allowance holds once more for every block with people of its own.",
    "A question that does not say it costs epsilon 0.1.",
    "confidence of 0.95",
    "It is read from payroll.csv and this state is called 2024-12.",
    "A person is known by the column employee_id; rows without it are left out.",
    "At most 4 rows of a person count in each group of a question",
    "at most 2 groups of a question",
    "never has more than 100,000,000 rows; you promise this",
    "department: one of 3 keys (Fire, Police, Library); anything else counts as missing.",
    "year: one of 4 keys",
    "salary: a number from 0 to 400000, in steps of 1; what is outside is moved to the nearer end",
    "bonus: a number; its bounds are found privately, once, for epsilon 0.1.",
    "hired: a date from 2000-01-01 to 2024-12-31; others are moved to the nearer end.",
    "remote: yes or no; anything else counts as missing.",
    "job: text of which nothing is known; grouping by it needs a delta.",
    "name: hidden; no question can use it.",
    "Columns that are not named here cannot be used by any question.",
    "region is a public table of 2 rows: region, rank by department.",
    "Block 2025-q1, from payroll-2025-q1.csv, version 2025-q1: people of its own with a budget",
    "In the ledger staff.ledger, with the head file staff.ledger.head.",
]


@pytest.mark.parametrize("sentence", SAID)
def test_the_example(sentence):
    assert sentence in words()


def test_the_example_gives_no_warning_and_fits_a_screen():
    assert warnings(policy()) == []
    assert "Think again" not in words()
    assert max(map(len, explained(policy()).split("\n"))) <= 92


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (('"add_or_remove"', '"replace"'), "that they are in the data is not hidden"),
        (('"add_or_remove"', '"replace"'), "which of two records is a person's is right"),
        (("epsilon = 1\n", "epsilon = 1\ndelta = 1e-9\n"), "epsilon 1, delta 1e-09 may be spent"),
        (("epsilon = 1\n", "epsilon = 1\ndelta = 1e-9\n"), "the chance that this promise fails"),
        (("epsilon = 1\n", 'accounting = "zcdp"\nrho = 0.1\n'), "rho 0.1 may be spent on them"),
        (("epsilon = 1\n", 'accounting = "zcdp"\nrho = 0.1\n'), "epsilon 2.15 at delta 1e-06"),
        (("epsilon = 1\n", 'epsilon = 1\nreleases = "public"\n'), "free for every analyst"),
        (("epsilon = 1\n", "epsilon = 10\n"), "may be right in all but 1 of 22,028 cases"),
        (("epsilon = 1\n", "epsilon = 1000\n"), "may be right every time"),
        (('"row"', '{ per = "row", together = 4 }'), "groups of up to 4 people"),
        (('"row"', '"row"'), "Every row is one person, and everyone has one row at most"),
        (('"row"', '{ person = "i", max_rows = 3 }'), "At most 3 rows of a person count in a"),
        (
            ('"row"', '{ person = "i", max_rows = "find", find_epsilon = 0.1 }'),
            "is found privately, for epsilon 0.1",
        ),
        (
            ('"row"', '{ person = "i", max_rows = 3, trusted = true }'),
            "Nobody has more than 3 rows; you promise this",
        ),
        ((X, "x = { low = 0, high = 10, missing = 5 }\n"), "a missing value counts as 5."),
        ((X, X), "Only the owner: no analyst is named."),
        ((X, X), "Questions are answered without an end date."),
    ],
)
def test_other_policies(change, sentence):
    assert sentence in words(change, text=SMALL)


@pytest.mark.parametrize(
    ("unit", "sentence"),
    [
        ("max_rows = 1", "At most 1 row of a person counts in a question"),
        ("max_rows = 1, trusted = true", "Nobody has more than 1 row; you promise"),
        ("max_rows = 2, max_groups = 1", "counts in at most 1 group of a question"),
    ],
)
def test_one_is_one(unit, sentence):
    assert sentence in words(('"row"', f'{{ person = "i", {unit} }}'), text=SMALL)


def test_what_was_written_as_epsilon_and_delta_is_told_as_that():
    told = words(("epsilon = 1\n", 'accounting = "zcdp"\nepsilon = 2\ndelta = 1e-6\n'), text=SMALL)
    assert "keeps what you wrote: epsilon 2 at delta 1e-06." in told


def test_what_is_over_is_said():
    assert warnings(policy(), date(2027, 6, 30)) == []
    found = warnings(policy(), date(2027, 7, 1))
    assert found == ["The analyst alice ended on 2027-06-30: nothing is answered any more."]
    assert warnings(policy(), date(2028, 1, 1))[0] == (
        "The family staff ended on 2027-12-31: nobody is answered any more."
    )


def test_who_may_know_what_is_left():
    assert "What is left of this budget is told to nobody but you." in words()
    told = words(('releases = "private"', "tells_rest = true"))
    assert "is told what is left of it, and so what others have spent" in told
    assert "told to nobody" not in told
    assert "told to nobody" not in words(text=SMALL)  # nobody else asks


def test_a_public_size():
    sized = ('"row"', '{ per = "row", rows = 29000 }')
    found = words(('"add_or_remove"', '"replace"'), sized, text=SMALL)
    assert "The number of rows is public: 29,000." in found


def test_databases_and_odd_names():
    text = SMALL.replace("dataset.d", "dataset.pay-roll")
    source = ('source = "d.csv"\n', 'source = "postgresql://a:secret@db/x"\ntable = "t"\n')
    ledger = ('path = "a.ledger"\n', 'address = "postgresql://b:secret@db/l"\nhead = "/v/a.head"\n')
    found = words(source, ledger, text=text)
    assert "the table t of postgresql://a@db/x" in found
    assert "In the ledger postgresql://b@db/l, with the head file /v/a.head." in found
    assert 'FROM "pay-roll"' in found
    assert "secret" not in found
    file = ('source = "d.csv"\n', 'source = "/v/a.duckdb"\ntable = "t"\n')
    assert "the table t of /v/a.duckdb" in words(file, text=SMALL)


def test_a_shared_block():
    found = words(('"own"', '"shared"'))
    assert "its people are the family's, and it charges the budget of staff." in found


BLOCK = '[dataset.d.block.q]\nsource = "q.csv"\nversion = "1"\npeople = "own"\nepsilon = 20\n'


@pytest.mark.parametrize(
    ("change", "warning"),
    [
        (("epsilon = 1\n", "epsilon = 10.1\n"), "The budget of the family f is large"),
        (
            ("epsilon = 1\n", 'accounting = "zcdp"\nrho = 2\n'),
            "The budget of the family f is large",
        ),
        (("epsilon = 1\n", "epsilon = 1\ndelta = 1e-4\n"), "The delta of the family f is above"),
        ((X, X + BLOCK), "The budget of the block q of d is large"),
        (
            ('"row"', '{ person = "i", max_rows = 3, trusted = true }'),
            "The unit of d is trusted: if one person has more rows than promised",
        ),
        (('"row"', '{ person = "x" }'), "The column x of d names the person"),
        ((X, "x = { find = true, epsilon = 0.6 }\n"), "Finding bounds costs epsilon 0.6"),
        ((X, 'x = "hidden"\n'), "No column of d can be used"),
        (
            (X, X + '[dataset.d.lookup.r]\nkey = "k"\nrows = [{ k = "a", z = "b" }]\n'),
            "No question can join the public table r of d: its key k is no column",
        ),
        (
            (X, X + '[family.g]\nepsilon = 1\nneighbours = "replace"\n'),
            "The family g has no dataset.",
        ),
        (
            (
                X,
                X
                + "[analyst.a.allowance.f]\nepsilon = 1\n[analyst.b.allowance.f]\nepsilon = 0.5\n",
            ),
            "The allowances of f add up to epsilon 1.5, and the family has epsilon 1.",
        ),
    ],
)
def test_warnings(change, warning):
    (found,) = warnings(policy(change, text=SMALL))
    assert found.startswith(warning)
    assert re.sub(r"\s+", " ", found) in words(change, text=SMALL)


def test_the_chance_of_guessing():
    assert chance_of_guessing(PureDP(1)) == pytest.approx(math.e / (1 + math.e))
    assert chance_of_guessing(ApproxDP(1, "1e-3")) == pytest.approx((math.e + 1e-3) / (1 + math.e))
    assert chance_of_guessing(PureDP(1000)) == 1
    assert chance_of_guessing(PureDP("1e-9")) == pytest.approx(0.5)


@pytest.mark.parametrize("rho", [0.001, 0.1, 0.5, 1, 3, 10])
def test_the_chance_of_guessing_covers_gaussian_noise(rho):
    """The Gaussian mechanism of sensitivity 1 with variance 1/(2 rho) is rho-zCDP."""
    gaussian = (1 + math.erf(math.sqrt(2 * rho) / (2 * math.sqrt(2)))) / 2
    assert gaussian <= chance_of_guessing(ZCDP(rho)) <= 1


def test_the_change_helper_is_strict():
    with pytest.raises(AssertionError):
        changed(("not there", ""))
