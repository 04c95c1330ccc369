"""Who am I, what may I ask, what is left."""

from discreet.curator.metadata import schema_from


def test_everybody_is_told_who_they_are(server):
    assert server.get("/api/me").json == {
        "name": "alice", "role": "analyst", "datasets": None, "expires": None
    }  # fmt: skip
    assert server.get("/api/me", who="audrey").json["role"] == "auditor"


def test_a_dataset_is_told_without_its_source(server, folder):
    (told,) = server.get("/api/datasets").json["datasets"]
    assert told == server.get("/api/datasets/payroll").json
    assert "payroll.csv" not in str(told)
    assert str(folder) not in str(told)
    assert schema_from(told).name == "payroll"
    assert server.get("/api/datasets/nothing").status == 404


def test_an_analyst_knows_the_own_allowance_only(server):
    names = [one["account"] for one in server.get("/api/budget").json["accounts"]]
    assert names == ["staff@alice"]
    everybody = server.get("/api/budget", who="audrey").json["accounts"]
    assert {one["account"] for one in everybody} == {"staff", "staff@alice", "staff@bob"}
