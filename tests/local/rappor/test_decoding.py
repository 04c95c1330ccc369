"""The decoder: honest errors, counted false positives, the original's own tolerances."""

import numpy as np
import pytest
from scipy import stats

import discreet as dp
from discreet.local.rappor import Candidates, Params
from discreet.local.rappor.cases import Case
from discreet.local.rappor.decoding import adjusted, decode
from discreet.local.rappor.files import Counts
from discreet.local.rappor.simulate import collect


def nulls(case, number, turn):
    """Candidates that nobody has, and that no other turn has."""
    return [f"null-{case}-{turn}-{i}" for i in range(number)]


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize(
    ("case", "number"),
    [("r-unif-small-loose", 200), ("r-zipf1-small-typical", 200), ("r-unif-small-loose", 560)],
)
def test_the_false_positive_rate_is_at_most_alpha(case, number):
    """Words that nobody has, beside the known ones and with a tenth of the words unknown.

    600 (or 560) of them: at levels 0.05 and 0.005 no more fall below than a binomial
    law allows with a false alarm of 1e-10; and false discoveries of whole decodings, at 0.05, too.
    200 are fitted together, 560 are tested against their hashes.
    """
    played = Case.named(case).play()
    known = [word for word in played.candidates.words if word in played.truth]
    below, total, families = {0.05: 0, 0.005: 0}, 0, 0
    turns = 3 if number == 200 else 1
    for turn in range(turns):
        words = nulls(case, number, turn)
        told = Candidates.of(known + words, played.params)
        found = decode(played.params, told, played.counts)
        p = stats.norm.sf([found[word].raw / found[word].standard_error for word in words])
        for level in below:
            below[level] += int((p <= level).sum())
        total += number
        families += any(one.word in words for one in found.found)
    for level, count in below.items():
        assert stats.binom.sf(count - 1, total, level) > 1e-10, (level, count, total)
    assert stats.binom.sf(families - 1, turns, 0.05) > 1e-10


@pytest.mark.statistical
def test_standard_errors_are_those_of_the_estimates():
    """60 collections: the z-scores of all words have variance 1, within 7 standard errors."""
    params = Params(k=8, h=2, m=32, p="0.25", q="0.75", f="0.25")
    words = Candidates.of([f"w{i}" for i in range(10)], params)
    shares = np.array([0.4, 0.2, 0.15, 0.1, 0.05, 0.05, 0.05, 0, 0, 0])
    rng = np.random.default_rng(11)
    scores = []
    for _ in range(60):
        values = rng.choice(10, size=20_000, p=shares)
        found = decode(params, words, collect(params, words, values))
        scores += [
            (found[word].raw - share) / found[word].standard_error
            for word, share in zip(words.words, shares, strict=True)
        ]
    number = len(scores)
    assert abs(np.mean(scores)) < 7 / np.sqrt(number)
    assert abs(np.var(scores) - 1) < 7 * np.sqrt(2 / number)


def spread_out(shares, number):
    values = np.repeat(np.arange(len(shares)), np.round(np.array(shares) * number).astype(int))
    return np.random.default_rng(3).permutation(values)


TOY = [0.5, 0.3, 0.2]
ZIPF = (1 / np.arange(1, 101)) / (1 / np.arange(1, 101)).sum()
STEEP = np.arange(1, 501) ** -1.5 / (np.arange(1, 501) ** -1.5).sum()


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("shape", "chances", "shares", "number", "tolerances"),
    [
        ((4, 2, 2), (0, 1, 0), TOY, 100, (5, 3)),
        ((4, 2, 2), ("0.4", "0.6", "0.5"), TOY, 100, (20, 20)),
        ((4, 2, 2), ("0.4", "0.6", "0.5"), TOY, 100_000, (50, 40)),
        ((8, 2, 32), ("0.4", "0.6", "0.5"), ZIPF, 1_000_000, (300, 100)),
        ((8, 2, 32), ("0.4", "0.6", "0.5"), STEEP, 1_000_000, (1500, 80)),
    ],
)
def test_the_tolerances_of_the_original_tests(shape, chances, shares, number, tolerances):
    """Half the L1 distance below tol sqrt(N), the largest below tol sqrt(largest count)."""
    params = Params(*shape, *chances)
    words = Candidates.of([f"word{i}" for i in range(len(shares))], params)
    values = spread_out(shares, number)
    found = decode(params, words, collect(params, words, values))
    truth = np.bincount(values, minlength=len(shares))
    counts = np.array([found[word].share for word in words.words]) * values.size
    off = np.abs(counts - truth)
    assert off.sum() / 2 < tolerances[0] * np.sqrt(values.size)
    assert off.max() < tolerances[1] * np.sqrt(truth.max())


