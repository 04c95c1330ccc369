"""Registering over a real socket: sources, drafts, datasets, and those who try more than that."""

import json
import tomllib

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.server.running import POLICY, prepared, running, weak

from discreet.curator.ledger.verify import verified
from discreet.curator.policy.draft import drafted
from discreet.engines.base import Engine
from discreet.engines.duckdb import DuckDB
from discreet.server import registering
from discreet.server.problems import Problem
from discreet.server.registering import DatasetWanted, number_of

EMPTY = '[ledger]\npath = "new.ledger"\n\n[server]\nsources = "data"\n'
HEADER = "person_id,ward,age,admitted,smoker,notes\n"
ROWS = "".join(f"{i % 90},{'nsew'[i % 4]},{20 + i % 60},2024-01-{1 + i % 28:02},true,x\n"
               for i in range(300))  # fmt: skip
WANTED = {
    "name": "visits",
    "source": "visits.csv",
    "family": {"name": "patients", "epsilon": "2.50", "neighbours": "add_or_remove"},
    "version": "2024",
    "unit": {"person": "person_id", "max_rows": "4"},
    "columns": {
        "ward": {"keys": ["n", "s", "e", "w"]},
        "age": {"low": "0", "high": "120", "grid": "1"},
        "admitted": {"first": "2024-01-01", "last": "2024-12-31"},
        "smoker": "boolean",
        "notes": "hidden",
    },
}
TWO = {**WANTED, "name": "more", "source": "other.csv", "family": "patients"}


def written(folder):
    """A policy without datasets, with a folder of data beside what is none of it; its path."""
    data = folder / "data"
    (data / "deep").mkdir(parents=True)
    for name in ("visits.csv", "other.csv", "deep/third.csv"):
        (data / name).write_text(HEADER + ROWS)
    (folder / "outside.csv").write_text(HEADER + ROWS)
    (data / "notes.txt").write_text("x")
    (data / ".hidden.csv").write_text(HEADER)
    (data / "out.csv").symlink_to(folder / "outside.csv")
    (data / "away").symlink_to(folder)
    (data / "in.csv").symlink_to(data / "visits.csv")
    (data / "loop.csv").symlink_to(data / "loop.csv")
    (data / "ledger.csv").symlink_to(data / "own.db")
    return prepared(folder, EMPTY)


@pytest.fixture
def hospital(tmp_path, monkeypatch):
    weak(monkeypatch)
    with running(written(tmp_path), deadlines=(20,), padded=False) as made:
        yield made


@pytest.fixture(scope="module")
def standing(tmp_path_factory):
    """Where nothing is ever registered."""
    with pytest.MonkeyPatch.context() as patch:
        weak(patch)
        path = written(tmp_path_factory.mktemp("standing"))
        with running(path, deadlines=(20,), padded=False) as made:
            yield made


def text_of(server):
    return server.service.path.read_text()


def owner(server, path, body, **more):
    return server.post(path, body, who="olga", **more)


def test_files_are_listed_by_name_and_only_those_below_the_folder(standing):
    told = standing.get("/api/sources", who="olga").json
    assert told == {
        "folder": "data",
        "sources": ["deep/third.csv", "in.csv", "other.csv", "visits.csv"],
        "more": False,
    }


def test_without_a_folder_of_sources_it_is_the_policys_and_its_own_files_are_left_out(
    tmp_path, monkeypatch
):
    weak(monkeypatch)
    policy = POLICY.replace("staff.ledger", "staff.db")
    with running(prepared(tmp_path, policy)) as server:
        told = server.get("/api/sources", who="olga").json
        assert (told["sources"], told["folder"]) == (["payroll.csv"], tmp_path.name)
        refused = owner(server, "/api/sources/draft", {"source": "staff.db", "table": "entry"})
        assert refused.status == 422
        assert "belongs to the ledger" in refused.json["message"]


def test_there_is_a_most_of_files(standing, monkeypatch):
    monkeypatch.setattr(registering, "MOST_FILES", 2)
    told = standing.get("/api/sources", who="olga").json
    assert (len(told["sources"]), told["more"]) == (2, True)


OUTSIDE = [
    "../outside.csv", "deep/../../outside.csv", "/etc/passwd", "out.csv", "away/outside.csv",
    "visits.csv\0", "", "~/x.csv", "*.csv", "[v]isits.csv", "loop.csv", "missing.csv", "notes.txt",
    "deep", ".", "..", "file:///etc/passwd.csv", "https://elsewhere.example/x.csv",
    "s3://bucket/x.parquet", "postgresql://ann:secret@db/x.csv", "..\\outside.csv", "visits.csv\n",
    "\ud800.csv", "deep/./../../outside.csv", "//etc/x.csv",
]  # fmt: skip


