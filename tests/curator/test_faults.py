"""What an analyst is not shown is there for the owner."""

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
