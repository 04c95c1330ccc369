"""Explain, rehearse and ask, over a real socket."""

import threading
import time
from fractions import Fraction

import pytest
from tests.server.running import COUNT, POLICY, prepared, running, weak

from discreet.curator.faults import faults
from discreet.curator.record import Record
from discreet.errors import QueryError


@pytest.fixture
def surely(tmp_path, monkeypatch):
    """A search that finds what is there and no noise, but for once in 10^12."""
    weak(monkeypatch)
    text = POLICY.replace("find = true, epsilon = 0.1", "find = true, epsilon = 0.5")
    with running(prepared(tmp_path, text, people=2000)) as made:
        yield made


def test_a_question_is_answered_at_its_deadline_and_charged(server):
    began = time.monotonic()
    answer = server.ask(epsilon="0.5")
    took = time.monotonic() - began
    assert answer.status == 200, answer.body
    assert took >= 0.1
    record = Record.from_dict(answer.json)
    assert [row["dept"] for row in record.release] == ["a", "b", "c"]
    assert record.cost == "epsilon 0.5"
    assert record.analyst == "alice"
    (account,) = server.get("/api/budget").json["accounts"]
    assert account["account"] == "staff@alice"
    assert account["left"]["epsilon"] == "0.5"


def test_an_analyst_sees_no_number_of_the_ledger(server):
    assert server.ask(epsilon="0.1").json["entry"] == 0
    assert server.ask(epsilon="0.1", who="olga").json["entry"] > 0


def test_the_length_of_an_answer_is_public(server):
    sizes = {len(server.ask(epsilon="0.01", key=f"k{i}", who="bob").body) for i in range(4)}
    assert len(sizes) == 1
    assert sizes.pop() in {1 << n for n in range(12, 20)}


def test_the_same_key_is_one_asking(server):
    first = server.ask(epsilon="0.2", headers={"Idempotency-Key": "monday"})
    again = server.ask(epsilon="0.2", headers={"Idempotency-Key": "monday"})
    assert first.json == again.json
    assert server.ask(epsilon="0.3", key="monday").status == 409
    assert server.ask(epsilon="0.3", key="x", headers={"Idempotency-Key": "y"}).status == 422
    (account,) = server.get("/api/budget").json["accounts"]
    assert account["spent"]["epsilon"] == "0.2"


@pytest.mark.parametrize("said", [{"key": "k"}, {"headers": {"Idempotency-Key": "k"}}])
def test_what_is_left_goes_without_a_key(server, said):
    """In the body or the header: it is refused, never left out unsaid."""
    refused = server.ask(epsilon="0.1", with_what_is_left=True, **said)
    assert refused.status == 422
    assert "key names one price" in refused.json["message"]
    assert "Idempotency-Key" in refused.json["fix"]
    (account,) = server.get("/api/budget").json["accounts"]
    assert account["spent"]["epsilon"] == "0"


def test_a_refusal_for_the_budget_of_all_advises_what_can_help(server):
    assert server.ask(epsilon="2.95", who="olga").status == 200
    refused = server.ask(epsilon="0.5")
    assert refused.status == 402
    assert "could" not in refused.json
    assert "with_what_is_left" not in refused.json["fix"]
    assert "larger allowance would not help" in refused.json["fix"]
    assert "smaller epsilon" in refused.json["fix"]
    own = server.ask(epsilon="5")
    assert "with_what_is_left" in own.json["fix"]


