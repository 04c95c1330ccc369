"""JSON that says everything and reads back the same."""

import contextlib
import json
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.curator.releases import DAY, GUARANTEES, HOSTILE, LOSSES, any_release, counts, make

from discreet.curator.release import Release
from discreet.curator.stored import SCHEMA
from discreet.errors import DiscreetError, ParameterError


def strict(text):
    """Read JSON as a reader does that knows no NaN."""

    def refuse(name):
        raise AssertionError(name)

    return json.loads(text, parse_constant=refuse)


def types(release):
    return [[type(value) for value in row] for row in release.rows]


@given(any_release())
def test_everything_reads_back_the_same(release):
    text = release.to_json()
    assert strict(text) == json.loads(json.dumps(release.to_dict()))
    again = Release.from_json(text)
    assert again == release
    assert types(again) == types(release)
    assert again.to_json() == text
    assert Release.from_dict(release.to_dict()) == release


@pytest.mark.parametrize("guarantee", GUARANTEES, ids=lambda one: type(one).__name__)
def test_every_guarantee_and_loss_is_kept(guarantee):
    release = counts([1, 2]).__class__.from_json(
        make(("count",), (), ((1,),), guarantee=guarantee, losses=LOSSES).to_json()
    )
    assert release.guarantee == guarantee
    assert release.losses == LOSSES


def test_the_form_is_stable():
    """Published: a change here is a new schema."""
    release = make(
        ("day", "count"),
        ("day",),
        ((DAY, 3), (None, float("nan"))),
        {"count": ((0, 9), (float("-inf"), 5))},
        {"count": (-1.5, None)},
        notes=(),
        sql='SELECT "day", COUNT(*) FROM t',
    )
    assert (
        release.to_json()
        == """{
  "schema": "discreet-release/1",
  "sql": "SELECT \\"day\\", COUNT(*) FROM t",
  "asked_at": "2026-11-16T03:04:05.000678+00:00",
  "guarantee": {"kind": "pure", "epsilon": "1/2", "neighbours": "add_or_remove", \
"words": "0.5-differential privacy (neighbours: one person is added or removed)"},
  "losses": [{"format": 1, "kind": "geometric", "neighbours": "add_or_remove", \
"epsilon": "1/2", "sensitivity": 1}],
  "confidence": "19/20",
  "covers": "They cover the noise only",
  "notes": [],
  "steps": [],
  "columns": [
    {"name": "day", "kind": "date", "key": true, "mechanism": null},
    {"name": "count", "kind": "float", "key": false, \
"mechanism": "geometric noise, epsilon 0.5, standard deviation 2.8"}
  ],
  "rows": [
    ["2024-02-29", 3],
    [null, null]
  ],
  "intervals": {"count": [[0, 9], [null, 5]]},
  "raw": {"count": [-1.5, null]}
}
"""
    )


def test_dates_among_other_values_are_marked():
    release = make(("k", "count"), ("k",), ((DAY, 1), ("2024-02-29", 2), ("other", 3)))
    assert release.to_dict()["rows"][0][0] == {"date": "2024-02-29"}
    assert Release.from_json(release.to_json())["k"] == [DAY, "2024-02-29", "other"]


def test_dates_in_intervals():
    days = (date(2024, 1, 1), date(2024, 12, 31))
    release = make(("median",), (), ((DAY,),), {"median": (days,)}, {"median": (DAY,)})
    assert Release.from_json(release.to_json()) == release


def test_files(tmp_path):
    release = counts([3, 4], keys=list(HOSTILE[10:12]))
    path = tmp_path / "release.json"
    text = release.to_json(path)
    assert path.read_text(encoding="utf-8") == text
    assert Release.from_json(path) == Release.from_json(str(path)) == release
    assert Release.from_json(text.encode()) == release


def test_an_empty_and_a_long_release():
    empty = counts([])
    assert Release.from_json(empty.to_json()) == empty
    long = counts(list(range(1000)))
    assert Release.from_json(long.to_json()) == long


def changed(**changes):
    stored = counts([1, 2]).to_dict()
    stored.update(changes)
    return stored


@pytest.mark.parametrize(
    "stored",
    [
        {},
        changed(schema="discreet-release/2"),
        changed(extra=1),
        {k: v for k, v in changed().items() if k != "losses"},
        changed(columns=[{"name": "a"}]),
        changed(columns=5),
        changed(columns=[]),
        changed(rows=[[1]]),
        changed(rows=[["a", 1, 2], ["b", 2, 3]]),
        changed(rows=[["a", [1]], ["b", 2]]),
        changed(rows=[["a", {"date": "x"}], ["b", 2]]),
        changed(rows=[["a", {"day": "2024-01-01"}], ["b", 2]]),
        changed(rows=[["a", {}], ["b", 2]]),
        changed(intervals={"count": [[1, 2, 3], None]}),
        changed(intervals={"mean": [None, None]}),
        changed(intervals={"count": [None]}),
        changed(raw={"count": [1]}),
        changed(confidence="1e999999999"),
        changed(confidence="2"),
        changed(confidence=None),
        changed(asked_at="yesterday"),
        changed(asked_at="2026-11-16T03:04:05"),
        changed(asked_at=5),
        changed(guarantee={}),
        changed(guarantee={"kind": "absolute", "neighbours": "replace"}),
        changed(guarantee={"kind": "pure", "epsilon": "-1", "neighbours": "replace"}),
        changed(guarantee={"kind": "pure", "epsilon": "1", "neighbours": "replace", "x": 1}),
        changed(losses=[{"format": 9}]),
        changed(losses=[5]),
        changed(sql=5),
        changed(notes=[5]),
        changed(notes=None),
    ],
)
def test_what_is_not_known_is_refused_in_words(stored):
    with pytest.raises(DiscreetError):
        Release.from_dict(stored)
    with pytest.raises(DiscreetError):
        Release.from_json(json.dumps(stored))


@pytest.mark.parametrize(
    "text", ["{", "{}", '{"schema": NaN}', b"\xff", b"[]", b"5", '{"a":' * 100_000]
)
def test_what_is_no_release_is_refused(text):
    with pytest.raises(ParameterError):
        Release.from_json(text)


@given(st.data())
def test_one_field_of_nonsense_never_crashes(data):
    """Whatever stands in a field, the answer is a release or a refusal in words."""
    nonsense = st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
        max_leaves=6,
    )
    name = data.draw(st.sampled_from(sorted(changed())))
    with contextlib.suppress(DiscreetError):
        Release.from_dict(changed(**{name: data.draw(nonsense)}))


def test_the_schema_has_a_version():
    assert SCHEMA == "discreet-release/1"
