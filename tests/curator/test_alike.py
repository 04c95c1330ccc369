"""Twin curators, one with a database that fails: nothing that comes later tells which one.

Guarantee. After every request, of whomever, both have charged the same accounts the same and
written as many entries of the same kinds; an analyst gets the same error, word by word, or answers
of one form.
"""

import re
from contextlib import contextmanager
from dataclasses import dataclass

import pytest
from tests.curator.payroll import COUNT, POLICY, SUM, failing, write_rows
from tests.server.twins import formed

from discreet.curator.curator import Curator
from discreet.curator.ledger.listing import lines_of, released
from discreet.curator.ledger.verify import verified
from discreet.curator.record import Record
from discreet.engines.duckdb import DuckDB
from discreet.errors import BudgetExceededError, EngineError

FAMILIES = {
    "private": "epsilon = 9",
    "public": 'epsilon = 9\nreleases = "public"',
    "telling": "epsilon = 2.5\ntells_rest = true",
    "short": "epsilon = 1.5",
}
"""The last two run out of budget on the way: what is left is told, or that it does not suffice."""
MEDIAN = "SELECT MEDIAN(pay) AS m FROM payroll"
BONUS = "SELECT SUM(bonus) AS s FROM payroll"
LEVELS = "SELECT dept, COUNT(*) AS n FROM payroll GROUP BY ROLLUP (dept)"
BINS = {"bins": 8, "ranges": (0, 1000)}
_WITHIN = re.compile(r"within [\d,.]+")
"""How good an offer is follows from the bounds that a search has released."""
ANALYSTS = ("alice", "bob", "carol")


@dataclass
class Twins:
    curators: list

    def both(self, ask, who=None):
        """What both say, compared; of an owner, who is told of failures, only what is charged."""
        seen, found = [], []
        for one in self.curators:
            try:
                found.append(ask(one))
                seen.append(_form(found[-1]))
            except (BudgetExceededError, EngineError) as error:
                found.append(error)
                seen.append((type(error), _WITHIN.sub("", str(error))))
        assert who is None or seen[0] == seen[1]
        books = [_books(one) for one in self.curators]
        assert books[0] == books[1]
        return found

    def ask(self, question, who=None, **more):
        return self.both(lambda one: one.ask(question, analyst=who, **more), who)

    def publish(self, who, **more):
        return self.both(lambda one: one.publish("pay", **BINS, analyst=who, **more), who)

    @contextmanager
    def failing(self):
        """The second one's database fails until this ends."""
        inner, home = DuckDB.run, str(self.curators[1].policy.datasets["payroll"].source)

        def run(engine, request, statement=None, **more):
            broken = home in engine.statement(request)
            return (failing if broken else inner)(engine, request, statement, **more)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(DuckDB, "run", run)
            yield


def _form(found):
    if isinstance(found, str):  # a statement names the file
        return found.replace("/two/", "/one/")
    return formed(found.to_json().encode()) if isinstance(found, Record) else found


def _books(curator):
    entries = curator.ledger.entries()
    charges = [one.values().get("charges") for one in entries]
    accounts = {name: one.to_dict() for name, one in curator.accounts().items()}
    return accounts, [one.kind for one in entries], charges


@pytest.fixture(params=FAMILIES)
def twins(request, tmp_path):
    text = f"{POLICY}\n[analyst.carol.allowance.staff]\nepsilon = 1\n"
    text = text.replace("epsilon = 3", FAMILIES[request.param])
    for name in ("one", "two"):
        place = tmp_path / name
        place.mkdir()
        write_rows(place / "payroll.csv", people=4000)
        (place / "policy.toml").write_text(text)
        Curator.register(place / "policy.toml")
    paths = [tmp_path / name / "policy.toml" for name in ("one", "two")]
    with (
        Curator(paths[0], on_fault=lambda _: None) as first,
        Curator(paths[1], on_fault=lambda _: None) as second,
    ):
        yield Twins([first, second])
        for one in (first, second):
            verified(one.ledger)


def asked_first(twins):
    """What alice asks while one database fails: all that can be asked."""
    twins.ask(COUNT, "alice", epsilon="0.1", key="k")
    twins.ask(MEDIAN, "alice", epsilon="0.1")
    twins.ask(LEVELS, "alice", epsilon="0.1")
    twins.publish("alice", epsilon="0.1")
    twins.ask(BONUS, "alice", epsilon="0.1")


