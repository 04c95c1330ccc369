"""Several real curators, a server, and nodes that are slow, dead or odd."""

import threading
import time
from dataclasses import replace

import pytest
from tests.curator.payroll import POLICY
from tests.server.running import COUNT, prepared, running, weak

import discreet as dp
from discreet.federated import ask_all

TOTAL = "SELECT COUNT(*) AS n FROM payroll"
SUM = "SELECT SUM(pay) AS s FROM payroll"


@pytest.fixture
def curators(tmp_path):
    made = {}
    for name in ("north", "south", "west"):
        (tmp_path / name).mkdir()
        made[name] = dp.Curator(prepared(tmp_path / name))
    yield made
    for one in made.values():
        one.close()


def spent(curator):
    return curator.accounts()["staff"].spent.said("pure")


def test_totals_over_curators(curators):
    """At epsilon 1 the noise of three is within 60 of 1,200 but for a chance below 1e-9."""
    found = ask_all(curators, COUNT, epsilon=1, disjoint=True, seconds=50)
    assert found.complete
    assert found.nodes == ("north", "south", "west")
    assert [row["dept"] for row in found] == ["a", "b", "c"]
    assert abs(sum(row["n"] for row in found) - 1200) < 180
    assert all(row["n_low"] <= row["n"] <= row["n_high"] for row in found)
    assert found.guarantee == dp.PureDP(1)
    alone = found.records["north"].release.intervals["n"][0]
    width = found.rows[0]["n_high"] - found.rows[0]["n_low"]
    assert alone[1] - alone[0] < width < 3 * (alone[1] - alone[0])
    assert {spent(one) for one in curators.values()} == {"epsilon 1"}
    together = ask_all(curators, TOTAL, epsilon="0.5", disjoint=False, seconds=50)
    assert together.guarantee == dp.PureDP("1.5")
    assert "rows from 3 of 3 nodes" in repr(together)


def test_the_same_key_is_charged_once(curators):
    first = ask_all(curators, SUM, epsilon="0.5", disjoint=True, key="monday", seconds=50)
    again = ask_all(curators, SUM, epsilon="0.5", disjoint=True, key="monday", seconds=50)
    assert first.rows == again.rows
    assert first.key == first.records["north"].id == "monday"
    assert spent(curators["north"]) == "epsilon 0.5"


def test_a_finer_question_is_added_up_from_stored_answers(curators):
    """A curator improves a second answer by the first; the sum takes the one with a known law."""
    ask_all(curators, TOTAL, epsilon="0.1", disjoint=True, seconds=50)
    found = ask_all(curators, TOTAL, epsilon=1, disjoint=True, seconds=50)
    assert found.complete
    assert all(not one.release.notes for one in found.records.values())
    assert abs(found.value - 1200) < 180


class Dead:
    """A node that never answers."""

    def __init__(self):
        self.release = threading.Event()

    def query(self, dataset=None):
        self.release.wait(60)
        raise RuntimeError("too late")


class Broken:
    def query(self, dataset=None):
        raise RuntimeError("row 7 of the private table")


class Lying:
    """A node that asks a true curator and changes its answer."""

    def __init__(self, curator, **changes):
        self.curator, self.changes = curator, changes
        self.query = curator.query

    def ask(self, question, /, **price):
        record = self.curator.ask(question, **price)
        return replace(record, release=self._changed(record.release))

    def _changed(self, release):
        for name, value in self.changes.items():
            object.__setattr__(release, name, value)
        return release


NONSENSE = [
    {"columns": ("dept", "other")},
    {"keys": ()},
    {"rows": (("a", float("nan")), ("b", 1), ("c", 2))},
    {"rows": (("a", "7"), ("b", 1), ("c", 2))},
    {"rows": (("a", 1), ("a", 1), ("c", 2))},
    {"rows": ((["a"], 1), ("b", 1), ("c", 2))},
    {"raw": {"n": (float("inf"), 1, 2)}},
    {"raw": {"n": (10**400, 1, 2)}},
    {"intervals": {"n": ((0, float("nan")),) * 3}},
    {"intervals": {"n": ((0, 10**9),) * 3}},
    {"intervals": {}},
    {"guarantee": "none"},
    {"notes": 5},
    {"rows": None},
]


def test_a_node_that_answers_nonsense_is_left_out_and_takes_nobody_along(curators):
    north, south = curators["north"], curators["south"]
    for changes in NONSENSE:
        nodes = {"north": Lying(north, **changes), "south": south}
        found = ask_all(nodes, COUNT, epsilon="0.01", disjoint=True, seconds=50)
        assert (found.nodes, set(found.missing)) == (("south",), {"north"}), changes
        assert [row["dept"] for row in found] == ["a", "b", "c"]


