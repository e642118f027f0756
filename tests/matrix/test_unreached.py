"""A homeserver that cannot be reached: the one line says what to look at, and does not waste time on what stays."""

import asyncio
import datetime
import errno
import os
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from ipaddress import ip_address
from pathlib import Path

import aiohttp
import pytest
from aiohttp.client_reqrep import ConnectionKey
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from matrix.budget import READER_BUDGET, Budget
from matrix.calls import Mode, client_path
from matrix.errors import UnavailableError
from matrix.session import open_session
from matrix.unreached import unreached
from tests.matrix.timing import FakeTime

PATH = client_path("joined_rooms")
THERE = ConnectionKey(
    "matrix.example.org", 443, is_ssl=True, ssl=True, proxy=None, proxy_auth=None, proxy_headers_hash=None
)


def context_of_our_own(folder: Path) -> ssl.SSLContext:
    """A certificate that nobody signed but itself."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.datetime.now(datetime.UTC)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(now).not_valid_after(now + datetime.timedelta(days=1))
    builder = builder.add_extension(
        x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False
    )
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    file = folder / "both.pem"
    file.write_bytes(
        key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain)
        + builder.sign(key, hashes.SHA256()).public_bytes(pem)
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    return context


@asynccontextmanager
async def listening(context: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    """Answers whatever is said to it with a line that is neither TLS nor HTTP."""

    async def serve(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"hello\r\n")
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context) as server:
        yield f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def told_by(address: str, budget: Budget = READER_BUDGET) -> tuple[str, int]:
    """The error's line, and how many requests it took."""
    async with open_session(address, "not-a-" + "token", Mode.READER, budget, FakeTime().timing()) as session:
        with pytest.raises(UnavailableError) as raised:
            await session.get(PATH)
        return str(raised.value), session.requests


async def test_a_certificate_that_is_not_trusted_is_named_after_one_request(tmp_path: Path) -> None:
    async with listening(context_of_our_own(tmp_path)) as address:
        line, requests = await told_by(address)
    assert "no usable answer: its certificate is not accepted: self-signed certificate (check the homes" in line
    assert requests == 1


async def test_a_port_without_tls_is_named() -> None:
    async with listening() as address:
        line, _requests = await told_by(address, Budget(max_attempts=1))
    assert "speaks no TLS (check https:// and port" in line


async def test_a_name_that_is_none_is_named() -> None:
    line, requests = await told_by("https://matrix.example.invalid")
    assert "matrix.example.invalid:" in line and "leads to no address (check the homeserver's address and" in line
    assert requests == READER_BUDGET.max_attempts  # a machine may start before its DNS


@pytest.mark.parametrize("code", [9, 10])
def test_what_a_wrong_clock_looks_like_points_to_the_clock(code: int) -> None:
    fault = ssl.SSLCertVerificationError(1, "not valid at this time")
    fault.verify_code, fault.verify_message = code, "certificate is not yet valid"
    told = unreached(aiohttp.ClientConnectorCertificateError(THERE, fault))
    assert told.is_lasting and "clock" in told.remedy and "not yet valid" in told.why


def test_what_the_system_says_is_said_in_its_words() -> None:
    fault = aiohttp.ClientConnectorError(THERE, OSError(errno.ENETUNREACH, "Connect call failed"))
    assert unreached(fault).why == os.strerror(errno.ENETUNREACH)
