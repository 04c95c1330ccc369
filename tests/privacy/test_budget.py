"""`dp.Budget`: the contract of all budgets, a model, and what is special to it."""

import subprocess
import sys
import threading
import time
from fractions import Fraction
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    precondition,
    rule,
)
from tests.contracts.budget import CONTRACT, KINDS

import discreet as dp
from discreet.privacy.budget import Balance
from discreet.privacy.loss import ApproxLoss, GaussianLoss, PureLoss, RandomLoss, ZCDPLoss

TINY = Fraction(1, 10**30)
MORE = Fraction(1001, 1000)


def pure(epsilon):
    return PureLoss(epsilon=epsilon)


def refused(budget, release, *, times=1):
    """Whether a charge is refused; `affords` has to say the same before."""
    afforded = budget.affords(release, times=times)
    try:
        budget.charge(release, times=times)
    except dp.BudgetExceededError:
        assert not afforded
        return True
    assert afforded
    return False


@pytest.mark.parametrize("check", CONTRACT, ids=lambda check: check.__name__)
def test_the_contract(check):
    check(dp.Budget)


@pytest.mark.parametrize("check", CONTRACT, ids=lambda check: check.__name__)
def test_an_allowance_of_a_larger_budget_keeps_the_contract(check):
    def make(*, neighbours="add_or_remove", **limits):
        whole = dp.Budget(epsilon=1000, gamma="0.9", neighbours=neighbours)
        if {"rho", "renyi", "delta"} & set(limits):
            whole = dp.Budget(epsilon=1000, delta="0.9", failures="0.1", neighbours=neighbours)
        return whole.allowance(**limits)

    check(make)


# A model.


class Model:
    """A tree of sums: 20 lines of fractions, without a lock, a rule or a rounding."""

    def __init__(self, parent=None, limit=None, *, parallel=False):
        self.parent, self.limit, self.parallel = parent, limit, parallel
        self.direct, self.children = Fraction(0), []
        if parent is not None:
            parent.children.append(self)

    def total(self):
        below = [child.total() for child in self.children]
        return self.direct + (max(below, default=0) if self.parallel else sum(below))

    def allows(self, amount):
        self.direct += amount
        node, fine = self, True
        while node is not None:
            fine = fine and (node.limit is None or node.total() <= node.limit)
            node = node.parent
        self.direct -= amount
        return fine


class Spending(RuleBasedStateMachine):
    """Charges, allowances, shares and branches, nested at will."""

    currency, losses = "epsilon", staticmethod(lambda amount: PureLoss(epsilon=amount))
    places = Bundle("places")
    amounts = st.sampled_from([Fraction(1, n) for n in (2, 3, 7, 10, 64, 1000)] + [Fraction(3, 5)])

    @initialize(
        target=places, limit=st.sampled_from([Fraction(1), Fraction(22, 7), Fraction(1, 3)])
    )
    def begin(self, limit):
        self.known = [(dp.Budget(**{self.currency: limit}), Model(limit=limit))]
        return self.known[0]

    def put(self, budget, model):
        self.known.append((budget, model))
        return self.known[-1]

    @rule(place=places, amount=amounts, times=st.sampled_from([1, 1, 1, 3]))
    def charge(self, place, amount, times):
        budget, model = place
        allowed = model.allows(times * amount)
        assert refused(budget, self.losses(amount), times=times) == (not allowed)
        model.direct += times * amount if allowed else 0

    @rule(place=places, factor=st.sampled_from([Fraction(1), Fraction(1, 2), MORE]))
    def charge_what_is_left(self, place, factor):
        budget, model = place
        amount = budget.left[self.currency] * factor
        if amount:
            allowed = model.allows(amount)
            assert allowed == (factor <= 1)
            assert refused(budget, self.losses(amount)) == (not allowed)
            model.direct += amount if allowed else 0

    @precondition(lambda self: len(self.known) < 10)
    @rule(target=places, place=places, limit=amounts)
    def allow(self, place, limit):
        budget, model = place
        return self.put(budget.allowance(**{self.currency: limit}), Model(model, limit))

    @precondition(lambda self: len(self.known) < 10)
    @rule(target=places, place=places, weight=st.integers(1, 3))
    def divide(self, place, weight):
        budget, model = place
        left = budget.left[self.currency]
        if not left:
            with pytest.raises(dp.BudgetExceededError, match="nothing is left to be split"):
                budget.split(2)
            return place
        parts = budget.split({"a": weight, "b": 1})
        first = self.put(parts["a"], Model(model, left * weight / (weight + 1)))
        self.put(parts["b"], Model(model, left / (weight + 1)))
        return first

    @precondition(lambda self: len(self.known) < 10)
    @rule(target=places, place=consumes(places))
    def branch(self, place):
        """The place itself is not charged any more by this machine, but is still compared."""
        budget, model = place
        parts, branches = Model(model, parallel=True), budget.parallel(["a", "b"])
        self.put(branches["a"], Model(parts))
        return self.put(branches["b"], Model(parts))

    @rule(target=places, number=st.integers(0, 50))
    def go_back(self, number):
        return self.known[number % len(self.known)]

    @invariant()
    def everything_agrees(self):
        for budget, model in getattr(self, "known", ()):
            left = budget.left[self.currency]
            assert budget.spent[self.currency] == model.total()
            assert left >= 0
            assert model.allows(left)
            assert not model.allows(left + TINY)


