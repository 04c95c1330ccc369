"""When to stop: rules over running sums that hold whatever the analyst does between releases.

A filter looks at the losses charged so far and decides whether one more may be charged. The analyst
may choose every next release, its kind and its size, from all earlier answers (fully adaptive).

Theorem 1 (pure). While the sum of the epsilons is at most E, all answers together are E-private.
Proof. Along any transcript the log ratio is the sum of the log ratios of its steps.

Theorem 2 (one order). Fix a > 1 ahead. While the sum of the Renyi divergences of order a is at most
B, the divergence of order a of all answers together is at most B. (Feldman and Zrnic 2021; Lecuyer
2021.)
Proof. Let L be the running log ratio and S the running sum. Given the transcript so far, one more
step with divergence r has E_Q exp(a L') = exp((a - 1) r) at most, so that exp(a L - (a - 1) S) is a
supermartingale under Q that starts at 1. So the sum over complete transcripts of
P^a Q^(1-a) exp(-(a - 1) S) is at most 1, and S is at most B on every one of them.

Theorem 3 (curve, zCDP). A limit at each of several orders, all of which must hold, gives a bound at
each of these orders. With the limits rho a at all orders at once, sums of rhos are a filter for
rho-zCDP.
Proof. Theorem 2 at each order.

Theorem 4 (failing). If step i is private only but for a failure of probability d_i, and the sum of
the d_i never exceeds D, then what Theorems 1 to 3 give holds but for D: (epsilon, delta) becomes
(epsilon, delta + D). (Whitehouse, Ramdas, Rogers and Wu 2023.)
Proof. An (e, d)-private pair is a mixture: with probability 1 - d an e-private pair, with d
anything (Kairouz, Oh and Viswanath 2015). Publish also which of the two it was; that can only tell
more. The transcripts in which some step failed have probability at most E sum d_i <= D under P; on
the others the theorems apply.

Theorem 5 (either). Let one more release be allowed if the sum of the epsilons stays at most
epsilon, *or* if the sum of the divergences of one fixed order (or of the rhos) stays within what
gives (epsilon, delta). Then all answers together are (epsilon, delta)-private.
Proof. The least delta is the sum over complete transcripts of max(0, P - e^epsilon Q). Transcripts
whose epsilons stay within epsilon contribute nothing. All others are, step by step, transcripts of
the second filter alone, because its sums only grow; they contribute at most its delta.

Theorem 6 (random, chosen ahead). If all releases that cost gamma are chosen before the first
answer, gammas add up; the others may be adaptive.
Proof. For each release the pairs of neighbours for which it is not private have probability at most
its gamma; outside of all these sets, which do not depend on answers, Theorem 1 applies.

Not a theorem: that gammas add up for an analyst who looks first. She can learn which data she has
to do with (that is no secret: it is an average over many) and then choose the release that fails
for just these data. Each release that she could choose fails for few data, all of them together for
every data. tests/privacy/test_filter.py has the example.

Interactive releases (`dp.AboveThreshold` answers many questions for one charge) may be interleaved
with others: they are pure, and whatever is pure can be made by post-processing of a randomised
response that is drawn at its start, interactive or not (Vadhan and Wang 2021; Lyu 2022).

Not a theorem: "allow if *some* order of several is within its budget". By the same argument it is
(epsilon, the sum of the deltas)-private, and no better: tests/privacy/test_some_order.py has an
analyst who gets 1.95 delta out of two orders.
Tested by tests/privacy/test_filter.py
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from discreet.errors import ParameterError
from discreet.exact import Exact, rational, shown
from discreet.privacy.bounds import failure, gamma_of, pure_upper, renyi_upper, rho_upper
from discreet.privacy.convert import largest_divergence, largest_rho
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
    epsilon_of,
    order_of,
)
from discreet.privacy.loss import Loss

__all__ = [
    "DELTA",
    "EPSILON",
    "GAMMA",
    "RHO",
    "Accounting",
    "Amounts",
    "Cap",
    "Currency",
    "Limits",
    "Rule",
    "guaranteed",
    "prices",
]

Accounting = Literal["basic", "zcdp", "renyi"]
Amounts = tuple[Fraction | None, ...]
"""One number for each currency; None has no end (Gaussian noise has no pure epsilon)."""


@dataclass(frozen=True, slots=True, order=True)
class Currency:
    """Something that adds up: epsilon, delta, gamma, rho, or the divergence of one order."""

    name: Literal["epsilon", "delta", "gamma", "rho", "renyi"]
    order: Fraction = Fraction(0)

    def price(self, loss: Loss) -> Fraction | None:
        """What a loss costs in this currency, rounded up; None where it has no end."""
        match self.name:
            case "epsilon":
                return pure_upper(loss)
            case "delta":
                return failure(loss)
            case "gamma":
                return gamma_of(loss)
            case "rho":
                return rho_upper(loss)
            case "renyi":
                return renyi_upper(loss, self.order)

    def __str__(self) -> str:
        return f"divergence of order {shown(self.order)}" if self.name == "renyi" else self.name


EPSILON, DELTA, GAMMA, RHO = (
    Currency("epsilon"),
    Currency("delta"),
    Currency("gamma"),
    Currency("rho"),
)


def prices(loss: Loss, currencies: tuple[Currency, ...]) -> Amounts:
    """What a loss costs in each of these currencies."""
    return tuple(currency.price(loss) for currency in currencies)


@dataclass(frozen=True, slots=True)
class Cap:
    """The most that may be spent of one currency."""

    currency: Currency
    limit: Fraction

    def holds(self, total: Fraction | None) -> bool:
        """Whether this total is within the cap."""
        return total is not None and total <= self.limit


@dataclass(frozen=True, slots=True)
class Rule:
    """A filter: every cap of `all_of` must hold and, where there are any, one of `any_of`.

    Guarantee. While `holds` is true of the running sums, what was released has `guarantee`.
    Proof. The theorem that made the rule; see the top of this module.
    Tested by tests/privacy/test_filter.py
    """

    all_of: tuple[Cap, ...]
    any_of: tuple[Cap, ...]
    guarantee: Guarantee

    @property
    def caps(self) -> tuple[Cap, ...]:
        """Every cap of the rule."""
        return self.all_of + self.any_of

    @property
    def currencies(self) -> tuple[Currency, ...]:
        """What is counted: a currency for each cap, in the order in which `holds` reads them."""
        return tuple(cap.currency for cap in self.caps)

    def holds(self, totals: Sequence[Fraction | None]) -> bool:
        """Whether these running sums, one for each of `currencies`, are allowed."""
        must = len(self.all_of)
        for cap, total in zip(self.all_of, totals[:must], strict=True):
            if not cap.holds(total):
                return False
        if not self.any_of:
            return True
        either = zip(self.any_of, totals[must:], strict=True)
        return any(cap.holds(total) for cap, total in either)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What the owner of a budget may say, before it is made into a rule."""

    epsilon: Exact | None = None
    delta: Exact = 0
    rho: Exact | None = None
    renyi: Mapping[Exact, Exact] | None = None
    accounting: Accounting | None = None
    order: Exact | None = None
    failures: Exact = 0
    gamma: Exact = 0

    def rule(self, neighbours: Neighbours) -> Rule:
        """The filter that these limits ask for, or a refusal in words."""
        said = [name for name in ("epsilon", "rho", "renyi") if getattr(self, name) is not None]
        if len(said) != 1:
            raise ParameterError(
                "budget", said or None, "must be one of epsilon, rho and renyi; say which"
            )
        if self.epsilon is None:
            self._nothing_else("delta", "accounting", "order", "failures", "gamma")
        if self.rho is not None:
            return _concentrated(ZCDP(self.rho, neighbours))
        if self.renyi is not None:
            return _curve(RenyiDP(self.renyi, neighbours))
        return self._pure_or_approximate(neighbours)

    def _nothing_else(self, *names: str) -> None:
        for name in names:
            if getattr(self, name) not in (None, 0):
                raise ParameterError(name, getattr(self, name), "belongs to a budget of epsilon")

    def _pure_or_approximate(self, neighbours: Neighbours) -> Rule:
        epsilon, gamma = epsilon_of(self.epsilon), _share(self.gamma, "gamma")
        delta = _share(self.delta, "delta")
        usual = "zcdp" if delta else "basic"
        accounting = usual if self.accounting is None else self.accounting
        if accounting not in ("basic", "zcdp", "renyi"):
            raise ParameterError("accounting", accounting, "must be 'basic', 'zcdp' or 'renyi'")
        if accounting == "renyi" and self.order is None:
            raise ParameterError(
                "order",
                None,
                "is missing: accounting='renyi' needs one, fixed ahead; dp.best_order finds it",
            )
        if accounting != "renyi" and self.order is not None:
            raise ParameterError("order", self.order, "goes with accounting='renyi'")
        if accounting != "basic" and not delta:
            raise ParameterError("delta", None, f"is missing: accounting={accounting!r} needs one")
        if gamma and (delta or accounting != "basic"):
            raise ParameterError("gamma", self.gamma, "goes with plain sums: no delta")
        if accounting == "basic":
            return self._basic(epsilon, delta, gamma, neighbours)
        return self._either(epsilon, delta, neighbours)

    def _basic(
        self, epsilon: Fraction, delta: Fraction, gamma: Fraction, neighbours: Neighbours
    ) -> Rule:
        """Theorem 1, with failures up to the whole delta (Theorem 4)."""
        self._nothing_more_for_basic()
        caps = (Cap(EPSILON, epsilon), Cap(DELTA, delta), Cap(GAMMA, gamma))
        if gamma:
            return Rule(caps, (), RandomDP(epsilon, gamma, neighbours))
        if delta:
            return Rule(caps, (), ApproxDP(epsilon, delta, neighbours))
        return Rule(caps, (), PureDP(epsilon, neighbours))

    def _nothing_more_for_basic(self) -> None:
        if rational(self.failures, name="failures") != 0:
            raise ParameterError(
                "failures", self.failures, "is for tighter sums; in plain sums delta is all of it"
            )

    def _either(self, epsilon: Fraction, delta: Fraction, neighbours: Neighbours) -> Rule:
        """Theorem 5, after what failures may take (Theorem 4)."""
        failures = _share(self.failures, "failures")
        if not delta > failures:
            raise ParameterError(
                "delta", self.delta, f"must be above 0, and above failures = {shown(failures)}"
            )
        rest = delta - failures
        if self.order is None:
            tight = Cap(RHO, largest_rho(epsilon, rest))
        else:
            order = order_of(self.order)
            most = largest_divergence(order, epsilon, rest)
            if most is None:
                raise ParameterError(
                    "order", self.order, "is too small: this delta is not met at any divergence"
                )
            tight = Cap(Currency("renyi", order), most)
        must = (Cap(DELTA, failures), Cap(GAMMA, Fraction(0)))
        return Rule(must, (Cap(EPSILON, epsilon), tight), ApproxDP(epsilon, delta, neighbours))


