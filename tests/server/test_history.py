"""Views of the log cost the same in a ledger of any age, and say the same as the whole of it."""

import pytest
from tests.server.page.visiting import text, visitor
from tests.server.running import COUNT, running, weak

from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.listing import lines_of
from discreet.curator.ledger.spending import spending
from discreet.server import history
from discreet.server.history import entries_after, entries_before, lately_spent, newest


@pytest.fixture
def server(folder, monkeypatch):
    """Without deadlines: a busy machine fails no question."""
    weak(monkeypatch)
    with running(folder / "policy.toml", deadlines=(20,), padded=False) as made:
        yield made


def older(ledger, many):
    """So many entries more, in one transaction."""
    told = {"act": "note", "what": "signed in", "who": "olga", "more": {}, "at": "2024-01-01"}
    with ledger.writing() as on:
        for i in range(many):
            on.append("access", {**told, "more": {"time": i}})


def asked(server, many=4):
    for i in range(many):
        who = ("alice", "bob")[i % 2]
        assert server.ask(f"{COUNT} HAVING n > {i}", epsilon="0.05", who=who).status == 200


def test_pages_say_what_the_whole_log_says(server, monkeypatch):
    asked(server)
    ledger = server.service.ledger
    accounts = list(ledger.accounts.values())
    whole = lines_of(ledger.entries(), accounts, everything=True)[::-1]
    monkeypatch.setattr(history, "_AT_ONCE", 5)
    for most in (1, 3, 100):
        found, before = [], None
        for _ in range(len(whole) + 2):
            page, before = newest(ledger, lambda _: True, most=most, before=before, everything=True)
            assert len(page) <= most
            found += page
            if before is None:
                break
        assert found == whole


def test_what_was_paid_is_nothing_for_the_own_answer_again(server):
    """Of an allowance; bob pays for what alice was given, so that he cannot know of her."""
    for who, key in (("alice", "a"), ("alice", "b"), ("bob", "c"), ("olga", "d")):
        assert server.ask(f"{COUNT} HAVING n > 7", epsilon="0.05", who=who, key=key).status == 200
    for who, paid in (("alice", ["", "epsilon 0.05"]), ("bob", ["epsilon 0.05"])):
        listed = [one for one in server.get("/api/releases", who=who).json["releases"]
                  if one["sql"].endswith("> 7")]  # fmt: skip
        assert [one["paid"] for one in listed] == paid
        assert {one["cost"] for one in listed} == {"epsilon 0.05"}
        assert not any("entry" in one for one in listed)
    everybody = server.get("/api/releases", who="olga").json["releases"][:4]
    assert [one["paid"] for one in everybody] == ["", "epsilon 0.05", "", "epsilon 0.05"]


def test_states_are_looked_up(server, monkeypatch):
    """Answered, waiting, failed, and a stored answer, however far the end of each is away."""
    from tests.curator.payroll import failing

    from discreet.engines.duckdb import DuckDB

    asked(server, 1)
    server.ask(f"{COUNT} HAVING n > 0", epsilon="0.05", who="bob")
    with monkeypatch.context() as broken:
        broken.setattr(DuckDB, "run", failing)
        server.ask("SELECT SUM(pay) AS s FROM payroll", epsilon="0.05")
    with monkeypatch.context() as lost:
        lost.setattr(Ledger, "storing", lambda *_, **__: (_ for _ in ()).throw(OSError("gone")))
        assert server.ask("SELECT AVG(pay) AS m FROM payroll", epsilon="0.05").status == 500
    ledger = server.service.ledger
    whole = lines_of(ledger.entries(), list(ledger.accounts.values()))[::-1]
    page, _ = newest(ledger, lambda one: bool(one.release), most=50)
    assert page == [one for one in whole if one.release]
    assert [one.state for one in page] == ["waiting", "failed", "stored answer", "answered"]


def test_what_was_spent_is_counted_back_from_the_accounts(server):
    asked(server)
    server.ask(epsilon="0.5", who="olga")
    ledger = server.service.ledger
    accounts = list(ledger.accounts.values())
    whole = spending(ledger.entries(), accounts)
    assert lately_spent(ledger, accounts).steps == whole
    some = lately_spent(ledger, accounts, most=6)
    assert some.since
    mine = [step for step in whole if step.at >= some.since or step.name != "owner"]
    for step in some.steps:
        assert step in mine or step.name == "owner"
    last = {(step.of, step.name): step.spent for step in some.steps}
    assert last["family", "staff"] == ledger.accounts["staff"].spent
    assert last["asker", "bob"] == ledger.accounts["staff@bob"].spent


def test_entries_from_both_ends(server):
    ledger = server.service.ledger
    every = list(ledger.entries())
    assert entries_after(ledger, 2, 3) == every[2:5]
    assert entries_before(ledger, 5, 2) == every[2:4]
    assert entries_before(ledger, None, 10**6) == every
    told = server.get("/api/ledger?before=5&limit=2", who="audrey").json["entries"]
    assert [one["entry"] for one in told] == [3, 4]
    assert server.get("/api/ledger?before=-1", who="audrey").status == 422


VIEWS = ("/overview", "/ledger", "/ledger?kind=questions&by=alice", "/ledger?kind=people")


def test_the_cost_of_a_view_does_not_grow_with_the_ledger(server, monkeypatch):
    """By the rows that are read: of 100 entries, of 10,000, of 20,000."""
    asked(server)
    older(server.service.ledger, 100)
    olga = visitor(server, "olga")
    read = []
    inner = Ledger.glance

    def counted(ledger, statement, /, **values):
        rows = inner(ledger, statement, **values)
        read.append(len(rows))
        return rows

    def everything(*_):
        pytest.fail("the whole log is read")

    monkeypatch.setattr(Ledger, "glance", counted)
    monkeypatch.setattr(Ledger, "entries", everything)
    monkeypatch.setattr(Ledger, "everything", everything)
    seen = []
    for _ in range(3):
        seen.append([])
        for view in VIEWS:
            read.clear()
            assert olga.get(view).status == 200
            seen[-1].append(sum(read))
        older(server.service.ledger, 10_000)
    small, large, larger = seen
    assert all(one > 100 for one in small)
    assert max(large) <= 2 * history.LOOKED_AT + 100
    assert larger == large


def test_who_finds_little_is_told_where_to_look_on(server):
    asked(server)
    older(server.service.ledger, history.LOOKED_AT)
    page = text(visitor(server, "olga").get("/ledger?kind=questions"))
    assert "there are older ones" in page
    rest = page.partition('<a class="button quiet" href="/ledger?')[2].partition('"')[0]
    following = text(visitor(server, "olga").get("/ledger?" + rest.replace("&amp;", "&")))
    assert following.count("about payroll") == 4
    lately = text(visitor(server, "olga").get("/overview"))
    assert "Show everything" in lately
    assert "Nothing was spent since" in lately
    assert "Show everything" not in text(visitor(server, "olga").get("/overview?history=all"))
