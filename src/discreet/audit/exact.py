"""Proof by enumeration: the worst privacy loss over all outputs and neighbouring inputs.

`verify` takes a mechanism's stated law and its stated guarantee and computes, with certified
bounds, how far two neighbouring inputs can be told apart. It samples nothing. A verdict is

* proven: the certified upper bound of the loss is within the guarantee. Where the guarantee is
  met with equality (as it is for the geometric mechanism), equality of two irrational numbers can
  be certified to a finite number of bits only: to one part in 2^80, here. A zero-concentrated
  guarantee is compared at the Renyi orders `ORDERS` only, and the verdict says so;
* refuted: the certified *lower* bound exceeds the guarantee; the witness is an output and a pair.

Whether the code draws from the stated law is another question: see `discreet.audit.walk`.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, Protocol

from discreet.errors import ParameterError, UnsupportedError
from discreet.exact import Interval, exp, log
from discreet.noise.clamped import Shifted
from discreet.noise.law import Law, Outcomes
from discreet.privacy.guarantee import ZCDP, ApproxDP, Promise, PureDP

__all__ = ["SLACK", "Verdict", "Witness", "verify"]

BITS = 128
SLACK = Fraction(1, 1 << 80)
LONGEST = 1_000_000
ORDERS = (Fraction(5, 4), *(Fraction(order) for order in (2, 4, 8, 16, 32)))
"""The Renyi orders at which a zero-concentrated guarantee is checked."""


class Auditable(Protocol):
    """What `verify` needs of a mechanism."""

    @property
    def guarantee(self) -> Promise:
        """What is promised."""

    def law(self, value: Any) -> Law | Outcomes:
        """The exact law of the release."""

    def small_neighbours(self) -> Iterator[tuple[Any, Any]]:
        """Neighbouring inputs that attain every loss."""


@dataclass(frozen=True, slots=True)
class Witness:
    """Where the loss is largest: an output (None for a whole set), and the two inputs."""

    output: Hashable | None
    first: Any
    second: Any

    def __str__(self) -> str:
        where = "" if self.output is None else f"output {self.output!r}, "
        return f"{where}inputs {self.first!r} and {self.second!r}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of an audit.

    Attributes:
        mechanism: what was audited.
        guarantee: what it promises.
        worst: certified bounds of the largest loss (pure), delta (approximate) or rho (zCDP).
        proven: the promise holds; see the module for what equality means.
        refuted: the promise is broken, certainly.
        tight: the promise is met to one part in a million, so nothing smaller could be promised.
        witness: the output and the pair that attain `worst`.
        pairs: how many ordered pairs of inputs were compared.
        parts: of how many equal parts the guarantee is made (numbers or keys that one person
            changes). One was compared with its share; that the shares add up is the theorem's.
    """

    mechanism: str
    guarantee: Promise
    worst: Interval
    proven: bool
    refuted: bool
    tight: bool
    witness: Witness
    pairs: int
    parts: int = 1

    @property
    def promised(self) -> Fraction:
        """The number in the guarantee, or in one part's share of it, to compare `worst` with."""
        return _promised(self.guarantee) / self.parts

    def __str__(self) -> str:
        word = "proven" if self.proven else "refuted" if self.refuted else "undecided"
        found = f"worst {float(self.worst):.6g} against a promise of {float(self.promised):.6g}"
        scope = f"{self.pairs} ordered pairs"
        if isinstance(self.guarantee, ZCDP):
            scope += f", orders {', '.join(map(str, ORDERS))}"
        if self.parts > 1:
            scope += f"; one of {self.parts:,} parts, with its share"
        return f"{word}: {self.mechanism}: {found} at {self.witness} ({scope})"


