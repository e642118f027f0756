"""The receiver of forge webhooks, as a process of its own on loopback: who is heard, and what nobody can do to it."""

import hmac
import http.client
import os
import secrets
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

RECEIVER = Path(__file__).parents[2] / "examples" / "webhook.py"
BODY = b'{"ref": "refs/heads/main"}'


@dataclass(slots=True)
class Running:
    process: subprocess.Popen[str]
    port: int
    secret: str
    wanted: Path

    def signature(self, body: bytes = BODY) -> str:
        return hmac.new(self.secret.encode(), body, "sha256").hexdigest()

    def post(self, path: str, body: bytes = BODY, /, **headers: str) -> int:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        connection.request("POST", path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        status = connection.getresponse().status
        connection.close()
        return status

    def raw(self, *sent: bytes, is_ended: bool = True) -> bytes:
        """What is answered to bytes as they are."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=10) as channel:
            for piece in sent:
                channel.sendall(piece)
            if is_ended:
                channel.shutdown(socket.SHUT_WR)
            answer = b""
            while piece := channel.recv(65536):
                answer += piece
            return answer

    def wishes(self) -> set[str]:
        return {path.name for path in self.wanted.iterdir()}


def start(credentials: Path, *arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-I", str(RECEIVER), "--listen", "127.0.0.1:0", *arguments],
        env={"CREDENTIALS_DIRECTORY": str(credentials)},
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.fixture
def receiver(tmp_path: Path) -> Iterator[Running]:
    secret = secrets.token_hex(32)
    (tmp_path / "webhook-secret").write_text(f"{secret}\n")
    (tmp_path / "wanted").mkdir()
    with start(tmp_path, "--wanted", str(tmp_path / "wanted"), "handbook", "forge:community") as process:
        assert process.stderr
        port = int(process.stderr.readline().strip().rstrip("'").rpartition(":")[2])
        yield Running(process, port, secret, tmp_path / "wanted")
        process.send_signal(signal.SIGTERM)
        said = process.stderr.read()
    assert process.returncode == 0, said
    assert secret not in said and "Traceback" not in said and "Error" not in said, said


def test_each_forge_is_heard_by_its_own_signature(receiver: Running) -> None:
    signature = receiver.signature()
    assert receiver.post("/handbook", X_Hub_Signature_256=f"sha256={signature}") == 202
    assert receiver.wishes() == {"handbook"}
    (receiver.wanted / "handbook").unlink()
    for header in ("X_Gitea_Signature", "X_Forgejo_Signature", "X_Gogs_Signature"):
        assert receiver.post("/forge:community", **{header: signature}) == 202
        (receiver.wanted / "forge:community").unlink()
    assert receiver.post("/forge%3Acommunity?x=1", X_Gitlab_Token=receiver.secret) == 202
    assert receiver.wishes() == {"forge:community"}
    assert (receiver.wanted / "forge:community").read_bytes() == b""


def test_deliveries_are_one_wish_until_it_is_taken(receiver: Running) -> None:
    for _ in range(20):
        assert receiver.post("/handbook", X_Gitea_Signature=receiver.signature()) == 202
    assert receiver.wishes() == {"handbook"}
    (receiver.wanted / "handbook").unlink()  # as the unit does before it reads
    assert receiver.post("/handbook", X_Gitea_Signature=receiver.signature()) == 202
    assert receiver.wishes() == {"handbook"}


def test_who_does_not_know_the_secret_is_not_heard_and_does_not_learn_which_sources_there_are(
    receiver: Running,
) -> None:
    signature = receiver.signature()
    for headers in (
        {},
        {"X_Hub_Signature_256": ""},
        {"X_Hub_Signature_256": signature},  # without what stands before it
        {"X_Hub_Signature_256": f"sha256={signature[:-1]}"},
        {"X_Hub_Signature_256": f"sha1={signature}"},
        {"X_Hub_Signature": f"sha256={signature}"},
        {"X_Gitea_Signature": receiver.signature(b"another body")},
        {"X_Gitea_Signature": "é" * 64},
        {"X_Gitlab_Token": receiver.secret[:-1]},
        {"X_Gitlab_Token": signature},
        {"Authorization": f"Bearer {receiver.secret}"},
    ):
        assert {receiver.post(path, **headers) for path in ("/handbook", "/other")} == {403}, headers
    assert receiver.wishes() == set()


def test_a_name_is_one_that_was_allowed_or_none(receiver: Running) -> None:
    for path in ("/", "/other", "/../handbook", "/%2e%2e%2fhandbook", "/handbook/x", "/handbook%00", "//x//handbook"):
        assert receiver.post(path, X_Gitea_Signature=receiver.signature()) == 404, path
    assert receiver.wishes() == set()


def test_what_is_planted_in_the_folder_is_neither_opened_nor_followed(receiver: Running, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("content")
    (receiver.wanted / "handbook").symlink_to(precious)
    os.mkfifo(receiver.wanted / "forge:community")
    for path in ("/handbook", "/forge:community"):
        assert receiver.post(path, X_Gitea_Signature=receiver.signature()) == 202
    assert precious.read_text() == "content"


def test_a_folder_that_is_gone_is_told_so_that_the_forge_tries_again(receiver: Running) -> None:
    receiver.wanted.rmdir()
    assert receiver.post("/handbook", X_Gitea_Signature=receiver.signature()) == 503
    receiver.wanted.mkdir()
    assert receiver.post("/handbook", X_Gitea_Signature=receiver.signature()) == 202


NO_REQUESTS = (
    (b"", 400),
    (b"\r\n\r\n", 400),
    (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400),  # TLS
    (b"GET /handbook HTTP/1.1\r\n\r\n", 405),
    (b"PUT /handbook HTTP/1.1\r\nContent-Length: 0\r\n\r\n", 405),
    (b"POST /handbook HTTP/2\r\n\r\n", 400),
    (b"POST /hand book HTTP/1.1\r\n\r\n", 400),
    (b"POST /h\xc3\xa9 HTTP/1.1\r\n\r\n", 400),
    (b"POST /handbook HTTP/1.1\r\n\r\n", 411),
    (b"POST /handbook HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 411),
    (b"POST /handbook HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400),
    (b"POST /handbook HTTP/1.1\r\nContent-Length: +5\r\n\r\n", 400),
    (b"POST /handbook HTTP/1.1\r\nContent-Length: \xb2\r\n\r\n", 400),
    (b"POST /handbook HTTP/1.1\r\nContent-Length: 26214401\r\n\r\n", 413),
    (b"POST /handbook HTTP/1.1\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\n", 413),
    (b"POST /handbook HTTP/1.1\r\nContent-Length: 2\r\nContent-Length: 4\r\n\r\n1234", 400),
    (b"POST /handbook HTTP/1.1\r\nContent-Length: 9\r\n\r\n1234", 400),  # ends before its end
    (b"POST /handbook HTTP/1.1\r\nA\x00B: c\r\n\r\n", 400),
    (b"POST /handbook HTTP/1.1\r\n folded: x\r\n\r\n", 400),
    (b"POST /" + b"a" * 20_000 + b" HTTP/1.1\r\n\r\n", 431),
    (b"POST / HTTP/1.1\r\n" + b"a: b\r\n" * 4000 + b"\r\n", 431),
)


def test_what_is_no_request_gets_a_short_no(receiver: Running) -> None:
    for sent, status in NO_REQUESTS:
        answer = receiver.raw(sent)
        assert answer.split(b" ")[1] == str(status).encode(), (sent[:60], answer)
        assert len(answer) < 200
    assert receiver.wishes() == set()
    assert receiver.post("/handbook", X_Gitea_Signature=receiver.signature()) == 202


def test_a_large_delivery_that_asks_first_is_taken_in_pieces(receiver: Running) -> None:
    body = b"x" * (8 << 20)
    head = (
        f"POST /handbook HTTP/1.1\r\nContent-Length: {len(body)}\r\nExpect: 100-continue\r\n"
        f"X-Hub-Signature-256: sha256={receiver.signature(body)}\r\n\r\n"
    )
    answer = receiver.raw(head.encode(), body)
    assert answer.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 202 Accepted\r\n")
    resident = int(Path(f"/proc/{receiver.process.pid}/status").read_text().split("VmHWM:")[1].split()[0])
    assert resident < 60_000  # kB: less than a body or two more than Python itself


def test_many_who_say_nothing_keep_nobody_else_out_for_long(receiver: Running) -> None:
    """Beyond a number of connections each is told to come back; those that left make room."""
    silent = [socket.create_connection(("127.0.0.1", receiver.port), timeout=10) for _ in range(70)]
    assert silent[-1].recv(100).startswith(b"HTTP/1.1 503")
    for one in silent:
        one.close()
    statuses = {receiver.post("/handbook", X_Gitea_Signature=receiver.signature()) for _ in range(3)}
    assert 202 in statuses


@pytest.mark.parametrize(
    ("secret", "arguments", "code", "said"),
    [
        (None, ["handbook"], 4, "webhook-secret: cannot be read: No such file or directory"),
        ("hunter-two", ["handbook"], 4, "is shorter than 16 characters"),
        ("long enough to be one", [], 2, "the following arguments are required: SOURCE"),
        ("long enough to be one", ["../handbook"], 2, "'../handbook' is no name of a source"),
        ("long enough to be one", ["handbook", "--listen", "8087"], 2, "expected HOST:PORT"),
        ("long enough to be one", ["handbook", "--listen", "192.0.2.1:1"], 3, "192.0.2.1:1: cannot listen"),
    ],
)
def test_a_wrong_setting_ends_in_one_clear_line(
    tmp_path: Path, secret: str | None, arguments: list[str], code: int, said: str
) -> None:
    if secret is not None:
        (tmp_path / "webhook-secret").write_text(secret)
    with start(tmp_path, *arguments) as process:
        _, told = process.communicate(timeout=30)
    assert process.returncode == code, told
    assert said in told.splitlines()[-1]
    assert secret is None or secret not in told
