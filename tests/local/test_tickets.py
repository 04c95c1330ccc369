"""Tickets: by the book, and for nobody else."""

import hashlib
import hmac

import pytest

import discreet as dp
from discreet.local.tickets import DIGITS, Tickets

KEY, SURVEY, DEVICE = bytes(range(32)), "0123456789abcdef", "device-of-somebody"


def test_a_ticket_by_the_book():
    message = b"discreet-ticket/1|0123456789abcdef|device-of-somebody"
    digest = hmac.new(KEY, message, hashlib.sha256).hexdigest()
    assert Tickets(KEY, SURVEY).of(DEVICE) == digest[:32]
    assert DIGITS == 32


def test_a_ticket_is_for_one_device_of_one_survey_under_one_key():
    mine = Tickets(KEY, SURVEY)
    ticket = mine.of(DEVICE)
    assert mine.holds(DEVICE, ticket)
    assert not mine.holds(DEVICE + "x", ticket)
    assert not mine.holds("", ticket)
    assert not Tickets(KEY, SURVEY[::-1]).holds(DEVICE, ticket)
    assert not Tickets(KEY[::-1], SURVEY).holds(DEVICE, ticket)


@pytest.mark.parametrize("place", range(DIGITS))
def test_every_digit_counts(place):
    mine = Tickets(KEY, SURVEY)
    ticket = mine.of(DEVICE)
    other = "0" if ticket[place] != "0" else "1"
    assert not mine.holds(DEVICE, ticket[:place] + other + ticket[place + 1 :])


def test_what_is_no_ticket_holds_nothing():
    mine = Tickets(KEY, SURVEY)
    ticket = mine.of(DEVICE)
    for other in ("", ticket[:-1], ticket + "0", ticket.upper() + "é", f" {ticket}"):
        assert not mine.holds(DEVICE, other)


def test_they_are_compared_in_constant_time(monkeypatch):
    compared = []
    true = hmac.compare_digest
    monkeypatch.setattr(hmac, "compare_digest", lambda a, b: compared.append(1) or true(a, b))
    Tickets(KEY, SURVEY).holds(DEVICE, "0" * DIGITS)
    assert compared == [1]


def test_issued_names_are_random_and_differ():
    mine = Tickets(KEY, SURVEY)
    issued = mine.issue(1000)
    assert len({name for name, _ in issued}) == len({ticket for _, ticket in issued}) == 1000
    assert all(len(name) == 32 and mine.holds(name, ticket) for name, ticket in issued)
    for bad in (0, -1, 10**7, 1.5):
        with pytest.raises(dp.ParameterError, match="count"):
            mine.issue(bad)
