"""Random questions as SQL text: expressions of every kind over the table of `example`."""

from functools import cache

from hypothesis import strategies as st

NUMBERS = ["salary", "age", "temperature", "height", "code", "zip", '"we""ird; DROP"']
CONSTANTS = ["0", "1", "7", "-3", "0.5", "10", "1000", "2.25", "1/3", "-0.75", "100000"]
DAYS = ["hired", "left_on", "DATE '2021-02-03'"]
TEXTS = ["dept", "note", "'nurse'", "'it''s'", "'naïve ☃'"]


@cache
def numbers(depth=3):
    """SQL of a number."""
    leaf = st.one_of(st.sampled_from(NUMBERS), st.sampled_from(CONSTANTS))
    if depth == 0:
        return leaf
    sub, flag, day = numbers(depth - 1), flags(depth - 1), days(depth - 1)
    two = st.tuples(sub, sub)
    return st.one_of(
        leaf,
        st.tuples(two, st.sampled_from("+-*/")).map(lambda t: f"({t[0][0]}) {t[1]} ({t[0][1]})"),
        sub.map(lambda x: f"-({x})"),
        sub.map(lambda x: f"ABS({x})"),
        sub.map(lambda x: f"FLOOR({x})"),
        sub.map(lambda x: f"CEIL({x})"),
        st.tuples(sub, st.integers(-3, 3)).map(lambda t: f"ROUND({t[0]}, {t[1]})"),
        st.tuples(sub, st.sampled_from(["3", "0.4", "10"])).map(lambda t: f"MOD({t[0]}, {t[1]})"),
        two.map(lambda t: f"LEAST({t[0]}, {t[1]})"),
        two.map(lambda t: f"GREATEST({t[0]}, {t[1]}, 4)"),
        sub.map(lambda x: f"LN(GREATEST({x}, 1))"),
        sub.map(lambda x: f"SIGN({x})"),
        sub.map(lambda x: f"POWER({x}, 2)"),
        sub.map(lambda x: f"WIDTH_BUCKET({x}, -1, 50.5, 7)"),
        flag.map(lambda c: f"CAST({c} AS INTEGER)"),
        st.tuples(flag, two).map(lambda t: f"CASE WHEN {t[0]} THEN {t[1][0]} ELSE {t[1][1]} END"),
        st.tuples(flag, sub).map(lambda t: f"IF({t[0]}, {t[1]}, NULL)"),
        two.map(lambda t: f"COALESCE({t[0]}, {t[1]})"),
        two.map(lambda t: f"NULLIF({t[0]}, {t[1]})"),
        st.tuples(
            st.sampled_from(["YEAR", "MONTH", "QUARTER", "WEEK", "DAY", "DAYOFWEEK"]), day
        ).map(lambda t: f"EXTRACT({t[0]} FROM {t[1]})"),
        st.tuples(day, day).map(lambda t: f"DATE_DIFF('day', {t[0]}, {t[1]})"),
        st.just("LOOKUP('regions', 'rank', zip)"),
    )