@pytest.mark.slow
def test_slow_dead_and_broken_nodes_are_reported_and_not_waited_for(curators):
    """Those that answer have their answers stored, so that a short time is enough for them."""
    dead = Dead()
    nodes = {**curators, "dead": dead, "broken": Broken()}
    ask_all(curators, TOTAL, epsilon=1, disjoint=True, seconds=50, key="tuesday")
    start = time.monotonic()
    try:
        found = ask_all(nodes, TOTAL, epsilon=1, disjoint=True, seconds=3, key="tuesday")
    finally:
        dead.release.set()
    assert time.monotonic() - start < 30
    assert found.nodes == ("north", "south", "west")
    assert not found.complete
    assert "did not answer within 3 seconds" in found.missing["dead"]
    assert found.key in found.missing["dead"]
    assert found.missing["broken"] == "RuntimeError"
    assert abs(found.value - 1200) < 180


def test_a_node_that_is_late_is_not_asked_any_more(curators):
    """What takes too long to tell its columns is not charged afterwards."""
    slow, north = Dead(), curators["north"]
    asked = []

    class Slow:
        def query(self, dataset=None):
            slow.release.wait(20)
            return north.query(dataset)

        def ask(self, question, /, **price):
            asked.append(question)

    with pytest.raises(dp.RemoteError, match="no node answered"):
        ask_all({"slow": Slow()}, TOTAL, epsilon=1, disjoint=True, seconds="0.2")
    slow.release.set()
    time.sleep(0.5)
    assert asked == []


def test_a_node_without_budget_is_reported(curators):
    curators["south"].ask(SUM, epsilon=3)
    found = ask_all(curators, TOTAL, epsilon="0.5", disjoint=True, seconds=50)
    assert found.nodes == ("north", "west")
    assert found.missing["south"].startswith("BudgetExceededError")


@pytest.mark.parametrize(
    "question",
    ["SELECT AVG(pay) AS m FROM payroll", "SELECT COUNT(*) / 2 AS h FROM payroll",
     "SELECT MEDIAN(pay) AS m FROM payroll", "SELECT nothing FROM payroll"],
)  # fmt: skip
def test_what_cannot_be_added_up_is_refused_before_anybody_is_charged(curators, question):
    with pytest.raises(dp.QueryError):
        ask_all(curators, question, epsilon=1, disjoint=True, seconds=50)
    assert {spent(one) for one in curators.values()} == {"epsilon 0"}


def test_one_curator_under_two_names(curators):
    """It would count its people twice; the second name gets the stored answer."""
    north = curators["north"]
    with pytest.raises(dp.ParameterError, match="two names"):
        ask_all({"a": north, "b": north}, TOTAL, epsilon=1, disjoint=True, key="x", seconds=50)


def test_what_has_to_be_said(curators):
    with pytest.raises(TypeError, match="disjoint"):
        ask_all(curators, TOTAL, epsilon=1)
    for wrong in (
        {"epsilon": 0},
        {},
        {"epsilon": 1, "seconds": 0},
        {"epsilon": 1, "confidence": 2},
    ):
        with pytest.raises(dp.ParameterError):
            ask_all(curators, TOTAL, disjoint=True, **wrong)
    for nodes in ({}, [1], None):
        with pytest.raises(dp.ParameterError, match="nodes"):
            ask_all(nodes, TOTAL, epsilon=1, disjoint=True)
    with pytest.raises(dp.ParameterError, match="SQL"):
        ask_all(curators, 3, epsilon=1, disjoint=True)


def test_a_server_and_curators_here(curators, tmp_path, monkeypatch):
    """One of the nodes runs behind HTTP; its analyst is told by her key."""
    weak(monkeypatch)
    (tmp_path / "east").mkdir()
    with running(prepared(tmp_path / "east", POLICY)) as server:
        with dp.connect(server.address, server.keys["alice"]) as east:
            nodes = {"north": curators["north"], "east": east}
            found = ask_all(nodes, COUNT, epsilon="0.5", disjoint=True, seconds=50)
            assert found.missing == {}
            assert abs(sum(row["n"] for row in found) - 800) < 240
        gone = dp.connect("http://127.0.0.1:9", "dk_000000000000_00", timeout=2, retries=0)
        nodes = {"north": curators["north"], "gone": gone}
        found = ask_all(nodes, TOTAL, epsilon="0.5", disjoint=True, seconds=50)
        assert found.nodes == ("north",)
        assert found.missing["gone"].startswith("RemoteError")
