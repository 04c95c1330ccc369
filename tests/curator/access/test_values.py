from datetime import UTC, datetime

from discreet.curator.access.values import ROLES, Credential, Person, Session

PERSON = Person("ann", "analyst", ("a",), None, has_password=True, disabled=False)


def test_roles():
    assert ROLES == ("owner", "analyst", "auditor")


def test_what_a_credential_may_see():
    assert Credential(PERSON, None, None).may_see("anything")
    assert Credential(PERSON, None, ("a", "b")).may_see("b")
    assert not Credential(PERSON, None, ("ab",)).may_see("a")
    assert not Credential(PERSON, None, ()).may_see("")


def test_a_session_does_not_show_its_token():
    made = Session(Credential(PERSON, None, None), "hidden", datetime(2026, 1, 1, tzinfo=UTC))
    assert "hidden" not in repr(made)
