"""The path of one question: charged first, answered once, refused for public reasons only."""

import logging
from fractions import Fraction

import pytest
from tests.curator.people import COLUMNS, Failing, frame, rows, table

import discreet as dp
from discreet.curator.session import Session
from discreet.engines.sources import open_source
from discreet.privacy.loss import PureLoss
from discreet.query.price import Target, priced

BY_DEPT = "SELECT dept, COUNT(*) AS n FROM t GROUP BY dept"
LOUD = {"epsilon": 500}  # so little noise that answers are the truth


def failing(when="run", **more):
    engine = Failing(open_source(frame(rows())), when=when)
    t = dp.Table(engine, unit=dp.PerRow(), columns=COLUMNS, name="t")
    return engine, t.session(epsilon=1, **more)


def test_counts_are_right_at_a_high_epsilon():
    answer = table().session(epsilon=1000).ask(BY_DEPT, **LOUD)
    assert answer["n"] == [100, 100, 100, 0]
    assert answer["dept"] == ["clerk", "nurse", "chef", "empty"]


def test_all_aggregates_are_right_at_a_high_epsilon():
    listed = rows()
    session = table(listed).session(epsilon=1000)
    answer = session.ask(
        "SELECT COUNT(*) AS n, COUNT(salary) AS c, SUM(age) AS s, AVG(age) AS m, STDDEV(age) AS d, "
        "MEDIAN(age) AS q FROM t",
        epsilon=900,
    )
    ages = sorted(row["age"] for row in listed)
    mean = sum(ages) / 300
    (row,) = list(answer)
    assert (row["n"], row["c"]) == (300, 300)
    assert abs(row["s"] - sum(ages)) < 60  # the noise of degree two, far out
    assert row["m"] == pytest.approx(mean, abs=0.03)  # thirty mean errors: below 1e-12
    assert row["d"] == pytest.approx((sum((a - mean) ** 2 for a in ages) / 300) ** 0.5, abs=0.1)
    assert abs(row["q"] - ages[150]) <= 1


def test_people_with_many_rows_count_once():
    session = table(rows(50, each=6), unit=dp.PerPerson("person_id", max_rows=6)).session(
        epsilon=1000
    )
    assert session.ask("SELECT COUNT(DISTINCT person_id) AS p FROM t", **LOUD).value == 50
    assert session.ask("SELECT COUNT(*) AS n FROM t", epsilon=400).value == 300


@pytest.mark.parametrize("way", ["weight", "sample", "clamp"])
def test_a_person_beyond_the_bound_counts_as_much_as_it_allows(way):
    listed = [*rows(10), *({**rows(1)[0], "person_id": 77} for _ in range(1000))]
    unit = dp.PerPerson("person_id", max_rows=2, max_groups=1, bounding=way)
    session = table(listed, unit=unit).session(epsilon=1000)
    assert session.ask("SELECT COUNT(*) AS n FROM t", epsilon=900).value == 12


def test_the_budget_is_charged_before_the_engine_runs():
    engine, session = failing()
    with pytest.raises(dp.EngineError, match="Alice"):
        session.ask(BY_DEPT, epsilon="0.25")
    assert engine.ran == 1
    assert str(session.left) == "epsilon 0.75"


def test_an_analyst_gets_an_answer_from_an_engine_that_fails(caplog):
    engine, session = failing(audience="analyst")
    with caplog.at_level(logging.ERROR, logger="discreet.owner"):
        answer = session.ask(BY_DEPT, epsilon="0.25")
    assert len(answer) == 4
    assert "Alice" not in repr(answer) + answer.to_json()
    assert str(session.left) == "epsilon 0.75"
    assert "Alice" in caplog.text  # in the owner's log
    assert engine.ran == 1


def test_an_owner_is_told_of_faults():
    told = []
    _, session = failing(audience="analyst", on_fault=told.append)
    session.ask(BY_DEPT, epsilon="0.25")
    assert [str(fault) for fault in told] == ["row 17 of Alice broke it"]


def test_an_engine_that_is_not_there_costs_nothing():
    engine, session = failing(when="ping", audience="analyst")
    with pytest.raises(dp.EngineError, match="cannot be reached"):
        session.ask(BY_DEPT, epsilon="0.25")
    assert engine.ran == 0
    assert str(session.left) == "epsilon 1"


