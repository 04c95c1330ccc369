"""Every promise is a sentence with a test behind it: the tests that docstrings name exist."""

import importlib
import inspect
import pkgutil
import re
import sys
from pathlib import Path

import pytest

import discreet
from discreet.mechanisms.base import Mechanism

ROOT = Path(__file__).resolve().parents[1]
TESTED = re.compile(r"^\s*Tested by (?P<rest>.*)$", re.MULTILINE)
NAMED = re.compile(r"(?P<file>tests/[\w/]+\.py)(?:::(?P<test>\w+))?")


def modules():
    found = pkgutil.walk_packages(discreet.__path__, "discreet.")
    return [importlib.import_module(info.name) for info in found]


def members(holder, home):
    """Classes and functions defined in this module, and the methods of its classes."""
    for name, value in vars(holder).items():
        plain = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
        if inspect.isclass(plain) and plain.__module__ == home and holder is not plain:
            yield f"{home}.{plain.__qualname__}", plain
            if inspect.ismodule(holder):
                yield from members(plain, home)
        elif inspect.isfunction(plain) and plain.__module__ == home:
            yield f"{home}.{plain.__qualname__}" if name else name, plain


def documented():
    """Every name with a docstring of its own, modules included."""
    found = {}
    for module in modules():
        found[module.__name__] = module.__doc__ or ""
        for name, value in members(module, module.__name__):
            found[name] = value.__doc__ or ""
    return found


PROMISED = {name: text for name, text in documented().items() if TESTED.search(text)}


def concrete(root):
    """The public mechanisms: all subclasses that can be made and are not a private base.

    (A dataclass with slots leaves the class that it was made from behind; only what its module
    shows counts.)
    """
    for child in root.__subclasses__():
        shown = getattr(sys.modules[child.__module__], child.__name__, None) is child
        if shown and not inspect.isabstract(child) and not child.__name__.startswith("_"):
            yield child
        yield from concrete(child)


modules()
MECHANISMS = sorted(
    {m for m in concrete(Mechanism) if m.__module__.startswith("discreet.")},
    key=lambda mechanism: mechanism.__name__,
)


def test_the_named_test_exists():
    for name, promise in PROMISED.items():
        for line in TESTED.finditer(promise):
            named = list(NAMED.finditer(line["rest"]))
            assert named, f"{name} says 'Tested by' without naming a file under tests/"
            for found in named:
                path = ROOT / found["file"]
                assert path.is_file(), f"{name} names {found['file']}, which does not exist"
                if found["test"] is not None:
                    text = path.read_text(encoding="utf-8")
                    assert f"def {found['test']}(" in text, f"{found['test']} is not in {path.name}"


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda mechanism: mechanism.__name__)
def test_every_mechanism_says_its_guarantee_its_proof_and_its_test(mechanism):
    text = inspect.getdoc(mechanism) or ""
    said = {
        "Guarantee.": "Guarantee." in text,
        "Neighbours.": "Neighbours." in text or "neighbour" in guarantee(text),
        "Proof.": "Proof." in text,
        "Tested by": TESTED.search(text) is not None,
    }
    missing = [part for part, there in said.items() if not there]
    assert not missing, f"{mechanism.__name__} does not say {missing}"


def guarantee(text):
    """The guarantee's own sentences: up to the next lead or blank line."""
    found = re.search(
        r"Guarantee\.(.*?)(?=^\s*[A-Z]\w+( \w+)?\. |^\s*$|\Z)", text, re.DOTALL | re.MULTILINE
    )
    return found[1].lower() if found else ""


def test_a_proof_that_points_to_its_module_finds_a_theorem_there():
    """'At the top of this module' must be true."""
    for mechanism in MECHANISMS:
        if "top of this module" in (inspect.getdoc(mechanism) or ""):
            top = inspect.getmodule(mechanism).__doc__ or ""
            assert "Proof" in top or "Theorem" in top, (
                f"{mechanism.__name__} points to what is not there"
            )


def test_there_is_something_to_check():
    """The walk finds the mechanisms and their promises, so that the tests above are not empty."""
    assert {"Geometric", "Gaussian", "TopK", "SelectKeys"} <= {m.__name__ for m in MECHANISMS}
    assert len(PROMISED) >= len(MECHANISMS)


def test_the_public_names_are_those_that_can_be_imported():
    assert sorted(discreet.__all__) == sorted(set(discreet.__all__))
    assert all(getattr(discreet, name) is not None for name in discreet.__all__)
    assert set(discreet.__all__) <= set(dir(discreet))
