"""A rehearsal: the form of a real answer, from made-up rows; no data, no charge."""

import json
import sqlite3
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from tests.curator.payroll import COUNT, SUM, failing, spent, write_rows
from tests.curator.policy.example import policy as example
from tests.curator.test_free import counted
from tests.curator.test_metadata import QUESTIONS, STORAGE, UNITS, data, owned

from discreet.curator import bind
from discreet.curator import rehearsal as rehearsing
from discreet.curator.made_up import made_up
from discreet.curator.policy.model import Defaults
from discreet.curator.published import Published
from discreet.curator.record import Record
from discreet.curator.rehearsal import NOTE, Rehearsal
from discreet.errors import DiscreetError, EngineError, ParameterError, QueryError
from discreet.noise.source import KeyedSource
from discreet.query.build import Query
from discreet.query.schema import Bounds, FindBounds, PerPerson


def rehearsal(curator, name="payroll", **more):
    storage = curator._part(name, None, None).schema.storage
    policy = curator.policy
    return Rehearsal(policy.datasets[name], storage=storage, defaults=policy.defaults, **more)


def test_a_source_that_does_not_exist_is_not_missed(tmp_path):
    dataset = example().datasets["payroll"]
    assert not (tmp_path / dataset.source).exists()
    with Rehearsal(dataset) as made:
        record = made.ask("SELECT department, COUNT(*) AS n FROM payroll GROUP BY department",
                          epsilon=1)  # fmt: skip
    assert record.release["department"] == ["Fire", "Police", "Library"]
    assert record.release.notes[0] == NOTE


def test_no_source_is_opened(monkeypatch):
    opened = bind.open_source

    def only_engines(source, **more):
        assert not isinstance(source, str)
        return opened(source, **more)

    monkeypatch.setattr(bind, "open_source", only_engines)
    Rehearsal(data(), storage=STORAGE).close()


def test_it_has_the_form_of_a_real_answer(curator):
    with rehearsal(curator, clock=lambda: datetime(2026, 1, 2, tzinfo=UTC)) as made:
        for sql in (COUNT, SUM, f"{COUNT} HAVING n > 100 ORDER BY n DESC LIMIT 2"):
            real = curator.ask(sql, epsilon="0.3")
            played = made.ask(sql, epsilon="0.3", analyst="alice")
            told = played.to_dict()
            assert list(told) == list(real.to_dict())
            assert list(told["release"]) == list(real.to_dict()["release"])
            assert Record.from_dict(json.loads(json.dumps(told))) == played
            same = ("plan", "question", "dataset", "family", "block", "unit", "cost", "software")
            for name in same:
                assert getattr(played, name) == getattr(real, name), name
            mine, theirs = played.release, real.release
            for name in ("columns", "keys", "guarantee", "losses", "mechanisms", "covers"):
                assert getattr(mine, name) == getattr(theirs, name), name
            assert mine.notes == (NOTE, *theirs.notes)
            assert (played.entry, played.head) == (0, "0" * 64)
            assert (played.data_version, played.analyst) == ("rehearsal", "alice")
            assert mine.asked_at == datetime(2026, 1, 2, tzinfo=UTC)


def test_nothing_is_charged_and_nothing_written(curator, folder):
    before = spent(curator), curator.ledger.head
    files = {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix == ".csv"}
    with rehearsal(curator) as made:
        for _ in range(3):
            made.ask("SELECT SUM(bonus) AS s FROM payroll", epsilon=100)
    assert (spent(curator), curator.ledger.head) == before
    with sqlite3.connect(folder / "staff.ledger") as ledger:
        assert "rehearsal" not in "\n".join(ledger.iterdump())
    assert files == {p.name: p.read_bytes() for p in folder.iterdir() if p.suffix == ".csv"}


def test_other_rows_make_no_difference(curator, folder):
    with rehearsal(curator) as made:
        one = made.ask(COUNT, epsilon=500).release["n"]
    write_rows(folder / "payroll.csv", people=7, seed=2)
    with rehearsal(curator) as made:
        other = made.ask(COUNT, epsilon=500).release["n"]
    # with two rows a person noise of half a row has a chance of exp(-125)
    assert one == other
    rows = made_up(curator.policy.datasets["payroll"])["dept"][1]
    assert one == [Counter(rows)[key] for key in "abc"]


