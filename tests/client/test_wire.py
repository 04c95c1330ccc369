"""Requests and answers: where a key may go, what is sent again, and what a refusal becomes."""

import json
import pickle
import ssl
import time
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from ipaddress import ip_address

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from tests.client.fake import KEY, serving

from discreet.client import wire as module
from discreet.client.wire import Wire, _pause, new_asking, refusal
from discreet.errors import (
    BudgetExceededError,
    DiscreetError,
    LedgerError,
    NothingFoundError,
    ParameterError,
    QueryError,
    RemoteError,
)


def echo(method, path, body, headers):
    return {"method": method, "path": path, "body": body}


class Slept(list):
    """Sleeps that are counted instead of slept."""

    def __call__(self, seconds):
        self.append(seconds)


def wire(fake, **more):
    return Wire(fake.url, KEY, **{"timeout": 5, "sleep": Slept(), **more})


# where a key may go


@pytest.mark.parametrize(
    "url",
    [
        "http://data.example.org",
        "http://192.168.1.7:8000",
        "http://127.0.0.1.example.org",
        "http://localhost.example.org",
        "http://[2001:db8::1]",
        "http://127.0.0.1@data.example.org",
        "https://ann:secret@data.example.org",
        "https://data.example.org/?x=1",
        "https://data.example.org/#a",
        "ftp://data.example.org",
        "data.example.org",
        "https://",
        "https://[::1",
        "https://host:port",
        "https://host/a b",
        "https://host/a\r\nX: y",
        "",
        None,
        b"https://host",
    ],
)
def test_an_address_that_could_leak_a_key_is_refused(url):
    with pytest.raises(ParameterError, match="url") as refused:
        Wire(url, KEY)
    assert "secret" not in str(refused.value)
    assert KEY not in str(refused.value)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://data.example.org/", "https://data.example.org"),
        ("https://data.example.org:8443/a/b/", "https://data.example.org:8443/a/b"),
        ("http://localhost:8000", "http://localhost:8000"),
        ("http://127.0.0.1:1/x", "http://127.0.0.1:1/x"),
        ("http://127.9.9.9", "http://127.9.9.9"),
        ("http://[::1]:8000", "http://[::1]:8000"),
        (" HTTPS://Data.Example.org ", "https://Data.Example.org"),
    ],
)
def test_addresses(url, shown):
    assert Wire(url, KEY).url == shown


def test_the_key_is_shown_and_stored_nowhere(monkeypatch):
    made = Wire("https://data.example.org", KEY)
    assert KEY not in repr(made)
    with pytest.raises(TypeError, match="connect again") as refused:
        pickle.dumps(made)
    assert KEY not in str(refused.value)
    for key in ("", "a b", "dk_\r\nX: y", "dk_ä", "x" * 513, 7, b"dk"):
        with pytest.raises(ParameterError, match="key") as refused:
            Wire("https://data.example.org", key)
        assert str(key) not in str(refused.value) or key == ""
    monkeypatch.delenv("DISCREET_KEY", raising=False)
    with pytest.raises(ParameterError, match="DISCREET_KEY"):
        Wire("https://data.example.org")


def test_the_key_of_the_environment(monkeypatch):
    monkeypatch.setenv("DISCREET_KEY", KEY)
    with serving(echo) as fake:
        Wire(fake.url, timeout=5).get("me")
        with pytest.raises(RemoteError, match="no such key") as refused:
            Wire(fake.url, "dk_other", timeout=5).get("me")
    assert refused.value.kind == "unauthorized"
    assert refused.value.__notes__ == ["ask the owner"]
    assert [one.headers["Authorization"] for one in fake.seen] == [f"Bearer {KEY}",
                                                                    "Bearer dk_other"]  # fmt: skip


