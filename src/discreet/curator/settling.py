"""What becomes of a question whose claim is made: it is charged, computed, stored and handed out.

It stops where the ledger has to write something, so that what several questions want can be written
together; see `discreet.curator.curator` for the way of a question, and what it guarantees.
Tested by tests/curator/test_settling.py, tests/curator/test_alike.py, tests/curator/test_gradual.py
"""

from __future__ import annotations

from collections.abc import Callable, Generator

from discreet.curator.answering import Answering, Audience
from discreet.curator.asking import Asking
from discreet.curator.claims import (
    OWNER,
    handed_out,
    insist_no_failure,
    made_record,
    own_record,
)
from discreet.curator.kept import Cells, Kept
from discreet.curator.ledger.amounts import NOTHING, Amount
from discreet.curator.ledger.group import Member
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.steps import reached
from discreet.curator.ledger.values import Claim, Done, Pending
from discreet.curator.offer import short_of_people
from discreet.curator.pace import UNHURRIED
from discreet.curator.policy.model import Policy
from discreet.curator.record import Record
from discreet.curator.release import Release
from discreet.errors import BudgetExceededError

__all__ = ["Making", "Settling", "Steps"]

Making = Callable[[Pending, Answering], tuple[Release, Cells | None]]
"""Makes the answer to what was charged."""
Steps = Generator[Member, None, Record]
"""Stops where something has to be written, and goes on when it is."""


class Settling:
    """A curator, as far as it settles what was claimed.

    Attributes:
        ledger: where it is written.
        policy: in force.
        version: of that policy.
        pace: when the parts of the next question are over; what takes longer is a failure.
        paid: what the last question took off the people's budget, or off an analyst's allowance.
    """

    ledger: Ledger
    policy: Policy
    version: int
    pace = UNHURRIED
    paid = NOTHING
    _on_fault: Callable[[Exception], None] | None

    def _settled(
        self, claim: Claim, asking: Asking, make: Making,
        finer: Callable[[Claim], Claim] = lambda claim: claim,
    ) -> Steps:  # fmt: skip
        """Charge, compute, store, hand out; or hand out what is stored already.

        Args:
            claim: what is charged.
            asking: what is asked.
            make: makes the answer.
            finer: looks for better answers that it can be made of, and claims it with them.
        """
        found = None
        while found is None:
            charge = self.ledger.reserving(claim)
            yield charge
            found = self._charged(charge, claim, asking)
            claim = finer(claim) if found is None else claim
        if isinstance(found, Done):
            insist_no_failure(claim.analyst, failed=found.failed)
            return self._handed_out(own_record(found), claim)
        audience: Audience = "owner" if claim.analyst == OWNER else "analyst"
        with asking.answering(audience, self._on_fault, self.pace.answering()) as answering:
            release, cells = make(found, answering)
        reached("after compute")
        record = made_record(asking, release, found, claim, version=self.version)
        text = Kept(record, cells).to_text()
        failed = found.failed or bool(answering.faults)
        self.pace.hold()
        answer = self.ledger.storing(claim.key, text, failed=failed)
        yield answer
        done = answer.result()
        reached("before send")
        insist_no_failure(claim.analyst, failed=failed)
        if done.answer != text:  # somebody else went on with it, and was faster
            record = Kept.from_text(done.answer).record
        return record if found.first else self._handed_out(record, claim)

    def _reserve(self, claim: Claim, asking: Asking) -> Pending | Done:
        charge = self.ledger.reserving(claim)
        self.ledger.write((charge,))
        found = self._charged(charge, claim, asking)
        assert found is not None  # noqa: S101 - it says that it cannot be made of others
        return found

    def _charged(self, charge: Member, claim: Claim, asking: Asking) -> Pending | Done | None:
        """What came of a charge, if that is decided.

        An analyst who is refused learns of accounts that others share what the policy lets them
        know.
        """
        try:
            found: Pending | Done | None = charge.result()
        except BudgetExceededError as refusal:
            asked, who = refusal.asked, claim.analyst
            if who == OWNER or not isinstance(asked, Amount):
                raise
            accounts = self.ledger.accounts
            if not asked.within(accounts[f"{asking.account}@{who}"].left):
                raise
        else:
            if found is not None and found.paid:
                self.paid += found.paid[0].amount  # the asker's is first
            return found
        family = self.policy.families[asking.dataset.family]
        raise short_of_people(asked, accounts[asking.account], tells_rest=family.tells_rest)

    def _handed_out(self, record: Record, claim: Claim) -> Record:
        who, counts = claim.analyst, claim.info["counts"]
        return handed_out(self.ledger, record, canon=claim.canon, analyst=who, counts=counts)
