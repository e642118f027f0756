"""Repositories over HTTP on loopback, by `git http-backend`, with faults to order."""

import subprocess
import sys
import threading
from base64 import b64encode
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from tests.forge.git_repos import ENVIRONMENT
from tests.loopback import in_a_thread

PAGE = b"<!doctype html><html><body>Welcome</body></html>"


@dataclass
class GitServer:
    """Serves the bare repositories below `root`. `fault` is what the next requests meet; `login` is then wanted."""

    root: Path
    fault: str = ""  # "", hang, page, cut, redirect, plain (files only), or a status like "404"
    only_for: str = ""  # a part of the path or query that the fault is for; empty: all
    redirect_to: str = ""
    login: tuple[str, str] | None = None
    logins_seen: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def __enter__(self) -> Self:
        self.asked, self.released = threading.Event(), threading.Event()
        handler = type("Handler", (self.handler(),), {"git": self})
        http = _Server(("127.0.0.1", 0), handler)
        http.daemon_threads = True
        self._serving = in_a_thread(http)
        self.origin = self._serving.__enter__()
        return self

    def handler(self) -> "type[_Handler]":
        return _Handler

    def __exit__(self, *_: object) -> None:
        self.released.set()
        self._serving.__exit__(None, None, None)

    def url(self, name: str) -> str:
        return f"{self.origin}/{name}"


class _Server(ThreadingHTTPServer):
    def handle_error(self, *where: object) -> None:
        """Who asked may be gone: tests give up early on purpose."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(*where)  # type: ignore[arg-type]


class _Handler(BaseHTTPRequestHandler):
    git: GitServer

    def do_GET(self) -> None:
        self._answer(b"")

    def do_POST(self) -> None:
        self._answer(self.rfile.read(int(self.headers.get("Content-Length", "0"))))

    def log_message(self, *_: object) -> None:
        pass

    def _answer(self, body: bytes) -> None:
        self.git.requests.append(f"{self.command} {self.path}")
        self.git.asked.set()
        if told := self.headers.get("Authorization"):
            self.git.logins_seen.append(told)
        fault = self.git.fault if self.git.only_for in self.path else ""
        if fault == "hang":
            self.git.released.wait(60)
        elif fault == "page":
            self._send(200, PAGE, {"Content-Type": "text/html"})
        elif fault == "redirect":
            self._send(307, b"", {"Location": self.git.redirect_to + self.path})
        elif fault == "plain":
            self._send_file(self.git.root / urlsplit(self.path).path.lstrip("/"))
        elif fault.isdigit():
            self._send(int(fault), b"no", {"Content-Type": "text/plain"})
        elif not self._is_known():
            self._send(401, b"", {"WWW-Authenticate": 'Basic realm="git"'})
        else:
            self._serve(body, is_cut=fault == "cut")

    def _send_file(self, path: Path) -> None:
        if path.is_file():
            self._send(200, path.read_bytes(), {"Content-Type": "text/plain"})
        else:
            self._send(404, b"", {})

    def _is_known(self) -> bool:
        if self.git.login is None:
            return True
        wanted = b64encode(":".join(self.git.login).encode()).decode()
        return self.headers.get("Authorization") == f"Basic {wanted}"

    def _serve(self, body: bytes, *, is_cut: bool) -> None:
        parts = urlsplit(self.path)
        environment = ENVIRONMENT | {
            "GIT_PROJECT_ROOT": str(self.git.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": parts.path,
            "QUERY_STRING": parts.query,
            "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "REMOTE_ADDR": "127.0.0.1",
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "safe.directory",
            "GIT_CONFIG_VALUE_0": "*",
        }
        done = subprocess.run(
            ["git", "http-backend"], env=environment, input=body, capture_output=True, check=False, cwd="/"
        )
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if ": " in line)
        status = int(headers.pop("Status", "200").split()[0])
        self._send(status, content, headers, sent=len(content) // 2 if is_cut else None)

    def _send(self, status: int, content: bytes, headers: dict[str, str], *, sent: int | None = None) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[:sent])
