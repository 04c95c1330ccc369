"""Frequent strings in one round: the exact law of a report, its supports, and what is found."""

from collections import Counter
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import chi2

import discreet as dp
from discreet.errors import InputTypeError, ParameterError
from discreet.local.heavy import Asked, HeavyHitters, accepted
from discreet.local.treehist import GroupReports, TreeHist
from discreet.noise.source import KeyedSource

SURE = "1e-10"
MAKERS = [
    None,
    (3, dp.local.KaryResponse),
    (4, lambda k, epsilon: dp.local.SubsetSelection(k, epsilon, size=2)),
    (3, dp.local.OptimizedUnary),
    (4, lambda k, epsilon: dp.local.HadamardResponse(k, epsilon, blocks=1)),
    (3, dp.local.LocalHashing),
    (3, dp.local.ProjectiveResponse),
]


def small(oracle, **more):
    return TreeHist(**{"epsilon": 1, "bits": 3, "top": 2, "step": 1, "oracle": oracle, **more})


@pytest.mark.parametrize("oracle", MAKERS, ids=lambda one: "one bit" if one is None else None)
def test_epsilon_is_an_upper_bound_and_tight(oracle):
    """Over all reports, all pairs of values, one that cannot be told among them; exactly."""
    search = small(oracle)
    for group in range(search.groups):
        if search.places ** min(group + 1, 3) > 16:
            continue
        laws = [search.law(value, group=group) for value in (*range(8), -1)]
        assert all(sum(law.values()) == 1 for law in laws)
        ratios = {x[key] / y[key] for x, y in combinations(laws, 2) for key in x}
        worst = max(*ratios, 1 / min(ratios))
        assert worst == search.oracle.ratio
    assert search.guarantee == dp.PureDP(1, "replace")
    assert small(None).oracle.ratio <= Fraction(27182818285, 10**10)


@pytest.mark.parametrize("oracle", MAKERS, ids=lambda one: "one bit" if one is None else None)
def test_the_chances_of_support_are_exact(oracle):
    """Every report, every prefix: p for the own one, q for each other, also where the value is
    none."""
    search = small(oracle, bits=2)
    group = 1
    for value in (*range(4), -1):
        chances = [Fraction(0)] * 4
        for (seed, payload), mass in search.law(value, group=group).items():
            sent = GroupReports(
                group, np.array([seed], dtype=np.uint8), search.oracle.array_of(payload)
            )
            for prefix, supported in enumerate(search.supports(sent, range(4))):
                chances[prefix] += mass * int(supported)
        assert chances == [search.p if prefix == value else search.q for prefix in range(4)]


@pytest.mark.statistical
@pytest.mark.parametrize("oracle", [MAKERS[0], MAKERS[1], MAKERS[2]], ids=["bit", "3", "subsets"])
@pytest.mark.parametrize("value", [5, -1])
def test_reports_have_their_law(oracle, value):
    """Chi-square at 1e-10; a seed that is not uniform, or another prefix, is seen at once."""
    search = small(oracle, bits=3)
    n, group = 60_000, 1
    sent = search.reports([value] * n, group=group)
    payloads = sent.reports.reshape(n, -1).view(np.uint8)
    seen = Counter(
        (tuple(seed), bytes(payload))
        for seed, payload in zip(sent.seeds.tolist(), payloads, strict=True)
    )
    law = search.law(value, group=group)
    assert seen.keys() <= law.keys()
    statistic = sum((seen[key] - n * float(p)) ** 2 / (n * float(p)) for key, p in law.items())
    assert chi2.sf(statistic, len(law) - 1) > 1e-10


def population(shares, rest, n):
    values = [value for value, share in shares.items() for _ in range(int(share * n))]
    mixed = [*values, *(rest(place) for place in range(n - len(values)))]
    return [mixed[place * 7919 % n] for place in range(n)]


@pytest.mark.statistical
@pytest.mark.parametrize("oracle", [None, (64, dp.local.SubsetSelection)], ids=["bit", "subsets"])
def test_frequent_texts_are_found_and_no_others(oracle):
    """Each is far above the threshold; one that nobody holds is found below 1e-10."""
    shares = {"cat": 0.3, "dog": 0.25, "ox": 0.2}
    people = population(shares, lambda place: f"{place:x}"[:4], 60_000)
    found = TreeHist(epsilon=5, max_bytes=4, top=4, alpha=SURE, oracle=oracle).find(people)
    assert {one.value for one in found} == {"cat", "dog", "ox"}
    for one in found:
        assert abs(one.share - shares[one.value]) < 7 * one.standard_error


@pytest.mark.statistical
def test_what_nobody_holds_is_found_as_rarely_as_promised():
    """120 confirmations at alpha 0.05: more than 30 that find something: a chance below 1e-12."""
    search = TreeHist(epsilon=1, bits=6, top=40, step=6, alpha="0.05")
    hits = 0
    for _ in range(120):
        sent = search.reports([-1] * 500, group=1)
        counts = search.supports(sent, range(64))
        hits += bool(accepted(range(64), counts, 500, search.p, search.q, search.alpha))
    assert hits <= 30


