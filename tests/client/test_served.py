"""A notebook that moves from a curator in its process to one on a server, by one line."""

import pytest
from tests.server.running import COUNT, prepared, running, weak

import discreet as dp
from discreet.errors import BudgetExceededError, QueryError


@pytest.fixture
def server(tmp_path, monkeypatch):
    weak(monkeypatch)
    with running(prepared(tmp_path)) as made:
        yield made


def story(curator, analyst=None):
    """What a notebook does, with either."""
    who = {} if analyst is None else {"analyst": analyst}
    question = curator.query("payroll").group_by("dept").count(name="n")
    told = [str(curator.price(question, epsilon="0.5")), curator.epsilon_for(COUNT, within=30)]
    record = curator.ask(question, epsilon="0.5", key="monday", **who)
    again = curator.ask(question, epsilon="0.5", key="monday", **who)
    assert record.release == again.release
    stored = curator.record(record.id)
    told += [record.plan, record.cost, stored.release == record.release, record.release.columns]
    made = curator.publish("pay", bins=50, ranges=(0, 1000), epsilon="0.1", key="tuesday", **who)
    assert curator.record(made.id).release == made.release
    assert dp.Published.of(made.release).total().value >= 0
    told += [made.plan, made.cost, made.release.columns]
    told += [account.left.said("pure") for account in curator.accounts("alice").values()]
    for wrong, kind in (("SELECT x FROM payroll", QueryError), (COUNT, BudgetExceededError)):
        with pytest.raises(kind) as caught:
            curator.ask(wrong, epsilon="0.9", **who)
        told.append(str(caught.value))
    return told


def test_one_line_changes(server, tmp_path):
    with dp.connect(server.address, server.keys["alice"]) as curator:
        remote = story(curator)
        assert curator.datasets == ("payroll",)
        assert [one["cost"] for one in curator.releases()] == ["epsilon 0.1", "epsilon 0.5"]
        played = curator.rehearse(COUNT, epsilon="0.5")
        assert len(played.release) == 3
    (tmp_path / "here").mkdir()
    with dp.Curator(_own(tmp_path / "here")) as curator:
        assert story(curator, "alice") == remote


def _own(folder):
    path = prepared(folder)
    dp.Curator.register(path)
    return path


def test_a_key_that_ended_is_told_as_such(server):
    curator = dp.connect(server.address, "dk_000000000000_00")
    with pytest.raises(dp.RemoteError, match="key"):
        curator.ask(COUNT, epsilon=1)
