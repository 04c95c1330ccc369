"""The page: self-contained, harmless whatever people wrote, and readable by everybody."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from hypothesis import HealthCheck, given, settings
from tests.curator.releases import DAY, GUARANTEES, HOSTILE, any_release, counts, make
from tests.curator.test_record import STAFF, record

from discreet.curator.report import MOST_ROWS, report

VOID = {"meta", "br", "img", "input", "link", "hr"}
TAGS = {
    *("html", "head", "meta", "title", "style", "body", "main", "h1", "h2", "p", "div", "section"),
    *("table", "caption", "thead", "tbody", "tr", "th", "td", "figure", "figcaption", "ul", "li"),
    *("pre", "code", "b", "sup", "sub"),
    *("svg", "g", "path", "text", "line", "defs", "clippath", "rect", "tspan", "lineargradient"),
}


class Page(HTMLParser):
    """Reads a page and refuses tags that are not closed, or that we never write."""

    def __init__(self, html):
        super().__init__()
        self.open, self.tags, self.attributes, self.texts = [], [], [], []
        self.feed(html)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attrs):
        assert tag in TAGS, tag
        self.tags.append(tag)
        self.attributes += [(tag, *pair) for pair in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        assert tag in TAGS, tag
        self.tags.append(tag)
        self.attributes += [(tag, *pair) for pair in attrs]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_comment(self, data):
        raise AssertionError(data)

    def handle_data(self, data):
        if not self.open or self.open[-1] != "style":
            self.texts.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.texts).split())


def harmless(html):
    """No script, no handler, no address, nothing that a reader cannot see."""
    page = Page(html)
    for tag, name, value in page.attributes:
        assert not name.startswith("on"), (tag, name)
        assert name not in ("href", "src", "action", "xlink:href", "srcset", "background"), name
        assert "javascript" not in (value or "").lower()
    assert "://" not in html
    assert "@import" not in html
    assert re.sub(r"url\(#[\w-]+\)", "", html).find("url(") == -1
    assert all(letter.isprintable() or letter == "\n" for letter in html)
    return page


def test_the_page_says_everything_a_reader_needs():
    page = harmless(report(record(), publisher="Office of Statistics"))
    for words in (
        "Published by Office of Statistics",
        "Released on 16 November 2026 with 0.5-differential privacy",
        "12 6 to 18",
        "What the numbers mean",
        "What was promised to the people in the data",
        "one employee, with all her rows",
        "at most 62.3 % sure",
        "ε = 0.5",
        "How the noise was made",
        "geometric noise, epsilon 0.5",
        "95 % confidence",
        "They cover the noise only.",
        "staff, version 2026-11",
        "version 3, fingerprint 9f2c41aa70be",
        "entry 17",
        "discreet 0.1.0",
        "17:" + "3af1" * 16,
        "Bounds of salary found",
        record().id,
    ):
        assert words in page.text, words
    assert "dave" not in page.text


def test_without_its_number_an_entry_is_named_by_its_hash():
    whole, page = (harmless(report(replace(record(), entry=entry))) for entry in (17, 0))
    assert f"discreet ledger verify policy.toml --head 17:{'3af1' * 16} ." in whole.text
    assert "entry 0" not in page.text
    assert "Ledger" not in page.text
    assert "0:" + "3af1" * 16 not in page.text
    assert f"The hash of this entry is {'3af1' * 16} " in page.text
    assert f"discreet ledger verify policy.toml --head {'3af1' * 16} ." in page.text


def test_the_page_is_accessible():
    html = report(record())
    page = harmless(html)
    assert ("html", "lang", "en") in page.attributes
    assert page.tags.count("h1") == 1
    assert page.tags.count("h2") == 6
    assert page.tags.count("table") == page.tags.count("caption") == 2
    assert ("svg", "role", "img") in page.attributes
    (label,) = [v for tag, name, v in page.attributes if (tag, name) == ("svg", "aria-label")]
    assert "Count by department" in label
    assert {v for tag, name, v in page.attributes if (tag, name) == ("th", "scope")} == {
        "row",
        "col",
    }
    assert "size: A4" in html
    assert "background: #fff; color: #1a1a1a" in html


def test_what_people_wrote_does_no_harm():
    release = counts(list(range(len(HOSTILE))), keys=list(HOSTILE))
    page = harmless(report(record(release), publisher="<b>x</b>"))
    assert "<script>alert(1)</script>" in page.text
    assert "\\u202egnp.exe" in page.text
    assert "\\x1b[2J" in page.text


@pytest.mark.parametrize("part", range(4))
def test_what_people_wrote_does_no_harm_anywhere(part):
    for text in [text for text in HOSTILE if text][part::4]:
        hostile = make(
            (text, "n"), (text,), ((text, 1), (f"{text}2", 2)), {"n": ((0, 2), (0, 4))},
            sql=text, covers=text, notes=(text,), mechanisms={"n": text}, steps=(text,),
        )  # fmt: skip
        named = dict.fromkeys(("question", "plan", "dataset", "family", "unit", "cost"), text)
        more = dict.fromkeys(("block", "data_version", "policy_fingerprint", "software"), text)
        harmless(report(record(hostile, **named, **more), publisher=text))


@pytest.mark.parametrize("quote", ['"', "'", "`", ""])
def test_names_cannot_end_the_formulas_of_a_chart(quote):
    name = f"a\\{quote} + (6*7) + \\{quote}b"
    rows = (("x", "z", 1), ("y", "z", 2))
    for columns in ((name, "k", "n"), ("k", "l", name), ("a\\", "a\uff3c", "n")):
        page = harmless(report(record(make(columns, columns[:2], rows))))
        assert "svg" in page.tags
        assert "42" not in page.text


@given(any_release())
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_release_has_a_page(release):
    harmless(report(record(release)))


@pytest.mark.parametrize("guarantee", GUARANTEES, ids=lambda one: type(one).__name__)
def test_every_guarantee_is_told(guarantee):
    page = harmless(report(record(make(("n",), (), ((1,),), guarantee=guarantee))))
    assert str(guarantee) in page.text
    if guarantee.neighbours == "replace":
        assert "if one such unit had been anybody else" in page.text


def test_a_drawing_only_where_there_are_numbers_and_groups():
    assert "svg" in harmless(report(record(STAFF))).tags
    for release in (
        make(("n",), (), ((5,),)),
        make(("k",), ("k",), (("a",), ("b",))),
        make(("k", "first"), ("k",), (("a", DAY), ("b", DAY))),
        counts([]),
    ):
        assert "svg" not in harmless(report(record(release))).tags


def test_intervals_with_one_end_none_and_decimals():
    release = make(
        ("k", "m"),
        ("k",),
        (("a", 1234.5678), ("b", 2.0), ("c", None), ("d", 1e300)),
        {"m": ((1230.1, 1239.2), (None, 5.5), None, (1.5, None))},
    )
    text = harmless(report(record(release))).text
    for words in ("1,234.6 1,230.1 to 1,239.2", "5.5 or less", "1.5 or more", "c – –"):
        assert words in text, words
    assert "No interval is stated" in harmless(report(record(make(("n",), (), ((5,),))))).text


def test_long_tables_say_what_is_left_out():
    text = harmless(report(record(counts(list(range(MOST_ROWS + 7)))))).text
    assert f"the first {MOST_ROWS} of {MOST_ROWS + 7} rows" in text
    assert "there are no rows" in harmless(report(record(counts([])))).text


def test_steps_and_blocks_are_told():
    release = STAFF.map(lambda rows: rows[:1], name="first only")
    text = harmless(report(record(release, block="spring"))).text
    assert "at no cost: first only" in text
    assert "Block of data spring" in text
