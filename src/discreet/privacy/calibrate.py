"""From what is wanted to the noise: an accuracy, a guarantee, or many accuracies under one budget.

A maker is a mechanism's class, or a function that returns a mechanism (`discreet.privacy.dial`).
Everything here turns its dial, asks the mechanism how far off it would be and what it would leak,
and rounds to the side on which what was asked holds. Nothing is drawn and nothing is charged.

Turning. A dial is set to decimals of six digits. Of two neighbouring ones, of which one does what
was asked and the other does not, the first is taken. It is the best of all where less of the dial
is never more accurate and never less private. (`dp.Staircase` chooses its steps from epsilon, and
its error can rise with it: what is found does what was asked, but may not be the only such place.)

Scaling a batch. A factor f turns epsilon into epsilon/f and rho into rho/f^2: all noise gets f
times as wide, exactly for Gaussian noise, and nearly for geometric noise while epsilon is small.
One factor for all keeps the proportions between the accuracies that were wished for. New dials are
rounded down, to six digits; the old ones have six digits, so that no dial shrinks while f <= 1.

Against a budget. The budget is asked whether it affords the whole batch at once; what is charged
together may as well be charged one after another, because its rules are caps on sums that only
grow.
Tested by tests/privacy/test_calibrate.py
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any, NoReturn, cast

from discreet.errors import BudgetExceededError, ParameterError, UnsupportedError
from discreet.exact import Exact, log, shown
from discreet.privacy.accountant import Accountant, Explanation
from discreet.privacy.accuracy import Accuracy, error_of
from discreet.privacy.bounds import (
    add_upper,
    failure,
    gamma_of,
    pure_upper,
    renyi_estimate,
    renyi_upper,
    rho_upper,
)
from discreet.privacy.budget import Chargeable
from discreet.privacy.convert import largest_divergence
from discreet.privacy.dial import (
    FINEST,
    LARGEST,
    Dial,
    Made,
    crossing,
    dial_of,
    name_of,
    round_down,
)
from discreet.privacy.filter import Currency, Limits, Rule
from discreet.privacy.guarantee import (
    ZCDP,
    ApproxDP,
    Guarantee,
    PureDP,
    RandomDP,
    RenyiDP,
    delta_of,
    epsilon_of,
    same_neighbours,
)
from discreet.privacy.loss import HasLoss, Loss, loss_of

__all__ = ["Accuracy", "Batch", "Wish", "best_order", "calibrate", "calibrate_all"]

FACTOR_DIGITS = 5  # of a factor
FACTORS = (Fraction(1, 10**12), Fraction(10**12))
POWERS = {"epsilon": 1, "rho": 2}  # noise f times as wide divides the dial by f to this power
HIGHEST = 20 * 64 - 1  # the number of the highest order, just below 2^20


def calibrate(maker: Callable[..., Made], *, to: Accuracy | Guarantee, **parameters: Any) -> Made:
    """The mechanism that just meets an accuracy, or that makes the most of a guarantee.

    Guarantee. To an `Accuracy`: it is met, and at the next smaller decimal of six digits it would
    not be, so that no more is leaked than it takes. To a guarantee: one release has it, and at the
    next larger decimal it would not, so that there is no more noise than it takes.
    Neighbours. Those of the guarantee, unless they are among the parameters; they must agree.
    Tested by tests/privacy/test_calibrate.py

    Args:
        maker: a mechanism's class, or a function with a dial; see the top of this module.
        to: an `Accuracy`, or dp.PureDP, dp.ApproxDP, dp.ZCDP or dp.RenyiDP.
        parameters: all other parameters of the maker.

    >>> import discreet as dp
    >>> calibrate(dp.Geometric, to=Accuracy(10))
    Geometric(epsilon='0.284349', sensitivity=1, neighbours='add_or_remove')
    >>> round(calibrate(dp.Gaussian, to=dp.ApproxDP(1, "1e-6")).sigma, 3)
    4.231
    """
    if isinstance(to, Accuracy):
        dial = Dial.of(maker, parameters)
        return dial.at(_least(dial, to))
    if _is_budget(to):
        raise ParameterError("to", None, "is a budget: budget.finest(maker, ...) makes what fits")
    _check_guarantee(to, "an Accuracy")
    return _private(Dial.of(maker, parameters, to.neighbours), to)


def _check_guarantee(to: object, other: str) -> None:
    if isinstance(to, RandomDP):
        raise ParameterError(
            "to", str(to), "cannot be random privacy: dp.sample_sensitivity makes such mechanisms"
        )
    if not isinstance(to, Guarantee):
        raise ParameterError("to", to, f"must be a guarantee such as dp.PureDP(1), or {other}")


def _least(dial: Dial[Any], to: Accuracy) -> Fraction:
    """The smallest dial that meets the accuracy."""

    def met(at: Fraction) -> bool:
        made = dial.tried(at)
        return made is not None and to.met_by(made)

    fails, meets = crossing(met, 1 / (1 + to.within))
    if meets is None:
        best = error_of(dial.at(LARGEST), to.each)
        why = f"must be at least {float(best):g}, which {name_of(dial.maker)} reaches with "
        raise ParameterError("within", shown(to.within), f"{why}{dial.name} {LARGEST}")
    if fails is None:
        why = f"must be smaller: {name_of(dial.maker)} meets it with {dial.name} {float(FINEST):g}"
        raise ParameterError("within", shown(to.within), f"{why}, which is noise alone")
    return meets


def _private(dial: Dial[Made], to: Guarantee) -> Made:
    """The largest dial with which one release has the guarantee."""
    made = _direct(dial, to)
    if made is not None:
        return made

    def fits(at: Fraction) -> bool:
        found = dial.tried(at)
        return found is not None and _has([loss_of(found)], to)

    exact: Fraction = getattr(to, dial.name, None) or Fraction(1)
    found, _ = crossing(lambda at: not fits(at), exact)
    if (found is None or found < exact) and fits(exact):
        return dial.at(exact)
    if found is None:
        _never([loss_of(dial.at(exact))], to, name_of(dial.maker))
    return dial.at(found)


def _direct(dial: Dial[Made], to: Guarantee) -> Made | None:
    """What a maker of rho makes of an epsilon and a delta by itself, where it can."""
    if dial.name != "rho" or not isinstance(to, ApproxDP):
        return None
    try:
        made = dial.make(epsilon=to.epsilon, delta=to.delta)
    except ParameterError:
        return None
    promised = getattr(made, "guarantee", None)
    return made if isinstance(promised, ApproxDP) and promised <= to else None


def _has(losses: Sequence[Loss], to: Guarantee) -> bool:
    """Whether all these releases together have the guarantee, by certified bounds."""
    for loss in losses:
        if loss.neighbours != to.neighbours:
            problem = f"of a release differ from {to.neighbours!r} of the guarantee; say the same"
            raise ParameterError("neighbours", loss.neighbours, problem)
    if isinstance(to, ApproxDP):
        accountant = Accountant(losses, neighbours=to.neighbours)
        return accountant.delta_upper(to.epsilon) <= to.delta
    rule = _rule(to)
    return rule.holds([_total(losses, currency) for currency in rule.currencies])


def _rule(to: Guarantee) -> Rule:
    match to:
        case PureDP():
            return Limits(epsilon=to.epsilon).rule(to.neighbours)
        case ZCDP():
            return Limits(rho=to.rho).rule(to.neighbours)
        case RenyiDP():
            return Limits(renyi=dict(to.curve)).rule(to.neighbours)
        case _:  # pragma: no cover - the callers see to the others
            raise AssertionError("no sums decide this guarantee")


def _total(losses: Sequence[Loss], currency: Currency) -> Fraction | None:
    """What these losses cost together; None where that has no end."""
    amounts = [currency.price(loss) for loss in losses]
    known = [amount for amount in amounts if amount is not None]
    return reduce(add_upper, known, Fraction(0)) if len(known) == len(amounts) else None


def _never(losses: Sequence[Loss], to: Guarantee, who: str) -> NoReturn:
    """Say why no dial is small enough."""
    fails = sum((failure(loss) for loss in losses), Fraction(0))
    if any(gamma_of(loss) for loss in losses):
        why = "its privacy is random, which no dial changes"
    elif fails:
        why = f"it fails with probability {shown(fails)} by itself; give it a smaller delta"
    elif isinstance(to, PureDP) and any(pure_upper(loss) is None for loss in losses):
        why = "its noise has no pure epsilon: ask for dp.ApproxDP or dp.ZCDP, or use dp.Geometric"
    else:
        why = "even its smallest dial leaks more"
    raise ParameterError("to", str(to), f"is not reached by {who}: {why}")


@dataclass(frozen=True, slots=True, init=False)
class Wish:
    """One release that is wanted, and how accurate it should be."""

    maker: Callable[..., Any]
    accuracy: Accuracy
    parameters: Mapping[str, Any]

    def __init__(self, maker: Callable[..., Any], accuracy: Accuracy, **parameters: Any) -> None:
        dial_of(maker)
        if not isinstance(accuracy, Accuracy):
            raise ParameterError("accuracy", accuracy, "must be an Accuracy, as dp.Accuracy(50)")
        object.__setattr__(self, "maker", maker)
        object.__setattr__(self, "accuracy", accuracy)
        object.__setattr__(self, "parameters", parameters)


@dataclass(frozen=True, slots=True)
class Batch:
    """Several mechanisms that were calibrated together.

    `str(batch)` is a small table. `batch[name]` is a mechanism.

    Attributes:
        wishes: what was wanted, by name.
        mechanisms: what was made, by name.
        factor: how many times as wide as wished for the noise is; at 1 or less, wishes are met.
    """

    wishes: Mapping[str, Wish]
    mechanisms: Mapping[str, Any]
    factor: Fraction

    def __getitem__(self, name: str) -> Any:
        return self.mechanisms[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.mechanisms)

    def __len__(self) -> int:
        return len(self.mechanisms)

    @property
    def met(self) -> dict[str, bool]:
        """Which wishes are met, by name."""
        return {name: wish.accuracy.met_by(self[name]) for name, wish in self.wishes.items()}

    @property
    def accountant(self) -> Accountant:
        """An accountant with one release of each."""
        losses = [loss_of(mechanism) for mechanism in self.mechanisms.values()]
        neighbours = same_neighbours(*(loss.neighbours for loss in losses))
        return Accountant(losses, neighbours=neighbours)

    def guarantee(self, delta: Exact | None = None) -> Guarantee:
        """What all of it together promises, as `Accountant.guarantee`."""
        return self.accountant.guarantee(delta)

    def explain(self, *, delta: Exact | None = None, epsilon: Exact | None = None) -> Explanation:
        """All ways to add it up, as `Accountant.explain`."""
        return self.accountant.explain(delta=delta, epsilon=epsilon)

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        met = self.met
        head = ("name", "mechanism", "error", "wanted", "met")
        rows = [head, *(self._row(name, "yes" if met[name] else "no") for name in self)]
        widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]
        number = f"{len(self)} release{'' if len(self) == 1 else 's'}"
        factor = f"{shown(self.factor)} times as wide as wished for"
        said = "just as wide as the wishes allow" if self.factor == 1 else factor
        return "\n".join([f"{number}, noise {said}", *lines])

    def _row(self, name: str, met: str) -> tuple[str, str, str, str, str]:
        wish, made = self.wishes[name], self[name]
        dial = dial_of(wish.maker)
        value = getattr(made, dial, None)
        said = f" {dial} {shown(value)}" if isinstance(value, Fraction) else ""
        accuracy, error = wish.accuracy, error_of(made, wish.accuracy.each)
        many = "" if accuracy.numbers == 1 else f", all {accuracy.numbers}"
        wanted = f"{shown(accuracy.within)} at {shown(100 * accuracy.confidence)}%{many}"
        return str(name), type(made).__name__ + said, f"{float(error):g}", wanted, met


def calibrate_all(
    wishes: Mapping[str, Wish] | Sequence[Wish], *, to: Guarantee | Chargeable | None = None
) -> Batch:
    """Calibrate many releases, each to its accuracy; with `to`, all of them to one guarantee.

    Guarantee. Without `to`, each wish is met as by `calibrate`, and `Batch.accountant` tells what
    that costs together. With a guarantee or a budget, the noise of all is scaled by one factor, the
    smallest of five digits with which the whole batch fits (top of this module). Below 1 everything
    is more accurate than wished for, above 1 everything is coarser. A budget is not charged; what
    fits it is the batch on top of all that was charged before.
    Neighbours. As for `calibrate`.
    Tested by tests/privacy/test_calibrate.py

    Args:
        wishes: names with their wishes, or a list, whose names are "1", "2" and so on.
        to: nothing; or dp.PureDP, dp.ApproxDP, dp.ZCDP or dp.RenyiDP; or a dp.Budget.

    >>> import discreet as dp
    >>> wishes = {"men": Wish(dp.Geometric, Accuracy(10)), "all": Wish(dp.Geometric, Accuracy(20))}
    >>> print(calibrate_all(wishes, to=dp.PureDP("0.2")))
    2 releases, noise 2.1518 times as wide as wished for
    name  mechanism                   error  wanted     met
    men   Geometric epsilon 0.132144  23     10 at 95%  no
    all   Geometric epsilon 0.067852  44     20 at 95%  no
    """
    named = _named(wishes)
    neighbours = None if to is None else _target(to).neighbours
    dials = {name: Dial.of(wish.maker, wish.parameters, neighbours) for name, wish in named.items()}
    alone = {name: _least(dials[name], wish.accuracy) for name, wish in named.items()}
    factor = Fraction(1) if to is None else _factor(dials, alone, to)
    made = {name: dial.at(_turned(dial, alone[name], factor)) for name, dial in dials.items()}
    return Batch(named, made, factor)


def _named(wishes: object) -> dict[str, Wish]:
    if isinstance(wishes, Sequence) and not isinstance(wishes, str):
        wishes = {str(number): wish for number, wish in enumerate(wishes, 1)}
    if not isinstance(wishes, Mapping) or not wishes:
        raise ParameterError("wishes", wishes, "must be names with wishes, or a list of wishes")
    for name, wish in wishes.items():
        if not isinstance(wish, Wish):
            raise ParameterError(f"wishes[{name!r}]", wish, "must be a Wish, as dp.Wish(...)")
    return dict(wishes)


def _is_budget(to: object) -> bool:
    return hasattr(to, "affords") and hasattr(to, "left")


def _target(to: Guarantee | Chargeable) -> Guarantee:
    """The guarantee that is asked for, or that the budget has."""
    if _is_budget(to):
        return cast("Chargeable", to).guarantee
    _check_guarantee(to, "a budget")
    return cast("Guarantee", to)


def _turned(dial: Dial[Any], value: Fraction, factor: Fraction) -> Fraction:
    """The dial at which the noise is `factor` times as wide, rounded down."""
    if factor == 1:
        return value
    if dial.name not in POWERS:
        problem = "must be 'epsilon' or 'rho' for its noise to be scaled"
        raise ParameterError(f"the dial of {name_of(dial.maker)}", dial.name, problem)
    return round_down(value / factor ** POWERS[dial.name])


def _factor(
    dials: Mapping[str, Dial[Any]],
    alone: Mapping[str, Fraction],
    to: Guarantee | Chargeable,
) -> Fraction:
    """The smallest factor with which the batch fits."""

    def losses(factor: Fraction) -> list[Loss] | None:
        turned = {name: _turned(dial, alone[name], factor) for name, dial in dials.items()}
        if max(turned.values()) > LARGEST:
            return None
        made = [dial.tried(turned[name]) for name, dial in dials.items()]
        known = [loss_of(one) for one in made if one is not None]
        return known if len(known) == len(made) else None

    def fits(factor: Fraction) -> bool:
        found = losses(factor)
        return found is not None and _allows(to, found)

    _, found = crossing(fits, Fraction(1), digits=FACTOR_DIGITS, ends=FACTORS)
    if found is None:
        _refuse(to, losses(Fraction(1)) or [])
    return found


def _refuse(to: Guarantee | Chargeable, losses: Sequence[Loss]) -> NoReturn:
    if isinstance(to, Guarantee):
        _never(losses, to, "the batch")
    raise BudgetExceededError(
        f"this batch does not fit at any accuracy: {to.left} is left. Nothing was charged",
        asked=None,
        left=to.left,
        could=None,
    )


def _allows(to: Guarantee | Chargeable, losses: Sequence[Loss]) -> bool:
    """Whether the releases together have the guarantee, or fit what is left of the budget."""
    if isinstance(to, Guarantee):
        return _has(losses, to)
    if any(gamma_of(loss) for loss in losses):
        raise UnsupportedError("a batch of random privacy is not scaled to a budget")
    return to.affords(*losses)


def best_order(release: Loss | HasLoss, *, epsilon: Exact, delta: Exact) -> Fraction:
    """The Renyi order at which the most copies of this release fit (epsilon, delta).

    For dp.Budget(epsilon=..., delta=..., accounting="renyi", order=...), where one order has to be
    fixed ahead. Any order is valid; this is the best for equal releases, to one part in 64 of
    order - 1. Where the budget keeps `failures`, say the delta without them.

    >>> import discreet as dp
    >>> best_order(dp.losses.PureLoss(epsilon="0.01"), epsilon=1, delta="1e-6")
    Fraction(89, 4)
    """
    loss, limit, missed = loss_of(release), epsilon_of(epsilon), delta_of(delta)
    if gamma_of(loss) or not renyi_upper(loss, Fraction(2)):
        raise ParameterError(
            "release", loss, "must have a divergence, and not be of random privacy"
        )

    log_missed = float(log(missed, 64))  # a delta may be below all floats

    small = 2.0**-60 * float(min(rho_upper(loss), Fraction(1)))  # floats cancel below this

    def estimate(i: int) -> float:
        a = float(_order(i))
        allowed = limit - math.log1p(-1 / a) + (log_missed + math.log(a)) / (a - 1)
        try:
            return allowed / max(renyi_estimate(loss, a), a * small)
        except (OverflowError, ZeroDivisionError):
            raise ParameterError(
                "release", loss, "leaks too much or too little for an order to matter"
            ) from None

    def copies(i: int) -> Fraction:
        allowed = largest_divergence(_order(i), limit, missed)
        return Fraction(0) if allowed is None else allowed / renyi_upper(loss, _order(i))

    near = 0
    for step in (64, 8, 1):
        reach = range(-20 if step == 64 else -8, 20 if step == 64 else 9)
        near = max((min(near + step * j, HIGHEST) for j in reach), key=estimate)
    best = max(range(near - 2, min(near + 2, HIGHEST) + 1), key=copies)
    if not copies(best) > 0:
        raise ParameterError("delta", delta, f"is too small: no order gives epsilon {limit}")
    return _order(best)


def _order(i: int) -> Fraction:
    """Orders whose distance from 1 grows by a factor of 2 in 64 steps."""
    return 1 + Fraction(2) ** (i >> 6) * (64 + (i & 63)) / 64