class ConcentratedSpending(Spending):
    """The same with rhos."""

    currency, losses = (
        "rho",
        staticmethod(lambda amount: GaussianLoss(sigma_squared=1 / (2 * amount))),
    )


TestSpending = Spending.TestCase
TestSpending.settings = settings(max_examples=60, stateful_step_count=25)
TestConcentratedSpending = ConcentratedSpending.TestCase
TestConcentratedSpending.settings = settings(max_examples=40, stateful_step_count=25)


# One by one.


@pytest.mark.parametrize(
    ("limits", "epsilon", "most"),
    [
        ({"epsilon": 1, "delta": "1e-6"}, "0.002", 12_177),
        ({"epsilon": 1, "delta": "1e-6"}, "0.01", 487),
        ({"epsilon": 1, "delta": "1e-6"}, "0.02", 121),
        ({"epsilon": 1, "delta": "1e-6", "accounting": "renyi", "order": 22}, "0.002", 12_181),
        ({"epsilon": 1, "delta": "1e-6", "accounting": "renyi", "order": 22}, "0.01", 490),
        ({"epsilon": 1, "delta": "1e-6", "accounting": "renyi", "order": 22}, "0.02", 125),
        ({"epsilon": "0.2"}, "0.002", 100),
        ({"epsilon": 4}, "0.2", 20),
        ({"epsilon": 4}, "0.5", 8),
        ({"epsilon": 4}, "0.8", 5),
    ],
    ids=str,
)
def test_releases_before_the_halt(limits, epsilon, most):
    budget, release, answered = dp.Budget(**limits), dp.Geometric(epsilon=epsilon), 0
    while answered <= most and budget.affords(release):
        budget.charge(release)
        answered += 1
    assert answered == most == len(budget)
    assert budget.losses == {release.privacy_loss: most}


def test_a_delta_is_refused_at_once_in_a_pure_budget():
    budget = dp.Budget(epsilon=1)
    assert refused(budget, ApproxLoss(epsilon="1e-9", delta="1e-300"))
    assert budget.spent.epsilon == 0


def test_a_thousand_at_a_tenth_exhaust_a_small_budget():
    assert refused(dp.Budget(epsilon=1, delta="0.001"), pure("0.1"), times=1000)


