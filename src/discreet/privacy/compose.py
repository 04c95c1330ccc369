"""Rules for guarantees: what several releases, groups, samples and parts of the data promise.

Every rule takes guarantees and returns one; it looks at no data and at no mechanism, so it is true
of whatever has the guarantees that were put in. Where no rule is proved, there is none: the
refusal says the way out. Sums are exact; what is not rational is rounded up, and a name with
`upper` says so.

Write P and Q for the laws of the release on two neighbouring datasets, E for e^epsilon. P and Q
may always change places, because neighbours may.

>>> print(sequential(PureDP("0.1"), PureDP("0.2"), ApproxDP("0.2", "1e-6")))
(0.5, 1e-06)-differential privacy (neighbours: one person is added or removed)
>>> print(group(PureDP("0.1"), people=5))
0.5-differential privacy (neighbours: one person is added or removed)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from typing import TypeVar

from discreet.errors import InputTypeError, ParameterError, UnsupportedError
from discreet.exact import Exact, Interval, certify, exp, log, positive, shown, whole
from discreet.privacy import convert
from discreet.privacy.bounds import add_upper
from discreet.privacy.guarantee import (
    LARGEST_EPSILON,
    ZCDP,
    ApproxDP,
    Guarantee,
    Neighbours,
    PureDP,
    RandomDP,
    RenyiDP,
    delta_of,
    same_neighbours,
)
from discreet.remembered import remembered

__all__ = [
    "as_replacement",
    "group",
    "parallel",
    "poisson_sampled",
    "post_processed",
    "pure_to_approx",
    "pure_to_zcdp_upper",
    "renyi_to_approx_upper",
    "sampled_without_replacement",
    "sequential",
    "zcdp_to_approx_upper",
]

_BITS = 40  # relative precision of what has to be rounded
_LONGEST = 1 << 62
_Any = TypeVar("_Any", PureDP, ApproxDP, ZCDP, RenyiDP, RandomDP)
_Total = Callable[[Iterable[Fraction]], Fraction]


# Several releases.


def sequential(*guarantees: Guarantee, random: bool = False) -> Guarantee:
    """What several releases about the same people promise together: the sum.

    Theorem (adaptive composition). Let each release have its guarantee whatever the earlier answers
    were; which mechanism comes next may depend on them, the list of guarantees may not. Then all
    answers together have the sum: of the epsilons and of the deltas, of the rhos, or of the Renyi
    divergences at each order that all of them list.
    Proof, for two; the rest is induction. Let o be the first answer, S a set of pairs of answers
    and q(o) the second mechanism's chance under Q to complete o to a pair in S. Under P that chance
    is at most delta2 + min(1, E2 q(o)). The mean over P of the second term, a number between 0 and
    1, is at most delta1 + E1 times its mean under Q, hence P(S) <= E1 E2 Q(S) + delta1 + delta2.
    (Dwork, Kenthapadi, McSherry, Mironov and Naor 2006. The exact delta at the summed epsilon is
    1 - (1 - delta1)(1 - delta2); the sum is a little more.)
    For Renyi divergences of order a, the mean under Q of (P1 P2/(Q1 Q2))^a is the mean of (P1/Q1)^a
    times, given o, the mean of (P2/Q2)^a, which is at most exp((a - 1) r2) for every o.

    Kinds. PureDP goes with all others: as it is with ApproxDP, through `pure_to_zcdp_upper` with
    ZCDP, and as the smaller of epsilon and rho times the order with RenyiDP. ZCDP is rho times the
    order with RenyiDP. Anything else must be converted first, by name.

    Random privacy is a promise about typical data only, and is added up only where `random=True`
    says that this is known. Then epsilons add and gammas add (union bound: each release is private
    for the drawn pair, except with probability gamma). That holds for randomly private mechanisms
    that were *fixed before any answer was seen*: chosen by an earlier answer, they could be bad
    exactly where that answer points, and nothing would be left of the promise.

    Tested by tests/privacy/test_compose.py

    >>> print(sequential(*[PureDP("0.1")] * 10))
    1-differential privacy (neighbours: one person is added or removed)
    """
    relation = _relation(guarantees)
    if any(isinstance(one, RandomDP) for one in guarantees):
        return _random_sum(guarantees, relation, allowed=random)
    return _joined(guarantees, relation, _sum)


def parallel(*guarantees: Guarantee) -> Guarantee:
    """What releases about disjoint parts of the people promise together: the largest.

    Theorem. Let each person belong to one part, by a rule that looks at that person only, and let
    each mechanism see its own part and the answers about the others. Then all answers together have
    the largest of the epsilons, of the deltas, of the rhos, or of the Renyi divergences.
    Proof. Somebody who is added or removed changes one part. The answers about all other parts have
    the same laws on both datasets, given the answers seen so far, so they are post-processing of
    the one release that changed (McSherry 2009).

    Under "replace" it is false: the person who leaves one part may be replaced by one who enters
    another, and two parts change.

    Tested by tests/privacy/test_compose.py

    >>> print(parallel(PureDP("0.1"), PureDP("0.2")))
    0.2-differential privacy (neighbours: one person is added or removed)
    """
    relation = _relation(guarantees)
    if relation == "replace":
        raise ParameterError(
            "neighbours",
            relation,
            "must be 'add_or_remove' for disjoint parts: a replaced person can leave one part and "
            "enter another, so two parts change. State the parts under 'add_or_remove' and give "
            "what they promise together to as_replacement",
        )
    if any(isinstance(one, RandomDP) for one in guarantees):
        raise _unknown("disjoint parts", "random", "the pairs that fail may all be in one part")
    return _joined(guarantees, relation, max)


def post_processed(guarantee: _Any) -> _Any:
    """What a function of a release promises: the same, for free.

    Theorem. Whatever is computed from a release, with fresh randomness or without, and without
    looking at the data again, has the release's guarantee.
    Proof. A random function is a random choice of a deterministic f, made without the data. For
    each f the event "f(release) is in S" is the event that the release is in the set of all o with
    f(o) in S, for which the guarantee holds; then average over f. For Renyi divergences it is the
    data processing inequality, Jensen's for the convex function x^a.

    Tested by tests/privacy/test_compose.py
    """
    _relation((guarantee,))
    return guarantee


def _joined(guarantees: tuple[Guarantee, ...], relation: Neighbours, total: _Total) -> Guarantee:
    kinds = {type(one) for one in guarantees}
    if ApproxDP in kinds:
        pairs = [_pair(one) for one in guarantees]
        return _approx(total(pair[0] for pair in pairs), total(pair[1] for pair in pairs), relation)
    if RenyiDP in kinds:
        orders = _common_orders(guarantees)
        curve = {order: total(_divergence(one, order) for one in guarantees) for order in orders}
        return _renyi(curve, relation)
    if ZCDP in kinds:
        return ZCDP(_limited("rho", total(_rho(one) for one in guarantees)), relation)
    return PureDP(_limited("epsilon", total(_pair(one)[0] for one in guarantees)), relation)


def _sum(values: Iterable[Fraction]) -> Fraction:
    return reduce(add_upper, values, Fraction(0))


def _pair(one: Guarantee) -> tuple[Fraction, Fraction]:
    match one:
        case PureDP():
            return one.epsilon, Fraction(0)
        case ApproxDP():
            return one.epsilon, one.delta
        case ZCDP():
            raise _mixed("ZCDP", "zcdp_to_approx_upper")
        case _:
            raise _mixed("RenyiDP", "renyi_to_approx_upper")


def _mixed(kind: str, way: str) -> UnsupportedError:
    return UnsupportedError(
        f"ApproxDP and {kind} do not add up as they are. Add up all that is {kind} first, turn the "
        f"sum into ApproxDP with {way}(guarantee, delta), and add that"
    )


def _rho(one: Guarantee) -> Fraction:
    return one.rho if isinstance(one, ZCDP) else convert.pure_rho_upper(_pair(one)[0])


def _divergence(one: Guarantee, order: Fraction) -> Fraction:
    match one:
        case RenyiDP():
            return dict(one.curve)[order]
        case PureDP():
            return min(one.epsilon, _rho(one) * order)
        case _:
            return _rho(one) * order


def _common_orders(guarantees: tuple[Guarantee, ...]) -> list[Fraction]:
    lists = [{order for order, _ in one.curve} for one in guarantees if isinstance(one, RenyiDP)]
    common = set.intersection(*lists)
    if not common:
        raise ParameterError("curve", None, "must have at least one order that all the others have")
    return sorted(common)


def _random_sum(
    guarantees: tuple[Guarantee, ...], relation: Neighbours, *, allowed: bool
) -> RandomDP:
    if not all(isinstance(one, RandomDP | PureDP) for one in guarantees):
        raise _unknown("adding up", "random", "it goes with PureDP and RandomDP only")
    if not allowed:
        raise UnsupportedError(
            "random privacy protects typical data only, and it spoils every sum that it enters; "
            "say random=True if that is known and if the mechanisms were fixed before any answer"
        )
    gamma = _sum(one.gamma for one in guarantees if isinstance(one, RandomDP))
    epsilon = _sum(one.epsilon for one in guarantees if isinstance(one, PureDP | RandomDP))
    return RandomDP(_limited("epsilon", epsilon), _below_one("gamma", gamma), relation)


# Several people.


def group(guarantee: Guarantee, people: int) -> Guarantee:
    """What is promised to a group of k people together, or to one person with k rows.

    Theorem. For datasets that are k steps apart: PureDP gives k epsilon. ApproxDP gives k epsilon
    and (E^k - 1)/(E - 1) delta, which is k delta for epsilon = 0. ZCDP gives k^2 rho.
    Proof. P0 <= E P1 + delta <= E (E P2 + delta) + delta <= ..., so the deltas add up to
    (1 + E + ... + E^(k - 1)) delta. For ZCDP (Bun and Steinke 2016, Proposition 1.9): for orders
    a > 1, b = (k a - 1)/(k - 1) and any law R in between,
        D_a(P, Q) <= k a/(k a - 1) D_b(P, R) + D_(k a)(R, Q),
    which is Hoelder's inequality with exponents (k a - 1)/(a (k - 1)) and (k a - 1)/(a - 1) for
    P^a Q^(1 - a) = (P^a R^-s) (R^s Q^(1 - a)), s = k a (a - 1)/(k a - 1). If P is k - 1 steps from
    R and R is one step from Q, the induction hypothesis makes the first term (k - 1)^2 rho k a/
    (k - 1) and the second rho k a: together k^2 rho a.

    There is no rule here for RenyiDP, whose orders shrink on the way, and none for RandomDP.

    Tested by tests/privacy/test_compose.py

    >>> print(group(ZCDP("0.01"), people=3))
    0.09-zero-concentrated differential privacy (neighbours: one person is added or removed)
    """
    relation = _relation((guarantee,))
    k = whole(people, name="people", at_least=1, at_most=_LONGEST)
    match guarantee:
        case PureDP():
            return PureDP(_limited("epsilon", k * guarantee.epsilon), relation)
        case ApproxDP():
            epsilon = _limited("epsilon", k * guarantee.epsilon)
            return _approx(epsilon, _group_delta(guarantee, k), relation)
        case ZCDP():
            return ZCDP(_limited("rho", k * k * guarantee.rho), relation)
        case RenyiDP():
            raise _unknown("groups", "Renyi", "a group needs higher orders than those listed")
        case _:
            raise _unknown("groups", "random", "it speaks of one random pair of neighbours only")


def _group_delta(guarantee: ApproxDP, k: int) -> Fraction:
    """(E^k - 1)/(E - 1) delta, rounded up."""
    epsilon, delta = guarantee.epsilon, guarantee.delta
    if epsilon == 0 or k == 1:
        return k * delta

    def factor(w: int) -> Interval:
        return (exp(k * epsilon, w) - 1) / (exp(epsilon, w) - 1)

    return delta * certify(factor, _BITS, start=64).upper


def as_replacement(guarantee: Guarantee) -> Guarantee:
    """From "one person is added or removed" to "one person is replaced by another".

    Theorem. A replacement is a removal and an addition, so it is two steps: `group(..., people=2)`.
    PureDP becomes 2 epsilon, ApproxDP (2 epsilon, (1 + e^epsilon) delta), ZCDP 4 rho.

    The other way there is no theorem: "replace" compares datasets of one size only. Whoever
    publishes the number of people exactly keeps every promise under "replace", and none under
    "add_or_remove".

    Tested by tests/privacy/test_compose.py

    >>> print(as_replacement(PureDP(1)))
    2-differential privacy (neighbours: one person is replaced by another)
    """
    if _relation((guarantee,)) == "replace":
        raise ParameterError(
            "neighbours",
            "replace",
            "must be 'add_or_remove' to be changed into 'replace', and there is no way back: a "
            "promise about replacing says nothing about whether somebody is there at all",
        )
    return replace(group(guarantee, 2), neighbours="replace")


# Samples.


def poisson_sampled(guarantee: Guarantee, rate: Exact) -> Guarantee:
    """What is promised if each person is first kept with probability `rate`, independently.

    Theorem (Balle, Barthe and Gaboardi 2018, Theorem 8). If M is (epsilon, delta)-private under
    "add_or_remove", then M on a secret Poisson sample of rate g is (epsilon', g delta)-private,
        epsilon' = log(1 + g (e^epsilon - 1)).
    Proof. Let v be in the first dataset only, T the sample of all others, W0 the law of M(T) and W1
    that of M(T with v), averaged over T. Then P = (1 - g) W0 + g W1 and Q = W0, and W0, W1 keep
    M's promise, as they do for each T. Write E' = 1 + g (E - 1) = e^epsilon'.
    P - E' Q = g (W1 - E W0) <= g delta.
    Q - E' P: W1 >= (W0 - delta)/E makes it at most W0 (1 - E' (1 - g + g/E)) + g delta E'/E. Here
    E' (1 - g + g/E) = (1 - g)^2 + g^2 + g (1 - g) (E + 1/E) >= 1 and E' <= E.

    Who was kept must stay secret, and so must how many. Under "replace" the proof has no W0 that M
    would compare with W1; take `sampled_without_replacement`.

    Tested by tests/privacy/test_compose.py

    >>> print(poisson_sampled(PureDP(1), rate="0.01"))
    about 0.0170369-differential privacy (neighbours: one person is added or removed)
    """
    if _relation((guarantee,)) != "add_or_remove":
        raise ParameterError(
            "neighbours",
            guarantee.neighbours,
            "must be 'add_or_remove' for a Poisson sample, whose size is secret; for a sample of "
            "a fixed size there is sampled_without_replacement",
        )
    return _sampled(guarantee, positive(rate, name="rate", at_most=1))


def sampled_without_replacement(guarantee: Guarantee, *, taken: int, of: int) -> Guarantee:
    """What is promised if a secret random sample of `taken` out of `of` people is used.

    Theorem (Balle, Barthe and Gaboardi 2018, Theorem 9). If M is (epsilon, delta)-private under
    "replace", then M on a uniformly random set of m out of n people is (epsilon', g delta)-private
    with g = m/n and epsilon' = log(1 + g (e^epsilon - 1)).
    Proof. Let v be replaced by w. Let W be M's law given that this person is not taken, W1 and V1
    its laws with v and with w given that the person is: P = (1 - g) W + g W1, Q = (1 - g) W + g V1.
    Given the m - 1 others, v and w are neighbours, so W1 <= E V1 + delta. A set without this person
    is m - 1 others and one more, who replaces v, so W1 <= E W + delta as well. With E' = e^epsilon'
    and c = E'/E, 1 - c = (1 - g) (E - 1)/E, and so
    P - E' Q = g (W1 - (1 - g) (E - 1) W - E' V1) = g ((1 - c) (W1 - E W) + c (W1 - E V1)), which is
    at most g delta.

    Who was taken must stay secret; how many is public.

    Tested by tests/privacy/test_compose.py

    >>> print(sampled_without_replacement(PureDP("0.01", "replace"), taken=50, of=100))
    about 0.0050125-differential privacy (neighbours: one person is replaced by another)
    """
    if _relation((guarantee,)) != "replace":
        raise ParameterError(
            "neighbours",
            guarantee.neighbours,
            "must be 'replace' for a sample of a fixed size out of a known number of people; "
            "for 'add_or_remove' there is poisson_sampled",
        )
    n = whole(of, name="of", at_least=1, at_most=_LONGEST)
    m = whole(taken, name="taken", at_least=1, at_most=n)
    return _sampled(guarantee, Fraction(m, n))


def _sampled(guarantee: Guarantee, rate: Fraction) -> Guarantee:
    if rate == 1:
        return guarantee
    match guarantee:
        case PureDP():
            return PureDP(_amplified_upper(guarantee.epsilon, rate), guarantee.neighbours)
        case ApproxDP():
            epsilon = _amplified_upper(guarantee.epsilon, rate)
            return _approx(epsilon, rate * guarantee.delta, guarantee.neighbours)
        case ZCDP() | RenyiDP():
            kind = "zero-concentrated or Renyi"
            raise _unknown("samples", kind, "convert it to ApproxDP and sample that")
        case _:
            raise _unknown("samples", "random", "a sample of random data is other random data")


@remembered(1024)
def _amplified_upper(epsilon: Fraction, rate: Fraction) -> Fraction:
    """log(1 + rate (e^epsilon - 1)), rounded up, and never above epsilon."""
    if epsilon == 0:
        return epsilon

    def amplified(w: int) -> Interval:
        return log(1 + rate * (exp(epsilon, w) - 1), w)

    return min(certify(amplified, _BITS, start=64).upper, epsilon)


# Conversions.


def pure_to_approx(guarantee: PureDP, delta: Exact) -> ApproxDP:
    """Pure privacy as (epsilon, delta)-privacy, for any delta: the definition with room to spare.

    Tested by tests/privacy/test_compose.py
    """
    _needs(guarantee, PureDP)
    return ApproxDP(guarantee.epsilon, delta, guarantee.neighbours)


def pure_to_zcdp_upper(guarantee: PureDP) -> ZCDP:
    """Pure privacy as rho-zCDP with rho = epsilon tanh(epsilon/2), rounded up.

    That is at most epsilon^2/2 and the least rho that is true of everything epsilon-private:
    Theorem 3 of `discreet.privacy.convert`, with its proof.

    Tested by tests/privacy/test_compose.py

    >>> round(float(pure_to_zcdp_upper(PureDP(1)).rho), 6)
    0.462117
    """
    _needs(guarantee, PureDP)
    return ZCDP(convert.pure_rho_upper(guarantee.epsilon), guarantee.neighbours)


def zcdp_to_approx_upper(guarantee: ZCDP, delta: Exact) -> ApproxDP:
    """The (epsilon, delta)-privacy of rho-zCDP at this delta, epsilon rounded up.

    Theorems 1 and 2 of `discreet.privacy.convert`, with their proofs.

    Tested by tests/privacy/test_compose.py

    >>> print(zcdp_to_approx_upper(ZCDP("0.1"), "1e-6"))
    (about 2.14194, 1e-06)-differential privacy (neighbours: one person is added or removed)
    """
    _needs(guarantee, ZCDP)
    at = delta_of(delta)
    return _approx(convert.zcdp_epsilon_upper(guarantee.rho, at), at, guarantee.neighbours)


def renyi_to_approx_upper(guarantee: RenyiDP, delta: Exact) -> ApproxDP:
    """The (epsilon, delta)-privacy of a Renyi curve at its best listed order, epsilon rounded up.

    Theorem 1 of `discreet.privacy.convert`, with its proof.

    Tested by tests/privacy/test_compose.py
    """
    _needs(guarantee, RenyiDP)
    at = delta_of(delta)
    found = min(convert.epsilon_upper(order, value, at) for order, value in guarantee.curve)
    return _approx(found, at, guarantee.neighbours)


# What is refused.


def _relation(guarantees: tuple[Guarantee, ...]) -> Neighbours:
    """The one relation of all of them; refuses nothing at all, and what is no guarantee."""
    if not guarantees:
        raise ParameterError("guarantees", None, "must be at least one")
    for one in guarantees:
        _needs(one, PureDP, ApproxDP, ZCDP, RenyiDP, RandomDP)
    return same_neighbours(*(one.neighbours for one in guarantees))


def _needs(guarantee: object, *kinds: type) -> None:
    if not isinstance(guarantee, kinds):
        names = " or ".join(f"dp.{kind.__name__}" for kind in kinds)
        raise InputTypeError(
            f"a guarantee is needed here, {names}, not {type(guarantee).__name__}; "
            "a mechanism's is mechanism.guarantee"
        )


def _unknown(rule: str, kind: str, reason: str) -> UnsupportedError:
    return UnsupportedError(f"no rule is proved for {rule} under {kind} privacy: {reason}")


def _limited(name: str, value: Fraction) -> Fraction:
    if not value <= LARGEST_EPSILON:
        problem = f"comes to more than {LARGEST_EPSILON}, which promises nothing"
        raise ParameterError(name, shown(value), problem)
    return value


def _below_one(name: str, value: Fraction) -> Fraction:
    if not value < 1:
        raise ParameterError(name, shown(value), "comes to 1 or more, which promises nothing")
    return value


def _approx(epsilon: Fraction, delta: Fraction, relation: Neighbours) -> ApproxDP:
    return ApproxDP(_limited("epsilon", epsilon), _below_one("delta", delta), relation)


def _renyi(curve: dict[Fraction, Fraction], relation: Neighbours) -> RenyiDP:
    """The curve without the orders at which it says nothing."""
    told: dict[Exact, Exact] = {a: r for a, r in curve.items() if r <= LARGEST_EPSILON}
    if not told:
        _limited("epsilon", min(curve.values()))
    return RenyiDP(told, relation)
