"""Ledgers that are broken on purpose: the checker has to find each of them."""

import time
from unittest.mock import patch

from sqlalchemy import bindparam, update
from tests.curator.ledger.harness import compute, note, replace, slowly

from discreet.curator.ledger import tables as t
from discreet.curator.ledger.amounts import Amount
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.steps import reached
from discreet.curator.ledger.values import Pending
from discreet.curator.ledger.writing import Writing
from discreet.errors import BudgetExceededError
from discreet.noise.source import new_key

_SPEND = (
    update(t.account)
    .where(t.account.c.name == bindparam("payer"))
    .values(spent=t.account.c.spent + bindparam("main"))
    .returning(t.account.c.id, t.account.c.spent)
)
_NOISE = (
    update(t.entry)
    .where(t.entry.c.key == bindparam("asked"))
    .where(t.entry.c.state == "reserved")
    .values(noise=bindparam("drawn"))
)
_FORGET = (
    update(t.entry)
    .where(t.entry.c.key == bindparam("asked"))
    .values(dict.fromkeys(t.question.c.keys()[:-1]))
)


def _pays(self, charges):
    paid = []
    for charge in charges:
        row = self.run(_SPEND, payer=charge.account, main=charge.amount.main).fetchone()
        self.spent[row[0]] = Amount(row[1])
        paid.append([row[0], charge.amount.main, 0])
    return paid


class CheckThenSpend(Ledger):
    """Looks whether there is enough, and spends later, without looking again."""

    def _connect(self):
        """Nothing is written in one go: that would look."""
        super()._connect()
        slowly(self)

    def reserve(self, asked):
        accounts = self.accounts
        for charge in asked.charges:
            left = accounts[charge.account].left
            if not charge.amount.within(left):
                raise BudgetExceededError("too much", asked=charge.amount, left=left, could=None)
        time.sleep(0.002)
        if self._database.is_file:
            self._database._raw.execute("PRAGMA ignore_check_constraints = ON")
        with patch.object(Writing, "pay", _pays):
            return super().reserve(asked)


def send_first(ledger, place, asked):
    """Computes and sends, and charges afterwards."""
    noise = new_key()
    answer = compute(asked.key, noise)
    note(place.sent, key=asked.key, of=asked.key, answer=answer)
    reached("after compute")
    ledger.reserve(asked)
    ledger.store(asked.key, answer)


class Refunding(Ledger):
    """Gives the charge back when the engine fails."""

    def refund(self, asked):
        with self.writing() as on:
            on.name = "refund"
            for charge in asked.charges:
                on.run(_SPEND, payer=charge.account, main=-charge.amount.main)
            on.run(_FORGET, asked=asked.key)
            on.append("done", {"key": asked.key, "answer": ""})


def ask_with_errors(ledger, place, asked):
    """An engine that fails at every third question, and a curator that is sorry for it."""
    got = ledger.reserve(asked)
    if isinstance(got, Pending):
        answer = compute(asked.key, got.noise)
        note(place.computed, key=asked.key, answer=answer)
        if int(answer, 16) % 3 == 0:
            ledger.refund(asked)
            return
        got = ledger.store(asked.key, answer)
    note(place.sent, key=asked.key, of=got.key, answer=got.answer)


class Redrawing(Ledger):
    """Draws the noise anew when a question is taken up again."""

    def reserve(self, asked):
        got = super().reserve(asked)
        if not (isinstance(got, Pending) and got.resumed):
            return got
        drawn = new_key()
        with self._database.turn(), self._anchor.locked(), self._database.writing() as cursor:
            self._database.run(cursor, _NOISE, asked=asked.key, drawn=drawn)
            self._database.commit()
        return replace(got, noise=drawn)


class TellFirst(Ledger):
    """Answers the last letter of another process before it commits what that asks for."""

    def _in_one(self, once, wanted, anchor, letters, commit):
        def early(reach):
            for letter in letters[-1:]:
                anchor.meeting.tell(letter, reach.__self__.head)
            commit(reach)

        return super()._in_one(once, wanted, anchor, letters, early)