@pytest.mark.parametrize(
    "question",
    [
        "SELECT nothing FROM t",
        "SELECT COUNT(*) FROM other",
        "SELECT AVG(note) FROM t",
        "SELECT MAX(salary) FROM t",
        "DROP TABLE t",
        "SELECT salary FROM t",
        "SELECT note, COUNT(*) FROM t GROUP BY note",  # needs a delta
    ],
)
def test_a_refusal_costs_nothing_and_reads_nothing(question):
    engine, session = failing(when="never")
    with pytest.raises(dp.QueryError, match="Nothing was charged"):
        session.ask(question, epsilon="0.25")
    assert engine.ran == 0
    assert str(session.left) == "epsilon 1"


@pytest.mark.parametrize("epsilon", [0, -1, float("nan"), float("inf"), "x", None])
def test_odd_prices(epsilon):
    engine, session = failing(when="never")
    with pytest.raises((dp.ParameterError, dp.QueryError)):
        session.ask(BY_DEPT, epsilon=epsilon)
    assert engine.ran == 0
    assert str(session.left) == "epsilon 1"


def test_what_is_asked_must_be_a_question():
    _, session = failing(when="never")
    with pytest.raises(dp.ParameterError, match="question"):
        session.ask(17, epsilon=1)


def test_what_the_budget_cannot_afford_is_refused_with_a_coarser_offer():
    session = table().session(epsilon=1)
    session.ask(BY_DEPT, epsilon="0.7")
    with pytest.raises(dp.BudgetExceededError) as refusal:
        session.ask(BY_DEPT, epsilon="0.5")
    words = str(refusal.value)
    assert "costs epsilon 0.5, and epsilon 0.3 is left; nothing was charged" in words
    assert "Ask it with epsilon=0.3: n within 10" in words
    session.ask(BY_DEPT, epsilon="0.3")
    assert str(session.left) == "epsilon 0"
    with pytest.raises(dp.BudgetExceededError, match="is spent"):
        session.ask(BY_DEPT, epsilon="0.1")


def test_asking_by_accuracy():
    session = table().session(epsilon=1)
    price = session.epsilon_for(BY_DEPT, within=20)
    answer = session.ask(BY_DEPT, within=20)
    assert answer.guarantee.epsilon == Fraction(price)
    low, high = answer.intervals["n"][0]
    assert high - low <= 40
    with pytest.raises(dp.ParameterError, match="within"):
        session.ask(BY_DEPT, within=20, epsilon=1)


def test_the_accuracy_of_a_mean_needs_a_number_of_rows():
    session = table().session(epsilon=10)
    question = "SELECT dept, COUNT(*) AS n, AVG(age) AS m FROM t GROUP BY dept"
    with pytest.raises(dp.QueryError, match="say rows="):
        session.ask(question, within=5)
    session.ask(question, within=5, column="n")
    session.ask(question, within=5, rows=100)


def test_an_offer_knows_about_delta():
    question = "SELECT note, COUNT(*) AS n FROM t GROUP BY note"
    session = table().session(epsilon=5, delta="1e-6")
    with pytest.raises(dp.BudgetExceededError, match="Ask it with epsilon=1, delta=") as refusal:
        session.ask(question, epsilon=1, delta="1e-6")
    offered = str(refusal.value).partition("delta=")[2].partition(":")[0].strip("'")
    assert "delta" not in offered
    with pytest.raises(dp.BudgetExceededError, match="open a session with"):
        table().session(epsilon=5).ask(question, epsilon=1, delta="1e-6")


def test_who_is_in_no_row_is_said():
    answer = table().session(epsilon=1).ask(BY_DEPT, epsilon=1)
    assert answer.notes == ("rows whose dept is missing, or not declared, are in no group",)


def test_options_in_the_question_are_the_price():
    session = table().session(epsilon=1)
    session.ask("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.25) COUNT(*) AS n FROM t")
    assert str(session.left) == "epsilon 0.75"
    with pytest.raises(dp.QueryError, match="say what the question may cost"):
        session.ask("SELECT COUNT(*) AS n FROM t")


