"""Records: complete, strict, described by a schema, and fit for a registry."""

import json
import re
from dataclasses import fields, replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from tests.curator.releases import GUARANTEES, HOSTILE, LOSSES, any_release, counts, make

from discreet.curator.record import Record
from discreet.curator.schemas import NAMES, schema_text
from discreet.errors import DiscreetError, ParameterError

STAFF = counts([12, 7, -3], keys=["Sales", "Legal", None])


def record(release=STAFF, **more):
    told = {
        "question": "select department, count(*) from staff group by 1",
        "plan": release.sql,
        "dataset": "staff",
        "family": "employees",
        "block": None,
        "data_version": "2026-11",
        "policy_version": 3,
        "policy_fingerprint": "9f2c41aa70be",
        "entry": 17,
        "head": "3af1" * 16,
        "analyst": "dave",
        "software": "discreet 0.1.0",
        "unit": "one employee, with all her rows",
        "cost": "epsilon 0.5",
        **more,
    }
    return Record.identified(release=release, **told)


CHECKED = {name: Draft202012Validator(json.loads(schema_text(name))) for name in NAMES}


def valid(value, form="release"):
    """Whether a value has the form of a schema."""
    return CHECKED[form].is_valid(value)


@given(any_release())
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_everything_reads_back_the_same_and_has_the_form_of_the_schema(release):
    first = record(release)
    text = first.to_json()
    assert text.isascii()
    assert Record.from_json(text) == first
    assert Record.from_dict(first.to_dict()) == first
    assert Record.from_json(text).to_json() == text
    assert valid(json.loads(text))


@pytest.mark.parametrize("guarantee", GUARANTEES, ids=lambda one: type(one).__name__)
def test_every_guarantee_and_loss_has_the_form_of_the_schema(guarantee):
    first = record(make(("count",), (), ((1,),), guarantee=guarantee, losses=LOSSES))
    stored = json.loads(first.to_json())
    assert valid(stored)
    stored["release"]["guarantee"]["kind"] = "perfect"
    assert not valid(stored)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("extra",), 1),
        (("release", "extra"), 1),
        (("schema",), "discreet-record/2"),
        (("id",), ""),
        (("head",), "3af"),
        (("entry",), -1),
        (("entry",), 1.5),
        (("policy_version",), "3"),
        (("policy_version",), True),
        (("block",), 3),
        (("analyst",), None),
        (("release",), None),
        (("release", "confidence"), 0.95),
        (("release", "rows"), [[{"date": 5}]]),
    ],
)
def test_what_is_not_a_record_is_refused_and_does_not_have_the_form(path, value):
    stored = json.loads(record().to_json())
    place = stored
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = value
    assert not valid(stored)
    if path != ("release", "confidence"):  # a float is read as the decimal that was typed
        with pytest.raises(DiscreetError):
            Record.from_dict(stored)


@pytest.mark.parametrize("name", [item.name for item in fields(Record)] + ["schema"])
def test_a_missing_field_is_refused(name):
    stored = record().to_dict()
    del stored[name]
    assert not valid(json.loads(json.dumps(stored)))
    with pytest.raises(ParameterError, match=r"schema|missing or not known"):
        Record.from_dict(stored)


@pytest.mark.parametrize("source", ["{", "[]", b"\xff", "{} {}", '{"schema": NaN}'])
def test_what_is_not_json_is_refused(source, tmp_path):
    file = tmp_path / "record.json"
    file.write_bytes(source if isinstance(source, bytes) else source.encode())
    with pytest.raises(ParameterError, match="not the JSON of a record"):
        Record.from_json(file)
    with pytest.raises(ParameterError):
        Record.from_dict([])


def test_files(tmp_path):
    first = record(counts(list(range(len(HOSTILE))), keys=list(HOSTILE)), block="2026")
    first.to_json(tmp_path / "record.json")
    assert Record.from_json(tmp_path / "record.json") == first
    assert Record.from_json(str(tmp_path / "record.json")) == first


def test_the_id_is_that_of_the_content():
    first = record()
    assert re.fullmatch("[0-9a-f]{12}", first.id)
    assert record().id == first.id
    assert hash(record()) == hash(first)
    assert len({record(entry=i).id for i in range(50)}) == 50
    assert record(counts([12, 7, -4], keys=["Sales", "Legal", None])).id != first.id
    assert replace(first, id="given-from_outside").id == "given-from_outside"


