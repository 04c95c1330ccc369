"""Accounts as they travel."""

import json

import pytest

from discreet.curator.ledger.amounts import Amount
from discreet.curator.ledger.values import Account
from discreet.errors import ParameterError


@pytest.mark.parametrize("sealed", [False, True])
@pytest.mark.parametrize("accounting", ["pure", "zcdp"])
def test_an_account_as_plain_values_and_back(sealed, accounting):
    made = Account(0, "staff@alice", accounting, Amount(3 * 10**12, 5), Amount(10**11, 2), sealed)
    told = json.loads(json.dumps(made.to_dict()))
    assert Account.from_dict(told) == made
    assert told["total"]["epsilon" if accounting == "pure" else "rho"] == "3"
    assert (told["left"]["delta"] == "0") == sealed
    for wrong in ({"accounting": "other"}, {"retired": "no"}):
        with pytest.raises(ParameterError):
            Account.from_dict({**told, **wrong})
