"""Post-processing is free, adds up, and its intervals cover what they say."""

import math
from dataclasses import replace
from datetime import date
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats
from tests.curator.releases import counts, make

import discreet as dp
from discreet.curator.derive import (
    _laplace_mean_beyond,
    _over,
    _pair,
    _scale,
    between,
    difference,
    ratio,
    rolled_up,
)
from discreet.errors import ParameterError, UnsupportedError
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.geometric import Geometric
from discreet.privacy.guarantee import PureDP

SQL = "SELECT dept, sex, COUNT(*) AS n FROM staff GROUP BY dept, sex"
WIDTH = 6
DRAWS = 100_000


def table(values, keys=None, *, sql=SQL, words="geometric, epsilon 0.5", width=WIDTH, **more):
    """Counts by two keys, never shown below 0."""
    keys = keys or [(f"d{i // 2}", "fm"[i % 2]) for i in range(len(values))]
    return make(
        ("dept", "sex", "n"),
        ("dept", "sex"),
        tuple((*key, max(round(v), 0)) for key, v in zip(keys, values, strict=True)),
        {"n": tuple((max(round(v) - width, 0), max(round(v) + width, 0)) for v in values)},
        {"n": tuple(values)},
        sql=sql,
        mechanisms={"n": words},
        **more,
    )


STAFF = table([10, 20, -3, 40])


def told(release, column="n"):
    """The half-width of the first row, from its raw value."""
    raw, (_, high) = release.raw[column][0], release.intervals[column][0]
    return high - raw


# --- sums -------------------------------------------------------------------------------


def test_a_roll_up_adds_raw_values_and_is_recorded_as_free():
    made = rolled_up(STAFF, ["dept"])
    assert made.columns == ("dept", "n")
    assert made.keys == ("dept",)
    assert made.rows == (("d0", 30), ("d1", 37))
    assert made.raw["n"] == (30, 37)
    assert made.guarantee == STAFF.guarantee
    assert made.losses == STAFF.losses
    assert made.steps == ("rolled up by dept",)
    assert made.confidence == STAFF.confidence
    assert "then up to 2 numbers added up" in made.mechanisms["n"]
    assert rolled_up(STAFF)["n"] == [67]
    assert rolled_up(STAFF, ["sex", "dept"]).columns == ("sex", "dept", "n")


def test_a_group_of_one_row_keeps_its_interval_and_no_count_is_negative():
    assert rolled_up(STAFF, ["dept", "sex"]).intervals == STAFF.intervals
    made = rolled_up(table([-9, -8, 1, 1]), ["dept"])
    assert made["n"] == [0, 2]
    assert made.raw["n"] == (-17, 2)
    assert made.intervals["n"][0][0] == 0


def test_a_release_without_rows_or_keys():
    assert rolled_up(table([], keys=[])).rows == ((0,),)
    one = make(
        ("n",), (), ((7,),), {"n": ((1, 13),)}, {"n": (7,)}, sql="SELECT COUNT(*) AS n FROM t"
    )
    assert rolled_up(one).intervals == one.intervals


@given(st.lists(st.integers(WIDTH + 1, 10_000), min_size=2, max_size=12))
def test_intervals_are_as_wide_as_the_proof_says(values):
    made = rolled_up(table(values))
    assert made.raw["n"] == (sum(values),)
    low, high = made.intervals["n"][0]
    scale = _scale("geometric", WIDTH * (1 + 1e-9), 1, (1.0, 0.50005), 0.05)
    width = scale * _laplace_mean_beyond(len(values), 0.05)
    assert high >= max(math.floor(sum(values) + width), 0)
    assert low <= max(math.ceil(sum(values) - width), 0)


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("SELECT dept, sex, AVG(x) AS n FROM staff GROUP BY dept, sex", "SUM and COUNT"),
        ("SELECT dept, sex, MEDIAN(x) AS n FROM staff GROUP BY dept, sex", "ask for it with"),
        ("SELECT dept, sex, STDDEV(x) AS n FROM staff GROUP BY dept, sex", "ask for it with"),
        ("SELECT dept, sex, COUNT(DISTINCT p) AS n FROM staff GROUP BY dept, sex", "several"),
        ("SELECT dept, sex, SUM(x) / COUNT(*) AS n FROM staff GROUP BY dept, sex", "made of"),
    ],
)
def test_what_does_not_add_up_is_refused_with_what_to_ask_instead(sql, words):
    for columns in (None, ["n"]):
        with pytest.raises(UnsupportedError, match=f"'n' does not add up.*{words}"):
            rolled_up(table([1, 2], sql=sql), ["dept"], columns)


