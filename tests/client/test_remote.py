"""A curator elsewhere: the same questions, answers and refusals as in this process."""

import json
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pytest
from tests.client.fake import KEY, Api, serving
from tests.client.test_wire import Slept
from tests.curator.payroll import COUNT, POLICY, SUM, spent, write_rows

import discreet as dp
from discreet.client.remote import Remote, _priced, _sql, connect
from discreet.client.wire import Wire
from discreet.curator.curator import Curator
from discreet.curator.ledger.verify import verified
from discreet.curator.metadata import schema_from
from discreet.curator.rehearsal import NOTE
from discreet.errors import (
    BudgetExceededError,
    LedgerError,
    ParameterError,
    QueryError,
    RemoteError,
)
from discreet.query.build import Query
from discreet.query.schema import Bounds, FindBounds, Keys, PerRow, Schema
from discreet.query.sql import parse

BLOCK = """
[dataset.payroll.block.q1]
source = "payroll.csv"
version = "q1"
people = "shared"
"""


@pytest.fixture
def curator(tmp_path):
    write_rows(tmp_path / "payroll.csv")
    # 240 people are in the largest bin, 19 have to be: missed with a chance of exp(-110)
    surely = POLICY.replace("find = true, epsilon = 0.1", "find = true, epsilon = 0.5")
    (tmp_path / "policy.toml").write_text(surely + BLOCK)
    Curator.register(tmp_path / "policy.toml")
    with Curator(tmp_path / "policy.toml") as made:
        yield made
        verified(made.ledger)


@pytest.fixture
def fake(curator):
    with serving(Api(curator)) as made:
        yield made


def remote_to(fake, **more):
    return Remote(Wire(fake.url, KEY, **{"timeout": 20, "sleep": Slept(), **more}))


@pytest.fixture
def remote(fake):
    return remote_to(fake)


def test_it_is_public():
    made = dp.connect("https://data.example.org", KEY)
    assert isinstance(made, dp.Remote)
    assert dp.connect is connect
    assert repr(made) == "<Remote curator at https://data.example.org>"
    assert KEY not in repr(vars(made))
    with dp.connect("http://127.0.0.1:1", KEY, retries=0, timeout=1) as made:
        pass
    with pytest.raises(RemoteError, match="closed"):
        made.accounts()
    with pytest.raises(ParameterError, match="https"):
        dp.connect("http://data.example.org", KEY)


# the same as in this process


def test_an_answer_is_the_stored_record(curator, remote, fake):
    record = remote.ask(COUNT, epsilon="0.25", key="first")
    (stored,) = [e.values()["key"] for e in curator.ledger.entries() if e.kind == "done"]
    assert record == curator.record(stored) == remote.record(stored)
    assert record.analyst == "alice"
    assert spent(curator)["staff"] == "epsilon 0.25"
    assert remote.ask(COUNT, epsilon="0.25", key="first") == record
    assert spent(curator)["staff"] == "epsilon 0.25"
    assert fake.askings == ["first", None, "first"]


def test_prices_travel_exactly(remote, fake):
    remote.ask(COUNT, epsilon=0.1, dataset="payroll", block=None)
    remote.ask(COUNT, epsilon=Fraction(1, 7), delta=Decimal("1e-9"), key="k")
    remote.ask("SELECT AVG(pay) AS m FROM payroll", within=90, rows="300", column="m", deadline=10)
    bodies = [one.body for one in fake.seen]
    assert bodies[0] == {"question": COUNT, "dataset": "payroll", "epsilon": "1/10"}
    assert (bodies[1]["epsilon"], bodies[1]["delta"]) == ("1/7", "1/1000000000")
    assert bodies[2]["within"] == "90"
    assert (bodies[2]["rows"], bodies[2]["column"], bodies[2]["deadline"]) == ("300", "m", 10)
    keys = fake.askings
    assert len({keys[0], keys[2]}) == 2
    assert len(keys[0]) == 32
    with pytest.raises(ParameterError, match="epsilon"):
        remote.ask(COUNT, epsilon=float("nan"))
    with pytest.raises(TypeError, match="magic"):
        remote.explain(COUNT, magic=1)
    assert len(fake.seen) == 3


FREE = [COUNT, SUM, "SELECT AVG(pay) AS m, MEDIAN(pay) AS d FROM payroll"]