@pytest.mark.parametrize("source", OUTSIDE)
def test_no_path_leads_out(standing, source):
    before = text_of(standing)
    for path, body in (("/api/sources/draft", {}), ("/api/datasets", WANTED)):
        answer = owner(standing, path, {**body, "source": source})
        assert answer.status == 422, answer.body
        assert "root:" not in answer.body.decode()
        assert str(standing.service.path.parent) not in answer.json["message"]
    assert text_of(standing) == before


def test_a_link_out_looks_like_a_file_that_is_not_there(standing):
    told = [
        owner(standing, "/api/sources/draft", {"source": name}).json["message"].replace(name, "x")
        for name in ("out.csv", "nothing.csv", "away/outside.csv", "away/nothing.csv")
    ]
    assert len(set(told)) == 1


@pytest.mark.parametrize(
    "address",
    ["mysql://db/x", "http://127.0.0.1:1/", "postgres://db/x", "/etc/passwd", "postgresql:/x", "",
     "postgresql://db/x\n"],
)  # fmt: skip
def test_addresses_are_postgresql(standing, address):
    answer = owner(standing, "/api/sources/draft", {"address": address, "table": "t"})
    assert answer.status == 422
    assert "postgresql://" in answer.json["message"]


def test_one_of_file_and_address(standing):
    for body in ({}, {"source": "visits.csv", "address": "postgresql://db/x"}):
        assert owner(standing, "/api/sources/draft", body).status == 422


def test_a_password_is_never_sent_back(standing):
    """Neither by a draft that fails, nor by what is checked."""
    secret = "s3cr%40t"  # as it is written in an address
    address = f"postgresql://ann:{secret}@127.0.0.1:1/x?sslpassword=hunter22"
    tried = owner(standing, "/api/sources/draft", {"address": address, "table": "t"})
    wanted = {k: v for k, v in WANTED.items() if k != "source"}
    body = {**wanted, "address": address, "table": "t"}
    checked = owner(standing, "/api/datasets/check", body)
    made = owner(standing, "/api/datasets", body)
    for answer in (tried, checked, made):
        assert answer.status == 422
        assert "cannot be read" in answer.json["message"]
        assert not any(one in answer.body.decode() for one in (secret, "s3cr@t", "hunter22"))
    assert "postgresql" not in text_of(standing)


def test_what_is_checked_of_an_address_hides_the_password(standing, monkeypatch):
    monkeypatch.setattr(registering, "_look", lambda *_: None)
    wanted = {k: v for k, v in WANTED.items() if k != "source"}
    body = {**wanted, "address": "postgresql://ann:hunter22@db/x", "table": "t"}
    answer = owner(standing, "/api/datasets/check", body)
    assert answer.status == 200
    assert "hunter22" not in answer.body.decode()
    assert 'source = "postgresql://ann:...@db/x"' in answer.json["added"]


def test_a_draft_tells_names_and_types_and_reads_no_row(hospital, monkeypatch):
    for engine in (Engine, DuckDB):
        monkeypatch.setattr(engine, "run", lambda *_, **__: pytest.fail("a row was read"))
    told = owner(hospital, "/api/sources/draft", {"source": "visits.csv"}).json
    assert (told["name"], told["source"], told["persons"]) == (
        "visits",
        "visits.csv",
        ["person_id"],
    )
    assert {one["name"]: one["kind"] for one in told["columns"]} == {
        "person_id": "hidden", "ward": None, "age": "number", "admitted": None, "smoker": None,
        "notes": None,
    }  # fmt: skip
    assert "2024-01" not in json.dumps(told)
    assert owner(hospital, "/api/datasets", WANTED).status == 201


def test_a_database_wants_its_table(hospital):
    path = hospital.service.path.parent / "data" / "all.duckdb"
    with duckdb.connect(str(path)) as made:
        made.execute("CREATE TABLE pay (id INTEGER, share DOUBLE)")
    refused = owner(hospital, "/api/sources/draft", {"source": "all.duckdb"})
    assert (refused.status, "table" in refused.json["message"]) == (422, True)
    told = owner(hospital, "/api/sources/draft", {"source": "all.duckdb", "table": "pay"}).json
    assert [one["storage"] for one in told["columns"]] == ["integer", "real"]
    wanted = {
        **WANTED, "name": "pay", "source": "all.duckdb", "table": "pay", "unit": "row",
        "columns": {"id": "hidden", "share": {"low": "0", "high": "1", "grid": "0.01"}},
    }  # fmt: skip
    assert owner(hospital, "/api/datasets", wanted).status == 201


