"""Everything that ships is audited."""

import pytest

import discreet as dp
from discreet.audit.catalogue import mechanisms, samplers
from discreet.audit.exact import verify
from discreet.audit.report import run_audit
from discreet.mechanisms.base import Mechanism


def all_subclasses(cls):
    return {cls, *(deeper for child in cls.__subclasses__() for deeper in all_subclasses(child))}


def test_every_public_mechanism_is_in_the_catalogue():
    public = {getattr(dp, name) for name in dp.__all__}
    shipped = {cls for cls in all_subclasses(Mechanism) if cls in public}
    assert len(shipped) >= 12
    assert shipped == {type(mechanism) for mechanism in mechanisms()}


@pytest.mark.parametrize("mechanism", mechanisms(), ids=repr)
def test_every_promise_is_proven(mechanism):
    verdict = verify(mechanism)
    assert verdict.proven, str(verdict)
    assert not verdict.refuted


@pytest.mark.slow
@pytest.mark.parametrize("case", samplers(), ids=lambda case: case.name)
def test_every_sampler_has_its_law(case):
    rows = [row for row in run_audit(only=case.name) if row.name == case.name]
    assert len(rows) == 1
    assert rows[0].proven, rows[0]
    assert rows[0].worst <= 1e-12