COUNTED = {name: unit for name, unit in UNITS.items() if name != "person"}  # it bounds no rows


@pytest.mark.parametrize("unit", COUNTED.values(), ids=COUNTED)
def test_every_kind_of_question_is_answered(unit):
    dataset = data(unit)
    with Rehearsal(dataset, storage=STORAGE) as made:
        for ask in QUESTIONS:
            query = ask(Query(owned(dataset)))
            record = made.ask(query, epsilon=1, delta="1e-6")
            assert record.plan == query.to_sql()
            assert len(record.release) > 0 or "HAVING" in record.plan


def test_the_grid_and_the_search_follow_the_storage():
    dataset = data(columns={"x": Bounds(0, 10), "y": FindBounds(epsilon=100)}, lookups={})
    for storage, step in (("integer", 1), ("real", "1/100000")):
        with Rehearsal(dataset, storage=dict.fromkeys("xy", storage)) as made:
            assert made._asking.schema.columns["x"].grid == Bounds(0, 10, step).grid
            made.ask("SELECT SUM(y) FROM t", epsilon=1)
            found = made._asking.schema.columns["y"]
            assert (found.grid == 1) == (storage == "integer")


def test_what_has_to_be_found_is_found_once(monkeypatch):
    """At epsilon 100 a bin is off by two with a chance of exp(-200)."""
    columns = {"bonus": FindBounds(epsilon=100), **{k: data().columns[k] for k in ("dept", "year")}}
    unit = PerPerson("person", max_rows="find", find_epsilon=100)
    with Rehearsal(data(unit, columns=columns, lookups={})) as made:
        sql, looked = "SELECT SUM(bonus) AS s FROM t", []
        searched = made._asking.searched
        monkeypatch.setattr(made._asking, "searched", lambda *a: looked.append(1) or searched(*a))
        notes = [made.ask(sql, epsilon=1).release.notes for _ in range(4)]
        assert len(looked) == 2
        assert len(set(notes)) == 1
        bounds, rows = notes[0][1:3]
        assert bounds.startswith("bounds of bonus found: ")
        cost = "by a search that costs epsilon 100, once"
        assert rows == f"rows per person found: at most 4 count, {cost}"
        assert made.ask(sql, epsilon=1).release.guarantee.epsilon == 201
        plain = made.ask("SELECT COUNT(DISTINCT person) AS n FROM t", epsilon=1)
        assert plain.release.notes == (NOTE,)


@pytest.mark.parametrize("key", range(3))
def test_a_search_that_shows_nothing_goes_on_with_the_made_up_range(monkeypatch, key):
    """With noise of fixed keys: by chance an empty bin may pass, and other bounds are found."""
    bits = bytes([key]) * 32
    monkeypatch.setattr(rehearsing, "system_source", lambda: KeyedSource(bits))
    columns = {"bonus": FindBounds(epsilon="1e-6")}
    unit = PerPerson("person", max_rows="find", find_epsilon="1e-6")
    with Rehearsal(data(unit, columns=columns, lookups={})) as made:
        notes = made.ask("SELECT SUM(bonus) AS s FROM t", epsilon=1).release.notes
    assert notes[1].startswith("bounds of bonus found: 1 to 1024")
    assert notes[2].startswith("rows per person found: at most 4 ")


REFUSED = {
    "an unknown column": ("SELECT COUNT(*) FROM payroll WHERE nobody = 1", {"epsilon": 1}),
    "not SQL": ("how many?", {"epsilon": 1}),
    "another table": ("SELECT COUNT(*) FROM other", {"epsilon": 1}),
    "two prices": (COUNT, {"epsilon": 1, "within": 3}),
    "no price": (COUNT, {"epsilon": 0}),
    "rho in a policy of epsilons": (COUNT, {"rho": "0.1"}),
    "an unknown block": (COUNT, {"epsilon": 1, "block": "2031"}),
    "a mean without rows": ("SELECT AVG(pay) FROM payroll", {"within": 5}),
}


@pytest.mark.parametrize(("question", "price"), REFUSED.values(), ids=REFUSED)
def test_it_refuses_what_a_curator_refuses_in_the_same_words(curator, question, price):
    words = []
    with rehearsal(curator) as made:
        for asker in (curator, made):
            with pytest.raises(DiscreetError) as refused:
                asker.ask(question, **price)
            words.append((type(refused.value), str(refused.value)))
    assert words[0] == words[1]


