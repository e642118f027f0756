"""A forge on loopback: listings as Forgejo, GitHub and GitLab give them, and git beside them, with faults to order."""

import json
import shutil
import threading
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import formatdate
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlencode, urlsplit

from tests.forge.git_repos import Files, Origin
from tests.forge.http_git import GitServer, _Handler

LONG_AGO = "2026-01-01T00:00:00Z"


@dataclass
class Hosted:
    """A repository of the forge. `git_fault` is what git meets there."""

    id: int
    owner: str
    name: str
    origin: Origin | None
    visibility: str = "public"
    flags: set[str] = field(default_factory=set)
    pushed_at: str = LONG_AGO
    git_fault: str = ""

    @property
    def full_name(self) -> str:
        return f"{self.owner}/{self.name}"


@dataclass
class ForgeServer(GitServer):
    """`api_fault` is what API requests meet whose address has `api_only_for` in it: hang, cut, html, page (the same one
    for ever), or a status with `api_headers`; `api_faults_left` ends it after so many requests."""

    kind: str = "forgejo"
    hosted: list[Hosted] = field(default_factory=list)
    owners: set[str] = field(default_factory=lambda: {"club", "others"})
    token: str = ""
    wants_login: bool = False  # nobody is answered without a token, whatever is public
    clone_origin: str = ""  # of another server, that clone addresses name
    most_per_page: int = 50
    has_link: bool = True
    has_total: bool = True
    has_etags: bool = False
    api_fault: str = ""
    api_only_for: str = ""
    api_headers: dict[str, str] = field(default_factory=dict)
    api_faults_left: int = 10**9
    api_requests: list[str] = field(default_factory=list)
    tokens_seen: list[str] = field(default_factory=list)
    is_not_modified: int = 0
    at_once: int = 0  # requests of git that are being answered
    most_at_once: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)
    numbers: Iterator[int] = field(default_factory=lambda: count(101))

    def handler(self) -> type[_Handler]:
        return _ForgeHandler

    def host(self, full_name: str, files: Files | None = None, **facts: Any) -> Hosted:
        """A new repository, with one commit of `files`, or empty."""
        owner, _, name = full_name.rpartition("/")
        origin = Origin.at(self.root / owner / f"{name}.git")
        if files is not None:
            origin.commit(files)
        made = Hosted(next(self.numbers), owner, name, origin, **facts)
        self.hosted.append(made)
        return made

    def delete(self, full_name: str) -> None:
        gone = self.one(full_name)
        self.hosted.remove(gone)
        assert gone.origin is not None
        shutil.rmtree(gone.origin.path)

    def list_only(self, owner: str, many: int) -> None:
        """Repositories that git would not find: for tests of the listing alone."""
        for number in range(many):
            self.hosted.append(Hosted(next(self.numbers), owner, f"repo{number:04}", None))

    def push(self, hosted: Hosted, files: Files, *, is_forced: bool = False) -> None:
        assert hosted.origin is not None
        hosted.origin.commit(files, is_forced=is_forced)
        hosted.pushed_at = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")

    def rename(self, hosted: Hosted, full_name: str) -> None:
        owner, _, name = full_name.rpartition("/")
        assert hosted.origin is not None
        target = self.root / owner / f"{name}.git"
        target.parent.mkdir(parents=True, exist_ok=True)
        hosted.origin.path.rename(target)
        hosted.origin.path = target
        hosted.owner, hosted.name = owner, name

    def one(self, full_name: str) -> Hosted:
        return next(repo for repo in self.hosted if repo.full_name == full_name)


