"""How a server behaves, as far as it is not the policy's."""

from fractions import Fraction
from pathlib import Path

import pytest

from discreet.curator.policy.model import Server
from discreet.errors import ParameterError
from discreet.server.settings import Settings, is_loopback

LOCAL = {"localhost", "127.0.0.1", "[::1]"}


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.3.4.5"])
def test_this_machine_needs_no_tls(host):
    assert Settings(Server(host=host)).checked().secure is False


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "dp.example"])
def test_others_are_not_talked_to_in_clear(host):
    with pytest.raises(ParameterError, match="--behind-proxy"):
        Settings(Server(host=host)).checked()
    tls = Server(host=host, certificate=Path("c"), private_key=Path("k"))
    assert Settings(tls).checked().secure
    assert Settings(Server(host=host), behind_proxy=True).checked().secure


def test_names():
    assert Settings(Server()).names == LOCAL
    assert Settings(Server(host="127.0.0.2")).names == LOCAL | {"127.0.0.2"}
    assert Settings(Server(host="::1")).names == LOCAL
    assert Settings(Server(names=("Dp.Example",))).names == {"dp.example"}
    assert Settings(Server(host="0.0.0.0"), behind_proxy=True).names == set()


def test_deadlines_are_classes():
    settings = Settings(Server(deadlines=(Fraction(1, 2), Fraction(10))))
    assert settings.deadline(None) == Fraction(1, 2)
    assert settings.deadline(Fraction(10)) == 10
    with pytest.raises(ParameterError, match=r"must be one of 0\.5, 10"):
        settings.deadline(Fraction(9))


def test_another_address():
    moved = Settings(Server(port=1)).at("::1", 0)
    assert (moved.server.host, moved.server.port) == ("::1", 0)
    assert Settings(Server(port=1)).at(None, None).server.port == 1


def test_loopback():
    assert not is_loopback("localhost.example")
    assert not is_loopback("127.0.0.1.example")


def test_limits_are_divided_among_processes():
    settings = Settings(Server(workers=5), processes=2)
    assert settings.checked() is settings
    assert (settings.workers, settings.part(64), settings.part(1)) == (2, 32, 1)
    assert Settings(Server(workers=5)).workers == 5
    assert Settings(Server(workers=1)).checked().workers == 1
    with pytest.raises(ParameterError, match="at most half the policy's workers, 5"):
        Settings(Server(workers=5), processes=3).checked()
