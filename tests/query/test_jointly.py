"""Questions answered together: their cells against plain Python, sensitivity, what is refused."""

import numpy as np
import pandas as pd
import pytest

import discreet as dp
from discreet.engines.duckdb import DuckDB
from discreet.errors import QueryError
from discreet.query import jointly as module
from discreet.query.jointly import jointly
from discreet.query.price import Target, priced
from discreet.query.sql import parse

ROWS = pd.DataFrame({
    "region": ["n", "n", "s", "s", None, "x", "w", "n"],
    "age": pd.array([10, 25, 25, None, 30, 30, 39, 10], dtype="Int64"),
    "pay": [0, 1_999_999, 5, 7_000, 7_000.5, None, 2e9, -4],
    "id": [1, 1, 1, 2, 3, 3, 4, 5], "name": list("aabbccdd"),
})  # fmt: skip
ASKED = {
    "SELECT COUNT(*) FROM t": [8],
    "SELECT region, COUNT(*) FROM t GROUP BY region": [3, 2, 1],
    "SELECT COUNT(*) FROM t WHERE region = 'n' AND age < 20": [2],
    "SELECT COUNT(*) FROM t WHERE NOT (region = 'n')": [3],
    "SELECT COUNT(*) FROM t WHERE region IS NULL": [2],
    "SELECT COUNT(age) FROM t": [7],
    "SELECT COUNT(*) FILTER (WHERE pay >= 7000) FROM t WHERE age IS NOT NULL": [3],
    "SELECT FLOOR(age / 20) AS half, COUNT(*) FROM t WHERE region <> 's' GROUP BY half": [2, 2],
    "SELECT region, age > 20 AS old, COUNT(*) FROM t GROUP BY region, old": [2, 1, 0, 1, 0, 1],
}


def table(unit=None, rows=ROWS):
    columns = {
        "region": ["n", "s", "w"],
        "age": (0, 39),
        "pay": (0, 2_000_000),
        "name": dp.FreeText(),
    }
    return dp.Table(rows, unit=unit or dp.PerRow(), columns=columns, name="t")


def joint(t, questions):
    return jointly([parse(text, t.schema) for text in questions], t.schema)


def counts_of(t, wanted):
    (cells,) = t._engine.run(wanted.request, t._engine.statement(wanted.request))
    return wanted.counts(cells).reshape(-1)


def answers_of(t, wanted):
    counts = counts_of(t, wanted)
    return [[int(counts[row == g].sum()) for g in range(len(one.groups))]
            for one, row in zip(wanted.asked, wanted.rows, strict=True)]  # fmt: skip


@pytest.mark.parametrize("text", ASKED)
def test_each_question_by_itself(text):
    t = table()
    assert answers_of(t, joint(t, [text])) == [ASKED[text]]


def test_all_questions_together():
    t = table()
    wanted = joint(t, list(ASKED))
    assert answers_of(t, wanted) == list(ASKED.values())


def test_cells_are_the_coarsest_that_tell_the_questions_apart():
    t = table()
    one = joint(t, ["SELECT COUNT(*) FROM t WHERE region = 'n' AND age < 20"])
    assert one.shape == (1,)
    two = joint(t, ["SELECT COUNT(*) FROM t WHERE region = 'n'",
                    "SELECT COUNT(*) FROM t WHERE age < 20"])  # fmt: skip
    assert two.shape == (3,)
    every = joint(t, ["SELECT region, age > 20 AS old, COUNT(*) FROM t GROUP BY region, old",
                      "SELECT COUNT(*) FROM t"])  # fmt: skip
    assert every.shape == (7,)
    for wanted in (one, two, every):
        columns = {tuple(column) for column in wanted.rows.T}
        assert len(columns) == wanted.rows.shape[1]
        assert (-1,) * len(wanted.asked) not in columns


def test_cells_of_a_whole_product_keep_its_shape():
    whole = dp.Table(
        ROWS,
        unit=dp.PerRow(),
        name="t",
        columns={"age": dp.Bounds(0, 39, missing=0), "pay": dp.Bounds(0, 3, missing=0)},
    )
    wanted = joint(
        whole, ["SELECT FLOOR(age / 10) AS a, FLOOR(pay) AS b, COUNT(*) FROM t GROUP BY a, b"]
    )
    assert wanted.shape == (4, 4)


def test_rows_that_nobody_counts_do_not_take_the_place_of_others():
    """Person 1 has three rows, one of which counts; it counts in full."""
    t = table(dp.PerPerson("id", max_rows=1))
    wanted = joint(t, ["SELECT COUNT(*) FROM t WHERE region = 's'"])
    assert counts_of(t, wanted).tolist() == [2 * wanted.scale]


@pytest.mark.parametrize(
    ("unit", "least"),
    [
        (dp.PerRow(), 1),
        (dp.PerRow(neighbours="replace"), 2),
        (dp.PerPerson("id", max_rows=3), 3),
        (dp.PerPerson("id", max_rows=2, max_groups=2), 3),
        (dp.PerPerson("id", max_rows=3, neighbours="replace"), 4),
    ],
    ids=str,
)
def test_no_person_moves_the_cells_further_than_is_said(unit, least):
    """Every person (or row, where that is one) is taken away in turn, or replaced by each other."""
    t = table(unit)
    wanted = joint(t, list(ASKED))
    assert wanted.sensitivity >= least * wanted.scale
    per_row = isinstance(unit, dp.PerRow)
    groups = ROWS.index.to_series() if per_row else ROWS["id"]
    farthest = 0
    full = counts_of(t, wanted)
    without = []
    for who in groups.unique():
        less = dp.Table(ROWS[groups != who], unit=unit, columns=t.schema.columns, name="t")
        without.append(counts_of(less, joint(less, list(ASKED))))
    if unit.neighbours == "replace":
        pairs = [(a, b) for a in without for b in without]
    else:
        pairs = [(full, b) for b in without]
    for a, b in pairs:
        farthest = max(farthest, int(np.abs(a - b).sum()))
    assert least * wanted.scale <= farthest + wanted.scale // 1000 + 0
    assert farthest <= wanted.sensitivity


