"""`sources verify --deep` holds some repositories of a forge against the forge, with few requests."""

import json
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from index.store import driver
from sources import remaking
from sources.cli.main import group
from tests.forge.forge_place import Place, page
from tests.forge.forge_server import make_forge


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with make_forge(tmp_path / "forge") as forge:
        for name in ("club/docs", "club/keys"):
            forge.host(name, page(name[5:]))
        made = Place(tmp_path, forge)
        made.refresh()
        yield made


def deep(place: Place) -> dict[str, Any]:
    file = place.folder / "sources.toml"
    file.write_text(place.text)
    options = ["--config", str(file), "--credentials-dir", str(place.credentials.directory)]
    ended = CliRunner().invoke(
        group, [*options, "verify", "--deep", "--json"], standalone_mode=False, catch_exceptions=False
    )
    found: dict[str, Any] = json.loads(ended.stdout)
    assert (ended.return_value == 0) == found["ok"]
    return found


def asked(place: Place) -> list[str]:
    """Repositories, once for each time that somebody asked where they are."""
    return [
        request.split("/info/refs")[0].removeprefix("GET /") for request in place.forge.requests if "refs" in request
    ]


def spoil(place: Place, statement: str) -> None:
    with closing(driver.connector(place.folder / "state" / "index.sqlite", is_writer=True)()) as index:
        index.execute(statement)


def test_what_the_forge_has_is_what_is_indexed_and_each_repository_is_asked_once(place: Place) -> None:
    place.forge.requests.clear()
    place.forge.api_requests.clear()
    found = deep(place)
    assert (found["findings"], found["remade"]) == ([], {"documents": 2, "notes": []})
    assert sorted(asked(place)) == ["club/docs.git", "club/keys.git"]
    assert place.forge.api_requests == []


def test_a_renamed_repository_is_the_same_and_one_that_moved_on_is_compared_where_it_was(place: Place) -> None:
    place.forge.rename(place.forge.one("club/docs"), "club/manuals")
    place.refresh()
    place.forge.push(place.forge.one("club/keys"), page("locks"))
    found = deep(place)
    assert (found["findings"], found["remade"]) == ([], {"documents": 2, "notes": []})


def test_a_text_that_is_not_what_the_repository_says_is_told_with_its_remedy(place: Place) -> None:
    spoil(place, "UPDATE chunk SET body = replace(body, 'page is', 'page was') WHERE body LIKE '%keys%'")
    (fault,) = [one for one in deep(place)["findings"] if one["check"] == "remade"]
    assert (fault["check"], fault["count"]) == ("remade", 1)
    assert "forge:here/club/keys" in fault["what"] and "sources refresh" in fault["remedy"]


def test_a_repository_that_the_forge_gives_no_more_is_told_before_a_refresh_takes_it_out(place: Place) -> None:
    place.forge.delete("club/keys")
    place.forge.one("club/docs").git_fault = "401"
    found = deep(place)
    assert [(one["check"], one["what"].partition(" ")[0]) for one in found["findings"]] == [
        ("lost_at_forge", "forge:here/club/docs"),
        ("lost_at_forge", "forge:here/club/keys"),
    ]
    assert "sources refresh" in found["findings"][0]["remedy"]


def test_a_forge_that_cannot_be_asked_and_a_clone_that_is_missing_are_notes(place: Place) -> None:
    place.forge.one("club/keys").git_fault = "500"
    clones = place.folder / "state" / "clones" / "forge-here"
    (clone,) = (one for one in clones.iterdir() if one.is_dir() and str(place.forge.one("club/docs").id) in one.name)
    shutil.rmtree(clone)
    found = deep(place)
    assert found["findings"] == []
    assert found["remade"]["documents"] == 1
    docs, keys = sorted(found["remade"]["notes"])
    assert "club/docs" in docs and "not fetched yet" in docs
    assert "club/keys" in keys and "could not be asked" in keys


def test_of_many_repositories_few_are_asked(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remaking, "ASKED", 1)
    place.forge.requests.clear()
    assert deep(place)["remade"]["documents"] == 1
    assert len(asked(place)) == 1
