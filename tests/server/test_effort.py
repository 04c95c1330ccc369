"""What others have asked makes nothing faster that is told for free.

Times are noisy; what is compared here is which functions of this project are called, from where,
and how often. A result that was remembered for somebody else is a call, or many, that are missing.
"""

import re
import sys
from collections import Counter
from contextvars import copy_context
from functools import lru_cache
from pathlib import Path
from types import FunctionType, SimpleNamespace

import pytest
from tests.curator.payroll import POLICY
from tests.server.running import prepared, weak

import discreet
from discreet import remembered
from discreet.errors import BudgetExceededError, DiscreetError
from discreet.query import known
from discreet.remembered import ResultsOf
from discreet.server.api import publications, questions, releases
from discreet.server.api.models import Derive, Errors, Page, Publication
from discreet.server.service import Service

HOME = str(Path(discreet.__file__).parent)
RICH = re.sub(r"epsilon = [13]\n", "epsilon = 1000\n", POLICY)
CONCENTRATED = RICH.replace("epsilon = 1000", "rho = 1000").replace(
    "[family.staff]", '[family.staff]\naccounting = "zcdp"'
)
PRICE = "0.137"
CHOSEN = {"epsilons": ["1.37"]}
SHAPES = {
    "where": "SELECT dept, COUNT(*) AS n FROM payroll WHERE pay > 137 GROUP BY dept",
    "levels": "SELECT dept, COUNT(*) AS n FROM payroll WHERE pay > 137 GROUP BY ROLLUP (dept)",
    "constants": "SELECT SUM(LEAST(pay, 137)) AS s, SUM(LN(GREATEST(pay, 137))) AS l FROM payroll",
    "several": "SELECT dept, COUNT(*) AS n, AVG(pay) AS a, MEDIAN(pay) AS m FROM payroll "
               "GROUP BY dept",
    "found": "SELECT SUM(bonus + 137) AS s FROM payroll",
}  # fmt: skip
AXIS = {"columns": ["pay"], "bins": [37], "ranges": [("0", "1000")], "epsilon": PRICE}
ROUTES = {
    "explain": lambda at, q, p, key: questions.explain(Errors(question=q, **p), *at),
    "within": lambda at, q, p, key: questions.explain(
        Errors(question=q, within="13.7", rows="37"), *at
    ),
    "approximate": lambda at, q, p, key: questions.explain(
        Errors(question=q, epsilon=PRICE, delta="1e-7"), *at
    ),
    "errors": lambda at, q, p, key: questions.errors(Errors(question=q, **CHOSEN), *at),
    "rehearse": lambda at, q, p, key: questions.rehearse(Errors(question=q, **p), *at),
    "preview": lambda at, q, p, key: questions.preview(Errors(question=q, **p, **CHOSEN), *at),
    "publication": lambda at, q, p, key: publications.preview(Publication(**AXIS), *at),
    "list": lambda at, q, p, key: releases.releases(*at, Page()),
    "release": lambda at, q, p, key: releases.release(key, *at),
    "derive": lambda at, q, p, key: releases.derive(key, Derive(by=[]), *at),
}
ONLY = {"within": "COUNT", "publication": "WHERE"}
"""Of what takes long, only questions with this word."""
FREE = [route for route in ROUTES if route not in ("release", "derive")]
DRAWN = ("rehearse", "preview", "publication", "derive")
"""Here much depends on the noise and on DuckDB; only what is made once is compared."""