def test_a_registered_dataset_can_be_asked_at_once(hospital):
    told = owner(hospital, "/api/datasets/check", WANTED)
    assert told.status == 200
    assert "Dataset visits" in told.json["words"]
    assert told.json["new_people"] == []
    assert "[dataset.visits.columns]" in told.json["added"]
    assert "visits" not in text_of(hospital)
    made = owner(hospital, "/api/datasets", WANTED)
    assert (made.status, made.json["version"]) == (201, 2)
    raw = tomllib.loads(text_of(hospital))
    assert raw["dataset"]["visits"]["source"] == "data/visits.csv"
    assert raw["family"]["patients"] == {"epsilon": 2.5, "neighbours": "add_or_remove"}
    question = {"question": "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward", "epsilon": "1"}
    answer = owner(hospital, "/api/ask", question)
    assert answer.status == 200
    assert len(answer.json["release"]["rows"]) == 4
    verified(hospital.service.ledger)
    entries = hospital.service.ledger.entries()
    (marks,) = [e.values()["marks"] for e in entries if e.kind == "data"]
    assert [mark[:2] for mark in marks] == [["data/visits.csv", WANTED["version"]]]
    noted = [e.values() for e in hospital.service.ledger.entries() if e.kind == "access"]
    assert any(one.get("what") == "policy changed" and one["who"] == "olga" for one in noted)


def test_a_family_may_have_a_delta_and_then_groups_can_be_found(hospital):
    family = {**WANTED["family"], "delta": "0.0001"}
    wanted = {**WANTED, "family": family, "columns": {**WANTED["columns"], "notes": "text"}}
    told = owner(hospital, "/api/datasets/check", wanted).json
    assert "delta 0.0001 may be spent on them" in told["words"]
    assert owner(hospital, "/api/datasets", wanted).status == 201
    assert "delta = 0.0001" in text_of(hospital)
    question = "SELECT notes, COUNT(*) AS n FROM visits GROUP BY notes"
    assert hospital.ask(question, who="olga", epsilon="1").status == 422
    answer = hospital.ask(question, who="olga", epsilon="1", delta="0.00001")
    assert (answer.status, answer.json["cost"]) == (200, "epsilon 1, delta 1e-05")


def test_an_existing_family_is_shared_and_a_new_one_is_a_decision(hospital):
    assert owner(hospital, "/api/datasets", WANTED).status == 201
    assert owner(hospital, "/api/datasets", TWO).status == 201
    again = owner(hospital, "/api/datasets", TWO)
    assert (again.status, again.json["error"]) == (409, "conflict")
    own = {**TWO, "name": "third", "source": "deep/third.csv",
           "family": {**WANTED["family"], "name": "others"}}  # fmt: skip
    checked = owner(hospital, "/api/datasets/check", own)
    assert checked.json["new_people"] == ["others"]
    before = text_of(hospital)
    refused = owner(hospital, "/api/datasets", own)
    assert (refused.status, refused.json["error"]) == (409, "conflict")
    assert "new in this ledger" in refused.json["message"]
    assert text_of(hospital) == before
    assert owner(hospital, "/api/datasets", {**own, "new_people": True}).status == 201
    taken = {**own, "name": "fourth", "new_people": True}
    assert "family 'others' already" in owner(hospital, "/api/datasets", taken).json["message"]


def test_a_source_never_changes_its_family(hospital):
    """Neither in one policy, nor through a link, nor after the dataset has gone from the text."""
    empty = text_of(hospital)
    assert owner(hospital, "/api/datasets", WANTED).status == 201
    own = {**WANTED, "name": "fresh", "new_people": True,
           "family": {**WANTED["family"], "name": "fresh"}}  # fmt: skip
    for source in ("visits.csv", "in.csv"):
        refused = owner(hospital, "/api/datasets", {**own, "source": source})
        assert refused.status == 422
        assert "two budgets" in refused.json["message"]
    family = '\n[family.other]\nepsilon = 1\nneighbours = "add_or_remove"\n'
    gone = hospital.call("PUT", "/api/policy", {"text": empty + family, "new_people": ["other"]},
                         who="olga")  # fmt: skip
    assert gone.status == 200
    for source in ("visits.csv", "in.csv"):
        refused = owner(hospital, "/api/datasets", {**own, "source": source})
        assert (refused.status, refused.json["error"]) == (409, "conflict")
        assert "belongs to the family 'patients'" in refused.json["message"]
    assert "fresh" not in hospital.service.ledger.accounts


