"""The timers of a connection; what they do to a slow asker is in test_protocol.py."""

import asyncio
import json

import uvicorn
from uvicorn.server import ServerState

from discreet.curator.policy.model import Server
from discreet.server.connections import MOST, Connection, connections_of
from discreet.server.guard import Guard
from discreet.server.settings import Settings


class Transport:
    closed = False

    def __init__(self, address="10.0.0.1"):
        self.address = address

    def get_extra_info(self, name):
        return {"peername": (self.address, 1), "sockname": ("10.0.0.2", 80)}.get(name)

    def is_closing(self):
        return self.closed

    def close(self):
        self.closed = True

    def write(self, data):
        pass


def made(kind, state, address="10.0.0.1"):
    async def app(scope, receive, send):
        await asyncio.sleep(5)

    config = uvicorn.Config(app, log_level="critical", ws="none")
    config.load()
    one = kind(config, state, {}, asyncio.get_running_loop())
    transport = Transport(address)
    one.connection_made(transport)
    return one, transport


def test_limits_are_the_server_s():
    near = connections_of(Settings(Server(), slowest_body=3))
    assert (near.slowest, near.most) == (3, MOST)
    assert connections_of(Settings(Server(), behind_proxy=True)).most is None


def test_a_head_has_to_be_there_in_time():
    kind = connections_of(Settings(Server(), slowest_body=0.05))

    async def run():
        state = ServerState()
        silent, slow, whole = (made(kind, state) for _ in range(3))
        slow[0].data_received(b"GET / HTTP/1.1\r\n")
        whole[0].data_received(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        await asyncio.sleep(0.03)
        slow[0].data_received(b"X: y\r\n")  # the time counts from the first byte
        await asyncio.sleep(0.04)
        assert [silent[1].closed, slow[1].closed, whole[1].closed] == [True, True, False]
        assert whole[0]._head is None

    asyncio.run(run())


def test_so_many_of_one_address():
    async def run():
        state = ServerState()
        kind = type("Few", (Connection,), {"most": 2})
        assert [made(kind, state)[1].closed for _ in range(3)] == [False, False, True]
        assert not made(kind, state, "10.0.0.9")[1].closed
        any_number = type("Any", (Connection,), {"most": None})
        assert not made(any_number, state)[1].closed

    asyncio.run(run())


def test_a_head_that_is_no_http_further_on_is_refused_without_a_body():
    """h11 sends no body there, and raises at one: every stranger could fill the log with that."""
    settings = Settings(Server())
    kind = connections_of(settings, guard=Guard(None, settings))

    async def run():
        written = []
        for method in (b"HEAD", b"GET"):
            one, transport = made(kind, ServerState())
            told = []
            transport.write = told.append
            one.data_received(
                method + b" / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
            )
            one.data_received(b"ZZ\r\n")
            assert transport.closed
            written.append(b"".join(told).partition(b"\r\n\r\n"))
        return written

    (head, _, nothing), (other, _, body) = asyncio.run(run())
    assert head == other
    assert head.startswith(b"HTTP/1.1 400 ")
    assert (nothing, json.loads(body)["error"]) == (b"", "malformed")
