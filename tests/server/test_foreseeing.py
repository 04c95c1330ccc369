"""What is told of a publication before it is paid: from what was said and the policy alone."""

import pytest

from discreet.engines.duckdb import DuckDB
from discreet.errors import DiscreetError
from discreet.server.foreseeing import foreseen_publication

PAY = {"bins": [64], "ranges": [(0, 1000)], "epsilon": "0.3"}


@pytest.fixture
def alice(server):
    return server.service.access.by_key(server.keys["alice"])


def foreseen(server, who, columns=("pay",), **more):
    return foreseen_publication(server.service, who, columns, {}, **{**PAY, **more})


def test_the_error_falls_with_the_price(server, alice):
    """Made-up rows and their noise differ each time; prices a thousandfold apart do not meet."""
    cheapest, cheap, dear, dearest = (
        foreseen(server, alice, epsilon=e) for e in ("0.01", "0.1", 1, 10)
    )
    assert cheap.alone == pytest.approx(10 * dear.alone, rel=0.1)
    assert cheapest.within > 2 * dearest.within
    assert (cheap.parts, cheap.accounting) == (10, "pure")
    assert cheap.to_dict()["cost"]["epsilon"] == "0.1"


def test_no_row_of_the_source_is_read(server, alice, monkeypatch):
    home = str(server.service.path.parent)
    inner = DuckDB.run

    def guarded(engine, request, statement=None, **more):
        assert home not in engine.statement(request)
        return inner(engine, request, statement, **more)

    monkeypatch.setattr(DuckDB, "run", guarded)
    two = {"bins": [500, 8], "ranges": [(0, 1000)] * 2}
    made = foreseen(server, alice, ("pay", "pay / 2"), **two, where="dept = 'a'")
    assert made.parts == 16


def test_what_could_not_be_published_is_refused(server, alice):
    for wrong in ({"epsilon": 0}, {"where": "pay"}, {"bins": [4096]}, {"columns": ["nothing"]}):
        with pytest.raises(DiscreetError):
            foreseen(server, alice, **wrong)