def test_a_budget_can_be_shared():
    budget = dp.Budget(epsilon=1)
    first, second = (table().session(budget=budget) for _ in range(2))
    first.ask(BY_DEPT, epsilon="0.6")
    with pytest.raises(dp.BudgetExceededError):
        second.ask(BY_DEPT, epsilon="0.6")
    with pytest.raises(dp.ParameterError, match="budget"):
        table().session(budget=budget, epsilon=1)


def test_a_budget_for_other_neighbours_is_refused():
    with pytest.raises(dp.DiscreetError):
        table().session(budget=dp.Budget(epsilon=1, neighbours="replace"))


def test_rho_and_delta_budgets():
    session = table().session(rho="0.5")
    session.ask(BY_DEPT, rho="0.125")
    assert "0.375" in str(session.left)
    session = table().session(epsilon=1, delta="1e-6")
    answer = session.ask(
        "SELECT note, COUNT(*) AS n FROM t GROUP BY note", epsilon="0.9", delta="1e-7"
    )
    assert answer["note"] == ["common", "frequent", "usual"]
    assert "one of a kind" not in answer.to_json()


def test_the_row_of_the_others():
    session = table().session(epsilon=1000, delta="1e-6")
    question = table().query().group_by("note", other=True).count()
    answer = session.ask(question, epsilon=900, delta="1e-7")
    assert answer["note"] == ["common", "frequent", "usual", None]
    assert answer["count"] == [99, 100, 100, 1]


def test_a_public_number_of_rows_costs_nothing_and_means_are_finer():
    unit = dp.PerRow(neighbours="replace", rows=300)
    columns = {"age": dp.Bounds(0, 120, grid=1)}
    session = table(unit=unit, columns=columns).session(epsilon=1)
    assert session.ask("SELECT COUNT(*) AS n FROM t", epsilon="0.1").value == 300
    assert str(session.left) == "epsilon 1"
    assert "nothing is read" in session.explain("SELECT COUNT(*) AS n FROM t")


def test_finding_bounds_is_paid_for_and_said():
    columns = COLUMNS | {"salary": dp.Bounds.find(epsilon="0.5")}
    session = table(rows(3000), columns=columns).session(epsilon=2)
    with pytest.raises(dp.QueryError):
        session.ask("SELECT AVG(salary), nonsense FROM t", epsilon="0.5")
    assert str(session.left) == "epsilon 2"  # a wrong question finds nothing
    answer = session.ask("SELECT AVG(salary) AS m FROM t", epsilon="0.5")
    assert str(session.left) == "epsilon 1"
    (note,) = answer.notes
    assert str(answer.guarantee).startswith("1-diff")  # of the answer and of the bounds together
    assert note.startswith("bounds of salary found: ")
    assert note.endswith("by a search that costs epsilon 0.5, once")
    found = session.schema.columns["salary"]
    assert 0 < found.low <= 20_000
    assert 157_112 <= found.high <= 1 << 18
    session.ask("SELECT AVG(salary) AS m FROM t", epsilon="0.5")
    assert str(session.left) == "epsilon 0.5"  # found once


def test_finding_nothing_is_said_and_stays_paid():
    columns = COLUMNS | {"salary": dp.Bounds.find(epsilon="0.5")}
    session = table([], columns=columns).session(epsilon=2)
    with pytest.raises(dp.NothingFoundError, match="was spent"):
        session.ask("SELECT AVG(salary) AS m FROM t", epsilon="0.5")
    assert str(session.left) == "epsilon 1.5"


def test_an_analyst_who_finds_nothing_is_answered_under_public_bounds():
    """Nobody can tell an empty table from one that was not read."""
    columns = COLUMNS | {"salary": dp.Bounds.find(epsilon="0.5")}
    session = table([], columns=columns).session(epsilon=2, audience="analyst")
    answer = session.ask("SELECT AVG(salary) AS m FROM t", epsilon="0.5")
    assert str(session.left) == "epsilon 1"
    assert "not found" in answer.notes[0]
    assert "1 to 1000000, which says nothing of the data" in answer.notes[0]
    session.ask("SELECT SUM(salary) AS m FROM t", epsilon="0.5")
    assert str(session.left) == "epsilon 0.5"  # what was not found is not looked for again


