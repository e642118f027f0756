"""`sources audit` from outside: each finding met in a real index, nothing written, and an alert that says no secret."""

import json
import re
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from index.errors import ConfigError
from sources.alerting import AlertError
from tests.cli.conftest import Community
from tests.loopback import in_a_thread


def checks(community: Community, *arguments: str) -> dict[str, list[str]]:
    """Subjects by check."""
    told = json.loads(community.sources("audit", "--json", *arguments).stdout)
    found: dict[str, list[str]] = {}
    for one in told["findings"]:
        found.setdefault(one["check"], []).append(one["subject"])
    return found


@pytest.fixture
def fresh(community: Community) -> Community:
    assert community.sources("refresh").return_value == 0
    return community


def test_a_fresh_index_has_nothing_to_report(fresh: Community) -> None:
    result = fresh.sources("audit")
    assert (result.return_value, result.stdout) == (0, "Nothing to report.\n")
    assert fresh.sources("audit", "--quiet").stdout == ""
    assert json.loads(fresh.sources("audit", "--json").stdout)["ok"] is True


def test_without_an_index_every_source_was_never_indexed(community: Community) -> None:
    result = community.sources("audit")
    assert result.return_value == 1
    assert re.search(r"error +index_drift +repo:handbook +was never indexed", result.stdout)
    assert checks(community) == {"index_drift": ["notes:wiki", "repo:handbook"]}
    assert not (community.folder / "state").exists()


def test_a_page_grows_stale_as_days_go_by(fresh: Community) -> None:
    fresh.commit("ops/old.md", "---\nlast_verified: 2026-01-10\n---\n# Old\n\nText.\n")
    fresh.sources("refresh")
    page = "repo:handbook ops/old.md"
    assert "stale" not in checks(fresh, "--today", "2026-03-01")
    assert checks(fresh, "--today", "2026-06-20")["due_soon"] == [page]
    assert checks(fresh, "--today", "2026-12-01")["stale"] == [page]


def test_a_quiet_audit_shows_only_what_makes_it_fail(fresh: Community) -> None:
    """A line of cron mails whatever is printed."""
    fresh.commit("ops/new.md", "# New\n")
    assert fresh.sources("audit", "--quiet", "--fail-on", "error").stdout == ""
    assert fresh.sources("audit", "--quiet", "--fail-on", "never").stdout == ""
    assert "repo:handbook" in fresh.sources("audit", "--quiet").stdout


def test_what_makes_it_fail_is_chosen(fresh: Community) -> None:
    fresh.commit("ops/new.md", "# New\n")
    assert fresh.sources("audit").return_value == 1
    assert fresh.sources("audit", "--fail-on", "error").return_value == 0
    assert fresh.sources("audit", "--fail-on", "never").return_value == 0


def test_sources_that_changed_vanished_or_left_are_told_apart(fresh: Community) -> None:
    fresh.commit("ops/new.md", "# New\n")
    (fresh.folder / "wiki" / "guides" / "more.md").write_text("# More\n")
    told = json.loads(fresh.sources("audit", "--json").stdout)
    details = {one["subject"]: one["detail"] for one in told["findings"]}
    assert details["notes:wiki"] == "changed since it was indexed: 1 changed"
    assert details["repo:handbook"].startswith("changed since it was indexed: it is at ")
    (fresh.folder / "handbook").rename(fresh.folder / "moved")
    (fresh.folder / "wiki").rename(fresh.folder / "unmounted")
    told = json.loads(fresh.sources("audit", "--json").stdout)
    severities = {one["subject"]: one["severity"] for one in told["findings"]}
    assert severities == {"notes:wiki": "error", "repo:handbook": "error"}
    text = fresh.config_file.read_text()
    fresh.config_file.write_text(text[: text.index("[[notes]]")].replace('"handbook"', '"moved"', 1))
    told = json.loads(fresh.sources("audit", "--json").stdout)
    assert {one["subject"]: one["detail"][:22] for one in told["findings"]}["notes:wiki"] == "is indexed and no longe"[
        :22
    ]


def test_a_refresh_that_never_comes_is_overdue(fresh: Community) -> None:
    assert checks(fresh, "--today", "2030-01-01")["refresh_overdue"] == ["notes:wiki", "repo:handbook"]


