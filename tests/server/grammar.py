"""Random questions from a grammar: half of them can be answered, the others try everything else.

A seed decides all of them, so that a failure can be repeated. The tame ones use what is declared in
`twins.POLICY`; the wild ones are tame ones with something wrong in one place, or worse.
"""

import numpy as np
from tests.query import hostile

NUMBERS = ["salary", "age", "age", "grade", "bonus"]
CONSTANTS = ["0", "1", "7", "-3", "0.5", "10", "1000", "2.25", "1/3", "100000"]
EDGES = [
    "9223372036854775807", "-9223372036854775808", "1e308", "1e-320", "1e999", "NaN", "NULL",
    "170141183460469231731687303715884105727", "0." + "3" * 60, "'1e400'::DOUBLE", "-0.0", "0x7f",
    "2147483648", "1_000", "DATE '9999-12-31'", "DATE '0001-01-01'", "TIMESTAMP 'infinity'",
    "INTERVAL 999999 YEAR", "''", "'" + "x" * 300 + "'", "'é\u202e\u0000'", "U&'\\0061'", "$$a$$",
]  # fmt: skip
REFUSED = [
    "error('leak')", "random()", "now()", "pg_sleep(1)", "getenv('HOME')", "current_setting('x')",
    "read_text('/etc/passwd')", "nextval('s')", "setseed(0.5)", "uuid()", "sqrt(-age)",
    "exp(salary)",
    "factorial(age)", "chr(age)", "repeat(note, 1000000)", "regexp_matches(note, '(a+)+$')",
    "list_sum(range(age))", "strptime(note, '%Y')", "CAST(note AS INTEGER)", "note::DATE",
    "(SELECT MAX(salary) FROM t)", "ROW_NUMBER() OVER ()", "SUM(age) OVER (ORDER BY age)",
    "COUNT(*)",
    "nosuch(age)", "wages", "t2.age", "person_id", "rowid", "dept COLLATE NOCASE", "age ! ", "?",
    "$1",
    "[age]", "{'a': age}", "x -> x + 1", "* EXCLUDE (age)", "COLUMNS('a.*')", "hash(note)",
]  # fmt: skip
TAILS = [
    "; DROP TABLE t", ";", ";;SELECT 1", " -- ' ; DROP TABLE t", " /* open", " LIMIT -1",
    " LIMIT 1 OFFSET 1", " UNION SELECT 1", " TABLESAMPLE 10%", " FOR UPDATE", " QUALIFY 1 = 1",
    " FORMAT JSON", "\u00a0", "\x00", ")", "'", '"', "\ud7ff", " WINDOW w AS ()",
    " INTO OUTFILE 'x'",
    " AT (VERSION => 1)", " USING SAMPLE 1", " ORDER BY RANDOM()",
]  # fmt: skip
HEADS = [
    "EXPLAIN ", "EXPLAIN ANALYZE ", "COPY (", "CREATE TABLE x AS ", "PRAGMA ", "WITH x AS ", "(",
    "-- ",
    "SET threads = 1; ", "ATTACH 'x'; ", "\ufeff", "DESCRIBE ", "CALL ", "INSERT INTO t ",
    "/* */ ", "FROM t ",
]  # fmt: skip
DEPTS = ["clerk", "nurse", "chef", "empty", "SECRET:7", "it''s", "naïve ☃"]