def test_words_about_the_noise_tell_quantiles_too():
    with pytest.raises(UnsupportedError, match="does not add up"):
        rolled_up(table([1, 2], sql="?", words="permute-and-flip, epsilon 1"), columns=["n"])


@pytest.mark.parametrize("sql", ["", "not SQL at all (", "DROP TABLE x", "SELECT 1 AS other"])
def test_a_column_that_the_question_does_not_tell_needs_a_word(sql):
    release = table([1, 2, 3, 4], sql=sql)
    with pytest.raises(UnsupportedError, match="say its name"):
        rolled_up(release, ["dept"])
    made = rolled_up(release, ["dept"], ["n"])
    assert made["n"] == [3, 7]
    assert "n" not in made.intervals
    assert "no interval" in made.notes[-1]


@pytest.mark.parametrize(
    ("release", "why"),
    [
        (table([1, 2], sql=f"{SQL} HAVING COUNT(*) > 3"), "chosen"),
        (table([1, 2], sql=f"{SQL} ORDER BY COUNT(*) DESC LIMIT 2"), "chosen"),
        (table([1, 2], words="noisy counts of selected keys, epsilon 1"), "chosen"),
        (table([1, 2], words="staircase, epsilon 3"), "how wide"),
        (STAFF.map(lambda rows: rows[:2], name="cut"), "earlier step"),
        (replace(STAFF, intervals={}), "how wide"),
        (replace(STAFF, raw={}), "how wide"),
    ],
)
def test_where_nothing_is_proved_there_is_no_interval_and_a_note(release, why):
    made = rolled_up(release)
    assert not made.intervals
    assert why in made.notes[-1]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"by": ["nothing"]}, "list of keys of the release: dept, sex"),
        ({"by": "dept"}, "list of keys"),
        ({"by": ["n"]}, "list of keys"),
        ({"columns": ["dept"]}, "columns of numbers: n"),
        ({"columns": []}, "columns of numbers"),
        ({"columns": "n"}, "list of columns"),
    ],
)
def test_missing_names_are_told(arguments, words):
    with pytest.raises(ParameterError, match=words):
        rolled_up(STAFF, **arguments)


def test_keys_twice_and_missing_values_are_refused():
    with pytest.raises(UnsupportedError, match="d0, f has two rows"):
        rolled_up(table([1, 2], keys=[("d0", "f"), ("d0", "f")]))
    hole = replace(STAFF, rows=((("d0"), "f", None), *STAFF.rows[1:]))
    with pytest.raises(ParameterError, match="no number for d0, f; leave that row out"):
        rolled_up(hole)
    assert rolled_up(table([1, 2, 4], keys=[(1, "f"), (True, "f"), (1.0, "f")]), ["dept"])["n"] == [
        1,
        2,
        4,
    ]


# --- the three lemmas -------------------------------------------------------------------


@pytest.mark.parametrize("rate", [0.001, 0.1, 0.5, 1.0, 2.0, 5.0, 20.0])
def test_geometric_noise_is_below_laplace_noise_in_the_convex_order(rate):
    """Lemma 2: E(Z - v)+ <= E(L - v)+ on a fine grid of v; chords between whole numbers."""
    v = np.linspace(0, 12, 4801)
    whole = np.exp(-rate * np.arange(14)) / (2 * math.sinh(rate))
    below = np.interp(v, np.arange(14), whole)
    assert (below <= np.exp(-rate * v) / (2 * rate) * (1 + 1e-12)).all()


