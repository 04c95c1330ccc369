"""Everything that the routes do, without the web."""

import threading

import pytest
from tests.curator.payroll import COUNT
from tests.server.running import prepared, weak

from discreet.curator.access import Credential, Person
from discreet.errors import DiscreetError, EngineError, LedgerError
from discreet.server.problems import Problem
from discreet.server.service import Service

OWNER = Credential(Person("olga", "owner", None, None, True, False), None, None)
ALICE = Credential(Person("alice", "analyst", None, None, True, False), None, None)
STRANGER = Credential(Person("zed", "analyst", None, None, True, False), None, None)
AUDITOR = Credential(Person("audrey", "auditor", None, None, True, False), None, None)
SCOPED = Credential(ALICE.person, "k", ("other",))


@pytest.fixture
def service(tmp_path, monkeypatch):
    weak(monkeypatch)
    made = Service(prepared(tmp_path))
    yield made
    made.close()


def test_who_may_ask(service):
    assert service.asker(OWNER) == ""
    assert service.asker(ALICE) == "alice"
    for who in (STRANGER, AUDITOR):
        with pytest.raises(Problem) as caught:
            service.asker(who)
        assert caught.value.kind == "forbidden"


def test_what_is_out_of_scope_is_not_there(service):
    assert list(service.datasets(ALICE)) == ["payroll"]
    assert list(service.datasets(STRANGER)) == []
    assert list(service.datasets(SCOPED)) == []
    with pytest.raises(Problem) as caught:
        service.ask(SCOPED, COUNT, {}, seconds=None, epsilon="0.1")
    assert caught.value.kind == "not_found"
    assert service.accounts(STRANGER) == []


def test_threads_have_curators_of_their_own(service):
    service.warm()
    found, errors = [], []

    def ask(n):
        try:
            question = f"SELECT COUNT(*) AS n FROM payroll WHERE pay < {n}"
            found.append(service.ask(OWNER, question, {}, seconds=None, epsilon="0.01"))
        except DiscreetError as error:
            errors.append(error)

    threads = [threading.Thread(target=ask, args=(n,)) for n in range(100, 116)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert len({record.id for record, _ in found}) == 16
    spent = service.ledger.accounts["staff"].spent
    assert spent.said("pure") == "epsilon 0.16"


def test_a_curator_of_an_old_policy_ends(service):
    holding = service._holding
    with holding.curator() as curator:
        holding.end()
        curator.query("payroll")
    with pytest.raises(EngineError):
        curator._parts["payroll", None].engine.ping()


def test_a_policy_that_the_ledger_does_not_follow_is_refused(tmp_path, monkeypatch):
    weak(monkeypatch)
    path = prepared(tmp_path)
    path.write_text(path.read_text().replace("high = 1000", "high = 10"))
    with pytest.raises(LedgerError, match="follows another version"):
        Service(path)
