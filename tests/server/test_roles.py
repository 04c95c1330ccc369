"""Who may do what: every route, every role, the own dataset, another's, and one that is not there.

The table is compared with `checked_routes`: a route that is new and not in it fails. What is out of
somebody's scope is 404 in the very words of what does not exist.
"""

from datetime import UTC, datetime, timedelta

import pytest
from tests.curator.payroll import write_rows
from tests.server.running import prepared, running, weak

from discreet.curator.access import Access, read_secret
from discreet.server.app import PUBLIC
from discreet.server.identity import checked_routes
from discreet.server.limits import Rate

POLICY = """
[ledger]
path = "two.ledger"
[family.workers]
epsilon = 30
neighbours = "add_or_remove"
[family.clients]
epsilon = 30
neighbours = "add_or_remove"
[family.past]
epsilon = 1
neighbours = "add_or_remove"
[analyst.alice.allowance.workers]
epsilon = 5
[analyst.bob.allowance.clients]
epsilon = 5
[analyst.carol.allowance.workers]
epsilon = 5
[analyst.carol.allowance.clients]
epsilon = 5
""" + "".join(
    f"""
[dataset.{name}]
family = "{family}"
source = "{name}.csv"
version = "2024"
unit = {{ person = "id", max_rows = 2 }}
[dataset.{name}.columns]
dept = {{ keys = ["a", "b", "c"] }}
pay = {{ low = 0, high = 1000, grid = 1 }}
"""
    for name, family in (("wages", "workers"), ("orders", "clients"), ("old", "past"))
)
PEOPLE = {
    "olga": "owner", "alice": "analyst", "bob": "analyst", "carol": "analyst",
    "audrey": "auditor", "dora": "owner", "spare": "analyst", "adam": "analyst",
}  # fmt: skip
COLUMNS = ("olga", "alice", "bob", "audrey", "carol@orders", "olga@orders", "audrey@orders")
"""An owner; who may ask about wages; who may ask about orders; an auditor; keys for orders only."""
TABLE = """
                                       olga alice bob audrey | carol olga audrey, keys for orders
GET /api/me                            200   200  200   200     200  200  200
GET /api/openapi.json                  200   200  200   200     200  200  200
GET /api/datasets                      200   200  200   200     200  200  200
GET /api/datasets/{name} wages         200   200  404   200     404  404  404
GET /api/datasets/{name} orders        200   404  200   200     200  200  200
GET /api/datasets/{name} ghost         404   404  404   404     404  404  404
GET /api/budget                        200   200  200   200     200  200  200
POST /api/explain wages                200   200  404   403     404  404  403
POST /api/explain orders               200   404  200   403     200  200  403
POST /api/explain ghost                404   404  404   403     404  404  403
POST /api/errors wages                 200   200  404   403     404  404  403
POST /api/errors orders                200   404  200   403     200  200  403
POST /api/errors ghost                 404   404  404   403     404  404  403
POST /api/rehearse wages               200   200  404   403     404  404  403
POST /api/rehearse orders              200   404  200   403     200  200  403
POST /api/rehearse ghost               404   404  404   403     404  404  403
POST /api/preview wages                200   200  404   403     404  404  403
POST /api/preview orders               200   404  200   403     200  200  403
POST /api/preview ghost                404   404  404   403     404  404  403
POST /api/ask wages                    200   200  404   403     404  404  403
POST /api/ask orders                   200   404  200   403     200  200  403
POST /api/ask ghost                    404   404  404   403     404  404  403
POST /api/publish wages                200   200  404   403     404  404  403
POST /api/publish orders               200   404  200   403     200  200  403
POST /api/publish ghost                404   404  404   403     404  404  403
POST /api/publish/preview wages        200   200  404   403     404  404  403
POST /api/publish/preview orders       200   404  200   403     200  200  403
POST /api/publish/preview ghost        404   404  404   403     404  404  403
GET /api/releases                      200   200  200   200     200  200  200
GET /api/releases/{key} alice          200   200  404   200     404  404  404
GET /api/releases/{key} alice.csv      200   200  404   200     404  404  404
GET /api/releases/{key} bob            200   404  200   200     404  200  200
GET /api/releases/{key} bob.svg        200   404  200   200     404  200  200
GET /api/releases/{key} carol          200   404  404   200     404  404  404
GET /api/releases/{key} ghost          404   404  404   404     404  404  404
POST /api/releases/{key}/derive alice  200   200  404   200     404  404  404
POST /api/releases/{key}/derive bob    200   404  200   200     404  200  200
POST /api/releases/{key}/derive ghost  404   404  404   404     404  404  404
POST /api/releases/{key}/counts alice  422   422  404   422     404  404  404
POST /api/releases/{key}/counts ghost  404   404  404   404     404  404  404
GET /api/ledger                        200   403  403   200     403  403  403
GET /api/ledger/head                   200   403  403   200     403  403  403
GET /api/ledger/verify                 200   403  403   200     403  403  403
GET /api/policy                        200   403  403   200     403  403  403
PUT /api/policy                        200   403  403   403     403  403  403
POST /api/policy/check                 200   403  403   403     403  403  403
POST /api/policy/reload                200   403  403   403     403  403  403
GET /api/people                        200   403  403   403     403  403  403
POST /api/people                       201   403  403   403     403  403  403
POST /api/people/{name}/password       200   403  403   403     403  403  403
POST /api/people/{name}/disable        200   403  403   403     403  403  403
GET /api/keys                          200   403  403   403     403  403  403
POST /api/keys                         201   403  403   403     403  403  403
DELETE /api/keys/{key}                 200   403  403   403     403  403  403
GET /api/faults                        200   403  403   403     403  403  403
POST /api/datasets/{name}/retire old   200   403  403   403     403  403  403
POST /api/datasets/{name}/retire ghost 404   403  403   403     403  403  403
GET /api/sources                       200   403  403   403     403  403  403
POST /api/sources/draft                200   403  403   403     403  403  403
POST /api/datasets/check               200   403  403   403     403  403  403
POST /api/datasets                     201   403  403   403     403  403  403
POST /api/datasets/{name}/blocks/check wages 200 403 403 403    403  403  403
POST /api/datasets/{name}/blocks/check ghost 404 403 403 403    403  403  403
POST /api/datasets/{name}/blocks wages 201   403  403   403     403  403  403
POST /api/datasets/{name}/blocks ghost 404   403  403   403     403  403  403
POST /api/allowances                   200   403  403   403     403  403  403
"""


