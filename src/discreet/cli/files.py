"""Questions to one bare file: count, sql, histogram.

The file's budget is kept in `<file>.ledger` beside it, so that asking again tomorrow adds up. It is
made for the first question that can be asked: a slip fixes no budget.
`--no-ledger` has to be said, and warns.
Tested by tests/cli/test_files.py
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.answers import Answer, answered, show_answer
from discreet.cli.errors import warn
from discreet.cli.options import Cost, Known, Out, pair_of, spread
from discreet.cli.printing import say
from discreet.errors import ParameterError, QueryError

if TYPE_CHECKING:
    from discreet.curator.curator import Curator
    from discreet.curator.oneoff import OfFile
    from discreet.curator.questions import Questions
    from discreet.query.build import Query
    from discreet.query.schema import Declared
    from discreet.table import Table

__all__ = ["count", "forgotten", "histogram", "opened", "sql", "table_of"]

File = Annotated[str, typer.Argument(metavar="FILE", help="CSV, Parquet or DuckDB.")]
Where = Annotated[
    str | None, typer.Option("--where", metavar="SQL", help="Only rows for which this is true.")
]
Columns = Mapping[str, "Declared"]


@spread
def count(
    file: File,
    known: Known,
    cost: Cost,
    out: Out,
    by: Annotated[
        list[str] | None,
        typer.Option("--by", metavar="COLUMN", help="Count for each value; may be repeated."),
    ] = None,
    where: Where = None,
) -> None:
    """Count the rows of a file, in all or for each value of some columns.

    Example: [bold]discreet count payroll.csv --by department --keys Fire,Police,Library
    --epsilon 1[/bold]

    Example: [bold]discreet count payroll.csv --by department --by remote
    --keys department=Fire,Police --flag remote --epsilon 0.5[/bold]

    Example: [bold]discreet count years.csv --where "salary > 100000" --within 200
    --bounds salary=0:400000 --person person --max-rows 4[/bold]
    """
    groups = by or []
    columns = known.declared(groups)
    for column in groups:
        if column not in columns:
            raise QueryError(
                f"--by {column} needs the values that it may have, which are not read from the "
                f"data; say --keys {column}=A,B,C, or --range, --flag or --text"
            )
    with _naming_columns(file, known, columns):
        query = _begun(known, columns, where)
    if groups:
        query = query.group_by(*map(_quoted, groups))
    _ask(file, known, columns, query.count(), cost, out)


@spread
def sql(
    file: File,
    question: Annotated[
        str,
        typer.Argument(
            metavar="SQL", help="The table is called like the file; t if that is no word."
        ),
    ],
    known: Known,
    cost: Cost,
    out: Out,
) -> None:
    """Ask a file a question in SQL.

    Example: [bold]discreet sql payroll.csv
    "SELECT department, AVG(salary) FROM payroll GROUP BY department"
    --bounds salary=0:400000 --keys department=Fire,Police,Library --epsilon 1[/bold]

    Example: [bold]discreet sql years.csv
    "SELECT year, COUNT(DISTINCT person) AS people FROM years GROUP BY year"
    --range year=2021:2024 --person person --max-rows 4 --epsilon 1[/bold]
    """
    _ask(file, known, known.declared(), question, cost, out)


@spread
def histogram(
    file: File,
    column: Annotated[str, typer.Argument(metavar="COLUMN", help="A column of numbers.")],
    known: Known,
    cost: Cost,
    out: Out,
    bins: Annotated[int, typer.Option("--bins", metavar="N", help="How many bins.")] = 20,
    where: Where = None,
) -> None:
    """Count the rows of a file in bins of a number, from `--range LOW:HIGH`.

    Values beyond the range count in the first and in the last bin.

    Example: [bold]discreet histogram payroll.csv salary --bins 50 --range 40000:400000
    --epsilon 0.5 --plot salaries.png[/bold]
    """
    from discreet.query.schema import Bounds  # noqa: PLC0415

    own = [text for text in known.ranges or () if "=" not in text]
    if len(own) != 1:
        raise ParameterError(
            "--range", None, f"must say once from where to where {column!r} is counted, from rules "
            "and not from the data: --range 40000:400000"
        )  # fmt: skip
    known = replace(known, ranges=[text for text in known.ranges or () if text not in own])
    columns = known.declared()
    if column in columns:
        raise ParameterError("--range", own[0], f"and another option both say what {column!r} is")
    bounds = Bounds(*pair_of("--range", own[0]))
    columns[column] = Bounds(bounds.low, bounds.high, bounds.grid)
    with _naming_columns(file, known, columns):
        query = _begun(known, columns, where).histogram(_quoted(column), bins=bins)
    _ask(file, known, columns, query, cost, out)


def _begun(known: Known, columns: Columns, where: str | None) -> Query:
    """The beginning of a question about declared columns; who answers binds it to the file."""
    from discreet.query.build import Query  # noqa: PLC0415
    from discreet.query.schema import Schema  # noqa: PLC0415

    query = Query(Schema("t", known.unit(), columns, storage={}))
    return query if where is None else query.where(where)


@contextmanager
def _naming_columns(file: str, known: Known, columns: Columns) -> Iterator[None]:
    """A name that was not declared: say what the file has, and the option that declares it.

    Who asks a bare file has the file. What its columns are called is read from it, and no row.
    """
    try:
        yield
    except QueryError as error:
        said = {one.lower() for one in (*columns, known.person or "")}
        if error.column is None or error.column.lower() in said:
            raise  # a subquery leaves the column out
        raise _undeclared(file, known, error.column) from None


def _undeclared(file: str, known: Known, name: str) -> QueryError:
    from discreet.engines.sources import open_source  # noqa: PLC0415
    from discreet.query.words import listed, meant  # noqa: PLC0415

    _there(file)
    with closing(open_source(file, table=known.table, **known.options)) as engine:
        storage = dict(engine.storage)
    here = next((one for one in storage if one.lower() == name.lower()), None)
    if here is None:
        there = listed(storage, 30)
        return QueryError(
            f"{file} has no column {name[:60]!r}{meant(name, storage)}; it has: {there}"
        )
    said = f'"{here}"' if "=" in here else here
    ways = {
        "integer": f"--bounds {said}=LOW:HIGH", "real": f"--bounds {said}=LOW:HIGH",
        "boolean": f"--flag {here}", "date": f"--dates {said}=FIRST:LAST",
        "timestamp": f"--dates {said}=FIRST:LAST",
    }  # fmt: skip
    way = ways.get(
        storage[here],  # a CSV file is all text
        f"--bounds {said}=LOW:HIGH if it is a number, --keys {said}=A,B,C if it is one of a list; "
        "or --dates, --flag or --text",
    )
    return QueryError(
        f"{file} has a column {here!r}, and nothing was said of it. What it may hold is not read "
        f"from the data; say {way}"
    )


def _quoted(column: str) -> str:
    """A column's name in SQL, whatever letters it has."""
    return '"' + column.replace('"', '""') + '"'


