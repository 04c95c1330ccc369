"""Publishing over the network, and what is free afterwards."""

from time import monotonic

import pytest
from tests.curator.payroll import failing
from tests.server.running import prepared, running, weak

from discreet.curator.pace import ENGINE_SHARE
from discreet.curator.published import Published
from discreet.curator.record import Record
from discreet.engines.duckdb import DuckDB

PAY = {"columns": ["pay"], "bins": [64], "ranges": [[0, 1000]], "epsilon": "0.3"}


def publish(server, who="alice", **more):
    return server.post("/api/publish", {**PAY, **more}, who=who)


def test_a_publication_is_charged_stored_and_asked(server):
    answer = publish(server, key="monday")
    assert answer.status == 200, answer.body
    record = Record.from_dict(answer.json)
    made = Published.of(record.release)
    path = f"/api/releases/{record.id}/counts"
    told = server.post(path, {"boxes": [[[0, 500]], [["250.5", 1000]]], "quantiles": ["0.5"]}).json
    assert told["counts"][0]["value"] == pytest.approx(made.range(0, 500).value)
    assert told["quantiles"][0]["low"] == made.quantile("0.5").low
    assert publish(server, key="monday").json == answer.json
    (mine,) = server.get("/api/budget").json["accounts"]
    assert mine["spent"]["epsilon"] == "0.3"
    assert server.get(f"/api/releases/{record.id}.svg").status == 200


def test_two_axes(server):
    both = {"columns": ["pay", "pay / 2"], "bins": [8, 8], "ranges": [[0, 1000], [0, 500]]}
    answer = publish(server, **both)
    assert answer.status == 200, answer.body
    path = f"/api/releases/{answer.json['id']}/counts"
    assert server.post(path, {"boxes": [[[0, 500], [0, 250]]]}).status == 200
    assert server.post(path, {"boxes": [[[0, 500]]]}).status == 422
    assert server.post(path, {"quantiles": ["0.5"]}).status == 422


def test_wider_cells(server):
    key = publish(server).json["id"]
    path = f"/api/releases/{key}/counts"
    told = server.post(path, {"rebin": [8]}).json
    assert told["counts"] == told["quantiles"] == []
    assert [row[0] for row in told["cells"]["rows"]] == [125 * i for i in range(8)]
    assert len(told["cells"]["intervals"]["n"]) == 8
    for wrong in ([0], [65], [8, 8], [], [401], ["8"], [True]):
        assert server.post(path, {"rebin": wrong}).status == 422, wrong


def test_the_length_of_a_publication_is_public(server):
    """Room for the numbers of all cells, whether anybody is in them or not."""
    sizes = {len(publish(server, bins=[1000], epsilon=e, who="olga").body) for e in ("0.01", "2")}
    assert len(sizes) == 1
    record, rows = server.service.publish(
        server.service.access.by_key(server.keys["olga"]), ["pay"], {}, bins=[1000],
        ranges=[(0, 1000)], epsilon="0.5",
    )  # fmt: skip
    assert rows == len(record.release) + 125


def test_everything_is_known_before_paying(server):
    told = server.post("/api/publish/preview", PAY)
    assert told.status == 200, told.body
    found = told.json
    assert found["cost"]["epsilon"] == "0.3"
    assert found["parts"] == 10
    assert found["alone"] > 0 < found["within"]
    assert found["rehearsal"]["rehearsal"] is True
    assert "made-up rows" in found["rehearsal"]["release"]["notes"][0]
    assert found["rehearsal"]["entry"] == 0
    spent = [one["spent"]["epsilon"] for one in server.get("/api/budget").json["accounts"]]
    assert spent == ["0"]
    assert server.post("/api/publish/preview", PAY, who="audrey").status == 403
    assert server.post("/api/publish/preview", {**PAY, "key": "monday"}).status == 422


@pytest.mark.parametrize(
    "wrong",
    [
        {"epsilon": "0"}, {"epsilon": "-1"}, {"epsilon": "nan"}, {"epsilon": None},
        {"bins": [0]}, {"bins": []}, {"bins": [2**21]}, {"bins": ["8"]}, {"bins": [8, 8]},
        {"columns": ["nothing"]}, {"columns": []}, {"columns": ["pay; DROP TABLE payroll"]},
        {"ranges": [[5, 5]]}, {"ranges": [[0, "inf"]]}, {"ranges": [[0]]},
        {"ranges": [[0, "1e400"]]},
        {"where": "pay"}, {"where": "1/0 = 1 OR pay IN (SELECT pay FROM payroll)"},
        {"columns": ["pay"] * 3, "bins": [1024] * 3, "ranges": [[0, 1000]] * 3},
        {"more": 1},
    ],
    ids=str,
)  # fmt: skip
def test_what_is_wrong_is_refused_and_not_charged(standing, wrong):
    answer = publish(standing, **wrong)
    assert answer.status == 422, answer.body
    assert "pay IN" not in answer.json["message"]
    foreseen = standing.post("/api/publish/preview", {**PAY, **wrong})
    assert foreseen.status == 422, foreseen.body
    (mine,) = standing.get("/api/budget").json["accounts"]
    assert mine["spent"]["epsilon"] == "0"


def test_what_cannot_be_paid(server):
    assert publish(server, epsilon="50").status == 402


def test_a_failing_engine_looks_like_any_other_answer(server, monkeypatch):
    monkeypatch.setattr(DuckDB, "run", failing)
    answer = publish(server)
    assert answer.status == 200
    assert set(answer.json) == set(Record.from_dict(answer.json).to_dict())
    assert b"on purpose" not in answer.body
    assert publish(server, who="olga").status in (500, 502, 503)


def test_others_answers_are_not_there(server):
    key = publish(server).json["id"]
    body = {"boxes": [[[0, 500]]]}
    assert server.post(f"/api/releases/{key}/counts", body, who="bob").status == 404
    assert server.post(f"/api/releases/{key}/counts", body, who="audrey").status == 200
    assert publish(server, who="audrey").status == 403


def test_an_analyst_is_not_told_how_much_others_ask(server):
    server.ask(epsilon="0.1", who="bob")
    assert publish(server).json["entry"] == 0
    assert publish(server, who="olga").json["entry"] > 0


def test_the_database_is_stopped_before_the_deadline(tmp_path, monkeypatch):
    """A publication that takes longer is a failure like any other, and looks like an answer."""
    told = []
    inner = DuckDB.run

    def seen(self, *args, seconds=None, **more):
        told.append(seconds)
        return inner(self, *args, seconds=seconds, **more)

    monkeypatch.setattr(DuckDB, "run", seen)
    weak(monkeypatch)
    with running(prepared(tmp_path), padded=True, stopping=True) as padded:
        began = monotonic()
        assert publish(padded).status == 200
        took = monotonic() - began
    (limit,) = told
    shortest = float(padded.service.settings.server.deadlines[0])
    assert 0 < limit <= shortest * ENGINE_SHARE
    assert took >= shortest
