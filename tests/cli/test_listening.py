"""Where a server listens: what no policy could make right, and what becomes of the rest."""

from pathlib import Path

import pytest

from discreet.cli.listening import Listening
from discreet.curator.policy.model import Server
from discreet.errors import ParameterError


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"port": -1}, "--port"),
        ({"port": 65_536}, "--port"),
        ({"certificate": Path("a.pem")}, "goes with --private-key"),
        ({"private_key": Path("a.pem")}, "goes with --private-key"),
    ],
)
def test_what_no_policy_could_make_right_is_refused(said, words):
    for refuse in (Listening(**said).check, lambda: Listening(**said).settings(Server())):
        with pytest.raises(ParameterError, match=words):
            refuse()


def test_what_is_said_goes_before_the_policy():
    server = Server(host="127.0.0.1", port=8000)
    assert Listening().settings(server).server == server
    said = Listening(port=0, certificate=Path("a.pem"), private_key=Path("b.pem"))
    said.check()
    made = said.settings(server).server
    assert (made.port, made.certificate, made.private_key) == (0, Path("a.pem"), Path("b.pem"))
    assert Listening(host="0.0.0.0", behind_proxy=True).settings(server).behind_proxy
