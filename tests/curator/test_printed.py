"""What people read: aligned, honest about intervals, and deaf to hostile text."""

from datetime import date
from html.parser import HTMLParser

import pytest
from hypothesis import given
from tests.curator.releases import DAY, HOSTILE, any_release, counts, make

from discreet.curator.printed import key_text, number_text
from discreet.curator.values import width_of


def test_a_table_as_a_statistician_prints_it():
    release = make(
        ("department", "count", "mean"),
        ("department",),
        (("Engineering", 1204, 81203.5), ("日本", 3, 50100.0), (None, 0, None)),
        {
            "count": ((1192, 1216), (0, 15), (0, 12)),
            "mean": ((80791.2, 81615.8), (49687.7, 50512.3), None),
        },
    )
    assert (
        str(release)
        == repr(release)
        == """\
department   count              mean
───────────  ───────────────  ────────────
Engineering  1,204 ± 12       81,204 ± 412
日本             3 (0 to 15)  50,100 ± 412
(none)           0 (0 to 12)       –

0.5-differential privacy (neighbours: one person is added or removed). Each interval has 95 %
confidence. They cover the noise only.
Note: bounds of salary found: 0 to 262144, at a cost of epsilon 0.1."""
    )


def test_twenty_rows_and_how_many_more():
    lines = str(counts(list(range(1000)))).splitlines()
    assert lines[22] == "... 980 more"
    assert lines[21].startswith("group 19")
    assert "more" not in str(counts(list(range(20))))
    assert "(no rows)" in str(counts([]))


def test_years_have_no_separator_and_numbers_do():
    text = str(make(("year", "count"), ("year",), ((2024, 123456),)))
    assert "2024  123,456" in text


def test_digits_follow_the_half_width():
    release = make(
        ("a", "b", "c", "d"),
        (),
        ((1.23456789, 0.000123456, 1234567.891, 2.5),),
        {"a": ((1.20456789, 1.26456789),), "c": ((1234567.0, 1234568.782),)},
    )
    (row,) = str(release).splitlines()[2:3]
    assert row.split() == ["1.235", "±", "0.030", "0.000123456", "1,234,567.89", "±", "0.89", "2.5"]


def test_intervals_that_are_not_in_the_middle_or_not_bounded():
    release = make(
        ("k", "x"),
        ("k",),
        ((1, 5), (2, 5), (3, 5), (4, 5), (5, 5), (6, None)),
        {"x": ((0, 5), (None, 9), (1, None), (None, None), None, (0, 9))},
    )
    margins = [line.split(" ", 1)[1].strip()[1:].strip() for line in str(release).splitlines()[2:8]]
    assert margins == ["(0 to 5)", "(9 or less)", "(1 or more)", "", "", "(0 to 9)"]


def test_intervals_of_dates_and_of_public_numbers():
    days = (date(2024, 1, 1), date(2024, 12, 31))
    release = make(("median", "rows"), (), ((DAY, 30),), {"median": (days,), "rows": ((30, 30),)})
    assert "2024-02-29 (2024-01-01 to 2024-12-31)" in str(release)
    assert "30 ± 0" in str(release)


def test_numbers():
    assert number_text(10**15) == "1.00000e+15"
    assert number_text(-(10**400)) == "-1.00000e+400"
    assert number_text(-0.001, 1) == "0.0"
    assert number_text(1e-9) == "1e-09"
    assert number_text(True) == key_text(True) == "true"
    assert number_text(DAY) == "2024-02-29"


def test_many_columns_are_named_if_they_do_not_fit():
    names = tuple(f"a_rather_long_name_{i}" for i in range(12))
    text = str(make(names, (), (tuple(range(12)),)))
    assert "More columns: a_rather_long_name_4" in text
    assert max(map(width_of, text.splitlines())) <= 100


def test_steps_and_notes_are_told():
    text = str(counts([4, 5]).adding_up_to(8))
    assert "Free steps since: count adds up to 8." in text
    assert "Note: bounds of salary found" in text


@given(any_release())
def test_nothing_in_text_drives_a_terminal(release):
    for text in (str(release), release.explain()):
        assert all(line.isprintable() for line in text.split("\n"))
        text.encode("utf-8")


def test_hostile_keys_keep_one_line_each():
    release = counts(list(range(len(HOSTILE))), keys=list(HOSTILE))
    lines = str(release).splitlines()
    assert lines[len(HOSTILE) + 2] == ""
    assert "\x1b" not in str(release)
    assert max(map(width_of, lines)) <= 100


class Tags(HTMLParser):
    """Every tag and attribute of a page, and its text."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.tags, self.attributes, self.text = set(), set(), []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)

    def handle_data(self, data):
        self.text.append(data)

    def handle_comment(self, data):
        raise AssertionError("a comment")


def parsed(release):
    tags = Tags()
    tags.feed(release._repr_html_())
    tags.close()
    return tags


ALLOWED = {
    "div", "table", "thead", "tbody", "tr", "th", "td", "p", "details", "summary", "pre",
}  # fmt: skip


@given(any_release())
def test_html_is_made_of_our_own_tags_only(release):
    found = parsed(release)
    assert found.tags <= ALLOWED
    assert found.attributes <= {"style", "scope"}


@pytest.mark.parametrize("text", [text for text in HOSTILE if text is not None])
def test_hostile_text_everywhere_is_text_in_html(text):
    release = make(
        (text or "k", "count"),
        (text or "k",),
        ((text, 1),),
        sql=text,
        covers=text,
        notes=(text,),
        steps=(text,),
        mechanisms={"count": text},
    )
    html = release._repr_html_()
    assert parsed(release).tags <= ALLOWED
    assert "http" not in html
    assert "<script" not in html.lower()
    html.encode("utf-8")


def test_html_shows_the_numbers_and_says_how_many_more():
    html = counts(list(range(1000)))._repr_html_()
    assert html.count("<tr>") == 51
    assert "... 950 more" in html
    assert "± 6" in html
    assert "color:inherit" in html  # light and dark pages
    assert "(no rows)" in counts([])._repr_html_()


def test_explain_tells_the_story():
    text = counts([3]).adding_up_to(5).explain()
    for said in (
        "Asked on 2026-11-16 at 03:04:05 UTC:\n    SELECT department, COUNT(*)",
        "It cost each person 0.5-differential privacy",
        "Column department: a group key.",
        "Column count: geometric noise, epsilon 0.5, standard deviation 2.8; then moved to add up;",
        "Each interval holds with 95 % confidence on its own. They cover the noise only.",
        "Note: bounds of salary found: 0 to 262144, at a cost of epsilon 0.1.",
        "Steps since: count adds up to 5.",
        "Whatever is computed from this release is free: it has the same guarantee.",
    ):
        assert said in text
