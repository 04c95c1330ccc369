"""The scanner of lines against tomllib, on documents made at random."""

import json
import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

from discreet.curator.policy.lines import Lines, Place

BARE = st.text("abcXYZ019_-", min_size=1, max_size=4)
QUOTED = st.text("ab #=.[]{},'é", max_size=5).map(lambda t: json.dumps(t, ensure_ascii=False))
LITERAL = st.text('ab #=.[]{},"é', max_size=5).map(lambda t: f"'{t}'")
KEY = st.one_of(BARE, QUOTED, LITERAL)
SPACE = st.sampled_from(["", " ", "\t", "  "])
BREAK = st.sampled_from(["", " ", "\n", "\r\n", " # a = [ { \" ' \n", "\n\n  "])
SCALAR = st.one_of(
    st.sampled_from(
        [
            "1", "-0.5", "1e-6", "inf", "nan", "true", "0xff", "2024-12-31", "07:32:00",
            "1979-05-27 07:32:00Z", '""', "''", '"a = 1"', "'[x]'", '"\\" # \\\\"',
            '"""\nk = 1\n[t]\n"""', "'''\nk = 1\n\"\"\"\n'''", '"""a"""""', '"""\\""" "" \\\n b"""',
            '""""""', "''''''", "''''a'''''",
        ]
    ),
    st.text("ab #=[]{},'\n", max_size=6).map(json.dumps),
)  # fmt: skip


@st.composite
def values(draw, depth: int = 2) -> str:
    kind = draw(st.sampled_from("ssal" if depth else "s"))
    if kind == "s":
        return draw(SCALAR)
    if kind == "a":
        items = draw(st.lists(values(depth=depth - 1), max_size=3))
        return "[" + ",".join(draw(BREAK) + one + draw(BREAK) for one in items) + "]"
    pairs = draw(st.lists(pair(depth=depth - 1), max_size=3))
    return "{" + ", ".join(pairs) + "}"


@st.composite
def pair(draw, depth: int = 2) -> str:
    keys = f"{draw(SPACE)}.{draw(SPACE)}".join(draw(st.lists(KEY, min_size=1, max_size=3)))
    return f"{draw(SPACE)}{keys}{draw(SPACE)}={draw(SPACE)}{draw(values(depth=depth))}"


@st.composite
def documents(draw) -> str:
    lines = []
    for _ in range(draw(st.integers(0, 8))):
        kind = draw(st.sampled_from("pppht#"))
        if kind == "p":
            lines.append(draw(pair()))
        elif kind == "#":
            lines.append(draw(st.sampled_from(["", "# [no] = {", "   "])))
        else:
            keys = ".".join(draw(st.lists(KEY, min_size=1, max_size=3)))
            lines.append(f"[ {keys} ]" if kind == "h" else f"[[{keys}]]")
    return draw(st.sampled_from(["\n", "\r\n"])).join(lines) + "\n"


def leaves(value: object, path: tuple = ()):
    """Every key, and every table or list in a list."""
    if isinstance(value, dict):
        for key, one in value.items():
            yield (*path, key)
            yield from leaves(one, (*path, key))
    elif isinstance(value, list):
        for i, one in enumerate(value):
            if isinstance(one, dict | list):
                yield (*path, i)
            yield from leaves(one, (*path, i))


@settings(max_examples=examples(600), deadline=None)
@given(documents())
def test_every_key_is_found_on_its_line(text):
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError:  # a key twice
        return
    lines = Lines(text)
    written = text.replace("\r\n", "\n").split("\n")
    expected = set(leaves(raw))
    assert set(lines) == expected
    for path in expected:
        place = lines.of(path)
        assert 0 <= place.header <= len(path)
        if isinstance(path[-1], str):
            line = written[place.line - 1]
            shown = json.dumps(path[-1], ensure_ascii=False)[1:-1]
            assert path[-1] in line or shown in line


TEXT = """\
a = 1
"b c".d = { e = [1,
  2, { f = 3 }], 'g' = "x = 1" }
[x.y]
s = '''
k = 1
'''
z = 1979-05-27 07:32:00 # c
[[p.q]]
n = 1
[p.q.sub]
m = 1
[[p.q]]
n = 2
[x]
w = ''
"\\u00e4" = 1
"""


@pytest.mark.parametrize(
    ("path", "line", "header"),
    [
        (("a",), 1, 0),
        (("b c", "d", "e"), 2, 0),
        (("b c", "d", "e", 2, "f"), 3, 0),
        (("b c", "d", "g"), 3, 0),
        (("x", "y"), 4, 2),
        (("x", "y", "s"), 5, 2),
        (("x", "y", "z"), 8, 2),
        (("p", "q", 0, "n"), 10, 3),
        (("p", "q", 0, "sub", "m"), 12, 4),
        (("p", "q", 1, "n"), 14, 3),
        (("x",), 15, 1),
        (("x", "w"), 16, 1),
        (("x", "ä"), 17, 1),
        (("x", "y", "not there", "nor this"), 4, 2),
        (("nothing",), 1, 0),
        ((), 1, 0),
    ],
)
def test_places(path, line, header):
    assert Lines(TEXT).of(path) == Place(line, header)
    assert Lines("\ufeff" + TEXT.replace("\n", "\r\n")).of(path) == Place(line, header)


def test_a_long_list_of_keys_takes_one_place():
    lines = Lines("a = { keys = [" + ", ".join(map(str, range(1000))) + "] }\n")
    assert list(lines) == [("a",), ("a", "keys")]
