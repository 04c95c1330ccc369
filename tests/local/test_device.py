"""The client that ships: the standard library only, and the same bytes as the oracles'."""

import ast
import base64
import hashlib
import json
import subprocess
import sys
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dp
from discreet.exact import exp
from discreet.local import device, diary
from discreet.local.catalogue import oracles
from discreet.local.collect import payload_of
from discreet.noise import coins as reference
from discreet.noise.source import Source

START = datetime(2026, 11, 16, tzinfo=UTC)
LARGE = [
    dp.local.KaryResponse(70_000, 1),
    dp.local.SymmetricUnary(70, 1),
    dp.local.OptimizedUnary(70, 2),
    dp.local.LocalHashing(5000, 3),
    dp.local.SubsetSelection(["tea", "coffee", "mate", "été", "\ud83d"], "1/3"),
    dp.local.HadamardResponse(1000, 5),
    dp.local.ProjectiveResponse(1024, 1),
    dp.local.CountMeanSketch(300, 2, rows=20, columns=33),
    dp.local.HadamardSketch(300, 2, rows=20, columns=64),
]


def survey_of(oracle):
    return dp.local.Survey(oracle, name="drinks", start=START, seconds=3600, epochs=3)


class Recorded(Source):
    """Coins that only depend on what was asked before; and all that was asked."""

    def __init__(self, key=0):
        self.asked, self.key = [], key

    def _next(self, n):
        digest = hashlib.sha256(repr((self.key, len(self.asked))).encode()).digest()
        return int.from_bytes(digest, "big") % n

    def below(self, n):
        self.asked.append(n)
        return self._next(n)

    def flip(self, p):
        self.asked.append(p)
        return self._next(p.denominator) < p.numerator

    def bits(self, count):
        raise NotImplementedError

    array = bits


