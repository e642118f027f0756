"""Logs: names, ids, counts. Whatever else gets in is scrubbed, short and on one line."""

import io
import json
import logging
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from sources import logs


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()


def logged(level: str = "info", style: str = "json") -> io.StringIO:
    stream = io.StringIO()
    logs.configure(level, style, stream)
    return stream


def test_an_event_is_one_json_line_with_flat_keys() -> None:
    stream = logged()
    structlog.get_logger().info("forge.fetched", source="repo:docs", files=3)
    record = json.loads(stream.getvalue())
    assert record.pop("timestamp").endswith("Z")
    assert record == {"level": "info", "event": "forge.fetched", "source": "repo:docs", "files": 3}


def test_a_plain_event_begins_with_level_and_name() -> None:
    stream = logged(style="plain")
    structlog.get_logger().warning("forge.clone_failed", source="repo:docs")
    assert stream.getvalue().startswith("level=warning event=forge.clone_failed ")


def test_a_credential_in_any_value_is_scrubbed() -> None:
    token = "gh" + "p_" + "a1B2c3D4e5" * 3 + "F6g7H8"
    address = "https://me:" + "zebra" + "Quartz71" + "@example.org/x"
    for style in ("json", "plain"):
        stream = logged(style=style)
        structlog.get_logger().info("a.b", url=address, error=ValueError(address), nested={"url": address})
        logging.getLogger("library").warning("went to %s with %s", address, token)
        assert "zebraQuartz71" not in stream.getvalue()


def test_a_library_is_heard_from_info_and_never_below() -> None:
    stream = logged("debug")
    logging.getLogger("library").debug("a whole response")
    logging.getLogger("nio.events.misc").error("the content of an event")
    logging.getLogger("httpx").info("GET https://example.org/?q=secret+question")
    logging.getLogger("library").info("fine")
    assert [json.loads(line)["event"] for line in stream.getvalue().splitlines()] == ["fine"]


def test_a_value_cannot_forge_a_line_or_fill_the_disk() -> None:
    stream = logged(style="plain")
    structlog.get_logger().info("a.b", path="x\nlevel=error event=forged\x1b[2J", long="y" * 100_000)
    assert len(stream.getvalue().splitlines()) == 1
    assert "\x1b" not in stream.getvalue()
    assert len(stream.getvalue()) < 5_000


def test_what_is_below_the_level_is_not_logged() -> None:
    stream = logged("warning")
    structlog.get_logger().info("a.b")
    assert stream.getvalue() == ""


@pytest.fixture
def journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """A socket in the place of the journal's, and a standard error that systemd says leads to it."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as taker, (tmp_path / "stderr").open("w") as stderr:
        taker.bind(str(tmp_path / "journal"))
        taker.settimeout(5)
        status = os.fstat(stderr.fileno())
        monkeypatch.setenv("JOURNAL_STREAM", f"{status.st_dev}:{status.st_ino}")
        logs.configure("info", "auto", stderr, journal=tmp_path / "journal")
        yield taker


def entry(taker: socket.socket) -> dict[str, str]:
    return dict(line.split("=", 1) for line in taker.recv(1 << 16).decode().splitlines())


def test_below_systemd_an_event_is_an_entry_with_fields(journal: socket.socket) -> None:
    structlog.get_logger().warning("chat.gap_given_up", room_id="!r:hs", is_old=True, nothing=None)
    assert entry(journal) == {
        "MESSAGE": "event=chat.gap_given_up room_id=!r:hs is_old=true",
        "PRIORITY": "4",
        "SYSLOG_IDENTIFIER": "sources",
        "SOURCES_EVENT": "chat.gap_given_up",
        "SOURCES_ROOM_ID": "!r:hs",
        "SOURCES_IS_OLD": "true",
    }


def test_no_value_and_no_library_makes_a_field_of_its_own(journal: socket.socket) -> None:
    structlog.get_logger().info("a.b", value="x\nMESSAGE=forged\r\nPRIORITY=0", **{"odd-key": 1})
    told = entry(journal)
    assert (told["PRIORITY"], told["SOURCES_ODD_KEY"]) == ("6", "1")
    assert "forged" in told["SOURCES_VALUE"] and "forged" not in told["MESSAGE"].split(" ")[0]
    logging.getLogger("library").error("two\nlines")
    assert entry(journal)["SOURCES_EVENT"] == "two ⏎ lines"


def test_where_the_journal_takes_nothing_the_line_goes_to_standard_error(
    journal: socket.socket, tmp_path: Path
) -> None:
    journal.close()
    structlog.get_logger().error("refresh.source_failed", source="repo:a")
    assert (tmp_path / "stderr").read_text() == "event=refresh.source_failed source=repo:a\n"


def test_a_stream_that_only_claims_to_be_the_journal_gets_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOURNAL_STREAM", "1:2")
    stream = logged(style="auto")
    structlog.get_logger().info("a.b")
    assert stream.getvalue().startswith("level=info event=a.b")