INJECTED = [
    'x"]\n[family.evil]\nepsilon = 1000\nneighbours = "replace"\n#',
    "x]\n[analyst.eve.allowance.patients]\nepsilon = 2\n[",
    "x\n\n[server]\nhost = '0.0.0.0'",
    "'''", '"""', "\\", "a.b", "\u2028[family.evil]", "x = 1",
]  # fmt: skip


@pytest.mark.parametrize("text", INJECTED)
@pytest.mark.parametrize("place", ["name", "version", "table", "family", "column", "key", "person",
                                   "family name", "neighbours", "lookup", "delimiter"])  # fmt: skip
def test_nothing_handed_in_becomes_syntax(place, text, injectable):
    """The text reads as the old one with one dataset more, or what is wrong is told."""
    body = json.loads(json.dumps(WANTED))
    match place:
        case "name" | "version" | "table" | "delimiter":
            body[place] = text
        case "family":
            body["family"] = text
        case "family name":
            body["family"]["name"] = text
        case "neighbours":
            body["family"]["neighbours"] = text
        case "column":
            body["columns"] = {text: "hidden"}
        case "key":
            body["columns"] = {"ward": {"keys": ["n", text]}}
        case "person":
            body["unit"] = {"person": text}
        case "lookup":
            body["lookups"] = {text: {"key": text, "rows": [{text: text, "b": text}]}}
    service, before = injectable
    try:
        made = registering._with(service, DatasetWanted(**body), before)
    except ValueError:  # a delimiter of many letters, or half a character
        return
    raw, old = tomllib.loads(made), tomllib.loads(before)
    assert set(raw) <= {*old, "family", "dataset"}
    assert raw["server"] == old["server"]
    assert raw["ledger"] == old["ledger"]
    assert list(raw["dataset"]) == [body["name"]]
    family = body["family"]
    assert list(raw.get("family", {})) == ([family["name"]] if isinstance(family, dict) else [])
    assert "analyst" not in raw


@pytest.fixture(scope="module")
def injectable(tmp_path_factory):
    """A service without a server around it."""
    from discreet.server.service import Service

    folder = tmp_path_factory.mktemp("hospital")
    (folder / "data").mkdir()
    (folder / "data" / "visits.csv").write_text(HEADER + ROWS)
    service = Service(prepared(folder, EMPTY))
    yield service, service.path.read_text()
    service.close()


@settings(max_examples=60, deadline=None)
@given(name=st.text(max_size=40), column=st.text(max_size=40), key=st.text(max_size=40))
def test_any_text_is_a_value(injectable, name, column, key):
    service, before = injectable
    body = {**WANTED, "name": name, "columns": {column: {"keys": [key]}}}
    made = registering._with(service, DatasetWanted(**body), before)
    raw = tomllib.loads(made)
    assert raw["dataset"] == {name: {
        "family": "patients", "source": "data/visits.csv", "version": "2024",
        "unit": {"person": "person_id", "max_rows": 4}, "columns": {column: {"keys": [key]}},
    }}  # fmt: skip


def test_injection_over_the_socket_changes_nothing(standing):
    before = text_of(standing)
    for text in INJECTED:
        for body in ({**WANTED, "name": text}, {**WANTED, "columns": {text: "hidden"}},
                     {**WANTED, "family": text}):  # fmt: skip
            assert owner(standing, "/api/datasets", body).status == 422
    assert text_of(standing) == before


def test_what_is_wrong_comes_back_in_the_words_of_the_reader(standing):
    body = {**WANTED, "columns": {"age": {"low": "120", "high": "old"}}, "unit": {"per": "house"}}
    told = owner(standing, "/api/datasets/check", body)
    assert told.status == 422
    for words in ("[dataset.visits.columns]", "must be a number", 'got "old"', "unit"):
        assert words in told.json["message"]
    assert "2 problems" in told.json["message"] or "3 problems" in told.json["message"]


def test_a_column_that_is_not_there_is_found_before_it_is_in_force(standing):
    before = text_of(standing)
    for body in ({**WANTED, "columns": {"wrad": {"keys": ["n"]}}},
                 {**WANTED, "unit": {"person": "nobody"}}):  # fmt: skip
        answer = owner(standing, "/api/datasets", body)
        assert answer.status == 422, answer.body
    assert text_of(standing) == before


