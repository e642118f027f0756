"""Settings that a page names as `table.key` are there to be set."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from sources.config.decode import settings
from sources.config.model import Config
from tests.docs.log_events import log_events

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])


def named(table: type, at: str = "") -> Iterator[str]:
    """Every setting and table, with the tables it is in before it."""
    for setting in settings(table):
        yield at + setting.key
        if setting.table is not None:
            yield from named(setting.table, f"{at}{setting.key}.")


NAMED = frozenset(named(Config))
TABLES = {name.partition(".")[0] for name in NAMED if "." in name}
FILES = {"bot.sqlite"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_setting_that_a_page_names_is_one(page: Path) -> None:
    told = re.findall(rf"`((?:{'|'.join(sorted(TABLES))})\.[a-z_.]+)`", page.read_text())
    assert set(told) - NAMED - log_events().keys() - FILES == set()


def test_the_settings_are_found() -> None:
    assert {"chat.grace", "index.qdrant.url", "repo.validate.required", "bot.room"} <= NAMED