@cache
def flags(depth=3):
    """SQL of a condition."""
    leaf = st.sampled_from(["active", '"Group"', "TRUE", "FALSE"])
    if depth == 0:
        return leaf
    sub, number, day = flags(depth - 1), numbers(depth - 1), days(depth - 1)
    op = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])
    text = texts(depth - 1)
    return st.one_of(
        leaf,
        st.tuples(number, op, number).map(lambda t: f"({t[0]}) {t[1]} ({t[2]})"),
        st.tuples(text, op, text).map(lambda t: f"({t[0]}) {t[1]} ({t[2]})"),
        st.tuples(day, op, day).map(lambda t: f"{t[0]} {t[1]} {t[2]}"),
        st.tuples(sub, st.sampled_from(["AND", "OR"]), sub).map(
            lambda t: f"({t[0]}) {t[1]} ({t[2]})"
        ),
        st.tuples(sub, st.sampled_from(["=", "<>"]), sub).map(
            lambda t: f"({t[0]}) {t[1]} ({t[2]})"
        ),
        sub.map(lambda c: f"NOT ({c})"),
        sub.map(lambda c: f"({c}) IS TRUE"),
        sub.map(lambda c: f"({c}) IS NOT FALSE"),
        number.map(lambda x: f"({x}) IS NULL"),
        text.map(lambda x: f"({x}) IS NOT NULL"),
        number.map(lambda x: f"({x}) IN (1, 2.5, -7)"),
        text.map(lambda x: f"({x}) NOT IN ('clerk', 'x')"),
        st.tuples(text, st.sampled_from(["c%", "%s", "_l%k", "%'%", ""])).map(
            lambda t: "({}) LIKE '{}'".format(t[0], t[1].replace("'", "''"))
        ),
        st.tuples(number, number, number).map(lambda t: f"({t[0]}) BETWEEN ({t[1]}) AND ({t[2]})"),
        st.tuples(number, number).map(lambda t: f"({t[0]}) IS DISTINCT FROM ({t[1]})"),
        st.just("LOOKUP('regions', 'coast', zip)"),
    )


@cache
def days(depth=3):
    """SQL of a date."""
    leaf = st.sampled_from(DAYS)
    if depth == 0:
        return leaf
    sub = days(depth - 1)
    unit = st.sampled_from(["day", "week", "month", "quarter", "year"])
    return st.one_of(
        leaf,
        st.tuples(unit, sub).map(lambda t: f"DATE_TRUNC('{t[0]}', {t[1]})"),
        st.tuples(flags(depth - 1), sub).map(lambda t: f"CASE WHEN {t[0]} THEN {t[1]} END"),
        st.tuples(sub, sub).map(lambda t: f"COALESCE({t[0]}, {t[1]})"),
    )


@cache
def texts(depth=3):
    """SQL of a text."""
    leaf = st.sampled_from(TEXTS)
    if depth == 0:
        return leaf
    sub = texts(depth - 1)
    return st.one_of(
        leaf,
        st.tuples(flags(depth - 1), sub, sub).map(
            lambda t: f"CASE WHEN {t[0]} THEN {t[1]} ELSE {t[2]} END"
        ),
        sub.map(lambda x: f"COALESCE({x}, 'none')"),
        st.just("LOOKUP('regions', 'region', zip)"),
    )


@cache
def aggregates(depth=2):
    """SQL of an aggregate."""
    number, flag = numbers(depth), flags(depth)
    function = st.sampled_from(["SUM", "AVG", "VAR_POP", "STDDEV_POP", "MEDIAN", "COUNT"])
    level = st.sampled_from(["0.5", "0.9", "1/3", "0.001"])
    plain = st.one_of(
        st.just("COUNT(*)"),
        flag.map(lambda c: f"COUNT_IF({c})"),
        flag.map(lambda c: f"SUM({c})"),
        st.tuples(function, number).map(lambda t: f"{t[0]}({t[1]})"),
        st.tuples(number, level).map(lambda t: f"QUANTILE({t[0]}, {t[1]})"),
        number.map(lambda x: f"PRODUCT(GREATEST({x}, 0.5))"),
        number.map(lambda x: f"GEOMEAN(GREATEST(1, {x}))"),
    )
    filtered = st.tuples(plain, flag).map(lambda t: f"{t[0]} FILTER (WHERE {t[1]})")
    return st.one_of(st.just("COUNT(DISTINCT person_id)"), plain, filtered)


