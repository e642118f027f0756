"""What goes wrong when a service is asked over HTTP: in words that quote nothing sent, and whether waiting helps."""

from typing import Final

import httpx

BUSY: Final = frozenset({429, 500, 502, 503, 504})
"""Statuses of a service that may answer a little later."""


def asked_wait_s(response: httpx.Response) -> float | None:
    """How long the service says to wait. Whole seconds only; a date, or nonsense, leaves it to the asker."""
    value = response.headers.get("retry-after", "")
    return float(value) if value.isascii() and value.isdigit() else None


def in_words(fault: httpx.TransportError) -> str:
    match fault:
        case httpx.ConnectError():
            return "cannot connect"
        case httpx.RemoteProtocolError() | httpx.ReadError():
            return "the answer broke off"
        case _:
            return type(fault).__name__