def table_of(file: str, known: Known, columns: Columns) -> Table:
    """The file as a table, without any ledger."""
    from discreet.table import Table  # noqa: PLC0415

    _there(file)
    return Table(file, unit=known.unit(), columns=columns, table=known.table, **known.options)


def forgotten(file: str, known: Known, columns: Columns) -> Table:
    """The same, with a warning: what is asked of it is written down nowhere."""
    warn("--no-ledger: nobody adds up what is asked. Whoever asks like this again learns more")
    return table_of(file, known, columns)


def _there(file: str) -> None:
    """A bare file is a file, or a folder of them: not a policy and not an address."""
    if file.lower().endswith(".toml"):
        problem = "is a policy; ask it with `discreet ask`"
        raise ParameterError("file", file, problem)
    if not Path(file).exists():
        raise ParameterError("file", file, "is not there")
    if set(file) & set("*?"):
        problem = "has * or ? in its name, which a database reads as a pattern: rename it"
        raise ParameterError("file", file, problem)


def _ask(
    file: str, known: Known, columns: Columns, question: str | Query, cost: Cost, out: Out
) -> None:
    cost.check()
    out.check()
    _there(file)
    with _naming_columns(file, known, columns):
        answer = _answer(file, known, columns, question, cost, out)
    show_answer(answer, out)


def _answer(
    file: str, known: Known, columns: Columns, question: str | Query, cost: Cost, out: Out
) -> Answer:
    if cost.no_ledger:
        if out.report is not None:
            problem = "tells the ledger's entry; leave out --no-ledger"
            raise ParameterError("--report", str(out.report), problem)
        return _forgotten(file, known, columns, question, cost)
    tried = partial(_priced, question=question, cost=cost)
    with opened(file, known, columns, cost.budget, tried=tried) as curator:
        name = next(iter(curator.policy.datasets))
        return answered(
            curator, None,
            lambda: curator.ask(
                question, dataset=name, epsilon=cost.epsilon, delta=cost.delta, within=cost.within,
                with_what_is_left=cost.less,
            ),
        )  # fmt: skip


