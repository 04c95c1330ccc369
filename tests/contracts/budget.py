"""What every budget must do, in memory or on disk: each rule takes `make(**limits)`.

`make` returns a new budget with the limits of `dp.Budget`. tests/privacy/test_budget.py runs the
rules on `dp.Budget`.
"""

import copy
import pickle
import sys
import threading
from fractions import Fraction

import pytest

import discreet as dp
from discreet.privacy.loss import ApproxLoss, GaussianLoss, PureLoss, RandomLoss, ZCDPLoss

KINDS = [
    {"epsilon": 1},
    {"epsilon": 1, "delta": "1e-6"},
    {"epsilon": 1, "delta": "1e-6", "failures": "5e-7"},
    {"epsilon": 1, "delta": "1e-6", "accounting": "renyi", "order": 22},
    {"epsilon": 1, "delta": "1e-6", "accounting": "basic"},
    {"epsilon": 1, "gamma": "0.1"},
    {"rho": "0.02"},
    {"renyi": {2: "0.05", 8: "0.2"}},
]
RELEASES = [
    PureLoss(epsilon="0.3"),
    PureLoss(epsilon="1/7"),
    dp.Geometric(epsilon="0.01"),
    GaussianLoss(sigma_squared=100),
    ApproxLoss(epsilon="0.1", delta="1e-7"),
    RandomLoss(epsilon="0.1", gamma="0.04"),
]


def never_exceeds_what_it_has(make):
    """Whatever is asked, in whatever order: what was spent stays within the limits."""
    for limits in KINDS:
        budget = make(**limits)
        for release in RELEASES * 8:
            try:
                budget.charge(release)
            except dp.BudgetExceededError:
                continue
        spent = budget.spent
        assert within(spent, limits), (limits, spent)


def within(spent, limits):
    """Whether the sums are allowed, as the documentation says it; written anew for the tests."""
    from discreet.privacy.convert import largest_divergence, largest_rho

    said = {name: Fraction(limits.get(name, 0)) for name in ("delta", "failures", "gamma")}
    if "rho" in limits:
        return spent.rho <= Fraction(limits["rho"]) and spent.delta == spent.gamma == 0
    if "renyi" in limits:
        return all(spent.renyi[Fraction(a)] <= Fraction(b) for a, b in limits["renyi"].items())
    plain = spent.epsilon is not None and spent.epsilon <= limits["epsilon"]
    if limits.get("accounting") == "basic" or not said["delta"]:
        return plain and spent.delta <= said["delta"] and spent.gamma <= said["gamma"]
    rest = said["delta"] - said["failures"]
    if "order" in limits:
        order = Fraction(limits["order"])
        tight = spent.renyi[order] <= largest_divergence(order, Fraction(limits["epsilon"]), rest)
    else:
        tight = spent.rho <= largest_rho(Fraction(limits["epsilon"]), rest)
    return (plain or tight) and spent.delta <= said["failures"] and spent.gamma == 0


def a_refused_charge_changes_nothing(make):
    """Neither what is spent, nor what is left, nor what can be charged next."""
    for limits in KINDS:
        budget = make(**limits)
        budget.charge(PureLoss(epsilon="0.01"))
        before = budget.spent, budget.left
        with pytest.raises(dp.BudgetExceededError):
            budget.charge(PureLoss(epsilon=3))
        with pytest.raises(dp.BudgetExceededError):
            budget.charge(PureLoss(epsilon="0.01"), times=10**12)
        assert (budget.spent, budget.left) == before
        budget.charge(PureLoss(epsilon="0.01"))


def asking_what_is_affordable_changes_nothing(make):
    """`affords` only looks."""
    budget = make(epsilon=1)
    assert all(budget.affords(PureLoss(epsilon=1)) for _ in range(3))
    assert budget.spent.epsilon == 0


