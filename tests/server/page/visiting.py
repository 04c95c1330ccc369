"""Somebody who looks at pages without a browser: a cookie, the token of a page, and forms."""

import re
from dataclasses import dataclass
from html import unescape
from urllib.parse import urlencode

from tests.server.running import PASSWORD, Running

FORM = "application/x-www-form-urlencoded"
HTML = {"Accept": "text/html"}


@dataclass
class Visitor:
    server: Running
    cookie: str = ""

    def get(self, path, **headers):
        return self.call("GET", path, headers={**HTML, **headers})

    def call(self, method, path, *, headers=None, **more):
        sent = dict(headers or {})
        if self.cookie:
            sent.setdefault("Cookie", self.cookie)
        return self.server.call(method, path, headers=sent, **more)

    def send(self, path, fields, **headers):
        sent = {"Content-Type": FORM, "Origin": self.server.address, **headers}
        return self.call("POST", path, raw=urlencode(fields).encode(), headers=sent)

    def login(self, name, password=PASSWORD, **more):
        answer = self.send("/login", {"name": name, "password": password, **more})
        if answer.status == 303:
            self.cookie = answer.headers["set-cookie"].partition(";")[0]
        return answer

    def csrf(self, path="/datasets"):
        return unescape(re.search(r'name="csrf" content="([^"]+)"', text(self.get(path)))[1])


def text(answer):
    return answer.body.decode()


def visitor(server, name="alice"):
    made = Visitor(server)
    assert made.login(name).status == 303
    return made
