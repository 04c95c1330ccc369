"""The rules of the house that a linter does not know."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCES = sorted((ROOT / "src").rglob("*.py"))


def test_noise_speaks_of_probability_only():
    for path in (ROOT / "src/discreet/noise").rglob("*.py"):
        assert "epsilon" not in path.read_text().lower(), path.name


def test_no_other_randomness_and_no_seed():
    other = re.compile(
        r"^\s*(import random|from random)|numpy\.random|np\.random|default_rng"
        r"|\bseed\s*[:=]|random_state",
        re.MULTILINE,
    )
    assert [path for path in SOURCES if other.search(path.read_text())] == []


def test_files_stay_short():
    assert [path for path in SOURCES if len(path.read_text().splitlines()) > 500] == []


def test_every_source_file_has_its_test_file():
    """tests/ mirrors src/: x/y.py is tested in x/test_y.py, or its neighbour says so here."""
    elsewhere = {
        "exact/interval.py": "exact/test_functions.py",
        "noise/law.py": "noise/test_geometric.py",
        "noise/clamped.py": "noise/test_geometric.py",
        "noise/gaussian_sampler.py": "noise/test_gaussian.py",
        "mechanisms/base.py": "mechanisms/test_contract.py",
        "mechanisms/choosing.py": "mechanisms/test_selection.py",
        "mechanisms/gaussian_calibration.py": "mechanisms/test_gaussian.py",
        "audit/report.py": "audit/test_catalogue.py",
        "cli/show.py": "cli/test_cli.py",
        "gallery/demo.py": "cli/test_cli.py",
        "engines/base.py": "engines/contract.py",
        "curator/answering.py": "curator/test_session.py",
        "curator/bind.py": "test_table.py",
        "curator/claims.py": "curator/test_curator.py",
        "curator/asking.py": "curator/test_curator.py",
        "curator/ledger/values.py": "curator/ledger/test_ledger.py",
        "curator/ledger/steps.py": "curator/ledger/test_faults.py",
        "query/request.py": "engines/contract.py",
        "errors.py": "test_public.py",
        "version.py": "test_public.py",
        "__main__.py": "cli/test_process.py",
        "gallery/policies.py": "docs/test_examples.py",
        "server/api/models.py": "server/api/test_questions.py",
        "server/api/statuses.py": "server/test_app.py",
    }
    base = ROOT / "src/discreet"
    for path in base.rglob("*.py"):
        name = path.relative_to(base).as_posix()
        if path.name == "__init__.py":
            continue
        mirrored = elsewhere.get(name, str(Path(name).parent / f"test_{path.name}"))
        assert (ROOT / "tests" / mirrored).exists(), f"{name} has no {mirrored}"


def test_results_are_kept_where_an_asker_can_have_them_apart():
    """What depends on a question is kept by `remembered` alone; other memories are of constants, or
    of who has which key.
    """
    wrong, kept = [], re.compile(r"lru_cache\(.*\n\s*(?:@.*\n\s*)*def (\w+)\(\s*(.)")
    for layer in ("exact", "noise", "privacy", "mechanisms", "query", "publish", "curator"):
        for path in (ROOT / "src/discreet" / layer).rglob("*.py"):
            found = kept.findall(path.read_text())
            wrong += [f"{path.name}: {name}" for name, first in found if first != ")"]
    assert sorted(wrong) == ["statements.py: time_of", "statements.py: whose"]