def test_both_ways_of_counting_are_open():
    budget = dp.Budget(epsilon=1, delta="1e-6")
    budget.charge(pure("0.9"))  # only epsilons allow this
    assert not refused(budget, pure("0.1"))
    assert refused(budget, pure("1e-9"))
    budget = dp.Budget(epsilon=1, delta="1e-6")
    budget.charge(pure("0.002"), times=600)  # only rhos allow this
    budget.charge(GaussianLoss(sigma_squared=1000))
    assert budget.spent.epsilon is None
    assert budget.left.epsilon == 0 < budget.left.rho
    assert "removed); rho about 0.022656 left" in repr(budget)


# The finest.


@pytest.mark.parametrize("limits", KINDS, ids=str)
def test_the_finest_is_affordable_and_little_more_is_not(limits):
    budget = dp.Budget(**limits)
    budget.charge(pure("0.01"), times=3)
    finest = budget.finest(dp.Geometric, sensitivity=2)
    more = dp.Geometric(epsilon=finest.epsilon * MORE, sensitivity=2)
    assert not budget.affords(more)
    assert not refused(budget, finest)


def test_the_finest_of_a_pure_budget_takes_exactly_what_is_left():
    budget = dp.Budget(epsilon=1)
    budget.charge(pure("1/3"))
    budget.charge(budget.finest(dp.Geometric))
    assert budget.left.epsilon == 0
    with pytest.raises(dp.BudgetExceededError, match="nothing that Geometric can make"):
        budget.finest(dp.Geometric)
    assert dp.Budget(epsilon=1000).finest(dp.Geometric).epsilon == 1000


@pytest.mark.parametrize("limits", [{"rho": "1/3"}, {"epsilon": 1, "delta": "1e-6"}], ids=str)
def test_the_finest_gaussian_goes_by_rho(limits):
    budget = dp.Budget(**limits)
    left = budget.left.rho
    finest = budget.finest(dp.Gaussian, sensitivity=3)
    assert isinstance(finest.privacy_loss, GaussianLoss)
    budget.charge(finest)
    assert budget.spent.rho == left
    assert budget.left.rho == 0


def test_the_finest_gaussian_of_a_renyi_budget():
    budget = dp.Budget(epsilon=1, delta="1e-6", accounting="renyi", order=22)
    finest = budget.finest(dp.Gaussian)
    assert not budget.affords(dp.Gaussian(rho=finest.rho * MORE))
    assert not refused(budget, finest)


def test_no_gaussian_is_affordable_in_a_pure_budget():
    with pytest.raises(dp.BudgetExceededError, match="nothing that Gaussian can make"):
        dp.Budget(epsilon=1).finest(dp.Gaussian)


def test_the_finest_is_told_the_neighbours_where_it_asks():
    budget = dp.Budget(epsilon=1, neighbours="replace")
    assert budget.finest(dp.Geometric).neighbours == "replace"
    assert budget.finest(partial(dp.Geometric, sensitivity=2)).neighbours == "replace"
    assert dp.Budget(epsilon=1).finest(lambda epsilon: pure_release(epsilon / 3)).loss == pure(1)
    assert budget.finest(dp.RandomizedResponse, categories=["a", "b"]).epsilon == 1


def pure_release(epsilon):
    """Something of one's own that has a loss."""
    return type("Own", (), {"loss": pure(epsilon), "privacy_loss": pure(epsilon)})


def test_a_refusal_survives_numbers_that_are_too_long_to_be_asked():
    budget = dp.Budget(epsilon=1 - Fraction(1, 3**630))
    budget.charge(pure(Fraction(1, 5**430)))
    with pytest.raises(dp.BudgetExceededError) as caught:
        budget.charge(pure(2))
    assert not refused(budget, pure(caught.value.could))


# Shares.