def lines():
    """Every line: the route, what it is about, and the statuses in the order of the columns."""
    for line in TABLE.strip().splitlines()[1:]:
        method, path, *rest = line.split()
        about = "" if rest[0].isdigit() else rest.pop(0)
        yield f"{method} {path}", about, [int(one) for one in rest]


def question(dataset):
    return f"SELECT dept, COUNT(*) AS n FROM {dataset} GROUP BY dept"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("roles")
    for seed, name in enumerate(("payroll", "wages", "orders", "old", "later")):
        write_rows(folder / f"{name}.csv", people=50, seed=seed)
    with pytest.MonkeyPatch.context() as patch:
        weak(patch)
        path = prepared(folder, POLICY)
        with running(path, padded=False, people=PEOPLE) as made:
            access = made.service.access
            for name in ("carol", "olga", "audrey"):
                made.keys[f"{name}@orders"] = access.make_key(name, datasets=["orders"], by="tests")
            made.keys["revoked"] = access.make_key("olga", by="tests")
            access.revoke(made.keys["revoked"].split("_")[1], by="tests")
            made.keys["disabled"] = made.keys["dora"]
            access.disable("dora", by="tests")
            secret = read_secret(made.service.ledger.head_path.with_suffix(".secret"), make=False)
            past = lambda: datetime.now(UTC) - timedelta(days=3)
            made.keys["expired"] = Access(made.service.ledger, secret, clock=past).make_key(
                "olga", days=2, by="tests"
            )
            made.spare = made.keys["spare"].split("_")[1]
            made.known = {
                name: made.ask(question(dataset), who=name, epsilon="0.1", key="monday",
                               dataset=dataset).json["id"]
                for name, dataset in (("alice", "wages"), ("bob", "orders"), ("carol", "wages"))
            }  # fmt: skip
            made.text = path.read_text()
            yield made