def test_a_refusal_says_what_is_left(server):
    refused = server.ask(epsilon="5")
    assert refused.status == 402
    assert refused.json["error"] == "budget"
    assert float(eval(refused.json["could"])) == 1
    assert server.ask(epsilon="5", with_what_is_left=True).status == 200
    assert server.ask(epsilon="0.1", question="SELECT COUNT(*) FROM payroll").status == 402


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"question": "SELECT nothing FROM payroll"}, "nothing"),
        ({"question": COUNT, "epsilon": "-1"}, "epsilon"),
        ({"question": COUNT, "epsilon": "nan"}, "epsilon"),
        ({"question": COUNT, "epsilon": 0}, "epsilon"),
        ({"question": COUNT, "epsilon": "1e400"}, "epsilon"),
        ({"question": COUNT, "deadline": 7}, "deadline"),
        ({"question": ""}, "question"),
        ({"question": COUNT, "extra": 1}, "extra"),
        ({"question": COUNT, "block": "q1"}, "q1"),
        ({}, "question"),
    ],
)
def test_what_cannot_be_asked_is_said_and_costs_nothing(standing, body, words):
    answer = standing.post("/api/ask", body)
    assert answer.status == 422, answer.body
    assert words in answer.json["message"]
    assert "nothing" in answer.json["message"].lower()
    assert standing.get("/api/budget").json["accounts"][0]["spent"]["epsilon"] == "0"


def test_what_is_free_costs_nothing(server):
    told = server.post("/api/explain", {"question": COUNT, "epsilon": "0.5"})
    assert told.status == 200, told.body
    assert told.json["groups"] == 3
    assert told.json["columns"][0]["within"] > 0
    assert "Statement" not in told.json["text"]
    owner = server.post("/api/explain", {"question": COUNT, "epsilon": "0.5"}, who="olga")
    assert "Statement" in owner.json["text"]
    wanted = server.post("/api/explain", {"question": COUNT, "within": 20})
    assert float(wanted.json["epsilon_for"]) > 0
    points = server.post("/api/errors", {"question": COUNT}).json["points"]
    errors = [point["columns"][0]["within"] for point in points]
    assert errors == sorted(errors, reverse=True)
    played = server.post("/api/rehearse", {"question": COUNT, "epsilon": "0.5"})
    assert played.status == 200, played.body
    assert played.json["rehearsal"] is True
    assert server.get("/api/budget").json["accounts"][0]["spent"]["epsilon"] == "0"


def test_what_was_paid_is_told_to_its_asker_before_it_is_asked_again(server):
    def paid(who=None):
        more = {} if who is None else {"who": who}
        body = {"question": COUNT, "epsilons": ["0.1", "0.2", "0.3"], "epsilon": "0.2"}
        told = server.post("/api/preview", body, **more).json
        return told["explain"]["paid"], [point["paid"] for point in told["points"]]

    assert paid() == (False, [False] * 3)
    assert server.ask(epsilon="0.2").status == 200
    assert paid() == (True, [True, True, False])
    assert paid("bob") == paid("olga") == (False, [False] * 3)


def test_a_failing_database_looks_like_an_answer(folder, monkeypatch):
    from discreet.engines.duckdb import DuckDB
    from discreet.errors import EngineError

    def fail(*_, **__):
        raise EngineError("SECRET row") from ValueError("SECRET")

    weak(monkeypatch)
    with running(folder / "policy.toml") as server:
        good = server.ask(epsilon="0.1", key="one")
        monkeypatch.setattr(DuckDB, "run", fail)
        bad = server.ask(epsilon="0.1", key="two", question=COUNT + " ORDER BY dept")
        assert (good.status, bad.status) == (200, 200)
        assert good.headers == bad.headers
        assert b"SECRET" not in bad.body
        assert server.get("/api/budget").json["accounts"][0]["spent"]["epsilon"] == "0.2"
        assert "SECRET" in faults(server.service.ledger)[0]
        assert server.get("/api/faults").status == 403
        assert "SECRET" in server.get("/api/faults", who="olga").json["faults"][0]
        owner = server.ask(epsilon="0.1", who="olga", question=COUNT + " ORDER BY n")
        assert owner.status == 503
        assert "SECRET" in owner.json["message"]


def test_data_that_are_gone_are_not_charged(tmp_path, monkeypatch):
    weak(monkeypatch)
    path = prepared(tmp_path)
    (tmp_path / "payroll.csv").rename(tmp_path / "elsewhere.csv")
    with running(path) as server:
        answer = server.ask(epsilon="0.1")
        assert answer.status == 503
        assert str(tmp_path) not in answer.body.decode()
        assert server.get("/api/budget").json["accounts"][0]["spent"]["epsilon"] == "0"


