"""`discreet gallery`: list, run, save."""

import json

from typer.testing import CliRunner

from discreet.cli import app
from discreet.gallery import EXPERIMENTS


def run(*words, code=0):
    found = CliRunner().invoke(app, ["gallery", *words])
    assert found.exit_code == code, found.output
    return found


def test_the_list():
    lines = run("list").stdout.splitlines()
    assert [line.split()[0] for line in lines] == list(EXPERIMENTS)
    assert [one["name"] for one in json.loads(run("list", "--json").stdout)] == list(EXPERIMENTS)


def test_one_experiment(tmp_path):
    found = run("variance", "--fast", "--out", str(tmp_path))
    assert "the source says" in found.stdout
    assert "2.015" in found.stdout
    assert (tmp_path / "variance.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (tmp_path / "variance.svg").read_text()


def test_large_numbers_are_readable_for_people_and_plain_for_machines(tmp_path):
    assert "230,169" in run("models", "--fast", "--out", str(tmp_path)).stdout
    told = json.loads(run("models", "--fast", "--json", "--out", str(tmp_path)).stdout)
    assert 230_169 in [fact["ours"] for fact in told["facts"]]


def test_one_experiment_for_machines(tmp_path):
    told = json.loads(run("variance", "--fast", "--json", "--out", str(tmp_path)).stdout)
    facts = {fact["name"]: fact for fact in told["facts"]}
    assert facts["variance ratio at epsilon 3"]["theirs"] == "over 10"
    assert all(figure["caption"] and len(figure["files"]) == 2 for figure in told["figures"])


def test_an_unknown_name_and_a_folder_that_cannot_be_written(tmp_path):
    assert "did you mean" in run("varianse", code=2).stderr
    (tmp_path / "file").write_text("")
    found = run("variance", "--fast", "--out", str(tmp_path / "file"), code=2).stderr
    assert "file: File exists" in found
