"""Proof by enumeration: the worst privacy loss over all outputs and neighbouring inputs.

`verify` takes a mechanism's stated law and its stated guarantee and computes, with certified
bounds, how far two neighbouring inputs can be told apart. It samples nothing. A verdict is

* proven: the certified upper bound of the loss is within the guarantee. Where the guarantee is
  met with equality (as it is for the geometric mechanism), equality of two irrational numbers can
  be certified to a finite number of bits only: to `SLACK` = 2^-80, here;
* refuted: the certified *lower* bound exceeds the guarantee; the witness is an output and a pair.

Whether the code draws from the stated law is another question: see `discreet.audit.walk`.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Protocol

from discreet.errors import UnsupportedError
from discreet.exact import Interval, exp, log
from discreet.noise.law import Law, Outcomes
from discreet.privacy.guarantee import ZCDP, ApproxDP, Guarantee, PureDP

__all__ = ["SLACK", "Verdict", "Witness", "verify"]

BITS = 128
SLACK = Fraction(1, 1 << 80)
LONGEST = 1_000_000
ORDERS = (Fraction(3, 2), Fraction(2), Fraction(4), Fraction(16))
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
    """

    mechanism: str
    guarantee: Guarantee
    worst: Interval
    proven: bool
    refuted: bool
    tight: bool
    witness: Witness
    pairs: int

    @property
    def promised(self) -> Fraction:
        """The number in the guarantee that `worst` is compared with."""
        return _promised(self.guarantee)

    def __str__(self) -> str:
        word = "proven" if self.proven else "refuted" if self.refuted else "undecided"
        found = f"worst {float(self.worst):.6g} against a promise of {float(self.promised):.6g}"
        return f"{word}: {self.mechanism}: {found} at {self.witness} ({self.pairs} ordered pairs)"


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
    promise = guarantee if guarantee is not None else mechanism.guarantee
    laws: dict[Any, Law | Outcomes] = {}

    def law(value: Any) -> Law | Outcomes:
        key = repr(value)
        if key not in laws:
            laws[key] = mechanism.law(value)
        return laws[key]

    worst, witness, compared = Interval.of(0), None, 0
    for x, y in mechanism.small_neighbours() if pairs is None else pairs:
        for first, second in ((x, y), (y, x)):
            compared += 1
            found, output = _loss(law(first), law(second), promise)
            if witness is None or found.upper > worst.upper:
                worst, witness = found, Witness(output, first, second)
    if witness is None:
        raise UnsupportedError(
            "the mechanism names no neighbouring inputs, so nothing was compared"
        )
    return _verdict(repr(mechanism), promise, worst, witness, compared)


def _verdict(
    name: str, promise: Guarantee, worst: Interval, witness: Witness, compared: int
) -> Verdict:
    promised = _promised(promise)
    allowed = promised if isinstance(promise, ApproxDP) else promised + SLACK
    return Verdict(
        mechanism=name,
        guarantee=promise,
        worst=worst,
        proven=worst.upper <= allowed,
        refuted=worst.lower > promised,
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


INFINITE = Interval.of(1 << 40)
"""Stands for an infinite loss: an output that one of the inputs can never give."""


def _loss(p: Law | Outcomes, q: Law | Outcomes, promise: Guarantee) -> tuple[Interval, Any]:
    match promise:
        case PureDP():
            return pure_loss(p, q)
        case ApproxDP():
            return hockey_stick(p, q, promise.epsilon), None
        case ZCDP():
            return max(
                (concentrated(p, q, order) for order in ORDERS), key=lambda found: found.upper
            ), None


def pure_loss(p: Law | Outcomes, q: Law | Outcomes) -> tuple[Interval, Hashable]:
    """The largest log ratio of the masses of p and q, with the output that attains it."""
    best, where = None, None
    for output in decisive_outputs(p, q):
        above, below = _mass(p, output), _mass(q, output)
        if above.upper == 0:
            continue
        if below.upper == 0:
            return INFINITE, output
        ratio = above / below
        if best is None or ratio.upper > best.upper:
            best, where = ratio, output
    if best is None:
        raise UnsupportedError("the law gives no output any mass")
    return log(best, BITS), where


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


def decisive_outputs(p: Law | Outcomes, q: Law | Outcomes) -> Sequence[Hashable]:
    """Outputs among which every ratio that occurs at all occurs.

    All of them for a finite law. For noise that falls by a constant factor per period away from
    its centre, one period beyond both centres: further out the ratios repeat. If the period is 1,
    the log ratio is linear between the centres, so that the largest is at an end.
    """
    if isinstance(p, Outcomes) and isinstance(q, Outcomes):
        return list(dict.fromkeys((*p.outcomes, *q.outcomes)))
    if not isinstance(p, Law) or not isinstance(q, Law):
        raise UnsupportedError("two laws of different kinds cannot be compared")
    low, high = _ends(p, q)
    if p.period == q.period == 1:
        return sorted({low, p.centre, q.centre, high})
    if high - low > LONGEST:
        raise UnsupportedError(f"there are more than {LONGEST} outputs to compare")
    return range(low, high + 1)


def _ends(p: Law, q: Law) -> tuple[int, int]:
    lows, highs = [], []
    for law in (p, q):
        if law.lowest is not None and law.highest is not None:
            lows.append(law.lowest)
            highs.append(law.highest)
        elif law.period is not None:
            lows.append(law.centre - law.period - abs(p.centre - q.centre))
            highs.append(law.centre + law.period + abs(p.centre - q.centre))
        else:
            raise UnsupportedError("a law that is neither finite nor periodic has no finite loss")
    return min(lows), max(highs)


def _window(
    p: Law | Outcomes, q: Law | Outcomes, stretch: int = 0
) -> tuple[Sequence[Hashable], Fraction]:
    """Outputs that hold all but a little of the mass, and an upper bound of p's mass outside.

    `stretch` widens it by that many distances between the two laws: a power of order a of one
    law against the other is centred a distances away.
    """
    if isinstance(p, Outcomes) or isinstance(q, Outcomes):
        return decisive_outputs(p, q), Fraction(0)
    if None not in (p.lowest, p.highest, q.lowest, q.highest):
        return decisive_outputs(p, q), Fraction(0)
    tiny = Fraction(1, 1 << BITS)
    more = stretch * abs(p.centre - q.centre)
    low = min(p.quantile(tiny), q.quantile(tiny)) - more
    high = max(p.quantile(1 - tiny), q.quantile(1 - tiny)) + more
    outside = p.cumulative_bounds(low - 1).upper + p.tail_bounds(high).upper
    return range(low, high + 1), outside


@lru_cache(maxsize=1 << 14)
def _mass(law: Law | Outcomes, output: Any) -> Interval:
    """Kept, because every law is compared with several neighbours."""
    return law.mass_bounds(output, bits=BITS)
