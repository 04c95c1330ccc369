import pytest
from tests.contracts.mechanism import CONTRACT

from discreet.audit.catalogue import mechanisms


@pytest.mark.parametrize("rule", CONTRACT, ids=lambda rule: rule.__name__)
@pytest.mark.parametrize("mechanism", mechanisms(), ids=repr)
def test_the_contract(mechanism, rule):
    rule(mechanism)
