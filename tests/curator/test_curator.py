"""The curator: what is charged, what is stored, who sees what."""

import json
import re
import signal
import subprocess
import sys
import textwrap
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise

import pytest
from tests.curator.payroll import (
    COUNT,
    POLICY,
    SUM,
    changed,
    failing,
    renewed,
    spent,
    write_rows,
)

from discreet.curator.curator import Curator
from discreet.curator.ledger.amounts import Amount
from discreet.curator.ledger.steps import STEPS, on_step
from discreet.curator.ledger.verify import verified
from discreet.errors import (
    BudgetExceededError,
    EngineError,
    LedgerError,
    NothingFoundError,
    ParameterError,
    QueryError,
)

# charges


def test_a_question_is_charged_to_the_people_and_to_the_asker(curator):
    record = curator.ask(COUNT, epsilon="0.3", analyst="alice")
    assert record.release["dept"] == ["a", "b", "c"]
    assert record.analyst == "alice"
    assert record.cost == "epsilon 0.3"
    assert record.data_version == "2024"
    assert spent(curator) == {
        "staff": "epsilon 0.3",
        "staff@alice": "epsilon 0.3",
        "staff@bob": "epsilon 0",
    }
    assert curator.ledger.entries()[record.entry - 1].hash == record.head


def test_the_owner_has_no_allowance_and_pays_from_the_peoples_budget(curator):
    curator.ask(COUNT)
    assert spent(curator)["staff"] == "epsilon 0.1"
    assert spent(curator)["staff@alice"] == "epsilon 0"


def test_what_was_paid_is_told_by_who_charged(folder):
    """A new question in full, one's own again nothing, another's the allowance alone."""
    with Curator(folder / "policy.toml") as curator, Curator(folder / "policy.toml") as other:

        def paid(*words, at=curator, **more):
            at.ask(*words, **more)
            return at.paid.said("pure")

        assert curator.paid.main == 0
        assert paid(COUNT, epsilon="0.3", analyst="alice") == "epsilon 0.3"
        assert paid(COUNT, epsilon="0.3", analyst="alice") == "epsilon 0"
        assert paid(COUNT, epsilon="0.1", analyst="alice") == "epsilon 0"
        assert paid(COUNT, epsilon="0.3", analyst="bob", at=other) == "epsilon 0.3"
        assert paid(COUNT, epsilon="0.3", analyst="bob", at=other) == "epsilon 0"
        assert paid(COUNT, epsilon="0.3") == "epsilon 0"  # the people pay nothing for it
        assert paid(COUNT, epsilon="0.4", key="k") == "epsilon 0.4"
        assert paid(COUNT, epsilon="0.4", key="k") == "epsilon 0"
        assert paid(COUNT, epsilon="0.4", key="own") == "epsilon 0"
        assert curator.paid.main == 0
        with pytest.raises(BudgetExceededError):
            curator.ask(SUM, epsilon=1000)
        assert curator.paid.main == 0
        published = {"bins": 4, "ranges": (0, 1000), "epsilon": "0.2"}
        curator.publish("pay", **published)
        assert curator.paid.said("pure") == "epsilon 0.2"
        curator.publish("pay", **published)
        assert curator.paid.main == 0
        verified(curator.ledger)


def test_a_question_that_is_resumed_pays_nothing_more(folder, monkeypatch):
    with Curator(folder / "policy.toml") as curator:
        asking = curator._asking(COUNT, None, None, None)
        with monkeypatch.context() as patched:
            patched.setattr(type(asking.engine), "run", failing)
            with pytest.raises(EngineError):
                curator.ask(COUNT, epsilon="0.1", key="k")
        assert curator.paid.said("pure") == "epsilon 0.1"
        curator.ask(COUNT, epsilon="0.1", key="k")
        assert curator.paid.main == 0
        assert spent(curator)["staff"] == "epsilon 0.1"


def test_who_is_interrupted_at_any_step_is_charged_once_or_not_at_all(folder):
    """Ctrl-C, or a client that went: the same curator goes on, and the key has one answer."""
    committed = STEPS.index("after the commit of reserve")
    with Curator(folder / "policy.toml") as curator:
        for number, label in enumerate(STEPS):
            question = f"SELECT COUNT(*) AS n FROM payroll WHERE pay < {number + 1}"

            def interrupt(step, label=label):
                if step == label:
                    raise KeyboardInterrupt

            asked = {"epsilon": "0.1", "key": f"k{number}", "analyst": ("alice", None)[number % 2]}
            before = curator.ledger.accounts["staff"].spent.main
            on_step(interrupt)
            try:
                with pytest.raises(KeyboardInterrupt):
                    curator.ask(question, **asked)
            finally:
                on_step(None)
            paid = curator.ledger.accounts["staff"].spent.main - before
            assert paid == (number >= committed) * 10**11
            first = curator.ask(question, **asked)
            assert curator.ask(question, **asked) == first
            assert curator.ledger.accounts["staff"].spent.main - before == 10**11
            assert curator.ledger.pending == ()
            verified(curator.ledger)


