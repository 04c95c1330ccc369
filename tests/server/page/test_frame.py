"""The frame of all pages: who sees which, how values are escaped, failures as pages."""

import json
import re

import pytest
from jinja2 import UndefinedError
from tests.server.page.visiting import HTML, Visitor, text, visitor

from discreet.server.app import PUBLIC
from discreet.server.page import frame
from discreet.server.page.frame import is_page, local, on_page
from discreet.server.problems import KINDS, Problem

EVIL = "<script>alert('x')</script>\"'&"


def test_nobody_sees_a_page_without_signing_in(server):
    visited = Visitor(server).get("/datasets?x=1")
    assert (visited.status, visited.headers["location"]) == (303, "/login?next=/datasets%3Fx%3D1")
    assert Visitor(server).get("/").headers["location"] == "/login"
    api = Visitor(server).get("/api/datasets")
    assert (api.status, api.json["error"]) == (401, "unauthorized")


def test_a_key_opens_no_page(server):
    answer = server.get("/datasets", headers=HTML)
    assert (answer.status, answer.headers["location"]) == (303, "/login?next=/datasets")


def test_pages_have_the_headers_of_the_guard_and_are_not_kept(server):
    for answer in (visitor(server).get("/datasets"), Visitor(server).get("/login")):
        assert answer.status == 200
        assert answer.headers["cache-control"] == "no-store"
        policy = answer.headers["content-security-policy"]
        assert "script-src 'self';" in policy
        assert "unsafe" not in policy
        assert "img-src 'self';" in policy
        assert "data:" not in policy
        icon = re.search(
            r'<link rel="icon" type="image/svg\+xml" href="(/static/[^"]+)">', text(answer)
        )
        shown = Visitor(server).get(icon[1])
        assert (shown.status, shown.body[:4]) == (200, b"<svg")
        assert shown.headers["content-type"] == "image/svg+xml; charset=utf-8"
        assert answer.headers["x-frame-options"] == "DENY"
        assert "content-encoding" not in answer.headers


def test_nothing_in_a_page_needs_more_than_its_own_files(server):
    """No inline script, style or handler, and no address outside."""
    for answer in (visitor(server).get("/datasets"), Visitor(server).get("/login")):
        page = text(answer)
        inside = re.findall(r"<script(?![^>]*(?:src=|application/json))", page)
        assert not inside
        assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:", page)
        assert not re.search(r"(?:src|href|action)=\"(?:https?:)?//", page)


def test_the_token_is_on_pages_of_who_signed_in_only(server):
    assert 'name="csrf"' not in text(Visitor(server).get("/login"))
    assert len(visitor(server).csrf()) == 64


def test_an_unknown_page_is_a_page_for_people_and_json_for_programs(server):
    people, program = Visitor(server).get("/nothing"), server.call("GET", "/nothing")
    assert (people.status, program.status) == (404, 404)
    assert "there is nothing here" in text(people)
    assert program.json["message"] == "there is nothing here"
    assert Visitor(server).get("/api/nothing").json["error"] == "not_found"


@pytest.mark.parametrize("kind", KINDS)
def test_what_helps_is_said_in_words_of_the_page(kind):
    """A program sends headers and arguments; somebody at a page cannot."""
    problem = Problem(kind, "it failed", headers={"Retry-After": "7"})
    words = on_page(problem)
    assert words["message"] == "it failed"
    assert not re.search("Key|Retry|_left|Bearer|/api/", words["fix"])
    assert on_page(Problem(kind, "it failed", fix="Do this."))["fix"] == "Do this."
    if kind == "limit":
        assert words["fix"] == "Wait 7 seconds, and try again."


def test_names_are_escaped_wherever_they_are_written(server):
    tried = Visitor(server).login(EVIL, "wrong password")
    assert tried.status == 401
    assert "<script>alert" not in text(tried)
    assert "&lt;script&gt;alert" in text(tried)
    assert Visitor(server).get(f"/login?next=/{EVIL.replace(' ', '')}").status == 200


def test_data_for_modules_cannot_end_their_block():
    made = frame._TEMPLATES.from_string("{{ data|tojson }}").render(data={"name": EVIL})
    assert "<" not in made
    assert json.loads(made) == {"name": EVIL}


def test_what_a_template_misses_is_an_error():
    with pytest.raises(UndefinedError):
        frame._TEMPLATES.from_string("{{ nothing }}").render()
    assert frame._TEMPLATES.autoescape is True


def test_every_template_is_read_without_an_error():
    for name in frame._TEMPLATES.list_templates():
        frame._TEMPLATES.get_template(name)


def test_routes_without_a_role_are_few():
    assert {"/login", "/logout", "/static/{name}", "/health/live", "/health/ready"} == PUBLIC


def test_paths_outside_are_no_paths():
    assert local("/releases/abc") == "/releases/abc"
    for bad in (None, "", "x", "//x", "/\\x", "http://x", "/a\nb", "/" + "a" * 3000, "/ x"):
        assert local(bad) is None


def test_pages_and_programs_are_told_apart():
    class Fake:
        def __init__(self, path, accept=""):
            from starlette.datastructures import URL

            self.url, self.headers, self.scope = URL(path), {"accept": accept}, {}

    assert is_page(Fake("/x", "text/html"))
    assert not is_page(Fake("/x"))
    assert not is_page(Fake("/api/x", "text/html"))
