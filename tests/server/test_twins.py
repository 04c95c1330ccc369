"""Twin servers that differ in one person: one request stream, one behaviour (promises P3 and P7).

Guarantee. Nothing but noise differs: not a status, a header, a length, a word of an error, a group,
a charge or the number of entries in the ledger.
"""

import os
import time

import pytest
from tests.query import hostile
from tests.server.grammar import Grammar
from tests.server.running import weak
from tests.server.twins import CLIENTS, FINDING, POLICY, only, twins

from discreet.curator.faults import faults
from discreet.engines.duckdb import DuckDB
from discreet.errors import EngineError
from discreet.publish import histogram

TORTURE = int(os.environ.get("TORTURE", "0"))
FUZZED = 50_000 if TORTURE else 2_000
EPSILON = {"epsilon": "0.000001", "delta": "1e-12"}
COUNT = "SELECT dept, COUNT(*) AS n FROM t GROUP BY dept"
MEAN = "SELECT dept, AVG(salary) AS m FROM t GROUP BY dept"
NOTES = "SELECT note, COUNT(*) AS n FROM t GROUP BY note"


@pytest.fixture(scope="module")
def patch():
    """Passwords that take no time, and histograms that draw few times how wide an interval is."""
    with pytest.MonkeyPatch.context() as made:
        weak(made)
        made.setattr(histogram, "DRAWS", 20)
        yield made


@pytest.fixture(scope="module", params=["csv", "parquet"])
def pair(request, patch, tmp_path_factory):
    """Twins that answer as soon as they can."""
    with twins(tmp_path_factory.mktemp("twins"), request.param, padded=False) as made:
        yield made


def asked_everywhere(pair, questions):
    """Ask all, compare the charge after each; how often each status was seen."""
    seen = {}
    with pair.caller() as caller:
        for question in questions:
            found, _ = caller.ask(question, **EPSILON)
            seen[found.status] = seen.get(found.status, 0) + 1
            before = pair.same_books()
            if found.status != 200:
                assert "SECRET" not in found.body.decode()
            assert found.status in (200, 422), (question, found.body)
    assert before == pair.same_books()
    return seen


@pytest.mark.slow
@pytest.mark.parametrize("position", hostile.POSITIONS)
def test_hostile_expressions(pair, position):
    """Every expression of the corpus in four positions: half of them on CSV, half on Parquet, and
    all on both with TORTURE set.
    """
    place = hostile.POSITIONS[position]
    mine = hostile.EXPRESSIONS
    if not TORTURE:
        mine = mine[pair.kind == "csv" :: 2]
    seen = asked_everywhere(pair, [place.format(one) for one in mine])
    assert sum(seen.values()) >= 75
    assert seen[422] > seen.get(200, 0) > 0


@pytest.mark.slow
def test_hostile_questions(pair):
    """What is no SELECT, holds several statements, or is far too long."""
    mine = [one for one in hostile.QUERIES if 0 < len(one) <= 20_000]
    asked_everywhere(pair, mine if TORTURE else mine[pair.kind == "csv" :: 2])


@pytest.mark.slow
@pytest.mark.parametrize("client", CLIENTS)
def test_fuzzed_questions(pair, client):
    """Random questions: a third and more are answered, by both in the same form.

    Four streams, each with its own seed and its own allowance, which is compared after each one.
    """
    stream = 2 * CLIENTS.index(client) + (pair.kind == "csv")
    grammar, answered, wanted = Grammar(stream), 0, FUZZED // 4
    with pair.caller(client) as caller:
        for _ in range(wanted):
            body = grammar.asked()
            found, _ = caller.both("POST", "/api/ask", body)
            first, second = caller.allowance()
            assert first == second, body
            answered += found.status == 200
            assert found.status in (200, 404, 422), (body, found.body)
    pair.same_books()
    assert answered >= wanted / 3


def test_what_is_free_is_the_same_to_the_last_byte(pair):
    with pair.caller() as caller:
        for path in ("/api/me", "/api/datasets", "/api/datasets/t", "/api/budget", "/api/faults",
                     "/api/ledger", "/api/policy", "/api/openapi.json", "/health/ready", "/api/x",
                     "/api/releases/x", "/api/datasets/u"):  # fmt: skip
            first, second = caller.both("GET", path)
            assert first.body == second.body, path
        for question in (COUNT, MEAN, NOTES, "SELECT error(note) FROM t", "SELECT wages FROM t"):
            body = {"question": question, "epsilon": "0.1", "delta": "1e-6"}
            for path in ("/api/explain", "/api/errors"):
                first, second = caller.both("POST", path, body)
                assert first.body == second.body, path
            caller.both("POST", "/api/rehearse", body, sized=False)
    pair.same_books()


