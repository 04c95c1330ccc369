"""Parameters: what is accepted, what the original clients make of them, and their file."""

from fractions import Fraction

import pytest

import discreet as dp
from discreet.local.rappor import Params


def test_the_defaults_are_the_originals():
    params = Params()
    assert (params.k, params.h, params.m) == (16, 2, 64)
    assert (params.p, params.q, params.f) == (Fraction(1, 2), Fraction(3, 4), Fraction(1, 2))
    assert eval(repr(params)) == params


def test_the_chances_of_one_report():
    params = Params(p="0.39", q="0.61", f="0.45")
    assert params.q_star == Fraction("0.5605")
    assert params.p_star == Fraction("0.4395")


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"k": 0}, "k"),
        ({"k": 257}, "k"),
        ({"k": 2.5}, "k"),
        ({"h": 17}, "h"),
        ({"h": 0}, "h"),
        ({"m": -1}, "m"),
        ({"m": 10**9}, "m"),
        ({"p": float("nan")}, "p"),
        ({"q": float("inf")}, "q"),
        ({"q": "1.01"}, "q"),
        ({"p": "-0.1"}, "p"),
        ({"p": "0.5", "q": "0.5"}, "q"),
        ({"f": 1}, "f"),
        ({"f": None}, "f"),
    ],
)
def test_bad_parameters_are_named(given, named):
    with pytest.raises(dp.ParameterError, match=rf"^{named} must"):
        Params(**given)


@pytest.mark.parametrize(("f", "effective"), [("0.45", 58), ("0.5", 64), ("0", 0), ("1/128", 1)])
def test_the_original_clients_round_f_up(f, effective):
    """(byte >> 1) < 128 f holds for ceil(128 f) of the 128 numbers."""
    params = Params(f=f)
    assert params.compatible().f == Fraction(effective, 128)
    assert sum(number < 128 * params.f for number in range(128)) == effective
    assert params.is_compatible == (params.f == Fraction(effective, 128))
    assert params.compatible().is_compatible


def test_what_no_original_client_can_do_is_refused():
    with pytest.raises(dp.ParameterError, match="at most 32"):
        Params(k=64).compatible()
    with pytest.raises(dp.ParameterError, match="rounded up to 1"):
        Params(f="0.999").compatible()


@pytest.mark.parametrize("params", [Params(), Params(8, 2, 128, "0.39", "0.61", "0.45"),
                                    Params(p="1/3")])  # fmt: skip
def test_a_file_is_read_as_it_was_written(params, tmp_path):
    file = tmp_path / "params.csv"
    params.write(file)
    assert Params.read(file) == params


def test_a_file_has_decimals_where_it_can(tmp_path):
    file = tmp_path / "params.csv"
    Params(q="0.75").write(file)
    assert file.read_text() == "k,h,m,p,q,f\n16,2,64,0.5,0.75,0.5\n"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "k,h,m,p,q\n1,1,1,0.1,0.2\n",
        "k,h,m,p,q,f\n",
        "k,h,m,p,q,f\n16,2,64,0.5,0.75,0.5\n16,2,64,0.5,0.75,0.5\n",
        "k,h,m,p,q,f\n16,2,64,0.5,0.75\n",
        "k,h,m,p,q,f\n16,2,x,0.5,0.75,0.5\n",
        "k,h,m,p,q,f\n16,2,64,nan,0.75,0.5\n",
    ],
)
def test_a_wrong_file_is_refused(text, tmp_path):
    file = tmp_path / "params.csv"
    file.write_text(text)
    with pytest.raises(dp.ParameterError):
        Params.read(file)


def test_a_file_that_is_no_text_is_refused(tmp_path):
    file = tmp_path / "params.csv"
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(dp.ParameterError, match="UTF-8"):
        Params.read(file)
