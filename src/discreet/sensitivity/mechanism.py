"""A mechanism whose noise is scaled to a sampled sensitivity: random differential privacy only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.errors import ParameterError
from discreet.exact import Exact, shown
from discreet.noise.source import Source
from discreet.privacy.guarantee import Neighbours, PureDP, RandomDP, epsilon_of
from discreet.privacy.loss import RandomLoss

if TYPE_CHECKING:
    from discreet.sensitivity.sampler import SensitivityEstimate

__all__ = ["RandomMechanism", "random_mechanism"]


@dataclass(frozen=True, slots=True, repr=False)
class RandomMechanism:
    """What `SensitivityEstimate.mechanism` returns: it releases, and never claims plain privacy.

    Guarantee. Epsilon-differential privacy for one random pair of neighbours, with probability at
    least 1 - gamma over the sampler and that pair jointly: `RandomDP(epsilon, gamma)`. Nothing is
    promised to somebody who is unlike the oracle's distribution.
    Proof. With that probability the pair is no further apart than the sampled sensitivity, by
    `discreet.sensitivity.plan`, and then the inner mechanism's own theorem speaks about this pair.
    Tested by tests/sensitivity/test_mechanism.py
    """

    estimate: SensitivityEstimate
    epsilon: Fraction
    _inner: Any = field(repr=False)

    def __repr__(self) -> str:
        inside, guarantee = type(self._inner).__name__, self.guarantee
        said = f"epsilon={shown(self.epsilon)}, gamma={shown(guarantee.gamma)}"
        return f"RandomMechanism({inside}, {said}, sensitivity={self.estimate.value})"

    @property
    def neighbours(self) -> Neighbours:
        """The relation of the sampled pairs."""
        return self.estimate.neighbours

    @property
    def guarantee(self) -> RandomDP:
        """Random differential privacy, with the estimate's joint gamma."""
        return RandomDP(self.epsilon, self.estimate.joint_gamma, self.neighbours)

    @property
    def privacy_loss(self) -> RandomLoss:
        """What one release leaks. Gammas of several releases add up."""
        return RandomLoss(
            epsilon=self.epsilon, gamma=self.estimate.joint_gamma, neighbours=self.neighbours
        )

    def release(self, value: Any, *, source: Source | None = None) -> Any:
        """Release a value as the inner mechanism does."""
        return self._inner.release(value, source=source)

    def error(self, *args: Any, **more: Any) -> Any:
        """How far off a release is, as the inner mechanism says it."""
        return self._inner.error(*args, **more)


def random_mechanism(
    estimate: SensitivityEstimate, maker: Callable[..., Any], epsilon: Exact, more: dict[str, Any]
) -> RandomMechanism:
    """Make a mechanism with the sampled sensitivity and wrap it up, or refuse in words."""
    if {"sensitivity", "neighbours"} & more.keys():
        raise ParameterError(
            "sensitivity", None, "and neighbours are the estimate's: leave them out"
        )
    if not estimate.value > 0:
        raise ParameterError(
            "sensitivity",
            None,
            "was sampled as 0, and noise of scale 0 hides nothing: sample more pairs, or ask "
            "whether the query depends on its records at all",
        )
    if not estimate.joint_gamma < 1:
        raise ParameterError("gamma", estimate.joint_gamma, "must be below 1 to promise anything")
    inner = maker(
        epsilon=epsilon,
        sensitivity=Fraction(estimate.value.number),
        neighbours=estimate.neighbours,
        **more,
    )
    _checked(inner, estimate, more)
    promised = PureDP(epsilon, estimate.neighbours)
    if inner.guarantee.neighbours != promised.neighbours or not inner.guarantee <= promised:
        raise ParameterError("maker", None, f"must make a mechanism with {promised}")
    if getattr(inner, "sensitivity", estimate.value.number) < estimate.value.number:
        raise ParameterError("maker", None, "must take the sensitivity that it is given")
    return RandomMechanism(estimate, epsilon_of(epsilon), inner)


def _checked(inner: Any, estimate: SensitivityEstimate, more: dict[str, Any]) -> None:
    """Refuse what a sensitivity of this norm does not scale.

    A mechanism that adds noise to each number (it has a `noise_law`) pays for the sum of the moves
    and counts how many numbers move. One that selects pays for the largest move, which every norm
    bounds.
    """
    if not isinstance(getattr(inner, "guarantee", None), PureDP):
        raise ParameterError("maker", None, "must make a mechanism with epsilon-privacy of its own")
    adds = hasattr(inner, "noise_law") and estimate.numbers > 1
    if estimate.norm not in (("L1",) if adds else ("L1", "L2", "Linf")):
        problem = "must be L1: noise pays for the sum of the moves" if adds else "has no theorem"
        raise ParameterError("norm", estimate.norm, problem)
    if adds and "changes" not in more:
        raise ParameterError(
            "changes", None, f"must be said: how many of the {estimate.numbers} numbers may move"
        )
