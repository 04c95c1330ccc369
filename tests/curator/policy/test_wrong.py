"""Wrong policy files, each with everything that is said about it.

The files are in wrong_people.txt and wrong_data.txt: after "-" lines of the small example that are
replaced by the lines after "+" (or, after "=", a whole file), and after "!" the problems.
"""

from pathlib import Path

import pytest
from tests.curator.policy.example import FOLDER, SMALL, changed

from discreet.curator.policy.reading import PolicyError, parse_policy, read_policy

HERE = Path(__file__).parent
ENDING = "The policy is not in force and nothing was charged"


def files() -> list:
    found = []
    for name in ("wrong_people.txt", "wrong_data.txt"):
        for block in (HERE / name).read_text(encoding="utf-8").rstrip("\n").split("\n\n"):
            title, *lines = block.split("\n")
            assert title.startswith("# ")
            found.append(pytest.param(lines, id=title[2:].replace(" ", "-")))
    return found


def text_of(lines: list[str]) -> str:
    if lines[0].startswith("="):
        return "".join(f"{line[2:]}\n" for line in lines if line.startswith("="))
    changes: list[tuple[str, str]] = []
    for line in lines:
        old, new = changes.pop() if changes else ("", "")
        if line.startswith("-") and new:
            changes.append((old, new))
            old, new = "", ""
        if line.startswith("-"):
            old += f"{line[2:]}\n"
        elif line.startswith("+"):
            new += f"{line[2:]}\n"
        changes.append((old, new))
    end = [new for old, new in changes if not old]
    return changed(*(one for one in changes if one[0]), text=SMALL) + "".join(end)


def test_there_are_more_than_a_hundred():
    assert len(files()) > 100


@pytest.mark.parametrize("lines", files())
def test_a_wrong_file_is_refused_with_its_message(lines):
    with pytest.raises(PolicyError) as caught:
        parse_policy(text_of(lines), folder=FOLDER)
    error = caught.value
    expected = tuple(f"policy.toml:{line[2:]}" for line in lines if line.startswith("!"))
    assert error.problems == expected
    assert error.file == "policy.toml"
    assert error.line == int(expected[0].split(":")[1])
    told = str(error).split("\n")
    assert told[:-1] == list(expected)
    assert told[-1].endswith(ENDING)
    assert "secret" not in str(error)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            changed(("epsilon = 1\n", f"epsilon = 0x{'f' * 2000}\n"), text=SMALL),
            "policy.toml:4: [family.f] epsilon: must lie within 10^±400, got 8000 bits",
        ),
        (
            f"[family.f]\nepsilon = {'1' * 5000}\n",
            "policy.toml:2: holds a number that is too long, or tables that are nested too deeply",
        ),
        (
            f"a = {'[' * 20000}{']' * 20000}\n",
            "policy.toml: holds a number that is too long, or tables that are nested too deeply",
        ),
        (
            "[family.f]\nepsilon = 1e99999999999999999999999\n",
            "policy.toml: holds a number that is too long, or tables that are nested too deeply",
        ),
        (
            f"[{'.'.join('a' * 3000)}]\n",
            "policy.toml: holds a number that is too long, or tables that are nested too deeply",
        ),
    ],
    ids=["8000-bits", "5000-digits", "20000-brackets", "exponent", "3000-tables"],
)
def test_files_that_are_too_much(text, problem):
    with pytest.raises(PolicyError) as caught:
        parse_policy(text, folder=FOLDER)
    assert caught.value.problems == (problem,)


# files that are none


def refused(path: Path) -> PolicyError:
    with pytest.raises(PolicyError) as caught:
        read_policy(path)
    return caught.value


def test_a_missing_file(tmp_path):
    error = refused(tmp_path / "policy.toml")
    problem = "is not there; `discreet init data.csv` writes a draft"
    assert error.problems == (f"{tmp_path / 'policy.toml'}: {problem}",)
    assert error.line is None


def test_a_folder(tmp_path):
    assert refused(tmp_path).problems == (f"{tmp_path}: is a folder; say the file in it",)


def test_a_name_that_cannot_be():
    assert "cannot be read" in refused(Path("a\0b")).problems[0]
    assert "cannot be read" in refused(Path("x" * 5000)).problems[0]


def test_not_utf8(tmp_path):
    path = tmp_path / "policy.toml"
    path.write_bytes(SMALL.replace("x =", "größe =").encode("latin-1"))
    problem = "must be UTF-8 text, and here it is not; save the file as UTF-8"
    assert refused(path).problems == (f"{path}:12: {problem}",)
    path.write_bytes(SMALL.encode("utf-16"))
    assert refused(path).problems == (f"{path}:1: {problem}",)


def test_a_huge_file(tmp_path, monkeypatch):
    path = tmp_path / "policy.toml"
    path.write_text(SMALL)
    monkeypatch.setattr("discreet.curator.policy.reading.LARGEST", 10)
    assert refused(path).problems == (f"{path}: is larger than 64 MiB, which no policy is",)


def test_many_problems_at_once_sorted_by_line():
    text = changed(
        ("epsilon = 1\n", "epsilon = 0\n"),
        ('version = "1"\n', "version = 1\n"),
        ("x = { low = 0, high = 10 }\n", "x = 3\ny = { low = 2, high = 1 }\n[other]\n"),
        text=SMALL,
    )
    with pytest.raises(PolicyError) as caught:
        parse_policy(text, folder=FOLDER)
    assert [int(one.split(":")[1]) for one in caught.value.problems] == [4, 9, 12, 13, 14]
    assert str(caught.value).endswith(f"\n5 problems. {ENDING}")
