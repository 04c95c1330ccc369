"""Who asks, and which roles may do what, without a socket; test_forgery.py has the attacks."""

from types import SimpleNamespace

import pytest
from fastapi import APIRouter, FastAPI
from starlette.applications import Starlette
from starlette.requests import Request

from discreet.curator.access import Credential, Person
from discreet.curator.policy.model import Server
from discreet.server import identity
from discreet.server.identity import Anyone, Owner, address_of, checked_routes, origin_is_own
from discreet.server.problems import Problem
from discreet.server.settings import Settings


def app_with(*routes, prefix=""):
    made, inner = FastAPI(openapi_url=None, docs_url=None, redoc_url=None), APIRouter()
    for path, endpoint in routes:
        inner.get(path)(endpoint)
    made.include_router(inner, prefix=prefix)
    return made


def for_owners(who: Owner) -> None: ...


def for_all(who: Anyone) -> None: ...


def for_nobody() -> None: ...


def test_every_route_says_its_roles():
    found = checked_routes(app_with(("/a", for_owners), ("/b", for_all), prefix="/x"), set())
    assert found == {"GET /x/a": ("owner",), "GET /x/b": ("owner", "analyst", "auditor")}


def test_a_route_that_says_none_is_refused_unless_it_is_public():
    app = app_with(("/a", for_owners), ("/b", for_nobody))
    with pytest.raises(AssertionError, match="/b says no role"):
        checked_routes(app, set())
    assert checked_routes(app, {"/b"})["GET /b"] == ()


def test_routers_in_routers_and_other_applications_are_not_forgotten():
    outer, inner = APIRouter(prefix="/outer"), APIRouter(prefix="/inner")
    inner.post("/c")(for_nobody)
    outer.include_router(inner)
    app = app_with(("/a", for_owners))
    app.include_router(outer)
    with pytest.raises(AssertionError, match="/outer/inner/c says no role"):
        checked_routes(app, set())
    mounted = app_with(("/a", for_owners))
    mounted.mount("/files", Starlette())
    with pytest.raises(AssertionError, match="/files says no role"):
        checked_routes(mounted, set())
    checked_routes(mounted, {"/files"})


def credential(role, datasets=None):
    return Credential(Person("x", role, datasets, None, False, False), "k", datasets)


@pytest.mark.parametrize(
    ("roles", "whole", "who", "let_in"),
    [
        (("owner",), True, credential("owner"), True),
        (("owner",), True, credential("owner", ("a",)), False),
        (("owner",), True, credential("analyst"), False),
        (("owner", "analyst"), False, credential("analyst", ("a",)), True),
        (("owner", "analyst"), False, credential("auditor"), False),
    ],
)
def test_roles_and_scopes(monkeypatch, roles, whole, who, let_in):
    monkeypatch.setattr(identity, "_credential", lambda request: who)
    wanted = identity._role(*roles, whole=whole)
    if let_in:
        assert wanted(None) is who
        return
    with pytest.raises(Problem) as refused:
        wanted(None)
    assert refused.value.kind == "forbidden"


def asked(headers, **settings):
    server = settings.pop("server", Server())
    service = SimpleNamespace(settings=Settings(server, **settings))
    app = SimpleNamespace(state=SimpleNamespace(service=service))
    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    return Request({"type": "http", "headers": raw, "app": app, "method": "POST"})


@pytest.mark.parametrize(
    ("headers", "own"),
    [
        ({}, True),
        ({"origin": "http://a:1"}, True),
        ({"origin": "https://a:1"}, True),
        ({"origin": "http://a"}, False),
        ({"origin": "ftp://a:1"}, False),
        ({"origin": "null"}, False),
        ({"sec-fetch-site": "cross-site"}, False),
        ({"sec-fetch-site": "same-origin"}, True),
    ],
)
def test_where_a_browser_says_it_comes_from(headers, own):
    assert origin_is_own(asked({"host": "a:1", **headers})) is own


def test_a_page_in_clear_is_not_the_own_page_of_a_server_with_tls():
    for scheme, own in (("http", False), ("https", True)):
        request = asked({"host": "a", "origin": f"{scheme}://a"}, behind_proxy=True)
        assert origin_is_own(request) is own


@pytest.mark.parametrize(
    ("written", "found"),
    [
        (None, "10.0.0.1"),
        ("", "10.0.0.1"),
        ("198.51.100.7", "198.51.100.7"),
        ("1.2.3.4, 198.51.100.7", "198.51.100.7"),
        ("2001:db8::1", "2001:db8::/64"),
        ("1.2.3.4, [2001:db8::ffff:2]", "2001:db8::/64"),
        ("x" * 1000, "x" * 64),
    ],
)
def test_behind_a_proxy_an_address_is_the_one_that_the_proxy_wrote(written, found):
    headers = {} if written is None else {"x-forwarded-for": written}
    request = asked(headers, behind_proxy=True)
    request.scope["client"] = ("10.0.0.1", 1)
    assert address_of(request) == found


def test_without_a_proxy_nobody_says_an_address():
    request = asked({"x-forwarded-for": "198.51.100.7"})
    request.scope["client"] = ("2001:db8::2", 1)
    assert address_of(request) == "2001:db8::/64"


def test_of_two_headers_the_last_was_written_by_the_proxy():
    request = asked({"x-forwarded-for": "1.2.3.4"}, behind_proxy=True)
    request.scope["headers"].append((b"x-forwarded-for", b"198.51.100.7"))
    assert address_of(request) == "198.51.100.7"


def test_the_cookie_is_bound_to_its_host():
    assert identity.COOKIE.startswith("__Host-")