def test_a_preview_is_all_that_is_free_in_one_request(server):
    asked = {"question": COUNT, "epsilon": "0.5", "epsilons": ["0.1", "0.5"]}
    told = server.post("/api/preview", asked)
    assert told.status == 200, told.body
    first, second = told.json["points"]
    assert [first["cost"]["epsilon"], second["cost"]["epsilon"]] == ["0.1", "0.5"]
    assert told.json["explain"]["groups"] == 3
    rehearsal = told.json["rehearsal"]
    assert rehearsal["rehearsal"] is True
    assert [row[0] for row in rehearsal["release"]["rows"]] == ["a", "b", "c"]
    assert rehearsal["software"] == "discreet"  # an analyst sees no version
    assert server.post("/api/preview", {"question": "SELECT x FROM payroll"}).status == 422
    assert server.get("/api/budget").json["accounts"][0]["spent"]["epsilon"] == "0"


def test_a_preview_says_that_bounds_are_to_be_found(server):
    told = server.post("/api/preview", {"question": "SELECT SUM(bonus) AS b FROM payroll"})
    assert told.status == 200, told.body
    assert "have still to be found" in told.json["note"]
    assert "supposed" in told.json["note"]
    assert told.json["explain"]["cost"] == {"epsilon": "0.2", "delta": "0"}
    assert told.json["explain"]["to_find"] == ["bounds of bonus"]
    by_price = {one["epsilon"]: one["cost"]["epsilon"] for one in told.json["points"]}
    assert by_price["0.05"] == "0.15"
    assert told.json["rehearsal"]["release"]["rows"]


def test_what_was_paid_is_told_truly_and_known_from_then_on(surely):
    """The search: in the cost of the question, in the list, in what is foreseen and published."""
    server, bonus = surely, "SELECT SUM(bonus) AS b FROM payroll"
    free = {"question": bonus, "epsilon": "0.05"}
    axes = {"columns": ["bonus"], "bins": [8], "ranges": [[0, 512]], "epsilon": "0.05"}
    for path in ("/api/publish", "/api/publish/preview"):
        refused = server.post(path, axes)
        assert refused.status == 422
        assert "ask SUM(bonus) first" in refused.json["message"]
    before = server.post("/api/explain", free).json
    assert before["cost"]["epsilon"] == "0.55"
    first = server.ask(bonus, epsilon="0.05").json
    parts = "epsilon 0.05 for the question, epsilon 0.5 to find bounds of bonus"
    assert first["cost"] == f"epsilon 0.55 ({parts})"
    assert first["release"]["notes"][0].endswith("by a search that costs epsilon 0.5, once")
    later = server.ask(bonus + " WHERE pay > 3", epsilon="0.05").json
    assert later["cost"] == "epsilon 0.05"
    told = server.post("/api/explain", free).json
    assert (told["cost"]["epsilon"], told["to_find"], told["note"]) == ("0.05", [], "")
    assert told["columns"][0]["error"] != before["columns"][0]["error"]
    assert server.post("/api/errors", free).json["to_find"] == []
    assert before["found_before"] == []
    assert told["found_before"] == [{"name": "bounds of bonus", "epsilon": "0.5"}]
    again = {**free, "search_again": True}
    assert server.post("/api/errors", again).json["points"][0]["cost"]["epsilon"] == "0.51"
    told = server.post("/api/preview", again).json
    assert "bounds of bonus (epsilon 0.5) are searched for, and paid, again" in told["note"]
    assert told["explain"]["cost"]["epsilon"] == "0.55"
    assert told["explain"]["columns"][0]["error"] == before["columns"][0]["error"]
    assert told["explain"]["found_before"][0]["name"] == "bounds of bonus"
    assert server.post("/api/preview", free).json["note"] == ""
    assert server.post("/api/publish/preview", axes).status == 200
    published = server.post("/api/publish", axes).json
    assert published["cost"] == "epsilon 0.05"
    assert published["release"]["notes"][0] == first["release"]["notes"][0]
    plain = {**axes, "columns": ["pay"]}
    assert "bonus" not in str(server.post("/api/publish", plain).json["release"]["notes"])

    listed = server.get("/api/releases").json["releases"]
    assert [one["sql"] for one in listed][-1] == "found: bounds of bonus"
    total = sum(Fraction(one["cost"].removeprefix("epsilon ")) for one in listed)
    (account,) = server.get("/api/budget").json["accounts"]
    assert total == Fraction(account["spent"]["epsilon"]) == Fraction("0.7")
    key = listed[-1]["key"]
    record = server.get(f"/api/releases/{key}").json
    assert record["cost"] == "epsilon 0.5"
    low, high = record["release"]["rows"][0]
    assert f"found: {low} to {high}," in first["release"]["notes"][0]
    assert server.get(f"/api/releases/{key}", who="bob").status == 404
    for ending in (".csv", ".html"):
        assert server.get(f"/api/releases/{key}{ending}").status == 200
    assert server.post("/api/explain", free, who="bob").json["to_find"] == ["bounds of bonus"]


