"""Hears from a forge that somebody pushed, and leaves a wish for that source to be read.

    webhook.py --listen 127.0.0.1:8087 handbook forge:community

A delivery goes to `/<name of the source>`. It counts when it is signed with the secret in the credential
`webhook-secret`: by an HMAC over its body as GitHub, Gitea, Forgejo and Gogs send it, or by GitLab's token.
Its body is never parsed and never kept: what it could say, the refresh finds out by itself.

A wish is an empty file named like the source in the folder `--wanted`. However many deliveries come, there is one wish;
one that comes while the source is being read is a new one. `sources-refresh@.path` starts the unit that fulfils it.

Needs nothing but Python. Meant to stand behind a web server that speaks TLS.
"""

import argparse
import asyncio
import hmac
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from urllib.parse import unquote

MAX_HEAD_BYTES = 16 << 10
MAX_BODY_BYTES = 25 << 20  # GitHub sends no more; what is read is digested piece by piece
MAX_CONNECTIONS = 64
REQUEST_S = 20.0
LEAST_SECRET_BYTES = 16

SIGNATURES = {
    "x-hub-signature-256": b"sha256=",  # GitHub, Bitbucket, Gitea, Forgejo
    "x-forgejo-signature": b"",
    "x-gitea-signature": b"",
    "x-gogs-signature": b"",
}
"""Headers with an HMAC-SHA256 of the body in hexadecimal, and what stands before it."""
TOKEN = "x-gitlab-token"

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,127}", re.ASCII)
_HEADER = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}):[ \t]*([^\x00-\x08\x0a-\x1f\x7f]*?)[ \t]*")


class RefusalError(Exception):
    """What the other side is told: a status and nothing more."""

    def __init__(self, status: HTTPStatus) -> None:
        super().__init__(status.phrase)
        self.status = status


@dataclass(frozen=True, slots=True)
class Head:
    """`headers` are lower-case names; the first of a name counts."""

    method: str
    path: str
    headers: Mapping[str, bytes]


def read_head(raw: bytes) -> Head:
    """The request line and headers, as RFC 9112 writes them; RefusalError for anything else."""
    first, *lines = raw.removesuffix(b"\r\n\r\n").split(b"\r\n")
    words = first.split(b" ")
    if len(words) != 3 or not words[2].startswith(b"HTTP/1.") or not first.isascii():
        raise RefusalError(HTTPStatus.BAD_REQUEST)
    headers: dict[str, bytes] = {}
    for line in lines:
        if not (found := _HEADER.fullmatch(line)):
            raise RefusalError(HTTPStatus.BAD_REQUEST)
        name = found[1].decode().lower()
        if name in ("content-length", "transfer-encoding") and name in headers:
            raise RefusalError(HTTPStatus.BAD_REQUEST)  # two lengths: who is before us may have read the other one
        headers.setdefault(name, found[2])
    return Head(words[0].decode(), words[1].decode(), headers)


def body_length(head: Head) -> int:
    """What is announced, within bounds."""
    if "transfer-encoding" in head.headers:
        raise RefusalError(HTTPStatus.LENGTH_REQUIRED)
    length = head.headers.get("content-length", b"")
    if not length:
        raise RefusalError(HTTPStatus.LENGTH_REQUIRED)
    if not length.isdigit():
        raise RefusalError(HTTPStatus.BAD_REQUEST)
    if len(length) > 12 or int(length) > MAX_BODY_BYTES:
        raise RefusalError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
    return int(length)


def is_signed(headers: Mapping[str, bytes], digest: str, secret: bytes) -> bool:
    """Whether one signature, or the token, is right. Each comparison takes a time that does not depend on the guess."""
    answers = [
        hmac.compare_digest(headers[name].lower(), prefix + digest.encode())
        for name, prefix in SIGNATURES.items()
        if name in headers
    ]
    if TOKEN in headers:
        answers.append(hmac.compare_digest(headers[TOKEN], secret))
    return any(answers)


def source_of(path: str, sources: Sequence[str]) -> str:
    """`/forge:community?x` and `/forge%3Acommunity` name `forge:community`; only names that were allowed do."""
    name = unquote(path.partition("?")[0]).strip("/")
    if name not in sources:
        raise RefusalError(HTTPStatus.NOT_FOUND)
    return name


def wish(folder: Path, source: str) -> bool:
    """Leave it; False when it is there already. What is there is neither opened nor followed."""
    try:
        os.close(os.open(folder / source, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o640))
    except FileExistsError:
        return False
    return True


