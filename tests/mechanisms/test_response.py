"""Randomised response: the cost of any coins, exact draws, and what the reports tell."""

from __future__ import annotations

import math
import pickle
from collections import Counter
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from discreet.audit import verify, walk
from discreet.errors import InputTypeError, ParameterError
from discreet.exact import exp
from discreet.mechanisms import response
from discreet.mechanisms.response import RandomizedResponse, cost
from discreet.noise.source import ReplayedSource
from discreet.noise.table import Inversion
from discreet.privacy.guarantee import PureDP
from discreet.privacy.loss import PureLoss, loss_from_dict

F = Fraction
ABC = ("a", "b", "c")
DENSE = [["1/2", "1/4", "1/4"], ["1/8", "3/4", "1/8"], ["1/3", "1/3", "1/3"]]
COINS = [
    RandomizedResponse(epsilon=1),
    RandomizedResponse(epsilon="0.01", categories=ABC),
    RandomizedResponse(epsilon=30, categories=(False, True)),
    RandomizedResponse(epsilon="1e-30", categories=ABC),
    RandomizedResponse(epsilon=2, categories=range(9)),
    RandomizedResponse(truth="1/2"),
    RandomizedResponse(truth="1/3", categories=ABC),
    RandomizedResponse(truth="0.99", otherwise=("0.9", "0.1")),
    RandomizedResponse(truth="0.2", otherwise=("1/6", "1/3", "1/2"), categories=ABC),
    RandomizedResponse(kernel=[[0.5, 0.5], [0.99, 0.01]]),
    RandomizedResponse(kernel=DENSE, categories=(1, "b", "c")),
    RandomizedResponse(
        kernel=[["1/2", 0, "1/2"], ["1/4", 0, "3/4"], ["1/3", 0, "2/3"]], categories=ABC
    ),
]


def kernels(most: int = 4) -> st.SearchStrategy[tuple[tuple[Fraction, ...], ...]]:
    """Row-stochastic matrices of positive rationals."""

    def of_size(k: int) -> st.SearchStrategy[tuple[tuple[Fraction, ...], ...]]:
        row = st.lists(st.integers(1, 60), min_size=k, max_size=k)
        rows = st.lists(row.map(lambda r: tuple(F(x, sum(r)) for x in r)), min_size=k, max_size=k)
        return rows.map(tuple)

    return st.integers(2, most).flatmap(of_size)


def losses(kernel) -> list[Fraction]:
    """P(y|x)/P(y|x') for every report y and every ordered pair of true categories."""
    k = len(kernel)
    return [
        kernel[x][y] / kernel[z][y]
        for y in range(k)
        for x, z in permutations(range(k), 2)
        if kernel[x][y] > 0
    ]


# --- the guarantee


@pytest.mark.parametrize("coins", COINS, ids=repr)
def test_no_report_is_likelier_than_the_guarantee_allows(coins: RandomizedResponse) -> None:
    """∀ reports y, ∀ true x, x':  P(y|x) <= e^ε P(y|x'), with a certified lower bound of e^ε."""
    assert all(sum(row) == 1 for row in coins.kernel)
    assert max(losses(coins.kernel)) <= exp(coins.epsilon, 200).lower


@pytest.mark.parametrize("coins", COINS, ids=repr)
def test_the_guarantee_is_tight(coins: RandomizedResponse) -> None:
    """One report attains the promise to one part in 2^50 of ε, or to 2^-59."""
    less = coins.epsilon - max(coins.epsilon / 2**50, F(1, 2**59))
    if less > 0:
        assert max(losses(coins.kernel)) > exp(less, 200).upper


@pytest.mark.parametrize("coins", COINS, ids=repr)
def test_the_audit_agrees(coins: RandomizedResponse) -> None:
    verdict = verify(coins)
    assert verdict.proven
    assert verdict.tight
    assert verdict.pairs == len(coins.categories) * (len(coins.categories) - 1)


@given(kernels())
@settings(max_examples=60, deadline=None)
def test_the_cost_of_any_kernel_is_its_largest_ratio_in_either_direction(kernel) -> None:
    worst = max(losses(kernel))
    assert exp(cost(kernel), 100).lower >= worst
    assert cost(kernel) == F(1, 2**60) or exp(cost(kernel) - F(1, 2**59), 100).upper < worst


