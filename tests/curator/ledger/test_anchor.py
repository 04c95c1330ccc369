"""The head file: it never goes back, and what is damaged or foreign is refused."""

import hashlib
import os
import random
import resource
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.curator.ledger import anchor as module
from discreet.curator.ledger.amounts import NOTHING, Amount
from discreet.curator.ledger.anchor import _LINE, Anchor
from discreet.curator.ledger.chain import START, Head
from discreet.curator.ledger.values import Account
from discreet.errors import LedgerError

UID = "a" * 32


def head(seq):
    return Head(seq, f"{seq:064x}")


@pytest.fixture
def anchor(tmp_path):
    made = Anchor.create(tmp_path / "head", UID)
    yield made
    made.close()


def again(anchor):
    return Anchor(anchor.path, UID)


def test_a_new_file_knows_nothing(anchor):
    assert anchor.head == START
    assert anchor.spent(1) == anchor.spent(999) == NOTHING
    assert anchor.accounts == 0
    assert anchor.path.stat().st_mode & 0o777 == 0o600


def test_what_was_reached_is_read_back(anchor):
    anchor.advance(head(7), {1: Amount(5, 6), 4: Amount(1)})
    anchor.flush()
    other = again(anchor)
    assert other.head == head(7)
    assert [other.spent(n) for n in (1, 2, 4)] == [Amount(5, 6), NOTHING, Amount(1)]
    assert other.accounts == 4
    other.close()


def account(number, spent, *, sealed=False):
    return Account(number, f"a{number}", "pure", Amount(10**13, 9), spent, sealed=sealed)


@pytest.mark.parametrize("spent", [Amount(4, 6), Amount(5, 5), Amount(0)])
def test_no_account_has_spent_less_than_before(anchor, spent):
    anchor.advance(head(7), {1: Amount(5, 6), 40: Amount(5, 6)})
    for number in (1, 40):  # on the first page, and on another
        anchor.believe(account(number, Amount(5, 6)))
        anchor.believe(account(number, Amount(7, 6)))
        anchor.believe(account(number, spent, sealed=True))
        with pytest.raises(LedgerError, match=f"changed: 'a{number}' has spent epsilon .*rebuild"):
            anchor.believe(account(number, spent))
    anchor.believe(account(2, Amount(0)))


def test_no_account_that_has_spent_something_is_gone(anchor):
    anchor.advance(head(7), {1: Amount(5), 2: Amount(0), 40: Amount(1)})
    rows = [account(n, Amount(5)) for n in (1, 2, 40, 41)]
    anchor.catch_up(head(8), rows[::2])
    with pytest.raises(LedgerError, match=r"account 40 had spent something and is gone.*restore"):
        anchor.catch_up(head(9), rows[:2])
    with pytest.raises(LedgerError, match="'a1' has spent"):
        anchor.catch_up(head(9), [account(1, Amount(4)), *rows[1:]])
    assert anchor.head == head(8)
    assert [anchor.spent(n).main for n in (1, 2, 40)] == [5, 0, 5]
    anchor.catch_up(head(9), rows)
    assert anchor.head == head(9)
    assert [anchor.spent(n).main for n in (1, 2, 40, 41)] == [5] * 4


