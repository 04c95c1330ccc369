"""What a page proposes to ask can be asked."""

import pytest
from tests.server.page.visiting import text, visitor
from tests.server.running import POLICY, prepared, running, weak

from discreet.server.page.ways import ways

LOOKUP = """
[dataset.payroll.lookup.grades]
key = "dept"
rows = [{ dept = "a", "the grade" = 1 }, { dept = "b", "the grade" = 2 }]
"""
RICH = POLICY.replace("epsilon = 3\n", "epsilon = 3\ndelta = 0.001\n").replace(
    "epsilon = 1\n", "epsilon = 1\ndelta = 0.0001\n"
).replace('"b", "c"] }', '"b", "c"] }\nnote = "text"') + LOOKUP  # fmt: skip


@pytest.fixture(scope="module")
def rich(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rich")
    lines = [f"{i},{'abc'[i % 3]},word{i % 2},{i % 1000},{1 + i % 400}" for i in range(900)]
    (folder / "payroll.csv").write_text("\n".join(["id,dept,note,pay,bonus", *lines]) + "\n")
    with pytest.MonkeyPatch.context() as patch:
        weak(patch)
        with running(prepared(folder, RICH)) as made:
            yield made


def test_every_way_can_be_gone(rich):
    alice = rich.service.access.by_key(rich.keys["alice"])
    found = ways(rich.service.told(alice, "payroll"))
    assert [one.title for one in found] == [
        "Groups of note", "Sums of bonus", "Counts by the grade of grades",
        "Everybody else, besides the keys of dept", "The median of pay",
    ]  # fmt: skip
    for one in found:
        body = {"question": one.question, "epsilon": "0.1", "delta": one.delta or None}
        answer = rich.post("/api/preview", body)
        assert answer.status == 200, (one, answer.body)
    assert rich.ask(found[0].question, epsilon="0.5", delta=found[0].delta).status == 200


def test_the_page_shows_them(rich):
    page = text(visitor(rich).get("/ask"))
    assert page.count("data-way=") == 5
    assert 'data-delta="0.000001"' in page
    assert "for epsilon 0.1 on top of the price" in page


def test_a_plain_dataset_has_few():
    known = {"name": "t", "lookups": [], "columns": [{"name": "on", "kind": "boolean"}]}
    assert ways(known) == []