def spent_and_left_add_up_to_the_limit(make):
    """Exactly, in every step."""
    budget = make(epsilon="22/7")
    for epsilon in ("1/3", "0.1", "1/7", "1e-9", "2/13"):
        budget.charge(PureLoss(epsilon=epsilon))
        assert budget.spent.epsilon + budget.left.epsilon == Fraction(22, 7)
    budget.charge(PureLoss(epsilon=budget.left.epsilon))
    assert budget.left.epsilon == 0
    assert budget.spent.epsilon == Fraction(22, 7)


def affords_says_what_charge_does(make):
    """For each kind of budget and of release, until nothing more fits."""
    for limits in KINDS:
        budget = make(**limits)
        for release in RELEASES * 3:
            for times in (1, 3):
                if budget.affords(release, times=times):
                    budget.charge(release, times=times)
                else:
                    with pytest.raises(dp.BudgetExceededError):
                        budget.charge(release, times=times)


def counts_fractions_exactly(make):
    """What adds up to the limit on paper adds up to it here, and one more is refused."""
    for limit, epsilon, number in [
        (1, "1/3", 3),
        (1, "1/7", 7),
        (1, 0.1, 10),
        ("0.2", "0.002", 100),
        (4, 0.2, 20),
        (4, 0.5, 8),
        (4, 0.8, 5),
    ]:
        budget = make(epsilon=limit)
        for _ in range(number):
            budget.charge(PureLoss(epsilon=epsilon))
        assert budget.left.epsilon == 0
        assert not budget.affords(PureLoss(epsilon="1e-300"))


def many_at_once_cost_what_they_cost_one_by_one(make):
    """`times` multiplies."""
    for limits in KINDS:
        release = PureLoss(epsilon="0.002")
        one_by_one, at_once = make(**limits), make(**limits)
        for _ in range(20):
            one_by_one.charge(release)
        at_once.charge(release, times=20)
        assert one_by_one.spent == at_once.spent
        assert one_by_one.left == at_once.left != make(**limits).left


def answers_as_many_as_the_theory_says(make):
    """The counts of releases before the halt, computed elsewhere."""
    for limits, epsilon, most in [
        ({"delta": "1e-6"}, "0.002", 12_177),
        ({"delta": "1e-6"}, "0.01", 487),
        ({"delta": "1e-6"}, "0.02", 121),
        ({"delta": "1e-6", "accounting": "renyi", "order": 22}, "0.002", 12_181),
        ({"delta": "1e-6", "accounting": "renyi", "order": 22}, "0.01", 490),
        ({"delta": "1e-6", "accounting": "renyi", "order": 22}, "0.02", 125),
        ({"delta": "1e-6", "accounting": "basic"}, "0.002", 500),
        ({}, "0.002", 500),
    ]:
        budget, release = make(epsilon=1, **limits), PureLoss(epsilon=epsilon)
        assert budget.affords(release, times=most)
        assert not budget.affords(release, times=most + 1)
        budget.charge(release, times=most)
        assert not budget.affords(release)


def keeps_failures_apart(make):
    """A delta is refused where none was said, counted where it was, and never more."""
    failing = ApproxLoss(epsilon="0.001", delta="1e-7")
    for limits, most in [
        ({"epsilon": 1}, 0),
        ({"epsilon": 1, "delta": "1e-6"}, 0),
        ({"epsilon": 1, "delta": "1e-6", "failures": "3e-7"}, 3),
        ({"epsilon": 1, "delta": "1e-6", "accounting": "basic"}, 10),
        ({"rho": 1}, 0),
        ({"renyi": {2: 1}}, 0),
    ]:
        budget = make(**limits)
        for _ in range(most):
            budget.charge(failing)
        assert budget.spent.delta == most * Fraction(1, 10**7)
        assert not budget.affords(failing)


def counts_random_privacy_only_where_that_was_said(make):
    """And then gammas add up, beside the epsilons."""
    random = RandomLoss(epsilon="0.1", gamma="0.04")
    for limits in KINDS:
        budget = make(**limits)
        if "gamma" not in limits:
            with pytest.raises(dp.BudgetExceededError, match="say gamma="):
                budget.charge(random)
            assert budget.spent.gamma == 0
            continue
        budget.charge(random, times=2)
        assert (budget.spent.epsilon, budget.spent.gamma) == (Fraction(1, 5), Fraction(8, 100))
        assert not budget.affords(random)
        budget.charge(PureLoss(epsilon="0.8"))
        assert budget.guarantee == dp.RandomDP(1, "0.1")


