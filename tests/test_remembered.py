"""What is found is kept, for all or for one asker apart."""

import threading
from contextvars import copy_context

import pytest

from discreet.remembered import Results, ResultsOf, remembered, share


@pytest.fixture
def square():
    """A function that is remembered, and the arguments for which it was called."""
    asked = []

    @remembered(3, apart=2)
    def found(number, *, sign=1):
        """The square."""
        asked.append(number)
        if number < 0:
            raise ValueError("below 0")
        return sign * number * number

    found.asked = asked
    return found


def apart(results, work):
    """Do something with somebody's results."""

    def used():
        results.use()
        return work()

    return copy_context().run(used)


def test_a_result_is_found_once(square):
    assert [square(2), square(2), square(3), square(2)] == [4, 4, 9, 4]
    assert square.asked == [2, 3]
    assert (square.__name__, square.__doc__) == ("found", "The square.")


def test_what_was_used_last_is_kept(square):
    for number in (1, 2, 3, 1, 4, 1, 2):
        square(number)
    assert square.asked == [1, 2, 3, 4, 2]


def test_other_words_are_other_arguments(square):
    assert [square(2, sign=-1), square(2), square(2, sign=-1)] == [-4, 4, -4]
    assert square.asked == [2, 2]


def test_a_refusal_is_not_kept(square):
    for _ in range(2):
        with pytest.raises(ValueError, match="below"):
            square(-1)
    assert square.asked == [-1, -1]


def test_what_is_common_is_not_used_for_anybody_apart(square):
    square(2)
    alice, bob = Results(), Results()
    for results in (alice, bob, alice, bob):
        assert apart(results, lambda: square(2)) == 4
    assert square.asked == [2, 2, 2]
    square(2)
    assert square.asked == [2, 2, 2]
    apart(alice, lambda: square(3))
    square(3)  # nor what was found apart for all
    assert square.asked == [2, 2, 2, 3, 3]


def test_fewer_are_kept_apart(square):
    alice = Results()
    apart(alice, lambda: [square(number) for number in (1, 2, 3, 1)])
    assert square.asked == [1, 2, 3, 1]


def test_functions_that_are_alike_are_kept_apart():
    made = [remembered(2)(lambda number, by=by: by * number) for by in (2, 3)]
    alice = Results()
    assert apart(alice, lambda: [one(5) for one in made]) == [10, 15]


def test_a_context_ends_what_was_begun_in_it(square):
    apart(Results(), lambda: square(2))
    square(2)
    assert square.asked == [2, 2]
    found = []
    thread = threading.Thread(target=lambda: found.append(square(2)))
    thread.start()
    thread.join()
    assert (found, square.asked) == ([4], [2, 2])


def test_only_those_who_asked_last_are_remembered():
    everybody = ResultsOf()
    alice = everybody["alice"]
    for number in range(15):
        assert everybody[f"other {number}"] is not alice
    assert everybody["alice"] is alice
    for number in range(16):
        everybody[f"another {number}"]
    assert everybody["alice"] is not alice


def test_what_begins_anew_uses_what_all_share(square):
    """Even where its context is a copy of somebody's."""
    results = Results()

    def both():
        square(2)
        share()
        return square(2)

    assert apart(results, both) == 4
    assert square.asked == [2, 2]
    square(2)
    apart(results, lambda: square(2))
    assert square.asked == [2, 2]