@pytest.mark.parametrize("sql", FREE)
def test_what_is_free_is_the_same(curator, remote, sql):
    for price in ({"epsilon": 1}, {"epsilon": "0.3", "delta": "1e-6"}, {}):
        assert remote.price(sql, **price) == curator.price(sql, **price)
        words = curator.explain(sql, **price)
        assert remote.explain(sql, **price) == words.partition("\nStatement")[0]
    assert spent(curator)["staff"] == "epsilon 0"


def test_the_price_of_an_accuracy(curator, remote):
    found = remote.epsilon_for(COUNT, within=20)
    assert isinstance(found, Decimal)
    assert found == curator.epsilon_for(COUNT, within=20)
    with pytest.raises(ParameterError, match="within"):
        remote.epsilon_for(COUNT)


FLUENT = [
    lambda q: q.group_by("dept").count(name="n"),
    lambda q: q.where("pay > 500 AND dept <> 'a'").mean("pay").people(),
    lambda q: q.histogram("pay", bins=4),
    lambda q: q.group_by("dept", keys=["a", "c"], other=True).median("pay").limit(2),
]


@pytest.mark.parametrize("ask", FLUENT)
def test_fluent_questions_and_plans(curator, remote, fake, ask):
    here, there = ask(curator.query()), ask(remote.query())
    assert there.plan == here.plan
    assert remote.price(there, epsilon=1) == curator.price(here, epsilon=1)
    record = remote.ask(there, epsilon="0.2")
    assert record.plan == here.to_sql()
    assert fake.seen[-1].body["dataset"] == "payroll"
    again = remote.ask(there.plan, epsilon="0.2")
    assert again.release.rows == record.release.rows
    assert remote.rehearse(there, epsilon=1).release.notes[0] == NOTE


def test_a_plan_of_another_table_is_refused_here(remote):
    schema = Schema("payroll", PerRow(), {"pay": Bounds(0, 10)}, {})
    with pytest.raises(QueryError, match="not one of this table"):
        remote.ask(parse("SELECT SUM(pay) FROM payroll", schema), epsilon=1)
    with pytest.raises(ParameterError, match="question"):
        remote.ask(7, epsilon=1)


def test_bounds_that_have_to_be_found(curator, remote):
    """The fluent form says the same as SQL; SQL that depends on unknown bounds is refused."""
    query = remote.query("payroll").where("bonus > 2.5").sum("bonus", name="s")
    assert isinstance(query.schema.columns["bonus"], FindBounds)
    record = remote.ask(query, epsilon="0.3", key="a")
    sql = "SELECT SUM(bonus) AS s FROM payroll WHERE bonus > 2.5"
    assert remote.ask(sql, epsilon="0.3", key="b").release.rows == record.release.rows
    assert any("bounds of bonus found" in note for note in record.release.notes)
    assert isinstance(schema_from(remote.metadata("payroll")).columns["bonus"], FindBounds)
    assert "bounds of bonus found" in str(remote.rehearse(sql, epsilon=1).release.notes)
    with pytest.raises(QueryError, match="still to be found"):
        query.histogram("bonus")


def test_what_another_search_would_cost_is_asked_for(remote, fake):
    remote.explain(COUNT, epsilon="0.1", search_again=True)
    assert fake.seen[-1].body["search_again"] is True
    remote.explain(COUNT, epsilon="0.1")
    assert "search_again" not in fake.seen[-1].body


UNKNOWN = Schema("t", PerRow(), {"x": FindBounds(Fraction(1)), "g": Keys([1, 2])}, {})
MEANT = {
    "AVG(x)": lambda q: q.mean("x"),
    "FLOOR(x)": lambda q: q.sum("FLOOR(x)"),
    "ABS(x)": lambda q: q.where("ABS(x) > 3.5").count(),
    "ROUND(x, 3)": lambda q: q.sum("ROUND(x, 3)"),
    "LN(x)": lambda q: q.sum("LN(x)"),
    "PRODUCT(x)": lambda q: q.product("x"),
    "FLOOR(x / 100)": lambda q: q.group_by("FLOOR(x / 100) * 100 AS h").count(),
    "x * x": lambda q: q.sum("x * x"),
    "GROUP BY g": lambda q: q.group_by("g").count(),
}
FOUND = [Bounds(1, 512, 1), Bounds(-64, 1024, "1/1024"), Bounds("1/2048", 8, "1/2048"),
         Bounds(-(1 << 30), 1 << 31, 4096)]  # fmt: skip