def test_releases_in_every_form(pair):
    """What is stored tells no more than the answer: no failure, no number of an entry."""
    with pair.caller() as caller:
        answers = caller.ask(MEAN, epsilon="0.001", key=f"stored-{pair.kind}")
        keys = [one.json["id"] for one in answers]
        listed = caller.both("GET", "/api/releases?limit=2", sized=False)
        assert set(listed[0].json["releases"][0]) == {
            "key", "sql", "dataset", "block", "cost", "paid", "at"
        }  # fmt: skip
        told = [[(x["cost"], x["paid"]) for x in one.json["releases"]] for one in listed]
        assert told[0] == told[1]
        for ending in ("", ".csv", ".html", ".vl.json"):
            seen = []
            for place, key in enumerate(keys):
                caller.send(place, "GET", f"/api/releases/{key}{ending}")
                seen.append(caller.receive(place))
            kept = [
                [h for h in one.headers if h[0] not in ("content-length", "content-disposition")]
                for one in seen
            ]
            assert kept[0] == kept[1]
            assert seen[0].status == seen[1].status == 200
            if not ending:
                assert seen[0].form(sized=False)[2] == seen[1].form(sized=False)[2]
                assert seen[0].json["entry"] == 0
                assert "failed" not in seen[0].json
    pair.same_books()


def test_keys_are_answered_once(pair):
    """The same key again, the same question again, and the key of another question."""
    with pair.caller() as caller:
        for _ in range(2):
            first = caller.ask(COUNT, epsilon="0.002", key="monday")
            again = caller.ask(COUNT, epsilon="0.002", key="monday")
            assert [one.body for one in first] == [one.body for one in again]
            assert caller.ask(COUNT, epsilon="0.003", key="monday")[0].status == 409
            caller.ask(COUNT, epsilon="0.001")
            pair.same_books()


def test_refusals_come_at_the_same_request(pair):
    """An allowance of 0.01, asked for a tenth of it again and again, and for what is left."""
    statuses = []
    with pair.caller("bob") as caller:
        for step in range(14):
            more = {"with_what_is_left": True} if step == 12 else {}
            found, _ = caller.ask(f"{COUNT} HAVING n > {step}", epsilon="0.0015", **more)
            statuses.append(found.status)
            pair.same_books()
            caller.both("GET", "/api/budget")
    assert statuses == [200] * 6 + [402] * 6 + [200, 402]


PUBLISHED = {
    "histogram": {"columns": ["age"], "bins": [60], "ranges": [[0, 120]]},
    "map": {"columns": ["salary", "age"], "bins": [8, 8], "ranges": [[0, 400000], [0, 120]]},
    "where": {"columns": ["salary"], "bins": [512], "ranges": [[0, 400000]],
              "where": "note LIKE '%SECRET%'"},
    "hostile": {"columns": ["1 / (age - 42)"], "bins": [8], "ranges": [[0, 1]]},
    "find": {"columns": ["note"], "bins": [8], "ranges": [[0, 1]]},
}  # fmt: skip
LEVELS = "SELECT dept, active, COUNT(*) AS n FROM t GROUP BY ROLLUP (dept, active)"


def published_everywhere(caller, pair, name, **more):
    """The forms of the page: what is foreseen, published, asked of it and listed."""
    body = {**PUBLISHED[name], "epsilon": "0.05", **more}
    foreseen = caller.both("POST", "/api/publish/preview", body, sized=False)
    found = caller.both("POST", "/api/publish", body)
    assert foreseen[0].status == found[0].status, name
    first, second = caller.allowance()
    assert first == second
    pair.same_books()
    if found[0].status != 200:
        assert foreseen[0].body == foreseen[1].body
        assert "SECRET" not in found[0].body.decode()
        return False
    axes = len(body["columns"])
    for asked in ({"boxes": [body["ranges"]], "rebin": [4] * axes}, {"rebin": [5000] * axes}):
        seen = []
        for place, one in enumerate(found):
            caller.send(place, "POST", f"/api/releases/{one.json['id']}/counts", asked)
            seen.append(caller.receive(place))
        assert seen[0].status == seen[1].status, asked
        assert seen[0].status == 200 or seen[0].body == seen[1].body
    return True


def test_what_is_published(pair):
    """Histograms, maps and roll-ups, foreseen and paid: status, headers, length and charge."""
    with pair.caller() as caller:
        outcomes = [published_everywhere(caller, pair, name) for name in PUBLISHED]
        assert outcomes == [True, True, True, True, False]
        for path in ("/api/explain", "/api/errors"):
            first, second = caller.both("POST", path, {"question": LEVELS, "epsilon": "0.1"})
            assert first.status == 200
            assert first.body == second.body
        caller.both("POST", "/api/rehearse", {"question": LEVELS, "epsilon": "0.1"}, sized=False)
        for _ in range(2):  # charged once, whoever asks again
            assert caller.ask(LEVELS, epsilon="0.01", key="levels")[0].status == 200
            pair.same_books()