@pytest.mark.parametrize("confidence", ["0.8", "0.95", "0.99", "0.9999"])
def test_the_scale_is_never_underestimated(confidence):
    """Lemmas 1 and 4, for one cell, in steps of 1 and of another size."""
    level = Fraction(confidence)
    for epsilon in ("0.01", "0.1", "0.5", "1", "2", "4"):
        width = Geometric(epsilon=epsilon).error(level)
        risk, rate = float(1 - level), float(Fraction(epsilon))
        for step in (1.0, 7.0):
            for bounds in ((step, rate), (math.inf, rate), (step, 1e9)):
                found = _scale("geometric", width * step, 1, bounds, risk)
                assert found >= step / rate
        assert _scale("geometric", width, 1, (1.0, rate), risk) < 2.2 * max(1 / rate, 0.7)
    for rho in ("0.0001", "0.01", "0.1", "1"):
        noise = Gaussian(rho=rho)
        sigma, width = math.sqrt(1 / (2 * float(Fraction(rho)))), noise.error(level)
        assert _scale("discrete Gaussian", width, 1, (1.0, 1 / sigma), float(1 - level)) >= sigma


@pytest.mark.parametrize("cells", [1, 2, 5, 40, 3000])
@pytest.mark.parametrize("risk", [0.3, 0.05, 0.001, 1e-9])
def test_the_mean_beyond_the_quantile_is_a_bound_and_not_far_off(cells, risk):
    """Lemma 3: against the same integral done by adaptive quadrature over the gamma law."""
    found = _laplace_mean_beyond(cells, risk)
    if cells == 1:
        exact = 1 - math.log(risk)
    elif risk < 1e-6:
        exact = -math.sqrt(2 * cells) * special.ndtri(risk / 2)  # below the quantile itself
        assert exact <= found <= 3 * exact
        return
    elif cells == 3000:
        exact = math.sqrt(2 * cells) * stats.norm.pdf(stats.norm.isf(risk / 2)) * 2 / risk
        exact *= 1 - 1e-3  # a little heavier than normal
    else:
        levels = (np.arange(40_000) + 0.5) / 40_000
        sd = np.sqrt(2 * special.gammaincinv(cells, levels))

        def at(v):
            beyond = 2 * (sd * stats.norm.pdf(v / sd) - v * special.ndtr(-v / sd))
            return v + beyond.mean() / risk

        start = math.sqrt(2 * cells)
        exact = min(at(v) for v in start * np.linspace(0.8, 5, 100)) * (1 - 1e-3)
    assert exact <= found <= exact * 1.02


# --- coverage ---------------------------------------------------------------------------


def misses(errors, width, risk=0.05):
    """Assert coverage; a false alarm has a chance below 1e-9. Returns the share of misses."""
    missed = int((np.abs(errors) > width + 1e-9).sum())
    assert missed <= stats.binom.isf(1e-9, len(errors), risk)
    return missed / len(errors)


def noise(mechanism, numbers):
    return mechanism.release(np.zeros((DRAWS, numbers), dtype=np.int64))


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", ["0.1", "1", "3"])
@pytest.mark.parametrize("numbers", [2, 5, 30])
def test_sums_of_counts_are_covered(epsilon, numbers):
    """False alarm below 1e-9 for each case; widths are at most 1.7 times the exact ones."""
    mechanism = Geometric(epsilon=epsilon)
    width = mechanism.error(Fraction("0.95"))
    words = f"geometric, epsilon {epsilon}"
    made = rolled_up(table([1000] * numbers, words=words, width=width))
    errors = noise(mechanism, numbers).sum(axis=1)
    misses(errors, told(made))
    exact = np.quantile(np.abs(errors), 0.95)
    if width > 2:  # else whole steps hide the scale
        assert told(made) <= 1.7 * exact + 2