@given(
    limit=st.fractions(min_value="1/99", max_value=9, max_denominator=99),
    weights=st.lists(
        st.fractions(min_value="1/50", max_value=7, max_denominator=50), min_size=1, max_size=6
    ),
    spend=st.fractions(min_value=0, max_value="99/100", max_denominator=100),
)
def test_shares_add_up_to_exactly_what_is_left(limit, weights, spend):
    budget = dp.Budget(epsilon=limit)
    if spend:
        budget.charge(pure(limit * spend))
    left = budget.left.epsilon
    shares = budget.split({str(i): weight for i, weight in enumerate(weights)})
    assert sum(share.left.epsilon for share in shares.values()) == left
    for i, weight in enumerate(weights):
        assert shares[str(i)].left.epsilon == left * weight / sum(weights)
        assert shares[str(i)].guarantee == dp.PureDP(left * weight / sum(weights))
        assert refused(shares[str(i)], pure(shares[str(i)].left.epsilon + TINY))
        assert not refused(shares[str(i)], pure(shares[str(i)].left.epsilon))
    assert budget.left.epsilon == 0


def test_equal_shares():
    shares = dp.Budget(epsilon=1).split(3)
    assert [share.left.epsilon for share in shares] == [Fraction(1, 3)] * 3
    with pytest.raises(dp.BudgetExceededError):
        shares[0].charge(pure("0.334"))


def test_shares_of_concentrated_budgets_are_rhos():
    budget = dp.Budget(epsilon=1, delta="1e-6")
    left = budget.left.rho
    first, second = budget.split(2)
    assert first.guarantee == second.guarantee == dp.ZCDP(left / 2)
    first.charge(ZCDPLoss(rho=left / 2))
    assert refused(first, ZCDPLoss(rho=TINY))
    assert refused(second, pure("0.9"))  # the whole would take it; a share of rho does not
    assert not refused(second, ZCDPLoss(rho=left / 2))
    assert refused(budget, ZCDPLoss(rho=TINY))


def test_shares_divide_failures_gammas_and_curves_too():
    failing = ApproxLoss(epsilon="1e-3", delta="2e-7")
    first, second = dp.Budget(epsilon=1, delta="1e-6", failures="4e-7").split(2)
    assert first.guarantee == dp.ApproxDP(1, "1e-6")
    assert [refused(each, failing) for each in (first, first, second)] == [False, True, False]
    first, _ = dp.Budget(epsilon=1, delta="1e-6", accounting="basic").split(2)
    assert first.guarantee == dp.ApproxDP("0.5", "5e-7")
    first, _ = dp.Budget(epsilon=1, gamma="0.1").split(2)
    assert first.left.gamma == Fraction(1, 20)
    first, _ = dp.Budget(renyi={2: 1, 8: 2}).split(2)
    assert first.guarantee == dp.RenyiDP({2: "0.5", 8: 1})


def test_what_is_left_can_be_a_delta_alone():
    budget = dp.Budget(epsilon=1, delta="1e-6", accounting="basic")
    budget.charge(pure(1))
    share, _ = budget.split(2)
    assert share.guarantee == dp.ApproxDP(0, "5e-7")
    assert not refused(share, ApproxLoss(epsilon=0, delta="5e-7"))


def test_shares_by_epsilons_once_the_rhos_are_gone():
    budget = dp.Budget(epsilon=1, delta="1e-6")
    budget.charge(pure("0.5"))
    share, _ = budget.split(2)
    assert share.guarantee == dp.PureDP("0.25")


@pytest.mark.parametrize("limits", KINDS[:4], ids=str)
def test_nothing_is_not_split(limits):
    budget = dp.Budget(**limits)
    budget.charge(pure(1))
    if "failures" in limits:
        budget.charge(ApproxLoss(epsilon=0, delta="5e-7"))
    with pytest.raises(dp.BudgetExceededError, match="nothing is left to be split"):
        budget.split(2)


def test_a_share_that_was_made_ahead_cannot_pass_the_whole():
    budget = dp.Budget(epsilon=1)
    shares = budget.split(2)
    budget.charge(pure("0.8"))
    assert [share.left.epsilon for share in shares] == [Fraction(1, 5)] * 2
    assert not refused(shares[0], pure("0.2"))
    assert refused(shares[1], pure(TINY))


@pytest.mark.parametrize("parts", [0, -1, 1.5, True, "x", None, {}, {"a": 0}, {"a": -1}, [1, 2]])
def test_shares_that_make_no_sense(parts):
    with pytest.raises(dp.ParameterError):
        dp.Budget(epsilon=1).split(parts)


