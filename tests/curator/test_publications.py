"""Roll-ups under a ledger; grids are in test_publishing.py."""

from fractions import Fraction

import pytest
from tests.curator.payroll import spent
from tests.curator.test_rolling import adds_up

from discreet.curator.curator import Curator
from discreet.curator.ledger.steps import on_step
from discreet.curator.ledger.verify import verified
from discreet.errors import BudgetExceededError, LedgerError, ParameterError

ROLLUP = "SELECT dept, COUNT(*) AS n FROM payroll GROUP BY ROLLUP (dept)"


def test_a_rollup_is_charged_and_stored(curator):
    record = curator.publish_rollup(["dept"], epsilon="0.5", analyst="alice")
    assert spent(curator) == {"staff": "epsilon 0.5", "staff@alice": "epsilon 0.5",
                              "staff@bob": "epsilon 0"}  # fmt: skip
    assert curator.record(record.id) == record
    assert curator.publish_rollup(["dept"], epsilon="0.5", analyst="alice") == record
    assert curator.ask(ROLLUP, epsilon="0.5", analyst="alice") == record
    assert spent(curator)["staff@alice"] == "epsilon 0.5"
    adds_up(record.release, ("dept",))


def test_another_analyst_gets_the_same_and_pays_the_allowance(curator):
    first = curator.publish_rollup(["dept"], epsilon="0.5", analyst="alice")
    second = curator.ask(ROLLUP, epsilon="0.5", analyst="bob")
    assert second.release.rows == first.release.rows
    assert spent(curator) == {"staff": "epsilon 0.5", "staff@alice": "epsilon 0.5",
                              "staff@bob": "epsilon 0.5"}  # fmt: skip


def test_a_better_rollup_still_adds_up(curator):
    """Two answers are not joined number by number: parts would not add up any more."""
    coarse = curator.publish_rollup(["dept"], epsilon="0.2")
    fine = curator.publish_rollup(["dept"], epsilon="0.7")
    assert spent(curator)["staff"] == "epsilon 0.9"
    assert fine.release != coarse.release
    assert fine.release.guarantee.epsilon == Fraction(7, 10)
    adds_up(fine.release, ("dept",))


def test_defaults_and_options_say_the_price(curator):
    curator.ask(ROLLUP)
    assert spent(curator)["staff"] == "epsilon 0.1"
    curator.ask(ROLLUP.replace("SELECT", "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon=0.3)"))
    assert spent(curator)["staff"] == "epsilon 0.4"


def test_what_cannot_be_paid_is_refused(curator):
    with pytest.raises(BudgetExceededError, match="nothing was charged"):
        curator.publish_rollup(["dept"], epsilon="1.5", analyst="alice")
    with pytest.raises(BudgetExceededError, match="nothing was charged"):
        curator.ask(ROLLUP, epsilon="1.5", analyst="alice")
    with pytest.raises(ParameterError, match="analyst"):
        curator.publish_rollup(["dept"], epsilon="0.1", analyst="mallory")
    assert spent(curator)["staff"] == "epsilon 0"


def test_a_key_names_one_rollup(curator):
    first = curator.publish_rollup(["dept"], epsilon="0.3", key="may")
    assert curator.ask(ROLLUP, epsilon="0.3", key="may") == first
    with pytest.raises(LedgerError, match="another question"):
        curator.publish_rollup(["dept"], where="pay > 3", epsilon="0.3", key="may")
    assert spent(curator)["staff"] == "epsilon 0.3"


def test_a_crash_after_the_charge_goes_on_with_the_same_noise(folder):
    def kill(step):
        if step == "after compute":
            raise KeyboardInterrupt

    with Curator(folder / "policy.toml") as curator:
        on_step(kill)
        try:
            with pytest.raises(KeyboardInterrupt):
                curator.publish_rollup(["dept"], epsilon="0.3", key="may")
        finally:
            on_step(None)
        assert curator.ledger.pending
        curator.publish_rollup(["dept"], epsilon="0.3", key="may")
        assert spent(curator)["staff"] == "epsilon 0.3"
        verified(curator.ledger)
