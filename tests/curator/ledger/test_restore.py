"""Backups that are put back: what was answered since is counted as spent, whatever crashes."""

import os
import shutil
import threading
from pathlib import Path

import pytest
from tests.curator.ledger.harness import POLICY, UNIT, Checker, ask, claim, registration, replace

from discreet.curator.ledger.amounts import Amount, limit_of
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.registry import register, retire
from discreet.curator.ledger.restore import restored
from discreet.curator.ledger.steps import on_step
from discreet.curator.ledger.values import Charge
from discreet.curator.ledger.verify import verified
from discreet.errors import BudgetExceededError, LedgerError


class Backed:
    """A ledger with a backup."""

    def __init__(self, place):
        self.place = place
        self.file = Path(place.address)
        self.kept = Path(f"{place.address}.backup")

    def backup(self):
        shutil.copyfile(self.file, self.kept)

    def put_back(self):
        for suffix in ("-wal", "-shm"):
            Path(f"{self.place.address}{suffix}").unlink(missing_ok=True)
        shutil.copyfile(self.kept, self.file)

    def asks(self, *keys, analyst="ann", policy=POLICY):
        with self.place.open() as ledger:
            for key in keys:
                ask(ledger, self.place, claim(key, analyst=analyst, policy=policy))

    def spent(self):
        with self.place.open() as ledger:
            verified(ledger)
            return {n: a.spent.main // UNIT for n, a in ledger.accounts.items()}

    def restore(self, **how):
        return restored(self.place.address, head=self.place.head, **how)


@pytest.fixture
def backed(place):
    """Two questions, a backup, and three questions that the backup does not know."""
    place.new(total=10).close()
    made = Backed(place)
    made.asks("a", "b")
    made.backup()
    made.asks("c", "d")
    made.asks("e", analyst="bob")
    made.put_back()
    return made


def test_a_backup_is_refused_until_it_is_restored(backed):
    with pytest.raises(LedgerError, match=r"older state.*restore"):
        backed.place.open()
    words = backed.restore()
    assert words[0] == "staff: epsilon 3 counts as spent"
    assert backed.spent() == {"staff": 5, "staff@ann": 4, "staff@bob": 1}
    backed.asks("f")
    assert backed.spent()["staff"] == 6


@pytest.mark.parametrize("shared", [0o600, 0o660])
def test_who_shared_a_ledger_still_does(backed, shared):
    """And a backup that came with wider rights is taken from others."""
    Path(backed.place.head).chmod(shared)
    backed.file.chmod(0o664)
    Path(f"{backed.place.head}.new").touch(0o600)  # a restoring that was cut off
    backed.restore()
    assert Path(backed.place.head).stat().st_mode & 0o777 == shared
    assert backed.file.stat().st_mode & 0o777 == shared
    assert backed.spent()["staff"] == 5


def test_a_backup_without_its_head_file_is_the_owners_alone(backed):
    Path(backed.place.head).unlink()
    backed.file.chmod(0o664)
    backed.restore(all_is_spent=True)
    assert backed.file.stat().st_mode & 0o777 == 0o600


def test_the_old_head_file_is_kept_aside(backed):
    before = Path(backed.place.head).read_bytes()
    backed.restore()
    folder = Path(backed.place.head).parent
    kept = [path for path in folder.iterdir() if ".before-entry-" in path.name]
    assert [path.read_bytes() for path in kept] == [before]
    assert not list(folder.glob("*.new"))


@pytest.mark.parametrize("moved", [False, True])
def test_who_has_the_old_head_file_open_is_refused(backed, moved):
    """Else it would write where nobody looks, and a backup would give that back."""
    backed.restore()
    with backed.place.open() as ledger:
        backed.backup()
        if moved:  # another file under the name: the process has the old one
            shutil.copyfile(backed.kept, f"{backed.file}.other")
            Path(f"{backed.file}.other").replace(backed.file)
        ask(ledger, backed.place, claim("f"))
        backed.restore()
        for key in "gh":
            with pytest.raises(LedgerError, match="open it again"):
                ledger.reserve(claim(key))
    assert backed.spent()["staff"] == 6
    backed.asks("g")
    backed.put_back()
    backed.restore()
    assert backed.spent()["staff"] == 7


def test_a_restoring_that_ends_before_its_head_file_is_in_place_is_done_again(backed, monkeypatch):
    with monkeypatch.context() as patched:
        patched.delattr(Path, "replace")
        with pytest.raises(AttributeError):
            backed.restore()
    with pytest.raises(LedgerError, match="was reached before"):
        backed.place.open()
    assert backed.restore() == []
    assert backed.spent() == {"staff": 5, "staff@ann": 4, "staff@bob": 1}


def test_a_file_system_without_links_is_enough(backed, monkeypatch):
    monkeypatch.setattr(os, "link", lambda *_: pytest.fail("there are none"))
    backed.restore()
    assert backed.spent()["staff"] == 5


def test_two_who_restore_the_same_do_it_one_after_the_other(backed):
    """The second finds another head file than the one that it waited for."""
    inner, got = [], []

    def second():
        with pytest.raises(LedgerError, match="somebody else has just restored") as refusal:
            backed.restore()
        got.append(refusal)

    def act(label):
        if label == "before the commit of restore" and not inner:
            inner.append(threading.Thread(target=second))
            inner[0].start()
            inner[0].join(0.2)
            assert inner[0].is_alive()

    on_step(act)
    try:
        backed.restore()
    finally:
        on_step(None)
    inner[0].join()
    assert got
    assert backed.spent()["staff"] == 5


def test_restoring_twice_counts_once(backed):
    backed.restore()
    assert backed.restore() == []
    assert backed.spent()["staff"] == 5


def test_a_ledger_that_is_not_older_loses_nothing(place):
    place.new().close()
    made = Backed(place)
    made.asks("a")
    assert made.restore() == []
    assert made.spent()["staff"] == 1


@pytest.mark.parametrize("how", ["missing", "damaged", "foreign"])
def test_where_nobody_knows_all_of_it_is_spent(backed, how):
    head = Path(backed.place.head)
    if how == "missing":
        head.unlink()
    else:
        whole = bytearray(head.read_bytes())
        whole[300 if how == "damaged" else 30] ^= 1
        head.write_bytes(whole)
    before = [path.read_bytes() for path in (backed.file, head) if path.exists()]
    with pytest.raises(LedgerError, match=r"nobody knows.*staff: epsilon 8;.*--all-is-spent"):
        backed.restore()
    assert [path.read_bytes() for path in (backed.file, head) if path.exists()] == before
    assert "staff: epsilon 8 counts as spent" in backed.restore(all_is_spent=True)
    with backed.place.open() as ledger:
        assert ledger.accounts["staff"].left == Amount(0)
        with pytest.raises(BudgetExceededError):
            ledger.reserve(claim("f", cost=1))
        more = ["staff", "staff@ann", "staff@bob"]
        register(ledger, registration(12, fingerprint="policy-2"), more_budget=more)
        assert ledger.accounts["staff"].left == Amount(2 * UNIT)
        verified(ledger)


def test_where_nothing_is_left_nobody_is_asked(place):
    with place.new(total=1) as ledger:
        retire(ledger, "staff", "staff@ann", "staff@bob")
    Path(place.head).unlink()
    assert Backed(place).restore() == []


def test_a_head_file_that_only_others_may_open_is_not_given_up(backed, monkeypatch):
    whole = Path(backed.place.head).read_bytes()
    opened = os.open

    def refused(path, *how):
        if Path(path) == Path(backed.place.head):
            raise PermissionError(13, "Permission denied")
        return opened(path, *how)

    with monkeypatch.context() as patched:
        patched.setattr(os, "open", refused)
        with pytest.raises(LedgerError, match=r"cannot be written \(Permission denied\)"):
            backed.restore(all_is_spent=True)
    assert Path(backed.place.head).read_bytes() == whole
    assert "staff: epsilon 3 counts as spent" in backed.restore()


STEPS = ("before the commit of restore", "after the commit of restore", "after the head of restore")


@pytest.mark.parametrize("label", STEPS)
def test_a_restore_that_is_killed_gives_nothing_away(nursery, backed, label):
    """It still does not open, or everything is counted; and it can be restored again."""
    assert nursery.run("restore", backed.place, kill=label) == -9
    with pytest.raises(LedgerError, match="older state"):
        backed.place.open()
    backed.restore()
    assert backed.spent() == {"staff": 5, "staff@ann": 4, "staff@bob": 1}


def test_a_charge_whose_head_was_not_written_is_counted_once_it_was_answered(place):
    """Killed between commit and head, taken up by another, answered: the backup owes it."""
    place.new().close()
    made = Backed(place)
    made.backup()
    with place.open() as one, place.open() as other:

        class Plug(Exception):
            pass

        def pull(step):
            if step == "after the commit of reserve":
                raise Plug

        on_step(pull)
        try:
            with pytest.raises(Plug):
                one.reserve(claim("a"))
        finally:
            on_step(None)
        ask(other, place, claim("a"))
    made.put_back()
    made.restore()
    assert made.spent()["staff"] == 1


def test_budget_that_was_raised_since_is_counted_too(backed):
    """8 of 12 were spent; the backup knows of 10. Raising it to 12 again leaves 4."""
    backed.restore()
    more = ["staff", "staff@ann", "staff@bob"]
    with backed.place.open() as ledger:
        register(ledger, registration(20, fingerprint="policy-2"), more_budget=more)
    backed.asks(*"fghijklm", policy="policy-2")
    backed.put_back()
    backed.restore()
    assert backed.spent()["staff"] == 13
    with backed.place.open() as ledger:
        assert ledger.accounts["staff"].left == Amount(0)
        register(ledger, registration(20, fingerprint="policy-2"), more_budget=more)
        assert ledger.accounts["staff"].left == Amount(7 * UNIT)
        verified(ledger)


def test_accounts_that_the_backup_does_not_know(place):
    """A family that was opened after the backup does not begin anew."""
    place.new(total=10).close()
    made = Backed(place)
    made.backup()
    limit = limit_of(epsilon=10)
    guests = registration(
        10, fingerprint="policy-2", families={"staff": limit, "guests": limit},
        sources={"a.csv": "staff", "g.csv": "guests"},
    )  # fmt: skip
    with place.open() as ledger:
        register(ledger, guests, new_people=["guests"])
        for number in range(4):
            asked = claim(f"g{number}", policy="policy-2")
            charges = (Charge("guests", Amount(UNIT)),)
            ask(ledger, place, replace(asked, charges=charges))
    made.put_back()
    assert "accounts are not in this ledger" in made.restore()[-1]
    with place.open() as ledger:
        words = register(ledger, guests, new_people=["guests"])[1]
        assert any("guests: epsilon 4 counts as spent" in word for word in words)
        assert ledger.accounts["guests"].left == Amount(6 * UNIT)
        verified(ledger)


def test_what_was_retired_stays_without_budget(place):
    place.new(total=10).close()
    made = Backed(place)
    made.asks("a")
    made.backup()
    with place.open() as ledger:
        retire(ledger, "staff")
    made.put_back()
    made.restore()
    with place.open() as ledger:
        assert ledger.accounts["staff"].left == Amount(0)
        with pytest.raises(BudgetExceededError):
            ledger.reserve(claim("b"))


def test_a_sealed_account_is_restored_as_it_is(place):
    place.new(total=10).close()
    made = Backed(place)
    with place.open() as ledger:
        retire(ledger, "staff")
    made.backup()
    made.put_back()
    Path(place.head).unlink()
    made.restore(all_is_spent=True)
    with place.open() as ledger:
        assert ledger.accounts["staff"].sealed
        verified(ledger)


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM discreet_entry WHERE seq = 5",
        "UPDATE discreet_account SET spent = 0",
        "UPDATE discreet_entry SET answer = 'x' WHERE key = 'a'",
    ],
)
def test_a_backup_that_was_changed_is_not_accepted(backed, change):
    with Ledger.unanchored(backed.place.address, head=backed.place.head) as ledger:
        ledger._database._raw.execute(change)
    with pytest.raises(LedgerError):
        backed.restore()
    assert Path(backed.place.head).exists()


