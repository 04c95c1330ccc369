"""A small curator around a ledger, processes that can be killed, and who checks what they left.

The fake engine's answer is a hash of the noise key, so that another noise would be another answer.
What is computed and what is sent go to append-only files, one write each, before anything else can
happen; `Checker` compares the ledger with them.
"""

import contextlib
import dataclasses
import hashlib
import json
import os
import random
import signal
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tests.machines import Nursery

from discreet.curator.ledger.amounts import Amount, limit_of
from discreet.curator.ledger.at_once import Once
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.registry import Registration, register
from discreet.curator.ledger.steps import reached
from discreet.curator.ledger.values import Charge, Claim, Pending
from discreet.curator.ledger.verify import verified
from discreet.errors import LedgerError

POLICY = "policy-1"
UNIT = 10**12
ANALYSTS = ("ann", "bob")


def replace(value, **changes):
    """A value of either kind, with some parts changed; Python 3.13 has it as `copy.replace`."""
    if isinstance(value, tuple):
        return value._replace(**changes)
    return dataclasses.replace(value, **changes)


def slowly(ledger):
    """Let a ledger write nothing in one go: a transaction decides."""
    ledger._once, ledger._grouped = Once(lambda *_: False, None, None), None


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()


def claim(key, *, canon=None, size=UNIT, analyst="ann", cost=UNIT, policy=POLICY, digest_of=None):
    """A question to the family "staff" under the allowance of its analyst."""
    asked = canon or key
    charges = (
        Charge("staff", Amount(cost)),
        Charge(f"staff@{analyst}", Amount(cost), on_hit=True),
    )
    what = digest(digest_of or f"{asked} {size} {analyst}")
    return Claim(key, what, asked, size, analyst, charges, policy, {"sql": f"SELECT {asked}"})


def registration(total=100, allowance=None, *, fingerprint=POLICY, **more):
    limit = limit_of(epsilon=total)
    allowed = limit_of(epsilon=allowance or total)
    allowances = {f"staff@{name}": allowed for name in ANALYSTS}
    wanted = {"families": {"staff": limit}, "allowances": allowances, "sources": {"a.csv": "staff"}}
    return Registration(fingerprint, {"name": fingerprint}, **(wanted | more))


def new_ledger(address, *, head=None, total=100, allowance=None, **more):
    """A ledger with one family and two analysts."""
    made = Ledger.create(address, head=head, **more)
    register(made, registration(total, allowance))
    return made


def compute(key, noise):
    """The fake engine: an answer that shows which noise it has."""
    return hashlib.sha256(noise + key.encode()).hexdigest()[:16]


@dataclass
class Place:
    """Where a ledger and the files of its witnesses are."""

    address: str
    head: str
    sent: str
    computed: str

    @classmethod
    def at(cls, folder, address=None):
        folder = Path(folder)
        names = [str(folder / name) for name in ("head", "sent", "computed")]
        return cls(address or str(folder / "ledger.db"), *names)

    @property
    def told(self):
        """Where it is written down which letters of other processes were answered."""
        return f"{self.sent}.told"

    def new(self, **more):
        return new_ledger(self.address, head=self.head, **more)

    def open(self):
        return Ledger(self.address, head=self.head)


def note(path, **line):
    """One line, in one write."""
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(file, (json.dumps(line) + "\n").encode())
    os.close(file)


def noted(path):
    if not Path(path).exists():
        return []
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def ask(ledger, place, asked):
    """The protocol: reserve, compute, store, send."""
    got = ledger.reserve(asked)
    if isinstance(got, Pending):
        answer = compute(asked.key, got.noise)
        note(place.computed, key=asked.key, answer=answer)
        reached("after compute")
        got = ledger.store(asked.key, answer)
    reached("before send")
    note(place.sent, key=asked.key, of=got.key, answer=got.answer)
    return got


# processes


class Workers(Nursery):
    """A process that has imported everything and forks workers; it holds no ledger itself."""

    def __init__(self):
        super().__init__("from tests.curator.ledger.worker import serve; serve()")

    def start(self, job, place, *, limit=60, **more):
        """A worker on a job; its process number. It dies of itself at the time limit."""
        return self.say(job=job, place=asdict(place), limit=limit, more=more)["pid"]

    def wait(self, pid):
        """How a worker ended: 0, or a negative signal, or another number for an exception."""
        code = self.say(wait=pid)["code"]
        assert code != -signal.SIGALRM, "a worker hung"
        return code

    def run(self, job, place, **more):
        return self.wait(self.start(job, place, **more))


# the checker


class ViolationError(AssertionError):
    """An invariant does not hold."""


def insist(holds, words):
    if not holds:
        raise ViolationError(words)