@pytest.mark.statistical
def test_sums_of_clamped_counts_are_covered():
    """Small counts, whose intervals are clamped at 0, one by one: false alarm below 1e-9."""
    mechanism, truth, tries = Geometric(epsilon=1), np.array([0, 1, 2, 5]), 2000
    drawn = mechanism.release(np.tile(truth, (tries, 1)).astype(np.int64))
    missed = 0
    for values in drawn.tolist():
        made = rolled_up(table(values, words="geometric, epsilon 1", width=3))
        pair = made.intervals.get("n", (None,))[0]
        missed += pair is not None and not pair[0] <= truth.sum() <= pair[1]
    assert missed <= stats.binom.isf(1e-9, tries, 0.05)


@pytest.mark.statistical
@pytest.mark.parametrize("rho", ["0.005", "0.5"])
def test_sums_with_gaussian_noise_are_covered(rho):
    """False alarm below 1e-9."""
    mechanism = Gaussian(rho=rho)
    width = mechanism.error(Fraction("0.95"))
    made = rolled_up(table([1000] * 6, words=f"discrete Gaussian, rho {rho}", width=width))
    assert misses(noise(mechanism, 6).sum(axis=1), told(made)) < 0.05


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", ["0.2", "1"])
def test_sums_of_numbers_that_are_read_off_several_cells_are_covered(epsilon):
    """Count and sum share cells, in coarse steps of 1/2: false alarm below 1e-9 each.

    With bounds 1 to 3 and D = 2, the noise of the count is (Z1 + Z2 + Z3)/2, where Z3 is that of
    the missing values, and that of the sum is (3 Z1 + Z2)/2.
    """
    people = pa.table({"k": ["a", "b"] * 500, "x": [1, 2, 3, 2] * 250})
    columns = {"k": list("abcd"), "x": dp.Bounds(1, 3, grid=1)}
    asked = dp.Table(people, unit=dp.PerRow(), name="t", columns=columns).session(epsilon=10)
    release = asked.ask("SELECT k, COUNT(*) AS n, SUM(x) AS s FROM t GROUP BY k", epsilon=epsilon)
    made = rolled_up(release)
    cells = Geometric(epsilon=epsilon, sensitivity=2)
    first, second, missing = (noise(cells, 4).sum(axis=1) for _ in range(3))
    misses((first + second + missing) / 2, told(made, "n"))
    misses((3 * first + second) / 2, told(made, "s"))


@pytest.mark.statistical
def test_plain_sums_are_covered_in_steps_of_what_divides_them():
    """False alarm below 1e-9. The step 100 is read off the raw values."""
    mechanism, step = Geometric(epsilon="0.5"), 100
    width = step * mechanism.error(Fraction("0.95"))
    values = [7000, 9100, -200]
    release = make(
        ("k", "s"),
        ("k",),
        tuple(zip("abc", values, strict=True)),
        {"s": tuple((v - width, v + width) for v in values)},
        {"s": tuple(values)},
        sql="SELECT k, SUM(x) AS s FROM t GROUP BY k",
        mechanisms={"s": "geometric, epsilon 0.5"},
    )
    made = rolled_up(release)
    assert made["s"] == [15_900]
    misses(step * noise(mechanism, 3).sum(axis=1), told(made, "s"))


# --- ranges -----------------------------------------------------------------------------


def histogram(keys, values=None, **more):
    values = values or [10 * (i + 1) for i in range(len(keys))]
    sql = "SELECT bin, COUNT(*) AS count FROM t GROUP BY bin"
    made = counts(values, keys=list(keys), name="bin")
    return replace(made, sql=sql, mechanisms={"count": "geometric, epsilon 0.5"}, **more)


