"""Claims for questions of one shape are those that are made one by one."""

import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.curator.payroll import COUNT, SUM

from discreet.curator.claims import (
    OWNER,
    Asked,
    Claims,
    claim_of,
    digest_of,
    key_of,
    named_in,
    own_record,
)
from discreet.curator.kept import Kept
from discreet.curator.ledger.amounts import Amount
from discreet.curator.ledger.values import Done
from discreet.errors import LedgerError, ParameterError
from discreet.query.price import Target

TARGETS = [Target(epsilon="0.3"), Target(epsilon="1/3", delta="1e-6"), Target(rho="0.1")]
TEXTS = st.text(st.characters(exclude_categories=()), max_size=12)


@pytest.mark.parametrize("target", TARGETS, ids=str)
@pytest.mark.parametrize("who", [OWNER, "alice"])
def test_a_claim_is_what_it_would_be_alone(curator, target, who):
    part, cost = curator._part("payroll", None, None), Amount(3 * 10**11, 7)
    plan = part.plan(COUNT)
    first = Asked.of_plan(plan, target, "")
    for found in ([], ["salary found", 'é "'], []):
        part.canon[:] = found
        made = Claims(curator.policy, curator.version, part, first, who, cost)
        for sql in ("SELECT 1", "SELECT 'é\n\"'", "\ud800", ""):
            for named in (True, False):
                alone = claim_of(
                    curator.policy, curator.version, part, Asked.of_plan(plan, target, sql), who,
                    cost, "k", named=named,
                )  # fmt: skip
                assert made.claim(sql, "k", named=named) == alone


def test_askers_and_prices_do_not_share_their_claims(curator):
    """Everybody pays from the own allowance, whoever asked a question of the shape before."""
    sql = "SELECT dept, COUNT(*) AS n FROM payroll WHERE pay < {} GROUP BY dept"
    for turn, (who, epsilon) in enumerate(
        [("alice", "0.1"), ("bob", "0.1"), (None, "0.1"), ("alice", "0.2"), ("bob", "0.1")]
    ):
        record = curator.ask(sql.format(1000 + turn), analyst=who, epsilon=epsilon)
        assert record.analyst == (who or OWNER)
        assert record.cost == f"epsilon {epsilon}"
        body = curator.ledger.entries()[record.entry - 1].values()
        assert len(body["charges"]) == (1 if who is None else 2)
        assert body["info"]["sql"] == record.plan
    left = {name: account.spent.said("pure") for name, account in curator.accounts().items()}
    assert left == {
        "staff": "epsilon 0.6",
        "staff@alice": "epsilon 0.3",
        "staff@bob": "epsilon 0.2",
    }


@given(TEXTS, TEXTS)
def test_a_hash_is_of_sorted_values(first, second):
    values = {"b": first, "a": [second, 1, None]}
    text = json.dumps(values, sort_keys=True, separators=(",", ":"))
    assert digest_of(values) == hashlib.sha256(text.encode()).hexdigest()


@given(st.text("aZ_-9", min_size=1, max_size=20), TEXTS.filter(bool), TEXTS)
def test_a_key_has_a_hash_of_who_asks_where(key, who, ledger):
    mark = digest_of({"who": who, "key": key, "ledger": ledger})[:8]
    assert key_of(key, who, ledger) == f"{key}-{mark}"
    assert key_of(key, OWNER, ledger) == key


def test_a_name_that_an_analyst_is_shown_serves_her_alone(curator):
    unnamed = curator.ask(COUNT, analyst="alice", epsilon="0.1").id
    named = curator.ask(f"{COUNT} LIMIT 1", analyst="alice", epsilon="0.1", key="monday").id
    own = curator.ask(f"{COUNT} LIMIT 2", epsilon="0.1").id
    ledger = curator.ledger
    for shown in (unnamed, named):
        assert named_in(ledger, shown, "alice") == shown
        assert named_in(ledger, shown, "bob") == key_of(shown, "bob", ledger.uid) != shown
        assert named_in(ledger, shown, OWNER) == shown
    assert named_in(ledger, own, "alice") == key_of(own, "alice", ledger.uid)
    assert named_in(ledger, "monday", "alice") == named
    assert named_in(ledger, "tuesday", "alice") == key_of("tuesday", "alice", ledger.uid)
    before = curator.accounts()
    assert curator.ask(COUNT, analyst="alice", epsilon="0.1", key=unnamed).id == unnamed
    assert curator.accounts() == before


def test_a_key_stays_the_name_of_what_it_named(curator):
    """Also one that looks like a name of the ledger's, of a question that came later."""
    looks = key_of("monday", "alice", curator.ledger.uid)
    first = curator.ask(COUNT, analyst="alice", epsilon="0.1", key=looks)
    second = curator.ask(SUM, analyst="alice", epsilon="0.1", key="monday")
    assert second.id == looks
    assert curator.ask(COUNT, analyst="alice", epsilon="0.1", key=looks).id == first.id


def answered(curator, *, other):
    """Bob's answer, as Alice who asked later is told it, and as he is told it again."""
    curator.ask(COUNT, analyst="bob", epsilon="0.1", key="first")
    curator.ask(COUNT, analyst="alice", epsilon="0.1", key="later")
    key, who = ("later", "alice") if other else ("first", "bob")
    found = curator.ledger.answer(key_of(key, who, curator.ledger.uid))
    assert isinstance(found, Done)
    assert found.hit == ("other" if other else "")
    return found


def test_anothers_answer_says_nothing_of_the_other(curator):
    stored = Kept.from_text(answered(curator, other=False).answer).record
    told = own_record(answered(curator, other=True))
    assert (stored.analyst, told.analyst) == ("bob", "alice")
    assert "bob" not in told.to_line()
    assert told.entry > stored.entry
    assert told.release.rows == stored.release.rows
    later = own_record(answered(curator, other=True)._replace(at="2036-01-01T10:00:00+00:00"))
    assert later.release.asked_at.year == 2036


@pytest.mark.parametrize(
    "change", [{"policy": 3}, {"policy": [1]}, {"software": ...}, {"block": ...}], ids=str
)
def test_an_entry_that_was_changed_is_refused_where_it_is_needed(curator, change):
    for other in (True, False):
        found = answered(curator, other=other)
        info = {name: said for name, said in {**found.info, **change}.items() if said is not ...}
        changed = found._replace(info=info)
        if not other:
            assert own_record(changed) == own_record(found)
        else:
            with pytest.raises(LedgerError, match=f"entry {found.seq} cannot be read") as told:
                own_record(changed)
            assert "bob" not in str(told.value)


@pytest.mark.parametrize(
    "change", [{"policy": ["2", "x"]}, {"software": 5}, {"dataset": None}, {"version": 1}], ids=str
)
def test_an_entry_of_another_kind_never_shows_whose_the_answer_was(curator, change):
    found = answered(curator, other=True)
    with pytest.raises(ParameterError, match="kept answer cannot be read"):
        own_record(found._replace(info={**found.info, **change}))
    with pytest.raises(ParameterError):
        own_record(found._replace(answer=found.answer.replace('"asked_at"', '"asked"')))
