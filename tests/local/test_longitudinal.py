"""Reports over time: exact costs by enumeration, the memo's law, and what is not hidden."""

import hashlib
import hmac
import json
import math
from collections import Counter
from fractions import Fraction
from itertools import product

import pytest

import discreet as dp
from discreet.audit import verify
from discreet.errors import InputTypeError, ParameterError
from discreet.exact import exp
from discreet.local.longitudinal import EpochClient, MemoClient, Memoised, compare
from discreet.noise.source import new_key

F = Fraction
MEMOS = [
    Memoised(categories=range(k), forever=forever, once=once)
    for k in (2, 3, 5, 8)
    for forever, once in ((2, 1), ("0.5", "0.1"), (6, "5.9"))
]


def kernel(memo):
    """The permanent step, as a matrix."""
    return [[memo.kept_law(x)[y] for y in memo.categories] for x in memo.categories]


def sequence_law(memo, history):
    """The exact law of the reports of a history: one kept category for each different value."""
    k, first, second = len(memo.categories), kernel(memo), memo.instant.kernel
    values = sorted(set(history))
    law = Counter()
    for kept in product(range(k), repeat=len(values)):
        chosen = dict(zip(values, kept, strict=True))
        weight = math.prod(first[v][y] for v, y in chosen.items())
        for reports in product(range(k), repeat=len(history)):
            law[reports] += weight * math.prod(
                second[chosen[v]][s] for v, s in zip(history, reports, strict=True)
            )
    return law


def loss(memo, x, y):
    """The largest ratio of the probabilities of two histories' reports."""
    p, q = sequence_law(memo, x), sequence_law(memo, y)
    return max(p[s] / q[s] for s in p)


# --- one value


@pytest.mark.parametrize("memo", MEMOS, ids=repr)
def test_both_costs_hold_and_are_tight(memo):
    """One report is randomized response of cost `once`; the kept category of cost `forever`."""
    p, o = memo.permanent
    assert p + (len(memo.categories) - 1) * o == 1
    assert (p * 2**64).denominator == (o * 2**64).denominator == 1
    assert p / o <= exp(memo.epsilon, 200).lower
    assert p / o > exp(memo.epsilon * (1 - F(1, 2**45)), 200).upper
    one = loss(memo, (0,), (1,))
    assert one <= exp(memo.once, 200).lower
    assert one > exp(memo.once * (1 - F(1, 2**60)), 200).upper
    row = memo.both.kernel[0]
    assert one == row[0] / row[1]


@pytest.mark.parametrize("memo", MEMOS[:6], ids=repr)
@pytest.mark.parametrize("reports", [1, 2, 3, 4])
def test_the_cost_of_several_reports_is_exact(memo, reports):
    """By enumeration of all sequences of reports, for one value kept."""
    worst = loss(memo, (0,) * reports, (1,) * reports)
    cost = memo.cost(reports=reports)
    assert worst <= exp(cost, 200).upper
    assert worst > exp(cost * (1 - F(1, 2**50)), 200).lower


@pytest.mark.parametrize("memo", MEMOS, ids=repr)
def test_the_cost_grows_from_once_to_forever(memo):
    costs = [memo.cost(reports=n) for n in (1, 2, 5, 20, 100)]
    assert costs == sorted(costs)
    assert costs[0] == pytest.approx(memo.once, rel=1e-12)
    assert costs[0] <= memo.once
    assert costs[-1] <= memo.cost() <= memo.epsilon
    assert memo.cost(reports=4096) > memo.cost() * F(999, 1000)
    assert memo.cost(reports=10**9) == memo.cost()


@pytest.mark.parametrize("memo", MEMOS, ids=repr)
def test_the_audit_agrees(memo):
    verdict = verify(memo)
    assert verdict.proven
    assert verdict.tight
    assert memo.one_report == dp.PureDP(memo.once, "replace")


@pytest.mark.parametrize("memo", MEMOS, ids=repr)
def test_the_memo_has_its_law(memo):
    """64-bit words at both ends of every stretch; the stretches have the stated lengths."""
    k, top = len(memo.categories), 1 << 64
    share, rest = divmod(top - memo.threshold, k - 1)
    assert rest == 0
    p, o = memo.permanent
    assert (p, o) == (F(memo.threshold, top), F(share, top))
    for place in range(k):
        assert memo.keep(place, 0) == memo.keep(place, memo.threshold - 1) == place
        others = []
        for number in range(k - 1):
            start = memo.threshold + number * share
            assert memo.keep(place, start) == memo.keep(place, start + share - 1)
            others.append(memo.keep(place, start))
        assert sorted([*others, place]) == list(range(k))


