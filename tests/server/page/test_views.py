"""What pages show of datasets and budgets."""

from tests.curator.payroll import POLICY, write_rows
from tests.server.page.rich import POLICY as RICH
from tests.server.page.rich import written
from tests.server.page.visiting import text, visitor
from tests.server.running import prepared, running, weak

from discreet.server.page.views import axis, budgets, described, example, joinable, short

KEYS = {"name": "dept", "kind": "keys", "count": 3}


def test_numbers_are_never_rounded_up():
    assert short("0.999999999999") == "0.9999"
    assert short("0.5") == "0.5"
    assert short("12345.6") == "12340"
    assert short("0.000123456") == "0.0001234"


def test_an_analyst_sees_the_own_budget_and_an_owner_that_of_the_people(server):
    server.ask(epsilon="0.25")
    access = server.service.access
    alice, olga = access.by_key(server.keys["alice"]), access.by_key(server.keys["olga"])
    (own,) = budgets(server.service, alice, "payroll")
    assert (own["account"], own["left"], own["total"]) == ("staff@alice", "0.75", "1")
    assert own["share_left"] == "0.7500"
    (all_of_it,) = budgets(server.service, olga, "payroll")
    assert (all_of_it["account"], all_of_it["left"]) == ("staff", "2.75")


def test_a_dataset_is_told_with_a_question_that_can_be_asked(server):
    alice = server.service.access.by_key(server.keys["alice"])
    told = described(server.service, alice, "payroll", most=2)
    kinds = {one["name"]: one["what"] for one in told["columns"]}
    assert kinds == {"dept": "keys", "pay": "number", "bonus": "number"}
    assert told["columns"][0]["keys"] == ["a", "b"]
    assert told["columns"][1]["range"] == "0 to 1000, in steps of 1"
    assert server.post("/api/explain", {"question": told["example"]}).status == 200


def test_an_example_groups_by_few_keys_only_and_quotes_names():
    assert "GROUP BY dept" in example({"name": "pay roll", "columns": [KEYS]})
    assert 'FROM "pay roll"' in example({"name": "pay roll", "columns": [KEYS]})
    assert "GROUP BY" not in example({"name": "p", "columns": [{**KEYS, "count": 5000}]})


def test_blocks_with_people_of_their_own_have_gauges_of_their_own(tmp_path, monkeypatch):
    weak(monkeypatch)
    blocks = "".join(
        f'\n[dataset.payroll.block.{name}]\nsource = "{name}.csv"\nversion = "{name}"\n'
        f'people = "{people}"\n'
        for name, people in (("q1", "own"), ("q2", "shared"))
    )
    for name in ("q1", "q2"):
        write_rows(tmp_path / f"{name}.csv")
    with running(prepared(tmp_path, POLICY + blocks)) as server:
        alice = server.service.access.by_key(server.keys["alice"])
        whole, first = budgets(server.service, alice, "payroll")
        assert (whole["account"], whole["blocks"]) == ("staff@alice", ["", "q2"])
        assert (first["account"], first["blocks"]) == ("staff/q1@alice", ["q1"])
        page = text(visitor(server).get("/ask"))
        assert '<option value="">all of it</option>' in page
        assert '<option value="q1">q1 (own people, own budget)</option>' in page
        assert '<option value="q2">q2</option>' in page
        gauges = text(visitor(server).get("/datasets"))
        assert "<h3>whole, q2</h3>" in gauges
        assert "<h3>q1</h3>" in gauges


def test_a_public_table_is_told_with_its_values():
    rows = [[["str", "a"], ["str", "north"], ["int", "3"]], [["str", "b"], ["str", "north"], None]]
    told = joinable({"name": "region", "key": "dept", "columns": ["area", "size"], "rows": rows})
    assert (told["name"], told["key"]) == ("region", "dept")
    assert [(one["name"], one["keys"], one["of"]) for one in told["columns"]] == [
        ("area", ["north"], "str"), ("size", ["3"], "int"),
    ]  # fmt: skip


def test_the_rows_of_a_public_table_are_shown(tmp_path, monkeypatch):
    weak(monkeypatch)
    many = ", ".join(f'{{ dept = "k{i}", no = {i} }}' for i in range(30))
    more = f'\n[dataset.payroll.lookup.many]\nkey = "dept"\nrows = [{many}]\n'
    with running(written(tmp_path, RICH + more)) as server:
        page = text(visitor(server).get("/datasets"))
        assert '<tr><th scope="row">a</th><td>north</td><td>Ms X</td></tr>' in page
        assert "All rows; join it with <code>JOIN region USING (dept)</code>" in page
        assert "The first 20 of 30 rows" in page
        assert '<th scope="row">k19</th>' in page
        assert '<th scope="row">k20</th>' not in page


def test_an_axis_is_what_was_declared():
    pay = {"kind": "number", "low": "-1/2", "high": "10", "grid": "1/4"}
    assert axis(pay) == {"low": "-0.5", "high": "10", "bins": 42}
    assert axis(pay, most=8)["bins"] == 8
    assert axis({**pay, "grid": None})["bins"] == 1024
    years = {"kind": "keys", "of": "int", "range": ["2021", "2024"]}
    assert axis(years) == {"low": "2021", "high": "2025", "bins": 4}
    for other in ({"kind": "find"}, {"kind": "keys", "of": "str", "range": None},
                  {"kind": "dates"}, {**pay, "high": "-1/2"}):  # fmt: skip
        assert axis(other) is None