def test_it_does_not_grow_with_the_log(anchor):
    for seq in range(1, 200):
        anchor.advance(head(seq), {1: Amount(seq), 2: Amount(seq // 2)})
    assert anchor.path.stat().st_size == 4 * _LINE


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=0, max_size=20),
    st.lists(st.integers(1, 20), max_size=3, unique=True),
    st.integers(0, 20),
)
def test_what_follows_is_what_advances(tmp_path_factory, spent, payers, many):
    """The same bytes by either way, whatever accounts the file has lines for."""
    place = tmp_path_factory.mktemp("heads")
    one, other = (Anchor.create(place / name, UID) for name in ("one", "other"))
    known = {n: Amount(*amount) for n, amount in enumerate(spent[:many], 1)}
    for each in (one, other):
        each.advance(head(1), known)
    sums = {n: known.get(n, NOTHING) + Amount(3 * n, n) for n in payers}
    with one.locked(), other.locked():
        one.follow(head(2), [(n, most.main, most.delta) for n, most in sums.items()])
        other.advance(head(2), sums)
    assert one.path.read_bytes() == other.path.read_bytes()
    again(one).close()
    one.close()
    other.close()


@pytest.mark.parametrize("when", ["before it is written", "while it is learnt", "after the first"])
def test_an_interrupted_write_is_read_again(anchor, when, monkeypatch):
    """What is known of the first page is what is in it, wherever somebody interrupts."""
    anchor.advance(head(1), {1: Amount(1), 2: Amount(1)})
    with anchor.locked():
        assert (anchor.head, anchor.had(1), anchor.had(2)) == (head(1), (1, 0), (1, 0))

    class Learning(dict):
        def __setitem__(self, number, spent):
            if (when, number) in (("while it is learnt", 1), ("after the first", 2)):
                raise KeyboardInterrupt
            super().__setitem__(number, spent)

    def interrupted(*_):
        raise KeyboardInterrupt

    anchor._spends = Learning(anchor._spends)
    if when == "before it is written":
        monkeypatch.setattr(os, "pwrite", interrupted)
    with pytest.raises(KeyboardInterrupt), anchor.locked():
        anchor.follow(head(2), [(1, 5, 0), (2, 6, 0)])
    monkeypatch.undo()
    wanted = [head(1), (1, 0), (1, 0)] if when.startswith("before") else [head(2), (5, 0), (6, 0)]
    with anchor.locked():
        assert [anchor.head, anchor.had(1), anchor.had(2)] == wanted


steps = st.lists(
    st.tuples(st.integers(1, 9), st.integers(1, 3), st.integers(0, 9), st.integers(0, 9)),
    max_size=12,
)


@given(steps, st.randoms(use_true_random=False))
def test_the_order_of_writing_does_not_matter(tmp_path_factory, written, dice):
    """∀ orders: the furthest head and the most that was spent; at no time less than before."""
    shuffled = list(written)
    dice.shuffle(shuffled)
    path = tmp_path_factory.mktemp("anchor") / "head"
    anchor = Anchor.create(path, UID)
    before = dict.fromkeys((1, 2, 3), NOTHING)
    reached = 0
    for seq, number, main, delta in shuffled:
        anchor.advance(head(seq), {number: Amount(main, delta)})
        assert anchor.head.seq >= reached
        reached = anchor.head.seq
        now = {n: anchor.spent(n) for n in before}
        assert all(before[n].within(now[n]) for n in before)
        before = now
    for n in before:
        mine = [(m, d) for _, number, m, d in written if number == n]
        most = Amount(max((m for m, _ in mine), default=0), max((d for _, d in mine), default=0))
        assert anchor.spent(n) == most
    assert reached == max((seq for seq, *_ in written), default=0)
    anchor.close()


def test_two_who_have_it_open_see_each_other(anchor):
    other = again(anchor)
    anchor.advance(head(3), {1: Amount(3)})
    other.advance(head(2), {1: Amount(2)})
    assert other.head == anchor.head == head(3)
    assert other.spent(1) == Amount(3)
    other.close()


def test_what_was_read_under_an_older_lock_is_not_believed(anchor):
    other = again(anchor)
    for seq in range(1, 9, 2):
        with anchor.locked():
            assert anchor.head == head(seq - 1) if seq > 1 else START
            anchor.advance(head(seq), {1: Amount(seq)})
            assert (anchor.head, anchor.spent(1)) == (head(seq), Amount(seq))
        with other.locked():
            assert (other.head, other.spent(1)) == (head(seq), Amount(seq))
            other.advance(head(seq + 1), {1: Amount(seq + 1), 2: Amount(seq)})
    assert (anchor.head, anchor.spent(1)) == (head(8), Amount(8))
    other.close()


ACCOUNTS = (1, 2, 14, 15, 16, 40, 333)


def test_accounts_on_many_pages(anchor):
    """One by one and together; those between stay as they were."""
    for number, account in enumerate(ACCOUNTS, 1):
        anchor.advance(head(number), {account: Amount(number, 1)})
    anchor.advance(head(50), {account: Amount(account) for account in ACCOUNTS[::2]})
    other = again(anchor)
    assert other.head == head(50)
    for number, account in enumerate(ACCOUNTS, 1):
        main = max(number, account) if account in ACCOUNTS[::2] else number
        assert other.spent(account) == Amount(main, 1)
    assert other.spent(3) == other.spent(39) == NOTHING
    assert other.accounts == 333
    other.close()


def test_the_head_is_not_written_before_the_accounts(anchor, monkeypatch):
    """A write for each page, and the first page, with the head, is the last."""
    written = []
    pwrite = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda *a: written.append((a[2], len(a[1]))) or pwrite(*a))
    anchor.advance(head(2), {1: Amount(1), 2: Amount(1)})
    assert written == [(_LINE, 3 * _LINE)]
    written.clear()
    anchor.advance(head(3), {2: Amount(2), 16: Amount(1), 40: Amount(2)})
    assert written == [(41 * _LINE, _LINE), (17 * _LINE, _LINE), (_LINE, 3 * _LINE)]