def request(server, route, about, number=0):
    """What is sent to a route: method, path, body."""
    method, path = route.split()
    name, _, ending = about.partition(".")
    key = server.known.get(name, "ghost") + (f".{ending}" if ending else "")
    asked = {"question": question(name), "dataset": name, "epsilon": "0.01"}
    dataset = {
        "name": "extra", "source": "payroll.csv", "family": "workers", "version": "1",
        "unit": "row", "columns": {"dept": {"keys": ["a"]}},
    }  # fmt: skip
    block = {"name": "later", "source": "later.csv", "version": "2", "people": "shared"}
    published = {
        "columns": ["pay"], "bins": [8], "ranges": [[0, 1000]], "dataset": name, "epsilon": "0.01",
    }  # fmt: skip
    bodies = {
        "/api/sources/draft": {"source": "payroll.csv"},
        "/api/datasets/check": dataset,
        "/api/datasets": dataset,
        "/api/datasets/{name}/blocks": block,
        "/api/datasets/{name}/blocks/check": block,
        "/api/allowances": {"analyst": "alice", "family": "workers", "epsilon": "5"},
        "/api/people/{name}/password": {"password": "another password"},
        "/api/explain": asked,
        "/api/errors": asked,
        "/api/rehearse": asked,
        "/api/preview": asked,
        "/api/ask": asked,
        "/api/publish": published,
        "/api/publish/preview": published,
        "/api/releases/{key}/counts": {"boxes": [[[0, 500]]]},
        "/api/releases/{key}/derive": {"by": ["dept"]},
        "/api/policy": {"text": server.text},
        "/api/policy/check": {"text": server.text},
        "/api/people": {"name": f"new{number}", "role": "analyst"},
        "/api/keys": {"person": "spare"},
    }
    body = bodies.get(path) if method != "GET" else None
    path = path.replace("{key}", server.spare if "/keys/" in path else key)
    path = path.replace("{name}", "adam" if "/people/" in path else name)
    return method, path, body


def call(server, route, about="", who=None, number=0):
    method, path, body = request(server, route, about, number)
    return server.call(method, path, body, who=who)


def test_the_table_has_every_route(server):
    routes = checked_routes(server.app, PUBLIC)
    known = {f"GET {path}" for path in PUBLIC}
    described = {
        f"{method.upper()} {path}"
        for path, methods in server.app.openapi()["paths"].items()
        for method in methods
    }
    of_the_api = {one for one in routes if one.split()[1].startswith(("/api/", "/health/"))}
    assert of_the_api == {route for route, _, _ in lines()} | known & of_the_api
    assert described >= of_the_api  # both ways of counting see the same
    assert len(of_the_api) > 25
    for route, roles in routes.items():
        assert roles or route.split()[1] in PUBLIC, route
        assert not (route.split()[1].startswith("/api/") and not roles), route


@pytest.mark.parametrize("column", range(len(COLUMNS)), ids=COLUMNS)
def test_roles(server, column):
    who = COLUMNS[column]
    wrong = []
    for number, (route, about, statuses) in enumerate(lines()):
        answer = call(server, route, about, who, number)
        if answer.status != statuses[column]:
            wrong.append(f"{route} {about}: {answer.status}, not {statuses[column]}")
        if answer.status == 403:
            assert answer.json["error"] == "forbidden"
    assert not wrong


@pytest.mark.parametrize("who", [None, "expired", "revoked", "disabled"])
def test_who_is_nobody_gets_nothing(server, who):
    bodies = set()
    server.app.state.guesses = Rate(10**9, "wrong keys")
    for route, about, _ in lines():
        answer = call(server, route, about, who)
        assert answer.status == 401, route
        bodies.add(answer.body)
    assert len(bodies) == 1
    for path in PUBLIC:
        if path.startswith("/health/"):
            assert server.call("GET", path, who=who).status == 200


def test_what_is_out_of_scope_is_told_like_what_is_not_there(server):
    """404 in the same words, but for the name that was asked for."""
    for who, hidden in (("bob", "wages"), ("alice", "orders"), ("carol@orders", "wages"),
                        ("olga@orders", "wages"), ("audrey@orders", "wages")):  # fmt: skip
        for route, about, _ in lines():
            if about != "wages":
                continue
            there = call(server, route, hidden, who)
            nowhere = call(server, route, "ghost", who)
            assert there.status == nowhere.status, (route, who)
            assert there.body.replace(hidden.encode(), b"ghost").strip() == nowhere.body.strip()
            assert there.headers.keys() == nowhere.headers.keys()


