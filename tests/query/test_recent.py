"""A bounded memory."""

from discreet.query import expr as e
from discreet.query.kinds import Flag, Number, Text
from discreet.query.recent import Recent, weight_of


def test_it_remembers_and_forgets_everything_once_there_is_too_much():
    recent = Recent()
    for n in range(256):
        assert recent.keep(n, -n) == -n
    assert recent[17] == -17
    assert len(recent) == 256
    recent.keep("one more", 0)
    assert recent == {"one more": 0}


def test_what_is_heavy_takes_the_place_of_many():
    recent = Recent()
    for n in range(23):
        assert recent.keep(n, -n, weight=10 * 1024) == -n
    assert len(recent) == 23
    recent.keep("light", 0, weight=1023)
    recent.keep("too much", 0, weight=10 * 1024)
    assert recent == {"too much": 0}
    for n in range(300):  # what is heavier than all is kept alone
        recent.keep(n, -n, weight=10**6)
        assert recent == {n: -n}
    for n in range(256):
        recent.keep(n, -n)
    assert len(recent) == 256


def test_what_is_kept_again_weighs_as_much_as_before():
    recent = Recent()
    recent.keep("light", 0)
    for n in range(300):
        recent.keep("heavy", n, weight=10 * 1024)
    assert recent == {"light": 0, "heavy": 299}


def test_what_an_expression_weighs_is_all_that_it_holds():
    age = e.Column("age", Number(0, 120))
    some = tuple(e.Literal(n, age.kind) for n in range(1000))
    assert weight_of([age, None]) == weight_of([age]) == 8
    assert weight_of([e.Member(age, some, Flag())]) == 8 * 1002
    word = e.Column("word", Text())
    for letters in (0, 5000):
        like = e.Like(word, "x" * letters, Flag())
        same = e.Compare("=", word, e.Literal("x" * letters, word.kind), Flag())
        assert (weight_of([like]), weight_of([same])) == (16 + letters, 24 + letters)