# --- several values, and what is not hidden


def test_values_that_are_equal_at_the_same_times_cost_once_for_each():
    memo = Memoised(categories=range(3), forever=1, once="0.6")
    worst = max(loss(memo, (0, 1, 0), (x, y, x)) for x in range(3) for y in range(3) if x != y)
    assert worst <= exp(memo.cost(distinct=2), 200).upper
    assert worst > exp(memo.cost(), 200).upper  # one value's cost alone would be too little


def test_when_a_value_changed_is_not_hidden():
    """Against a history that never changes the cost of two values is exceeded, and has no limit."""
    memo = Memoised(categories=(0, 1), forever="0.2", once="0.19")
    losses = [loss(memo, (0,) * n + (1,) * n, (0,) * 2 * n) for n in (1, 2, 3)]
    assert losses == sorted(losses)
    assert losses[1] > exp(memo.cost(distinct=2), 200).upper
    for n, found in zip((1, 2, 3), losses, strict=True):
        assert found <= exp(memo.cost_of_any_history(reports=2 * n), 200).upper


def test_epochs_cost_the_same_for_any_two_histories():
    """Two epochs of two reports: the value is the epoch's first, the memo the epoch's own."""
    memo = Memoised(categories=(0, 1), forever="0.5", once="0.4")
    one = {x: sequence_law(memo, (x, x)) for x in (0, 1)}
    worst = max(
        max(one[a][s] / one[c][s] for s in one[a]) * max(one[b][s] / one[d][s] for s in one[b])
        for a, b, c, d in product((0, 1), repeat=4)
    )
    assert worst <= exp(2 * memo.cost(), 200).upper


# --- clients


def test_a_client_keeps_one_answer_for_each_value_and_it_is_hmac():
    memo = Memoised(categories=("a", "b", "c", "d"), forever=1, once="0.5")
    secret = bytes(range(32))
    client = MemoClient(memo, secret)
    for place in range(4):
        message = (0).to_bytes(8, "big") + place.to_bytes(4, "big")
        digest = hmac.new(secret, message, hashlib.sha256).digest()
        expected = memo.keep(place, int.from_bytes(digest[:8], "big"))
        assert client._kept(0, place) == expected
    assert client._kept(0, 1) == MemoClient(memo, secret)._kept(0, 1)


@pytest.mark.statistical
def test_kept_answers_have_their_law_over_secrets():
    """20,000 secrets: within 6.5 standard errors, false alarm below 1e-10; a tenth off is seen."""
    memo = Memoised(categories=range(4), forever=1, once="0.5")
    n = 20_000
    same = sum(MemoClient(memo, new_key())._kept(0, 2) == 2 for _ in range(n))
    p = float(memo.permanent[0])
    assert abs(same / n - p) < 6.5 * math.sqrt(p * (1 - p) / n) < 0.1 * p


def test_different_epochs_and_values_are_kept_apart():
    memo = Memoised(categories=(0, 1), forever="0.1", once="0.05")
    client = EpochClient(memo, new_key())
    assert {client._kept(epoch, 0) for epoch in range(200)} == {0, 1}


def test_the_client_says_what_it_spent_and_stays_within_its_budget():
    memo = Memoised(categories=range(6), forever=1, once="0.5")
    client = memo.client(budget="2.5")
    for value in (3, 3, 4, 3, 3):
        assert client.report(value) in memo.categories
    assert client.spent == 2 * memo.cost()
    for value in (0, 1, 2, 5):
        client.report(value)
    assert client.spent == 2 * memo.cost() <= client.budget
    assert client._used[-1] == (0, 3)  # the last that was paid


def test_epochs_hold_the_first_value_and_end_with_the_budget():
    memo = Memoised(categories=range(6), forever=1, once="0.5")
    client = EpochClient(memo, new_key(), budget=2)
    client.report(3, epoch=5)
    client.report(4, epoch=5)
    assert client._used == [(5, 3)]
    client.report(1, epoch=9)
    client.report(0, epoch=10)
    assert client._used == [(5, 3), (9, 1)]
    assert client.spent == 2 * memo.cost() <= 2
    with pytest.raises(ParameterError, match="before the last one"):
        client.report(0, epoch=8)