class _ForgeHandler(_Handler):
    git: ForgeServer
    protocol_version = "HTTP/1.1"  # as of a real one: connections are used again

    def _answer(self, body: bytes) -> None:
        if self.path.startswith("/api/"):
            self._answer_api()
            return
        with self.git.lock:
            self.git.at_once += 1
            self.git.most_at_once = max(self.git.most_at_once, self.git.at_once)
        try:
            self._answer_git(body)
        finally:
            with self.git.lock:
                self.git.at_once -= 1

    def _answer_git(self, body: bytes) -> None:
        repo = next((one for one in self.git.hosted if self.path.startswith(f"/{one.full_name}.git/")), None)
        self.git.requests.append(f"{self.command} {self.path}")
        if told := self.headers.get("Authorization"):
            self.git.logins_seen.append(told)
        if repo is None or repo.origin is None:
            self._send(404, b"", {})
        elif repo.git_fault == "hang":
            self.git.released.wait(60)
        elif repo.git_fault:
            self._send(int(repo.git_fault), b"no", {"Content-Type": "text/plain"})
        elif (repo.visibility != "public" or self.git.wants_login) and not self._has_token():
            self._send(401, b"", {"WWW-Authenticate": 'Basic realm="forge"'})
        else:
            self._serve(body, is_cut=False)

    def _has_token(self) -> bool:
        told = self.headers.get("Authorization", "")
        by_git = b64encode(f"{'x-access-token' if self.git.kind == 'github' else 'oauth2'}:{self.git.token}".encode())
        return bool(self.git.token) and told in (
            f"token {self.git.token}", f"Bearer {self.git.token}", f"Basic {by_git.decode()}",
        )  # fmt: skip

    def _answer_api(self) -> None:
        git = self.git
        git.api_requests.append(self.path)
        if told := self.headers.get("Authorization"):
            git.tokens_seen.append(told)
        fault = git.api_fault if git.api_only_for in self.path and git.api_faults_left > 0 else ""
        if fault:
            git.api_faults_left -= 1
        if fault == "hang":
            git.released.wait(60)
        elif fault == "html":
            self._send(200, b"<!doctype html><p>Welcome", {"Content-Type": "text/html"})
        elif fault == "redirect":
            self._send(307, b"", {"Location": git.redirect_to + self.path})
        elif fault.isdigit():
            self._send(int(fault), b"{}", {"Date": formatdate(usegmt=True), **git.api_headers})
        elif (told or git.wants_login) and not self._has_token():
            self._send(401, b"{}", {})
        else:
            self._answer_listing(fault)

    def _answer_listing(self, fault: str) -> None:
        parts = urlsplit(self.path)
        steps = [unquote(step) for step in parts.path.split("/")[3:]]
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        seen = [one for one in self.git.hosted if one.visibility == "public" or self._has_token()]
        if steps[0] in ("repositories", "projects"):
            found = [self._entry(one) for one in seen if str(one.id) == steps[1]]
            self._send_json(found[0] if found else None, {}, is_cut=False)
            return
        mine = [one for one in seen if one.full_name.startswith(f"{steps[1]}/")]
        if steps[1] not in self.git.owners:
            self._send(404, b"{}", {})
            return
        size = min(int(query.get("limit", query.get("per_page", "30"))), self.git.most_per_page)
        page = 1 if fault == "page" else int(query.get("page", "1"))
        entries = [self._entry(one) for one in mine[(page - 1) * size : page * size]]
        headers: dict[str, str] = {}
        if self.git.has_total:
            headers["X-Total" if self.git.kind == "gitlab" else "X-Total-Count"] = str(len(mine))
        if self.git.has_link and page * size < len(mine):
            following = urlencode(query | {"page": str(page + 1)})
            # As behind a proxy: the address is not the one that was asked. Nobody may follow it.
            headers["Link"] = f'<http://elsewhere.invalid{parts.path}?{following}>; rel="next"'
        self._send_json(entries, headers, is_cut=fault == "cut")

    def _send_json(self, content: object, headers: dict[str, str], *, is_cut: bool) -> None:
        if content is None:
            self._send(404, b"{}", {})
            return
        data = json.dumps(content).encode()
        headers |= {"Content-Type": "application/json"}
        if self.git.has_etags:
            headers["ETag"] = f'"{sha256(data).hexdigest()[:16]}"'
            if self.headers.get("If-None-Match") == headers["ETag"]:
                self.git.is_not_modified += 1
                self._send(304, b"", headers)
                return
        if is_cut:
            self.close_connection = True
        self._send(200, data, headers, sent=len(data) // 2 if is_cut else None)

    def _entry(self, one: Hosted) -> dict[str, Any]:
        url = f"{self.git.clone_origin or self.git.origin}/{one.full_name}.git"
        if self.git.kind == "gitlab":
            return {
                "id": one.id, "path_with_namespace": one.full_name, "http_url_to_repo": url, "default_branch": "main",
                "visibility": one.visibility, "archived": "archived" in one.flags, "empty_repo": "empty" in one.flags,
                "mirror": "mirror" in one.flags, "last_activity_at": one.pushed_at,
                **({"forked_from_project": {"id": 1}} if "fork" in one.flags else {}),
            }  # fmt: skip
        entry = {
            "id": one.id, "full_name": one.full_name, "clone_url": url, "default_branch": "main",
            "private": one.visibility == "private", "archived": "archived" in one.flags, "fork": "fork" in one.flags,
        }  # fmt: skip
        if self.git.kind == "github":
            return entry | {
                "visibility": one.visibility, "is_template": "template" in one.flags, "pushed_at": one.pushed_at,
                "mirror_url": "git://example.org/x" if "mirror" in one.flags else None,
            }  # fmt: skip
        return entry | {
            "internal": one.visibility == "internal", "empty": "empty" in one.flags, "mirror": "mirror" in one.flags,
            "template": "template" in one.flags, "updated_at": one.pushed_at, "owner": {"login": one.owner},
        }  # fmt: skip


def make_forge(root: Path, **facts: Any) -> ForgeServer:
    root.mkdir(parents=True, exist_ok=True)
    return ForgeServer(root, **facts)