# Allowances.


def test_allowances_may_add_up_to_more_than_the_whole():
    whole = dp.Budget(epsilon=1)
    first, second = whole.allowance(epsilon="0.7"), whole.allowance(epsilon="0.7")
    first.charge(pure("0.7"))
    assert second.left.epsilon == Fraction(3, 10)
    assert refused(second, pure("0.31"))
    assert not refused(second, pure("0.3"))
    assert whole.left.epsilon == 0
    assert (len(whole), len(first), len(second)) == (0, 1, 1)


def test_a_refusal_above_books_nothing_below():
    whole = dp.Budget(epsilon=1)
    outer = whole.allowance(epsilon=5)
    inner = outer.allowance(epsilon=9)
    assert refused(inner, pure(2))
    assert [each.spent.epsilon for each in (whole, outer, inner)] == [0, 0, 0]
    assert not refused(inner, pure(1))
    assert [each.spent.epsilon for each in (whole, outer, inner)] == [1, 1, 1]


def test_an_allowance_may_count_what_the_whole_does_not():
    whole = dp.Budget(epsilon=1, delta="1e-6")
    strict, curve = whole.allowance(epsilon="0.1"), whole.allowance(renyi={2: "1e-3"})
    assert strict.guarantee == dp.PureDP("0.1")
    assert refused(strict, GaussianLoss(sigma_squared=10**6))
    assert not refused(curve, GaussianLoss(sigma_squared=1000))
    assert refused(curve, GaussianLoss(sigma_squared=10**6))
    assert curve.left.renyi == {2: 0}
    assert whole.spent.rho == Fraction(1, 2000)


def test_an_allowance_says_its_own_rest_where_the_whole_has_another_way():
    whole = dp.Budget(epsilon=1, delta="1e-6")
    whole.charge(pure("0.002"), times=600)
    mine = whole.allowance(epsilon="0.5")
    assert whole.left.epsilon == 0
    assert mine.left.epsilon == Fraction(1, 2)
    assert not refused(mine, pure("0.1"))
    assert mine.left.epsilon == Fraction(2, 5)
    assert [share.left.epsilon for share in mine.split(2)] == [Fraction(1, 5)] * 2
    assert whole.parallel(["a"])["a"].left == whole.left


def test_an_allowance_says_the_rest_of_the_whole_where_that_is_the_only_way():
    whole = dp.Budget(epsilon=1, delta="1e-6")
    mine = whole.allowance(epsilon="0.5")
    whole.charge(pure("0.8"))  # too large for rhos
    assert mine.left.epsilon == Fraction(1, 5)
    assert refused(mine, pure("0.21"))


@pytest.mark.parametrize("limits", [{}, {"epsilon": 0}, {"epsilon": 1, "rho": 1}], ids=str)
def test_allowances_that_make_no_sense(limits):
    with pytest.raises(dp.ParameterError):
        dp.Budget(epsilon=1).allowance(**limits)


# Parallel branches.


def test_the_whole_pays_the_largest_branch():
    whole = dp.Budget(epsilon=1)
    north, south = whole.parallel(["north", "south"]).values()
    north.charge(pure("0.6"))
    assert whole.spent.epsilon == Fraction(3, 5)
    assert south.left.epsilon == 1
    south.charge(pure("0.5"))  # below the peak: free
    assert whole.spent.epsilon == Fraction(3, 5)
    south.charge(pure("0.2"))
    assert whole.spent.epsilon == Fraction(7, 10)
    assert (north.left.epsilon, south.left.epsilon) == (Fraction(2, 5), Fraction(3, 10))
    whole.charge(pure("0.3"))
    assert (north.left.epsilon, south.left.epsilon) == (Fraction(1, 10), 0)
    assert refused(south, pure(TINY))
    assert not refused(north, pure("0.1"))


