"""One question to several curators, each with its own people and its own ledger.

`ask_all` asks all of them at once, waits for none of them beyond a deadline, and adds up what was
answered. A node is anything that is asked like a curator: `dp.Curator`, `dp.connect(...)`.

Guarantee. None of its own: every node charges its own ledger, by its own policy. What can go wrong
is told: a node that refuses, fails or is late is reported by name and left out of the totals.
Tested by tests/federated/test_asking.py
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NoReturn, Protocol

from discreet.errors import DiscreetError, ParameterError, QueryError, RemoteError
from discreet.exact import Exact, positive, probability
from discreet.federated.combined import Answer, Combined, agrees, answers_it, columns_of, combine
from discreet.noise.source import new_key
from discreet.query.build import Query
from discreet.query.price import Target, priced
from discreet.query.sql import parse

__all__ = ["Asked", "ask_all"]

_COMBINED = "combined with an earlier"


@dataclass(frozen=True, slots=True)
class _Told:
    """What became of one node: a record and its answer, or an error."""

    name: str
    record: Any = None
    answer: Answer | None = None
    error: Exception | None = None

    @property
    def why(self) -> str:
        """The error in words; those of other libraries are not shown."""
        kind = type(self.error).__name__
        return f"{kind}: {self.error}" if isinstance(self.error, DiscreetError) else kind


class Asked(Protocol):
    """What is asked of a node: all curators have it, here and elsewhere."""

    def query(self, dataset: str | None = None) -> Query:
        """A question in the fluent form, which knows what is declared."""

    def ask(self, question: str, /, **price: Any) -> Any:
        """Charge, answer, and return a record with its release."""

    def record(self, key: str, *, alone: bool) -> Any:
        """A stored record; alone, it is not improved by earlier answers."""


def ask_all(  # noqa: PLR0913 - every word that a question may say
    nodes: Mapping[str, Any],
    question: str,
    /,
    *,
    disjoint: bool,
    epsilon: Exact | None = None,
    delta: Exact | None = None,
    rho: Exact | None = None,
    confidence: Exact = "0.95",
    seconds: Exact = 60,
    dataset: str | None = None,
    analyst: str | None = None,
    key: str | None = None,
) -> Combined:
    """Ask every node, add up the counts and sums of those that answer in time.

    Args:
        nodes: curators by name, such as {"north": dp.Curator(...), "south": dp.connect(...)}.
        question: SQL, of counts and sums.
        disjoint: whether each person is in one node, and it is no secret in which. It has to be
            said: with True her guarantee is her node's, with False those of all nodes add up.
        epsilon: what the question may cost at each node; or with
        delta: in approximate privacy; or
        rho: in zero-concentrated privacy.
        confidence: of the intervals of the totals.
        seconds: how long to wait. A node that is late is reported; if it was charged, the same
            question with the same key gets its answer and is charged once.
        dataset: which one, where a node has several.
        analyst: who asks, where nodes do not know it by a key.
        key: names this asking; a new one without it.
    """
    given: object = nodes
    if not isinstance(given, Mapping) or not given:
        raise ParameterError("nodes", None, "must be curators by name, at least one")
    said: object = question
    if not isinstance(said, str):
        raise ParameterError("question", type(said).__name__, "must be SQL: it goes to all nodes")
    level = probability(confidence, name="confidence")
    wait = float(positive(seconds, name="seconds"))
    target = Target(epsilon=epsilon, delta=delta, rho=rho)
    asking = key or f"all-{new_key()[:8].hex()}"
    price = {"epsilon": epsilon, "delta": delta, "rho": rho, "dataset": dataset,
             "analyst": analyst}  # fmt: skip
    price = {name: value for name, value in price.items() if value is not None}
    until = time.monotonic() + wait
    answered: queue.SimpleQueue[_Told] = queue.SimpleQueue()
    for name, node in nodes.items():
        ask = partial(_ask, node, question, target, {**price, "key": asking}, until)
        work = partial(_tell, answered, name, ask)
        threading.Thread(target=work, name=f"ask-{name}", daemon=True).start()
    found = _gathered(answered, set(nodes), until)
    answers = {name: told.answer for name, told in found.items() if told.answer is not None}
    late = f"did not answer within {wait:g} seconds; it may have been charged (key {asking!r})"
    missing = {name: found[name].why if name in found else late
               for name in nodes if name not in answers}  # fmt: skip
    if not answers:
        _refuse(found, missing, asking)
    ordered = {name: answers[name] for name in nodes if name in answers}
    records = {name: found[name].record for name in ordered}
    _check_apart(records)
    return combine(
        ordered, missing, confidence=level, disjoint=bool(disjoint), key=asking, records=records
    )


def _refuse(found: Mapping[str, _Told], missing: Mapping[str, str], key: str) -> NoReturn:
    """Nobody answered: what is wrong with the question, or with the nodes."""
    errors = [told.error for told in found.values()]
    if len(found) == len(missing) and all(isinstance(one, QueryError) for one in errors):
        raise next(one for one in errors if isinstance(one, QueryError))
    told = "; ".join(f"{name}: {why}" for name, why in missing.items())
    raise RemoteError(f"no node answered. {told}", kind="unreachable", key=key)


def _check_apart(records: Mapping[str, Any]) -> None:
    """Refuse two names for one curator: its people would be counted twice, its noise too."""
    seen: dict[str, str] = {}
    for name, record in records.items():
        head = getattr(record, "head", None)
        if isinstance(head, str) and head in seen:
            problem = f"and {seen[head]!r} are one curator under two names; ask it once"
            raise ParameterError("nodes", name, problem)
        if isinstance(head, str):
            seen[head] = name


def _gathered(
    answered: queue.SimpleQueue[_Told], wanted: set[str], until: float
) -> dict[str, _Told]:
    """What was told until the deadline, or until all have."""
    found: dict[str, _Told] = {}
    while wanted - set(found):
        left = until - time.monotonic()
        try:
            told = answered.get(timeout=max(left, 0))
        except queue.Empty:
            break
        found[told.name] = told
    return found


def _tell(answered: queue.SimpleQueue[_Told], name: str, ask: Any) -> None:
    """Put what became of it into the queue, whatever it was."""
    try:
        answered.put(_Told(name, *ask()))
    except Exception as error:  # noqa: BLE001 - a node that fails must not take the others along
        answered.put(_Told(name, error=error))


def _ask(
    node: Asked, question: str, target: Target, price: Mapping[str, Any], until: float
) -> tuple[Any, Answer]:
    """Ask one node, and find the laws of its noises; what cannot be added up is not asked."""
    schema = node.query(price.get("dataset")).schema
    plan = parse(question, schema)
    price_of_it = priced(plan, schema, target)
    columns = columns_of(price_of_it)
    if time.monotonic() >= until:
        raise RemoteError("the time was over before it was asked", kind="unreachable")
    record = node.ask(question, **price)
    if _improved(record):  # the stored answer has noise of one known law
        record = node.record(record.id, alone=True)
    if not answers_it(record.release, price_of_it):
        raise QueryError("what it answered is no answer to this question")
    answer = Answer(record.release, columns)
    if _improved(record) or not agrees(answer):
        raise QueryError("its noise is not what its declaration and the price would make it")
    return record, answer


def _improved(record: Any) -> bool:
    return any(str(note).startswith(_COMBINED) for note in record.release.notes)
