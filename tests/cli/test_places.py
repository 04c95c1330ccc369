import pytest

from discreet.cli.places import is_policy, place_of
from discreet.errors import LedgerError, ParameterError


def test_a_policy_a_ledger_and_a_file(registered):
    assert is_policy("x.TOML")
    policy = place_of("policy.toml")
    assert policy.exists
    assert policy.policy is not None
    own = place_of("staff.ledger")
    assert own.exists
    with policy.open() as one, own.open() as other:
        assert one.head == other.head
    bare = place_of("payroll.csv")
    assert not bare.exists
    with pytest.raises(LedgerError, match="nothing was asked of it yet"):
        bare.open()


def test_a_ledger_is_made_also_if_only_its_head_file_is_left(registered):
    place = place_of("policy.toml")
    assert place.is_made
    (registered / "staff.ledger").unlink()
    assert place.is_made
    (registered / "staff.ledger.head").unlink()
    assert not place.is_made


def test_what_is_not_there(here):
    with pytest.raises(ParameterError, match="is not there; say a policy"):
        place_of("nothing.csv")
    with pytest.raises(LedgerError, match="there is no ledger"):
        place_of("nothing.ledger").open()
    with pytest.raises(ParameterError, match="named by its policy") as caught:
        place_of("postgresql://ann:secret@host/db")
    assert "secret" not in str(caught.value)
