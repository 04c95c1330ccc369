"""A node keeps its data and its budget, whatever is tried."""

import copy
import gc
import inspect
import pickle
import sys
import threading
import traceback

import numpy as np
import pytest

import discreet as dp
from discreet.federated import Node, Through

SECRET = 987654321
LENGTH = Through(dp.Geometric(epsilon="0.1"), query=len)


def noded(epsilon=1, data=None):
    node = Node("north")
    node.hold("ages", [SECRET, 2, 3] if data is None else data, budget=dp.Budget(epsilon=epsilon))
    return node


def reachable(root, depth=6):
    """All that attributes, slots, items and closures of an object lead to, functions' globals
    apart: modules are no part of a node.
    """
    seen, waiting, found = set(), [(root, 0)], []
    while waiting:
        value, at = waiting.pop()
        if id(value) in seen or at > depth or inspect.ismodule(value):
            continue
        seen.add(id(value))
        found.append(value)
        names = [
            n for n in dir(value) if n not in ("__globals__", "__builtins__", "__subclasses__")
        ]
        for name in names if at < 2 else ("__dict__", "__closure__", "cell_contents", "__self__"):
            try:
                waiting.append((getattr(value, name), at + 1))
            except (AttributeError, TypeError, ValueError, dp.DiscreetError):
                continue
        if isinstance(value, dict):
            waiting += [(one, at + 1) for one in value.values()]
        if isinstance(value, list | tuple | set):
            waiting += [(one, at + 1) for one in value]
    return found


def holds_the_secret(value):
    if isinstance(value, np.ndarray):
        return SECRET in value
    return isinstance(value, int) and value == SECRET


@pytest.mark.parametrize("data", [[SECRET, 2], np.array([SECRET, 2])], ids=["list", "array"])
def test_no_attribute_leads_to_the_data(data):
    node = noded(data=data)
    node.configure_data_access("ages", LENGTH)
    assert not any(holds_the_secret(value) for value in reachable(node))
    assert str(SECRET) not in repr(node) + str(node) + format(node)
    assert not hasattr(node, "__dict__")

    class Holder:
        def __init__(self):
            self.data = data

    assert any(holds_the_secret(value) for value in reachable(Holder()))  # the test would see it


def test_copies_and_pickles_are_refused():
    node = noded()
    for attempt in (copy.copy, copy.deepcopy, pickle.dumps, lambda one: one.__reduce_ex__(2),
                    lambda one: one.__getstate__()):  # fmt: skip
        with pytest.raises(dp.UnsupportedError, match="not copied"):
            attempt(node)


def test_reconfiguring_does_not_reset_the_budget():
    node = noded(epsilon="0.5")
    for _ in range(5):
        node.configure_data_access("ages", Through(dp.Geometric(epsilon="0.1"), query=len))
        node.query("ages")
    node.configure_data_access("ages", LENGTH)
    with pytest.raises(dp.BudgetExceededError):
        node.query("ages")
    node.hold("ages", [1, 2])  # newer data
    with pytest.raises(dp.BudgetExceededError):
        node.query("ages")
    with pytest.raises(dp.ParameterError, match="what was spent stays spent"):
        node.hold("ages", [1], budget=dp.Budget(epsilon=9))
    assert node.spent("ages").epsilon == dp.rational("0.5", name="x")
    assert node.left("ages").epsilon == 0


@pytest.mark.parametrize(("total", "each", "answers"), [("0.2", "0.002", 100), (4, "0.2", 20)])
def test_decimals_add_up(total, each, answers):
    """100 and 20 answers, where sums of binary floats stop at 99 and 19."""
    node = noded(epsilon=total)
    node.configure_data_access("ages", Through(dp.Geometric(epsilon=each), query=len))
    for _ in range(answers):
        node.query("ages")
    with pytest.raises(dp.BudgetExceededError):
        node.query("ages")
    float_sum, count = 0.0, 0
    while float_sum + float(each) <= float(total):
        float_sum, count = float_sum + float(each), count + 1
    assert count == answers - 1


def test_data_are_a_copy():
    data = np.array([5, 6, 7])
    node = noded(data=data)
    data[:] = 0
    node.configure_data_access("ages", Through(dp.Geometric(epsilon=1), query=_total))
    assert abs(node.query("ages") - 18) < 60
    listed = [[1], [2]]
    node.hold("lists", listed, budget=dp.Budget(epsilon=1000))
    listed[0].append(99)
    node.configure_data_access(
        "lists", Through(dp.Geometric(epsilon=500), query=lambda rows: sum(map(len, rows)))
    )
    assert node.query("lists") == 2


def _total(values):
    return int(values.sum())


def test_a_policy_cannot_change_an_array_it_is_shown():
    node = noded(data=np.array([3, 1, 2]))
    node.configure_data_access(
        "ages", Through(dp.Geometric(epsilon="0.1"), query=lambda d: d.sort())
    )
    with pytest.raises(dp.EngineError):
        node.query("ages")


