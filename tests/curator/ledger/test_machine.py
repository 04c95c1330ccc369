"""Any order of asking, storing, crashing and reopening: the ledger does what a small model does."""

import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from tests.curator.ledger.harness import (
    ANALYSTS,
    UNIT,
    Checker,
    Place,
    claim,
    compute,
    note,
    replace,
)
from tests.examples import TORTURE

from discreet.curator.ledger.registry import retire
from discreet.curator.ledger.steps import STEPS, on_step
from discreet.curator.ledger.values import Done, Pending
from discreet.errors import BudgetExceededError, LedgerError

TOTAL, ALLOWANCE = 12, 8
keys = st.sampled_from([f"k{n}" for n in range(8)])
canons = st.sampled_from(["q", "r"])
sizes = st.integers(1, 4)
analysts = st.sampled_from(ANALYSTS)
LABELS = [label for label in STEPS if label not in ("after compute", "before send")]


@dataclass
class Row:
    """What was asked, the key of its answer, if there is one, whose noise it has, what it is of."""

    asked: tuple
    answer: str | None
    root: str
    of: str = ""


@dataclass
class Model:
    """What a ledger should do, in few lines: spent units, and a row for each key."""

    spent: dict = field(default_factory=lambda: {"staff": 0, "staff@ann": 0, "staff@bob": 0})
    rows: dict = field(default_factory=dict)
    answers: dict = field(default_factory=dict)
    sealed: bool = False

    def ask(self, key, canon, size, analyst, *, gradual):
        """What becomes of an asking: an error, a key to compute, or the key of its answer."""
        asked = (canon, size, analyst)
        if key in self.rows:
            return self.again(self.rows[key], asked)
        same = [
            (row.asked[1], -number, name, row)
            for number, (name, row) in enumerate(self.rows.items())
            if row.asked[0] == canon
        ]
        done = [found for found in same if found[3].answer and found[0] >= size]
        own = [found for found in done if found[3].asked[2] == analyst]
        if own:
            return "done", max(own)[3].answer
        taken = {row.root for *_, row in same if row.asked[2] == analyst}
        good = [found for found in done if found[0] == size]  # of others only what is equal
        equal = max(good)[3] if good and max(good)[3].root not in taken else None
        finer = sorted(
            (found[0], -found[1], found[2], found[3].root)
            for found in done
            if found[0] > size and found[3].answer == found[2] and found[3].root not in taken
        )
        of, root = finer[0][2:] if finer and gradual and equal is None else ("", key)
        payers = ["staff", f"staff@{analyst}"]
        limits = {"staff": 0 if self.sealed else TOTAL}
        if any(self.spent[p] + size > limits.get(p, ALLOWANCE) for p in payers):
            return "exceeded"  # also where a stored answer serves, and the people pay nothing
        for payer in payers[1 if equal or of else 0 :]:
            self.spent[payer] += size
        if equal:
            self.rows[key] = Row(asked, equal.answer, equal.root)
            return "done", equal.answer
        self.rows[key] = Row(asked, None, root, of)
        return "pending"

    def again(self, row, asked):
        if row.asked != asked:
            return "refused"
        if row.answer:
            return "done", row.answer
        return "exceeded" if self.sealed else "pending"

    def store(self, key, answer):
        self.rows[key].answer = self.rows[key].answer or key
        return self.answers.setdefault(key, answer)

    def waiting(self):
        return {key for key, row in self.rows.items() if not row.answer}


class PulledError(Exception):
    """A crash, as far as the ledger can tell."""