def verify(
    mechanism: Auditable,
    *,
    guarantee: Promise | None = None,
    pairs: Iterable[tuple[Any, Any]] | None = None,
) -> Verdict:
    """Prove or refute a mechanism's guarantee from its exact law.

    Where one person moves several numbers or keys, the law is that of one of them, and it is
    compared with its share of the guarantee; that the shares add up is the theorem's part.

    Args:
        mechanism: anything with `guarantee`, `law` and `small_neighbours`.
        guarantee: check this promise instead of the mechanism's own.
        pairs: compare these inputs instead of the mechanism's own small family.

    >>> from discreet.mechanisms.geometric import Geometric
    >>> verdict = verify(Geometric(epsilon="0.1", bounds=(0, 30)))
    >>> verdict.proven, verdict.tight
    (True, True)
    """
    if isinstance(mechanism, type) or not hasattr(mechanism, "small_neighbours"):
        raise UnsupportedError("verify needs a mechanism, such as dp.Geometric(epsilon=1)")
    promise = guarantee if guarantee is not None else mechanism.guarantee
    if not isinstance(promise, PureDP | ApproxDP | ZCDP):
        raise ParameterError("guarantee", guarantee, "must be a dp.PureDP, dp.ApproxDP or dp.ZCDP")
    if promise.neighbours != mechanism.guarantee.neighbours:
        problem = f"must speak of the mechanism's neighbours, {mechanism.guarantee.neighbours!r}"
        raise ParameterError("guarantee", promise.neighbours, problem)
    parts = getattr(mechanism, "parts", 1)
    if parts == 0:
        raise UnsupportedError(
            "the law of one number says nothing about the delta of several together; the theorem "
            "of discreet.mechanisms.gaussian_calibration is what covers them"
        )
    share = _share(promise, parts)
    found: list[tuple[Interval, Witness]] = []
    known: dict[Any, Law | Outcomes] = {}
    for x, y in mechanism.small_neighbours() if pairs is None else pairs:
        p, q = _law(mechanism, x, known), _law(mechanism, y, known)
        forth, back = _loss(p, q, share), _loss(q, p, share)
        found += [(forth[0], Witness(forth[1], x, y)), (back[0], Witness(back[1], y, x))]
    if not found:
        raise UnsupportedError(
            "the mechanism names no neighbouring inputs, so nothing was compared"
        )
    promised = _promised(share)
    worst, witness = max(
        found, key=lambda one: (one[0].lower > promised, one[0].upper, one[0].lower)
    )
    compared = len(found)
    verdict = _verdict(repr(mechanism), share, worst, witness, compared)
    return replace(verdict, guarantee=promise, parts=parts)


def _share(promise: Promise, parts: int) -> Promise:
    match promise:
        case PureDP():
            return PureDP(promise.epsilon / parts, promise.neighbours)
        case ApproxDP():
            return ApproxDP(promise.epsilon / parts, promise.delta / parts, promise.neighbours)
        case ZCDP():
            return ZCDP(promise.rho / parts, promise.neighbours)


def _law(mechanism: Auditable, value: Any, known: dict[Any, Law | Outcomes]) -> Law | Outcomes:
    """The law for an input, kept for the next pair where the input can be told from all others."""
    try:
        key = (type(value), repr(value), value)
        if key not in known:
            known[key] = _checked(mechanism.law(value))
        return known[key]
    except TypeError:  # it has no hash: an array, say
        return _checked(mechanism.law(value))


def _verdict(
    name: str, promise: Promise, worst: Interval, witness: Witness, compared: int
) -> Verdict:
    promised = _promised(promise)
    allowed = promised if isinstance(promise, ApproxDP) else promised * (1 + SLACK)
    refuted = worst.lower > promised
    return Verdict(
        mechanism=name,
        guarantee=promise,
        worst=worst,
        proven=worst.upper <= allowed and not refuted,
        refuted=refuted,
        tight=abs(worst.lower / promised - 1) <= Fraction(1, 10**6),
        witness=witness,
        pairs=compared,
    )


def _promised(promise: Promise) -> Fraction:
    match promise:
        case PureDP():
            return promise.epsilon
        case ApproxDP():
            return promise.delta
        case ZCDP():
            return promise.rho


@lru_cache(maxsize=1 << 10)
def _checked(law: Law | Outcomes) -> Law | Outcomes:
    """A law whose masses add up to 1, as far as they can be listed; another is no law."""
    if isinstance(law, Outcomes):
        outcomes: Sequence[Any] = law.outcomes
    elif _is_finite(law):
        outcomes = _range(*_span(law, law))
    else:
        return law
    _check_total(law, outcomes, Fraction(0))
    return law


def _check_total(law: Law | Outcomes, outcomes: Sequence[Any], outside: Fraction) -> None:
    masses = [_mass(law, outcome) for outcome in outcomes]
    if any(mass.upper < 0 for mass in masses):
        raise UnsupportedError("a mass of the stated law is negative")
    total = sum(masses, Interval.of(0))
    if not total.lower - SLACK <= 1 <= total.upper + outside + SLACK:
        raise UnsupportedError("the masses of the stated law do not add up to 1")


