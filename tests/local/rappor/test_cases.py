"""The regression matrix: tiny in full, small on a diagonal; metrics near the reference figures."""

import math
from fractions import Fraction

import pytest

import discreet as dp
from discreet.local.rappor.cases import CONFIGURATIONS, DISTRIBUTIONS, SIZES, Case
from discreet.local.rappor.decoding import decode
from discreet.noise.source import KeyedSource


def test_there_are_a_hundred_cases():
    names = {(d, s, c) for d in DISTRIBUTIONS for s in SIZES for c in CONFIGURATIONS}
    assert len(names) == 100
    assert len({Case(*name) for name in names}) == 100


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_a_law_is_a_law(distribution):
    law = Case(distribution, "small", "sharp").law()
    assert sum(law.weights) == 1
    expected = {"unif": 1, "exp": math.exp(0.05), "gauss": None, "zipf1": 2, "zipf1.5": 2**1.5}
    if expected[distribution] is not None:
        ratio = law.weights[0] / law.weights[1]
        assert float(ratio) == pytest.approx(expected[distribution], rel=1e-6)
    else:
        assert max(law.weights) == law.weights[49]


@pytest.mark.parametrize(
    ("configuration", "known", "extra"),
    [("typical", 90, 20), ("sharp", 100, 0), ("loose", 90, 20), ("over_x2", 90, 200),
     ("over_x10", 90, 1000)],
)  # fmt: skip
def test_what_the_decoder_is_told(configuration, known, extra):
    case = Case("unif", "small", configuration)
    words = case.candidates()
    numbers = [int(word[1:]) for word in words]
    assert sum(number <= 100 for number in numbers) == known
    assert sum(number > 100 for number in numbers) == extra
    assert case.params.f == Fraction(CONFIGURATIONS[configuration][0][2])


@pytest.mark.parametrize(
    ("distribution", "configuration"),
    [*((d, c) for d in DISTRIBUTIONS for c in ("typical", "sharp", "loose")),
     ("unif", "over_x2")],
)  # fmt: skip
def test_tiny_cases_find_next_to_nothing(distribution, configuration):
    """1,000 reports: at most a few heavy words, and no words that are not there.

    A false one comes with a chance of 0.05 in each case; four in one case with one below 1e-9.
    """
    played = Case(distribution, "tiny", configuration).play()
    score = played.score(decode(played.params, played.candidates, played.counts))
    assert score.false_positives <= 3
    assert score.false_negative_rate >= 0.8
    assert score.variation <= 0.75


REFERENCE = {
    ("unif", "typical"): 0.246,
    ("exp", "sharp"): 0.137,
    ("gauss", "loose"): 0.132,
    ("zipf1", "over_x2"): 0.222,
    ("zipf1.5", "typical"): 0.109,
    ("zipf1", "over_x10"): 0.6,
}


@pytest.mark.parametrize(("distribution", "configuration"), REFERENCE)
def test_small_cases_are_near_the_reference(distribution, configuration):
    """The variation of all shares at most a quarter above the reference's, and no more than 5
    false positives; the reports are the same in every run.
    """
    played = Case(distribution, "small", configuration).play(source=KeyedSource(bytes(32)))
    score = played.score(decode(played.params, played.candidates, played.counts))
    assert score.variation_all <= REFERENCE[distribution, configuration] * 1.25
    assert score.false_positives <= 5
    assert score.found > 0
    assert 0 < score.total <= 1 + 1e-9


def test_the_score_by_hand():
    played = Case("unif", "tiny", "typical").play()
    decoded = decode(played.params, played.candidates, played.counts, alpha="0.999")
    score = played.score(decoded)
    found = {one.word for one in decoded.found}
    assert score.found == len(found)
    assert score.false_positives == len(found - set(played.truth))
    assert score.false_negatives == len(set(played.truth) - found)
    assert score.extra == len(set(played.candidates.words) - set(played.truth))
    assert score.false_positive_rate <= 1
    assert sum(played.truth.values()) == pytest.approx(1)


def test_what_is_refused():
    for name in ("r-unif-small", "x-unif-small-sharp", "r-unif-small-sharp-more"):
        with pytest.raises(dp.ParameterError, match="the case"):
            Case.named(name)
    with pytest.raises(dp.ParameterError, match="distribution"):
        Case.named("r-flat-small-sharp")