def _share(value: object, name: str) -> Fraction:
    """0, or a probability."""
    number = rational(value, name=name)
    return number if number == 0 else delta_of(value, name=name)


def _concentrated(guarantee: ZCDP) -> Rule:
    nothing = (Cap(DELTA, Fraction(0)), Cap(GAMMA, Fraction(0)))
    return Rule((*nothing, Cap(RHO, guarantee.rho)), (), guarantee)


def _curve(guarantee: RenyiDP) -> Rule:
    caps = (Cap(Currency("renyi", order), limit) for order, limit in guarantee.curve)
    return Rule((Cap(DELTA, Fraction(0)), Cap(GAMMA, Fraction(0)), *caps), (), guarantee)


def guaranteed(caps: tuple[Cap, ...], whole: Guarantee) -> Guarantee:
    """What caps that must all hold promise by themselves; at the least, what the whole promises."""
    limits = {cap.currency: cap.limit for cap in caps}
    failing, gamma = limits.get(DELTA, Fraction(0)), limits.get(GAMMA, Fraction(0))
    curve: dict[Exact, Exact] = {
        each.order: limit for each, limit in limits.items() if each.name == "renyi"
    }
    if EPSILON in limits and not gamma:
        if failing:
            return ApproxDP(limits[EPSILON], failing, whole.neighbours)
        return PureDP(limits[EPSILON], whole.neighbours)
    if RHO in limits and not failing and limits[RHO] <= LARGEST_EPSILON:
        return ZCDP(limits[RHO], whole.neighbours)
    if curve and not failing and all(curve.values()):
        return RenyiDP(curve, whole.neighbours)
    return whole
