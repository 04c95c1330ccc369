"""Every oracle that ships is audited."""

import discreet as dp
from discreet.audit.report import run_audit
from discreet.local.catalogue import oracles
from discreet.local.oracle import Oracle


def concrete(cls):
    for child in cls.__subclasses__():
        yield from concrete(child)
        if "kind" in vars(child):
            yield child


def test_every_public_oracle_is_in_the_catalogue():
    public = {getattr(dp.local, name) for name in dp.local.__all__}
    shipped = {cls for cls in concrete(Oracle) if cls in public}
    assert shipped == {type(oracle) for oracle in oracles()}
    assert all(oracle.domain.size <= 8 for oracle in oracles())


def test_numbers_and_kinds_differ():
    kinds = {type(oracle) for oracle in oracles()}
    assert len({cls.number for cls in kinds}) == len(kinds) == len({cls.kind for cls in kinds})


def test_the_audit_takes_them():
    rows = run_audit(only="KaryResponse", also=oracles())
    assert len(rows) >= 3
    assert all(row.proven and row.tight for row in rows)