def test_a_range_adds_up_whole_bins():
    bins = histogram([0, 10, 20, 30, None])
    assert between(bins, "bin", 10, 30).rows == ((50,),)
    assert between(bins, "bin", -100, 100).rows == ((100,),)
    assert between(bins, "bin", 30, 40).intervals["count"] == (bins.intervals["count"][3],)
    assert between(bins, "bin", 50, 60).rows == ((0,),)
    assert between(bins, "bin", 10, 10).rows == ((0,),)
    assert between(bins, "bin", 10, 30).steps == ("bin from 10 to below 30",)
    assert between(histogram([0.1, 0.2, 0.3]), "bin", 0.2, 0.4).rows == ((50,),)


def test_cutting_a_bin_is_refused_or_said():
    bins = histogram([0, 10, 20, 30])
    with pytest.raises(ParameterError, match=r"cut the bin that begins at 10.*share=True"):
        between(bins, "bin", 15, 30)
    made = between(bins, "bin", 15, 30, share=True)
    assert made.rows == ((40,),)
    assert "spread evenly" in made.notes[-1]
    assert not any("spread" in note for note in between(bins, "bin", 10, 30, share=True).notes)


def test_bins_of_dates_step_by_months_days_or_as_said():
    months = histogram([date(2024, m, 1) for m in range(1, 13)])
    assert between(months, "bin", date(2024, 2, 1), date(2024, 4, 1)).rows == ((50,),)
    assert between(months, "bin", date(2024, 12, 1), date(2025, 1, 1)).rows == ((120,),)
    half = between(months, "bin", date(2024, 2, 1), date(2024, 2, 15), share=True)
    assert half.raw["count"] == (float(Fraction(20 * 14, 29)),)
    years = histogram([date(2020, 1, 1), date(2021, 1, 1)])
    assert between(years, "bin", date(2020, 1, 1), date(2022, 1, 1)).rows == ((30,),)
    days = histogram([date(2024, 2, 28), date(2024, 2, 29)])
    assert between(days, "bin", date(2024, 2, 29), date(2024, 3, 1)).rows == ((20,),)
    week = histogram([date(2024, 2, 1)])
    assert between(week, "bin", date(2024, 2, 1), date(2024, 2, 8), width=7).rows == ((10,),)


def test_other_keys_stay_and_gaps_are_gaps():
    bins = table([1, 2, 3, 4], keys=[(2019, "f"), (2021, "f"), (2022, "f"), (2019, "m")])
    made = between(bins, "dept", 2019, 2022)
    assert made.rows == (("f", 3), ("m", 4))
    assert made.keys == ("sex",)
    assert between(bins, "dept", 2020, 2021).rows == (("f", 0), ("m", 0))


@pytest.mark.parametrize(
    ("keys", "low", "high", "more", "words"),
    [
        ([0, 10], 10, 0, {}, "must not be above high"),
        ([0], 0, 10, {}, "width of a bin must be said"),
        ([0, 10], 0, 10, {"width": 0}, "width"),
        ([0, 10], 0, 10, {"width": 11}, "width"),
        (["a", "b"], 0, 10, {}, "must be numbers"),
        ([0, 10], date(2024, 1, 1), 10, {}, "must be numbers"),
        ([date(2024, 1, 1), date(2024, 2, 1)], 0, 10, {}, "must be dates"),
        ([date(2024, 1, 1), 5], 0, 10, {}, "must be dates"),
        ([True, 5], 0, 10, {}, "must be numbers"),
    ],
)
def test_ranges_that_make_no_sense_are_refused(keys, low, high, more, words):
    with pytest.raises(ParameterError, match=words):
        between(histogram(keys), "bin", low, high, **more)
    with pytest.raises(ParameterError, match="keys of the release: bin"):
        between(histogram(keys), "count", low, high)


# --- two columns ------------------------------------------------------------------------


def test_a_difference_of_two_releases():
    other = table([40, -3, 20, 8], keys=[("d1", "m"), ("d1", "f"), ("d0", "m"), ("d0", "f")])
    made = difference(STAFF, other, "n")
    assert made["n"] == [2, 0, 0, 0]
    assert made.raw["n"] == (2, 0, 0, 0)
    assert made.intervals["n"][0] == (4 - 14, 16 - 2)
    assert made.confidence == Fraction(9, 10)
    assert made.guarantee == PureDP(1)
    assert made.losses == STAFF.losses * 2
    assert made.steps == ("n minus that of another release",)
    assert difference(STAFF, STAFF, "n").guarantee == STAFF.guarantee
    assert difference(STAFF, replace(other, intervals={}), "n").intervals == {}