def test_what_had_to_be_found_is_paid_once_and_told(folder):
    """Also by a refusal: only what was charged is said to be."""
    Curator.register(changed(folder, ("find = true, epsilon = 0.1", "find = true, epsilon = 0.5")))
    question = "SELECT SUM(bonus) AS s FROM payroll"
    with Curator(folder / "policy.toml") as curator:
        curator.ask(question, epsilon="0.1")
        whole = curator.paid.main
        assert whole == curator.accounts()["staff"].spent.main > 10**11
        curator.ask(question, epsilon="0.2")
        assert curator.paid.said("pure") == "epsilon 0.2"
        with pytest.raises(BudgetExceededError) as refused:
            curator.ask(question, epsilon=100)
        assert "found" not in str(refused.value)  # it was found, and paid, before
        with pytest.raises(BudgetExceededError, match="what had to be found for it is charged"):
            curator.ask(question, epsilon="0.99", analyst="bob")
        assert curator.paid.main == whole - 10**11


def test_ten_questions_of_a_tenth_fit(folder):
    with Curator(folder / "policy.toml") as curator:
        for i in range(10):
            curator.ask(f"SELECT COUNT(*) AS n FROM payroll WHERE pay < {i + 1}", analyst="bob")
        assert curator.accounts("bob")["staff@bob"].left.main == 0
        with pytest.raises(BudgetExceededError):
            curator.ask("SELECT COUNT(*) AS n FROM payroll", epsilon="1e-9", analyst="bob")


def test_the_same_question_again_is_free_and_equal(curator):
    first = curator.ask(COUNT, epsilon="0.3", analyst="alice")
    before = spent(curator)
    for again in (COUNT, "select dept, count(*) as n\nfrom payroll group by dept  -- again"):
        for epsilon in ("0.3", "0.1"):
            assert curator.ask(again, epsilon=epsilon, analyst="alice") == first
    assert spent(curator) == before


def test_a_question_of_somebody_else_costs_the_allowance_and_not_the_people(curator):
    first = curator.ask(COUNT, epsilon="0.3", analyst="alice")
    second = curator.ask(COUNT, epsilon="0.3", analyst="bob")
    assert second.release.rows == first.release.rows
    assert second.analyst == "bob"
    assert second.id != first.id
    assert second.entry > first.entry
    assert second.release.asked_at >= first.release.asked_at
    assert "alice" not in second.to_json()
    assert spent(curator) == {
        "staff": "epsilon 0.3",
        "staff@alice": "epsilon 0.3",
        "staff@bob": "epsilon 0.3",
    }
    for again in ({"epsilon": "0.2"}, {"epsilon": "0.3"}):
        assert curator.ask(COUNT, analyst="bob", **again) == second
    assert spent(curator)["staff@bob"] == "epsilon 0.3"


def test_public_releases_are_free_for_all(folder):
    changed(folder, ("epsilon = 3\n", 'epsilon = 3\nreleases = "public"\n'))
    Curator.register(folder / "policy.toml")
    with Curator(folder / "policy.toml") as curator:
        curator.ask(COUNT, epsilon="0.3", analyst="alice")
        curator.ask(COUNT, epsilon="0.3", analyst="bob")
        assert spent(curator)["staff@bob"] == "epsilon 0"


def test_a_better_answer_pays_in_full_and_is_combined_with_the_own_coarser_one(curator):
    coarse = curator.ask(COUNT, epsilon="0.2", analyst="alice")
    fine = curator.ask(COUNT, epsilon="0.4", analyst="alice")
    assert str(fine.release.guarantee.epsilon) == "3/5"
    assert "combined" in " ".join(fine.release.notes)
    (low, high), (near, far) = (r.release.intervals["n"][0] for r in (coarse, fine))
    assert far - near < high - low
    assert spent(curator)["staff"] == "epsilon 0.6"
    alone = curator.ask(COUNT, epsilon="0.4", analyst="bob")
    assert "combined" not in " ".join(alone.release.notes), "it would show that alice asked before"
    assert str(alone.release.guarantee.epsilon) == "2/5"
    assert curator.ask(COUNT, epsilon="0.1", analyst="alice").release == fine.release


def test_a_chosen_key_has_one_answer_for_good(curator):
    curator.ask(COUNT, epsilon="0.2", analyst="alice")
    named = curator.ask(COUNT, epsilon="0.2", analyst="alice", key="mine")
    fine = curator.ask(COUNT, epsilon="0.4", analyst="alice")
    assert curator.ask(COUNT, epsilon="0.2", analyst="alice", key="mine") == named
    assert curator.record(named.id) == named
    assert curator.record(fine.id) == fine, "as it was handed out, combined with the coarser one"
    assert named.release != fine.release
    assert spent(curator)["staff@alice"] == "epsilon 0.6"
    verified(curator.ledger)


