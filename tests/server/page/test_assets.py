"""Files of the page: names with hashes, one request for each module, the chart library."""

import asyncio
import gzip
import re
import tomllib
from pathlib import Path

import pytest
from tests.server.page.visiting import Visitor

from discreet.server.page import assets
from discreet.server.page.assets import FOLDER, VEGA, address, asset, joined

ROOT = Path(__file__).parents[3]
MODULES = sorted(path for path in FOLDER.iterdir() if path.suffix == ".js")
TOP = re.compile(r"^(?:export )?(?:async )?(?:function|const|let|class) (\w+)", re.MULTILINE)


@pytest.mark.parametrize("path", sorted(FOLDER.iterdir()), ids=lambda path: path.name)
def test_files_stay_short(path):
    assert len(path.read_text().splitlines()) <= 500


def test_every_file_is_part_of_the_package():
    told = tomllib.loads((ROOT / "pyproject.toml").read_text())
    patterns = told["tool"]["setuptools"]["package-data"]["discreet.server.page"]
    inside = {path for pattern in patterns for path in FOLDER.parent.glob(pattern)}
    files = {path for path in FOLDER.parent.rglob("*.*") if path.suffix not in (".py", ".pyc")}
    assert inside == files


def test_files_are_kept_for_good_under_their_hash(server):
    path = address("style.css")
    answer = Visitor(server).call("GET", path)
    assert answer.status == 200
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert answer.headers["content-type"].startswith("text/css")
    assert answer.body == (FOLDER / "style.css").read_bytes()
    assert answer.headers["etag"].strip('"') in path
    again = Visitor(server).call("GET", path, headers={"If-None-Match": answer.headers["etag"]})
    assert (again.status, again.body) == (304, b"")


def test_files_are_packed_for_who_unpacks_them(server):
    path = address("style.css")
    packed = Visitor(server).call("GET", path, headers={"Accept-Encoding": "gzip, br"})
    assert packed.headers["content-encoding"] == "gzip"
    assert packed.headers["vary"] == "Accept-Encoding"
    assert gzip.decompress(packed.body) == (FOLDER / "style.css").read_bytes()


@pytest.mark.parametrize(
    "name",
    ["style.css", "../frame.py", "..%2fframe.py", "%2e%2e/assets.py", "style.0000000000000000.css",
     "/etc/passwd", "x" * 2000],
)  # fmt: skip
def test_nothing_else_is_served(server, name):
    answer = Visitor(server).call("GET", f"/static/{name}")
    assert answer.status == 404
    assert "cache-control" not in answer.headers or answer.headers["cache-control"] == "no-store"


def test_modules_leave_as_one_text_without_imports():
    for path in MODULES:
        made = joined(path.name)
        assert not re.search(r"^(import|export)\b", made, re.MULTILINE), path.name
        assert made == joined(path.name)
        names = TOP.findall(made)
        assert len(names) == len(set(names)), path.name


def test_names_at_the_top_of_modules_are_different():
    names = [name for path in MODULES for name in TOP.findall(path.read_text())]
    assert sorted(names) == sorted(set(names))


def test_modules_use_nothing_that_the_policy_forbids():
    for path in MODULES:
        text = path.read_text()
        bad = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|https?://"
        assert not re.search(bad, text.replace("http://www.w3.org", "")), path.name
        assert not re.search(r'\.setAttribute\("(?:style|on\w+)"', text), path.name


@pytest.mark.slow
def test_the_chart_library_is_made_once_from_the_installed_package(server):
    answer = Visitor(server).call("GET", VEGA.address, headers={"Accept-Encoding": "gzip"})
    assert answer.status == 200
    assert len(answer.body) < 500_000
    body = gzip.decompress(answer.body)
    assert body.rstrip().endswith(b"as vegaEmbed};")
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert asyncio.run(VEGA.get()) is asyncio.run(VEGA.get())


def test_without_the_chart_library_there_is_a_word(server, monkeypatch):
    made = assets._Vega()
    monkeypatch.setattr(assets, "_MAKE", "raise SystemExit(1)")
    monkeypatch.setattr(assets, "VEGA", made)
    answer = Visitor(server).call("GET", "/static/vega.js")
    assert answer.status == 503
    assert answer.headers["cache-control"] == "no-store"
    assert answer.json["message"] == "there are no charts now"
    before = made._making
    made.prepare()
    assert made._making is before  # not at once again
    monkeypatch.setattr(made, "_again", 0.0)
    made.prepare()
    assert made._making is not before


def test_a_file_is_read_once():
    assert asset("style.css") is asset("style.css")
