"""A throw-away homeserver: Synapse on a free loopback port, with SQLite, in a directory of the caller's.

It federates with nobody, asks nobody anything, and limits no rate. It ends with the process that started it, even
when that one is killed. Used by `sources demo` and by the tests; never meant to hold anything of worth.
"""

import base64
import hmac
import json
import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import httpx
from msgspec import Struct

from index.errors import MatrixError

PUPPET_NAMESPACES: Final = ("@telegram_.*", "@_bridge_.*")
"""Users that the one registered application service may speak for, unless others are named."""
BRIDGE_BOT: Final = "bridgebot"

_UNLIMITED: Final = {"per_second": 1_000_000, "burst_count": 1_000_000}
_START_ATTEMPTS: Final = 3  # another process may take the port between our look and Synapse's bind
_POLL_S: Final = 0.05

_LOGGING: Final = """\
version: 1
formatters: {{plain: {{format: '%(asctime)s %(levelname)s %(name)s: %(message)s'}}}}
handlers: {{file: {{class: logging.FileHandler, formatter: plain, filename: {path}}}}}
root: {{level: WARNING, handlers: [file]}}
disable_existing_loggers: false
"""


class Account(Struct, frozen=True):
    """Somebody who can sign in. The token does not expire."""

    user: str
    token: str
    password: str