@cache
def posts(depth=2):
    """SQL of a function of released numbers."""
    if depth == 0:
        return st.one_of(aggregates(), st.sampled_from(["1", "-2", "0.25"]))
    sub = posts(depth - 1)
    return st.one_of(
        sub,
        st.tuples(sub, st.sampled_from("+-*/"), sub).map(lambda t: f"({t[0]}) {t[1]} ({t[2]})"),
        st.tuples(st.sampled_from(["ABS", "FLOOR", "CEIL", "SQRT", "LN", "EXP", "-"]), sub).map(
            lambda t: f"{t[0]}({t[1]})"
        ),
        st.tuples(sub, st.integers(-2, 3)).map(lambda t: f"ROUND({t[0]}, {t[1]})"),
        st.tuples(sub, sub).map(lambda t: f"GREATEST({t[0]}, {t[1]})"),
        st.tuples(sub, sub).map(lambda t: f"COALESCE({t[0]}, {t[1]})"),
        st.tuples(sub, sub).map(lambda t: f"CASE WHEN {t[0]} > 3 THEN {t[1]} END"),
    )


@cache
def conditions(depth=2):
    """SQL of a HAVING."""
    post = posts(1)
    leaf = st.one_of(
        st.tuples(post, st.sampled_from(["=", "<>", "<", ">="]), post).map(
            lambda t: f"({t[0]}) {t[1]} ({t[2]})"
        ),
        post.map(lambda x: f"({x}) BETWEEN 1 AND 2"),
        post.map(lambda x: f"({x}) NOT IN (1, 2)"),
        post.map(lambda x: f"({x}) IS NOT NULL"),
    )
    if depth == 0:
        return leaf
    sub = conditions(depth - 1)
    return st.one_of(
        leaf,
        st.tuples(sub, st.sampled_from(["AND", "OR"]), sub).map(
            lambda t: f"({t[0]}) {t[1]} ({t[2]})"
        ),
        sub.map(lambda c: f"NOT ({c})"),
    )


@st.composite
def questions(draw):
    """A whole SELECT, most of which the parser takes."""
    groups = draw(
        st.lists(
            st.one_of(
                st.sampled_from(
                    [
                        "dept", "code", "active", "note", "FLOOR(age / 10) * 10", "hired", "zip",
                        "DATE_TRUNC('month', hired)", "EXTRACT(YEAR FROM hired)", '"Group"',
                        "WIDTH_BUCKET(salary, 0, 100000, 8)", "LOOKUP('regions', 'region', zip)",
                        "CASE WHEN age < 18 THEN 'minor' ELSE dept END", "COALESCE(dept, 'none')",
                    ]
                ),
                flags(1),
                days(1),
            ),
            max_size=2,
            unique=True,
        )
    )  # fmt: skip
    shown = draw(st.lists(st.sampled_from(groups), unique=True)) if groups else []
    names = iter(["a", "dept", "Salary", "we ird", 'x"y', "count", "select", "größe"])
    items = [
        x + (f' AS "{next(names)}"'.replace('x"y', 'x""y') if draw(st.booleans()) else "")
        for x in (*shown, draw(aggregates()), *draw(st.lists(posts(), max_size=2)))
    ]
    text = "SELECT "
    if draw(st.booleans()):
        price = draw(st.sampled_from(["epsilon = 0.5", "epsilon = 1, delta = 1e-6", "rho = 1/3"]))
        text += f"WITH DIFFERENTIAL_PRIVACY OPTIONS ({price}, other = TRUE) "
    text += ", ".join(items) + " FROM t"
    if draw(st.booleans()):
        text += f" WHERE {draw(flags())}"
    if groups:
        text += " GROUP BY " + ", ".join(groups)
    if draw(st.booleans()):
        text += f" HAVING {draw(conditions(1))}"
    if draw(st.booleans()):
        text += (
            " ORDER BY "
            + ", ".join(draw(st.lists(st.one_of(st.just("1"), posts(1)), min_size=1, max_size=2)))
            + draw(st.sampled_from(["", " DESC"]))
        )
    if draw(st.booleans()):
        text += f" LIMIT {draw(st.integers(0, 50))}"
    return text