def test_another_state_of_the_data_is_another_question(folder):
    with Curator(folder / "policy.toml") as curator:
        first = curator.ask(COUNT, epsilon="0.3")
    write_rows(folder / "payroll.csv", seed=2)
    changed(folder, ('version = "2024"', 'version = "2025"'))
    version, changes = Curator.register(folder / "policy.toml")
    assert version == 2
    assert changes == []
    with Curator(folder / "policy.toml") as curator:
        second = curator.ask(COUNT, epsilon="0.3")
        assert second.data_version == "2025"
        assert second.id != first.id
        assert spent(curator)["staff"] == "epsilon 0.6"
        assert curator.record(first.id).release == first.release


def test_a_cheap_question_does_not_buy_an_expensive_answer(curator):
    fine = curator.ask(COUNT, epsilon="0.9", analyst="alice")
    cheap = curator.ask(COUNT, epsilon="0.01", analyst="bob")
    assert str(cheap.release.guarantee.epsilon) == "1/100"
    assert cheap.release.intervals != fine.release.intervals
    assert spent(curator)["staff@bob"] == "epsilon 0.01"


def test_entries_and_records_do_not_show_a_hit(curator):
    curator.ask(COUNT, epsilon="0.1", analyst="alice")
    entries = [
        curator.ask(q, epsilon="0.1", analyst="bob").entry for q in (COUNT, SUM, COUNT + " LIMIT 2")
    ]
    assert [b - a for a, b in pairwise(entries)] == [2, 2]
    hit = curator.ask(COUNT, epsilon="0.1", analyst="bob")
    assert curator.record(hit.id) == hit
    assert hit.analyst == "bob"


def test_an_analyst_learns_nothing_of_other_accounts(curator):
    curator.ask(COUNT, epsilon="2.5")
    with pytest.raises(BudgetExceededError) as own:
        curator.ask(SUM, epsilon=1000, analyst="bob")
    assert "staff@bob epsilon 1 is left" in str(own.value)
    with pytest.raises(BudgetExceededError, match="these people does not suffice") as other:
        curator.ask(SUM, epsilon=1, analyst="bob")
    assert other.value.left is None
    assert "0.5" not in str(other.value)


def test_a_search_that_cannot_be_paid_tells_nothing_of_others(folder):
    with Curator(folder / "policy.toml") as curator:
        curator.ask(COUNT, epsilon="2.95")
        with pytest.raises(BudgetExceededError, match="these people does not suffice") as refused:
            curator.ask("SELECT SUM(bonus) AS s FROM payroll", epsilon="0.01", analyst="bob")
        assert refused.value.left is None
        assert "0.05" not in str(refused.value)


def test_what_is_left_tells_nothing_of_others(curator):
    curator.ask(COUNT, epsilon="2.95")
    curator.ask(COUNT + " LIMIT 1", epsilon="0.01", analyst="bob")
    with pytest.raises(BudgetExceededError, match="these people does not suffice") as refused:
        curator.ask(SUM, epsilon="1", analyst="bob", with_what_is_left=True)
    assert refused.value.left is None
    assert "staff" not in str(refused.value)


def test_a_policy_may_tell_what_is_left_of_the_people_s_budget(folder):
    """Then the rest of the people's budget is offered like an allowance's."""
    said = ('neighbours = "add_or_remove"', 'neighbours = "add_or_remove"\ntells_rest = true')
    Curator.register(changed(folder, said))
    with Curator(folder / "policy.toml") as curator:
        curator.ask(COUNT, epsilon="2.8")
        with pytest.raises(BudgetExceededError) as refused:
            curator.ask(SUM, epsilon="0.5", analyst="bob")
        assert "of the budget of these people epsilon 0.2 is left" in str(refused.value)
        assert re.search(r"With epsilon 0\.2 it could be answered: s within", str(refused.value))
        assert refused.value.left == Amount(2 * 10**11)
        record = curator.ask(SUM, epsilon="0.5", analyst="bob", with_what_is_left=True)
        assert record.cost == "epsilon 0.2"
        assert spent(curator) == {
            "staff": "epsilon 3", "staff@alice": "epsilon 0", "staff@bob": "epsilon 0.2"
        }  # fmt: skip


def test_an_offer_fits_into_both_rests_where_both_may_be_known(folder):
    said = ('neighbours = "add_or_remove"', 'neighbours = "add_or_remove"\ntells_rest = true')
    Curator.register(changed(folder, said))
    with Curator(folder / "policy.toml") as curator:
        curator.ask(COUNT, epsilon="2.8")
        with pytest.raises(BudgetExceededError, match=r"of staff@bob .* With epsilon 0\.2 it"):
            curator.ask(SUM, epsilon="2", analyst="bob")