@pytest.mark.parametrize("name", ["fails", "breaks", "tells nonsense"])
def test_what_is_published_by_an_engine_that_fails_for_a_row(pair, monkeypatch, name):
    only(pair.having, monkeypatch, FAILURES[name])
    with pair.caller() as caller:
        assert published_everywhere(caller, pair, "histogram", where=f"age > {len(name)}")
        caller.ask(f"{LEVELS.replace('FROM t', f'FROM t WHERE age > {len(name)}')}", epsilon="0.01")
        pair.same_books()


# engines that fail for the sake of a row


def failing(*_, **__):
    raise EngineError("SECRET row") from ValueError("SECRET")


def broken(*_, **__):
    raise MemoryError("SECRET")


def wrong(*_, **__):
    return [{("nobody",): (2**80,)}]


FAILURES = {"fails": failing, "breaks": broken, "tells nonsense": wrong}


@pytest.mark.parametrize("name", FAILURES)
def test_an_engine_that_fails_for_a_row(pair, monkeypatch, name):
    """One twin's engine fails, the other's answers: nobody can tell from outside."""
    only(pair.having, monkeypatch, FAILURES[name])
    ledger = pair.having.service.ledger
    before = len(faults(ledger, 1000))
    with pair.caller() as caller:
        for question in (COUNT, MEAN, NOTES, "SELECT MEDIAN(age) AS m FROM t"):
            asked = f"{question} LIMIT {10**6 + len(name)}"  # not asked before
            first, second = caller.ask(asked, epsilon="0.001", delta="1e-9")
            assert first.status == second.status == 200
            assert b"SECRET" not in second.body
            pair.same_books()
        caller.both("GET", "/api/releases", sized=False)
        caller.both("GET", "/api/budget")
        caller.both("GET", "/api/faults")
    assert len(faults(ledger, 1000)) > before


FAMILIES = {
    "private": "epsilon = 1000",
    "public": 'epsilon = 1000\nreleases = "public"',
    "telling": "epsilon = 0.06\ntells_rest = true",
    "short": "epsilon = 0.06",
}
"""The last two run out of budget on the way: what is left is told, or that it does not suffice."""


def asked_by(caller, pair, prices=("0.002", "0.001", "0.003")):
    """Everything that was asked, again: as it was, coarser, better, by a key; and what is free."""
    body = {**PUBLISHED["histogram"], "epsilon": "0.002"}
    for question in (COUNT, MEAN, LEVELS, "SELECT MEDIAN(age) AS m FROM t"):
        for epsilon in prices:
            caller.ask(question, epsilon=epsilon)
            pair.same_books()
    for key in ("k", "k", "other"):
        caller.ask(COUNT, epsilon="0.002", key=key)
        pair.same_books()
    caller.both("POST", "/api/publish/preview", body, sized=False)
    for epsilon in prices:
        caller.both("POST", "/api/publish", {**body, "epsilon": epsilon})
        pair.same_books()
    caller.ask(f"{COUNT} HAVING n > 1", epsilon="0.5", with_what_is_left=True)
    pair.same_books()
    for path in ("/api/budget", "/api/faults", "/api/ledger", "/api/me"):
        caller.both("GET", path)
    caller.both("GET", "/api/releases", sized=False)
    for path in ("/api/explain", "/api/errors"):
        caller.both("POST", path, {"question": COUNT, "epsilon": "0.1"})


@pytest.mark.parametrize("family", FAMILIES)
def test_what_comes_after_a_failure(patch, tmp_path, monkeypatch, family):
    """One twin's engine fails for a while: every later request of anybody is answered by both in
    one form, with the same charges.
    """
    policy = POLICY.replace("epsilon = 1000", FAMILIES[family], 1)
    with twins(tmp_path, policy=policy, allowance="0.05", padded=False) as pair:
        with monkeypatch.context() as broken, pair.caller("c0") as caller:
            only(pair.having, broken, failing)
            asked_by(caller, pair, ("0.002",))
        for who in ("c1", "bob", "c0"):
            with pair.caller(who) as caller:
                asked_by(caller, pair)
        assert faults(pair.having.service.ledger)


