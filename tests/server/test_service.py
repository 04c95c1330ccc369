"""Everything that the routes do, without the web."""

import threading
import time
from dataclasses import replace
from types import SimpleNamespace

import pytest
from tests.curator.payroll import COUNT
from tests.curator.test_free import counted
from tests.server.running import prepared, weak

from discreet.curator.access import Credential, Person
from discreet.errors import DiscreetError, EngineError, LedgerError
from discreet.server import service as module
from discreet.server.policies import edit
from discreet.server.problems import Problem
from discreet.server.service import Service

OWNER = Credential(Person("olga", "owner", None, None, True, False), None, None)
ALICE = Credential(Person("alice", "analyst", None, None, True, False), None, None)
BOB = Credential(Person("bob", "analyst", None, None, True, False), None, None)
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
        service.ask(SCOPED, COUNT, {}, epsilon="0.1")
    assert caught.value.kind == "not_found"
    assert service.accounts(STRANGER) == []


def test_threads_have_curators_of_their_own(service):
    service.warm()
    found, errors = [], []

    def ask(n):
        try:
            question = f"SELECT COUNT(*) AS n FROM payroll WHERE pay < {n}"
            found.append(service.ask(OWNER, question, {}, epsilon="0.01"))
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
    with holding.curator("alice") as curator:
        holding.end()
        curator.query("payroll")
    with pytest.raises(EngineError):
        curator._parts["payroll", None].engine.ping()


def test_who_asked_before_is_given_the_curator_that_remembers_it(service):
    """And others the one that rests longest: it remembers what was asked longest ago."""
    service.warm()
    holding = service._holding
    with holding.curator("alice") as hers, holding.curator("bob") as his:
        assert hers is not his
    for _ in range(3):
        with holding.curator("alice") as one, holding.curator("bob") as other:
            assert (one, other) == (hers, his)
        with holding.curator("bob") as one:
            assert one is his
    with holding.curator("carol") as one:
        assert one not in (hers, his)


@pytest.mark.parametrize(
    "does",
    [
        lambda service, who: service.ask(who, COUNT, {}, epsilon="0.01"),
        lambda service, who: service.reads(who, COUNT, {}),
        lambda service, who: service.rehearse(who, COUNT, {}, epsilon="0.1"),
    ],
    ids=["ask", "reads", "rehearse"],
)
def test_what_others_ask_makes_nothing_faster(service, does):
    """Also where they are given the same curator."""
    service.warm()
    del service._holding._free[1:]
    efforts = []
    for who in (BOB, ALICE, ALICE):
        with counted() as done:
            does(service, who)
        efforts.append(list(done))
    assert efforts[0] == efforts[1] != []
    assert len(efforts[2]) < len(efforts[0])
    assert len(service._holding._free) == 1


def test_a_policy_that_the_ledger_does_not_follow_is_refused(tmp_path, monkeypatch):
    weak(monkeypatch)
    path = prepared(tmp_path)
    path.write_text(path.read_text().replace("high = 1000", "high = 10"))
    with pytest.raises(LedgerError, match="follows another version"):
        Service(path)


def test_nothing_of_an_old_policy_is_kept(service):
    service.rehearse(ALICE, COUNT, {}, epsilon="0.1")
    assert len(service._rehearsals) == 1
    edit(service, lambda text: text.replace('version = "2024"', 'version = "2025"'), by="olga")
    assert len(service._rehearsals) == 0


def test_a_policy_that_another_process_changed_is_noticed(service):
    """By the next key that is shown; by who waited for a while; and else by the charge."""
    service.warm()
    service.access.add("alice", "analyst", by="olga")
    key = service.access.make_key("alice", by="olga")
    before = service.access.by_key(key)
    assert before.policy == service.policy.fingerprint
    other = Service(service.path)
    edit(other, lambda text: text.replace('version = "2024"', 'version = "2025"'), by="olga")
    other.close()
    spent = service.ledger.accounts
    just = replace(before, seen=time.monotonic() + 60)
    with pytest.raises(LedgerError, match=r"another version of the policy.*Nothing was charged"):
        service.ask(just, COUNT, {}, epsilon="0.1")
    assert service.ledger.accounts == spent
    late = replace(before, seen=time.monotonic() - 1)
    assert service.ask(late, COUNT, {}, epsilon="0.1")[0].data_version == "2025"
    after = service.access.by_key(key)
    assert after == before
    assert after.policy == service.policy.fingerprint != before.policy
    assert service.ask(after, COUNT, {}, epsilon="0.1")[0].data_version == "2025"


def test_what_is_out_of_scope_takes_no_place_on_a_page(service, monkeypatch):
    for n in range(7):
        service.ask(ALICE, f"SELECT COUNT(*) AS n FROM payroll WHERE pay < {n + 5}", {},
                    epsilon="0.01", key=f"k{n}")  # fmt: skip
    every, _ = service.releases(ALICE, limit=200, before=None)
    seen = {one["key"] for one in every[::3]}
    monkeypatch.setattr(module, "_LOOKED_AT", 2)
    real = module.released

    def marked(*given, **more):
        found, following = real(*given, **more)
        return [{**one, "dataset": one["key"]} for one in found], following

    monkeypatch.setattr(module, "released", marked)
    monkeypatch.setattr(service, "record", lambda _, key: SimpleNamespace(id=key))
    narrow = Credential(ALICE.person, "k", tuple(seen))
    for limit in (1, 2, 3, 5):
        listed, before, pages = [], None, 0
        while pages == 0 or before is not None:
            found, before = service.releases(narrow, limit=limit, before=before)
            assert len(found) <= limit
            assert found or before is None
            assert before in (None, found[-1]["key"])  # no number, and only if there is more
            listed += [one["key"] for one in found]
            pages += 1
        assert listed == [one["key"] for one in every[::3]]
    everything, before = service.releases(ALICE, limit=7, before=None)
    assert (len(everything), before) == (7, None)


def test_who_is_limited_to_some_datasets_sees_no_number_of_the_ledger(service):
    """Whatever others ask elsewhere: the pages of a narrow auditor are the same."""
    for n in range(3):
        service.ask(ALICE, f"SELECT COUNT(*) AS n FROM payroll WHERE pay < {n + 5}", {},
                    epsilon="0.01", key=f"k{n}")  # fmt: skip
    auditor = replace(ALICE.person, name="audrey", role="auditor")
    narrow, wide = Credential(auditor, "k", ("payroll",)), Credential(auditor, "k", None)
    first, following = service.releases(narrow, limit=2, before=None)
    assert following == first[-1]["key"]
    assert "entry" not in first[0]
    assert "entry" in service.releases(wide, limit=2, before=None)[0][0]
    assert service.record(narrow, following).entry == 0 < service.record(wide, following).entry
    rest, end = service.releases(narrow, limit=2, before=following)
    assert (len(rest), end) == (1, None)
    elsewhere = Credential(auditor, "k", ("other",))
    assert service.releases(elsewhere, limit=2, before=None) == ([], None)
    for wrong in (following, "nothing", "3"):
        with pytest.raises(Problem, match="there is no release"):
            service.releases(elsewhere, limit=2, before=wrong)
    with pytest.raises(Problem, match="before must be"):
        service.releases(wide, limit=2, before=following)