def all_orders_of_a_curve_must_hold(make):
    """One order alone would let Gaussian noise, or large pure releases, pass."""
    budget = make(renyi={2: "0.1", 30: "0.5"})
    budget.charge(ZCDPLoss(rho="0.01"))
    assert budget.left.renyi == {2: Fraction("0.08"), 30: Fraction("0.2")}
    assert not budget.affords(ZCDPLoss(rho="0.007"))  # the order of 30 is broken
    budget.charge(PureLoss(epsilon="0.15"))
    with pytest.raises(dp.BudgetExceededError):
        budget.charge(PureLoss(epsilon="0.3"))  # the order of 2 is broken
    assert budget.guarantee == dp.RenyiDP({2: "0.1", 30: "0.5"})


def takes_a_mechanism_as_well_as_its_loss(make):
    """Both cost the same."""
    mechanism, first, second = dp.Geometric(epsilon="0.1"), make(epsilon=1), make(epsilon=1)
    first.charge(mechanism)
    second.charge(mechanism.privacy_loss)
    assert first.spent == second.spent


def refuses_other_neighbours(make):
    """A loss for replaced people says nothing about added ones."""
    for mine, theirs in [("add_or_remove", "replace"), ("replace", "add_or_remove")]:
        budget = make(epsilon=1, neighbours=mine)
        for ask in (budget.charge, budget.affords):
            with pytest.raises(dp.ParameterError, match="neighbours") as caught:
                ask(PureLoss(epsilon="0.1", neighbours=theirs))
            assert caught.value.name == "neighbours"
        assert budget.spent.epsilon == 0
        budget.charge(PureLoss(epsilon="0.1", neighbours=mine))


def refuses_what_is_no_loss(make):
    """By its type, and nothing is charged."""
    budget = make(epsilon=1)
    for thing in (0.1, "0.1", None, dp.PureDP(1), Fraction(1, 10), dp.Geometric):
        for ask in (budget.charge, budget.affords):
            with pytest.raises(
                dp.InputTypeError, match=r"loss or a mechanism.*Nothing was charged"
            ):
                ask(thing)
    assert budget.spent.epsilon == 0


def refuses_limits_that_make_no_sense(make):
    """And names the one that does not."""
    for limits, name in BAD_LIMITS:
        with pytest.raises(dp.ParameterError) as caught:
            make(**limits)
        assert caught.value.name == name, (limits, str(caught.value))


_SMALL = {"epsilon": 1, "delta": "1e-6"}
BAD_LIMITS = [
    *(
        ({"epsilon": bad}, "epsilon")
        for bad in (float("nan"), float("inf"), 0, -1, 1001, "x", True)
    ),
    *(({"rho": bad}, "rho") for bad in (float("nan"), 0, -1, 1001, "x", True)),
    *(({"renyi": {2: bad}}, "epsilon") for bad in (float("nan"), 0, -1, 1001, None)),
    *(({"renyi": {bad: 1}}, "order") for bad in (float("nan"), 0, 1, "1/2", 2**21)),
    *(({"renyi": bad}, "curve") for bad in ({}, 5, [(2, 1)])),
    *(({"epsilon": 1, "delta": bad}, "delta") for bad in (float("nan"), 1, 2, -1, None, "x")),
    *(({"epsilon": 1, "gamma": bad}, "gamma") for bad in (float("nan"), 1, -1, None)),
    *(({**_SMALL, "failures": bad}, "failures") for bad in (float("nan"), 1, -1, None)),
    *(({**_SMALL, "failures": bad}, "delta") for bad in ("1e-6", "2e-6")),
    *(({**_SMALL, "accounting": bad}, "accounting") for bad in ("pld", "", 5)),
    *(({**_SMALL, "accounting": "renyi", "order": bad}, "order") for bad in (1, None, "1.01", -3)),
    ({}, "budget"),
    ({"epsilon": None}, "budget"),
    ({"delta": "1e-6"}, "budget"),
    ({"epsilon": 1, "rho": 1}, "budget"),
    ({"rho": 1, "renyi": {2: 1}}, "budget"),
    ({**_SMALL, "order": 2}, "order"),
    ({**_SMALL, "order": 2, "accounting": "basic"}, "order"),
    ({**_SMALL, "gamma": "0.1"}, "gamma"),
    ({"epsilon": 1, "accounting": "zcdp"}, "delta"),
    ({"epsilon": 1, "failures": "1e-6"}, "failures"),
    ({**_SMALL, "failures": "1e-7", "accounting": "basic"}, "failures"),
    ({"rho": 1, "delta": "1e-6"}, "delta"),
    ({"rho": 1, "failures": "1e-6"}, "failures"),
    ({"rho": 1, "gamma": "0.1"}, "gamma"),
    ({"rho": 1, "order": 2}, "order"),
    ({"renyi": {2: 1}, "accounting": "zcdp"}, "accounting"),
    ({"epsilon": 1, "neighbours": "both"}, "neighbours"),
]