@pytest.mark.parametrize("kind", [MemoClient, EpochClient])
def test_the_state_is_stored_and_read(kind):
    memo = Memoised(categories=("x", "y"), forever=1, once="0.5")
    client = kind(memo, new_key(), budget=3)
    extra = {"epoch": 4} if kind is EpochClient else {}
    client.report("y", **extra)
    stored = json.loads(json.dumps(client.to_dict()))
    again = kind.from_dict(memo, stored)
    assert again.to_dict() == client.to_dict()
    assert again.spent == client.spent
    assert all(again._kept(e, p) == client._kept(e, p) for e in range(9) for p in (0, 1))
    assert stored["secret"] not in repr(client)
    other = Memoised(categories=("x", "y"), forever=2, once="0.5")
    for bad, mine in ((stored, other), ({}, memo), ({**stored, "used": 3}, memo)):
        with pytest.raises(ParameterError, match="stored"):
            kind.from_dict(mine, bad)
    for used in ([[0, 2]], [[0, -1]], [[-5, 0]], [[1 << 63, 0]], [[0, 0], [0, 0]], [[1.5, 0]],
                 [[True, 0]], [["0", 0]]):  # fmt: skip
        with pytest.raises(ParameterError, match="stored"):
            kind.from_dict(memo, {**stored, "used": used})


@pytest.mark.statistical
def test_shares_are_estimated_from_one_report_each():
    """30,000 people; Hoeffding's interval at confidence 1 - 1e-10."""
    memo = Memoised(categories=("a", "b", "c"), forever=4, once=3)
    people = ["a"] * 15_000 + ["b"] * 9_000 + ["c"] * 6_000
    reports = [memo.client().report(value) for value in people]
    ranges = memo.estimate(reports).interval(1 - F(1, 10**10))
    for name, share in (("a", 0.5), ("b", 0.3), ("c", 0.2)):
        low, high = ranges[name]
        assert low <= share <= high
        assert high - low < 0.12


# --- which way to go


def test_comparisons():
    memo = Memoised(categories=range(10), forever=2, once="0.5")
    steady = compare(memo, "a" * 20)
    assert steady.recommended == "memoised"
    assert (steady.memoised, steady.fresh) == (memo.cost(), 10)
    fast = compare(memo, "abcdefghij")
    assert fast.recommended == "fresh"
    assert fast.memoised == 10 * memo.cost() > fast.fresh == 5
    assert "show when the value changes" in fast.why
    slow = compare(memo, "a" * 50 + "b" * 50, epoch=50)
    assert slow.recommended == "epochs"
    assert slow.epochs == 2 * memo.cost() < slow.fresh == 50
    public = compare(memo, "ab" * 50, epoch=10, changes_are_public=True)
    assert public.recommended == "memoised"
    assert public.memoised_any == memo.cost_of_any_history(reports=100) > public.memoised


# --- what is refused


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"forever": 0}, "above 0"),
        ({"once": float("nan")}, "finite"),
        ({"once": 2}, "below forever"),
        ({"once": 3}, "below forever"),
        ({"once": "1e-60"}, "differ more"),
        ({"forever": "1e-30", "once": "1e-31"}, "must be larger"),
        ({"categories": ("a",)}, "2 to 256"),
        ({"categories": range(1000)}, "2 to 256"),
    ],
)
def test_bad_parameters_are_refused(arguments, words):
    with pytest.raises(ParameterError, match=words):
        Memoised(**{"categories": ("a", "b"), "forever": 2, "once": 1, **arguments})


def test_bad_clients_and_values_are_refused_without_being_quoted():
    memo = Memoised(categories=("a", "b"), forever=2, once=1)
    with pytest.raises(InputTypeError) as refusal:
        memo.client().report("secret-4711")
    assert "4711" not in str(refusal.value)
    for secret in (b"short", "a" * 32, None):
        with pytest.raises(ParameterError, match="16 random bytes"):
            MemoClient(memo, secret)
    with pytest.raises(ParameterError, match="at least forever"):
        memo.client(budget=1)
    for wrong in ({"reports": 0}, {"distinct": 0}, {"reports": 1.5}):
        with pytest.raises(ParameterError):
            memo.cost(**wrong)
    with pytest.raises(ParameterError, match="at least one report"):
        compare(memo, "")
    assert eval(repr(memo)) == memo