def test_proxies_of_the_environment_are_not_used(monkeypatch):
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    monkeypatch.delenv("no_proxy", raising=False)
    with serving(echo) as fake:
        assert wire(fake, retries=0).get("me")["path"] == "/api/me"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_not_followed(status):
    with serving(echo) as elsewhere, serving(echo) as fake:
        fake.script = [(status, {}, {"Location": f"{elsewhere.url}/api/me"})]
        with pytest.raises(RemoteError, match="redirects"):
            wire(fake).get("me")
        assert elsewhere.seen == []
        assert len(fake.seen) == 1


def test_a_closed_connection_has_no_key():
    with serving(echo) as fake:
        made = wire(fake)
        made.close()
        with pytest.raises(RemoteError, match="closed"):
            made.get("me")
        assert fake.seen == []


# requests


def test_paths_are_quoted():
    with serving(echo) as fake:
        made = wire(fake)
        assert made.get("releases", "../x/?a=b #%")["path"] == (
            "/api/releases/..%2Fx%2F%3Fa%3Db%20%23%25"
        )
        assert made.get("releases", limit=5, before=None)["path"] == "/api/releases?limit=5"
        assert made.get("x", a="ü&b")["path"] == "/api/x?a=%C3%BC%26b"
        prefixed = Wire(f"{fake.url}/deep/er/", KEY, timeout=5)
        assert prefixed.post("ask", body={"a": "ü"}, free=True) == {
            "method": "POST",
            "path": "/deep/er/api/ask",
            "body": {"a": "ü"},
        }


def test_parameters_are_checked():
    for wrong in ({"timeout": 0}, {"timeout": 10**6}, {"retries": -1}, {"retries": "x"}):
        with pytest.raises(ParameterError):
            Wire("https://data.example.org", KEY, **wrong)
    with pytest.raises(ParameterError, match="ca"):
        Wire("https://data.example.org", KEY, ca="/nowhere/ca.pem")
    for asking in ("", "a b", "a\r\nX: y", "x" * 56, "ü"):
        with serving(echo) as fake, pytest.raises(ParameterError, match="key"):
            wire(fake).post("ask", body={}, asking=asking)


def test_new_askings_are_random():
    made = {new_asking() for _ in range(1000)}
    assert len(made) == 1000  # 2^-108 otherwise
    assert all(len(one) == 32 and int(one, 16) >= 0 for one in made)


# attempts


BROKEN = ("close", "reset", "half", "half a chunk")
BUSY = ((503, {}), (429, {}), (502, b"<html>"), (504, b""))


@pytest.mark.parametrize("step", [*BROKEN, *BUSY], ids=str)
def test_what_has_a_key_is_sent_again_with_the_same_key(step):
    with serving(echo, step, step) as fake:
        made = wire(fake)
        assert made.post("ask", body={"q": 1}, asking="mine")["body"] == {"q": 1}
        assert fake.askings == ["mine"] * 3
        assert len({json.dumps(one.body) for one in fake.seen}) == 1
        assert len(made._sleep) == 2


@pytest.mark.parametrize("step", [*BROKEN, *BUSY], ids=str)
def test_what_is_free_is_sent_again(step):
    with serving(echo, step) as fake:
        assert wire(fake).get("me")["path"] == "/api/me"
        fake.script = [step]
        assert wire(fake).post("explain", body={}, free=True)["path"] == "/api/explain"
        assert fake.askings == [None] * 4


@pytest.mark.parametrize("step", [*BROKEN, (502, b""), (504, b"")], ids=str)
def test_what_may_have_been_charged_is_not_sent_again(step):
    with serving(echo, step) as fake:
        with pytest.raises(RemoteError, match=r"Whether the question arrived.*releases") as lost:
            wire(fake).post("ask", body={})
        assert lost.value.kind == "unreachable"
        assert len(fake.seen) == 1


@pytest.mark.parametrize("step", [(503, {}), (429, {})], ids=str)
def test_what_was_certainly_not_taken_is_sent_again(step):
    with serving(echo, step) as fake:
        assert wire(fake).post("ask", body={})["path"] == "/api/ask"
        assert len(fake.seen) == 2


