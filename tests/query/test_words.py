"""Words that refusals share: suggestions from declared names, and numbers that are too long."""

from fractions import Fraction

from discreet.query.words import MOST_COMPARED, brief, listed, meant, visible


def test_a_close_name_is_suggested_as_it_was_declared():
    assert meant("SALRY", ["age", "Salary"]) == " (did you mean 'Salary'?)"
    assert meant("salary", []) == ""
    assert meant("bonus", ["salary", "age"]) == ""
    assert meant(5, ["5"]) == ""
    assert meant("5", [5, 6]) == ""


def test_long_names_and_long_lists_cost_little():
    assert meant("a" * 10_000, ["a" * 10_000, "a" * 60]) == f" (did you mean {'a' * 60!r}?)"
    many = [f"{i:06d}x" for i in range(MOST_COMPARED)]
    assert meant("wanted", [*many, "wanted_"]) == ""


def test_lists_end_in_dots():
    assert listed(["a", "b"], 2) == "a, b"
    assert listed([3, 1, 2], 2) == "3, 1, ..."
    assert listed(["x" * 99], 2) == "x" * 60


def test_what_cannot_be_written_is_described():
    assert brief("a") == "a"
    assert brief(-(10**5000)) == "a number of 16610 bits"
    assert brief(Fraction(1, 10**5000)) == "Fraction of a number with too many digits"
    assert brief([10**5000]) == "list of a number with too many digits"


def test_what_would_drive_a_terminal_is_written_out():
    assert visible("a\u00a0b") == "a b"
    assert visible("\x1b[2J\u202egnp\u200b\n") == "\\x1b[2J\\u202egnp\\u200b\\n"