def test_prices_as_a_curator_has_them(curator):
    with rehearsal(curator) as made:
        assert made.ask(COUNT).cost == "epsilon 0.1"
        near = made.ask("SELECT COUNT(*) AS n FROM payroll", within=10)
        cost = curator.epsilon_for("SELECT COUNT(*) AS n FROM payroll", within=10)
        assert near.cost == f"epsilon {cost}"
    dataset = curator.policy.datasets["payroll"]
    with Rehearsal(dataset, accounting="zcdp") as made:
        assert made.ask(COUNT, rho="0.1").cost == "rho 0.1"
        with pytest.raises(QueryError, match="say what the question may cost"):
            made.ask(COUNT)
    with Rehearsal(dataset, defaults=Defaults(confidence="1/2")) as made:
        assert str(made.ask(COUNT, epsilon=1).release.confidence) == "1/2"


def test_a_block_is_rehearsed_like_the_whole():
    with Rehearsal(example().datasets["payroll"]) as made:
        record = made.ask("SELECT COUNT(*) FROM payroll", epsilon=1, block="2025-q1")
    assert (record.block, record.data_version) == ("2025-q1", "rehearsal")


def test_threads_share_one():
    with Rehearsal(data(UNITS["found"]), storage=STORAGE) as made, ThreadPoolExecutor(4) as pool:
        questions = ["SELECT SUM(bonus) AS s FROM t", "SELECT COUNT(*) AS n FROM t"] * 8
        found = list(pool.map(lambda sql: made.ask(sql, epsilon=9), questions))
    for sql, record in zip(questions, found, strict=True):
        assert ("bonus" in record.plan) == ("bonus" in sql)
        assert any("bounds of bonus" in note for note in record.release.notes) == ("bonus" in sql)


def test_its_own_failure_is_no_empty_table(monkeypatch):
    with Rehearsal(data(), storage=STORAGE) as made:
        monkeypatch.setattr(type(made._asking.engine), "run", failing)
        with pytest.raises(EngineError):
            made.ask("SELECT COUNT(*) FROM t", epsilon=1)


def test_a_declaration_that_no_table_can_have_is_refused():
    with pytest.raises(ParameterError):
        Rehearsal(replace(data(), row_limit=0), storage=STORAGE)


PAY = {"bins": 4096, "ranges": (0, 1000), "epsilon": "0.3"}


def test_a_publication_is_rehearsed(curator):
    """In the form of a real one, over fewer cells; refused where the real one is."""
    with rehearsal(curator) as made:
        played = made.publish("pay", **PAY | {"bins": 500})
        real = curator.publish("pay", **PAY | {"bins": 500})
        assert list(played.to_dict()["release"]) == list(real.to_dict()["release"])
        assert played.cost == real.cost == "epsilon 0.3"
        assert played.release.notes[0] == NOTE
        fine = made.publish(["pay", "pay"], bins=[500, 500], ranges=[(0, 1000)] * 2, epsilon=1)
        assert [axis.bins for axis in Published.of(fine.release).axes] == [32, 32]
        for wrong in (
            {"bins": 4096}, {"epsilon": 0}, {"where": "pay"}, {"ranges": (5, 5)}, {"block": "x"}
        ):  # fmt: skip
            said = {**PAY, "bins": 500, **wrong}
            with pytest.raises(DiscreetError) as refused:
                made.publish("pay", **said)
            with pytest.raises(DiscreetError) as really:
                curator.publish("pay", **said)
            assert str(refused.value) == str(really.value)
        assert made.publish("bonus", **PAY | {"bins": 500}).release.notes[0] == NOTE  # supposed
        with pytest.raises(QueryError, match="still to be found"):
            curator.publish("bonus", **PAY)


def test_what_others_rehearse_makes_nothing_faster(curator):
    """Rows are made up once; what is decided of a question, and looked for, is decided for each."""
    efforts = []
    with rehearsal(curator) as first, rehearsal(curator) as second:
        for made in (first, second):
            for who in ("bob", "carol") if made is first else ():
                made.ask("SELECT SUM(bonus) AS s FROM payroll", epsilon=1, analyst=who)
            with counted() as done:
                made.ask("SELECT SUM(bonus) AS s FROM payroll", epsilon=1, analyst="alice")
            efforts.append(list(done))
    assert efforts[0] == efforts[1]
    assert "searched" in efforts[0]