def test_every_flipped_bit_is_found(anchor):
    """1,200 of the 8,192 flips: all in words and checksums, and some of the padding."""
    anchor.advance(head(3), {1: Amount(3, 1), 2: Amount(2)})
    whole = anchor.path.read_bytes()
    dice = random.Random(1)
    for place in [*range(120), *(256 + n for n in range(120)), *dice.sample(range(1024), 160)]:
        for bit in dice.sample(range(8), 3):
            broken = bytearray(whole)
            broken[place] ^= 1 << bit
            anchor.path.write_bytes(broken)
            with pytest.raises(LedgerError, match=r"damaged|restore"):
                _all_of(anchor)
    anchor.path.write_bytes(whole)
    assert _all_of(anchor) == [head(3), Amount(3, 1), Amount(2)]


def _all_of(anchor):
    made = again(anchor)
    try:
        return [made.head, made.spent(1), made.spent(2)]
    finally:
        made.close()


def test_lines_of_earlier_versions_are_read_and_followed(tmp_path):
    """They have sixteen digits of SHA-256; each that is written anew has its CRC-32."""
    texts = [f"discreet-head/1 {UID}", f"3 {head(3).hash}", "3 7 1"]
    lines = []
    for number, text in enumerate(texts):
        check = hashlib.sha256(f"{number} {text}".encode()).hexdigest()[:16]
        lines.append(f"{text} {check}".ljust(_LINE - 1).encode() + b"\n")
    path = tmp_path / "head"
    path.write_bytes(b"".join(lines))
    anchor = Anchor(path, UID)
    assert (anchor.head, anchor.spent(1)) == (head(3), Amount(7, 1))
    with anchor:
        anchor.follow(head(4), [(1, 9, 1)])
    anchor.close()
    anchor = Anchor(path, UID)
    assert (anchor.head, anchor.spent(1)) == (head(4), Amount(9, 1))
    anchor.close()
    path.write_bytes(b"".join(lines).replace(b"3 7 1", b"3 6 1"))
    anchor = Anchor(path, UID)
    with pytest.raises(LedgerError, match="damaged in line 3"):
        anchor.spent(1)
    anchor.close()


def test_lines_that_changed_places_are_found(anchor):
    anchor.advance(head(3), {1: Amount(9), 2: Amount(2)})
    whole = anchor.path.read_bytes()
    lines = [whole[n * _LINE : (n + 1) * _LINE] for n in range(4)]
    for one, two in ((0, 1), (1, 2), (2, 3), (1, 3), (0, 3)):
        moved = list(lines)
        moved[one], moved[two] = moved[two], moved[one]
        anchor.path.write_bytes(b"".join(moved))
        with pytest.raises(LedgerError):
            _all_of(anchor)


@pytest.mark.parametrize("size", [1, 100, 255, 257, 400, 511, 600])
def test_half_a_line_is_found(anchor, size):
    anchor.advance(head(3), {1: Amount(3)})
    anchor.path.write_bytes(anchor.path.read_bytes()[:size])
    with pytest.raises(LedgerError, match=r"damaged|restore"):
        _all_of(anchor)


@pytest.mark.parametrize(
    "content", [b"", b"\0" * 256, b"hello", b"\xff" * 256, b"x " * 128, os.urandom(2000)]
)
def test_foreign_files_are_refused(tmp_path, content):
    (tmp_path / "head").write_bytes(content)
    with pytest.raises(LedgerError, match=r"another ledger|damaged"):
        Anchor(tmp_path / "head", UID)


