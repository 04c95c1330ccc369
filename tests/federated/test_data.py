"""Data over nodes: even splits, one answer from each, all charged or none."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dp
from discreet.federated import FederatedData, Through, federate_array
from discreet.federated.node import _KEPT

LENGTH = Through(dp.Geometric(epsilon=1), query=len)


def one(epsilon=1):
    return lambda: dp.Budget(epsilon=epsilon)


def sizes(data):
    """How many rows every node holds; for tests, by looking where no caller should."""
    return [len(_KEPT[node]["data"].data) for node in data]


@pytest.mark.parametrize(("rows", "nodes", "each"), [(10_000, 1_000, 10), (10_000, 10, 1_000)])
def test_even_splits(rows, nodes, each):
    data = federate_array(np.arange(rows), nodes, budget=one())
    assert data.num_nodes() == len(data) == nodes
    assert sizes(data) == [each] * nodes


@given(st.integers(1, 60).flatmap(lambda n: st.tuples(st.just(n), st.integers(1, n))))
def test_every_row_is_in_one_node_and_sizes_differ_by_one_at_most(counts):
    """A float offset would make one node more for some of these."""
    rows, nodes = counts
    data = federate_array(list(range(rows)), nodes, budget=one())
    held = [row for node in data for row in _KEPT[node]["data"].data]
    assert held == list(range(rows))
    assert max(sizes(data)) - min(sizes(data)) <= 1
    assert len(data) == nodes


def test_each_node_answers_and_pays_for_itself():
    data = federate_array(np.zeros((7, 2)), 3, budget=one(2))
    with pytest.raises(ValueError, match="no policy yet"):
        data.query()
    data.configure_data_access(LENGTH)
    assert len(data.query()) == 3
    data[0].query("data")
    assert data[0].left("data").epsilon == 0
    assert data[1].left("data").epsilon == 1
    with pytest.raises(dp.BudgetExceededError):
        data.query()
    assert data[1].left("data").epsilon == 1  # the others were not charged
    assert [node.name for node in data] == ["data-0", "data-1", "data-2"]
    assert repr(data) == "<FederatedData 'data' in 3 nodes>"


def test_one_budget_for_people_who_are_in_several_nodes():
    budget = dp.Budget(epsilon=5)
    data = federate_array([1, 2, 3], 3, budget=budget)
    data.configure_data_access(LENGTH)
    data.query()
    assert budget.left.epsilon == 2
    with pytest.raises(dp.BudgetExceededError, match="costs epsilon 3"):
        data.query()
    assert budget.left.epsilon == 2


def test_nodes_can_be_added():
    data = FederatedData(budget=one(), what="ages")
    node = data.add_data_node([1, 2])
    assert data[0] is node
    data.configure_data_access(LENGTH)
    assert len(data.query()) == 1


@pytest.mark.parametrize("array", ["abc", 3, None, np.array(3)])
def test_what_has_no_rows_is_refused(array):
    with pytest.raises(dp.InputTypeError):
        federate_array(array, 1, budget=one())


@pytest.mark.parametrize("nodes", [0, 4, -1, 1.5])
def test_as_many_nodes_as_rows_at_most(nodes):
    with pytest.raises(dp.ParameterError):
        federate_array([1, 2, 3], nodes, budget=one())


def test_a_budget_has_to_be_said():
    with pytest.raises(TypeError):
        federate_array([1, 2], 1)
    with pytest.raises(dp.InputTypeError, match="budget"):
        federate_array([1, 2], 1, budget=3)
