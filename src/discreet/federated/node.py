"""A node: private data under names, a budget for each, and one way out.

Guarantee. Whatever leaves a node about the data held under one name has, all together, the
guarantee of that name's budget, whichever policies were configured, in whatever order and however
often.
Neighbours. Those of the budget; a policy under another relation is refused when it is charged.
Assumes. Policies state their true loss, and whoever configures them is the node's owner. Code that
runs in the same process and means harm is out of reach of any class: a debugger sees everything.
Proof. The budget belongs to the node and to the name, and is charged before the policy sees the
data; to configure another policy, or to hold newer data under the same name, does not touch it. No
attribute of a node leads to the data: they are kept beside it, and an answer is made outside of
all frames that an error carries. Nodes are not copied and not pickled: a copy could be asked anew.
A caller cannot bring noise along. What an error says comes from discreet, which quotes no data;
other errors of a policy, and those that quote a parameter, are told without their words.
Tested by tests/federated/test_node.py
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NoReturn
from weakref import WeakKeyDictionary

import numpy as np

from discreet.errors import (
    DiscreetError,
    EngineError,
    InputTypeError,
    ParameterError,
    UnsupportedError,
)
from discreet.federated.access import Access, access_of
from discreet.noise.source import system_source
from discreet.privacy.budget import Balance, Chargeable
from discreet.privacy.guarantee import Guarantee

__all__ = ["Node", "access_at", "ask_through", "budget_at"]


@dataclass(slots=True, repr=False)
class _Held:
    """What a node holds under one name."""

    data: Any
    budget: Chargeable
    access: Access | None = None


class Node:
    """Holds private data, and answers through a policy that its budget can pay.

    Guarantee. What leaves about the data under one name has the guarantee of that name's budget.
    Proof. At the top of this module.
    Tested by tests/federated/test_node.py

    >>> import discreet as dp
    >>> from discreet.federated import Through
    >>> node = Node("north")
    >>> node.hold("ages", [34, 27, 51], budget=dp.Budget(epsilon=1))
    >>> node.configure_data_access("ages", Through(dp.Geometric(epsilon="0.4"), query=len))
    >>> isinstance(node.query("ages"), int)
    True
    >>> node
    <Node 'north': ages, epsilon 0.6 left>
    """

    __slots__ = ("__weakref__", "name")

    def __init__(self, name: str = "node") -> None:
        given: object = name
        if not isinstance(given, str):
            raise ParameterError("name", type(given).__name__, "must be text")
        self.name = name
        _KEPT[self] = {}

    def hold(self, what: str, data: Any, *, budget: Chargeable | None = None) -> None:
        """Keep a copy of private data under a name.

        Args:
            what: the name, public.
            data: an array, a list, or anything that can be copied.
            budget: what may leak about the people in these data in all, such as
                dp.Budget(epsilon=1). Needed once for each name: newer data under the same name
                are about the same people, and what was spent stays spent. Where one person may be
                in several nodes, or under several names, give all of them the same budget.
        """
        kept, name = _KEPT[self], _name(what)
        if name in kept:
            if budget is not None:
                problem = "is fixed for this name: what was spent stays spent; leave it out"
                raise ParameterError("budget", None, problem)
            kept[name].data = _copied(data)
            return
        if budget is None:
            problem = "must be said for a new name, for example budget=dp.Budget(epsilon=1)"
            raise ParameterError("budget", None, problem)
        if not callable(getattr(budget, "charge", None)):
            raise InputTypeError("a budget is needed here, such as dp.Budget(epsilon=1)")
        kept[name] = _Held(_copied(data), budget)

    @property
    def names(self) -> tuple[str, ...]:
        """The names under which data are held."""
        return tuple(_KEPT[self])

    def configure_data_access(self, what: str, access: Access) -> None:
        """Let the data under a name leave through this policy, and no longer through another.

        The budget stays as it is.
        """
        held = _held(self, what)
        held.access = access_of(access)

    def query(self, what: str) -> Any:
        """Charge the budget, apply the policy, and return its answer."""
        access = access_at(self, what)
        if access is None:
            problem = "has no policy yet: configure_data_access(...) says what may leave"
            raise ParameterError("data", what, problem)
        return ask_through(self, what, access)

    def spent(self, what: str) -> Balance:
        """What was spent of a name's budget."""
        return _held(self, what).budget.spent

    def left(self, what: str) -> Balance:
        """What is left of a name's budget."""
        return _held(self, what).budget.left

    @property
    def guarantees(self) -> Mapping[str, Guarantee]:
        """What is promised for all that will ever leave, for each name."""
        return MappingProxyType({k: held.budget.guarantee for k, held in _KEPT[self].items()})

    def __repr__(self) -> str:
        told = [f"{name}, {held.budget.left} left" for name, held in _KEPT[self].items()]
        return f"<Node {self.name!r}: {'; '.join(told) or 'no data'}>"

    def __copy__(self) -> NoReturn:
        raise UnsupportedError("a node is not copied: its data stay where they are")

    def __deepcopy__(self, memo: object) -> NoReturn:
        self.__copy__()

    def __reduce__(self) -> NoReturn:
        self.__copy__()

    def __getstate__(self) -> NoReturn:
        self.__copy__()


_KEPT: WeakKeyDictionary[Node, dict[str, _Held]] = WeakKeyDictionary()


def _name(what: object) -> str:
    if not isinstance(what, str) or not what:
        raise ParameterError("name", what, "of data must be text")
    return what


def _held(node: Node, what: str) -> _Held:
    found = _KEPT[node].get(_name(what))
    if found is None:
        known = ", ".join(_KEPT[node]) or "none"
        raise ParameterError("data", what, f"are not held here; there are: {known}")
    return found


def _copied(data: Any) -> Any:
    """A copy of the data that nobody else has; an array that nobody can write to."""
    if isinstance(data, np.ndarray):
        own = np.array(data, copy=True)
        own.flags.writeable = False
        return own
    return copy.deepcopy(data)


def ask_through(node: Node, what: str, access: Access) -> Any:
    """Charge what this policy costs, apply this very policy, and return its answer.

    Another one may be configured meanwhile, from another thread: what was charged is applied.
    """
    held = _held(node, what)
    held.budget.charge(access.privacy_loss)
    answer, problem_found = _answer(access, held)
    if problem_found is not None:
        raise problem_found
    return answer


def _answer(access: Access, held: _Held) -> tuple[Any, Exception | None]:
    """What the policy answers, or an error that carries neither words nor frames of the policy.

    Errors of discreet quote no data, only parameters; but what a policy hands in as a parameter may
    come from the data, so an error that quotes one is told without its words, too.
    """
    found: DiscreetError = EngineError(
        "the policy failed at this node; its words may quote the data and are not shown. "
        "The budget was charged"
    )
    try:
        return access.apply(held.data, source=system_source()), None
    except DiscreetError as error:
        if getattr(error, "value", None) is None:
            found = error.with_traceback(None)
            found.__context__ = found.__cause__ = None
    except Exception:  # noqa: BLE001, S110 - its words may quote the data
        pass
    return None, found


def budget_at(node: Node, what: str) -> Chargeable:
    """The budget of a name."""
    return _held(node, what).budget


def access_at(node: Node, what: str) -> Access | None:
    """The policy of a name, if there is one."""
    return _held(node, what).access