def opened(
    file: str, known: Known, columns: Columns, budget: str | None, *,
    tried: Callable[[Questions], object],
) -> Curator:  # fmt: skip
    """A curator of the file, whose ledger lies beside it.

    Args:
        file: the data.
        known: what is known of them.
        columns: what is known of their columns.
        budget: of a new ledger.
        tried: what is looked at before a ledger is made, whose budget stays; it raises what is
            wrong.
    """
    from discreet.curator.oneoff import open_file  # noqa: PLC0415

    _there(file)
    _check_budget(budget)
    if not Path(f"{Path(file).resolve()}.ledger").exists():
        _look(file, known, columns, tried)
    made = open_file(
        file, columns=columns, person=known.person, max_rows=known.max_rows,
        max_groups=known.max_groups, budget=budget, table=known.table, options=known.options,
    )  # fmt: skip
    if made.is_new:
        _tell_new(file, made)
    for whom in made.before:
        warn(
            f"what was paid so far protects {whom}; from now on {Path(file).name} is asked about "
            "others. It adds up only if everybody is one of each"
        )
    return made


def _check_budget(budget: str | None) -> None:
    """Refuse a total that is none, by the name of its option."""
    from discreet.curator.ledger.amounts import limit_of  # noqa: PLC0415

    if budget is None:
        return
    try:
        limit_of(epsilon=budget)
    except ParameterError as error:
        raise ParameterError("--budget", budget, error.problem) from None


def _look(file: str, known: Known, columns: Columns, tried: Callable[[Questions], object]) -> None:
    """Open the file once, without a ledger: what is wrong is found before one is made."""
    from discreet.curator.bind import bound  # noqa: PLC0415
    from discreet.curator.oneoff import name_of  # noqa: PLC0415
    from discreet.curator.questions import Questions as Made  # noqa: PLC0415

    schema, engine = bound(
        file, unit=known.unit(), columns=columns, name=name_of(Path(file).resolve(), known.table),
        table=known.table, options=known.options,
    )  # fmt: skip
    with closing(engine):
        tried(Made(schema, engine))


def _priced(questions: Questions, *, question: str | Query, cost: Cost) -> object:
    """The question with its noise, or the price that it needs: neither where it cannot be asked."""
    from discreet.curator.questions import target_of  # noqa: PLC0415

    if cost.epsilon is None:
        return questions.epsilon_for(question, within=cost.within or "", delta=cost.delta)
    plan = questions.plan(question)
    return questions.priced(plan, target_of(plan, cost.epsilon, cost.delta, None))


def _tell_new(file: str, made: OfFile) -> None:
    """A new ledger is a new budget: say so, and where the old one of the same people may be."""
    from discreet.curator.oneoff import orphans  # noqa: PLC0415
    from discreet.curator.policy.holders import held_elsewhere  # noqa: PLC0415

    (account,) = made.accounts().values()
    ledger = Path(made.ledger.address).name
    words = f"made {ledger}: {account.total.said('pure')} in all for the people in this file"
    say(words, dim=True, err=True)
    for name in held_elsewhere(made.policy):
        warn(
            f"{name} lies here, too, and holds a budget for {Path(file).name}: what is asked under "
            "both adds up, and neither counts it. Ask under that policy instead"
        )
    for name in orphans(file):
        warn(
            f"{name}.ledger lies here, and {name} is gone. If {Path(file).name} is that file under "
            "another name, or holds the same people, what is asked of both adds up: give it its "
            "old name back, and ask there"
        )


def _forgotten(
    file: str, known: Known, columns: Columns, question: str | Query, cost: Cost
) -> Answer:
    """Ask once, with a budget that ends with this process."""
    table = forgotten(file, known, columns)
    price = cost.epsilon
    if price is None:
        price = str(table.epsilon_for(question, within=cost.within, delta=cost.delta))
    session = table.session(epsilon=price, delta=cost.delta or 0)
    release = session.ask(question, epsilon=price, delta=cost.delta)
    table.close()
    return Answer(release, charged=str(session.spent))