def test_a_server_that_is_not_there():
    with serving(echo) as fake:
        pass
    made = wire(fake, retries=3)
    with pytest.raises(
        RemoteError, match=r"no answer from .*ConnectionRefused.*key='mine'"
    ) as lost:
        made.post("ask", body={}, asking="mine")
    assert (lost.value.kind, lost.value.key) == ("unreachable", "mine")
    assert len(made._sleep) == 3
    with pytest.raises(RemoteError) as lost:  # nothing was sent: there is no doubt
        made.post("ask", body={})
    assert "Whether" not in str(lost.value)
    assert len(made._sleep) == 6
    again = pickle.loads(pickle.dumps(lost.value))
    assert (str(again), again.kind) == (str(lost.value), "unreachable")


def test_attempts_come_to_an_end():
    with serving(echo, *["close"] * 9) as fake:
        made = wire(fake, retries=2)
        with pytest.raises(RemoteError, match="charged once at most"):
            made.post("ask", body={}, asking="mine")
        assert len(fake.seen) == 3
    busy = (503, {"error": "busy", "message": "come back", "fix": ""})
    with serving(echo, *[busy] * 9) as fake:
        with pytest.raises(RemoteError, match="come back") as refused:
            wire(fake, retries=2).get("me")
        assert refused.value.kind == "busy"
        assert len(fake.seen) == 3


def test_pauses_grow_and_follow_the_server():
    with serving(echo, (429, {}, {"Retry_After": "7"}), (503, {}), (503, {})) as fake:
        made = wire(fake)
        made.get("me")
        first, second, third = made._sleep
    assert first == 7
    assert 0.5 <= second <= 1
    assert 1 <= third <= 2
    assert _pause(0, "1000000") <= 0.5  # no number of seconds that anybody means
    assert _pause(0, "999999") == 60
    assert _pause(0, "Wed, 21 Oct 2026 07:28:00 GMT") <= 0.5
    assert _pause(90, None) <= 16
    assert len({_pause(3, None) for _ in range(20)}) > 1


def test_refusals_are_not_sent_again():
    for status in (400, 401, 402, 403, 404, 409, 422, 500):
        with serving(echo, (status, {})) as fake:
            with pytest.raises(DiscreetError):
                wire(fake).post("ask", body={}, asking="mine")
            assert len(fake.seen) == 1


# answers


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"[1]", b'"x"', b"NaN", b'{"a": Infinity}', b"\xff", b"[" * 10**5]
)
def test_an_answer_that_is_no_json_object_is_refused(body):
    with serving(echo, (200, body)) as fake:
        with pytest.raises(RemoteError, match="not the JSON") as refused:
            wire(fake).post("ask", body={}, asking="mine")
        assert (refused.value.kind, refused.value.key) == ("unreadable", "mine")


def test_a_huge_answer_is_not_read(monkeypatch):
    monkeypatch.setattr(module, "LARGEST", 1 << 20)
    with serving(echo, (200, {}, {"Content_Length": str(1 << 40)}), ("endless", 64)) as fake:
        for _ in range(2):
            with pytest.raises(RemoteError, match="longer than 1,048,576 bytes"):
                wire(fake).get("me")
        assert len(fake.seen) == 2


@pytest.mark.parametrize("step", [("silent", 30), ("drip", 0.05)], ids=str)
def test_a_slow_server_counts_as_broken(step):
    with serving(echo, step) as fake:
        made = wire(fake, timeout="0.5")
        began = time.monotonic()
        assert made.get("me")["path"] == "/api/me"
        assert time.monotonic() - began < 25
        fake.script = [step]
        with pytest.raises(RemoteError, match="it took too long"):
            wire(fake, timeout="0.5", retries=0).get("me")