def test_a_restored_ledger_on_postgres(postgres_places):
    """The tables go back; the head file does not."""
    import psycopg

    place = postgres_places()
    place.new(total=10).close()
    names = ("ledger", "account", "entry")
    made = Backed(place)
    made.asks("a")
    with psycopg.connect(place.address, autocommit=True) as owner:
        for name in names:
            owner.execute(f"CREATE TABLE kept_{name} AS TABLE discreet_{name}")
        made.asks("b", "c")
        for name in names:
            owner.execute(f"TRUNCATE discreet_{name}")
            owner.execute(f"INSERT INTO discreet_{name} TABLE kept_{name}")
    with pytest.raises(LedgerError, match="older state"):
        place.open()
    made.restore()
    assert made.spent()["staff"] == 3
    Path(place.sent).unlink()
    Path(place.computed).unlink()
    Checker(place).check()


WORDS = {
    "c": r"^this ledger ends at entry \d+, and entry \d+ was reached before: it was taken back",
    "d": r"^entry \d+ of this ledger is another one than was reached before: .* or changed",
}


def test_another_history_of_the_same_length_is_refused(place, places):
    """Two curators went on from one backup: each head file takes its own history only."""
    place.new(total=10).close()
    other = places()
    shutil.copyfile(place.address, other.address)
    shutil.copyfile(place.head, other.head)
    Backed(place).asks("a", "b")
    for more in ("c", "d"):
        Backed(other).asks(more)  # as long, and then longer
        Backed(other).backup()
        mixed = places()
        shutil.copyfile(f"{other.address}.backup", mixed.address)
        shutil.copyfile(place.head, mixed.head)
        with pytest.raises(LedgerError, match=WORDS[more]):
            mixed.open()
    Backed(other).asks("e", "f")
    shutil.copyfile(other.address, mixed.address)
    with pytest.raises(LedgerError, match=WORDS["d"]):
        mixed.open()