class Homeserver:
    """Use as a context manager; it accepts requests from the first line of the block on."""

    def __init__(
        self,
        directory: Path,
        *,
        server_name: str = "hs.test",
        speaks_for: Sequence[str] = PUPPET_NAMESPACES,
        room_age_ms: int = 0,
        extra: Mapping[str, object] | None = None,
        start_timeout_s: float = 60.0,
    ) -> None:
        """`speaks_for` are patterns of localparts; the application service may speak in their name, and in the past,
        for which rooms can be made `room_age_ms` ago.

        `extra` holds further top-level settings of Synapse, which replace ours.
        """
        self.directory = directory
        self.server_name = server_name
        self.url = ""
        self.appservice_token = secrets.token_hex(16)
        self.log = directory / "homeserver.log"
        self.database = directory / "homeserver.db"
        self._speaks_for = tuple(speaks_for)
        self._room_age_ms = room_age_ms
        self._registration_secret = secrets.token_hex(16)
        self._extra = dict(extra or {})
        self._start_timeout_s = start_timeout_s
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def start(self) -> None:
        """Start and wait until it answers. Also starts it again, with all its data, after `stop`."""
        self.directory.mkdir(parents=True, exist_ok=True)
        for attempt in range(1, _START_ATTEMPTS + 1):
            self._launch(self._port() if attempt == 1 else _free_port())
            if self._answers_in_time():
                return
            self.stop()
            if not self._port_was_taken():
                break
        raise MatrixError(f"{self.log}: the throw-away homeserver did not start; its last words: {self._last_words()}")

    def stop(self) -> None:
        """End it at once. Nothing it holds is worth a slow goodbye; SQLite's journal keeps the data whole."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        if process.stdin:
            process.stdin.close()

    def register(self, localpart: str, *, is_admin: bool = False) -> Account:
        """A new account, through the shared-secret endpoint."""
        path = f"{self.url}/_synapse/admin/v1/register"
        password = secrets.token_hex(8)
        with http_on_loopback(timeout_s=30) as http:
            nonce = http.get(path).raise_for_status().json()["nonce"]
            body = registration(self._registration_secret, nonce, localpart, password, is_admin=is_admin)
            answer = http.post(path, json=body)
        if answer.status_code != httpx.codes.OK:
            raise MatrixError(f"{self.url}: could not register {localpart}: {answer.text[:200]} (take another name)")
        made = answer.json()
        return Account(user=made["user_id"], token=made["access_token"], password=password)

    def _port(self) -> int:
        return int(self.url.rpartition(":")[2]) if self.url else _free_port()

    def _launch(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        config = self._write_configuration(port)
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-P", str(Path(__file__).with_name("synapse_process.py")), "-c", config],
                cwd=self.directory,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env={**os.environ, **({"SOURCES_ROOM_AGE_MS": str(self._room_age_ms)} if self._room_age_ms else {})},
            )

    def _answers_in_time(self) -> bool:
        deadline_s = time.monotonic() + self._start_timeout_s
        with http_on_loopback(timeout_s=5) as http:
            while self._process and self._process.poll() is None and time.monotonic() < deadline_s:
                try:
                    if http.get(f"{self.url}/_matrix/client/versions").status_code == httpx.codes.OK:
                        return True
                except httpx.TransportError:
                    pass
                time.sleep(_POLL_S)
        return False

    def _port_was_taken(self) -> bool:
        return "Address already in use" in self.log.read_text(errors="replace")

    def _last_words(self) -> str:
        lines = self.log.read_text(errors="replace").strip().splitlines() if self.log.exists() else []
        return " | ".join(lines[-3:]) or "none (is matrix-synapse installed? make demo does it)"

    def _write_configuration(self, port: int) -> str:
        """JSON is YAML: Synapse reads these files as they are."""
        place = self.directory
        signing_key = place / "signing.key"
        if not signing_key.exists():
            seed = base64.b64encode(secrets.token_bytes(32)).decode().rstrip("=")
            signing_key.write_text(f"ed25519 a_demo {seed}\n")
        logging = place / "logging.yaml"
        logging.write_text(_LOGGING.format(path=json.dumps(str(self.log))))
        appservice = place / "appservice.yaml"
        appservice.write_text(json.dumps(self._appservice()))
        settings = {
            "server_name": self.server_name,
            "public_baseurl": f"{self.url}/",
            "pid_file": str(place / "homeserver.pid"),
            "listeners": [
                {
                    "port": port,
                    "type": "http",
                    "bind_addresses": ["127.0.0.1"],
                    "resources": [{"names": ["client"], "compress": False}],
                }
            ],
            "database": {"name": "sqlite3", "args": {"database": str(self.database)}},
            "log_config": str(logging),
            "media_store_path": str(place / "media"),
            "signing_key_path": str(signing_key),
            "registration_shared_secret": self._registration_secret,
            "macaroon_secret_key": secrets.token_hex(16),
            "form_secret": secrets.token_hex(16),
            "app_service_config_files": [str(appservice)],
            "report_stats": False,
            "trusted_key_servers": [],
            "federation_domain_whitelist": [],
            "presence": {"enabled": False},
            "url_preview_enabled": False,
            "bcrypt_rounds": 4,
            "max_upload_size": "1M",
            **dict.fromkeys(("rc_message", "rc_registration", "rc_admin_redaction", "rc_room_creation"), _UNLIMITED),
            **dict.fromkeys(("rc_joins_per_room", "rc_media_create", "rc_profile", "rc_user_directory"), _UNLIMITED),
            "rc_login": dict.fromkeys(("address", "account", "failed_attempts"), _UNLIMITED),
            "rc_joins": dict.fromkeys(("local", "remote"), _UNLIMITED),
            "rc_invites": dict.fromkeys(("per_room", "per_user", "per_issuer"), _UNLIMITED),
            **self._extra,
        }
        config = place / "homeserver.yaml"
        config.write_text(json.dumps(settings))
        return str(config)

    def _appservice(self) -> dict[str, object]:
        return {
            "id": "bridge",
            "url": None,  # it only speaks, nothing is pushed to it
            "as_token": self.appservice_token,
            "hs_token": secrets.token_hex(16),
            "sender_localpart": BRIDGE_BOT,
            "rate_limited": False,
            "namespaces": {
                "users": [
                    {"exclusive": False, "regex": f"{pattern}:{self.server_name}"} for pattern in self._speaks_for
                ],
                "aliases": [],
                "rooms": [],
            },
        }


def registration(secret: str, nonce: str, localpart: str, password: str, *, is_admin: bool) -> dict[str, object]:
    """The body that Synapse's shared-secret registration takes: a MAC over the fields, parted by NUL."""
    fields = [nonce, localpart, password, "admin" if is_admin else "notadmin"]
    mac = hmac.new(secret.encode(), "\0".join(fields).encode(), "sha1").hexdigest()
    return {"nonce": nonce, "username": localpart, "password": password, "admin": is_admin, "mac": mac}


def http_on_loopback(*, timeout_s: float, base_url: str = "") -> httpx.Client:
    """For plain HTTP on loopback: no proxies, and no time spent on certificates."""
    return httpx.Client(base_url=base_url, trust_env=False, verify=False, timeout=timeout_s)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
