"""The table that the tests of the language ask, and the public tables beside it."""

from discreet.query.schema import (
    Boolean,
    Bounds,
    Dates,
    FreeText,
    Hidden,
    Keys,
    PerPerson,
    PerRow,
    PublicTable,
    Schema,
)

COLUMNS = {
    "salary": Bounds(0, 400_000, "0.01"),
    "age": Bounds(0, 120, 1),
    "temperature": Bounds(-30, 45, "0.5"),
    "height": Bounds("0.3", "2.7", "0.3"),
    "dept": Keys(["clerk", "nurse", "it's", "Ärzte"]),
    "code": Keys([3, 1, 2, -7]),
    "zip": Keys([1010, 8001, 9999]),
    "active": Boolean(),
    "hired": Dates("2019-03-05", "2024-12-31"),
    "left_on": Dates("2020-01-01", "2023-06-30"),
    "note": FreeText(),
    'we"ird; DROP': Bounds(1, 9, 1),
    "Group": Boolean(),
    "secret": Hidden(),
}
STORAGE = dict.fromkeys([*COLUMNS, "person_id", "unseen"], "other")
REGIONS = PublicTable(
    "zip",
    {
        1010: {"region": "east", "rank": 1, "coast": None},
        8001: {"region": "west", "rank": 2, "coast": True},
        7: {"region": "none", "rank": 30, "coast": False},
    },
)
JOBS = PublicTable("dept", {"clerk": {"grade": 2}, "nurse": {"grade": 5}})
TABLES = {"regions": REGIONS, "jobs": JOBS}

PEOPLE = Schema("t", PerPerson("person_id", max_rows=3), COLUMNS, STORAGE, TABLES)
ROWS = Schema("t", PerRow(), COLUMNS, STORAGE, TABLES)