def test_who_may_register(standing):
    for who, status in (("alice", 403), ("audrey", 403), (None, 401)):
        for method, path, body in (
            ("GET", "/api/sources", None), ("POST", "/api/sources/draft", {"source": "visits.csv"}),
            ("POST", "/api/datasets", WANTED), ("POST", "/api/datasets/check", WANTED),
        ):  # fmt: skip
            assert standing.call(method, path, body, who=who).status == status
    service = standing.service
    standing.keys["scoped"] = service.access.make_key("olga", datasets=["visits"], by="tests")
    assert standing.post("/api/datasets", WANTED, who="scoped").status == 403
    assert standing.get("/api/sources", who="scoped").status == 403


def test_two_owners_at_once_both_register(hospital):
    import threading

    assert owner(hospital, "/api/datasets", WANTED).status == 201
    bodies = [TWO, {**TWO, "name": "third", "source": "deep/third.csv"}]
    found = []
    threads = [
        threading.Thread(target=lambda b=body: found.append(owner(hospital, "/api/datasets", b)))
        for body in bodies
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert [one.status for one in found] == [201, 201]
    assert set(tomllib.loads(text_of(hospital))["dataset"]) == {"visits", "more", "third"}


def test_a_text_that_was_made_from_an_old_version_is_refused(hospital):
    told = hospital.get("/api/policy", who="olga").json
    assert owner(hospital, "/api/datasets", WANTED).status == 201
    late = {"text": told["text"], "version": told["version"]}
    refused = hospital.call("PUT", "/api/policy", late, who="olga")
    assert (refused.status, "version 2 now" in refused.json["message"]) == (409, True)
    assert "visits" in text_of(hospital)


def test_numbers_are_exact_and_what_is_none_stays_text():
    from decimal import Decimal

    assert [number_of(one) for one in ("1e-9", "-.5", "007", 3, "1/3", "1.2.3", "٣", "inf")] == [
        Decimal("1e-9"), Decimal("-.5"), 7, 3, "1/3", "1.2.3", "٣", "inf",
    ]  # fmt: skip


def test_keys_may_be_whole_numbers_and_days(injectable):
    service, before = injectable
    body = {**WANTED, "columns": {
        "a": {"keys": ["1", "2"], "of": "integer"}, "b": {"keys": ["2024-01-01"], "of": "date"},
        "c": {"from": "2000", "to": "2024"}, "d": {"keys": ["1", "x"], "of": "integer"},
    }}  # fmt: skip
    found = tomllib.loads(registering._with(service, DatasetWanted(**body), before))
    columns = found["dataset"]["visits"]["columns"]
    assert columns["a"] == {"keys": [1, 2]}
    assert str(columns["b"]["keys"][0]) == "2024-01-01"
    assert columns["c"] == {"from": 2000, "to": 2024}
    assert columns["d"] == {"keys": [1, "x"]}


def test_a_public_table_has_keys_of_the_type_of_its_column(injectable):
    wanted = {
        **WANTED,
        "columns": {"age": {"from": "1", "to": "9"}, "ward": {"keys": ["n"]}},
        "lookups": {
            "level": {"key": "age", "rows": [{"age": "1", "word": "2"}]},
            "place": {"key": "ward", "rows": [{"ward": "n", "beds": 4}]},
        },
    }
    service, before = injectable
    found = tomllib.loads(registering._with(service, DatasetWanted(**wanted), before))
    lookups = found["dataset"]["visits"]["lookup"]
    assert lookups["level"]["rows"] == [{"age": 1, "word": "2"}]
    assert lookups["place"]["rows"] == [{"ward": "n", "beds": 4}]


def test_searches_are_registered(hospital):
    wanted = {
        **WANTED, "unit": {"person": "person_id", "max_rows": "find", "find_epsilon": "0.1"},
        "columns": {"age": {"find": True, "epsilon": "0.2"}},
    }  # fmt: skip
    told = owner(hospital, "/api/datasets/check", wanted)
    assert told.status == 200, told.body
    assert "found privately, once, for epsilon 0.2" in told.json["words"]
    assert owner(hospital, "/api/datasets", wanted).status == 201
    read = tomllib.loads(text_of(hospital))["dataset"]["visits"]
    assert read["unit"] == {"person": "person_id", "max_rows": "find", "find_epsilon": 0.1}
    assert read["columns"]["age"] == {"find": True, "epsilon": 0.2}


def test_the_draft_and_the_page_propose_the_same(standing):
    path = standing.service.path.parent / "data" / "visits.csv"
    told = owner(standing, "/api/sources/draft", {"source": "visits.csv"}).json
    assert [one["kind"] for one in told["columns"]] == [one.kind for one in drafted(path).columns]


def test_problems_are_problems():
    with pytest.raises(Problem):
        raise registering._no_file("x\x00", "is wrong")
