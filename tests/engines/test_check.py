"""The check at registration: names and types, no row."""

import pyarrow as pa
import pytest

import discreet as dp

DATA = pa.table({"id": [1], "name": ["x"], "pay": [1.5], "on": [True]})


def made(columns, unit=None):
    return dp.Table(DATA, unit=unit or dp.PerRow(), columns=columns)


def test_what_fits_is_taken():
    columns = {"name": dp.FreeText(), "pay": (0, 10), "on": dp.Boolean, "id": dp.Hidden()}
    assert set(made(columns).schema.columns) == {"name", "pay", "on", "id"}


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"wages": (0, 10)}, "which has: id, name, pay, on"),
        (
            {
                "name": dp.Dates("2020-01-01", "2021-01-01"),
                "pay": dp.Dates("2020-01-01", "2021-01-01"),
            },
            "real numbers",
        ),
        ({"pay": dp.FreeText()}, "stored as real numbers, which cannot be read as text"),
        ({"on": dp.Dates("2020-01-01", "2021-01-01")}, "true and false"),
    ],
)
def test_what_does_not_fit_is_refused_in_words(columns, words):
    with pytest.raises(dp.ParameterError, match=words):
        made(columns)


def test_the_person_must_be_a_column():
    with pytest.raises(dp.ParameterError, match="which has"):
        made({}, unit=dp.PerPerson("who"))


def test_bounds_to_be_found_need_a_number():
    made({"pay": dp.Bounds.find(epsilon=1)})
    with pytest.raises(dp.ParameterError):
        made({"on": dp.Keys(["a"])})


def test_the_owner_may_have_every_row_read():
    columns = {
        "name": dp.FreeText(),
        "pay": dp.Bounds.find(epsilon=1),
        "on": dp.Boolean,
        "id": dp.Hidden(),
    }
    assert made(columns).read_through() is None
    assert dp.Table(DATA.slice(0, 0), unit=dp.PerRow(), columns=columns).read_through() is None