@pytest.mark.parametrize("broken", ["fails", "tells nonsense"])
def test_what_a_failed_search_left_stays_until_another_is_paid(broken):
    """As above, where the engine comes back. At epsilon 50 a bin is off by one with exp(-50)."""
    unit = dp.PerPerson("person_id", max_rows="find", find_epsilon=50)
    columns = COLUMNS | {"salary": dp.Bounds.find(epsilon=50)}
    told = []
    session = table(rows(300, each=3), columns=columns, unit=unit).session(
        epsilon=300, audience="analyst", on_fault=told.append
    )
    question, engine = "SELECT SUM(salary) AS s FROM t", type(session._engine)
    with pytest.MonkeyPatch.context() as patched:
        if broken == "fails":
            patched.setattr(engine, "run", lambda *_, **__: 1 / 0)
        else:
            patched.setattr(engine, "run", lambda *_, **__: [{(65,): ("SECRET",), (0,): (None,)}])
        first = session.ask(question, epsilon=1)
        assert str(session.left) == "epsilon 199"
    assert len(told) == 3
    assert ["not found" in note for note in first.notes] == [True, True]
    assert session.ask(question, epsilon=1).notes == first.notes
    assert str(session.left) == "epsilon 198"
    answer = session.ask(question, epsilon=1, search_again=True)
    assert str(session.left) == "epsilon 97"
    bounds, found = answer.notes
    assert bounds.startswith("bounds of salary found: ")
    assert found.startswith("rows per person found: at most 4 count")
    assert [one.epsilon for one in answer.losses] == [1, 50, 50]
    assert session.ask(question, epsilon=1).notes == answer.notes
    assert str(session.left) == "epsilon 96"


def test_an_owner_pays_for_every_search_that_found_nothing():
    """It has looked at the data each time."""
    columns = COLUMNS | {"salary": dp.Bounds.find(epsilon="0.5")}
    session = table([], columns=columns).session(epsilon=2)
    for left in ("1.5", "1"):
        with pytest.raises(dp.NothingFoundError):
            session.ask("SELECT AVG(salary) AS m FROM t", epsilon="0.5")
        assert str(session.left) == f"epsilon {left}"


def test_finding_the_rows_of_a_person():
    unit = dp.PerPerson("person_id", max_rows="find", find_epsilon=1)
    session = table(rows(2000, each=3), unit=unit).session(epsilon=3)
    assert session.ask("SELECT COUNT(DISTINCT person_id) AS p FROM t", epsilon="0.5").notes == ()
    answer = session.ask("SELECT COUNT(*) AS n FROM t", epsilon="0.5")
    cost = "by a search that costs epsilon 1, once"
    assert answer.notes == (f"rows per person found: at most 4 count, {cost}",)
    assert str(session.left) == "epsilon 1"


@pytest.mark.parametrize("question", [BY_DEPT, "SELECT COUNT(*) AS n, AVG(salary) AS m FROM t"])
def test_an_empty_table_has_answers_of_the_same_shape(question):
    answers = [table(listed).session(epsilon=1).ask(question, epsilon=1) for listed in ([], rows())]
    assert len(answers[0]) == len(answers[1])
    assert answers[0].columns == answers[1].columns


def test_ten_thousand_groups():
    columns = COLUMNS | {"salary": dp.Bounds(0, 400_000, grid=40)}
    session = table(columns=columns).session(epsilon=1)
    answer = session.ask("SELECT salary, COUNT(*) AS n FROM t GROUP BY salary", epsilon=1)
    assert len(answer) == 10_001


def test_what_is_charged_is_what_was_priced():
    """The loss that is charged is that of the release, for every kind of question."""
    session = table().session(epsilon=10)
    for question in (BY_DEPT, "SELECT SUM(age), AVG(salary), MEDIAN(age) FROM t"):
        answer = session.ask(question, epsilon=1)
        found = priced(session.plan(question), session.schema, Target(epsilon=1))
        assert answer.losses == found.losses
        assert sum(loss.epsilon for loss in answer.losses) <= 1
    assert str(session.left) == "epsilon 8"


