import pytest

from discreet.audit.catalogue import mechanisms
from tests.contracts.mechanism import CONTRACT


@pytest.mark.parametrize("rule", CONTRACT, ids=lambda rule: rule.__name__)
@pytest.mark.parametrize("mechanism", mechanisms(), ids=repr)
def test_the_contract(mechanism, rule):
    rule(mechanism)