def test_a_ratio_within_a_release_and_of_two():
    two = make(
        ("k", "s", "n"),
        ("k",),
        (("a", 100.0, 20), ("b", -50.0, 4), ("c", 7.0, 0)),
        {"s": ((80.0, 120.0), (-60.0, None), (1.0, 2.0)), "n": ((16, 25), (2, 6), (0, 3))},
    )
    made = ratio(two, "s", "n")
    assert made.columns == ("k", "s/n")
    assert made["s/n"] == [5, -12.5, None]
    low, high = made.intervals["s/n"][0]
    assert low == pytest.approx(80 / 25)
    assert high == pytest.approx(120 / 16)
    assert made.intervals["s/n"][1] == (-30, None)
    assert made.intervals["s/n"][2] is None
    assert made.confidence == Fraction(9, 10)
    assert made.guarantee == two.guarantee
    other = ratio(STAFF, table([10, 10, 10, 10]), "n")
    assert other["n ratio"] == [1, 2, 0, 4]
    assert other.guarantee == PureDP(1)


def test_the_denominator_must_not_be_able_to_be_zero():
    made = ratio(table([5, 5], width=1), table([3, 9], width=4), "n")
    assert made["n ratio"] == [None, pytest.approx(5 / 9)]


MIDDLES, WIDTHS = st.fractions(-9, 9, max_denominator=8), st.fractions(0, 9, max_denominator=8)


@given(MIDDLES, MIDDLES, WIDTHS, WIDTHS, WIDTHS, WIDTHS)
def test_the_box_holds_every_quotient_and_difference(x, y, a, b, c, d):
    low, high = y - c, y + d
    if low <= 0 <= high:
        return
    ends = _over(x - a, x + b, low, high)
    for top in (x - a, x, x + b):
        for below in (low, y, high):
            assert ends[0] <= top / below <= ends[1]
    least, most = _pair(x - a - high, x + b - low)
    assert least <= x - y <= most


def test_ends_may_be_missing_or_huge():
    assert _pair(-math.inf, math.inf) == (None, None)
    assert _pair(Fraction(10**400, 3), Fraction(10**400, 3))[0] == 10**400 // 3
    assert _over(Fraction(1), Fraction(2), Fraction(4), math.inf) == (0, pytest.approx(0.5))
    assert _over(-math.inf, Fraction(2), -math.inf, Fraction(-4)) == (pytest.approx(-0.5), None)


def test_a_confidence_that_is_used_up_leaves_no_interval():
    vague = replace(STAFF, confidence=Fraction(1, 2))
    made = difference(vague, vague, "n")
    assert not made.intervals
    assert made.confidence == Fraction(1, 2)


def test_different_keys_are_told():
    with pytest.raises(ParameterError, match="same keys as a: dept, sex"):
        difference(STAFF, counts([1]), "n")
    short = table([1, 2])
    with pytest.raises(UnsupportedError, match="only one of the two releases has the keys d1, f; "):
        difference(STAFF, short, "n")
    with pytest.raises(ParameterError, match="must be one of"):
        difference(STAFF, STAFF, "m")
    with pytest.raises(ParameterError, match="no number"):
        ratio(STAFF, "dept", "n")
    with pytest.raises(UnsupportedError, match="two rows"):
        difference(STAFF, table([1, 2, 3, 4], keys=[("d0", "f")] * 4), "n")


def test_hostile_keys_do_not_reach_a_terminal():
    bad = table([1, 2], keys=[("\x1b[2J", "f"), ("\x1b[2J", "f")])
    with pytest.raises(UnsupportedError) as refusal:
        rolled_up(bad)
    assert str(refusal.value).isprintable()