LEVELS = "SELECT dept, COUNT(*) AS n FROM payroll GROUP BY ROLLUP (dept)"


def test_a_roll_up_is_foreseen_at_the_price_that_was_said(server):
    body = {"question": LEVELS, "epsilon": "0.2", "epsilons": ["0.1", "0.2", "0.3"]}
    told = server.post("/api/preview", body)
    assert told.status == 200, told.body
    (point,) = told.json["points"]
    assert point["epsilon"] == "0.2"
    assert point["cost"]["epsilon"] == "0.2"
    assert [one["name"] for one in point["columns"]] == ["n in all", "n by dept"]
    assert "n by dept" in told.json["explain"]["text"]
    rows = told.json["rehearsal"]["release"]["rows"]
    assert rows[0][1] == sum(row[1] for row in rows[1:])
    assert "Statement" not in told.json["explain"]["text"]


@pytest.mark.parametrize(("numbers", "prices"), [(1, 20), (64, 4), (110, 2)])
def test_the_more_numbers_the_fewer_prices(standing, numbers, prices):
    """The work of a preview is bounded, and the price that was said is told."""
    outputs = ", ".join(f"SUM(pay + {i}) AS s{i}" for i in range(numbers))
    said = [f"0.{i:02}" for i in range(1, 21)]
    body = {"question": f"SELECT {outputs} FROM payroll", "epsilons": said, "epsilon": "0.17"}
    told = standing.post("/api/errors", body)
    found = [point["epsilon"] for point in told.json["points"]]
    assert len(found) == len(set(found)) == prices
    assert "0.17" in found


def test_a_point_tells_what_a_budget_in_rho_is_charged(tmp_path, monkeypatch):
    weak(monkeypatch)
    policy = POLICY.replace("epsilon = 3\n", 'accounting = "zcdp"\nrho = 3\n')
    policy = policy.replace("allowance.staff]\nepsilon = 1", "allowance.staff]\nrho = 1")
    with running(prepared(tmp_path, policy)) as server:
        (point,) = server.post("/api/errors", {"question": COUNT, "epsilons": ["0.5"]}).json[
            "points"
        ]
        assert server.ask(epsilon="0.5").status == 200
        spent = server.get("/api/budget").json["accounts"][0]["spent"]["rho"]
    assert point["cost"]["rho"] == spent


def test_errors_are_told_at_rhos(tmp_path, monkeypatch):
    weak(monkeypatch)
    policy = POLICY.replace("epsilon = 3", 'accounting = "zcdp"\nrho = 1')
    policy = policy.replace("epsilon = 1\n", "rho = 0.5\n")
    with running(prepared(tmp_path, policy)) as server:
        body = {"question": COUNT, "rho": "0.08", "rhos": ["0.02", "0.08"]}
        for path in ("/api/errors", "/api/preview"):
            told = server.post(path, body)
            assert told.status == 200, told.body
            few, many = told.json["points"]
            assert (few["rho"], many["rho"], many["cost"]["rho"]) == ("0.02", "0.08", "0.08")
            assert "epsilon" not in few
            half = few["columns"][0]["within"] / 2  # four times the rho, half the noise
            assert many["columns"][0]["within"] == pytest.approx(half, rel=0.05)
        both = server.post("/api/errors", {**body, "rho": None, "epsilons": ["0.1"]})
        assert (both.status, "go instead of epsilons" in both.json["message"]) == (422, True)