@pytest.mark.parametrize(
    ("coins", "ratio"),
    [
        (RandomizedResponse(truth="1/2"), F(3)),
        (RandomizedResponse(truth="1/5"), F(6, 4)),
        (RandomizedResponse(truth=0.99, otherwise=(0.9, 0.1)), F(991)),
        (RandomizedResponse(truth=0.01, otherwise=(0.1, 0.9)), F(109, 99)),
        (RandomizedResponse(kernel=[[0.5, 0.5], [0.99, 0.01]]), F(50)),
        (RandomizedResponse(kernel=[[0.01, 0.99], [0.5, 0.5]]), F(50)),
        (RandomizedResponse(truth="1/2", categories=ABC), F(4)),
    ],
    ids=repr,
)
def test_known_costs(coins: RandomizedResponse, ratio: Fraction) -> None:
    """ln 3 for fair coins, ln 991 = 6.9, ln(109/99) = 0.096 and ln 50 = 3.91 for others' errors."""
    assert max(losses(coins.kernel)) == ratio
    assert float(coins.epsilon) == pytest.approx(math.log(ratio), rel=1e-15)
    assert coins.epsilon >= F(math.log(ratio)) - F(1, 2**50)


@pytest.mark.parametrize("k", [2, 3, 10, 256])
@pytest.mark.parametrize("epsilon", ["1e-20", "0.001", 1, "ln", 40, 1000])
def test_the_best_coins_for_an_epsilon(k: int, epsilon) -> None:
    """p is rounded down, by less than 2^-60 of the way to both 1/k and 1."""
    asked = F(693147, 10**6) if epsilon == "ln" else F(epsilon)
    coins = RandomizedResponse(epsilon=asked, categories=range(k))
    p, other = coins.kernel[0][0], coins.kernel[0][1]
    assert coins.epsilon == asked
    assert 1 <= p / other <= exp(asked, 4000).lower
    assert p / other >= exp(asked * (1 - F(1, 2**50)), 4000).upper


def test_the_guarantee_speaks_of_replacement() -> None:
    coins = RandomizedResponse(epsilon="0.5")
    assert coins.guarantee == PureDP("0.5", "replace")
    assert coins.privacy_loss == PureLoss(neighbours="replace", epsilon=F(1, 2))
    assert loss_from_dict(coins.privacy_loss.to_dict()) == coins.privacy_loss
    assert list(RandomizedResponse(epsilon=1, categories=ABC).small_neighbours()) == [
        ("a", "b"),
        ("a", "c"),
        ("b", "c"),
    ]


# --- the draws


@pytest.mark.parametrize("coins", COINS, ids=repr)
def test_release_has_exactly_the_stated_law(coins: RandomizedResponse, monkeypatch) -> None:
    """Tables of six-bit words, so that every word can be walked through `release` itself."""
    coins = eval(repr(coins))  # tables of its own
    monkeypatch.setattr(response, "Inversion", lambda law: Inversion(law, word=6, guide=3))
    for x, value in enumerate(coins.categories[:3]):
        found = walk(
            lambda source, v=value: coins.release(v, source=source), unresolved=F(1, 10**7)
        )
        law = coins.law(value)
        for y, report in enumerate(coins.categories):
            assert coins.kernel[x][y] in law.mass_bounds(report)
            assert found.agrees_with(report, law.mass_bounds(report))
            assert found.mass_bounds(report).width < F(1, 10**6)


def _p_value(counts: Counter, shares, n: int) -> float:
    expected = {y: n * float(share) for y, share in shares.items() if share > 0}
    assert set(counts) <= set(expected)
    statistic = sum((counts[y] - mean) ** 2 / mean for y, mean in expected.items())
    return float(chi2.sf(statistic, len(expected) - 1))


@pytest.mark.statistical
@pytest.mark.parametrize("coins", [COINS[0], COINS[4], COINS[7], COINS[8], COINS[11]], ids=repr)
def test_arrays_have_the_law_row_by_row(coins: RandomizedResponse) -> None:
    """False alarm below 1e-9 for all rows together."""
    each, k = 100_000, len(coins.categories)
    values = np.tile(np.array(coins.categories), each)
    reports = coins.release(values).tolist()
    for x in range(k):
        shares = dict(zip(coins.categories, coins.kernel[x], strict=True))
        assert _p_value(Counter(reports[x::k]), shares, each) > 1e-10