def test_nothing_is_searched_for_a_question_that_is_refused(curator):
    head = curator.ledger.head
    for how, error in [
        ({"epsilon": 0}, ParameterError),
        ({"epsilon": "nan"}, ParameterError),
        ({"rho": "0.1"}, QueryError),
        ({"within": 5, "epsilon": 1}, ParameterError),
        ({"epsilon": 1, "key": "!!"}, ParameterError),
    ]:
        with pytest.raises(error):
            curator.ask("SELECT SUM(bonus) AS s FROM payroll", **how)
    assert curator.ledger.head == head


def test_one_asking_has_one_answer_for_good(curator):
    first = curator.ask(COUNT, epsilon="0.2", key="monday")
    curator.ask(COUNT, epsilon="0.4", key="tuesday")
    assert curator.ask(COUNT, epsilon="0.2", key="monday") == first


def test_keys_of_analysts_are_their_own(curator):
    first = curator.ask(COUNT, epsilon="0.1", analyst="alice", key="cron")
    second = curator.ask(SUM, epsilon="0.1", analyst="bob", key="cron")
    assert first.id != second.id
    assert first.id.startswith("cron-")
    assert second.id.startswith("cron-")
    assert curator.ask(COUNT, epsilon="0.1", analyst="alice", key="cron") == first
    with pytest.raises(ParameterError, match="could be any of"):
        curator.record("cron")
    with pytest.raises(ParameterError):
        curator.ask(SUM, key="find-me")
    with pytest.raises(ParameterError, match="what is left"):
        curator.ask(SUM, key="k", with_what_is_left=True)


def test_a_question_that_waited_through_a_restore_is_not_taken_up_again(folder, monkeypatch):
    """It may have been answered since: the same noise on other data would show the difference."""
    from discreet.curator.ledger.restore import restored

    with Curator(folder / "policy.toml") as curator:
        asking = curator._asking(COUNT, None, None, None)
        with monkeypatch.context() as patched:
            patched.setattr(type(asking.engine), "run", failing)
            with pytest.raises(EngineError):
                curator.ask(COUNT, epsilon="0.1", key="k")
    backup = (folder / "staff.ledger").read_bytes()
    with Curator(folder / "policy.toml") as curator:
        curator.ask(COUNT, epsilon="0.1", key="k")
    (folder / "staff.ledger").write_bytes(backup)
    restored(folder / "staff.ledger")
    with Curator(folder / "policy.toml") as curator:
        with pytest.raises(LedgerError, match="before this ledger was restored"):
            curator.ask(COUNT, epsilon="0.1", key="k")
        curator.ask(COUNT, epsilon="0.1", key="new")
        assert spent(curator)["staff"] == "epsilon 0.2"


# refusals


def test_what_cannot_be_paid_is_refused_with_an_offer_that_can(curator):
    curator.ask(COUNT, epsilon="0.7", analyst="alice")
    with pytest.raises(BudgetExceededError, match=r"epsilon 0\.3 is left.*With epsilon 0\.3") as no:
        curator.ask(SUM, epsilon="0.5", analyst="alice")
    assert "s within" in str(no.value)
    assert spent(curator)["staff@alice"] == "epsilon 0.7"
    record = curator.ask(SUM, epsilon="0.5", analyst="alice", with_what_is_left=True)
    assert record.cost == "epsilon 0.3"
    with pytest.raises(BudgetExceededError) as spent_up:
        curator.ask(SUM + " HAVING s > 0", epsilon="0.5", analyst="alice", with_what_is_left=True)
    assert "With epsilon" not in str(spent_up.value)


def test_a_refused_question_leaves_no_trace_of_a_charge(curator):
    head = curator.ledger.head
    for question, how, error in [
        ("SELECT salary FROM payroll", {}, QueryError),
        ("SELECT COUNT(*) FROM elsewhere", {}, QueryError),
        (COUNT, {"epsilon": 0}, ParameterError),
        (COUNT, {"epsilon": float("nan")}, ParameterError),
        (COUNT, {"rho": "0.1"}, QueryError),
        (COUNT, {"epsilon": 4}, BudgetExceededError),
        (COUNT, {"analyst": "mallory"}, ParameterError),
        (COUNT, {"dataset": "other"}, QueryError),
        (COUNT, {"block": "2025"}, QueryError),
        (COUNT, {"key": "a/b"}, ParameterError),
        (COUNT, {"key": ""}, ParameterError),
        (COUNT, {"within": 5, "epsilon": 1}, ParameterError),
    ]:
        with pytest.raises(error):
            curator.ask(question, **how)
    assert curator.ledger.head == head


def test_keys_name_askings(curator):
    first = curator.ask(COUNT, epsilon="0.1", key="monday")
    assert curator.ask(COUNT, epsilon="0.1", key="monday") == first
    with pytest.raises(LedgerError, match="belongs to another question"):
        curator.ask(SUM, epsilon="0.1", key="monday")
    assert curator.record("mond") == first
    with pytest.raises(ParameterError, match="not stored"):
        curator.record("tuesday")


