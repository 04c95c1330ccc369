"""What holds with any hash: the bounds, whichever rows it chooses; and the choice is the key's."""

from discreet.query import expr as e
from discreet.query.request import Bounding, Part, Request, Total
from discreet.query.schema import Bounds, FreeText, PerPerson, Schema

TYPES = {"p": "text", "g": "text", "n": "integer"}
GROUPS, ROWS = 2, 3


def rows():
    """Person i has 1 + i % 5 groups, and i % 7 + 1 rows in each."""
    return [
        {"p": f"p{i}", "g": f"g{(i + j) % 9}", "n": r}
        for i in range(60)
        for j in range(1 + i % 5)
        for r in range(1 + i % 7)
    ]


def request():
    schema = Schema("t", PerPerson("p"), {"g": FreeText(), "n": Bounds(0, 9, 1)}, TYPES, {}, 10**6)
    g, n = (e.Column(name, schema.kind(name)) for name in "gn")
    totals = (Total(), Total(n, 1, 0))
    parts = (
        Part((g,), totals, Bounding("sample", rows=ROWS, groups=GROUPS)),
        Part((g,), (), Bounding("sample", groups=GROUPS), people=True),
        Part((g,), totals, Bounding("clamp", rows=ROWS, groups=GROUPS)),
    )
    return Request(schema, None, parts)


def check_any_hash(engine_of):
    """`engine_of(rows, types, key)` is an engine with a hash of its own.

    All groups of a person are equally large, so that the totals over all groups do not depend on
    which are chosen: they are the bounds exactly.
    """
    kept = sum(min(GROUPS, 1 + i % 5) * min(ROWS, i % 7 + 1) for i in range(60))
    people = sum(min(GROUPS, 1 + i % 5) for i in range(60))
    first = engine_of(rows(), TYPES, "one").run(request())
    assert sum(totals[0] for totals in first[0].values()) == kept
    assert sum(totals[0] for totals in first[1].values()) == people
    assert sum(totals[0] for totals in first[2].values()) == kept
    assert engine_of(rows()[::-1], TYPES, "one").run(request()) == first
    assert engine_of(rows(), TYPES, "two").run(request()) != first