def test_naming_it_in_the_question_alone_tells_no_more(server):
    for who, hidden in (("bob", "wages"), ("carol@orders", "wages"), ("alice", "orders")):
        for path in ("/api/explain", "/api/errors", "/api/rehearse", "/api/ask"):
            for text in (question("{}"), "SELECT COUNT(*) FROM {}, orders", 'SELECT * FROM "{}"'):
                told = [
                    server.post(path, {"question": text.format(name), "epsilon": "0.01"}, who=who)
                    for name in (hidden, "ghost")
                ]
                assert told[0].status == told[1].status >= 400, (path, text)
                assert told[0].body.replace(hidden.encode(), b"ghost").strip() == (
                    told[1].body.strip()
                )


def test_what_somebody_reads_names_nothing_that_is_hidden(server):
    """All that can be read, searched for the names of what is not theirs."""
    for who, words in (
        ("bob", (b"wages", b"workers", b"alice", b"carol")),
        ("alice", (b"orders", b"clients", b"bob", b"carol")),
        ("carol@orders", (b"wages", b"workers", b"alice", b"bob")),
        ("olga@orders", (b"wages", b"workers")),
        ("audrey@orders", (b"wages", b"workers")),
    ):
        for route, about, _ in lines():
            if route.startswith("GET") and about != "wages":
                answer = call(server, route, about, who)
                found = [word for word in words if word in answer.body]
                assert answer.status != 200 or not found, (who, route, about, found)


def test_nobody_reads_another_s_release(server):
    """Not by its name, nor by part of it, in no form; and no word tells that it is there."""
    own, theirs = server.known["alice"], server.known["carol"]
    forms = ("", ".csv", ".svg", ".png", ".html", ".vl.json", ".txt", ".", "/derive", "%2ecsv")
    for form in forms:
        for name in (theirs, theirs[:-1], theirs[:6], theirs.upper(), theirs + "x", "monday"):
            there, nowhere = (
                server.call(*_release(one, form), who="alice") for one in (name, "x" * len(name))
            )
            assert there.status == nowhere.status, (name, form)
            assert there.status in (404, 405)
            assert there.body.replace(name.encode(), b"x" * len(name)) == nowhere.body
    assert server.get(f"/api/releases/{own}").status == 200
    listed = [one["key"] for one in server.get("/api/releases?limit=200").json["releases"]]
    assert own in listed
    assert theirs not in listed


def _release(name, form):
    if form == "/derive":
        return "POST", f"/api/releases/{name}/derive", {"by": ["dept"]}
    return "GET", f"/api/releases/{name}{form}", None


def test_another_s_name_for_a_question_is_free_to_take(server):
    """409 would tell that somebody has asked under it."""
    theirs = server.known["alice"]
    for key in ("monday", theirs):
        asked = server.ask(
            "SELECT SUM(pay) AS s FROM wages", who="olga", dataset="wages", epsilon="0.01", key=key
        )
        assert asked.status in (200, 409), asked.body.strip()  # an owner may know
    for key in (theirs, server.known["bob"]):
        asked = server.ask("SELECT SUM(pay) AS s FROM wages", who="carol", dataset="wages",
                           epsilon="0.01", key=key)  # fmt: skip
        assert asked.status == 200
        assert asked.json["id"] not in server.known.values()


def test_a_narrow_key_makes_no_wide_one(server):
    """An owner's key for one dataset could otherwise make itself one for all."""
    body = {"person": "olga", "days": 366}
    assert server.post("/api/keys", body, who="olga@orders").status == 403
    assert server.post("/api/keys", body, who="olga").status == 201


def test_an_analyst_who_left_the_policy_asks_nothing(server):
    server.service.access.add("zoe", "analyst", by="tests")
    server.keys["zoe"] = server.service.access.make_key("zoe", by="tests")
    assert server.get("/api/datasets", who="zoe").json == {"datasets": []}
    assert server.get("/api/datasets/wages", who="zoe").status == 404
    assert server.ask(question("wages"), who="zoe", dataset="wages").status == 404
    assert server.get("/api/budget", who="zoe").json == {"accounts": []}