class Machine(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        memory = Path("/dev/shm")
        self.folder = tempfile.mkdtemp(dir=memory if memory.is_dir() else None)
        self.place = Place.at(self.folder)
        self.ledger = self.place.new(total=TOTAL, allowance=ALLOWANCE)
        self.model, self.checker, self.noise = Model(), Checker(self.place), {}

    def claim(self, key, canon, size, analyst, *, gradual):
        made = claim(key, canon=canon, size=size * UNIT, cost=size * UNIT, analyst=analyst)
        finer = tuple(self.ledger.finer(canon, size * UNIT)) if gradual else ()
        return replace(made, finer=finer)

    @rule(key=keys, canon=canons, size=sizes, analyst=analysts, gradual=st.booleans())
    def ask(self, key, canon, size, analyst, gradual):
        asked = self.claim(key, canon, size, analyst, gradual=gradual)
        wanted = self.model.ask(key, canon, size, analyst, gradual=gradual)
        if wanted == "refused":
            with pytest.raises(LedgerError, match="another question"):
                self.ledger.reserve(asked)
        elif wanted == "exceeded":
            with pytest.raises(BudgetExceededError):
                self.ledger.reserve(asked)
        elif wanted == "pending":
            got = self.ledger.reserve(asked)
            assert isinstance(got, Pending)
            assert got.of == self.model.rows[key].of
            assert self.noise.setdefault(key, got.noise) == got.noise
        else:
            got = self.ledger.reserve(asked)
            assert isinstance(got, Done)
            assert got.answer == self.model.answers[wanted[1]]
            note(self.place.sent, key=got.key, of=wanted[1], answer=got.answer)

    @precondition(lambda self: self.noise)
    @rule(data=st.data(), again=st.sampled_from(["", " again"]))
    def store(self, data, again):
        """Also keys that are stored: the second answer is not taken."""
        key = data.draw(st.sampled_from(sorted(self.noise)))
        answer = compute(key, self.noise[key]) + again
        assert self.ledger.store(key, answer).answer == self.model.store(key, answer)

    @rule(
        key=keys, canon=canons, size=sizes, analyst=analysts, label=st.sampled_from(LABELS),
        gradual=st.booleans(),
    )  # fmt: skip
    def crash(self, key, canon, size, analyst, label, gradual):
        """Pull the plug at a step; what was committed before it counts, as the model says."""

        def pull(step):
            if step == label:
                raise PulledError

        asked = self.claim(key, canon, size, analyst, gradual=gradual)
        on_step(pull)
        try:
            self.ask_and_store(asked)
        except (PulledError, LedgerError, BudgetExceededError):
            pass
        finally:
            on_step(None)
            self.reopen()
        self.catch_up(key, (canon, size, analyst), gradual=gradual)

    def ask_and_store(self, asked):
        got = self.ledger.reserve(asked)
        if isinstance(got, Pending):
            self.ledger.store(asked.key, compute(asked.key, got.noise))

    def catch_up(self, key, asked, *, gradual):
        """The ledger decided how far it got; the model follows if it may have."""
        entries = {e.values()["key"]: e.kind for e in self.ledger.entries() if e.kind in KINDS}
        if key in entries and key not in self.model.rows:
            self.model.ask(key, *asked, gradual=gradual)
        for pending in self.ledger.pending:
            assert self.noise.setdefault(pending.key, pending.noise) == pending.noise
        done = self.ledger.answer(key)
        if done is not None and key in self.model.waiting():
            if key in self.noise:
                assert done.answer == compute(key, self.noise[key])
            self.model.store(key, done.answer)
            self.noise.setdefault(key, b"")

    @rule()
    def reopen(self):
        self.ledger.close()
        self.ledger = self.place.open()

    @rule()
    def another(self):
        """Go on with a second object while the first is open."""
        second = self.place.open()
        self.ledger.close()
        self.ledger = second

    @precondition(lambda self: len(self.model.rows) > 5)
    @rule()
    def seal(self):
        retire(self.ledger, "staff")
        self.model.sealed = True

    @invariant()
    def the_same_is_spent_and_waits(self):
        spent = {name: a.spent.main // UNIT for name, a in self.ledger.accounts.items()}
        assert spent == self.model.spent
        assert {p.key for p in self.ledger.pending} == self.model.waiting()

    @invariant()
    def no_analyst_has_two_answers_with_noise_in_common(self):
        given = [(*row.asked[::2], row.root) for row in self.model.rows.values()]
        assert len(given) == len(set(given))

    def teardown(self):
        on_step(None)
        self.checker.look(self.ledger)
        self.ledger.close()
        shutil.rmtree(self.folder)


KINDS = ("reserve", "hit")
TestMachine = pytest.mark.slow(Machine.TestCase)
TestMachine.settings = settings(
    max_examples=2_000 if TORTURE else 50, stateful_step_count=50 if TORTURE else 30,
    deadline=None, suppress_health_check=[HealthCheck.too_slow],
)  # fmt: skip