@pytest.mark.parametrize(("words", "ask"), MEANT.items(), ids=MEANT)
def test_a_query_means_the_same_whatever_bounds_are_found(words, ask):
    query = ask(Query(UNKNOWN))
    sql = _sql(query)
    assert words in sql
    for bounds in FOUND:
        found = replace(UNKNOWN, columns={**UNKNOWN.columns, "x": bounds})
        try:
            meant = query.with_schema(found).plan
        except QueryError:
            with pytest.raises(QueryError):
                parse(sql, found)
        else:
            assert parse(sql, found) == meant


def test_a_query_whose_meaning_depends_on_unknown_bounds_is_refused():
    with pytest.raises(QueryError, match=r"still to be found, of x; write it in SQL"):
        _sql(Query(UNKNOWN).sum("CAST(x AS INTEGER)"))
    with pytest.raises(QueryError, match="no column"):
        _sql(Query(UNKNOWN).mean("nothing"))
    known = replace(UNKNOWN, columns={"x": Bounds(1, 99), "g": Keys([1, 2])})
    with pytest.raises(QueryError):
        _sql(Query(known).histogram("x", bins=7).with_schema(UNKNOWN))


REFUSED = {
    "query": ("SELECT COUNT(*) FROM payroll WHERE x = 1", {"epsilon": 1}),
    "price": (COUNT, {"epsilon": "0"}),
    "budget": (COUNT, {"epsilon": "1.5"}),
    "two prices": (COUNT, {"epsilon": "1", "within": "2"}),
    "block": (COUNT, {"epsilon": 1, "block": "q9"}),
    "key": (COUNT, {"epsilon": 1, "key": "a b"}),
    "key and rest": (COUNT, {"epsilon": 1, "key": "a", "with_what_is_left": True}),
}


@pytest.mark.parametrize(("sql", "how"), REFUSED.values(), ids=REFUSED)
def test_refusals_are_the_same(curator, remote, sql, how):
    found = []
    for asker, who in ((curator, {"analyst": "alice"}), (remote, {})):
        with pytest.raises((QueryError, ParameterError, BudgetExceededError)) as refused:
            asker.ask(sql, **how, **who)
        found.append((type(refused.value), str(refused.value)))
        could = getattr(refused.value, "could", None)
        found[-1] += (could,)
    assert found[0] == found[1]


def test_one_key_for_two_questions(remote):
    remote.ask(COUNT, epsilon="0.1", key="k")
    with pytest.raises(LedgerError, match="belongs to another question"):
        remote.ask(SUM, epsilon="0.1", key="k")


def test_with_what_is_left(remote, fake, curator):
    record = remote.ask(COUNT, epsilon=2, with_what_is_left=True)
    assert record.cost == "epsilon 1"
    assert fake.askings == [None]
    assert remote.accounts()["staff@alice"].left.value() == 0


def test_accounts(curator, remote, fake):
    remote.ask(COUNT, epsilon="0.3", delta=None)
    (account,) = remote.accounts().values()
    mine = curator.accounts("alice")["staff@alice"]
    assert (account.name, account.total, account.spent) == (mine.name, mine.total, mine.spent)
    assert account.left == mine.left
    assert account.left.said("pure") == "epsilon 0.7"
    fake.api.who = "owner"
    assert set(remote.accounts()) == {"staff", "staff@alice", "staff@bob"}
    assert set(remote.accounts("bob")) == {"staff@bob"}


def test_who_asks_is_the_owner_of_the_key(remote, fake):
    assert remote.ask(COUNT, epsilon="0.1", analyst="alice").analyst == "alice"
    with pytest.raises(ParameterError, match="whose key this is: alice"):
        remote.ask(COUNT, epsilon="0.1", analyst="bob")
    assert [one.path for one in fake.seen] == ["/api/me", "/api/ask"]


def test_datasets_and_blocks(remote):
    assert remote.datasets == ("payroll",)
    assert remote.query(block="q1").schema.name == "payroll"
    with pytest.raises(QueryError, match=r"'payroll' has no block 'q2'; there are: q1"):
        remote.query("payroll", block="q2")
    with pytest.raises(QueryError, match="nothing here"):
        remote.query("elsewhere")
    assert remote.ask(COUNT, epsilon="0.1", block="q1").block == "q1"


def test_releases_are_fetched_page_by_page(remote, fake, monkeypatch):
    monkeypatch.setattr("discreet.client.remote._PAGE", 2)
    keys = [remote.ask(COUNT, epsilon=f"0.0{i}").id for i in range(1, 6)]
    fake.seen.clear()
    assert [one["key"] for one in remote.releases()] == keys[::-1]
    assert len(fake.seen) == 3
    assert [one["key"] for one in remote.releases(3)] == keys[:1:-1]
    assert next(remote.releases())["key"] == keys[-1]
    assert list(remote.releases(0)) == []
    with pytest.raises(ParameterError, match="is not stored here"):
        remote.record("nonsense/../x")