def test_a_burst_of_one_asker_keeps_nobody_from_a_thread(server, monkeypatch):
    ended, lock, running, most = threading.Event(), threading.Lock(), [], []

    def slow(*_, **__):
        with lock:
            running.append(1)
            most.append(len(running))
        ended.wait(30)
        with lock:
            running.pop()
        raise QueryError("slow")

    monkeypatch.setattr(server.service, "rehearse", slow)
    found = []

    def burst():
        found.append(server.post("/api/rehearse", {"question": COUNT}).status)

    threads = [threading.Thread(target=burst) for _ in range(60)]
    for thread in threads:
        thread.start()
    try:
        until = time.monotonic() + 20
        while len(found) < 52 and time.monotonic() < until:
            time.sleep(0.02)
        assert server.get("/api/me", who="bob", timeout=10).status == 200
        assert server.ask(who="bob", epsilon="0.1").status == 200
    finally:
        ended.set()
        for thread in threads:
            thread.join()
    assert max(most) <= 2
    assert sorted(found) == [422] * 8 + [429] * 52


def held(server, question, many=3):
    """Ask with several keys of alice at once, for five seconds; the statuses come in time."""
    keys = [server.service.access.make_key("alice", by="tests") for _ in range(many)]
    server.keys |= dict(enumerate(keys))
    found = []

    def hold(which):
        body = {"question": question, "deadline": 5, "epsilon": "0.01"}
        found.append(server.post("/api/ask", body, who=which).status)

    threads = [threading.Thread(target=hold, args=(which,)) for which in range(many)]
    for thread in threads:
        thread.start()
    return found, threads


def test_one_person_with_many_keys_leaves_a_worker_to_others(folder, monkeypatch):
    weak(monkeypatch)
    with running(folder / "policy.toml", workers=2, deadlines=(1, 5), longest_wait=1.0) as server:
        found, threads = held(server, COUNT)
        until = time.monotonic() + 20
        while len(found) < 2 and time.monotonic() < until:  # those that got no place
            time.sleep(0.02)
        assert server.ask(who="bob", epsilon="0.1").status == 200
        for thread in threads:
            thread.join()
        assert sorted(found) == [200, 503, 503]


def test_what_cannot_be_read_holds_no_place(folder, monkeypatch):
    """It leaves at its deadline, and others are answered meanwhile by the only worker there is."""
    weak(monkeypatch)
    with running(folder / "policy.toml", workers=1, deadlines=(1, 5), longest_wait=3.0) as server:
        began = time.monotonic()
        found, threads = held(server, "nonsense")
        publish = {"columns": ["nothing"], "bins": [8], "ranges": [[0, 1]], "epsilon": "0.1"}
        wrong = threading.Thread(
            target=lambda: found.append(server.post(
                "/api/publish", {**publish, "deadline": 5}, who="olga"
            ).status)
        )  # fmt: skip
        wrong.start()
        assert server.ask(who="bob", epsilon="0.1").status == 200
        assert found == [], "nobody waited for a place, and nothing left early"
        for thread in (*threads, wrong):
            thread.join()
        assert time.monotonic() - began >= 5
        assert found == [422] * 4


def test_so_many_columns_are_not_rehearsed(server):
    """They are explained, and refused before anything is computed."""
    outputs = ", ".join(f"SUM(pay + {i}) AS s{i}" for i in range(41))
    body = {"question": f"SELECT {outputs} FROM payroll", "epsilon": "0.1"}
    refused = server.post("/api/rehearse", body)
    assert refused.status == 422
    assert "at most 40 columns" in refused.json["message"]
    told = server.post("/api/preview", body)
    assert told.status == 200
    assert told.json["rehearsal"] is None
    assert len(told.json["explain"]["columns"]) == 41