def test_after_its_last_day_nothing_is_answered_whatever_the_clock_says(folder):
    changed(folder, ("epsilon = 3\n", "epsilon = 3\nexpires = 2027-12-31\n"))
    Curator.register(folder / "policy.toml")
    times = [datetime(2027, 12, 31, tzinfo=UTC)]
    with Curator(folder / "policy.toml", clock=lambda: times[-1]) as curator:
        curator.ask(COUNT)
        times.append(datetime(2028, 1, 1, tzinfo=UTC))
        with pytest.raises(BudgetExceededError, match="'staff' could be asked until 2027-12-31"):
            curator.ask(SUM)
        curator.ledger.store(curator.ledger.reserve(_claim(curator)).key, "{}")
        times.append(datetime(2020, 1, 1, tzinfo=UTC))
        with pytest.raises(BudgetExceededError, match="until 2027-12-31"):
            curator.ask(SUM)


def test_an_analyst_asks_until_a_last_day(folder):
    head = "[analyst.alice.allowance.staff]"
    changed(folder, (head, f"[analyst.alice]\nexpires = 2027-12-31\n{head}"))
    Curator.register(folder / "policy.toml")
    late = datetime(2028, 1, 1, tzinfo=UTC)
    with Curator(folder / "policy.toml", clock=lambda: late) as curator:
        curator.ask(COUNT)
        with pytest.raises(BudgetExceededError, match="'alice' could ask until 2027-12-31"):
            curator.ask(COUNT, analyst="alice")


def _claim(curator):
    from discreet.curator.ledger.values import Claim

    return Claim("late", "d", "c", 1, "", (), curator.policy.fingerprint, {})


def test_a_retired_dataset_answers_from_the_store_only(curator):
    first = curator.ask(COUNT, analyst="alice")
    assert curator.retire("payroll") == ("staff",)
    with pytest.raises(BudgetExceededError, match="retired"):
        curator.ask(SUM, analyst="alice")
    with pytest.raises(BudgetExceededError, match=r"^staff was retired: .*; nothing was charged$"):
        curator.ask(SUM)
    for who in ("alice", None):  # whatever is left, nothing is offered
        with pytest.raises(BudgetExceededError) as refused:
            curator.ask(SUM, analyst=who, epsilon=99)
        assert "could be answered" not in str(refused.value)
        with pytest.raises(BudgetExceededError):
            curator.ask(SUM, analyst=who, epsilon=99, with_what_is_left=True)
    assert curator.ask(COUNT, analyst="alice") == first
    assert curator.record(first.id) == first


# what an answer that was made for another says of itself


def test_prices_that_cost_the_same_are_not_the_same(curator):
    curator.ask(COUNT, epsilon="0.1", analyst="alice")
    record = curator.ask(COUNT, epsilon="0.0999999999999", analyst="bob")
    assert "0.0999999999999-differential" in str(record.release.guarantee)


def test_a_stored_answer_keeps_the_marks_of_its_asking(folder):
    """Whatever the policy becomes later."""
    with Curator(folder / "policy.toml") as curator:
        curator.ask(COUNT, epsilon="0.3", analyst="alice")
    changed(folder, ("epsilon = 3", "epsilon = 4"))
    Curator.register(folder / "policy.toml", more_budget=["staff"])
    with Curator(folder / "policy.toml") as curator:
        given = curator.ask(COUNT, epsilon="0.3", analyst="bob", key="k")
        assert given.policy_version == 2
        assert given.policy_fingerprint == curator.policy.fingerprint
    changed(folder, ("epsilon = 4", "epsilon = 5"))
    Curator.register(folder / "policy.toml", more_budget=["staff"])
    with Curator(folder / "policy.toml") as curator:
        assert curator.record(given.id) == given


# policies


def test_a_policy_has_to_be_registered(folder):
    changed(folder, ("epsilon = 3", "epsilon = 2"))
    with pytest.raises(LedgerError, match="discreet register"):
        Curator(folder / "policy.toml")
    Curator.register(folder / "policy.toml")
    with Curator(folder / "policy.toml") as curator:
        assert curator.version == 2


def test_names_create_no_budget(folder):
    with Curator(folder / "policy.toml") as curator:
        curator.ask(COUNT, epsilon=1)
    text = (folder / "policy.toml").read_text()
    changed(folder, ("dataset.payroll", "dataset.wages"))
    Curator.register(folder / "policy.toml")
    with Curator(folder / "policy.toml") as curator:
        assert spent(curator)["staff"] == "epsilon 1"
    changed(folder, ("staff", "crew"), ("crew.ledger", "staff.ledger"), text=text)
    with pytest.raises(LedgerError, match="belongs to the family 'staff'"):
        Curator.register(folder / "policy.toml", new_people=["crew"])
    changed(folder, ("epsilon = 3", "epsilon = 9"), text=text)
    with pytest.raises(LedgerError, match="--more-budget staff"):
        Curator.register(folder / "policy.toml")
    Curator.register(folder / "policy.toml", more_budget=["staff"])
    changed(folder, ("epsilon = 3", "epsilon = 0.5"), text=text)
    (folder / "policy.toml").write_text(
        (folder / "policy.toml").read_text().replace("epsilon = 1\n", "epsilon = 0.4\n")
    )
    with pytest.raises(LedgerError, match=r"has spent epsilon 1 already"):
        Curator.register(folder / "policy.toml")