def test_a_session_says_who_it_is():
    session = table().session(epsilon=1)
    assert repr(session) == "<Session on 't': epsilon 1 left>"
    assert str(session.spent) == "epsilon 0"
    assert session.guarantee == dp.PureDP(1)
    with pytest.raises(dp.ParameterError, match="audience"):
        Session(session.schema, Failing(open_source(frame([]))), dp.Budget(epsilon=1), audience="x")


def test_queries_of_a_session_can_be_asked_directly():
    session = table().session(epsilon=1000)
    assert session.query().where("active").count().ask(epsilon=900).value == 225
    with pytest.raises(dp.UnsupportedError, match="session"):
        table().query().count().ask(epsilon=1)


def test_losses_can_be_stored():
    (loss,) = table().session(epsilon=1).ask("SELECT SUM(age), COUNT(*) FROM t", epsilon=1).losses
    assert loss == PureLoss(epsilon=1)


def test_means_of_a_public_number_of_rows():
    """Where nothing can be missing, the sum around the middle is all that is measured."""
    listed = [*rows(299), rows(1)[0] | {"age": None}]
    columns = {"age": dp.Bounds(0, 120, grid=1, missing=60)}
    public = dp.PerRow(neighbours="replace", rows=300)
    session = table(listed, unit=public, columns=columns).session(epsilon=1000)
    answer = session.ask("SELECT AVG(age) AS m, SUM(age) AS s, COUNT(*) AS n FROM t", epsilon=900)
    total = sum(row["age"] for row in listed[:299]) + 60
    (row,) = list(answer)
    assert row["n"] == 300
    assert row["s"] == pytest.approx(total, abs=5)
    assert row["m"] == pytest.approx(total / 300, abs=0.02)
    private = table(listed, unit=dp.PerRow(neighbours="replace"), columns=columns)
    question = "SELECT AVG(age) AS m FROM t"
    finer = session.price(question, epsilon=1, rows=300)["m"].half_width
    assert finer < 0.75 * private.price(question, epsilon=1, rows=300)["m"].half_width


def test_trust_is_about_all_rows_of_a_person():
    with pytest.raises(dp.ParameterError, match="cannot be trusted"):
        dp.PerPerson("person_id", max_rows=4, max_groups=3, trusted=True)


@pytest.mark.parametrize("where", ["answered", "presented"])
def test_whatever_fails_after_the_charge_an_analyst_sees_an_answer(monkeypatch, where):
    """Once, for the data: the answer of an empty table follows, and only the owner is told."""
    import discreet.curator.answering as module

    real, calls = getattr(module, where), []

    def broken(*given, **named):
        calls.append(given)
        if len(calls) == 1:
            raise OverflowError("a private number did not fit")
        return real(*given, **named)

    monkeypatch.setattr(module, where, broken)

    def careless(fault):
        raise RuntimeError(f"the owner's own mistake: {fault}")

    session = table().session(epsilon=1, audience="analyst", on_fault=careless)
    answer = session.ask(BY_DEPT, epsilon="1/4")
    assert len(answer) == 4
    assert str(session.left) == "epsilon 0.75"
    calls.clear()
    with pytest.raises(OverflowError):
        table().session(epsilon=1).ask(BY_DEPT, epsilon="1/4")


def test_equal_constants_of_different_kinds_are_different_questions():
    session = table().session(epsilon=1)
    for said, value in (("TRUE", True), ("1", 1)):
        text = f"SELECT CASE WHEN COUNT(*) > -1000 THEN {said} ELSE {said} END AS x FROM t"
        assert session.ask(text, epsilon="1/4")["x"][0] is value


@pytest.mark.parametrize("how", [{"epsilon": 0}, {"epsilon": 1, "within": 3}, {}])
def test_nothing_is_searched_for_a_question_that_is_refused(how):
    columns = {"x": dp.Bounds.find(epsilon="0.1")}
    t = dp.Table({"x": list(range(500))}, unit=dp.PerRow(), columns=columns, name="t")
    session = t.session(epsilon=3)
    with pytest.raises(dp.DiscreetError):
        session.ask("SELECT SUM(x) AS s FROM t", **how)
    assert session.spent.epsilon == 0
