"""What is written reads back as the same; nothing handed in becomes syntax."""

import tomllib
from datetime import date, datetime
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

from discreet.curator.policy.written import added, changed, joined, key_text, table_text, value_text
from discreet.errors import ParameterError

WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
NASTY = st.sampled_from([
    '"', "'", '"""', "\\", "\n[ledger]\n", '"\nepsilon = 1000\n#', "]", "}", "#", "\r\n", "\x00",
    "\x7f", "\x85", "\u2028", "a.b", "", " ", "true", "1979-05-27", "=", "[[x]]", "<script>",
])  # fmt: skip
TEXTS = WORDS | NASTY
SCALARS = (
    TEXTS
    | st.booleans()
    | st.integers(-(10**40), 10**40)
    | st.decimals(allow_nan=False, allow_infinity=False)
    | st.dates()
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=30) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=40,
)


def read(text):
    return tomllib.loads(text, parse_float=Decimal)


def alike(one, other):
    """Equal, and of the same types all the way down."""
    if isinstance(one, dict):
        return isinstance(other, dict) and list(one) == list(other) and all(
            alike(one[key], other[key]) for key in one
        )  # fmt: skip
    if isinstance(one, list):
        return isinstance(other, list) and len(one) == len(other) and all(map(alike, one, other))
    return type(one) is type(other) and one == other


@settings(max_examples=examples(300), deadline=None)
@given(VALUES)
def test_every_value_reads_back_as_itself(value):
    assert alike(read(f"x = {value_text(value)}\n")["x"], value)


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=4), st.dictionaries(TEXTS, VALUES, max_size=4))
def test_every_table_reads_back_at_its_path_and_nowhere_else(path, values):
    text = added('a = 1  # kept\n[b]\nc = "d"', table_text(["new", *path], values))
    assert "a = 1  # kept\n" in text
    found = read(text)
    assert list(found) == ["a", "b", "new"]
    assert (found["a"], found["b"]) == (1, {"c": "d"})
    inner = found["new"]
    for key in path:
        assert key in inner
        inner = inner[key]
    assert alike(inner, values)


def test_long_lists_are_broken_between_items():
    words = [f"a department with a long name {i}" for i in range(40)]
    text = value_text({"keys": words})
    assert max(len(line) for line in text.splitlines()) <= 96
    assert read(f"x = {text}")["x"] == {"keys": words}


def test_numbers_stay_exact():
    assert value_text(0.1) == "0.1"
    assert value_text(Decimal("0.10")) == "0.10"
    assert value_text(Decimal(5)) == "5.0"
    assert value_text(Decimal("1e300")) == "1E+300"
    assert table_text(["x"], {"a": None, "b": 1}) == "[x]\nb = 1\n"
    assert key_text("hours worked") == '"hours worked"'


@pytest.mark.parametrize(
    "value",
    [None, b"x", datetime(2024, 1, 1), float("nan"), Decimal("inf"), "\ud800", {1, 2}, [None]],  # noqa: DTZ001
)
def test_what_has_no_form_is_refused(value):
    with pytest.raises(ParameterError):
        value_text(value)


POLICY = """# the owner's words
[family.staff]
epsilon = 3  # in all
[analyst.alice.allowance]
staff = { epsilon = 1, delta = 1e-9 } # inline
[analyst.bob]
allowance.staff.epsilon = 0.5 \t
[dataset.d]
source = '''
epsilon = 1
'''
"""


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        (("family", "staff", "epsilon"), "epsilon = 3  # in all", "epsilon = 2.5  # in all"),
        (("analyst", "alice", "allowance", "staff", "epsilon"), "= 1,", "= 2.5,"),
        (("analyst", "bob", "allowance", "staff", "epsilon"), "= 0.5 \t", "= 2.5 \t"),
    ],
)  # fmt: skip
def test_one_value_changes_and_nothing_else(path, old, new):
    assert changed(POLICY, path, Decimal("2.5")) == POLICY.replace(old, new)


def test_a_value_that_is_not_there_cannot_change():
    for path in (("family", "other", "epsilon"), ("family", "staff", "rho"), ("family",)):
        with pytest.raises(ParameterError, match="does not stand in the policy"):
            changed(POLICY, path, 1)


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        (("family", "staff", "delta"), "3  # in all\n", "3  # in all\ndelta = 0.001\n"),
        (("analyst", "alice", "allowance", "staff", "rho"), "= 1,", "= 1, rho = 0.001,"),
    ],
)  # fmt: skip
def test_a_value_is_added_behind_another_and_comments_stay(path, old, new):
    assert joined(POLICY, path, Decimal("0.001"), beside="epsilon") == POLICY.replace(old, new)


def test_a_value_that_cannot_be_added_is_refused():
    with pytest.raises(ParameterError, match="change the text"):  # its table is in dotted keys
        joined(POLICY, ("analyst", "bob", "allowance", "staff", "delta"), 0, beside="epsilon")
    with pytest.raises(ParameterError, match="change the text"):  # it is there already
        joined("[x]\na = 1\nb = 2", ("x", "b"), 3, beside="a")
    with pytest.raises(ParameterError, match=r"family\.other\.epsilon does not stand"):
        joined(POLICY, ("family", "other", "delta"), 0, beside="epsilon")
    assert joined("[x]\na = 1", ("x", "b"), 3, beside="a") == "[x]\na = 1\nb = 3"


def test_a_longer_value_is_replaced_whole():
    text = 'x = [\n  1, # one\n  2,\n]\ny = """a\nb""" # c\n'
    assert changed(text, ("x",), [3]) == 'x = [3]\ny = """a\nb""" # c\n'
    assert (
        changed(text, ("y",), date(2024, 1, 1)) == text.partition("y")[0] + "y = 2024-01-01 # c\n"
    )


@settings(max_examples=examples(100), deadline=None)
@given(st.dictionaries(TEXTS, VALUES, min_size=1, max_size=4), SCALARS, st.data())
def test_any_value_of_any_table_can_change(values, value, data):
    key = data.draw(st.sampled_from(list(values)))
    text = table_text(["t"], values)
    assert alike(read(changed(text, ("t", key), value))["t"], {**values, key: value})
