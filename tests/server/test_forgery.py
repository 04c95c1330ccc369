"""Keys that are guessed, sessions that are ridden: whether a request is its sender's own.

The pages that sign people in are tested in tests/server/page; here sessions come from the service.
"""

import statistics
import time

import pytest
from tests.server.running import PASSWORD, prepared, running, weak
from tests.server.wire import head, sent

from discreet.server.identity import COOKIE, CSRF

FREE = {"question": "SELECT COUNT(*) FROM payroll", "epsilon": "0.5"}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        weak(patch)
        with running(prepared(tmp_path_factory.mktemp("forgery"))) as made:
            yield made


def signed_in(server, name="alice"):
    token, session = server.service.access.login(name, PASSWORD)
    return f"{COOKIE}={token}", session.csrf


def me(server, *lines, source="127.0.0.1"):
    return sent(server, head(server, "GET /api/me HTTP/1.1", *lines), source=source)


# keys


def other_than(digit):
    return "0" if digit != "0" else "1"


def wrong_keys(key):
    """Near misses of a key: none of them is it."""
    _, which, secret = key.split("_")
    return [
        f"dk_{which}_{secret[:-1]}{other_than(secret[-1])}",
        f"dk_{which}_{other_than(secret[0])}{secret[1:]}",
        f"dk_{'0' * 12}_{secret}",
        f"dk_{which}_{secret[:-1]}", f"dk_{which}_{secret}0", f"dk_{which}_", f"dk_{which}",
        f"dk_{which[:6]}_{secret}", f"{which}_{secret}", secret, "", "dk__", "null",
        f"dk_{which}_{secret.upper()}", f"DK_{which}_{secret}", f"dk_{which}_{secret}, x",
        f"dk_{which}_{'0' * 64}", f"dk_{which}_*", f"dk_%_{secret}", f"dk_{which}_{secret}\xe9",
        "x" * 10_000, f"dk_{which}_{secret} dk_{which}_{secret}",
    ]  # fmt: skip


def test_near_misses_of_a_key_open_nothing(server):
    answers = []
    right = server.keys["alice"]
    for number, key in enumerate(wrong_keys(right)):
        assert key != right
        source = f"127.0.1.{number + 1}"
        answers.append(me(server, f"Authorization: Bearer {key}", source=source))
    assert {one.status for one in answers} == {401}
    assert len({one.body for one in answers}) == 1  # none tells how near it was
    assert len({tuple(one.headers.items()) for one in answers}) == 1


def test_other_schemes_open_nothing(server):
    key = server.keys["alice"]
    for number, said in enumerate(
        (f"Basic {key}", key, f"Token {key}", f"Digest {key}", f"Bearer{key}", f"Bearer:{key}",
         "Bearer", "", f"Basic alice:{PASSWORD}", f"Negotiate {key}", f"bearer  x {key}")
    ):  # fmt: skip
        answer = me(server, f"Authorization: {said}", source=f"127.0.2.{number + 1}")
        assert answer.status == 401, said
    for said in (f"Bearer {key}", f"bearer {key}", f"BEARER  {key}"):
        assert me(server, f"Authorization: {said}").status == 200
    for line in (f"X-API-Key: {key}", f"Cookie: {COOKIE}={key}", f"Cookie: key={key}"):
        assert me(server, line).status == 401
    assert sent(server, head(server, f"GET /api/me?key={key} HTTP/1.1")).status == 401


def test_guessing_is_limited_and_keeps_nobody_out(server):
    """Thirty a minute from one address; right keys from the same one go on."""
    key, source = server.keys["alice"], "127.0.3.1"
    _, which, _ = key.split("_")
    statuses = []
    for number in range(34):
        guess = f"dk_{which if number % 2 else '0' * 12}_{number:064x}"
        answer = me(server, f"Authorization: Bearer {guess}", source=source)
        statuses.append(answer.status)
    assert set(statuses[:30]) == {401}
    assert statuses[-1] == 429
    assert 1 <= int(answer.headers["retry-after"]) <= 2
    assert me(server, f"Authorization: Bearer {key}", source=source).status == 200
    other = me(server, "Authorization: Bearer dk_x", source="127.0.3.2")
    assert other.status == 401


def test_an_unknown_id_takes_as_long_as_a_wrong_secret(server):
    """But for the row that is read: some four of thirty microseconds, seen inside the process.

    Both take the way with one look-up and one comparison, and an id is no secret. Interleaved;
    where each call varies by a fifth, a median of 600 varies by a hundredth, so that the band is
    more than ten standard deviations away from the ratio, which is 0.87.
    """
    access, which = server.service.access, server.keys["alice"].split("_")[1]
    tries = {"id": f"dk_{'0' * 12}_{'1' * 64}", "secret": f"dk_{which}_{'1' * 64}"}
    times = {name: [] for name in tries}
    for _ in range(600):
        for name, key in tries.items():
            began = time.perf_counter_ns()
            assert access.by_key(key) is None
            times[name].append(time.perf_counter_ns() - began)
    unknown, wrong = (statistics.median(one) for one in times.values())
    assert 0.7 < unknown / wrong < 1.4