def test_other_settings_than_the_index_was_built_with_are_an_error(fresh: Community) -> None:
    text = fresh.config_file.read_text().replace("embed =", 'index = { languages = ["en"] }\nembed =')
    fresh.config_file.write_text(text)
    assert checks(fresh) == {"contract_drift": ["index"]}


def test_texts_that_wait_long_for_vectors_are_told(community: Community) -> None:
    dead = (
        'embed = { kind = "http", url = "http://127.0.0.1:9", model = "m", dimension = 8, document_timeout = "200ms" }'
    )
    text = community.config_file.read_text()
    community.config_file.write_text(text.replace('embed = { kind = "off" }', dead))
    community.sources("refresh")
    assert "pending_vectors" not in checks(community)
    assert checks(community, "--today", "2030-01-01")["pending_vectors"] == ["index"]
    community.config_file.write_text(text.replace('"off"', '"hashing"'))
    community.sources("refresh", "--full")
    assert "pending_vectors" not in checks(community, "--today", "2030-01-01")


def test_a_folder_that_no_source_reads_is_told(fresh: Community) -> None:
    (fresh.folder / "wiki" / "forgotten").mkdir()
    (fresh.folder / "wiki" / "forgotten" / "a.md").write_text("# A\n")
    [folder] = checks(fresh)["coverage"]
    assert folder.endswith("wiki/forgotten")


def test_an_audit_writes_nothing(fresh: Community) -> None:
    def state() -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in (fresh.folder / "state").glob("index.sqlite")}

    before = state()
    fresh.commit("ops/new.md", "# New\n")
    fresh.sources("audit")
    assert state() == before


class Inbox(HTTPServer):
    """Takes what Apprise posts to `json://`."""

    def __init__(self, status: int = 200) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.status = status
        self.received: list[dict[str, str]] = []


class _Handler(BaseHTTPRequestHandler):
    server: Inbox

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.received.append(json.loads(body))
        self.send_response(self.server.status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        return None


@pytest.fixture
def inbox(fresh: Community) -> Iterator[Inbox]:
    server = Inbox()
    with in_a_thread(server) as url:
        folder = fresh.folder / "credentials"
        folder.mkdir(mode=0o700)
        secret = folder / "audit-alert-url"
        secret.write_text(f"json://user:{PASSWORD}@{url.removeprefix('http://')}\n")
        secret.chmod(0o600)
        text = fresh.config_file.read_text()
        audit = 'audit = { alert_credential = "audit-alert-url" }\n'
        fresh.config_file.write_text(text.replace("embed =", f"{audit}embed ="))
        yield server


PASSWORD = "-".join(("not", "for", "others"))


def alerted(community: Community, *arguments: str) -> tuple[int, str]:
    folder = str(community.folder / "credentials")
    result = community.sources("--credentials-dir", folder, "audit", "--alert", *arguments)
    return result.return_value, result.output


def test_an_alert_says_what_fails_and_only_then_is_sent(fresh: Community, inbox: Inbox) -> None:
    assert alerted(fresh)[0] == 0
    assert inbox.received == []
    fresh.commit("ops/new.md", "# New\n")
    code, output = alerted(fresh)
    assert code == 1
    [message] = inbox.received
    assert message["title"] == "sources audit: 1 warning"
    assert message["message"].startswith("warning: index_drift: repo:handbook: changed")
    assert PASSWORD not in output


def test_an_alert_that_is_not_delivered_is_an_error_without_the_address(
    fresh: Community, inbox: Inbox, capfd: pytest.CaptureFixture[str]
) -> None:
    inbox.status = 500
    fresh.commit("ops/new.md", "# New\n")
    with pytest.raises(AlertError, match="not delivered") as error:
        alerted(fresh)
    assert PASSWORD not in str(error.value)
    assert PASSWORD not in "".join(capfd.readouterr())


def test_an_alert_without_an_address_says_what_to_set(fresh: Community) -> None:
    fresh.commit("ops/new.md", "# New\n")
    with pytest.raises(ConfigError, match="alert_credential"):
        fresh.sources("audit", "--alert")
