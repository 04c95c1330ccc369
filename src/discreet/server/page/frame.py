"""What all pages share: the frame around them, who sees which of them, and failures as pages.

Every value is escaped where it is written into a page, a name that is missing from a template is an
error, and data for modules travel as JSON in a block that no browser runs. Pages are for people who
signed in: a key opens none.
Tested by tests/server/page/test_frame.py
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple
from urllib.parse import parse_qs, quote, urlsplit

from fastapi import Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from jinja2 import Environment, PackageLoader, StrictUndefined

from discreet.curator.access import Session
from discreet.curator.values import visible
from discreet.errors import DiscreetError
from discreet.server.identity import check_own, session_of
from discreet.server.page import assets
from discreet.server.problems import Problem

__all__ = [
    "HOME", "NAVIGATION", "Place", "failed", "form_of", "is_page", "local", "on_page", "render",
    "signed_in",
]  # fmt: skip

_NO_PAGES = ("/api/", "/health/", "/static/")
_FORM = "application/x-www-form-urlencoded"
_MOST_FIELDS = 50
_LATER = "Try again in a while."
_FIXES = {
    "unauthorized": "Sign in again.",
    "budget": "Ask the data owner for a larger allowance.",
    "conflict": "Load the page again.",
    "busy": _LATER,
    "unavailable": _LATER,
    "ledger": _LATER,
    "internal": "Try again; tell the data owner if it happens again.",
}
"""What helps on a page, where the API says what a program does; static/problems.js has more."""


class Place(NamedTuple):
    """A page in the navigation."""

    path: str
    label: str
    roles: tuple[str, ...]


NAVIGATION: tuple[Place, ...] = (
    Place("/overview", "Overview", ("owner",)),
    Place("/datasets", "Datasets", ("owner", "analyst", "auditor")),
    Place("/ask", "Ask", ("owner", "analyst")),
    Place("/releases", "Releases", ("owner", "analyst", "auditor")),
    Place("/people", "People", ("owner",)),
    Place("/policy", "Policy", ("owner", "auditor")),
    Place("/ledger", "Ledger", ("owner", "auditor")),
)
"""What is at the top of every page, for whom."""
HOME: Mapping[str, str] = {"owner": "/overview", "analyst": "/datasets", "auditor": "/ledger"}
"""Where each role begins."""


def _seen(text: str) -> str:
    """Text that somebody else wrote, with what would reorder or hide it written out."""
    return "\n".join(visible(line.replace("\t", " ")) for line in text.splitlines())


def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("discreet.server.page"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    made.filters["seen"] = _seen
    made.globals["asset"] = assets.address
    made.globals["vega"] = lambda: assets.VEGA.address
    return made


_TEMPLATES = _environment()


def render(
    request: Request, template: str, *, status: int = 200, session: Session | None = None,
    **values: Any,
) -> HTMLResponse:  # fmt: skip
    """A page.

    Args:
        request: what it answers.
        template: a file of the folder.
        status: of the answer.
        session: who sees it; nobody on the page for signing in.
        values: for the template; `data` is handed to the page's module.
    """
    assets.prepare()
    role = None if session is None else session.credential.person.role
    path = request.url.path
    places = [(one, _is_in(path, one.path)) for one in NAVIGATION if role in one.roles]
    told = {"session": session, "places": places, "data": None, **values}
    return HTMLResponse(_TEMPLATES.get_template(template).render(**told), status)


def _is_in(path: str, place: str) -> bool:
    return path == place or path.startswith(f"{place}/")


def signed_in(request: Request) -> Session:
    """The session that a page is shown in; who sends a key instead is told to sign in."""
    found = getattr(request.state, "session", None)
    if not isinstance(found, Session):
        raise Problem("unauthorized", "pages are for people who signed in, not for keys")
    return found


async def form_of(request: Request, *, session: Session | None = None) -> dict[str, str]:
    """The fields of a form; of somebody who signed in only with the token of their own pages.

    A route that takes a form says no role, because a role asks for the token in a header: it
    gives the session here.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _FORM:
        raise Problem("media", f"send a form, as {_FORM}")
    try:
        text = (await request.body()).decode("utf-8")
        read = parse_qs(text, keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise Problem("malformed", "the form cannot be read") from None
    fields = {name: values[-1] for name, values in read.items()}
    if session is not None:
        check_own(request, session, fields.pop("csrf", None))
    return fields


def local(path: str | None) -> str | None:
    r"""A path on this server, to go to after signing in; None for anything else.

    >>> local("/ask?dataset=payroll"), local("//elsewhere.example"), local("/\\elsewhere")
    ('/ask?dataset=payroll', None, None)
    """
    if path is None or len(path) > 2000 or not path.startswith("/") or path.startswith("//"):
        return None
    if "\\" in path or any(ord(letter) < 33 or ord(letter) == 127 for letter in path):
        return None
    with suppress(ValueError):
        parts = urlsplit(path)
        if not parts.scheme and not parts.netloc and not path.startswith(("/login", "/logout")):
            return quote(path, safe="/?=&%+-._~:,;@!$'()*")
    return None


def is_page(request: Request) -> bool:
    """Whether somebody looks at a page, and not a program at the API."""
    if request.url.path.startswith(_NO_PAGES):
        return False
    if "page" in getattr(request.scope.get("route"), "tags", ()):
        return True
    return "text/html" in request.headers.get("accept", "")


def on_page(problem: Problem) -> dict[str, Any]:
    """A failure in the words of a page: it says how long to wait, and nothing is charged here.

    >>> on_page(Problem("limit", "at most 9 a minute", headers={"Retry-After": "7"}))["fix"]
    'Wait 7 seconds, and try again.'
    """
    words, fix = problem.told(), problem.fix or _FIXES.get(problem.kind, "")
    if problem.kind == "limit":
        seconds = problem.headers.get("Retry-After", "1")
        fix = problem.fix or f"Wait {seconds} second{'' if seconds == '1' else 's'}, and try again."
    if problem.kind in ("limit", "busy"):
        words["message"] = problem.message.removesuffix("; nothing was charged")
    return {**words, "fix": fix or words["fix"]}


def failed(request: Request, problem: Problem) -> Response:
    """A failure as a page; who is not signed in goes to the page for that."""
    if problem.kind == "unauthorized":
        wanted = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        after = local(wanted) if request.method == "GET" and wanted != "/" else None
        target = "/login" if after is None else f"/login?next={quote(after, safe='/')}"
        return RedirectResponse(target, 303)
    session = None
    with suppress(DiscreetError):
        session = session_of(request)
    made = render(
        request, "problem.html", status=problem.status, session=session, problem=on_page(problem)
    )
    made.headers.update(problem.headers)
    return made
