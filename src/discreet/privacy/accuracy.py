"""How accurate a release has to be, in words that a reader of the release would use.

All at once. If n numbers get independent noise and each is within h with probability p, all are
with probability p^n. So each needs p >= c^(1/n), which is rounded up; 1 - (1 - c)/n is enough too,
because (1 - x)^n >= 1 - n x, and the smaller of the two is taken.
Tested by tests/privacy/test_accuracy.py
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import DiscreetError, ParameterError
from discreet.exact import Exact, exp, log, positive, probability, rational, shown, whole
from discreet.exact.interval import round_up
from discreet.privacy.loss import HasLoss
from discreet.remembered import remembered

__all__ = ["Accuracy", "error_of"]

MOST = 10**12  # numbers that must hold at once


@dataclass(frozen=True, slots=True, init=False)
class Accuracy:
    """How far off a release may be, and with which probability it may be further.

    Args:
        within: a distance in units of the release; or a percentage such as "5%", with `of`.
        confidence: the probability with which the release is within that distance, at least.
        of: the public number that a percentage is taken of. (A percentage of the true answer would
            tell something about the true answer.)
        numbers: how many released numbers must *all* be within it, at once, with this confidence.

    >>> print(Accuracy("5%", of=10_000, numbers=12))
    within 500, all 12 numbers, with probability 0.95
    """

    within: Fraction
    confidence: Fraction
    numbers: int

    def __init__(
        self,
        within: Exact,
        confidence: Exact = "0.95",
        *,
        of: Exact | None = None,
        numbers: int = 1,
    ) -> None:
        put = object.__setattr__
        put(self, "within", _distance(within, of))
        put(self, "confidence", probability(confidence, name="confidence"))
        put(self, "numbers", whole(numbers, name="numbers", at_least=1, at_most=MOST))

    @property
    def each(self) -> Fraction:
        """The confidence that every single number needs, rounded up."""
        return _each(self.confidence, self.numbers)

    def met_by(self, mechanism: HasLoss) -> bool:
        """Whether this mechanism is as accurate as that."""
        return error_of(mechanism, self.each) <= self.within

    def __str__(self) -> str:
        many = "" if self.numbers == 1 else f", all {self.numbers} numbers"
        return f"within {shown(self.within)}{many}, with probability {shown(self.confidence)}"


def _distance(within: object, of: object) -> Fraction:
    """The distance that is meant, 0 or more."""
    if isinstance(within, str) and within.strip().endswith("%"):
        if of is None:
            raise ParameterError(
                "within",
                within,
                "is a percentage, of what? Say of=..., a public number: a percentage of the true "
                "answer would be private",
            )
        share = rational(within.strip()[:-1], name="within") / 100
        distance = share * positive(of, name="of")
    elif of is not None:
        raise ParameterError("of", of, "goes with a percentage, such as within='5%'")
    else:
        distance = rational(within, name="within")
    if not distance >= 0:
        raise ParameterError("within", within, "must be 0 or more")
    return distance


@remembered(1024)
def _each(confidence: Fraction, numbers: int) -> Fraction:
    """A p with p^numbers >= confidence, rounded up."""
    if numbers == 1:
        return confidence
    bits = 64 + int(numbers / (1 - confidence)).bit_length()  # 64 of 1 - p
    root = exp(round_up(log(confidence, bits).upper / numbers, bits), bits).upper
    return min(round_up(root, bits), 1 - (1 - confidence) / numbers)


def error_of(mechanism: HasLoss, confidence: Fraction) -> Fraction | float:
    """How far off the mechanism is; a float stands for its shortest decimal."""
    said = getattr(mechanism, "error", None)
    name = type(mechanism).__name__
    if not callable(said):
        problem = "has no error(confidence), so no accuracy can be asked of it"
        raise ParameterError("maker", name, problem)
    try:
        found = said(confidence)
    except DiscreetError:
        raise
    except OverflowError:
        return math.inf
    except TypeError as problem:
        raise ParameterError(
            "maker", name, f"must tell its error from a confidence alone ({problem})"
        ) from None
    return math.inf if found == math.inf else rational(found, name="error")