def test_another_spelling_of_a_source_creates_no_budget(folder):
    text = (folder / "policy.toml").read_text()
    other = '[family.other]\nepsilon = 3\nneighbours = "add_or_remove"\n'
    (folder / "policy.toml").write_text(text + other)
    Curator.register(folder / "policy.toml", new_people=["other"])
    moved = text.replace('family = "staff"', 'family = "other"')
    for source in ("payroll.csv", "payrol*.csv", "./x/../payroll.csv"):
        spelled = moved.replace('source = "payroll.csv"', f'source = "{source}"')
        (folder / "policy.toml").write_text(spelled + other)
        with pytest.raises(LedgerError, match="belongs to the family 'staff'"):
            Curator.register(folder / "policy.toml")


def test_a_question_that_waited_is_not_answered_after_retirement(curator, monkeypatch):
    asking = curator._asking(COUNT, None, None, None)
    with monkeypatch.context() as patched:
        patched.setattr(type(asking.engine), "run", failing)
        with pytest.raises(EngineError):
            curator.ask(COUNT, epsilon="0.1", key="k")
    curator.retire("payroll")
    with pytest.raises(BudgetExceededError, match="retired"):
        curator.ask(COUNT, epsilon="0.1", key="k")


def test_two_datasets_of_one_family_share_a_budget(folder):
    text = (folder / "policy.toml").read_text()
    write_rows(folder / "pensions.csv", seed=3)
    start = text.index("[dataset.payroll]")
    both = text[start : text.index("[defaults]")].replace("payroll", "pensions")
    (folder / "policy.toml").write_text(text + both)
    Curator.register(folder / "policy.toml")
    with Curator(folder / "policy.toml") as curator:
        curator.ask(COUNT, epsilon=2)
        with pytest.raises(BudgetExceededError):
            curator.ask(COUNT.replace("payroll", "pensions"), epsilon=2)
        with pytest.raises(
            QueryError, match="there is no dataset 'nowhere'; there are: payroll, pensions"
        ):
            curator.ask("SELECT COUNT(*) FROM nowhere")


def test_blocks_of_other_people_have_budgets_of_their_own(folder):
    write_rows(folder / "q1.csv", seed=4)
    write_rows(folder / "q2.csv", seed=5)
    blocks = """
[dataset.payroll.block.q1]
source = "q1.csv"
version = "2025-q1"
people = "own"
[dataset.payroll.block.q2]
source = "q2.csv"
version = "2025-q2"
people = "shared"
"""
    with (folder / "policy.toml").open("a") as file:
        file.write(blocks)
    Curator.register(folder / "policy.toml", new_people=["staff/q1"])
    with Curator(folder / "policy.toml") as curator:
        curator.ask(COUNT, epsilon="2.5", block="q1")
        assert spent(curator)["staff"] == "epsilon 0"
        curator.ask(COUNT, epsilon="2.5", block="q2")
        assert spent(curator)["staff"] == "epsilon 2.5"
        assert spent(curator)["staff/q1"] == "epsilon 2.5"
        with pytest.raises(BudgetExceededError):
            curator.ask(COUNT, epsilon="2.5")
        curator.ask(SUM, epsilon="0.3", block="q1", analyst="bob")
        assert spent(curator)["staff/q1@bob"] == "epsilon 0.3"
        assert curator.retire("payroll", "q1") == ("staff/q1",)
        assert not curator.accounts()["staff"].sealed
        assert curator.retire("payroll") == ("staff", "staff/q1")
        for block in (None, "q1", "q2"):
            with pytest.raises(BudgetExceededError, match="retired"):
                curator.ask(f"{COUNT} LIMIT 1", epsilon="0.01", block=block)


