"""Ways out of a node: a policy says what one answer costs, and makes it.

A policy is anything with `privacy_loss`, what one application leaks, and `apply(data, source=...)`,
which gets the private data and returns what may leave. `Through` is the one that most need: a
function of the data, and a mechanism that releases its value.
Tested by tests/federated/test_access.py
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from discreet.errors import InputTypeError
from discreet.noise.source import Source
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.loss import Loss, loss_of

__all__ = ["Access", "Through", "access_of"]


class Access(Protocol):
    """What a node asks of a policy."""

    @property
    def privacy_loss(self) -> Loss:
        """What one application leaks; a node charges it before it looks at the data."""

    def apply(self, data: Any, *, source: Source) -> Any:
        """The answer that leaves the node."""


@dataclass(frozen=True, slots=True)
class Through:
    """Release a function of the data through a mechanism.

    Guarantee. That of the mechanism.
    Assumes. The mechanism's sensitivity is a true bound of how far one person of this node can
    move `query(data)`. The function looks at nothing else that is private, and keeps nothing.
    Tested by tests/federated/test_access.py

    Args:
        mechanism: anything with `privacy_loss` and `release`, such as dp.Geometric(epsilon="0.1").
        query: the function; the data themselves without one.

    >>> import discreet as dp
    >>> access = Through(dp.Geometric(epsilon="0.1"), query=len)
    >>> print(access.cost)
    0.1-differential privacy (neighbours: one person is added or removed)
    """

    mechanism: Any
    query: Callable[[Any], Any] | None = None

    def __post_init__(self) -> None:
        loss_of(self.mechanism)
        if not callable(getattr(self.mechanism, "release", None)):
            raise InputTypeError("a mechanism with a release(...) is needed here; nothing was kept")
        if self.query is not None and not callable(self.query):
            raise InputTypeError("query must be a function of the data; nothing was kept")

    @property
    def privacy_loss(self) -> Loss:
        """What one answer leaks."""
        return loss_of(self.mechanism)

    @property
    def cost(self) -> Guarantee:
        """What one answer promises."""
        return self.privacy_loss.guarantee

    def apply(self, data: Any, *, source: Source) -> Any:
        """The released value of the function."""
        value = data if self.query is None else self.query(data)
        return self.mechanism.release(value, source=source)


def access_of(value: Any) -> Access:
    """A policy; what states no cost, or gives no answer, is refused."""
    loss_of(value)
    if not callable(getattr(value, "apply", None)):
        raise InputTypeError(
            "a policy with apply(data, source=...) is needed here; "
            "Through(mechanism, query=...) makes one of a mechanism. Nothing was changed"
        )
    found: Access = value
    return found
