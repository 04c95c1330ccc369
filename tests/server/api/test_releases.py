"""Stored answers in every form, and what is free afterwards."""

import json

import pytest
from tests.server.running import COUNT

from discreet.curator.record import Record
from discreet.curator.release import Release

HISTOGRAM = "SELECT FLOOR(pay / 100) * 100 AS bin, COUNT(*) AS n FROM payroll GROUP BY bin"


@pytest.fixture
def key(server):
    answer = server.ask(epsilon="0.5", key="first")
    assert answer.status == 200, answer.body
    return answer.json["id"]


def test_the_list_holds_own_answers_only(server, key):
    server.ask(epsilon="0.5", who="bob", question=COUNT + " ORDER BY dept")
    (one,) = server.get("/api/releases").json["releases"]
    assert one["key"] == key
    assert set(one) == {"key", "sql", "dataset", "block", "cost", "paid", "at"}
    listed = server.get("/api/releases", who="audrey").json["releases"]
    assert [one["analyst"] for one in listed] == ["bob", "alice"]
    assert all("failed" not in one for one in listed)
    assert all("failed" in one for one in server.get("/api/releases", who="olga").json["releases"])


def test_pages_follow_each_other(server):
    for n in range(3):
        assert server.ask(epsilon=f"0.0{n + 1}").status == 200
    first = server.get("/api/releases?limit=2").json
    assert len(first["releases"]) == 2
    rest = server.get(f"/api/releases?limit=2&before={first['next']}").json
    assert [one["cost"] for one in rest["releases"]] == ["epsilon 0.01"]
    assert rest["next"] is None
    assert server.get("/api/releases?limit=0").status == 422


def test_a_release_comes_in_every_form(server, key):
    record = Record.from_dict(server.get(f"/api/releases/{key}").json)
    assert record.entry == 0
    assert Record.from_dict(server.get(f"/api/releases/{key}", who="olga").json).entry > 0
    csv = server.get(f"/api/releases/{key}.csv")
    assert csv.body.startswith(b"dept,n,n_low,n_high\n")
    assert csv.headers["content-disposition"].startswith("attachment")
    assert server.get(f"/api/releases/{key}.svg").body.startswith(b"<svg")
    assert server.get(f"/api/releases/{key}.png").body.startswith(b"\x89PNG")
    chart = json.loads(server.get(f"/api/releases/{key}.vl.json").body)
    assert "vega-lite" in chart["$schema"]
    page = server.get(f"/api/releases/{key}.html")
    assert b"<html" in page.body
    assert "sandbox" in page.headers["content-security-policy"]
    assert f"--head {record.head}<".encode() in page.body
    assert b"entry 0" not in page.body
    assert server.get(f"/api/releases/{key}.exe").status == 422


def test_what_is_computed_from_an_answer_is_free(server, key):
    total = server.post(f"/api/releases/{key}/derive", {"by": []})
    assert total.status == 200, total.body
    assert len(Release.from_dict(total.json)) == 1
    histogram = server.ask(epsilon="0.3", question=HISTOGRAM).json["id"]
    wanted = {"column": "bin", "low": 0, "high": "500"}
    part = Release.from_dict(server.post(f"/api/releases/{histogram}/derive", wanted).json)
    assert part.steps[-1] == "bin from 0 to below 500"
    assert server.get("/api/budget").json["accounts"][0]["spent"]["epsilon"] == "0.8"


@pytest.mark.parametrize(
    "wanted",
    [
        {},
        {"by": ["nothing"]},
        {"column": "dept"},
        {"column": "dept", "low": "a", "high": "b"},
        {"column": "n", "low": 1, "high": 2},
        {"by": [], "column": "dept", "low": 1, "high": 2},
        {"column": "no", "low": 1, "high": 2},
    ],
)
def test_what_cannot_be_computed_is_said(standing, wanted):
    key = standing.ask(epsilon="0.5", key="first").json["id"]  # the same answer every time
    answer = standing.post(f"/api/releases/{key}/derive", wanted)
    assert answer.status == 422, answer.body
    assert answer.json["message"]


def test_another_analyst_s_answer_is_not_there(server, key):
    for path in (key, f"{key}.csv", f"{key}.html", key[:4], "find-1"):
        answer = server.get(f"/api/releases/{path}", who="bob")
        assert answer.status == 404
    assert server.post(f"/api/releases/{key}/derive", {"by": []}, who="bob").status == 404
