"""Torn, truncated and damaged files: a copy opens with everything that was sent, or not at all.

Ninety moments; with TORTURE set two hundred, each of them torn and changed at a hundred places.
"""

import contextlib
import random
import shutil
from pathlib import Path

import pytest
from tests.curator.ledger.harness import Checker, Place, ask, claim, noted
from tests.examples import TORTURE

from discreet.curator.ledger.anchor import Anchor
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.steps import STEPS, on_step
from discreet.curator.ledger.verify import verified
from discreet.errors import LedgerError

ASKED = 16 if TORTURE else 7
SPARSE = 1 if TORTURE else 10
SUFFIXES = ("ledger.db", "ledger.db-wal", "head", "sent", "computed")


@pytest.fixture
def moments(memory):
    """Copies of all files, taken at every step of some questions, in mid-transaction too."""
    place = Place.at(memory / "first")
    (memory / "first").mkdir()
    taken = []

    def take(step):
        to = memory / f"moment-{len(taken)}"
        to.mkdir()
        for name in SUFFIXES:
            with contextlib.suppress(FileNotFoundError):
                shutil.copyfile(memory / "first" / name, to / name)
        taken.append(to)

    with place.new() as ledger:
        on_step(take)
        try:
            for number in range(ASKED):
                ask(ledger, place, claim(f"k{number}"))
        finally:
            on_step(None)
        uid = ledger.uid
    return taken, uid


def judged(folder, uid):
    """Whether a copy opens; if it does, nothing that was sent or that the head knew is missing."""
    place = Place.at(folder)
    anchor = Anchor(Path(place.head), uid)
    known = {number: anchor.spent(number) for number in (1, 2, 3)}
    head = anchor.head
    anchor.close()
    try:
        with Ledger(place.address, head=place.head) as ledger:
            verified(ledger)
            assert ledger.head.seq >= head.seq
            for account in ledger.accounts.values():
                assert known[account.id].within(account.spent)
            Checker(place).look(ledger)
    except LedgerError:
        return False
    return True


def copied(moment, to):
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(moment, to)
    return to


def test_a_copy_of_any_moment_opens(moments, tmp_path):
    taken, uid = moments
    assert len(taken) == ASKED * len(STEPS)
    assert all(judged(copied(moment, tmp_path / "copy"), uid) for moment in taken)


def variants(moment, to, tears, flips, seed):
    """Copies with a write-ahead log that is cut short, or has one byte changed."""
    dice = random.Random(seed)
    whole = (moment / "ledger.db-wal").read_bytes()
    for turn in range(tears):
        (copied(moment, to) / "ledger.db-wal").write_bytes(whole[: len(whole) * turn // tears])
        yield "torn"
    for _ in range(flips):
        broken = bytearray(whole)
        broken[dice.randrange(len(broken))] ^= 1 << dice.randrange(8)
        (copied(moment, to) / "ledger.db-wal").write_bytes(broken)
        yield "flipped"


@pytest.mark.slow
def test_a_damaged_write_ahead_log(moments, memory):
    """50 tears and 50 flips at each of many moments; most are refused, none is believed wrongly.

    A tear that takes away only what the head file does not know (a commit whose head was not
    written, an unfinished transaction) opens: nothing had been computed from that.
    """
    taken, uid = moments
    outcomes = {True: 0, False: 0}
    for number, moment in enumerate(taken[6::SPARSE]):
        for _ in variants(moment, memory / "copy", 50, 50, number):
            outcomes[judged(memory / "copy", uid)] += 1
    assert sum(outcomes.values()) == 100 * len(taken[6::SPARSE])
    assert outcomes[False] > 40 * len(taken[6::SPARSE])


@pytest.mark.slow
def test_a_damaged_database(moments, memory):
    """Flips in the main file: found by opening or by `verified`, or they changed nothing.

    About one in eight hits something that is used: most of the pages of a short ledger are empty.
    """
    place = Place.at(copied(moments[0][-1], memory / "closed"))
    with place.open() as ledger:
        before = ledger.everything()
    whole = Path(place.address).read_bytes()
    dice = random.Random(5)
    found = 0
    for _ in range(400):
        broken = bytearray(whole)
        broken[dice.randrange(len(broken))] ^= 1 << dice.randrange(8)
        folder = copied(memory / "closed", memory / "copy")
        (folder / "ledger.db").write_bytes(broken)
        try:
            with Place.at(folder).open() as ledger:
                verified(ledger)
                now = ledger.everything()
        except LedgerError:
            found += 1
            continue
        noise = [{**row, "noise": None} for row in now[2]]
        assert (now[0], now[1]) == (before[0], before[1])
        assert noise == [{**row, "noise": None} for row in before[2]]
    assert found > 30


def test_an_older_copy_under_the_newest_head_is_refused(moments, tmp_path):
    """Every moment before the last commit: the database goes back, the head file does not."""
    taken, uid = moments
    newest = taken[-1]
    for moment in taken[:-4]:
        folder = copied(moment, tmp_path / "copy")
        shutil.copyfile(newest / "head", folder / "head")
        assert not judged(folder, uid)


def test_a_lost_write_ahead_log_is_refused(moments, tmp_path):
    folder = copied(moments[0][-1], tmp_path / "copy")
    (folder / "ledger.db-wal").unlink()
    assert not judged(folder, moments[1])
    assert len(noted(folder / "sent")) == ASKED - 1