def refuses_times_that_make_no_sense(make):
    """And charges nothing."""
    budget = make(epsilon=1)
    for times in (0, -1, 1.5, True, False, None, "x", float("nan"), 10**12 + 1):
        for ask in (budget.charge, budget.affords):
            with pytest.raises(dp.ParameterError) as caught:
                ask(PureLoss(epsilon="0.1"), times=times)
            assert caught.value.name == "times"
    assert budget.spent.epsilon == 0


def counts_a_million_million_at_once(make):
    """Without a loop, and exactly."""
    budget = make(epsilon=1)
    budget.charge(PureLoss(epsilon="1e-12"), times=10**12)
    assert budget.left.epsilon == 0


def never_counts_too_little_when_numbers_get_long(make):
    """A thousand prime denominators: the sum is rounded up, by next to nothing, and stays short."""
    budget, true = make(epsilon=1000), Fraction(0)
    for prime in primes(1000):
        budget.charge(PureLoss(epsilon=Fraction(1, prime)))
        true += Fraction(1, prime)
    assert true < budget.spent.epsilon < true + Fraction(1, 2**300)
    assert budget.spent.epsilon.denominator.bit_length() < 1100
    assert budget.spent.epsilon + budget.left.epsilon == 1000


def primes(number):
    """The first primes."""
    found = []
    at = 2
    while len(found) < number:
        if all(at % each for each in found if each * each <= at):
            found.append(at)
        at += 1
    return found