@pytest.mark.statistical
def test_a_list_is_drawn_like_an_array_and_wrong_coins_are_noticed() -> None:
    """False alarm below 1e-9; coins 2% off are missed below 1e-9."""
    coins = RandomizedResponse(truth="1/2")
    counts = Counter(coins.release(["yes"] * 300_000))
    assert _p_value(counts, {"yes": F(3, 4), "no": F(1, 4)}, 300_000) > 1e-10
    assert _p_value(counts, {"yes": F(73, 100), "no": F(27, 100)}, 300_000) < 1e-10


@pytest.mark.parametrize(
    ("categories", "array", "kind"),
    [
        (("yes", "no"), np.array([["yes", "no"], ["no", "no"]]), "U"),
        (("no", "yes", "perhaps"), np.array(["yes", "no"], dtype=object), "U"),
        ((3, -1, 7), np.array([3, 7, -1], dtype=np.int8), "i"),
        ((0, 1), np.array([1, 0], dtype=np.uint8), "i"),
        ((0, 1), np.array([1, 0], dtype=np.uint64), "i"),
        ((False, True), np.array([True, False]), "b"),
        ((0, 1), np.array([True, False]), "i"),
        (("a", 1), np.array(["a", 1], dtype=object), "O"),
        (("a", "a\0"), np.array(["a", "a\0"], dtype=object), "O"),
        ((2**70, 0), np.array([2**70, 0], dtype=object), "O"),
        (("yes", "no"), np.array([], dtype="U3"), "U"),
        (("yes", "no"), np.array("yes"), "U"),
    ],
)
def test_arrays_keep_their_shape_and_speak_in_declared_categories(categories, array, kind) -> None:
    nearly_true = RandomizedResponse(epsilon=200, categories=categories)
    reports = nearly_true.release(array)
    assert reports.shape == array.shape
    assert reports.dtype.kind == kind
    assert reports.tolist() == array.tolist()
    assert nearly_true.release([array.reshape(-1).tolist()][0]) == array.reshape(-1).tolist()


def test_the_source_is_an_argument() -> None:
    coins = RandomizedResponse(truth="1/2")  # a move of 0 below 3/4, else of 1
    assert coins.release("yes", source=ReplayedSource([0])) == "yes"
    assert coins.release("yes", source=ReplayedSource([(1 << 64) - 1])) == "no"
    assert coins.release("no", source=ReplayedSource([(1 << 64) - 1])) == "yes"
    assert coins.release(np.array([], dtype="U3"), source=ReplayedSource([])).size == 0
    assert coins.release([]) == []


def test_symmetric_coins_need_one_table_whatever_the_number_of_categories() -> None:
    assert len(RandomizedResponse(epsilon=1, categories=range(256))._drawer.laws) == 1
    assert len(COINS[8]._drawer.laws) == 3


# --- private values stay private