class Grammar:
    """Random questions; the seed decides all of them.

    Args:
        seed: one for each test.
    """

    def __init__(self, seed):
        self._rng = np.random.default_rng(seed)
        self._asked = []

    def pick(self, options):
        return options[int(self._rng.integers(len(options)))]

    def chance(self, share):
        return self._rng.random() < share

    # expressions

    def number(self, depth):
        """SQL of a number."""
        if depth == 0 or self.chance(0.3):
            return self.pick(NUMBERS) if self.chance(0.7) else self.pick(CONSTANTS)
        x, y = self.number(depth - 1), self.number(depth - 1)
        return self.pick(
            [
                f"({x}) {self.pick('+-')} ({y})", f"({x}) * {self.pick(CONSTANTS)}",
                f"({x}) / {self.pick(['2', '7', '(age + 1)', '(age - 42)', '0'])}", f"-({x})",
                f"ABS({x})", f"FLOOR({x})", f"ROUND({x}, {self.pick([-1, 0, 1])})",
                f"MOD({x}, {self.pick(['3', '10', '0.4'])})", f"LEAST({x}, {y})",
                f"GREATEST({x}, {y}, 4)", f"LN(GREATEST({x}, 1))", f"SIGN({x})",
                f"COALESCE({x}, {y})", f"NULLIF({x}, {y})",
                f"CAST({self.flag(depth - 1)} AS INTEGER)",
                f"CASE WHEN {self.flag(depth - 1)} THEN {x} ELSE {y} END",
                f"EXTRACT({self.pick(['YEAR', 'MONTH', 'DAY'])} FROM hired)",
            ]
        )  # fmt: skip

    def flag(self, depth):
        """SQL of a condition."""
        if depth == 0:
            return self.pick(["active", "TRUE", "dept = 'nurse'", "age < 42", "note = 'SECRET:7'"])
        x, y = self.number(depth - 1), self.number(depth - 1)
        c, d = self.flag(depth - 1), self.flag(depth - 1)
        return self.pick(
            [
                f"({x}) {self.pick(['=', '<>', '<', '<=', '>', '>='])} ({y})", f"NOT ({c})",
                f"({c}) {self.pick(['AND', 'OR'])} ({d})", f"({c}) IS TRUE", f"({x}) IS NULL",
                f"({x}) IN (1, 2.5, -7)", f"({x}) BETWEEN {self.pick(CONSTANTS)} AND ({y})",
                f"dept {self.pick(['=', '<>'])} '{self.pick(DEPTS)}'",

                f"note LIKE '{self.pick(['S%', '%:7', '_'])}'",
                f"dept IN ('{self.pick(DEPTS)}', 'clerk')",
                f"hired >= DATE '20{self.pick([19, 21, 24])}-03-01'",
                f"({x}) IS DISTINCT FROM ({y})", "note IS NOT NULL",
            ]
        )  # fmt: skip

    def group(self):
        """SQL of a group."""
        return self.pick(
            ["dept", "dept", "dept", "active", "FLOOR(age / 10) * 10", "DATE_TRUNC('year', hired)",
             "EXTRACT(MONTH FROM hired)", "note", "WIDTH_BUCKET(salary, 0, 400000, 8)",
             "CASE WHEN age < 40 THEN 'young' ELSE 'old' END", "dept = 'nurse'", "grade"]
        )  # fmt: skip

    def aggregate(self):
        """SQL of an aggregate."""
        x = self.number(self.pick([0, 1, 1, 2]))
        found = self.pick(
            ["COUNT(*)", "COUNT(*)", f"COUNT({x})", "COUNT(DISTINCT person_id)", f"SUM({x})",
             f"AVG({x})", "AVG(salary)", "SUM(salary)", f"COUNT_IF({self.flag(1)})", "STDDEV(age)",
             f"VARIANCE({self.pick(['age', 'salary'])})", "GEOMETRIC_MEAN(age + 1)",
             "SUM(salary) / COUNT(*)", "ROUND(AVG(age), 1)"]
        )  # fmt: skip
        if self.chance(0.01):  # they take longest
            found = self.pick(["MEDIAN(age)", "QUANTILE(ROUND(salary, -4), 0.9)"])
        filtered = self.chance(0.1) and found.endswith(")") and found.startswith(("COUNT(", "SUM("))
        return f"{found} FILTER (WHERE {self.flag(1)})" if filtered else found

    # questions

    def tame(self):
        """A question that can most often be answered."""
        groups = [self.group() for _ in range(self.pick([0, 0, 1, 1, 1, 1, 2]))]
        groups = list(dict.fromkeys(groups))
        many = self.pick([1, 1, 1, 1, 2, 3])
        outputs = [f"{self.aggregate()} AS a{i}" for i in range(many)]
        keys = [f"{group} AS g{i}" for i, group in enumerate(groups)]
        options = ""
        if self.chance(0.08):
            said = self.pick(
                ["epsilon = 0.000001", "other = TRUE", "extremes = 0.01", "epsilon = 1e-6"]
            )
            options = f"WITH DIFFERENTIAL_PRIVACY OPTIONS ({said}) "
        joined = " JOIN grades USING (dept)" if "grade" in " ".join([*groups, *outputs]) else ""
        where = ""
        if self.chance(0.5):
            flag = self.flag(self.pick([1, 1, 1, 2, 3]))
            joined = " JOIN grades USING (dept)" if "grade" in flag else joined
            where = f" WHERE {flag}"
        text = f"SELECT {options}{', '.join([*keys, *outputs])} FROM t{joined}{where}"
        if groups:
            text += " GROUP BY " + ", ".join(f"g{i}" for i in range(len(groups)))
            if self.chance(0.1):
                text += f" HAVING a0 {self.pick('<>')} {self.pick(CONSTANTS)}"
            if self.chance(0.15):
                text += f" ORDER BY {self.pick(['g0', 'a0', 'a0 DESC'])}"
            if self.chance(0.08):
                text += f" LIMIT {self.pick([0, 1, 3, 10**9])}"
        return text

    def wild(self):
        """A tame one with something else in one place, or with a hole."""
        text = self.tame()
        match int(self._rng.integers(9)):
            case 0:
                place = self.pick(list(hostile.POSITIONS.values()))
                return place.format(self.pick([*REFUSED, *EDGES]))
            case 1:
                return self.pick(list(hostile.POSITIONS.values())).format(
                    self.pick(hostile.EXPRESSIONS)
                )
            case 2:
                return text + self.pick(TAILS)
            case 3:
                return self.pick(HEADS) + text
            case 4:
                words = [
                    w for w in [*NUMBERS, "dept", "note", "COUNT", "FROM t", "AS"] if w in text
                ]
                return text.replace(self.pick(words or ["t"]), self.pick([*REFUSED, *EDGES]), 1)
            case 5:
                at = int(self._rng.integers(len(text)))
                return (
                    text[:at]
                    + self.pick(["", "☃", "(", "--", "/*", "'", "\t", "0", ";", "é"])
                    + text[at + 1 :]
                )
            case 6:
                return text[: int(self._rng.integers(1, len(text)))]
            case 7:
                depth = self.pick([5, 30, 200])
                return f"SELECT COUNT(*) AS n FROM t WHERE {'(' * depth}age > 1{')' * depth}"
            case _:
                return self.pick([q for q in hostile.QUERIES if 0 < len(q) < 20_000])

    def asked(self):
        """A question with its price, as it is sent; sometimes one that was asked before."""
        if self._asked and self.chance(0.25):
            return self.pick(self._asked)
        text = self.wild() if self.chance(0.52) else self.tame()
        body = {"question": text, "epsilon": "0.000001", "delta": "1e-12"}
        if self.chance(0.08):
            body |= self.pick(
                [{"epsilon": "0"}, {"epsilon": -1}, {"epsilon": "nan"}, {"epsilon": "1e-400"},
                 {"epsilon": 10**9}, {"epsilon": None}, {"epsilon": None, "rho": "1e-9"},
                 {"delta": None}, {"delta": "2"}, {"within": 10**9}, {"within": 10**12,
                 "epsilon": None},
                 {"within": 10**12, "epsilon": None, "column": "a0", "rows": 100}, {"rows": "x"},
                 {"block": "b"}, {"dataset": "t"}, {"dataset": "u"}, {"deadline": 7}, {"extra": 1},
                 {"with_what_is_left": True}, {"column": "a0"}]
            )  # fmt: skip
        self._asked.append(body)
        return body