def threads_get_exactly_what_fits(make):
    """Eight threads ask for twice as much as there is."""
    most = 240
    budget, release = make(epsilon=1), PureLoss(epsilon=Fraction(1, most))
    accepted, start = [], threading.Barrier(8)

    def ask():
        start.wait()
        for _ in range(most // 4):
            try:
                budget.charge(release)
            except dp.BudgetExceededError:
                continue
            accepted.append(1)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert len(accepted) == most
    assert budget.left.epsilon == 0
    assert budget.spent.epsilon == 1


def cannot_be_copied(make):
    """The copy could be spent a second time."""
    budget = make(epsilon=1)
    for way in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(dp.UnsupportedError, match="not copied"):
            way(budget)


def says_what_was_asked_what_is_left_and_what_would_fit(make):
    """In words, and as data."""
    budget = make(epsilon=1)
    budget.charge(PureLoss(epsilon="0.7"))
    loss = PureLoss(epsilon="0.5")
    with pytest.raises(dp.BudgetExceededError) as caught:
        budget.charge(loss)
    error, text = caught.value, str(caught.value)
    assert "costs epsilon 0.5" in text
    assert "epsilon 0.3 is left" in text
    assert "nothing was charged and nothing was released" in text
    assert "epsilon 0.3 would still fit" in text
    assert (error.asked, error.left.epsilon, error.could) == (
        loss,
        Fraction(3, 10),
        Fraction(3, 10),
    )
    with pytest.raises(dp.BudgetExceededError, match=r"costs epsilon 1\.5"):
        budget.charge(loss, times=3)


def says_when_nothing_would_fit(make):
    """`could` is None then."""
    budget = make(epsilon=1)
    budget.charge(PureLoss(epsilon=1))
    with pytest.raises(dp.BudgetExceededError, match="Nothing more fits") as caught:
        budget.charge(PureLoss(epsilon="1e-9"))
    assert caught.value.could is None


def says_the_way_out_for_noise_without_a_pure_epsilon(make):
    """A pure budget never takes Gaussian noise, however large it is."""
    with pytest.raises(dp.BudgetExceededError, match="no pure epsilon"):
        make(epsilon=1000).charge(GaussianLoss(sigma_squared=10**9))
    with pytest.raises(dp.BudgetExceededError, match="epsilon and delta, and say failures="):
        make(rho=1).charge(ApproxLoss(epsilon="0.1", delta="1e-9"))


def several_are_booked_together_or_not_at_all(make):
    """Six releases of which five fit: none is charged."""
    budget = make(epsilon=1)
    releases = [PureLoss(epsilon="0.2")] * 5
    with pytest.raises(dp.BudgetExceededError, match=r"these 6 releases cost epsilon 1\.2"):
        budget.charge(*releases, PureLoss(epsilon="0.2"))
    assert budget.spent.epsilon == 0
    assert not budget.affords(*releases, PureLoss(epsilon="0.2"))
    budget.charge(*releases)
    assert budget.spent.epsilon == 1
    with pytest.raises(dp.ParameterError, match="releases are missing"):
        budget.charge()


def what_could_be_asked_fits_and_little_more_does_not(make):
    """For each kind of budget, after some spending."""
    for limits in KINDS:
        budget = make(**limits)
        budget.charge(PureLoss(epsilon="0.05"))
        with pytest.raises(dp.BudgetExceededError) as caught:
            budget.charge(PureLoss(epsilon=10))
        could = caught.value.could
        assert not budget.affords(PureLoss(epsilon=could * Fraction(1001, 1000)))
        budget.charge(PureLoss(epsilon=could))


def says_its_guarantee(make):
    """As a value with the neighbour relation in it."""
    assert make(epsilon=1).guarantee == dp.PureDP(1)
    assert make(epsilon=1, delta="1e-6").guarantee == dp.ApproxDP(1, "1e-6")
    assert make(epsilon=1, gamma="0.1").guarantee == dp.RandomDP(1, "0.1")
    assert make(rho="0.1", neighbours="replace").guarantee == dp.ZCDP("0.1", "replace")
    assert make(renyi={2: 1}).guarantee == dp.RenyiDP({2: 1})


CONTRACT = [
    never_exceeds_what_it_has,
    a_refused_charge_changes_nothing,
    asking_what_is_affordable_changes_nothing,
    spent_and_left_add_up_to_the_limit,
    affords_says_what_charge_does,
    counts_fractions_exactly,
    many_at_once_cost_what_they_cost_one_by_one,
    answers_as_many_as_the_theory_says,
    keeps_failures_apart,
    counts_random_privacy_only_where_that_was_said,
    all_orders_of_a_curve_must_hold,
    takes_a_mechanism_as_well_as_its_loss,
    refuses_other_neighbours,
    refuses_what_is_no_loss,
    refuses_limits_that_make_no_sense,
    refuses_times_that_make_no_sense,
    counts_a_million_million_at_once,
    never_counts_too_little_when_numbers_get_long,
    threads_get_exactly_what_fits,
    cannot_be_copied,
    says_what_was_asked_what_is_left_and_what_would_fit,
    says_when_nothing_would_fit,
    says_the_way_out_for_noise_without_a_pure_epsilon,
    several_are_booked_together_or_not_at_all,
    what_could_be_asked_fits_and_little_more_does_not,
    says_its_guarantee,
]