@dataclass
class Checker:
    """I1 to I6 and I10, from the ledger and from what was seen outside; remembers what it saw."""

    place: Place
    head: object = None
    spent: dict = field(default_factory=dict)
    seen: dict = field(default_factory=dict)

    def check(self):
        try:
            ledger = self.place.open()
        except LedgerError as error:
            raise ViolationError(f"does not open: {error}") from error
        with contextlib.closing(ledger):
            self.look(ledger)

    def look(self, ledger):
        try:
            found = verified(ledger, head=self.head)
        except LedgerError as error:
            raise ViolationError(f"I6: {error}") from error
        insist(self.head is None or found.head.seq >= self.head.seq, "I6: the head went back")
        self.head = found.head
        entries, accounts, rows = ledger.everything()
        self._spending(entries, accounts)
        questions = {row["key"]: row for row in rows}
        self._states(questions)
        self._outside(questions, entries)
        self._apart(entries)

    def _spending(self, entries, accounts):
        sums = {account.id: 0 for account in accounts}
        for entry in entries:
            for number, main, _ in entry.values().get("charges", ()):
                sums[number] += main
        for account in accounts:
            spent = account.spent.main
            insist(spent == sums[account.id], f"I1: {account.name} has not spent its charges")
            insist(spent <= account.total.main, f"I1: {account.name} is overdrawn")
            insist(spent >= self.spent.get(account.id, 0), f"I5: {account.name} got a refund")
            self.spent[account.id] = spent

    def _states(self, questions):
        for key, before in self.seen.items():
            now = questions.get(key)
            insist(now is not None, f"I5: {key} is gone")
            if before["state"] == "done":
                insist(now == before, f"I3, I5: {key} was done and has changed")
            if now["state"] == "reserved":
                insist(now["noise"] == before["noise"], f"I3: {key} has another noise")
        self.seen = questions

    def _apart(self, entries):
        roots, given = {}, set()
        for entry in entries:
            if entry.kind in ("reserve", "hit"):
                values = entry.values()
                key, of = values["key"], values.get("of")
                roots[key] = key if of is None else roots[of]
                one = (values["canon"], values["analyst"], roots[key])
                insist(one not in given, f"I10: {key} has noise that its asker was given before")
                given.add(one)

    def _outside(self, questions, entries):
        charged = [e.values()["key"] for e in entries if e.kind in ("reserve", "hit")]
        insist(len(charged) == len(set(charged)), "I3: a key was charged twice")
        told, computed = {}, {}
        for line in noted(self.place.computed):
            insist(line["key"] in questions, f"I4: {line['key']} was computed and not charged")
            same = computed.setdefault(line["key"], line["answer"])
            insist(same == line["answer"], f"I3: {line['key']} was computed with two noises")
        for line in noted(self.place.sent):
            row = questions.get(line["of"])
            if row is not None and (row["answer"] or "").startswith("@"):
                row = questions.get(row["answer"][1:])
            insist(row is not None, f"I2: {line['of']} was sent and never charged")
            insist(row["state"] == "done", f"I2: {line['of']} was sent before it was stored")
            insist(row["answer"] == line["answer"], f"I2: {line['of']} is stored otherwise")
            same = told.setdefault(line["key"], line["answer"])
            insist(same == line["answer"], f"I3: {line['key']} was answered twice")


# torture


def mixed(number, count, seed):
    """What one worker asks: some keys in an order of its own, a fourth of them also bob's."""
    order = list(range(count))
    random.Random(f"{number} {seed}").shuffle(order)
    return [f"q{n}" if (n + number) % 4 else f"q{n}/bob" for n in order]


def claim_of(name):
    """The claim behind a short name: "q7" is ann's, "q7/bob" the same question of bob's.

    Every second one of bob's is at half the price, and may be made of ann's answer.
    """
    canon, _, who = name.partition("/")
    if who and int(canon[1:]) % 2:
        half = claim(name, canon=canon, analyst=who, size=UNIT // 2, cost=UNIT // 2)
        return replace(half, finer=(canon,))
    return claim(name, canon=canon, analyst=who or "ann")


@dataclass
class Torture:
    """Rounds of racing workers, each killed at a step or at a random time, and a check after each.

    Args:
        nursery: where the workers come from.
        places: makes the place of a new ledger.
        job: what the workers do; "asks", or one that is broken.
        seconds: the hard limit of time.
        late: how often a step is passed at the most before somebody dies there.
    """

    nursery: Nursery
    places: object
    job: str = "asks"
    seconds: float = 240
    racing: int = 4
    keys: int = 24
    late: int = 3
    kills: int = 0
    at: dict = field(default_factory=dict)

    def run(self, kills, labels, *, rounds=10**9):
        """Until so many were killed; how many rounds that took."""
        end = time.monotonic() + self.seconds
        done, checker = 0, None
        while self.kills < kills and done < rounds and time.monotonic() < end:
            if done % 3 == 0:
                place = self.places()
                place.new(total=self.keys * 2 // 3, allowance=self.keys).close()
                checker = Checker(place)
            self._round(checker, labels, done)
            done += 1
        return done

    def _round(self, checker, labels, done):
        started = []
        for number in range(self.racing):
            turn = done * self.racing + number
            label = labels[turn % len(labels)]
            names = mixed(number, self.keys, done)
            more = {"names": names, "kill": label, "after": turn // len(labels) % self.late}
            pid = self.nursery.start(self.job, checker.place, **more)
            started.append((pid, label))
        for pid, label in started:
            if label == "outside":
                time.sleep(random.random() * 0.03)
                os.kill(pid, signal.SIGKILL)  # it is not waited for yet: the number is its own
        for pid, label in started:
            code = self.nursery.wait(pid)
            assert code in (0, -signal.SIGKILL), f"a worker ended with {code}"
            if code == -signal.SIGKILL:
                self.kills += 1
                self.at[label] = self.at.get(label, 0) + 1
        checker.check()
