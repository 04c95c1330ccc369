"""A filter and subsampling, under the names of Sherpa.ai's framework.

Tested by tests/compat/sherpa/test_composition.py
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from discreet.compat.sherpa.access import DPDataAccessDefinition
from discreet.errors import BudgetExceededError, InputTypeError, ParameterError
from discreet.exact import rational, whole
from discreet.noise.source import Source, system_source
from discreet.privacy.budget import Budget
from discreet.privacy.compose import sampled_without_replacement
from discreet.privacy.guarantee import ApproxDP, PureDP
from discreet.privacy.loss import ApproxLoss, Loss, PureLoss

__all__ = ["AdaptiveDifferentialPrivacy", "ExceededPrivacyBudgetError", "SampleWithoutReplacement"]

ExceededPrivacyBudgetError = BudgetExceededError


class AdaptiveDifferentialPrivacy(DPDataAccessDefinition):
    """A filter: mechanisms are applied as long as all of them together stay within a budget.

    Guarantee. Everything that was applied has (epsilon, delta), however each next mechanism was
    chosen: `dp.Budget`, with exact sums, or sums of rhos where these are tighter. In a node the
    node's own account is charged, which outlives this object.
    """

    def __init__(
        self,
        epsilon_delta: tuple[float, float],
        differentially_private_mechanism: DPDataAccessDefinition | None = None,
    ) -> None:
        given: Any = epsilon_delta
        if not isinstance(given, tuple | list) or len(given) != 2:
            raise ParameterError("epsilon_delta", epsilon_delta, "must be (epsilon, delta)")
        self._limit: tuple[Any, Any] = (given[0], given[1])
        self._mechanism = None
        if differentially_private_mechanism is not None:
            self._mechanism = checked(differentially_private_mechanism)
        self._budget = self.new_budget()

    def new_budget(self) -> Budget:
        """A budget of this size, of which nothing was spent.

        Half of delta is kept for failures where the mechanism has a delta of its own.
        """
        epsilon, delta = self._limit
        fails = self._mechanism is not None and isinstance(self._mechanism.privacy_loss, ApproxLoss)
        share = rational(delta, name="delta") / 2 if fails else Fraction(0)
        return Budget(epsilon=epsilon, delta=delta, failures=share, neighbours="replace")

    @property
    def epsilon_delta(self) -> tuple[float, float]:
        """The whole budget."""
        return float(self._limit[0]), float(self._limit[1])

    @property
    def privacy_loss(self) -> Loss:
        """What one application leaks: of the default mechanism, or the whole budget at most."""
        if self._mechanism is not None:
            return self._mechanism.privacy_loss
        epsilon, delta = self._limit
        if rational(delta, name="delta") == 0:
            return PureLoss(epsilon=epsilon, neighbours="replace")
        return ApproxLoss(epsilon=epsilon, delta=delta, neighbours="replace")

    def chosen(self, mechanism: Any) -> DPDataAccessDefinition:
        """The mechanism that was given, or the default one; ValueError where there is none."""
        found = self._mechanism if mechanism is None else checked(mechanism)
        if found is None:
            raise ParameterError("differentially_private_mechanism", None, "must be said once")
        return found

    def apply(
        self,
        data: Any,
        differentially_private_mechanism: DPDataAccessDefinition | None = None,
        *,
        source: Source | None = None,
    ) -> Any:
        """Charge the budget of this object, and apply the mechanism."""
        mechanism = self.chosen(differentially_private_mechanism)
        self._budget.charge(mechanism.privacy_loss)
        return mechanism.apply(data, source=source)


def checked(mechanism: Any) -> DPDataAccessDefinition:
    """A definition that states its cost; ValueError otherwise."""
    if not isinstance(mechanism, DPDataAccessDefinition):
        problem = "must state its cost: a mechanism with epsilon_delta"
        raise ParameterError("differentially_private_mechanism", type(mechanism).__name__, problem)
    return mechanism


class SampleWithoutReplacement(DPDataAccessDefinition):
    """A mechanism on a secret random sample of the rows.

    Guarantee. That of `dp.compose.sampled_without_replacement`. The sample is drawn in random
    order, so that it holds for mechanisms that look at the order of rows too.
    """

    def __init__(
        self, dp_mechanism: DPDataAccessDefinition, sample_size: int, data_size: Any
    ) -> None:
        self._mechanism = checked(dp_mechanism)
        shape = tuple(np.atleast_1d(np.asarray(data_size)).tolist())
        self._shape = tuple(whole(one, name="data_size", at_least=1) for one in shape)
        self._size = whole(sample_size, name="sample_size", at_least=1, at_most=self._shape[0])
        self._guarantee = sampled_without_replacement(
            self._mechanism.guarantee, taken=self._size, of=self._shape[0]
        )

    @property
    def privacy_loss(self) -> Loss:
        """The amplified cost."""
        match self._guarantee:
            case PureDP(epsilon=epsilon):
                return PureLoss(epsilon=epsilon, neighbours="replace")
            case ApproxDP(epsilon=epsilon, delta=delta):
                return ApproxLoss(epsilon=epsilon, delta=delta, neighbours="replace")
            case other:  # pragma: no cover - refused when it was made
                raise ParameterError("dp_mechanism", str(other), "has no rule for samples")

    def apply(self, data: Any, *, source: Source | None = None) -> Any:
        """The mechanism's answer on a random sample."""
        rows = np.asarray(data)
        if rows.shape[: len(self._shape)] != self._shape:
            raise InputTypeError("the data do not have the declared data_size")
        supply = system_source() if source is None else source
        places = list(range(len(rows)))
        for i in range(self._size):  # Fisher and Yates, as far as needed
            j = i + supply.below(len(rows) - i)
            places[i], places[j] = places[j], places[i]
        return self._mechanism.apply(rows[places[: self._size]], source=source)