def test_zcdp_accounts_add_up_rhos(folder):
    text = (
        POLICY.replace("epsilon = 3", 'epsilon = 3\ndelta = 1e-6\naccounting = "zcdp"')
        .replace(
            "analyst.alice.allowance.staff]\nepsilon = 1",
            "analyst.alice.allowance.staff]\nrho = 0.05",
        )
        .replace(
            "analyst.bob.allowance.staff]\nepsilon = 1", "analyst.bob.allowance.staff]\nrho = 0.05"
        )
    )
    (folder / "policy.toml").write_text(text.replace("staff.ledger", "second.ledger"))
    Curator.register(folder / "policy.toml")
    with Curator(folder / "policy.toml") as curator:
        record = curator.ask(COUNT, rho="0.02", analyst="alice")
        assert record.cost == "rho 0.02"
        with pytest.raises(BudgetExceededError, match=r"With rho 0\.03"):
            curator.ask(SUM, rho="0.05", analyst="alice")
        curator.ask(SUM, epsilon="0.2", analyst="alice")
        with pytest.raises(BudgetExceededError, match="With epsilon 0") as refused:
            curator.ask(SUM + " HAVING s > 0", epsilon=1, analyst="alice")
        could = refused.value.could
        curator.ask(SUM + " HAVING s > 0", epsilon=could, analyst="alice")
        verified(curator.ledger)


# searches


def test_what_is_found_is_paid_once_and_kept(folder):
    """False alarm far below 1e-9: 2,000 people are in one bin, ten times what a search needs."""
    renewed(folder, people=4000)
    question = "SELECT AVG(bonus) AS b FROM payroll"
    with Curator(folder / "policy.toml") as curator:
        first = curator.ask(question, epsilon="0.5", analyst="alice")
        assert "bounds of bonus found" in " ".join(first.release.notes)
        assert spent(curator)["staff"] == "epsilon 0.6"
        assert spent(curator)["staff@alice"] == "epsilon 0.6"
    with Curator(folder / "policy.toml") as curator:
        assert curator.ask(question, epsilon="0.5", analyst="alice") == first
        curator.ask("SELECT SUM(bonus) AS b FROM payroll", epsilon="0.1", analyst="bob")
        assert spent(curator)["staff"] == "epsilon 0.7"
        assert spent(curator)["staff@bob"] == "epsilon 0.2"
        counted = curator.ask(COUNT, epsilon="0.1", analyst="bob")
        assert not any("bonus" in note for note in counted.release.notes)
    with Curator(folder / "policy.toml") as curator:
        assert curator.ask(COUNT, epsilon="0.1", analyst="bob") == counted
        verified(curator.ledger)


def test_a_refusal_after_a_search_says_what_was_charged(folder):
    """False alarm as above."""
    renewed(folder, people=4000)
    with Curator(folder / "policy.toml") as curator:
        with pytest.raises(BudgetExceededError, match="what had to be found for it is charged"):
            curator.ask("SELECT AVG(bonus) AS b FROM payroll", epsilon="100", analyst="alice")
        assert spent(curator)["staff@alice"] == "epsilon 0.1"
        with pytest.raises(BudgetExceededError) as refused:
            curator.ask(COUNT, epsilon="100", analyst="alice")
        assert "found" not in str(refused.value)


def test_a_search_that_found_nothing_is_not_paid_twice(folder):
    renewed(folder, "id,dept,pay,bonus\n1,a,5,\n")
    with Curator(folder / "policy.toml") as curator:
        for _ in range(2):
            with pytest.raises(NothingFoundError, match="bonus"):
                curator.ask("SELECT AVG(bonus) AS b FROM payroll", epsilon="0.5")
        assert spent(curator)["staff"] == "epsilon 0.1"


# faults


def test_an_owner_sees_why_a_database_failed_and_may_go_on_with_the_key(curator, monkeypatch):
    asking = curator._asking(COUNT, None, None, None)
    with monkeypatch.context() as patched:
        patched.setattr(type(asking.engine), "run", failing)
        with pytest.raises(EngineError, match="on purpose"):
            curator.ask(COUNT, epsilon="0.3", key="k")
    assert spent(curator)["staff"] == "epsilon 0.3"
    (waiting,) = curator.ledger.pending
    record = curator.ask(COUNT, epsilon="0.3", key="k")
    assert record.entry == waiting.seq
    assert spent(curator)["staff"] == "epsilon 0.3"


def test_an_analyst_sees_an_answer_and_the_owner_is_told(folder, monkeypatch):
    told = []
    with Curator(folder / "policy.toml", on_fault=told.append) as curator:
        asking = curator._asking(COUNT, None, None, None)
        monkeypatch.setattr(type(asking.engine), "run", failing)
        record = curator.ask(COUNT, epsilon="0.5", analyst="alice")
        assert max(record.release["n"]) < 100
        assert "on purpose" in str(told[0])


def test_the_answer_of_a_failure_serves_as_any_other_and_is_marked(folder):
    with Curator(folder / "policy.toml", on_fault=lambda _: None) as curator:
        asking = curator._asking(COUNT, None, None, None)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(type(asking.engine), "run", failing)
            failed = curator.ask(COUNT, epsilon="0.5", analyst="alice", key="k")
        before = spent(curator)
        assert curator.ask(COUNT, epsilon="0.5", analyst="alice") == failed
        assert curator.ask(COUNT, epsilon="0.25", analyst="alice") == failed
        assert curator.ask(COUNT, epsilon="0.5", analyst="alice", key="k") == failed
        assert spent(curator) == before
        given = curator.ask(COUNT, epsilon="0.5", analyst="bob")
        assert given.release.rows == failed.release.rows
        assert spent(curator) == before | {"staff@bob": "epsilon 0.5"}
        marked = [e.values() for e in curator.ledger.entries() if e.kind == "done"]
        assert [bool(values.get("failed")) for values in marked] == [True, True]
        verified(curator.ledger)