def test_a_rehearsal_costs_nothing(curator, remote):
    record = remote.rehearse(COUNT, epsilon=1, block="q1")
    assert (record.data_version, record.block, record.entry) == ("rehearsal", "q1", 0)
    assert record.release["dept"] == ["a", "b", "c"]
    assert spent(curator)["staff"] == "epsilon 0"


# a server that misbehaves


STEPS = ["close", "reset", "half", (503, {}), (429, {}), "serve then close"]


@pytest.mark.parametrize("step", STEPS, ids=str)
def test_a_question_that_is_sent_again_is_charged_once(curator, fake, step):
    fake.script = [step, step]
    record = remote_to(fake).ask(COUNT, epsilon="0.2")
    assert len(set(fake.askings)) == 1
    assert len(fake.seen) == 3
    assert spent(curator)["staff"] == "epsilon 0.2"
    assert sum(e.kind == "done" for e in curator.ledger.entries()) == 1
    assert curator.record(record.id) == record


def test_a_question_that_was_given_up_can_be_asked_again(curator, fake):
    fake.script = ["serve then close"] * 3
    with pytest.raises(RemoteError) as lost:
        remote_to(fake, retries=2).ask(COUNT, epsilon="0.2")
    assert f"key={lost.value.key!r}" in str(lost.value)
    assert spent(curator)["staff"] == "epsilon 0.2"
    remote_to(fake).ask(COUNT, epsilon="0.2", key=lost.value.key)
    assert spent(curator)["staff"] == "epsilon 0.2"


def test_what_is_left_is_not_asked_for_twice(curator, fake):
    fake.script = ["serve then close"]
    with pytest.raises(RemoteError, match="releases"):
        remote_to(fake).ask(COUNT, epsilon="0.2", with_what_is_left=True)
    assert len(fake.seen) == 1
    assert spent(curator)["staff"] == "epsilon 0.2"


NONSENSE = [{}, {"schema": "x"}, {"datasets": 7}, {"columns": [7], "confidence": "2"}]


@pytest.mark.parametrize("values", NONSENSE, ids=str)
def test_answers_of_another_form_are_told_from_refusals(values):
    calls = [
        lambda r: r.ask(COUNT, epsilon=1),
        lambda r: r.rehearse(COUNT, epsilon=1),
        lambda r: r.explain(COUNT, epsilon=1),
        lambda r: r.price(COUNT, epsilon=1),
        lambda r: r.epsilon_for(COUNT, within=1),
        lambda r: r.query("payroll"),
        lambda r: r.datasets,
        lambda r: r.accounts(),
        lambda r: r.record("x"),
        lambda r: list(r.releases()),
        lambda r: r.ask(COUNT, analyst="alice"),
    ]
    for call in calls:
        with serving(None, (200, values)) as fake, pytest.raises(RemoteError) as refused:
            call(remote_to(fake))
        assert refused.value.kind == "unreadable"


def test_what_the_server_adds_to_a_record_is_left_out(remote, fake, curator):
    told = curator.ask(COUNT, epsilon="0.1").to_dict()
    fake.script = [(200, {**told, "padding": "x" * 50, "rehearsal": False})]
    assert remote.ask(COUNT, epsilon="0.1").to_dict() == told
    fake.script = [(200, {**told, "release": {**told["release"], "rows": [["a"]]}})]
    with pytest.raises(RemoteError, match="form"):
        remote.ask(COUNT, epsilon="0.1")


def test_metadata_say_everything_that_a_program_needs(remote, fake):
    told = remote.metadata("payroll")
    assert fake.seen[-1].path == "/api/datasets/payroll?keys=all"
    assert json.loads(json.dumps(told)) == told
    assert [one["name"] for one in told["columns"]] == ["dept", "pay", "bonus"]


def test_numbers_are_sent_as_they_were_typed():
    """What is text stays text, however long it would be as a fraction; what is none is refused."""
    said = _priced({"epsilon": "1e400", "delta": 0.1, "rho": None, "rows": 3, "column": "n"})
    assert said == {"epsilon": "1e400", "delta": "1/10", "rho": None, "rows": "3", "column": "n"}
    with pytest.raises(ParameterError, match="epsilon"):
        _priced({"epsilon": "one"})