@pytest.mark.parametrize("oracle", [*oracles(), *LARGE], ids=lambda oracle: type(oracle).__name__)
def test_the_same_coins_give_the_same_bytes(oracle):
    """Read from the public survey alone, every coin has the same exact chance as the oracle's."""
    question = device.Question(survey_of(oracle).to_json())
    assert question.identity == survey_of(oracle).identity
    assert question.epsilon == oracle.epsilon
    for place in {0, 1, oracle.domain.size // 2, oracle.domain.size - 1}:
        for key in range(3):
            mine, theirs = Recorded(key), Recorded(key)
            value = oracle.domain.label(place)
            data = question.report(value, coins=mine)
            assert data == oracle.report(value, source=theirs).to_bytes()
            assert mine.asked == theirs.asked
    assert payload_of(oracle, question.report(oracle.domain.label(0)))


@given(st.integers(1, 1000), st.lists(st.integers(0, (1 << 70) - 1), min_size=40, max_size=40))
def test_its_coins_are_those_of_the_reference(n, bits):
    class Replayed(device.Coins):
        def __init__(self):
            self.left = list(bits)

        def bits(self, size):
            return self.left.pop() & ((1 << size) - 1) if self.left else 0

    p = Fraction(n, 1000)
    assert Replayed().below(n) == reference.below(n, Replayed())
    assert Replayed().flip(p) == reference.bernoulli(p, Replayed())


def test_its_bits_are_uniform_over_the_whole_range():
    """200 draws of 5 bits and of 71: each bit is seen both ways; false alarm below 2^-190."""
    for size in (5, 71):
        drawn = [device.Coins().bits(size) for _ in range(200)]
        assert max(drawn) < 1 << size
        assert all({x >> j & 1 for x in drawn} == {0, 1} for j in range(size))


@given(st.fractions(Fraction(1, 10**6), 40))
def test_the_ratio_is_the_largest_multiple(epsilon):
    found = device.ratio_below(epsilon)
    grid = 1 << 64 + int(1 / epsilon).bit_length()
    true = exp(epsilon, 400)
    assert (found * grid).denominator == 1
    assert found <= true.lower
    assert true.upper < found + Fraction(1, grid)


@pytest.mark.parametrize("module", [device, diary])
def test_it_needs_the_standard_library_only(module, tmp_path):
    """Copied to an empty folder, without site packages and without discreet."""
    text = Path(module.__file__).read_text()
    imported = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            imported |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add(node.module or "")
    assert all(name.split(".")[0] in sys.stdlib_module_names for name in imported)
    (tmp_path / "alone.py").write_text(text)
    oracle = dp.local.SubsetSelection(["tea", "coffee", "7"], 1)
    (tmp_path / "survey.json").write_text(survey_of(oracle).to_json())
    command = [sys.executable, "-I", "-S", "alone.py", "survey.json", "tea"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    if module is device:
        assert payload_of(oracle, base64.b64decode(done.stdout))
    assert done.stderr == ""


def test_importing_it_loads_nothing_large():
    code = (
        "import sys; before = set(sys.modules); import discreet.local.device, discreet.local.diary;"
        "print([m for m in set(sys.modules) - before"
        " if m.split('.')[0] not in sys.stdlib_module_names])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(ast.literal_eval(done.stdout))
    assert loaded == {
        "discreet", "discreet.version", "discreet.local", "discreet.local.device",
        "discreet.local.diary",
    }  # fmt: skip


@pytest.mark.parametrize(("value", "domain"), [("5", 9), ("5", ["5", "6"]), ("-3", [-3, 4])])
def test_values_on_the_command_line(value, domain, tmp_path):
    path = tmp_path / "survey.json"
    path.write_text(survey_of(dp.local.KaryResponse(domain, 300)).to_json())
    data = base64.b64decode(device.main(str(path), value))
    assert data[10] == (5 if domain == 9 else 0)  # at this epsilon a lie has chance e^-300
    with pytest.raises(ValueError, match="domain") as caught:
        device.main(str(path), "a secret 4711")
    assert "4711" not in str(caught.value)


def changed(**values):
    said = json.loads(survey_of(dp.local.SubsetSelection(8, 1)).to_json())
    return json.dumps({**said, **values})


def marked(oracle, parameters, domain=8, epsilon="1"):
    """A hostile survey, with the fingerprint that belongs to it."""
    mark = device.fingerprint_of(oracle, device.digest_of(domain), Fraction(epsilon), parameters)
    return changed(
        oracle=oracle, parameters=parameters, fingerprint=mark.hex(), domain=domain, epsilon=epsilon
    )


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", "null", "{}", "[" * 100_000, "7",
        changed(format="discreet-survey/2"), changed(more=1), changed(fingerprint="0" * 16),
        changed(name=5), changed(epochs=0), changed(epochs=10_001), changed(seconds=0),
        changed(seconds=True), changed(start="yesterday"), changed(oracle=[]),
        changed(parameters=7),
        marked("subset selection", {}),
        marked("subset selection", {"size": 0}),
        marked("subset selection", {"size": 8}),
        marked("subset selection", {"size": 2.0}),
        marked("subset selection", {"size": True}),
        marked("k-ary response", {"size": 2}),
        marked("another oracle", {}),
        marked("k-ary response", {}, domain=1),
        marked("k-ary response", {}, domain=1 << 25),
        marked("k-ary response", {}, domain=["a", "a"]),
        marked("k-ary response", {}, domain=[1, True]),
        marked("k-ary response", {}, domain=["a", None]),
        marked("k-ary response", {}, domain=["a", 1.5]),
        marked("k-ary response", {}, epsilon="0"),
        marked("k-ary response", {}, epsilon="-1"),
        marked("k-ary response", {}, epsilon="1001"),
        marked("k-ary response", {}, epsilon="2/2"),
        marked("local hashing", {"buckets": 1}),
        marked("local hashing", {"buckets": 4098}),
        marked("local hashing", {"buckets": 4094}, domain=1 << 24),
        marked("Hadamard response", {"blocks": 3}),
        marked("Hadamard response", {"blocks": 16}),
        marked("projective geometry response", {"prime": 4}),
        marked("projective geometry response", {"prime": 1}),
        marked("projective geometry response", {"prime": 4099}),
        marked("sketch, HCMS", {"rows": 2, "columns": 6}),
        marked("sketch, CMS", {"rows": 9000, "columns": 1024}),
        marked("sketch, CMS", {"rows": 0, "columns": 1024}),
    ],
)  # fmt: skip
def test_a_survey_that_is_none_or_means_harm_is_refused(text):
    with pytest.raises(ValueError, match="nothing was drawn"):
        device.Question(text)


@pytest.mark.parametrize("epsilon", ["1e0", "inf", "nan", " 1", "1" * 3000, 1, None])
def test_an_epsilon_that_is_no_plain_fraction_is_refused(epsilon):
    with pytest.raises(ValueError, match="nothing was drawn"):
        device.Question(changed(epsilon=epsilon))


@pytest.mark.parametrize("value", [8, -1, True, "0", 0.0, None, [], float("nan"), 10**400])
def test_a_value_outside_the_domain_is_refused(value):
    question = device.Question(changed())
    with pytest.raises(ValueError, match="domain"):
        question.report(value)


def test_the_epoch_is_told_by_the_own_clock():
    question = device.Question(changed())
    start = START.timestamp()
    times = (start - 1, start, start + 3599, start + 3600, start + 3 * 3600 - 1, start + 3 * 3600)
    assert [question.epoch(at) for at in times] == [None, 0, 0, 1, 2, None]