def test_the_file_of_another_ledger_is_refused(anchor):
    with pytest.raises(LedgerError, match="another ledger"):
        Anchor(anchor.path, "b" * 32)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(LedgerError, match=r"missing.*restore"):
        Anchor(tmp_path / "head", UID)


def test_a_folder_in_its_place_is_refused(tmp_path):
    with pytest.raises(LedgerError, match="cannot be written"):
        Anchor(tmp_path, UID)


def test_a_file_is_never_made_over_another(anchor):
    with pytest.raises(LedgerError, match="exists"):
        Anchor.create(anchor.path, UID)


def test_no_file_where_there_is_no_folder(tmp_path):
    with pytest.raises(LedgerError, match="cannot be written"):
        Anchor.create(tmp_path / "no" / "head", UID)


@pytest.mark.parametrize("size", [300, 511, 512, 700])
def test_a_write_that_is_cut_short_is_said_and_taken_back(anchor, size):
    """A full disk damages nothing: the lines of before are read, and new ones written later."""
    anchor.advance(head(1), {})
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        with pytest.raises(LedgerError, match=r"cannot be written.*the charge stands"):
            anchor.advance(head(2), {1: Amount(5)})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    other = again(anchor)
    assert (other.head, other.spent(1)) == (head(1), NOTHING)
    anchor.advance(head(2), {1: Amount(5)})
    assert (other.head, other.spent(1)) == (head(2), Amount(5))
    other.close()


@pytest.mark.parametrize("size", [257, 300, 511, 512, 513, 767, 1000])
def test_lines_that_are_cut_short_are_put_back(anchor, size):
    """The same where the lines were there: those of before are read, none is half new."""
    anchor.advance(head(1), {1: Amount(1), 2: Amount(1)})
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        with pytest.raises(LedgerError, match=r"cannot be written.*the charge stands"):
            anchor.advance(head(2), {1: Amount(5), 2: Amount(6)})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert _all_of(anchor) == [head(1), Amount(1), Amount(1)]
    anchor.advance(head(2), {1: Amount(5), 2: Amount(6)})
    assert _all_of(anchor) == [head(2), Amount(5), Amount(6)]


@pytest.mark.parametrize("pauses", [(), (0.001, 0.002), (0.01,) * 1000])
def test_one_holds_the_lock_at_a_time(anchor, pauses, monkeypatch):
    """Who tries again, and who waits in the queue, gets it when it is free, and not before."""
    monkeypatch.setattr(module, "_PAUSES", pauses)
    monkeypatch.setattr(module, "_JUST", 1e9)
    other = again(anchor)
    assert _taken_in_turn(anchor, other) == ["first", "second"]
    other.close()


@pytest.mark.parametrize("just", [True, False])
def test_who_has_just_written_makes_room_and_others_queue_at_once(anchor, just, monkeypatch):
    monkeypatch.setattr(module, "_JUST", 1e9 if just else 0.0)
    slept, sleep = [], module.time.sleep
    monkeypatch.setattr(module.time, "sleep", lambda pause: (slept.append(pause), sleep(pause)))
    other = again(anchor)
    with other.locked():
        pass
    assert _taken_in_turn(anchor, other) == ["first", "second"]
    assert bool(slept) == just
    other.close()


def _taken_in_turn(anchor, other):
    """Who had the lock, in order: the other one waits for it."""
    order = []

    def hold():
        with other.locked():
            order.append("second")

    with anchor.locked():
        waiting = threading.Thread(target=hold)
        waiting.start()
        waiting.join(timeout=0.1)
        order.append("first")
    waiting.join(timeout=30)
    return order


def test_closing_twice_is_fine(tmp_path):
    made = Anchor.create(tmp_path / "head", UID)
    made.close()
    made.close()


def test_an_interrupt_that_comes_with_the_lock_lets_go_of_it(anchor, monkeypatch):
    """A signal is told when the system's call has returned, and the lock is had by then."""
    other, flock = Anchor(anchor.path, UID), module.fcntl.flock

    def interrupted(file, how):
        flock(file, how)
        monkeypatch.undo()
        raise KeyboardInterrupt

    monkeypatch.setattr(module.fcntl, "flock", interrupted)
    with pytest.raises(KeyboardInterrupt), anchor.locked():
        pass
    flock(other._file, module._TRY)
    other.close()