@pytest.mark.parametrize(
    "value",
    [
        "secret-4711",
        4711,
        4711.5,
        None,
        ["yes", "secret-4711"],
        [["secret-4711"]],
        {"secret-4711": 1},
        np.array(["yes", "secret-4711"]),
        np.array([4711, 0]),
        np.array([4711.5]),
        np.array(["yes", 4711], dtype=object),
        b"secret-4711",
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_unknown_value_is_refused_without_being_quoted_and_before_any_draw(value) -> None:
    coins = RandomizedResponse(epsilon=1)
    with pytest.raises(InputTypeError, match="not one of the declared categories") as refusal:
        coins.release(value, source=ReplayedSource([]))
    assert "4711" not in str(refusal.value)
    assert "'yes', 'no'" in str(refusal.value)
    assert refusal.value.__context__ is None


# --- what is declared


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "exactly one of epsilon"),
        ({"epsilon": 1, "truth": "1/2"}, "exactly one of epsilon"),
        ({"epsilon": 1, "kernel": DENSE}, "exactly one of epsilon"),
        ({"epsilon": 1, "otherwise": (0.5, 0.5)}, "needs truth"),
        ({"epsilon": 0}, "above 0"),
        ({"epsilon": float("nan")}, "finite"),
        ({"truth": 1}, "below 1"),
        ({"truth": "-1/2"}, "at least 0"),
        ({"truth": "1/2", "otherwise": (0.5, 0.6)}, "sum to exactly 1, not to 11/10"),
        ({"truth": "1/2", "otherwise": (0.5,)}, "must hold 2 probabilities"),
        ({"truth": "1/2", "otherwise": (1.5, -0.5)}, "no negative"),
        ({"truth": "1/2", "otherwise": (1, 0)}, "no epsilon is finite"),
        ({"truth": "1/2", "otherwise": "no"}, "list of 2 probabilities"),
        ({"kernel": [[1, 0], [0.5, 0.5]]}, "no epsilon is finite"),
        ({"kernel": [[0.5, 0.5]]}, "2 rows"),
        ({"kernel": "half"}, "2 rows"),
        ({"kernel": [[0.5, 0.5], 3]}, "list of 2 probabilities"),
        ({"kernel": [[0.3, 0.3], [0.5, 0.5]]}, "sum to exactly 1"),
        ({"kernel": [[1] * 65] * 65, "categories": range(65)}, "at most 64"),
        ({"epsilon": 1, "categories": "yes"}, "list of categories"),
        ({"epsilon": 1, "categories": ("yes",)}, "2 to 256"),
        ({"epsilon": 1, "categories": range(257)}, "2 to 256"),
        ({"epsilon": 1, "categories": (1, True)}, "all be different"),
        ({"epsilon": 1, "categories": (1.5, 2.5)}, "texts, integers or truth values"),
    ],
)
def test_bad_parameters_are_refused_in_words(arguments, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        RandomizedResponse(**arguments)


def test_a_report_that_never_occurs_costs_nothing() -> None:
    assert float(COINS[11].epsilon) == pytest.approx(math.log(2))


@pytest.mark.parametrize("coins", COINS, ids=repr)
def test_equal_coins_are_equal_values(coins: RandomizedResponse) -> None:
    again = eval(repr(coins))
    assert again == coins
    assert hash(again) == hash(coins)
    assert pickle.loads(pickle.dumps(coins)) == coins
    assert coins != RandomizedResponse(epsilon="0.123", categories=coins.categories)
    with pytest.raises(AttributeError):
        coins.epsilon = F(1)  # type: ignore[misc]


def test_a_uniform_otherwise_may_be_said_or_not() -> None:
    said = RandomizedResponse(truth="1/2", otherwise=("1/2", "1/2"))
    assert (
        said
        == RandomizedResponse(truth=0.5)
        == RandomizedResponse(kernel=[[0.75, 0.25], [0.25, 0.75]])
    )


# --- what a report tells


@pytest.mark.parametrize("base_rate", [F(1, 1000), F(1, 10), F(1, 2), F(9, 10)])
def test_fair_coins_leave_deniability(base_rate: Fraction) -> None:
    """A yes makes guilt at most three times as likely as it was, and never certain."""
    coins = RandomizedResponse(truth="1/2")
    guilt = coins.posterior({"yes": base_rate, "no": 1 - base_rate}, "yes")["yes"]
    assert guilt == pytest.approx(float(3 * base_rate / (1 + 2 * base_rate)), rel=1e-15)
    assert guilt <= 3 * base_rate
    assert guilt < 1


@pytest.mark.parametrize("coins", COINS[4:], ids=repr)
def test_no_belief_moves_by_more_than_the_guarantee(coins: RandomizedResponse) -> None:
    k = len(coins.categories)
    prior = [F(2 * x + 1, k * k) for x in range(k)]
    for y, report in enumerate(coins.categories):
        if not any(row[y] for row in coins.kernel):
            with pytest.raises(ParameterError, match="possible under this prior"):
                coins.posterior(prior, report)
            continue
        found = coins.posterior(prior, report)
        assert sum(found.values()) == pytest.approx(1)
        for x, name in enumerate(coins.categories):
            ratio = found[name] / float(prior[x])
            assert math.exp(-coins.epsilon) * (1 - 1e-12) <= ratio
            assert ratio <= math.exp(coins.epsilon) * (1 + 1e-12)


def test_a_bad_prior_is_refused() -> None:
    coins = RandomizedResponse(truth="1/2")
    for prior, words in (
        ({"yes": 1}, "name every category"),
        ([0.5, 0.6], "sum to exactly 1"),
        ([1], "2 probabilities"),
    ):
        with pytest.raises(ParameterError, match=words):
            coins.posterior(prior, "yes")