class Receiver:
    def __init__(self, secret: bytes, sources: Sequence[str], wanted: Path) -> None:
        self._secret = secret
        self._sources = sources
        self._wanted = wanted
        self._open = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, one request."""
        self._open += 1
        status = HTTPStatus.SERVICE_UNAVAILABLE
        try:
            if self._open <= MAX_CONNECTIONS:
                async with asyncio.timeout(REQUEST_S):
                    status = await self._answer(reader, writer)
        except RefusalError as refusal:
            status = refusal.status
        except TimeoutError:
            status = HTTPStatus.REQUEST_TIMEOUT
        except (ConnectionError, asyncio.IncompleteReadError):
            status = HTTPStatus.BAD_REQUEST
        finally:
            self._open -= 1
            text = f"{status.phrase}\n"
            writer.write(
                f"HTTP/1.1 {status} {status.phrase}\r\nContent-Type: text/plain\r\n"
                f"Content-Length: {len(text)}\r\nConnection: close\r\n\r\n{text}".encode()
            )
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> HTTPStatus:
        try:
            head = read_head(await reader.readuntil(b"\r\n\r\n"))
        except asyncio.LimitOverrunError:
            raise RefusalError(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE) from None
        if head.method != "POST":
            raise RefusalError(HTTPStatus.METHOD_NOT_ALLOWED)
        length = body_length(head)
        if head.headers.get("expect", b"").lower() == b"100-continue":
            writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        digest = hmac.new(self._secret, digestmod="sha256")
        async for piece in pieces(reader, length):
            digest.update(piece)
        if not is_signed(head.headers, digest.hexdigest(), self._secret):
            say("webhook.refused", why="signature")
            raise RefusalError(HTTPStatus.FORBIDDEN)
        source = source_of(head.path, self._sources)
        try:
            is_new = wish(self._wanted, source)
        except OSError as error:
            say("webhook.not_left", source=source, why=error.strerror or "")
            raise RefusalError(HTTPStatus.SERVICE_UNAVAILABLE) from error
        say("webhook.wanted" if is_new else "webhook.wanted_already", source=source)
        return HTTPStatus.ACCEPTED


async def pieces(reader: asyncio.StreamReader, length: int) -> AsyncIterator[bytes]:
    while length:
        piece = await reader.read(min(length, 64 << 10))
        if not piece:
            raise RefusalError(HTTPStatus.BAD_REQUEST)
        length -= len(piece)
        yield piece


def say(event: str, **keys: str) -> None:
    print(f"event={event}", *(f"{key}={value!r}" for key, value in keys.items()), file=sys.stderr, flush=True)  # noqa: T201


def read_secret(directory: str | None) -> bytes:
    """ValueError says what is wrong with it, and quotes nothing."""
    if not directory:
        raise ValueError("there is no credential directory (start it through systemd, or set CREDENTIALS_DIRECTORY)")
    file = Path(directory) / "webhook-secret"
    try:
        secret = file.read_bytes().strip()
    except OSError as error:
        raise ValueError(f"{file}: cannot be read: {error.strerror} (docs/triggers.md says how to make it)") from error
    if len(secret) < LEAST_SECRET_BYTES:
        raise ValueError(f"{file}: is shorter than {LEAST_SECRET_BYTES} characters (openssl rand -hex 32)")
    return secret


async def run(listen: str, receiver: Receiver) -> None:
    """Until SIGTERM or SIGINT."""
    host, _, port = listen.rpartition(":")
    over = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, over.set)
    server = await asyncio.start_server(receiver.serve, host.strip("[]"), int(port), limit=MAX_HEAD_BYTES)
    async with server:
        say("webhook.listening", at=":".join(map(str, server.sockets[0].getsockname()[:2])))
        await over.wait()


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="webhook", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("sources", nargs="+", metavar="SOURCE", help="a source that may be asked for")
    parser.add_argument("--listen", default="127.0.0.1:8087", metavar="HOST:PORT")
    parser.add_argument("--wanted", type=Path, default=Path("/run/sources/wanted"), metavar="FOLDER")
    given = parser.parse_args(arguments)
    for name in given.sources:
        if not _NAME.fullmatch(name):
            parser.error(f"{name[:40]!r} is no name of a source (take the one in sources.toml)")
    if not re.fullmatch(r".+:\d{1,5}", given.listen):
        parser.error("--listen: expected HOST:PORT, like 127.0.0.1:8087")
    try:
        secret = read_secret(os.environ.get("CREDENTIALS_DIRECTORY"))
    except ValueError as error:
        print(f"webhook: {error}", file=sys.stderr)  # noqa: T201
        return 4
    try:
        asyncio.run(run(given.listen, Receiver(secret, given.sources, given.wanted)))
    except OSError as error:
        print(f"webhook: {given.listen}: cannot listen: {error.strerror} (choose another --listen)", file=sys.stderr)  # noqa: T201
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
