"""SQL text as a tree of an allow-listed language: the only door to the SQL parser.

The text is read in DuckDB's dialect, because that is the engine that comes with this package: what
an analyst tries there and what a question means here agree (DATE_DIFF's order, `NULLS LAST`, 1_000
as a number, names without regard to case). The text itself never reaches an engine: the tree
becomes a plan, and engines see plans only.

Guarantee. Whatever the text, the outcome is a tree or a `QueryError`, decided by the text alone.
Tested by tests/query/test_tree.py
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Container, Iterable, Sequence
from contextvars import copy_context
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeVar

import sqlglot
from sqlglot import TokenType, exp
from sqlglot.errors import SqlglotError

from discreet.errors import ParameterError, QueryError
from discreet.exact import rational
from discreet.query.schema import storable
from discreet.query.words import meant

__all__ = [
    "LONGEST",
    "Node",
    "deeply",
    "found",
    "fragment",
    "name_of",
    "number",
    "only",
    "part",
    "refused",
    "selects",
    "statement",
    "tokens_of",
]

Node = exp.Expression
Token = Any  # sqlglot's own class has moved between versions
T = TypeVar("T")

LONGEST = 64 * 1024
"""The longest text, in bytes."""
NESTED = 32
"""The deepest nesting of parentheses, brackets and CASE."""
MOST_WORDS = 10_000
"""The most words, as the tokenizer counts them."""
MOST_NODES = 4000
"""The largest tree, not counting names."""
DEEPEST = 128
"""The deepest tree; a chain such as a + b + c or a AND b AND c is one level."""
_CHAINS = {"add": ("add", "sub"), "sub": ("add", "sub"), "and": ("and",), "or": ("or",)}
_OPEN = (TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE, TokenType.CASE)
_CLOSE = (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE, TokenType.END)


@lru_cache(maxsize=1)
def _dialect() -> sqlglot.Dialect:
    return sqlglot.Dialect.get_or_raise("duckdb")


def _commands() -> Container[TokenType]:
    """The words that start a statement which is no SELECT."""
    return _dialect().parser_class.STATEMENT_PARSERS


def deeply(work: Callable[[], T]) -> T:
    """Run it; if the caller's own stack is nearly full, again in a thread with an empty one.

    So whether a text is refused as too deep does not depend on who calls.
    """
    try:
        return work()
    except RecursionError:
        box: list[T | Exception] = []

        def again() -> None:
            try:
                box.append(work())
            except RecursionError:
                box.append(QueryError("the question is nested too deeply to be read"))
            except Exception as error:  # noqa: BLE001 - handed to the caller's thread
                box.append(error)

        thread = threading.Thread(target=copy_context().run, args=(again,))
        thread.start()
        thread.join()
        (outcome,) = box
        if isinstance(outcome, Exception):
            raise outcome from None
        return outcome


def tokens_of(text: str) -> list[Token]:
    """The words of a text, after the checks that need no grammar."""
    if not isinstance(text, str):
        raise QueryError(f"a question is SQL text, not {type(text).__name__}")
    if not storable(text):
        raise QueryError("a question must be UTF-8 text without the character NUL")
    if len(text.encode()) > LONGEST:
        raise QueryError(f"a question may have at most {LONGEST} bytes")
    found = _guarded(lambda: list(_dialect().tokenize(text)))
    while found and found[-1].token_type is TokenType.SEMICOLON:
        found.pop()
    if not found:
        raise QueryError("the question is empty; say for example SELECT COUNT(*) FROM t")
    if len(found) > MOST_WORDS:
        raise QueryError(f"a question may have at most {MOST_WORDS} words")
    _check_nesting(found)
    return found


def _check_nesting(tokens: Iterable[Token]) -> None:
    depth = 0
    before = None
    for token in tokens:
        if before is TokenType.L_PAREN and token.token_type in _commands():
            raise QueryError(f"a question holds no {token.text[:40]!r}; quote it if it is a name")
        before = token.token_type
        if token.token_type is TokenType.SEMICOLON:
            raise QueryError("a question is one statement; leave out what follows the semicolon")
        depth += (token.token_type in _OPEN) - (token.token_type in _CLOSE)
        if depth > NESTED:
            raise QueryError(f"a question may be nested at most {NESTED} deep")


def selects(text: str) -> bool:
    """Whether a text is a statement, and no expression such as a condition."""
    kinds = (token.token_type for token in tokens_of(text))
    first = next((kind for kind in kinds if kind is not TokenType.L_PAREN), None)
    return first in (TokenType.SELECT, TokenType.WITH)


def statement(tokens: Sequence[Token], text: str) -> Node:
    """The tree of one SELECT."""
    if tokens[0].token_type not in (TokenType.SELECT, TokenType.WITH, TokenType.L_PAREN):
        raise QueryError(f"a question is a SELECT, not {tokens[0].text[:40]!r}")
    return _tree(tokens, text)


def fragment(text: str, *, what: str) -> Node:
    """The tree of one expression, possibly with an alias."""
    tokens = tokens_of(text)
    if tokens[0].token_type in _commands() or tokens[0].token_type is TokenType.WITH:
        raise QueryError(f"{what} is an expression, not {tokens[0].text[:40]!r}")
    return _tree(tokens, text)


def _check_words(tokens: Sequence[Token]) -> None:
    """Refuse words of other dialects, with those to write instead."""
    for i, token in enumerate(tokens):
        if token.text == "`" and token.token_type is not TokenType.STRING:
            raise QueryError('a backtick cannot be read; a name goes in double quotes: "name"')
        if token.token_type in (TokenType.L_BRACKET, TokenType.L_BRACE):
            raise QueryError(
                f"a question holds no {token.text}; a name goes in double quotes, such as "
                '"name", and a list of constants in IN (...)'
            )
        if token.token_type is TokenType.SELECT and _is_top(tokens[i + 1 : i + 4]):
            rows = next(t.text for t in tokens[i + 2 :] if t.token_type is TokenType.NUMBER)[:20]
            raise QueryError(f"TOP {rows} is not known; say LIMIT {rows} at the end")


def _is_top(tokens: Sequence[Token]) -> bool:
    """Whether TOP 5 or TOP (5) stands here, and no column of that name."""
    kinds = [token.token_type for token in tokens]
    if not kinds or kinds[0] is not TokenType.VAR or tokens[0].text.upper() != "TOP":
        return False
    return TokenType.NUMBER in kinds[1:2] or kinds[1:] == [TokenType.L_PAREN, TokenType.NUMBER]


def _tree(tokens: Sequence[Token], text: str) -> Node:
    _check_words(tokens)
    trees = deeply(lambda: _guarded(lambda: _dialect().parser().parse(list(tokens), text)))
    if len(trees) != 1 or not isinstance(trees[0], exp.Expression):
        raise QueryError("a question is one statement")
    _check_size(trees[0])
    return trees[0]


def _check_size(root: Node) -> None:
    """Refuse trees that would be slow to read, or too deep for the stack."""
    waiting: list[tuple[Any, int]] = [(root, 1)]
    seen = 0
    while waiting:
        node, depth = waiting.pop()
        seen += not isinstance(node, exp.Identifier)
        if seen > MOST_NODES:
            raise QueryError(f"a question may have at most {MOST_NODES} parts")
        if depth > DEEPEST:
            raise QueryError(f"a question may be nested at most {NESTED} deep")
        chain = _CHAINS.get(node.key, ())
        waiting += [(c, depth + (c.key not in chain)) for c in node.iter_expressions()]


def _guarded(work: Callable[[], T]) -> T:
    """Whatever the SQL parser raises, in our words."""
    try:
        return work()
    except SqlglotError as error:
        raise QueryError(f"the SQL cannot be read{_place(error)}") from None
    except RecursionError:
        raise
    except Exception:  # noqa: BLE001 - a parser met a text that its authors did not think of
        raise QueryError("the SQL cannot be read") from None


def _place(error: SqlglotError) -> str:
    details: dict[str, Any] = next(iter(getattr(error, "errors", ())), {})
    if not details.get("line"):
        return ""
    near = str(details.get("highlight") or "")[:40]
    return f" at line {details['line']}, column {details['col']}" + (f", at {near!r}" * bool(near))


def only(node: Node, *allowed: str) -> None:
    """Refuse a tree that says more than the words that are read here."""
    for name, value in node.args.items():
        if name not in allowed and not _says_nothing(value):
            if isinstance(node, exp.Table) and name in ("db", "catalog"):
                raise QueryError(f"a table has one name here: say FROM {node.name[:60]}")
            word = name.strip("_").replace("_", " ").upper()
            raise QueryError(f"{spelled(node)} does not take {word} here{_hint(name.strip('_'))}")


def _says_nothing(value: Any) -> bool:
    return value is None or value is False or value in ([], "")


def found(node: Node, name: str) -> Any:
    """An argument; FROM and WITH have had two spellings over the versions of the parser."""
    value = node.args.get(name)
    return node.args.get(f"{name}_") if value is None else value


def part(node: Node, name: str) -> Any:
    """An argument that has to be there."""
    value = found(node, name)
    if value is None:
        raise QueryError(f"{spelled(node)} needs one more argument")
    return value


def name_of(node: Node | None) -> str:
    """The text of an identifier."""
    if not isinstance(node, exp.Identifier):
        raise QueryError("a name was expected here")
    text = str(node.this)
    if not text:
        raise QueryError("a name must not be empty")
    return text


def number(text: str) -> Fraction:
    """A number as it was written."""
    try:
        return rational(text, name="the number")
    except ParameterError as error:
        raise QueryError(f"the number {text[:40]!r} {error.problem}") from None


_FUNCTIONS = [
    "ABS", "CASE", "CAST", "CEIL", "COALESCE", "DATE_DIFF", "DATE_TRUNC", "EXTRACT", "FLOOR",
    "GREATEST", "IF", "LEAST", "LN", "LOOKUP", "MOD", "NULLIF", "POWER", "ROUND", "SIGN",
    "WIDTH_BUCKET",
]  # fmt: skip
_AGGREGATES = [
    "COUNT", "COUNT_IF", "SUM", "AVG", "VAR_POP", "STDDEV_POP", "MEDIAN", "QUANTILE", "PRODUCT",
    "GEOMEAN",
]  # fmt: skip
_HINTS = {
    "all": "list the columns: GROUP BY a, b",
    "anonymous": f"the functions there are: {', '.join(_FUNCTIONS)}, and the aggregates "
    f"{', '.join(_AGGREGATES)}",
    "cube": "GROUP BY ROLLUP (columns) has totals from the last to the first",
    "distinct": "only COUNT(DISTINCT person) counts different things",
    "escape": "a LIKE pattern knows % and _ and no escapes",
    "exists": "join a public lookup table instead",
    "grouping sets": "GROUP BY ROLLUP (columns) has totals from the last to the first",
    "exp": "EXP works on released numbers, outside of aggregates",
    "ilike": "say LIKE 'a%' OR x LIKE 'A%'",
    "intdiv": "say FLOOR(x / 10)",
    "interval": "say DATE_DIFF('day', a, b) or compare with a date such as DATE '2024-12-31'",
    "limit": "LIMIT works on the released answer, outside of subqueries",
    "log": "say LN(x), the natural logarithm",
    "offset": "say LIMIT only",
    "qualify": "say HAVING, which works on released numbers",
    "regexplike": "say LIKE 'a%'",
    "rollup": "it takes all columns: GROUP BY ROLLUP (a, b)",
    "sample": "say WHERE; sampling would need randomness in the database",
    "sqrt": "SQRT works on released numbers, outside of aggregates",
    "star": "name the columns",
    "subquery": "a subquery may stand in FROM only",
    "select": "a subquery may stand in FROM only",
    "query": "a subquery may stand in FROM only",
    "trunc": "say FLOOR(x)",
    "trycast": "say ROUND(x) or FLOOR(x)",
    "union": "ask two questions",
    "var": "name a column or its place",
    "windows": "window functions look at other people's rows; say GROUP BY",
}


def _hint(key: str) -> str:
    return f"; {_HINTS[key]}" if key in _HINTS else ""


def spelled(node: Node) -> str:
    """What a node is called in SQL."""
    if isinstance(node, exp.Anonymous):
        return f"the function {str(node.this)[:40]}"
    if isinstance(node, exp.Func) and not isinstance(node, exp.Connector):
        return f"the function {node.sql_name()}"
    return node.key.upper()


def refused(node: Node, where: str) -> QueryError:
    """The refusal of a node that is not on the list."""
    if isinstance(node, exp.Window):
        return QueryError(_window(node))
    key = "anonymous" if isinstance(node, exp.Func) and node.key not in _HINTS else node.key
    close = meant(str(node.this), [*_FUNCTIONS, *_AGGREGATES]) if node.key == "anonymous" else ""
    return QueryError(f"{spelled(node)}{close} cannot be used in {where}{_hint(key)}")


def _window(node: exp.Window) -> str:
    """Why OVER (...) is refused: a sum of released counts is free, one of rows has no bound."""
    own = node.this.this if isinstance(node.this, exp.Filter) else node.this
    if any(inner is not own for inner in node.find_all(exp.AggFunc)):
        return (
            "OVER (...) of released numbers is not computed here; ask for the counts and divide "
            "by their sum, or ORDER BY them: post-processing is free, with release.map(...)"
        )
    return (
        "window functions look at other people's rows, so OVER (...) is not known; say GROUP BY "
        "for one number per group, and combine the released rows with release.map(...), which is "
        "free"
    )
