"""Frequent strings: what is found is held by somebody, what is frequent is found."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

import discreet as dp
from discreet.errors import InputTypeError, ParameterError
from discreet.local import heavy
from discreet.local.heavy import HeavyHitters
from discreet.mechanisms.response import RandomizedResponse

F = Fraction
SURE = "1e-10"


def population(shares, rest, n):
    """People with the frequent values, and the others with values that differ from each other."""
    values = [value for value, share in shares.items() for _ in range(int(share * n))]
    others = (rest(place) for place in range(n - len(values)))
    mixed = [*values, *others]
    return [mixed[place * 7919 % n] for place in range(n)]  # 7919 is prime to n: a public shuffle


@pytest.mark.statistical
def test_frequent_texts_are_found_and_no_others():
    """Each is 20 standard errors above the threshold; one nobody holds is found below 1e-10."""
    shares = {"cat": 0.2, "dog": 0.15, "ox": 0.1}
    people = population(shares, lambda place: f"{place:x}"[:4], 60_000)
    found = HeavyHitters(epsilon=6, max_bytes=4, top=4, alpha=SURE).find(people)
    assert [one.value for one in found] == ["cat", "dog", "ox"]
    for one in found:
        assert abs(one.share - shares[one.value]) < 7 * one.standard_error


@pytest.mark.statistical
def test_integers_are_found_too():
    """Each is over 20 standard errors above the threshold; another is found below 1e-10."""
    people = population({40_000: 0.3, 7: 0.3}, lambda place: place * 31 % 65536, 40_000)
    found = HeavyHitters(epsilon=4, bits=16, top=8, alpha=SURE).find(people)
    assert {one.value for one in found} == {40_000, 7}


@pytest.mark.statistical
def test_what_nobody_holds_is_found_as_rarely_as_promised():
    """120 searches at alpha 0.05: more than 30 that find something have a chance below 1e-12.

    A threshold of 0.01 for each of the 128 candidates would find something in 80 of them.
    """
    search = HeavyHitters(epsilon=1, bits=7, top=4, alpha="0.05")
    level, nobody = search.start(), [None] * 2000
    found = sum(bool(search.finish(level, level.reports(nobody, bits=7))) for _ in range(120))
    assert found <= 30


@pytest.mark.statistical
def test_the_share_is_unbiased():
    """Half of 40,000 people, within 6.5 standard errors: false alarm below 1e-10; a tenth shows."""
    search = HeavyHitters(epsilon=3, bits=7, top=1, alpha=SURE)
    (found,) = search.find([5] * 20_000 + [-1] * 20_000)
    assert found.value == 5
    assert abs(found.share - 0.5) < 6.5 * found.standard_error < 0.1


@pytest.mark.statistical
def test_nothing_is_found_where_nothing_is_frequent():
    """All values differ, in their first bits too; something is found with a chance below 1e-10."""
    people = [place << 16 for place in range(1 << 14)]
    search = HeavyHitters(epsilon=1, bits=30, top=4, alpha=SURE)
    assert [one for one in search.find(people) if one.value % (1 << 16)] == []


def test_the_threshold_is_the_binomials():
    for n, q, chance in ((100, 0.01, 1e-3), (5000, 0.3, 1e-12), (7, 0.5, 0.9), (50, 1e-9, 1e-20)):
        needed = heavy._needed(n, q, chance)
        assert binom.sf(needed - 1, n, q) <= chance
        assert needed == 0 or binom.sf(needed - 2, n, q) >= chance * (1 - 1e-6)


def test_the_report_is_randomized_response_over_the_candidates():
    search = HeavyHitters(epsilon=2, bits=10, top=4)
    level = search.start()
    coins = RandomizedResponse(epsilon=2, categories=range(len(level.candidates) + 1))
    assert level.question._coins == coins
    assert (level.question.p, level.question.q) == (coins.kernel[0][0], coins.kernel[0][1])
    assert search.guarantee == dp.PureDP(2, "replace")


class Honest:
    """An oracle without any noise, to look at the search alone."""

    p, q = F(1), F(0)

    def __init__(self, k, epsilon):
        self.k = k
        self.asked = []

    def reports(self, places, *, source=None):
        return places

    def supports(self, reports):
        return np.bincount(reports, minlength=self.k)


def test_every_person_is_asked_once_and_levels_grow():
    asked = []

    class Spy(Honest):
        def reports(self, places, *, source=None):
            asked.append((self.k, len(places)))
            return places

    search = HeavyHitters(epsilon=1, bits=12, top=2, oracle=(31, Spy))
    people = [0b101010101010] * 600 + [0b111100001111] * 400
    found = search.find(people)
    assert Counter({one.value: 1 for one in found}) == Counter(
        {0b101010101010: 1, 0b111100001111: 1}
    )
    assert sum(size for _, size in asked) == len(people)
    assert all(k - 1 <= 31 for k, _ in asked)
    assert search.lengths == (4, 6, 8, 10, 12)
    assert len(asked) == search.groups


@pytest.mark.parametrize(
    ("bits", "survivors", "capacity", "lengths"),
    [
        (3, 2, 255, (3,)),
        (7, 2, 255, (7,)),
        (8, 16, 255, (7, 8)),
        (20, 64, 255, (7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20)),
        (32, 32, 1 << 20, (20, 32)),
    ],
)
def test_prefix_lengths(bits, survivors, capacity, lengths):
    assert heavy._lengths(bits, survivors, capacity) == lengths


def test_texts_are_coded_and_read_back():
    search = HeavyHitters(epsilon=1, max_bytes=6, top=2)
    for text in ("", "a", "häuser"[:5], "abcdef"):
        assert search.decode(search.encode(text)) == text
    assert search.encode("seven77") is None
    assert search.encode("zero\0") is None  # would be read back as another text
    assert search.decode(0xFF << 40) == b"\xff"
    integers = HeavyHitters(epsilon=1, bits=4, top=2)
    assert [integers.encode(v) for v in (0, 15, 16, -1)] == [0, 15, None, None]


def test_a_text_that_cannot_be_written_is_not_quoted():
    search = HeavyHitters(epsilon=1, max_bytes=6, top=2)
    with pytest.raises(InputTypeError) as refused:
        search.encode("abc\ud800")
    assert "d800" not in str(refused.value)
    assert refused.value.__cause__ is None


def test_values_that_cannot_be_asked_answer_none_of_these():
    search = HeavyHitters(epsilon=1, bits=4, top=2, oracle=(31, Honest))
    level = search.start()
    assert level.reports([3, None], bits=4).tolist() == [3, 16]


def test_no_people_find_nothing():
    assert HeavyHitters(epsilon=1, bits=4, top=2).find([]) == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"bits": None}, "must be texts"),
        ({"max_bytes": 4}, "must be texts"),
        ({"bits": 0}, "at least 1"),
        ({"bits": 1000}, "at most 256"),
        ({"top": 0}, "at least 1"),
        ({"top": 64}, "at most 63"),
        ({"epsilon": 0}, "above 0"),
        ({"alpha": 1}, "strictly between"),
        ({"epsilon": float("nan")}, "finite"),
    ],
)
def test_bad_parameters_are_refused(arguments, words):
    with pytest.raises(ParameterError, match=words):
        HeavyHitters(**{"epsilon": 1, "bits": 8, "top": 4, **arguments})


def test_bad_values_are_refused_without_being_quoted():
    for search, value in (
        (HeavyHitters(epsilon=1, bits=8, top=4), "4711"),
        (HeavyHitters(epsilon=1, bits=8, top=4), True),
        (HeavyHitters(epsilon=1, max_bytes=8, top=4), 4711),
    ):
        with pytest.raises(InputTypeError) as refusal:
            search.find([value])
        assert "4711" not in str(refusal.value)
    search = HeavyHitters(epsilon=1, bits=30, top=4)
    with pytest.raises(ParameterError, match="last one"):
        search.finish(search.start(), np.array([0]))


@pytest.mark.statistical
def test_the_order_of_the_people_does_not_decide_the_groups():
    """Every second person has the value, in a list whose period divides the number of groups.

    Without mixing half of the groups would see nothing; mixed, each sees half, within 10 standard
    deviations of 1000 people: a miss has a chance below 1e-20.
    """
    seen = []

    class Spy(Honest):
        def reports(self, places, *, source=None):
            seen.append(np.mean(places == places.min()))
            return places

    search = HeavyHitters(epsilon=1, bits=12, top=2, oracle=(15, Spy))
    assert search.groups % 2 == 0
    found = search.find([5, 4000] * (500 * search.groups))
    assert {one.value for one in found} == {5, 4000}
    assert all(abs(share - 0.5) < 0.16 for share in seen)
