"""Logs: names, ids, counts. Whatever else gets in is scrubbed, short and on one line."""

import io
import json
import logging
from collections.abc import Iterator

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
