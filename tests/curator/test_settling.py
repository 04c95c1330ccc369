"""Questions in steps, which stop where the ledger has to write something."""

import pytest
from tests.curator.payroll import COUNT

from discreet.curator.curator import Curator
from discreet.curator.ledger.amounts import NOTHING
from discreet.curator.ledger.verify import verified
from discreet.errors import BudgetExceededError


def through(ledger, questions):
    """Go through the steps of several questions together; what came of each, what was written."""
    found, written, left = {}, [], dict(enumerate(questions))
    while left:
        wanted = {}
        for number, steps in list(left.items()):
            try:
                wanted[number] = next(steps)
            except StopIteration as end:
                found[number] = end.value
                del left[number]
            except BudgetExceededError as refusal:
                found[number] = refusal
                del left[number]
        if wanted:
            ledger.write(list(wanted.values()))
            written.append([one.name for one in wanted.values()])
    return [found[number] for number in range(len(questions))], written


@pytest.fixture
def several(curator):
    """Three curators of one ledger."""
    return [curator, *(Curator(curator.policy, ledger=curator.ledger) for _ in range(2))]


def test_several_questions_are_charged_and_stored_together(several):
    ledger = several[0].ledger
    asked = [f"{COUNT} HAVING n > {n}" for n in range(3)]
    steps = [
        one.steps(text, epsilon="0.1", analyst="alice")
        for one, text in zip(several, asked, strict=True)
    ]
    found, written = through(ledger, steps)
    assert written == [["reserve"] * 3, ["store"] * 3]
    for one, record, text in zip(several, found, asked, strict=True):
        again = one.ask(text, epsilon="0.1", analyst="alice")
        assert again.release.rows == record.release.rows
    verified(ledger)


def test_the_same_question_of_several_is_each_ones_own_charge(several):
    ledger = several[0].ledger
    before = ledger.accounts
    steps = [one.steps(COUNT, epsilon="0.1", analyst="alice", key=f"k{n}")
             for n, one in enumerate(several)]  # fmt: skip
    found, _ = through(ledger, steps)
    paid = {
        name: one.spent.main - before[name].spent.main
        for name, one in ledger.accounts.items()
        if one.spent != before[name].spent
    }
    assert len(found) == 3
    assert set(paid.values()) == {3 * 10**11}
    for n, one in enumerate(several):
        again = one.ask(COUNT, epsilon="0.1", analyst="alice", key=f"k{n}")
        assert again.release.rows == found[n].release.rows
        assert one.paid == NOTHING


def test_steps_that_are_left_charge_nothing_more(curator):
    """Who does not go on has stopped before its charge was written, or keeps the charge."""
    ledger = curator.ledger
    seq = ledger.head.seq
    steps = curator.steps(COUNT, epsilon="0.1", analyst="alice", key="k")
    wanted = next(steps)
    steps.close()
    assert ledger.head.seq == seq
    steps = curator.steps(COUNT, epsilon="0.1", analyst="alice", key="k")
    wanted = next(steps)
    ledger.write([wanted])
    steps.close()
    assert [one.key for one in ledger.pending] == [wanted.result().key]
    assert curator.ask(COUNT, epsilon="0.1", analyst="alice", key="k").release.rows
    assert not ledger.pending