def test_branches_count_currency_by_currency():
    """A person of either branch loses at most the peak of each; the whole may use either."""
    whole = dp.Budget(epsilon=2, delta="1e-6", failures="5e-7")
    first, second = whole.parallel(["first", "second"]).values()
    first.charge(pure("0.02"))
    second.charge(RangeOf("0.03"))
    first.charge(ApproxLoss(epsilon="0.001", delta="3e-7"))
    second.charge(ApproxLoss(epsilon="0.001", delta="2e-7"))
    assert whole.spent.epsilon == Fraction("0.031")
    assert whole.spent.rho == first.spent.rho > second.spent.rho
    assert whole.spent.delta == Fraction("3e-7")


def RangeOf(epsilon):
    return dp.losses.RangeLoss(epsilon=epsilon)


def test_gaussian_noise_in_one_branch():
    whole = dp.Budget(epsilon=1, delta="1e-6")
    first, second = whole.parallel(["first", "second"]).values()
    first.charge(GaussianLoss(sigma_squared=50))
    second.charge(pure("0.1"))
    assert (first.spent.epsilon, second.spent.epsilon) == (None, Fraction(1, 10))
    assert whole.spent.epsilon is None
    assert whole.spent.rho == Fraction(1, 100)
    second.charge(GaussianLoss(sigma_squared=100))
    assert whole.spent.rho == max(Fraction(1, 100), second.spent.rho)
    assert refused(second, pure("0.9"))


def test_two_partitions_add_up():
    whole = dp.Budget(epsilon=1)
    for _ in range(2):
        for branch in whole.parallel(["a", "b"]).values():
            branch.charge(pure("0.5"))
    assert whole.left.epsilon == 0


def test_branches_of_an_allowance_of_a_branch():
    whole = dp.Budget(epsilon=1)
    north, south = whole.parallel(["north", "south"]).values()
    towns = north.allowance(epsilon="0.6").parallel(["a", "b"])
    towns["a"].charge(pure("0.4"))
    towns["b"].charge(pure("0.5"))
    assert (whole.spent.epsilon, north.spent.epsilon, south.spent.epsilon) == (0.5, 0.5, 0)
    south.charge(pure("0.9"))
    assert towns["a"].left.epsilon == Fraction(1, 5)
    assert refused(towns["b"], pure("0.11"))
    assert not refused(towns["b"], pure("0.1"))
    assert whole.spent.epsilon == Fraction(9, 10)
    assert towns["a"].guarantee == dp.PureDP("0.6")


def test_no_person_loses_more_than_the_whole_says():
    """Whichever branch a person is in: her ratio, over all transcripts, is within the whole."""
    whole = dp.Budget(epsilon=1)
    branches = whole.parallel(["a", "b", "c"])
    hers = dict.fromkeys(branches, Fraction(0))
    for i in range(40):
        name, epsilon = "abc"[i % 3], Fraction(1, 3 + (7 * i) % 11)
        if not refused(branches[name], pure(epsilon)):
            hers[name] += epsilon
        assert max(hers.values()) == whole.spent.epsilon <= 1


def test_replaced_people_have_no_parallel_branches():
    with pytest.raises(dp.ParameterError, match="leave one part and enter another"):
        dp.Budget(epsilon=1, neighbours="replace").parallel(["a", "b"])


def test_random_privacy_has_no_parallel_branches():
    """A random pair differs in one part, nobody knows which: the gammas of all parts add up."""
    with pytest.raises(dp.ParameterError, match="gammas of all branches") as caught:
        dp.Budget(epsilon=1, gamma="0.1").parallel(["a", "b"])
    assert caught.value.name == "gamma"


@pytest.mark.parametrize("parts", [[], "ab", ["a", "a"]])
def test_parts_that_make_no_sense(parts):
    with pytest.raises(dp.ParameterError, match="different names"):
        dp.Budget(epsilon=1).parallel(parts)


# The rest.