def forgotten():
    """Nothing is remembered of earlier tests, but for constants."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "discreet":
            for one in vars(module).values():
                known = type(one) in (FunctionType, type(lru_cache()(print)))
                if known and hasattr(one, "cache_info") and one.cache_info().maxsize != 1:
                    one.cache_clear()


def calls(work):
    """How often each function of this project is called, and in which other one."""
    met = Counter()

    def note(frame, event, _):
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(HOME):
            above = frame.f_back.f_code.co_qualname if frame.f_back else ""
            met[code.co_filename[len(HOME) :], code.co_qualname, above] += 1

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return met


class Told:
    """A service, and the functions behind its routes, which are called as if by requests."""

    def __init__(self, folder, policy):
        self.word = "rho" if "zcdp" in policy else "epsilon"
        folder.mkdir()
        self.service, self.results = Service(prepared(folder, policy)), ResultsOf()
        self.request = SimpleNamespace(
            app=SimpleNamespace(state=SimpleNamespace(service=self.service))
        )
        self.who, self.keys, self.refused = {}, {}, set()
        for name in ("alice", "bob"):
            self.service.access.add(name, "analyst", password="correct horse battery", by="tests")
            key = self.service.access.make_key(name, by="tests")
            self.who[name] = self.service.access.by_key(key)

    def price_of(self, question):
        return {"epsilon" if "ROLLUP" in question else self.word: PRICE}

    def ask(self, name, question):
        """A charged answer, computed with what all share; of it what is stored is told."""
        record, _ = self.service.ask(self.who[name], question, {}, **self.price_of(question))
        self.keys[name] = record.id

    def tell(self, name, route, question):
        """What is told somebody for free; whatever is refused is."""
        at = self.who[name], self.request

        def told():
            self.results[name].use()
            try:
                ROUTES[route](at, question, self.price_of(question), self.keys.get(name))
            except DiscreetError as error:
                self.refused.add((route, str(error)))

        copy_context().run(told)


CASES = [*((RICH, shape) for shape in SHAPES), (CONCENTRATED, "several")]
NAMES = [f"{'zcdp' if 'zcdp' in policy else 'pure'}-{shape}" for policy, shape in CASES]


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    """All modules are: the first question of a kind loads some."""
    with pytest.MonkeyPatch.context() as patch:
        weak(patch)
        for number, (policy, shape) in enumerate(CASES):
            one = Told(tmp_path_factory.mktemp("first") / str(number), policy)
            all_of("alice", one, SHAPES[shape].replace("137", "12"), lambda work: work())
            one.service.close()


@pytest.fixture
def services(loaded, tmp_path, monkeypatch, request):
    weak(monkeypatch)
    made = [Told(tmp_path / name, request.param) for name in ("alone", "after")]
    for one in made:
        one.service.warm()
        all_of("bob", one, "SELECT COUNT(*) AS n FROM payroll", lambda work: work())
    forgotten()
    yield made
    for one in made:
        one.service.close()


BY_THE_CLOCK = ("/engines/progress.py", "/engines/running.py", "/remembered.py")


def is_no_draw(call):
    file, name, _ = call
    if file.startswith(("/noise/", "/exact/")):
        return name.endswith(("__init__", "_sides"))
    return file not in BY_THE_CLOCK and not name.endswith("comp>")


def all_of(name, one, question, how=calls):
    """Everything that somebody is told, before a question is asked and afterwards."""
    met = {}
    for when, some in (("before", FREE), ("after", ROUTES)):
        for route in some:
            if ONLY.get(route, "") in question:
                met[when, route] = how(lambda route=route: one.tell(name, route, question))
        one.ask(name, question)
    return met


@pytest.mark.parametrize(("services", "shape"), CASES, ids=NAMES, indirect=["services"])
def test_what_others_ask_makes_nothing_faster_that_is_free(services, shape):
    """Alice is told the same in the same order, where Bob was before her, and where not."""
    alone, after = services
    expected = all_of("alice", alone, SHAPES[shape])
    all_of("bob", after, SHAPES[shape], lambda work: work())
    found = all_of("alice", after, SHAPES[shape])
    for (when, route), effort in expected.items():
        pair = effort, found[when, route]
        if route in DRAWN:
            pair = tuple(Counter(filter(is_no_draw, one)) for one in pair)
        assert pair[0] - pair[1] == Counter(), f"{route} {when} asking: faster"
        assert pair[1] - pair[0] == Counter(), f"{route} {when} asking: slower"


SELECTED = "SELECT dept, COUNT(*) AS n FROM payroll GROUP BY dept"
POOR = (
    POLICY.replace("epsilon = 3", 'accounting = "zcdp"\nepsilon = 100\ndelta = 0.001')
    .replace("alice.allowance.staff]\nepsilon = 1", "alice.allowance.staff]\nepsilon = 0.01")
    .replace("bob.allowance.staff]\nepsilon = 1", "bob.allowance.staff]\nepsilon = 50")
    .replace("epsilon = 0.01\n", "epsilon = 0.01\ndelta = 0.000001\n")
    .replace("epsilon = 50\n", "epsilon = 50\ndelta = 0.001\n")
    .replace('dept = { keys = ["a", "b", "c"] }', 'dept = "text"')
)
"""Keys that are selected, which makes a table; and Alice has less than they cost."""


def test_who_was_refused_what_others_asked_is_told_no_sooner(loaded, tmp_path, monkeypatch):
    """A price that is made for a charge is hers from then on, though nothing was charged."""
    weak(monkeypatch)
    price, met = {"epsilon": "0.731", "delta": "1e-6"}, []
    for others in (False, True):
        one = Told(tmp_path / str(others), POOR)
        one.price_of = lambda _: price
        one.service.warm()
        all_of("bob", one, "SELECT COUNT(*) AS n FROM payroll", lambda work: work())
        forgotten()
        if others:
            one.ask("bob", SELECTED)
        with pytest.raises(BudgetExceededError):
            one.ask("alice", SELECTED)
        met.append(calls(lambda one=one: one.tell("alice", "explain", SELECTED)))
        one.service.close()
    assert any(name == "_Rule.steps" for _, name, _ in met[0])
    assert met[0] == met[1]


@pytest.mark.parametrize("path", ["explain", "errors", "preview", "rehearse", "ask"])
def test_what_a_server_tells_at_once_is_found_with_the_own_results(server, monkeypatch, path):
    """And what is charged with those that all share: it leaves at its deadline."""
    used, inner = [], known.parsed

    def parsed(*given):
        used.append(remembered._USED.get())
        return inner(*given)

    monkeypatch.setattr(known, "parsed", parsed)
    for name in ("alice", "bob", "olga"):
        used.clear()
        body = {"question": SHAPES["where"], "epsilon": "0.1"}
        assert server.post(f"/api/{path}", body, who=name).status == 200
        own = None if path == "ask" else server.app.state.results[name]
        assert used
        assert all(one is own for one in used)