def test_identity_maps_are_debiased():
    """The original gives column sums. Half of 10,000 say a: here 0.5, there 0.56 or more."""
    params = Params(k=4, h=1, m=4, p="0.4", q="0.6", f="0.5")
    words = Candidates.identity(["a", "b", "c"], params)
    rate = np.array([0.5, 0.3, 0.2, 0])
    ones = np.round(10_000 * (float(params.p_star) + rate * 0.1)).astype(int)
    counts = Counts(np.full(4, 10_000), np.tile(ones, (4, 1)))
    found = decode(params, words, counts)
    for word, share in zip("abc", rate, strict=False):
        assert found[word].raw == pytest.approx(share, abs=1e-9)
    expected = np.sqrt(0.5 * 0.5 / 40_000) / 0.1
    assert found["a"].standard_error == pytest.approx(expected, rel=0.02)
    assert not found.costs.one > found.costs.forever


@pytest.mark.statistical
def test_yes_or_no():
    """Boolean RAPPOR, all cohorts pooled; 7 standard errors."""
    params = Params(k=1, h=1, m=8, p="0.4", q="0.6", f="0.5")
    words = Candidates.identity(["yes"], params)
    blank = Candidates(("no",), np.zeros((8, 1, 1), bool), hashed=False)
    counts = collect(params, words, np.zeros(30_000, int)) + collect(
        params, blank, np.zeros(70_000, int)
    )
    found = decode(params, words, counts)["yes"]
    assert found.found
    assert abs(found.raw - 0.3) < 7 * found.standard_error
    assert found.standard_error < 0.02
    expected = stats.norm.sf(found.raw / found.standard_error)
    assert found.p_value == pytest.approx(expected, rel=1e-6, abs=0)


def test_too_few_reports_are_said_to_be_too_few():
    """2,000 clients of the uniform law; any word found has a chance below 0.05 * 1e-8 or so."""
    params = Case("unif", "tiny", "typical").params
    words = Candidates.of(["a", "b", "c"], params)
    ones = np.full((128, 8), 4)
    found = decode(params, words, Counts(np.full(128, 8), ones))
    assert not found.sufficient
    assert str(found).startswith("insufficient data: none of 3 candidates stands out")
    assert found.found == ()
    assert found.limit > 0.1


def test_words_intervals_and_order():
    params = Params(k=8, h=2, m=32, p=0, q=1, f=0)
    words = Candidates.of(["rare", "common"], params)
    found = decode(params, words, collect(params, words, np.array([1] * 3000 + [0] * 1000)))
    assert [one.word for one in found] == ["common", "rare"]
    assert "2 of 2 candidates found in 4,000 reports" in str(found)
    low, high = found.interval(0.95)["common"]
    assert low < 0.75 < high
    assert found.rest == pytest.approx(0, abs=0.02)
    with pytest.raises(KeyError):
        found["unknown"]
    half = decode(params, Candidates.of(["common"], params),
                  collect(params, words, np.array([0, 1] * 2000)), correction="bh")  # fmt: skip
    assert half.rest == pytest.approx(0.5, abs=0.15)
    assert "false on average" in str(half)


def test_the_corrections():
    p = np.array([0.001, 0.3, 0.012, 0.02])
    assert adjusted(p, "bonferroni") == pytest.approx([0.004, 0.3, 0.036, 0.04])
    assert adjusted(p, "bh") == pytest.approx([0.004, 0.3, 0.024, 0.08 / 3])
    assert adjusted(np.array([0.02, 0.021]), "bh") == pytest.approx([0.021, 0.021])
    assert adjusted(np.array([0.9, 0.8]), "bonferroni").tolist() == [1.0, 1.0]


def test_what_is_refused():
    params = Params(k=8, h=2, m=4)
    words = Candidates.of(["a"], params)
    counts = collect(params, words, np.zeros(10, int))
    for alpha in (0, 1, float("nan"), -1):
        with pytest.raises(dp.ParameterError, match="alpha"):
            decode(params, words, counts, alpha=alpha)
    with pytest.raises(dp.ParameterError, match="correction"):
        decode(params, words, counts, correction="none")
    with pytest.raises(dp.ParameterError, match="at least one report"):
        decode(params, words, Counts.empty(params))
