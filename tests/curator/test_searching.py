"""Searches under a ledger: what they cost, what is taken instead, and what a failure leaves."""

import pytest
from tests.curator.payroll import POLICY, changed, failing, renewed, spent, write_rows

from discreet.curator.curator import Curator
from discreet.curator.ledger.verify import verified
from discreet.errors import NothingFoundError

ROWS = ("max_rows = 2", 'max_rows = "find", find_epsilon = 0.2')
SUM = "SELECT SUM(bonus) AS s FROM payroll"
AVG = "SELECT AVG(bonus) AS s FROM payroll"


@pytest.fixture
def folder(tmp_path):
    """4,000 people, of whom bounds and rows are found at epsilon 0.1 and 0.2."""
    write_rows(tmp_path / "payroll.csv", people=4000)
    changed(tmp_path, ROWS, ("epsilon = 3", "epsilon = 10"), text=POLICY)
    Curator.register(tmp_path / "policy.toml")
    return tmp_path


@pytest.fixture
def curator(folder):
    with Curator(folder / "policy.toml", on_fault=lambda _: None) as made:
        yield made


def nonsense(*_, **__):
    return [{(65,): ("SECRET",), (0,): (None,)}]


def failed(curator, question=SUM, *, run=failing, **more):
    """Ask while the engine fails."""
    engine = type(curator._asking(SUM, None, None, None).engine)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(engine, "run", run)
        return curator.ask(question, epsilon="0.1", **more)


@pytest.mark.parametrize("run", [failing, nonsense, lambda *_, **__: []])
def test_a_failure_is_charged_and_answered_like_any_other_question(curator, run):
    record = failed(curator, run=run, analyst="alice")
    good = curator.ask(SUM, epsilon="0.1", analyst="bob")
    assert spent(curator)["staff@alice"] == spent(curator)["staff@bob"] == "epsilon 0.4"
    assert record.release.guarantee == good.release.guarantee
    assert [x.epsilon for x in record.release.losses] == [x.epsilon for x in good.release.losses]
    assert len(record.release) == len(good.release)
    assert len(record.release.notes) == len(good.release.notes)
    bounds, rows = record.release.notes[:2]
    assert "bounds of bonus not found" in bounds
    assert "instead 1 to 1000000, which says nothing of the data" in bounds
    assert "instead at most 1 count" in rows
    assert "SECRET" not in record.to_json()


def test_what_was_given_stays_and_is_charged_once(curator):
    """Like every answer: whoever asks again must not see, by a charge, that it failed."""
    first = failed(curator, analyst="alice")
    assert spent(curator)["staff@alice"] == "epsilon 0.4"
    assert curator.ask(SUM, epsilon="0.1", analyst="alice") == first
    second = curator.ask(AVG, epsilon="0.1", analyst="alice")
    assert second.release.notes[:2] == first.release.notes[:2]
    assert spent(curator)["staff@alice"] == "epsilon 0.5"


def test_another_search_is_paid_and_kept(curator):
    first = failed(curator, analyst="alice")
    record = curator.ask(SUM, epsilon="0.1", analyst="alice", search_again=True, key="k")
    assert record.release.notes[0].startswith("bounds of bonus found: ")
    assert spent(curator)["staff@alice"] == spent(curator)["staff"] == "epsilon 0.8"
    assert curator.ask(AVG, epsilon="0.1", analyst="alice").release.notes == record.release.notes
    assert curator.ask(SUM, epsilon="0.1", analyst="alice") == record
    assert first.release.notes != record.release.notes
    assert spent(curator)["staff@alice"] == "epsilon 0.9"
    verified(curator.ledger)


def test_a_key_is_searched_for_once(curator):
    """The same asking again, also after another one has searched again."""
    first = curator.ask(SUM, epsilon="0.05", analyst="alice", search_again=True, key="a")
    second = curator.ask(SUM, epsilon="0.05", analyst="alice", search_again=True, key="b")
    told = spent(curator)
    assert told["staff@alice"] in ("epsilon 0.65", "epsilon 0.7")  # the bounds may be the same
    assert curator.ask(SUM, epsilon="0.05", analyst="alice", search_again=True, key="a") == first
    assert curator.ask(SUM, epsilon="0.05", analyst="alice", search_again=True, key="b") == second
    assert curator.ask(SUM, epsilon="0.05", analyst="alice", key="a") == first
    assert spent(curator) == told
    verified(curator.ledger)


def test_a_question_that_waits_keeps_the_search_that_it_had(curator, monkeypatch):
    """It was charged under that search: under a later one it would be another question."""

    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Curator, "_made", interrupted)
        with pytest.raises(KeyboardInterrupt):
            curator.ask(SUM, epsilon="0.1", analyst="alice", key="k")
    assert spent(curator)["staff@alice"] == "epsilon 0.4"
    curator.ask(AVG, epsilon="0.1", analyst="alice", search_again=True)
    assert spent(curator)["staff@alice"] == "epsilon 0.8"
    for again in (False, True):
        record = curator.ask(SUM, epsilon="0.1", analyst="alice", key="k", search_again=again)
        assert record.id.startswith("k-")
        assert spent(curator)["staff@alice"] == "epsilon 0.8"
    assert not curator.ledger.pending
    verified(curator.ledger)


def test_a_failed_search_serves_others_as_any_other(curator):
    """An owner is told that nothing was found, as of any empty table."""
    failed(curator, analyst="alice")
    notes = curator.ask(SUM, epsilon="0.1", analyst="bob").release.notes
    assert "bounds of bonus not found" in notes[0]
    assert spent(curator)["staff"] == spent(curator)["staff@bob"] == "epsilon 0.4"
    with pytest.raises(NothingFoundError, match=r"bonus.*declare them"):
        curator.ask(SUM, epsilon="0.1")
    assert spent(curator)["staff"] == "epsilon 0.4"
    verified(curator.ledger)


def test_nothing_found_goes_on_for_an_analyst_and_is_told_an_owner(folder):
    renewed(folder, "id,dept,pay,bonus\n1,a,5,\n")
    with Curator(folder / "policy.toml") as curator:
        record = curator.ask(AVG, epsilon="0.1", analyst="alice")
        assert "not found" in record.release.notes[0]
        assert spent(curator)["staff@alice"] == "epsilon 0.4"
        entries = curator.ledger.head.seq
        curator.ask(SUM, epsilon="0.1", analyst="alice")
        assert curator.ledger.head.seq == entries + 2  # it looked at data, and is not done again
        with pytest.raises(NothingFoundError, match=r"bonus.*declare them"):
            curator.ask(AVG, epsilon="0.1")
