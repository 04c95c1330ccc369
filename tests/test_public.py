"""The public face: what is named can be imported, and importing is cheap."""

import importlib
import pkgutil
import subprocess
import sys

import pytest

import discreet as dp


def test_every_public_name_is_there():
    for name in dp.__all__:
        assert getattr(dp, name) is not None
    assert set(dp.__all__) <= set(dir(dp))
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = dp.nonsense


def test_every_module_imports_and_names_what_it_has():
    for _, module, _ in pkgutil.walk_packages(dp.__path__, "discreet."):
        found = importlib.import_module(module)
        assert found.__doc__, module
        for name in getattr(found, "__all__", []):
            assert hasattr(found, name), f"{module} has no {name}"


HEAVY = ("numpy", "scipy", "altair", "typer", "rich", "cryptography")


def loaded_by(program):
    report = f"{program}; import sys; print(*[name for name in {HEAVY} if name in sys.modules])"
    command = [sys.executable, "-c", report]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def test_importing_loads_nothing_heavy():
    assert loaded_by("import discreet") == []


def test_a_release_loads_numpy_only():
    assert loaded_by("import discreet; discreet.Geometric(epsilon=1).release(5)") == ["numpy"]