def test_a_database_that_does_not_answer_costs_nothing(curator, monkeypatch):
    asking = curator._asking(COUNT, None, None, None)
    monkeypatch.setattr(type(asking.engine), "ping", failing)
    with pytest.raises(EngineError):
        curator.ask(COUNT, epsilon="0.3")
    assert spent(curator)["staff"] == "epsilon 0"


@pytest.mark.slow
@pytest.mark.parametrize(
    "step",
    ["after the commit of reserve", "after compute", "in store", "after the commit of store",
     "before send"],
)  # fmt: skip
def test_a_question_that_was_killed_goes_on_under_its_charge_with_its_noise(folder, killing, step):
    killed = killing.ask(folder, step, COUNT, epsilon="0.5", analyst="alice", key="k")
    assert killed == -signal.SIGKILL
    with Curator(folder / "policy.toml") as curator:
        pending = curator.ledger.pending
        noise = [p.noise for p in pending]
        record = curator.ask(COUNT, epsilon="0.5", analyst="alice", key="k")
        assert spent(curator)["staff"] == "epsilon 0.5"
        assert not curator.ledger.pending
        verified(curator.ledger)
    if noise:
        assert record.release.raw == _again(folder, noise[0]).raw


def _again(folder, noise):
    """The answer that this noise key gives."""
    from discreet.curator.answering import Answering, Telling
    from discreet.curator.questions import target_of
    from discreet.noise.source import KeyedSource

    with Curator(folder / "policy.toml") as curator:
        asking = curator._asking(COUNT, None, None, None)
        plan = asking.plan(COUNT)
        priced, statement = asking.priced(plan, target_of(plan, "0.5", None, None))
        level = curator.policy.defaults.confidence
        telling = Telling(asking.schema, level, [], datetime.now(UTC))
        source = KeyedSource(noise)
        return Answering(asking.engine).release(priced, statement, source, telling)[0]


def test_noise_keys_are_gone_when_the_answer_is_there(folder):
    with Curator(folder / "policy.toml") as curator:
        curator.ask(COUNT)
        rows = curator.ledger.everything()[2]
    assert [row["noise"] for row in rows] == [None]


def test_two_processes_share_a_budget(folder):
    code = textwrap.dedent("""
        import sys
        from discreet.curator.curator import Curator
        from discreet.errors import BudgetExceededError
        with Curator("policy.toml") as curator:
            granted = 0
            for i in range(8):
                question = f"SELECT COUNT(*) AS n FROM payroll WHERE pay < {sys.argv[1]}{i}"
                try:
                    curator.ask(question, epsilon="0.4")
                    granted += 1
                except BudgetExceededError:
                    pass
            print(granted)
    """)
    started = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(i)], cwd=folder, stdout=subprocess.PIPE, text=True
        )
        for i in (1, 2)
    ]
    granted = [int(process.communicate(timeout=120)[0]) for process in started]
    assert sum(granted) == 7  # 3 / 0.4
    with Curator(folder / "policy.toml") as curator:
        assert spent(curator)["staff"] == "epsilon 2.8"
        verified(curator.ledger)


def test_what_is_free_is_free(curator):
    assert "Fire" not in curator.explain(COUNT)
    assert "COUNT" in curator.explain(COUNT, epsilon="0.2")
    (line,) = list(curator.price(COUNT, epsilon="0.2"))
    assert line.half_width > 0
    assert curator.epsilon_for(COUNT, within=10) > 0
    assert curator.cost(COUNT, epsilon="0.2").said("pure") == "epsilon 0.2"
    assert curator.cost(COUNT).said("pure") == "epsilon 0.1"
    assert curator.ledger.head.seq == 6
    assert json.loads(curator.ask(COUNT).to_json())["dataset"] == "payroll"


def test_a_handed_out_record_is_what_the_store_holds(curator):
    record = curator.ask(COUNT, epsilon="0.3")
    assert curator.record(record.id) == record
    assert replace(record, analyst="x") != record


def test_a_stored_answer_alone_is_not_improved(curator):
    curator.ask(COUNT, epsilon="0.2", analyst="alice")
    fine = curator.ask(COUNT, epsilon="0.4", analyst="alice")
    alone = curator.record(fine.id, alone=True)
    assert str(alone.release.guarantee.epsilon) == "2/5"
    assert "combined" not in " ".join(alone.release.notes)
    assert str(curator.record(fine.id).release.guarantee.epsilon) == "3/5"