def test_everybody_is_in_one_group_and_half_confirm():
    search = TreeHist(epsilon=1, bits=12, top=2)
    groups = Counter(search.group(number) for number in range(6000))
    assert groups == {0: 1000, 1: 1000, 2: 1000, 3: 3000}
    assert (search.lengths, search.groups) == ((4, 8, 12), 4)


def test_reports_are_made_in_one_round():
    """What a group reports depends on its own values alone: nothing else is handed in."""
    search = TreeHist(epsilon=3, bits=8, top=2, alpha=SURE)
    people = [5] * 4000 + [200] * 4000
    sent = [
        search.reports([v for i, v in enumerate(people) if search.group(i) == group], group=group)
        for group in reversed(range(search.groups))
    ]
    assert {one.value for one in search.search(sent[::-1])} == {5, 200}
    with pytest.raises(ParameterError, match="all groups"):
        search.search(sent)


@pytest.mark.statistical
def test_the_order_of_the_people_does_not_decide_the_groups():
    """Of a list in which every second has the value, those who confirm would all have another.

    At epsilon 6 half of 4,000 people are 40 standard errors above the threshold.
    """
    search = TreeHist(epsilon=6, bits=8, top=4, alpha=SURE)
    assert {one.value for one in search.find([5, 200] * 4000)} == {5, 200}


def test_no_people_find_nothing():
    assert TreeHist(epsilon=1, bits=4, top=2).find([]) == []


@pytest.mark.slow
@pytest.mark.statistical
def test_any_oracle_serves_prefix_extending_too():
    """The value of half of the people is found at epsilon 4 by every oracle.

    The keyed source makes it the same each time. With fresh coins each would miss below 1e-13 (by
    exact binomials, group by group), and find something else about as rarely as alpha says.
    """
    people = population({40_000: 0.5}, lambda place: place * 31 % 65536, 8_000)
    for capacity, make in (
        (511, dp.local.SubsetSelection),
        (511, dp.local.OptimizedUnary),
        (255, dp.local.LocalHashing),
        (255, dp.local.ProjectiveResponse),
        (255, lambda k, epsilon: dp.local.HadamardResponse(k, epsilon, blocks=1)),
        (255, dp.local.KaryResponse),
        (255, lambda k, epsilon: dp.local.Frequency(k, epsilon).oracle),
    ):
        search = HeavyHitters(epsilon=4, bits=16, top=8, alpha=SURE, oracle=(capacity, make))
        found = search.find(people, source=KeyedSource(bytes(32)))
        assert [one.value for one in found] == [40_000]


@pytest.mark.parametrize(
    "oracle",
    [
        dp.local.HadamardResponse(8, 4, blocks=4),
        dp.local.CountMeanSketch(8, 1, rows=2, columns=4),
        dp.local.HadamardSketch(8, 1, rows=2, columns=4),
    ],
    ids=repr,
)
def test_oracles_without_exact_chances_are_refused(oracle):
    with pytest.raises(ParameterError, match="exactly"):
        Asked(oracle)


@pytest.mark.parametrize("oracle", [dp.local.SubsetSelection(9, 1), dp.local.LocalHashing(9, 1)])
def test_the_adapter_counts_as_the_collector_does(oracle):
    asked = Asked(oracle)
    reports = asked.reports(np.arange(500) % 9)
    collector = dp.local.Collector(oracle)
    collector.add(reports)
    assert np.array_equal(asked.supports(reports), oracle.supports(collector.tally)[0])
    assert (asked.p, asked.q) == (oracle.p, oracle.q)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"bits": None}, "must be texts"),
        ({"max_bytes": 4}, "must be texts"),
        ({"bits": 0}, "at least 1"),
        ({"top": 0}, "at least 1"),
        ({"top": 10**6}, "at most"),
        ({"step": 0}, "at least 1"),
        ({"step": 40}, "at most"),
        ({"epsilon": 0}, "above 0"),
        ({"alpha": 1}, "strictly between"),
        ({"oracle": (1, dp.local.KaryResponse)}, "at least 2"),
        ({"oracle": (1000, dp.local.KaryResponse)}, "at most 256"),
        ({"oracle": (200, dp.local.LocalHashing)}, "few different reports"),
    ],
)
def test_bad_parameters_are_refused(arguments, words):
    with pytest.raises(ParameterError, match=words):
        TreeHist(**{"epsilon": 1, "bits": 8, "top": 4, **arguments})


def test_bad_values_and_groups_are_refused_without_being_quoted():
    search = TreeHist(epsilon=1, bits=8, top=4)
    with pytest.raises(InputTypeError) as refusal:
        search.find(["4711"])
    assert "4711" not in str(refusal.value)
    with pytest.raises(ParameterError, match="group"):
        search.reports([1], group=search.groups)