@pytest.mark.slow
@pytest.mark.parametrize("question", [COUNT, "SELECT SUM(bonus) AS s FROM t"])
def test_who_asks_meanwhile_pays_the_same_however_long_a_row_takes(
    patch, tmp_path, monkeypatch, question
):
    """One twin's database takes long. Releases are public: what is stored costs nothing.

    Somebody else asks the same meanwhile: when the fast twin has the answer, or what is searched
    for, and the slow one has not. (Stored are both after 1.8 seconds, and after 4.8.)
    """
    run = DuckDB.run

    def slow(*given, **more):
        time.sleep(0.7)
        return run(*given, **more)

    policy = POLICY.replace("epsilon = 1000", FAMILIES["public"], 1)
    body = {"question": question, "epsilon": "0.01"}
    with (
        twins(tmp_path, policy=policy, deadlines=(6, 7)) as pair,
        pair.caller("c0") as first,
        pair.caller("c1") as second,
    ):
        only(pair.having, monkeypatch, slow)
        for caller, pause in ((first, 0.35), (second, 0.0)):
            for place in (0, 1):
                caller.send(place, "POST", "/api/ask", body)
            time.sleep(pause)
        for caller in (first, second):
            assert [caller.receive(place).status for place in (0, 1)] == [200, 200]
            assert caller.allowance()[0] == caller.allowance()[1]
        pair.same_books()


FOUND = "SELECT SUM(bonus) AS s FROM t"
LATER = ["SELECT dept, AVG(bonus) AS m FROM t GROUP BY dept", f"{FOUND} WHERE age > 30", COUNT]


@pytest.mark.slow
@pytest.mark.parametrize("block", [None, "b"])
@pytest.mark.parametrize("name", FAILURES)
def test_a_search_that_fails_for_a_row(patch, tmp_path, monkeypatch, name, block):
    """Bounds and rows are to be found, and one twin's engine fails until it comes back.

    Every question is charged and answered by both in one form: those before and after, one that
    searches again, and those of somebody else.
    """
    with twins(tmp_path, policy=FINDING, padded=False) as pair:
        ledger = pair.having.service.ledger

        def asked(caller, question, epsilon="0.001", **more):
            first, second = caller.ask(question, epsilon=epsilon, block=block, **more)
            assert first.status == second.status == 200, (first.body, second.body)
            assert b"SECRET" not in second.body
            assert caller.allowance(block)[0] == caller.allowance(block)[1]
            told = [" not found" in str(one.json["release"]["notes"]) for one in (first, second)]
            pair.same_books()
            return told

        with pair.caller() as caller:
            with monkeypatch.context() as broken:
                only(pair.having, broken, FAILURES[name])
                for question in (FOUND, *LATER):
                    assert asked(caller, question) == [False, True]
            for question in (FOUND, *LATER):
                for epsilon in ("0.001", "0.002"):  # stored, and combined with what is
                    assert asked(caller, question, epsilon) == [False, True]
            assert asked(caller, FOUND, "0.003", search_again=True, key="k") == [False, False]
            assert asked(caller, LATER[0], "0.003") == [False, False]
            caller.both("GET", "/api/releases", sized=False)
            caller.both("GET", "/api/budget")
            caller.both("GET", "/api/faults")
        with pair.caller("c1") as caller:
            assert asked(caller, FOUND, "0.004") == [False, True]
        assert faults(ledger) or name == "tells nonsense"  # nobody noticed: it is what was found


@pytest.mark.slow
def test_fuzzed_questions_that_need_a_search(patch, tmp_path):
    """As above, where whatever counts rows has to find how many of a person count."""
    grammar, answered, wanted = Grammar(7), 0, FUZZED // 10
    with twins(tmp_path, policy=FINDING, padded=False) as pair, pair.caller() as caller:
        for _ in range(wanted):
            body = grammar.asked()
            found, _ = caller.both("POST", "/api/ask", body)
            first, second = caller.allowance()
            assert first == second, body
            answered += found.status == 200
            assert found.status in (200, 404, 422), (body, found.body)
        pair.same_books()
    assert answered >= wanted / 3


def test_a_connection_that_a_row_has_broken(pair, monkeypatch):
    """After a failure the next question is answered like any other: no outage for one person."""

    def fall(engine, *_, **__):
        engine._connection.close()
        raise EngineError("SECRET row")

    only(pair.having, monkeypatch, fall)
    with pair.caller() as caller:
        for step in range(6):
            first, second = caller.ask(f"{COUNT} HAVING n > {step}", **EPSILON)
            assert first.status == second.status == 200
            pair.same_books()


@pytest.mark.slow
def test_an_engine_that_takes_too_long_for_a_row(patch, tmp_path, monkeypatch):
    """It is stopped within its share of the deadline; the answer leaves on time, and is paid."""
    slow = "SELECT SUM(a.range * b.range) FROM range(100000) a, range(100000) b"
    inner = DuckDB.run
    with twins(tmp_path, deadlines=("1.5", "3"), stopping=True) as pair, pair.caller() as caller:
        only(pair.having, monkeypatch, lambda *one, **more: inner(*one[:2], slow, **more))
        for question in (COUNT, MEAN):
            began = time.monotonic()
            first, second = caller.ask(question, **EPSILON)
            assert time.monotonic() - began >= 1.5
            assert first.status == second.status == 200
            pair.same_books()
        told = faults(pair.having.service.ledger)
    assert len(told) == 2
    assert "longer than" in told[0]