def asked_later(twins, who):
    """What anybody may ask after that: the same, coarser, better, by a key, for what is left."""
    searching = () if who is None else (BONUS,)  # what an owner's question becomes is released
    for question in (COUNT, MEDIAN, LEVELS, *searching):
        for price in ("0.05", "0.1", "0.12") if who == "bob" else ("0.1", "0.05", "0.12", "0.1"):
            twins.ask(question, who, epsilon=price)
    for price in ("0.1", "0.05", "0.12"):
        twins.publish(who, epsilon=price)
    for key in ("k", "k", "other"):
        twins.ask(COUNT, who, epsilon="0.1", key=key)
    for question in searching:
        twins.ask(question, who, epsilon="0.02", search_again=True, key="again")
    twins.ask(SUM, who, epsilon="0.7", with_what_is_left=True)
    twins.both(lambda one: one.accounts(who), who)
    twins.both(lambda one: _listed(one, who), who)
    for question in (COUNT, LEVELS):
        twins.both(lambda one, asked=question: one.explain(asked, analyst=who), who)
    for question in (COUNT, BONUS):
        twins.both(lambda one, asked=question: one.cost(asked, analyst=who), who)


def _listed(curator, who):
    """The list of releases, as an analyst sees it."""
    found, following = released(curator.ledger, who, most=100)
    shown = ("sql", "dataset", "block", "cost")
    return [{name: one[name] for name in shown} for one in found], following


@pytest.mark.parametrize(
    "repaired",
    [pytest.param(True, id="repaired"),
     pytest.param(False, id="never repaired", marks=pytest.mark.slow)],
)  # fmt: skip
def test_nothing_that_is_asked_later_tells_of_a_failure(twins, repaired):
    with twins.failing():
        asked_first(twins)
        if not repaired:
            for who in ANALYSTS:
                asked_later(twins, who)
    for who in ("bob", "alice", None, "carol"):
        asked_later(twins, who)


def test_what_others_are_given_is_what_the_asker_was_given(twins):
    """An empty table, with the noise of its asker: as it is, and made coarser."""
    with twins.failing():
        _, first = twins.ask(COUNT, "alice", epsilon="0.5")
    _, second = twins.ask(COUNT, "bob", epsilon="0.5")
    assert second.release.raw == first.release.raw
    assert max(second.release["n"]) < 300  # 1,333 in each; false alarm: below 1e-9
    _, coarser = twins.ask(COUNT, "carol", epsilon="0.4")
    assert max(coarser.release["n"]) < 300
    assert twins.curators[1].ledger.accounts["staff"].spent.said("pure") == "epsilon 0.5"


@pytest.mark.parametrize("price", ["0.5", "0.4"], ids=["as it is", "coarser"])
def test_an_owner_is_told_and_a_new_version_is_his_way_out(twins, price, tmp_path):
    """All that is given on is marked for him, and he is given none of it."""
    with twins.failing():
        twins.ask(COUNT, "alice", epsilon="0.5")
    twins.ask(COUNT, "bob", epsilon=price)
    for key in (None, "own", "own"):
        good, told = twins.ask(COUNT, epsilon=price, key=key)
        assert min(good.release["n"]) > 1000
        assert isinstance(told, EngineError)
        assert "a new version of the data" in str(told)
    found, _ = released(twins.curators[1].ledger, most=100)
    assert found
    assert all(one["failed"] for one in found)
    told = [lines_of(one.ledger.entries(), list(one.accounts().values())) for one in twins.curators]
    assert [one.seen for one in told[0]] == [one.seen for one in told[1]]
    assert {one.seen for one in told[0] if one.release} == {"answered", "stored answer"}
    states = {one.state for one in told[1] if one.release}
    assert states == {"failed", "stored answer, failed"}
    path = tmp_path / "two" / "policy.toml"
    path.write_text(path.read_text().replace('version = "2024"', 'version = "2024b"'))
    Curator.register(path)
    with Curator(path) as repaired:
        assert min(repaired.ask(COUNT, epsilon="0.5", analyst="bob").release["n"]) > 1000
