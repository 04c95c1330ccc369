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
from discreet.privacy.guarantee import ZCDP, ApproxDP, Guarantee, PureDP

__all__ = ["SLACK", "Verdict", "Witness", "verify"]

BITS = 128
SLACK = Fraction(1, 1 << 80)
LONGEST = 1_000_000
ORDERS = (Fraction(5, 4), *(Fraction(order) for order in (2, 4, 8, 16, 32)))
"""The Renyi orders at which a zero-concentrated guarantee is checked."""


class Auditable(Protocol):
    """What `verify` needs of a mechanism."""

    @property
    def guarantee(self) -> Guarantee:
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
        numbers: how many numbers one person moves. The law of one of them was compared; that
            all of them together keep the promise is the theorem's part.
    """

    mechanism: str
    guarantee: Guarantee
    worst: Interval
    proven: bool
    refuted: bool
    tight: bool
    witness: Witness
    pairs: int
    numbers: int = 1

    @property
    def promised(self) -> Fraction:
        """The number in the guarantee that `worst` is compared with."""
        return _promised(self.guarantee)

    def __str__(self) -> str:
        word = "proven" if self.proven else "refuted" if self.refuted else "undecided"
        found = f"worst {float(self.worst):.6g} against a promise of {float(self.promised):.6g}"
        scope = f"{self.pairs} ordered pairs"
        if isinstance(self.guarantee, ZCDP):
            scope += f", orders {', '.join(map(str, ORDERS))}"
        if self.numbers > 1:
            scope += f"; one of {self.numbers:,} numbers, the rest is the theorem's part"
        return f"{word}: {self.mechanism}: {found} at {self.witness} ({scope})"


def verify(
    mechanism: Auditable,
    *,
    guarantee: Guarantee | None = None,
    pairs: Iterable[tuple[Any, Any]] | None = None,
) -> Verdict:
    """Prove or refute a mechanism's guarantee from its exact law.

    The law is that of one release. Of a vector of which one person moves several numbers it is
    the law of one number, whose share of the guarantee is compared; the shares add up.

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
    found: list[tuple[Interval, Witness]] = []
    known: dict[Any, Law | Outcomes] = {}
    for x, y in mechanism.small_neighbours() if pairs is None else pairs:
        p, q = _law(mechanism, x, known), _law(mechanism, y, known)
        forth, back = _loss(p, q, promise), _loss(q, p, promise)
        found += [(forth[0], Witness(forth[1], x, y)), (back[0], Witness(back[1], y, x))]
    if not found:
        raise UnsupportedError(
            "the mechanism names no neighbouring inputs, so nothing was compared"
        )
    promised = _promised(promise)
    worst, witness = max(
        found, key=lambda one: (one[0].lower > promised, one[0].upper, one[0].lower)
    )
    compared = len(found)
    verdict = _verdict(repr(mechanism), promise, worst, witness, compared)
    return replace(verdict, numbers=getattr(mechanism, "changes", 1))


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
    name: str, promise: Guarantee, worst: Interval, witness: Witness, compared: int
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


def _promised(promise: Guarantee) -> Fraction:
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
    total = sum((_mass(law, outcome) for outcome in outcomes), Interval.of(0))
    if not total.lower - SLACK <= 1 <= total.upper + SLACK:
        raise UnsupportedError("the masses of the stated law do not add up to 1")
    return law


INFINITE = Interval.of(1 << 40)
"""Stands for an infinite loss: an output that one of the inputs can never give."""


def _loss(p: Law | Outcomes, q: Law | Outcomes, promise: Guarantee) -> tuple[Interval, Any]:
    match promise:
        case PureDP():
            smallness = promise.epsilon.denominator.bit_length()
            return pure_loss(p, q, bits=BITS + smallness)
        case ApproxDP():
            return hockey_stick(p, q, promise.epsilon), None
        case ZCDP():
            return max(
                (concentrated(p, q, order) for order in ORDERS), key=lambda found: found.upper
            ), None


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
    terms = [_renyi_term(_mass(p, k), _mass(q, k), order) for k in outputs]
    rest = Fraction(0) if outside == 0 else _edge(terms) + _edge(terms[::-1])
    total = sum(terms, Interval.of(0))
    total = Interval(total.lower, total.upper + rest)
    return log(total, BITS) / (order - 1) / order


def _renyi_term(p: Interval, q: Interval, order: Fraction) -> Interval:
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
        return list(dict.fromkeys((*p.outcomes, *q.outcomes))), True
    if not isinstance(p, Law) or not isinstance(q, Law):
        raise UnsupportedError("two laws of different kinds cannot be compared")
    if _is_finite(p) and _is_finite(q):
        return _range(*_span(p, q)), True
    low, high = min(p.centre, q.centre), max(p.centre, q.centre)
    moved = isinstance(p, Shifted) and isinstance(q, Shifted) and p.noise == q.noise
    if not moved or p.period is None:
        ends = [end for law in (p, q) for end in (law.lowest, law.highest) if end is not None]
        return _range(min([low, *ends]) - _NEAR, max([high, *ends]) + _NEAR), False
    low, high = low - p.period, high + p.period
    if p.period == 1:
        return sorted({low, p.centre, q.centre, high}), True
    return _range(low, high), True


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