WORDS = "there is no column 'x'. Nothing was charged and no row was read"
REFUSALS = [
    ("query", QueryError, WORDS),
    ("parameter", ParameterError, "epsilon must be above 0, got 0; nothing was released"),
    ("budget", BudgetExceededError, "this costs more than is left; nothing was charged"),
    ("ledger", LedgerError, "the ledger cannot be written"),
    ("conflict", LedgerError, "the key 'a' belongs to another question"),
    ("nothing_found", NothingFoundError, "no bounds stand out"),
    ("not_found", QueryError, WORDS),
    ("forbidden", RemoteError, "this key may not"),
    ("unauthorized", RemoteError, "no such key"),
    ("limit", RemoteError, "too many"),
    ("busy", RemoteError, "later"),
    ("internal", RemoteError, "it failed"),
    ("something new", RemoteError, "who knows"),
]


@pytest.mark.parametrize(("kind", "expected", "words"), REFUSALS)
def test_refusals_have_the_classes_and_the_words_of_this_process(kind, expected, words):
    told = {"error": kind, "message": words, "fix": "do this", "could": "1/3"}
    with serving(echo, (418, told)) as fake, pytest.raises(DiscreetError) as refused:
        wire(fake).post("ask", body={}, asking="mine")
    error = refused.value
    assert type(error) is expected
    assert str(error) == words
    assert error.__notes__ == ["do this"]
    assert str(pickle.loads(pickle.dumps(error))) == words
    if kind == "budget":
        assert error.could == Fraction(1, 3)
    if expected is RemoteError:
        assert error.kind == kind


@pytest.mark.parametrize("told", [{}, {"error": None, "message": 7}, {"message": ""}])
@pytest.mark.parametrize(
    ("status", "kind"), [(401, "unauthorized"), (403, "forbidden"), (500, "internal"), (418, "")]
)
def test_a_refusal_without_words_gets_some(status, kind, told):
    error = refusal(status, told)
    assert isinstance(error, RemoteError)
    assert error.kind == (kind or "internal")
    assert len(str(error)) > 10
    assert refusal(402, {"error": "budget", "could": "nonsense"}).could is None


# certificates


def certificate(folder, name, *, host=None, signer=None):
    """A certificate and its key, signed by another or by itself, as files and as objects."""
    private = ec.generate_private_key(ec.SECP256R1())
    title = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    issuer, signing = (title, private) if signer is None else (signer[0].subject, signer[1])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(title)
        .issuer_name(issuer)
        .public_key(private.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=host is None, path_length=None), critical=True)
    )
    if host is not None:
        names = [x509.IPAddress(ip_address(host))]
        made = made.add_extension(x509.SubjectAlternativeName(names), critical=False)
    signed = made.sign(signing, hashes.SHA256())
    pem = serialization.Encoding.PEM
    plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    (folder / f"{name}.pem").write_bytes(signed.public_bytes(pem))
    (folder / f"{name}.key").write_bytes(private.private_bytes(pem, *plain))
    return signed, private


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    folder = tmp_path_factory.mktemp("certificates")
    authority = certificate(folder, "ca")
    certificate(folder, "other")
    certificate(folder, "here", host="127.0.0.1", signer=authority)
    certificate(folder, "elsewhere", host="127.0.0.9", signer=authority)
    return folder


def over_tls(folder, name):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / f"{name}.pem", folder / f"{name}.key")
    return context


def test_a_server_with_a_certificate_of_the_own_authority(certificates):
    with serving(echo, tls=over_tls(certificates, "here")) as fake:
        assert fake.url.startswith("https://")
        assert wire(fake, ca=certificates / "ca.pem").get("me")["path"] == "/api/me"


@pytest.mark.parametrize(
    ("server", "ca"), [("here", None), ("here", "other.pem"), ("elsewhere", "ca.pem")]
)
def test_a_certificate_that_cannot_be_trusted_is_refused_at_once(certificates, server, ca):
    with serving(echo, tls=over_tls(certificates, server)) as fake:
        made = wire(fake, ca=None if ca is None else certificates / ca)
        with pytest.raises(RemoteError, match=r"certificate of 127.0.0.1 cannot be trusted"):
            made.post("ask", body={}, asking="mine")
        assert fake.seen == []
        assert made._sleep == []
