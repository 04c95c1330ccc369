"""What an analyst is not shown is there for the owner."""

from discreet.curator import faults as module
from discreet.curator.faults import faults, faults_path, note_fault
from discreet.curator.ledger.ledger import Ledger
from discreet.errors import EngineError


def test_a_fault_is_one_line_that_only_the_owner_can_read(tmp_path):
    with Ledger.create(tmp_path / "x.ledger") as ledger:
        assert faults(ledger) == []
        error = EngineError("it could not answer")
        error.__cause__ = ValueError("row\n7")
        note_fault(ledger, error)
        note_fault(ledger, OSError("the second"))
        first, second = faults(ledger)
        assert first.endswith("OSError: the second")
        assert second.endswith("EngineError: it could not answer | ValueError: row 7")
        assert faults(ledger, most=1) == [first]
        assert faults_path(ledger).stat().st_mode & 0o777 == 0o600


def test_faults_do_not_fill_the_disk(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "LARGEST", 20_000)
    with Ledger.create(tmp_path / "x.ledger") as ledger:
        for n in range(103):
            note_fault(ledger, OSError(f"{n} \ud800" + "x" * 50_000))
        found = faults(ledger)
        assert all(len(line) < 5_000 for line in found)
        numbers = [int(line.split("OSError: ")[1].split()[0]) for line in found[:5]]
        assert numbers == [102, 101, 100, 99, 98]
        kept = sorted(tmp_path.glob("*.faults*"))
        assert len(kept) == 2
        assert all(path.stat().st_size < 30_000 for path in kept)
        assert all(path.stat().st_mode & 0o777 == 0o600 for path in kept)


def test_who_shares_the_ledger_shares_its_faults(tmp_path):
    """Else the failures of all but the first to fail would be lost."""
    Ledger.create(tmp_path / "x.ledger").close()
    (tmp_path / "x.ledger.head").chmod(0o660)
    with Ledger(tmp_path / "x.ledger") as ledger:
        note_fault(ledger, OSError("the first"))
        assert faults_path(ledger).stat().st_mode & 0o777 == 0o660
        faults_path(ledger).chmod(0o600)
        note_fault(ledger, OSError("the second"))
        assert faults_path(ledger).stat().st_mode & 0o777 == 0o600, "its owner decided"