FORKED = """
import os
import discreet as dp
budget, loss = dp.Budget(epsilon=1), dp.losses.PureLoss(epsilon="0.1")
part = budget.allowance(epsilon="0.5")
reads, writes = os.pipe()
if os.fork() == 0:
    said = []
    for made in (lambda: budget, lambda: part, lambda: budget.allowance(epsilon=1),
                 lambda: budget.split(2)[0], lambda: budget.parallel(["a"])["a"]):
        for ask in ("charge", "affords"):
            try:
                getattr(made(), ask)(loss)
                said.append("spent twice")
            except dp.UnsupportedError as error:
                said.append("refused" if "another process" in str(error) else str(error))
    os.write(writes, " ".join(said).encode())
    os._exit(0)
os.wait()
print(os.read(reads, 1000).decode())
budget.charge(loss)
part.charge(loss)
print(budget.left)
"""


def test_a_forked_child_cannot_spend_it_a_second_time():
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKED],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert done.stdout.split("\n")[:2] == [" ".join(["refused"] * 10), "epsilon 0.8"]


def test_another_process_is_told_why(monkeypatch):
    budget = dp.Budget(epsilon=1)
    monkeypatch.setattr("os.getpid", lambda: -1)
    with pytest.raises(dp.UnsupportedError, match=r"another process.*Nothing was charged"):
        budget.charge(pure("0.1"))
    for look in ("spent", "left", "losses"):  # the lock may be held for ever in a child
        with pytest.raises(dp.UnsupportedError, match="another process"):
            getattr(budget, look)
    monkeypatch.undo()
    assert budget.spent.epsilon == 0


@pytest.mark.parametrize("stop", [1, 2])
def test_a_charge_that_is_interrupted_overcounts(monkeypatch, stop):
    """The whole is booked first: whatever stops in between, no branch rides free on a peak."""
    booked = []

    def put(node, name, value):
        if name == "totals":
            booked.append(name)
        if len(booked) > stop:
            raise KeyboardInterrupt
        object.__setattr__(node, name, value)

    whole = dp.Budget(epsilon=1)
    regions = whole.parallel(["north", "south"])
    with monkeypatch.context() as patch:
        patch.setattr("discreet.privacy.balance.Node.__setattr__", put, raising=False)
        with pytest.raises(KeyboardInterrupt):
            regions["north"].charge(pure(1))
    assert whole.spent.epsilon == 1
    assert refused(whole, pure("0.1"))


def test_a_refusal_of_a_replacing_budget_says_what_could_be_asked():
    budget = dp.Budget(epsilon=1, neighbours="replace")
    with pytest.raises(dp.BudgetExceededError) as caught:
        budget.charge(dp.losses.PureLoss(epsilon=2, neighbours="replace"))
    assert caught.value.could == 1


def test_finest_goes_beyond_what_plain_sums_leave():
    """0.15 of epsilon is left, and more of rho than that costs."""
    budget = dp.Budget(epsilon=1, delta="1e-6")
    budget.charge(dp.losses.PureLoss(epsilon="0.0085"), times=100)
    assert budget.left.epsilon == Fraction("0.15")
    found = budget.finest(dp.Geometric).epsilon
    assert found > Fraction("0.19")


def test_nothing_can_be_split_where_the_whole_is_spent():
    whole = dp.Budget(epsilon=1)
    part = whole.allowance(epsilon=1, delta="1e-6")
    assert str(part.left) == "epsilon 1"
    whole.charge(pure(1))
    assert str(part.left) == "epsilon 0"
    with pytest.raises(dp.BudgetExceededError, match="nothing is left to be split"):
        part.split(2)