def _is_listed(law: Law | Outcomes) -> bool:
    return isinstance(law, Outcomes) or _is_finite(law)


INFINITE = Interval.of(1 << 40)
"""Stands for an infinite loss: an output that one of the inputs can never give."""


def _loss(p: Law | Outcomes, q: Law | Outcomes, promise: Promise) -> tuple[Interval, Any]:
    match promise:
        case PureDP():
            smallness = promise.epsilon.denominator.bit_length()
            return pure_loss(p, q, bits=BITS + smallness)
        case ApproxDP():
            return hockey_stick(p, q, promise.epsilon), None
        case ZCDP():
            found = [concentrated(p, q, order) for order in ORDERS]
            if _is_listed(p) and _is_listed(q):  # above the last order, D_a <= the largest loss
                found.append(pure_loss(p, q)[0] / ORDERS[-1])
            return max(found, key=lambda one: one.upper), None


def pure_loss(
    p: Law | Outcomes, q: Law | Outcomes, *, bits: int = BITS
) -> tuple[Interval, Hashable]:
    """The largest log ratio of the masses of p and q, with the output that attains it.

    For two unbounded laws that are not one noise, moved, no finite set of outputs is enough: then
    the ratios near the centres give a lower bound, and there is no upper one.
    """
    outputs, complete = decisive_outputs(p, q)
    best, where = None, None
    for output in outputs:
        above, below = _mass(p, output, bits), _mass(q, output, bits)
        if above.upper == 0:
            continue
        if below.upper == 0:
            return INFINITE, output
        if below.lower == 0:  # below all precision: nothing is known but that it is not negative
            return Interval(Fraction(0), INFINITE.upper), output
        ratio = above / below
        if best is None or ratio.upper > best.upper:
            best, where = ratio, output
    if best is None:
        raise UnsupportedError("the law gives no output any mass")
    loss = log(best, bits)
    return (loss if complete else Interval(loss.lower, INFINITE.upper)), where


def hockey_stick(p: Law | Outcomes, q: Law | Outcomes, epsilon: Fraction) -> Interval:
    """The delta between two laws at epsilon: the sum of (p - e^epsilon q)+ over all outputs."""
    factor, total = exp(epsilon, 2 * BITS), Interval.of(0)
    outputs, outside = _window(p, q)
    _check_total(p, outputs, outside)
    for output in outputs:
        excess = _mass(p, output) - factor * _mass(q, output)
        total = total + Interval(max(excess.lower, Fraction(0)), max(excess.upper, Fraction(0)))
    return Interval(total.lower, total.upper + outside)


def concentrated(p: Law | Outcomes, q: Law | Outcomes, order: Fraction) -> Interval:
    """The Renyi divergence of p from q of one order, divided by the order.

    Over an infinite range the sum of p^a q^(1-a) is taken over a window, and the rest is bounded
    by a geometric series with the ratio found at either edge: that assumes that the ratios of
    successive terms go on falling, which holds for log-concave noise such as the discrete
    Gaussian.
    """
    outputs, outside = _window(p, q, stretch=math.ceil(order))
    _check_total(p, outputs, outside)
    terms = [_renyi_term(_mass(p, k), _mass(q, k), order) for k in outputs]
    if any(term is None for term in terms):
        return INFINITE
    known = [term for term in terms if term is not None]
    rest = Fraction(0) if outside == 0 else _edge(known) + _edge(known[::-1])
    total = sum(known, Interval.of(0))
    total = Interval(total.lower, total.upper + rest)
    return log(total, BITS) / (order - 1) / order


def _renyi_term(p: Interval, q: Interval, order: Fraction) -> Interval | None:
    """p^a q^(1-a): 0 for p = 0; None, for infinity, where q may be 0 and p is not."""
    if p.upper == 0:
        return Interval.of(0)
    if p.lower <= 0 or q.lower <= 0:
        return None
    return exp(order * log(p, 2 * BITS) + (1 - order) * log(q, 2 * BITS), BITS)


def _edge(terms: Sequence[Interval]) -> Fraction:
    """A bound of what follows after the last term, going outward."""
    ratio = terms[0].upper / terms[1].lower
    if not ratio < 1:
        raise UnsupportedError("the window is too narrow to bound the Renyi sum")
    return terms[0].upper * ratio / (1 - ratio)


