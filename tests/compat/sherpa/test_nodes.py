"""Nodes under old names: nothing is reset, nothing leaves raw."""

import copy
import pickle

import numpy as np
import pytest

import discreet as dp
from discreet.compat.sherpa import (
    AdaptiveDifferentialPrivacy,
    DataNode,
    ExceededPrivacyBudgetError,
    FederatedData,
    GaussianMechanism,
    LaplaceMechanism,
    RandomizedResponseBinary,
    UnprotectedAccess,
    federate_array,
)


def noded():
    node = DataNode()
    node.set_private_data("x", np.array([1.0, 2.0]))
    return node


@pytest.mark.parametrize(("rows", "nodes"), [(10_000, 1_000), (10_000, 10), (49, 49), (10, 3)])
def test_federate_array(rows, nodes):
    assert federate_array(np.arange(rows), nodes).num_nodes() == nodes


def test_queries_need_a_policy_and_a_name():
    node = noded()
    with pytest.raises(ValueError, match="no policy"):
        node.query("x")
    with pytest.raises(ValueError, match="not held"):
        node.query("y")
    with pytest.raises(ValueError, match="no policy"):
        federate_array(np.arange(4), 2).query()


def test_raw_access_is_refused():
    with pytest.raises(ValueError, match="no epsilon is finite"):
        noded().configure_data_access("x", UnprotectedAccess())
    for wrong in (None, 3):
        with pytest.raises(TypeError):
            noded().configure_data_access("x", wrong)
    with pytest.raises(dp.UnsupportedError):
        _ = noded().private_data
    for attempt in (copy.deepcopy, pickle.dumps):
        with pytest.raises(dp.UnsupportedError):
            attempt(noded())


def test_a_new_filter_resets_nothing():
    """The original starts with a fresh history."""
    node = noded()
    for _ in range(4):
        node.configure_data_access("x", AdaptiveDifferentialPrivacy((4, 0), LaplaceMechanism(1, 1)))
        node.query("x")
    with pytest.raises(ExceededPrivacyBudgetError):
        node.query("x")
    node.configure_data_access("x", LaplaceMechanism(1, 0.5))
    with pytest.raises(ExceededPrivacyBudgetError):
        node.query("x")
    node.set_private_data("x", np.array([3.0]))
    with pytest.raises(ExceededPrivacyBudgetError):
        node.query("x")
    assert node.spent("x") == dp.PureDP(4, "replace")


def test_a_wider_filter_does_not_lift_a_narrow_one():
    node = noded()
    for total in (2, 10):
        node.configure_data_access(
            "x", AdaptiveDifferentialPrivacy((total, 0), LaplaceMechanism(1, 1))
        )
        node.query("x")
    with pytest.raises(ExceededPrivacyBudgetError):
        node.query("x")


def test_a_filter_counts_what_came_before():
    node = noded()
    node.configure_data_access("x", LaplaceMechanism(1, 3))
    assert "no limit" in repr(node)
    node.query("x")
    with pytest.raises(ExceededPrivacyBudgetError):
        node.configure_data_access("x", AdaptiveDifferentialPrivacy((2, 0), LaplaceMechanism(1, 1)))
    node.configure_data_access("x", AdaptiveDifferentialPrivacy((4, 0)))
    node.query("x", differentially_private_mechanism=LaplaceMechanism(1, 1))
    assert "epsilon 0 left" in repr(node)
    with pytest.raises(ExceededPrivacyBudgetError):
        node.query("x", differentially_private_mechanism=LaplaceMechanism(1, 1))
    for more in ({}, {"differentially_private_mechanism": UnprotectedAccess()}, {"seed": 3}):
        with pytest.raises(ValueError, match=r"must|know"):
            node.query("x", **more)


def test_no_words_that_a_policy_does_not_know():
    node = noded()
    node.configure_data_access("x", LaplaceMechanism(1, 1))
    with pytest.raises(ValueError, match="no more than a name"):
        node.query("x", differentially_private_mechanism=LaplaceMechanism(1, 1))


def test_binary_average_attack_stops():
    """One guilty bit, coins of ln 4, a budget of 7: five answers."""
    data = FederatedData()
    data.add_data_node(np.array([1]))
    coins = RandomizedResponseBinary(0.8, 0.8, epsilon=np.log(4))
    data.configure_data_access(AdaptiveDifferentialPrivacy((7, 0), coins))
    for _ in range(5):
        data.query()
    with pytest.raises(ExceededPrivacyBudgetError):
        data.query()


def test_each_node_has_an_account_of_its_own():
    data = federate_array(np.arange(4.0), 2)
    data.configure_data_access(GaussianMechanism(1, (1, 1e-5)))
    data[0].query()
    assert data[0].spent() == dp.ApproxDP(1, "1e-5", "replace")
    assert data[1].spent() is None
    data[1].configure_data_access(LaplaceMechanism(1, 1))
    assert len(data.query()) == 2
