"""The forms in which releases leave the house, as JSON Schemas (draft 2020-12), one file each.

    release     "discreet-record/1": a release with its whole provenance, as `discreet export` and
                the records inside `--json` have it
    registry    "discreet-registry/1": what a public registry asks for, `discreet export --registry`

A form that changes gets a new number; readers refuse what they do not know.
Tested by tests/curator/test_schemas.py
"""

from __future__ import annotations

from importlib import resources

from discreet.errors import ParameterError

__all__ = ["NAMES", "schema_text"]

NAMES = ("release", "registry")


def schema_text(name: str) -> str:
    """The JSON Schema of a form, as text.

    >>> '"title": "discreet-registry/1"' in schema_text("registry")
    True
    """
    if name not in NAMES:
        raise ParameterError("schema", name, f"must be one of {', '.join(NAMES)}")
    return (resources.files(__name__) / f"{name}.json").read_text(encoding="utf-8")
