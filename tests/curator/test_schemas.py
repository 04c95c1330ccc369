"""The schemas are there, are schemas, and are named as the forms are."""

import json

import pytest
from jsonschema import Draft202012Validator

from discreet.curator.record import REGISTRY, SCHEMA
from discreet.curator.schemas import NAMES, schema_text
from discreet.errors import ParameterError


@pytest.mark.parametrize(("name", "title"), [("release", SCHEMA), ("registry", REGISTRY)])
def test_each_schema_is_one_and_names_its_form(name, title):
    told = json.loads(schema_text(name))
    Draft202012Validator.check_schema(told)
    assert told["title"] == title
    assert told["properties"]["schema"] == {"const": title}
    assert set(told["required"]) <= set(told["properties"])


@pytest.mark.parametrize("name", ["", "record", "../release", "release.json"])
def test_other_names_are_refused(name):
    with pytest.raises(ParameterError, match="release, registry"):
        schema_text(name)
    assert name not in NAMES
