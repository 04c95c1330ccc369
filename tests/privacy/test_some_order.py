"""Why a budget keeps to one order: "within budget at SOME order" leaks almost twice its delta.

A Renyi divergence of at most B(a) at the order a gives (epsilon, delta). An adversary who chooses
each release after seeing the outputs so far may spend up to B(a), as long as the order a is fixed
ahead. It is tempting to list several orders and to go on while the divergences added up are within
B(a) for at least one of them. That rule is not private with this epsilon and delta, and here is an
adversary that proves it, in rational numbers, for the orders 20 and 100.

The first release is a coin that hardly tells P from Q, but it has a third, rare side. Heads (P says
53%, Q says 47%) makes up most of its moment of order 20. The rare side (P says 170 in a million, Q
says 124) makes up most of its moment of order 100. After heads the adversary takes a release that
fits at the order 20 only, after the rare side one that fits at the order 100 only, and after tails
nothing. Each of these outputs ends near the ratio P/Q = e^epsilon a/(a - 1), where the conversion
at its order is tight (Theorem 1 of discreet.privacy.convert), so that the transcripts that end
within B(20) leak almost delta, and those that end within B(100) leak almost delta again, at other
outputs. The rule picks its order after the fact, and the two leaks add up.

More than that cannot happen: what ends within B(a) leaks at most delta, by the argument for the one
order a. So k orders leak at most k delta, and a budget for delta/k at each of k orders is honest.
"""

from fractions import Fraction

import pytest

from discreet.exact import exp
from discreet.privacy.bounds import renyi_upper
from discreet.privacy.convert import largest_divergence
from discreet.privacy.loss import PairLoss

EPSILON = Fraction(1)
DELTA = Fraction(1, 10**6)
LOW, HIGH = ORDERS = (Fraction(20), Fraction(100))


def release(p, q):
    """A release whose outputs have these weights under P and under Q."""
    return PairLoss(
        first=[Fraction(weight, sum(p)) for weight in p],
        second=[Fraction(weight, sum(q)) for weight in q],
    )


COIN = release([530_000, 170, 469_830], [470_000, 124, 529_876])
HEADS, RARE, TAILS = range(3)
AFTER_HEADS = release([38, 999_962], [15, 999_985])
AFTER_RARE = release([2, 1], [1, 2])
NEXT = {HEADS: AFTER_HEADS, RARE: AFTER_RARE}


def one_order_accepts(releases, order, delta=DELTA):
    """The honest rule: the divergences at an order fixed ahead add up to its budget or less."""
    budget = largest_divergence(order, EPSILON, delta)
    return budget is not None and sum(renyi_upper(each, order) for each in releases) <= budget


def some_order_accepts(releases, delta=DELTA):
    """The rule that is wrong, unless delta is one that was split among the orders."""
    return any(one_order_accepts(releases, order, delta) for order in ORDERS)


def transcripts(accepts):
    """The probabilities under P and Q of all that this adversary may see, if the rule is asked.

    What the rule refuses is not released, and the transcript ends.
    """
    if not accepts([COIN]):
        return [(Fraction(1), Fraction(1))]
    seen = []
    for side, (p, q) in enumerate(zip(COIN.first, COIN.second, strict=True)):
        more = NEXT.get(side)
        if more is not None and accepts([COIN, more]):
            pairs = zip(more.first, more.second, strict=True)
            seen += [(p * then_p, q * then_q) for then_p, then_q in pairs]
        else:
            seen.append((p, q))
    return seen


def leak(seen):
    """The least delta that is true of these transcripts: the sum of (P - e^epsilon Q)+, enclosed.

    The larger of both directions.
    """
    factor = exp(EPSILON, 100)
    both = (seen, [(q, p) for p, q in seen])
    lower = max(sum(max(p - factor.upper * q, 0) for p, q in pairs) for pairs in both)
    upper = max(sum(max(p - factor.lower * q, 0) for p, q in pairs) for pairs in both)
    return lower, upper


def test_the_transcripts_are_all_of_them():
    seen = transcripts(some_order_accepts)
    assert len(seen) == 5
    assert sum(p for p, _ in seen) == sum(q for _, q in seen) == 1


# The rule that picks its order afterwards.


@pytest.mark.parametrize("releases", [[COIN], [COIN, AFTER_HEADS], [COIN, AFTER_RARE]])
def test_some_order_accepts_every_step(releases):
    assert some_order_accepts(releases)


@pytest.mark.parametrize(("order", "more"), [(LOW, AFTER_HEADS), (HIGH, AFTER_RARE)])
def test_the_steps_are_within_budget_by_whole_numbers_too(order, more):
    """Without logarithms: the product of the moments, sum of p^a/q^(a - 1), is a rational."""
    a = int(order)
    for mirror in (False, True):
        moments = Fraction(1)
        for each in (COIN, more):
            p, q = (each.second, each.first) if mirror else (each.first, each.second)
            moments *= sum(x**a / y ** (a - 1) for x, y in zip(p, q, strict=True))
        conversion = (1 - 1 / order) ** (a - 1) / order
        assert moments * conversion <= DELTA * exp((a - 1) * EPSILON, 100).lower


def test_some_order_leaks_almost_twice_its_delta():
    lower, upper = leak(transcripts(some_order_accepts))
    assert lower > Fraction(195, 100) * DELTA
    assert upper < 2 * DELTA


# The rules that are honest.


@pytest.mark.parametrize(
    ("order", "taken", "refused"),
    [(LOW, AFTER_HEADS, AFTER_RARE), (HIGH, AFTER_RARE, AFTER_HEADS)],
)
def test_an_order_fixed_ahead_refuses_one_of_the_two(order, taken, refused):
    assert one_order_accepts([COIN], order)
    assert one_order_accepts([COIN, taken], order)
    assert not one_order_accepts([COIN, refused], order)


@pytest.mark.parametrize("order", ORDERS)
def test_an_order_fixed_ahead_keeps_its_promise_and_only_just(order):
    lower, upper = leak(transcripts(lambda releases: one_order_accepts(releases, order)))
    assert upper <= DELTA
    assert lower > Fraction(97, 100) * DELTA


def test_some_order_is_honest_where_delta_is_split_among_the_orders():
    def accepts(releases):
        return some_order_accepts(releases, DELTA / len(ORDERS))

    assert accepts([COIN])
    assert not accepts([COIN, AFTER_HEADS])
    assert not accepts([COIN, AFTER_RARE])
    assert leak(transcripts(accepts))[1] <= DELTA