def in_threads(work, arguments):
    """Run `work` of each argument in a thread of its own, with as many switches as possible."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work, args=(each,)) for each in arguments]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)


@pytest.mark.parametrize("parted", [False, True])
def test_threads_that_are_interrupted_within_a_charge(monkeypatch, parted):
    """Whoever adds up falls asleep; nobody else may add up meanwhile, here or in another part."""

    def slowly(first, second):
        time.sleep(1e-4)
        return first + second

    monkeypatch.setattr("discreet.privacy.balance.add_upper", slowly)
    whole = dp.Budget(epsilon=1)
    parts = [*whole.split(2), whole.allowance(epsilon=1), whole] if parted else [whole] * 4
    accepted = []

    def ask(part):
        for _ in range(10):
            accepted.append(not is_refused(part, pure("1/20")))  # noqa: PERF401

    in_threads(ask, parts)
    assert sum(accepted) == 20
    assert whole.left.epsilon == 0
    assert sum(len(part) for part in set(parts)) == 20


def is_refused(budget, release):
    try:
        budget.charge(release)
    except dp.BudgetExceededError:
        return True
    return False


@pytest.mark.parametrize(
    ("maker", "parameters", "said"),
    [
        (dp.Geometric, {"sensitivty": 1}, "sensitivty"),
        (dp.Laplace, {}, "sensitivity"),
        (dp.Laplace, {"sensitivity": -1, "grid": 1}, "sensitivity must be above 0"),
        (dp.Staircase, {"sensitivity": 0}, "sensitivity must be at least 1"),
    ],
)
def test_a_mistake_in_what_finest_is_told_is_named(maker, parameters, said):
    with pytest.raises(dp.ParameterError, match=said):
        dp.Budget(epsilon=1).finest(maker, **parameters)


def test_what_cannot_be_afforded_at_all_says_why():
    with pytest.raises(dp.BudgetExceededError, match="no pure epsilon"):
        dp.Budget(epsilon=1).finest(dp.Gaussian)
    with pytest.raises(dp.BudgetExceededError, match="say failures="):
        dp.Budget(epsilon=1, delta="1e-6").finest(dp.SelectKeys, delta="1e-7")


def test_a_class_and_a_number_are_no_releases():
    with pytest.raises(dp.InputTypeError, match="not the class Geometric; make one first"):
        dp.Budget(epsilon=1).charge(dp.Geometric)
    with pytest.raises(dp.InputTypeError, match="not float; such as dp"):
        dp.Budget(epsilon=1).charge(0.1)


def test_a_budget_is_true_and_says_what_it_is():
    budget = dp.Budget(epsilon=1)
    assert budget
    budget.charge(pure("0.2"), times=2)
    budget.charge(dp.Geometric(epsilon="0.3"))
    assert len(budget) == 3
    assert repr(budget) == f"<Budget: {dp.PureDP(1)}; epsilon 0.3 left>"
    assert sum(budget.losses.values()) == 3
    budget.losses.clear()
    assert len(budget) == 3


def test_a_balance_has_what_is_counted_and_no_more():
    balance = dp.Budget(rho=1).left
    assert isinstance(balance, Balance)
    assert (balance.rho, balance["rho"], balance.delta, balance.gamma) == (1, 1, 0, 0)
    with pytest.raises(dp.UnsupportedError, match="does not count epsilon; it counts delta, gamma"):
        _ = balance.epsilon
    assert dp.Budget(renyi={2: 1, "5/2": 3}).left.renyi == {2: 1, Fraction(5, 2): 3}
    assert str(dp.Budget(epsilon=1, gamma="0.1").left) == "epsilon 1, gamma 0.1"


def test_more_prices_than_are_remembered(monkeypatch):
    monkeypatch.setattr("discreet.privacy.balance.KNOWN", 3)
    budget = dp.Budget(epsilon=1)
    for n in range(100, 110):
        budget.charge(pure(Fraction(1, n)))
    assert budget.spent.epsilon == sum(Fraction(1, n) for n in range(100, 110))


def test_random_losses_are_refused_in_a_branch_and_a_share_without_gamma():
    random = RandomLoss(epsilon="0.1", gamma="0.01")
    whole = dp.Budget(epsilon=1)
    for part in (
        whole.parallel(["a"])["a"],
        whole.split(1)[0],
        whole.allowance(epsilon=1, gamma="0.1"),
    ):
        assert refused(part, random)
