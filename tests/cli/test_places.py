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


def test_a_link_has_the_ledger_of_its_file(here, run):
    (here / "link.csv").symlink_to("payroll.csv")
    run("count", "link.csv", "--epsilon", "1")
    assert place_of("link.csv").address == str(here.resolve() / "payroll.csv.ledger")
    assert "epsilon 1 of 10 spent" in run("budget", "link.csv").output


def test_a_file_whose_ledger_is_gone_has_been_asked(here, run):
    run("count", "payroll.csv", "--epsilon", "1")
    (here / "payroll.csv.ledger").unlink()
    for command in (["budget"], ["ledger", "verify"], ["ledger", "restore"], ["ledger", "rebuild"]):
        told = run(*command, "payroll.csv", code=4)
        assert "payroll.csv.ledger.head exists, and its ledger does not" in " ".join(
            told.output.split()
        )


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