def decisive_outputs(p: Law | Outcomes, q: Law | Outcomes) -> tuple[Sequence[Hashable], bool]:
    """Outputs to compare, and whether every ratio that occurs at all occurs among them.

    All of them for finite laws. For one noise at two places that falls by a constant factor per
    period away from its centre, one period beyond both centres: further out the ratios repeat. If
    the period is 1, the log ratio is linear between the centres, so the largest is at an end.
    """
    if isinstance(p, Outcomes) and isinstance(q, Outcomes):
        return _merged(p.outcomes, q.outcomes), True
    if not isinstance(p, Law) or not isinstance(q, Law):
        raise UnsupportedError("two laws of different kinds cannot be compared")
    if _is_finite(p) and _is_finite(q):
        return _range(*_span(p, q)), True
    low, high = min(p.centre, q.centre), max(p.centre, q.centre)
    noise = p.noise if isinstance(p, Shifted) and isinstance(q, Shifted) else None
    if noise is None or noise != q.noise or noise.period is None:  # type: ignore[attr-defined]
        ends = [end for law in (p, q) for end in (law.lowest, law.highest) if end is not None]
        return _range(min([low, *ends]) - _NEAR, max([high, *ends]) + _NEAR), False
    _check_period(noise, noise.period)
    low, high = low - noise.period, high + noise.period
    if noise.period == 1:
        return sorted({low, p.centre, q.centre, high}), True
    return _range(low, high), True


def _merged(first: Sequence[Hashable], second: Sequence[Hashable]) -> list[Hashable]:
    """All outcomes of two laws. Two that are equal and yet look different (0.0 and -0.0, 1 and
    True) are told apart by whoever reads them, so they cannot be compared as one.
    """
    texts = {outcome: repr(outcome) for outcome in first}
    if any(texts.get(outcome, repr(outcome)) != repr(outcome) for outcome in second):
        raise UnsupportedError("the laws have outcomes that are equal but do not look the same")
    return list(dict.fromkeys((*first, *second)))


@lru_cache(maxsize=1 << 10)
def _check_period(noise: Law, period: int) -> None:
    """That the masses fall by one factor per period, looked at in several places."""
    start = noise.centre
    ratios = [
        _mass(noise, start + side * (k + period)) / _mass(noise, start + side * k)
        for side in (1, -1)
        for k in (0, period // 2, period, 5 * period, 30 * period)
    ]
    if max(ratio.lower for ratio in ratios) > min(ratio.upper for ratio in ratios):
        raise UnsupportedError("the masses of the noise do not fall by one factor per period")


_NEAR = 64


def _span(p: Law, q: Law) -> tuple[int, int]:
    """The smallest and the largest value of two finite laws."""
    ends = [end for law in (p, q) for end in (law.lowest, law.highest) if end is not None]
    return min(ends), max(ends)


def _is_finite(law: Law) -> bool:
    return law.lowest is not None and law.highest is not None


def _range(low: int, high: int) -> range:
    found = range(low, high + 1)
    if len(found) > LONGEST:
        raise UnsupportedError(f"there are more than {LONGEST:,} outputs to compare")
    return found


def _window(
    p: Law | Outcomes, q: Law | Outcomes, stretch: int = 0
) -> tuple[Sequence[Hashable], Fraction]:
    """Outputs that hold all but a little of the mass, and an upper bound of p's mass outside.

    `stretch` widens it by that many distances between the two laws: a power of order a of one
    law against the other is centred a distances away.
    """
    if isinstance(p, Outcomes) or isinstance(q, Outcomes):
        return decisive_outputs(p, q)[0], Fraction(0)
    if _is_finite(p) and _is_finite(q):
        return _range(*_span(p, q)), Fraction(0)
    tiny = Fraction(1, 1 << BITS)
    more = stretch * abs(p.centre - q.centre)
    low = min(p.quantile(tiny), q.quantile(tiny)) - more
    high = max(p.quantile(1 - tiny), q.quantile(1 - tiny)) + more
    outside = p.cumulative_bounds(low - 1).upper + p.tail_bounds(high).upper
    return range(low, high + 1), outside


@lru_cache(maxsize=1 << 14)
def _mass(law: Law | Outcomes, output: Any, bits: int = BITS) -> Interval:
    """Kept, because every law is compared with several neighbours."""
    return law.mass_bounds(output, bits=bits)