def test_the_statement_is_one_and_holds_no_row_of_the_data():
    t = table()
    wanted = joint(t, list(ASKED))
    assert isinstance(t._engine, DuckDB)
    assert len(wanted.request.parts) == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("SELECT COUNT(DISTINCT id) FROM t", "COUNT"),
        ("SELECT AVG(age) FROM t", "COUNT"),
        ("SELECT COUNT(*), COUNT(age) FROM t", "one COUNT"),
        ("SELECT COUNT(*) + 1 FROM t", "one COUNT"),
        ("SELECT region, COUNT(*) AS n FROM t GROUP BY ROLLUP (region)", "ROLLUP"),
        ("SELECT region, COUNT(*) AS n FROM t GROUP BY region HAVING n > 3", "HAVING"),
        ("SELECT name, COUNT(*) AS n FROM t GROUP BY name", "not public"),
        ("SELECT COUNT(*) FROM t WHERE name = 'a'", "not public"),
        ("SELECT COUNT(*) FROM t WHERE age < 3 AND age > 9", "tell|counted|no row"),
    ],
)
def test_what_cannot_be_answered_together_is_refused(text, words):
    t = table(dp.PerPerson("id", max_rows=3) if "DISTINCT" in text else None)
    with pytest.raises(QueryError, match=words):
        joint(t, [text])


def test_too_many_cells_are_refused_before_anything_is_asked(monkeypatch):
    t = table()
    with pytest.raises(QueryError, match="at least one"):
        jointly([], t.schema)
    with monkeypatch.context() as patch:
        patch.setattr(module, "MOST_LOOKS", 23)
        asked = [f"SELECT COUNT(*) FROM t WHERE region = 'n' AND age > {i}" for i in (20, 30)]
        joint(t, asked[:1])
        with pytest.raises(QueryError, match=r"2 questions over 12 .*classes.*Nothing was charged"):
            joint(t, asked)
    monkeypatch.setattr(module, "MOST_CELLS", 5)
    with pytest.raises(QueryError, match=r"6 cells apart .*publish_marginals"):
        joint(t, ["SELECT region, age > 20 AS old, COUNT(*) FROM t GROUP BY region, old"])
    monkeypatch.setattr(module, "MOST_COMBINATIONS", 3)
    with pytest.raises(QueryError, match="12 cells"):
        joint(t, ["SELECT region, age > 20 AS old, COUNT(*) FROM t GROUP BY region, old"])
    monkeypatch.setattr(module, "MOST_ANSWERS", 2)
    with pytest.raises(QueryError, match="2 counts"):
        joint(t, ["SELECT region, COUNT(*) FROM t GROUP BY region"])


FUZZED = [
    "region = 'n'", "region <> 'n'", "region IN ('s', 'w')", "region IS NULL", "NOT (age < 20)",
    "age BETWEEN 10 AND 25", "age % 2 = 0", "pay < 7000", "pay >= 7000.5", "pay IS NOT NULL",
    "FLOOR(pay / 1000) = 7", "COALESCE(pay, 5) = 5", "(age > 20) = (region = 'n')",
    "CASE WHEN age < 20 THEN 'young' ELSE region END = 'n'", "age * 3 - 5 > 70",
    "LEAST(age, 30) = 30", "region LIKE 's%'", "age IN (10, 39) OR pay > 1000000",
]  # fmt: skip


@pytest.mark.parametrize("turn", range(25))
def test_random_questions_are_what_the_engine_counts_for_each(turn):
    """Conditions joined at random, with and without groups, on rows with missing values."""
    rng = np.random.RandomState(turn)
    rows = ROWS.sample(40, replace=True, random_state=turn).reset_index(drop=True)
    t = table(rows=rows)
    texts = []
    for _ in range(rng.randint(1, 6)):
        parts = rng.choice(FUZZED, rng.randint(1, 4))
        where = f" {rng.choice(['AND', 'OR'])} ".join(
            f"{rng.choice(['', 'NOT '])}({part})" for part in parts
        )
        by = str(rng.choice(["", "region", "FLOOR(age / 7)", "age > 20"]))
        select, group = (f"{by}, ", f" GROUP BY {by}") if by else ("", "")
        texts.append(f"SELECT {select}COUNT(*) FROM t WHERE {where}{group}")
    texts = [text for text in texts if _possible(text, t)]
    if not texts:
        texts = ["SELECT COUNT(*) FROM t"]
    wanted = joint(t, texts)
    for one, found in zip(wanted.asked, answers_of(t, wanted), strict=True):
        request = priced(one.plan, t.schema, Target(epsilon=1)).request
        (cells,) = t._engine.run(request, t._engine.statement(request))
        assert found == [cells.get(group, (0,))[0] for group in one.groups], texts


def _possible(text, t):
    """Some contradict themselves, which is refused: WHERE leaves no key, or no row can count."""
    try:
        joint(t, [text])
    except QueryError as error:
        if "WHERE leaves no key" in str(error) or "no row can be counted" in str(error):
            return False
        raise
    return True