class Telling:
    privacy_loss = dp.losses.PureLoss(epsilon="0.1")

    def __init__(self, kind):
        self.kind = kind

    def apply(self, data, *, source):
        if self.kind is dp.ParameterError:
            raise dp.ParameterError("x", None, "is wrong")
        raise self.kind(f"row {data[0]} is odd")


@pytest.mark.parametrize("kind", [ValueError, KeyError, RuntimeError, dp.ParameterError])
def test_errors_carry_no_data(kind):
    """Neither in their words, nor in what they were caused by, nor in the frames they hold."""
    node = noded()
    node.configure_data_access("ages", Telling(kind))
    with pytest.raises(dp.DiscreetError) as caught:
        node.query("ages")
    error = caught.value
    assert str(SECRET) not in "".join(traceback.format_exception(error))
    assert error.__cause__ is None
    assert error.__context__ is None
    trace = error.__traceback__
    while trace is not None:
        inner = trace.tb_frame
        if inner.f_globals.get("__name__", "").startswith("discreet"):
            seen = [v for one in inner.f_locals.values() for v in _contents(one)]
            assert not any(holds_the_secret(v) for v in seen)
        assert inner.f_code.co_name not in ("apply", "_answer")
        trace = trace.tb_next
    assert node.spent("ages").epsilon == dp.rational("0.1", name="x")


@pytest.mark.parametrize(
    "query",
    [
        lambda rows: dp.rational(f"x{rows[0]}", name="age"),
        lambda rows: dp.Geometric(epsilon=-rows[0]),
        lambda rows: dp.local.KaryResponse(rows[0], 1).p,
    ],
)
def test_a_parameter_that_comes_from_the_data_is_not_quoted(query):
    """Errors of discreet quote parameters: public, unless somebody computes them from rows."""
    with pytest.raises(dp.ParameterError, match=str(SECRET)):
        query([SECRET])
    node = noded()
    node.configure_data_access("ages", Through(dp.Geometric(epsilon="0.1"), query=query))
    with pytest.raises(dp.EngineError) as caught:
        node.query("ages")
    assert str(SECRET) not in "".join(traceback.format_exception(caught.value))
    assert node.spent("ages").epsilon == dp.rational("0.1", name="x")


def test_what_was_charged_is_what_is_applied():
    """Another policy that is configured between charging and answering is not applied for its
    predecessor's price.
    """
    node = Node()
    dear = Through(dp.Geometric(epsilon=500), query=len)

    class Swapping(dp.Budget):
        def charge(self, *releases, times=1):
            super().charge(*releases, times=times)
            node.configure_data_access("ages", dear)

    class Cheap:
        privacy_loss = dp.losses.PureLoss(epsilon="0.1")

        def apply(self, data, *, source):
            return "cheap"

    node.hold("ages", [SECRET], budget=Swapping(epsilon=1))
    node.configure_data_access("ages", Cheap())
    assert node.query("ages") == "cheap"


def _contents(value):
    return list(value) if isinstance(value, list | tuple) else [value]


def test_nobody_brings_noise_along():
    assert list(inspect.signature(Node.query).parameters) == ["self", "what"]


def test_what_is_not_there_or_not_said_is_refused():
    node = Node()
    with pytest.raises(ValueError, match="budget"):
        node.hold("ages", [1])
    with pytest.raises(dp.InputTypeError, match="budget"):
        node.hold("ages", [1], budget=3)
    with pytest.raises(ValueError, match="not held here"):
        node.query("ages")
    node.hold("ages", [1], budget=dp.Budget(epsilon=1))
    with pytest.raises(ValueError, match="no policy yet"):
        node.query("ages")
    with pytest.raises(dp.InputTypeError):
        node.configure_data_access("ages", lambda data: data)
    for wrong in (3, "", None):
        with pytest.raises(ValueError, match="text"):
            node.hold(wrong, [1], budget=dp.Budget(epsilon=1))
    with pytest.raises(ValueError, match="text"):
        Node(3)
    replaced = Through(dp.Geometric(epsilon="0.1", neighbours="replace"), query=len)
    node.configure_data_access("ages", replaced)
    with pytest.raises(dp.ParameterError, match="neighbours"):
        node.query("ages")
    assert node.guarantees["ages"] == dp.PureDP(1)
    assert node.names == ("ages",)


def test_threads_do_not_overspend():
    node = noded(epsilon=1)
    node.configure_data_access("ages", LENGTH)
    answers = []

    def ask():
        for _ in range(5):
            try:
                answers.append(node.query("ages"))
            except dp.BudgetExceededError:
                return

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 10


def test_what_a_node_held_goes_with_it():
    module = sys.modules["discreet.federated.node"]
    gc.collect()
    before = len(module._KEPT)
    node = noded()
    assert len(module._KEPT) == before + 1
    del node
    gc.collect()
    assert len(module._KEPT) == before