def test_a_key_beats_a_cookie(server):
    """Whoever sends a key is who the key says, or nobody: the cookie is not looked at."""
    cookie, _ = signed_in(server, "olga")
    key = server.keys["alice"]
    both = me(server, f"Authorization: Bearer {key}", f"Cookie: {cookie}")
    assert both.json["name"] == "alice"
    for said in ("Bearer dk_x", "Basic x", ""):
        answer = me(server, f"Authorization: {said}", f"Cookie: {cookie}", source="127.0.4.1")
        assert answer.status == 401


# sessions


def explain(server, cookie, **headers):
    return server.call("POST", "/api/explain", FREE, headers={"Cookie": cookie, **headers})


def test_a_session_is_enough_to_read_and_not_to_act(server):
    cookie, csrf = signed_in(server)
    assert server.call("GET", "/api/me", headers={"Cookie": cookie}).json["name"] == "alice"
    assert explain(server, cookie).status == 403
    assert explain(server, cookie, **{CSRF: csrf}).status == 200


@pytest.mark.parametrize("token", ["", "x", "0" * 64, "other", "cut", "longer", "upper", "\xe9"])
def test_a_token_that_is_not_this_session_s(server, token):
    cookie, csrf = signed_in(server)
    _, others = signed_in(server)  # the same person, signed in again
    assert others != csrf
    said = {"other": others, "cut": csrf[:-1], "longer": csrf + "0", "upper": csrf.upper()}
    answer = explain(server, cookie, **{CSRF: said.get(token, token)})
    assert answer.status == 403
    assert answer.json["error"] == "forbidden"


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": ""},
        {"Origin": "http://127.0.0.1"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "http://{host}.evil.example"},
        {"Origin": "http://evil.example/{host}"},
        {"Origin": "file://{host}"},
        {"Origin": "{host}"},
        {"Origin": "http://{host}/"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": ""},
        {"Origin": "https://evil.example", "Sec-Fetch-Site": "same-origin"},
        {"Origin": "https://evil.example", "Referer": "http://{host}/"},
    ],
)
def test_another_site_cannot_ride_a_session(server, headers):
    """With the right token, even: what a browser says of where it comes from counts."""
    cookie, csrf = signed_in(server)
    host = f"127.0.0.1:{server.port}"
    said = {name: value.format(host=host) for name, value in headers.items()}
    assert explain(server, cookie, **{CSRF: csrf}, **said).status == 403


def test_the_own_page_may_act(server):
    cookie, csrf = signed_in(server)
    own = f"http://127.0.0.1:{server.port}"
    for said in ({"Origin": own}, {"Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"}):
        assert explain(server, cookie, **{CSRF: csrf}, **said).status == 200


def test_every_route_that_acts_wants_the_token(server):
    from discreet.server.app import PUBLIC
    from discreet.server.identity import checked_routes

    cookie, _ = signed_in(server, "olga")
    acting = 0
    for route, roles in checked_routes(server.app, PUBLIC).items():
        method, path = route.split()
        if method in ("GET", "HEAD") or not roles or not path.startswith("/api/"):
            continue
        acting += 1
        for name in ("{name}", "{key}"):
            path = path.replace(name, "x")
        body = {} if method in ("POST", "PUT") else None
        answer = server.call(method, path, body, headers={"Cookie": cookie})
        assert answer.status == 403, route
        assert "page of this server" in answer.json["message"]
    assert acting >= 12


@pytest.mark.parametrize("token", ["", "0" * 64, "x" * 500, "'", "null", "\xff" * 64])
def test_sessions_that_are_none(server, token):
    answer = me(server, f"Cookie: {COOKIE}={token}")
    assert answer.status == 401
    assert b"nobody is signed in" in answer.body


def test_a_session_ends_at_once(server):
    access = server.service.access
    token, _ = access.login("alice", PASSWORD)
    line = f"Cookie: {COOKIE}={token}"
    assert me(server, line).status == 200
    access.logout(token)
    assert me(server, line).status == 401


def test_a_revoked_key_ends_at_once(server):
    access = server.service.access
    key = access.make_key("bob", by="tests")
    assert me(server, f"Authorization: Bearer {key}").status == 200
    access.revoke(key.split("_")[1], by="tests")
    assert me(server, f"Authorization: Bearer {key}", source="127.0.5.1").status == 401