@pytest.mark.parametrize("wrong", ["", "a b", "../x", "x" * 65, 3])
def test_ids_are_safe_names(wrong):
    with pytest.raises(ParameterError, match="id"):
        replace(record(), id=wrong)


@given(st.text(max_size=20), st.text(max_size=20))
def test_a_registry_gets_everything_but_the_analyst(publisher, title):
    told = record(analyst="dave of accounting").to_registry(publisher=publisher, title=title)
    assert "dave" not in json.dumps({**told, "publisher": "", "title": ""})
    assert told["publisher"] == (publisher or None)
    assert told["title"] == (title or "count by department, from staff")
    assert told["epsilon"] == "0.5"
    assert (told["definition"], told["delta"], told["rho"]) == ("pure", "0", None)
    assert told["neighbours_in_words"] == "one person is added or removed"
    assert (told["ledger_entry"], told["ledger_head"]) == (17, "3af1" * 16)
    assert told["mechanisms"] == dict(STAFF.mechanisms)
    assert told["date"] == "2026-11-16"
    assert told["schema"] == "discreet-registry/1"
    assert valid(told, "registry")


def test_a_registry_gets_no_number_of_an_entry_where_only_its_hash_is_told():
    told = replace(record(), entry=0).to_registry()
    assert (told["ledger_entry"], told["ledger_head"]) == (None, "3af1" * 16)
    assert valid(told, "registry")


@pytest.mark.parametrize("guarantee", GUARANTEES, ids=lambda one: type(one).__name__)
def test_a_registry_gets_exact_parameters_and_every_field_is_explained(guarantee):
    told = record(make(("count",), (), ((1,),), guarantee=guarantee)).to_registry()
    assert valid(json.loads(json.dumps(told, allow_nan=False)), "registry")
    words = Record.to_registry.__doc__
    assert all(re.search(rf"\b{name}\b", words) for name in told)
    assert told["guarantee"] == str(guarantee)
    assert "http" not in json.dumps(told)
    exact = {"1/3", "1", "0", "1/8", None}
    assert {told["epsilon"], told["rho"]} <= exact


@given(any_release())
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_every_release_has_the_form_of_a_registry(release):
    assert valid(json.loads(json.dumps(record(release).to_registry())), "registry")


@pytest.mark.parametrize("name", list(record().to_registry()))
def test_an_entry_of_a_registry_lacks_nothing(name):
    told = record().to_registry()
    del told[name]
    assert not valid(told, "registry")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("schema", "discreet-registry/2"),
        ("analyst", "dave"),
        ("epsilon", 0.5),
        ("epsilon", "much"),
        ("definition", "perfect"),
        ("ledger_head", "3af"),
        ("date", "yesterday"),
        ("rows", -1),
        ("notes", [1]),
    ],
)
def test_what_no_registry_is_told_does_not_have_the_form(name, value):
    assert not valid({**record().to_registry(), name: value}, "registry")


def test_one_line_says_what_the_dictionary_says():
    made = record()
    told = made.to_line()
    assert json.loads(told) == made.to_dict()
    assert "\n" not in told
    assert made.to_line() == told
    assert Record.from_json(told) == made
    other = replace(made, release=replace(made.release, sql="SELECT 'é'"))
    assert json.loads(other.to_line()) == other.to_dict()
    assert other.to_line().isascii()


TEXTS = st.one_of(st.text(st.characters(exclude_categories=()), max_size=9), st.sampled_from("a"))


@given(
    st.fixed_dictionaries({
        "question": TEXTS, "plan": TEXTS, "dataset": TEXTS, "family": TEXTS,
        "block": st.one_of(st.none(), TEXTS), "data_version": TEXTS,
        "policy_version": st.integers(0), "policy_fingerprint": TEXTS, "entry": st.integers(0),
        "analyst": TEXTS, "software": TEXTS, "unit": TEXTS, "cost": TEXTS,
    })
)  # fmt: skip
def test_the_line_is_everything_in_one_line(told):
    made = record(**told)
    short = json.dumps(made.to_dict(), separators=(",", ":"), allow_nan=False)
    assert made.to_line() == made.to_line() == short
    assert replace(made, plan=made.question).to_line().count(json.dumps(made.question)) >= 2
