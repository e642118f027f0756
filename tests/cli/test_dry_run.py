"""A dry run says what would be read, and neither asks anybody nor writes anything."""

from pathlib import Path

from index.model import SourceId
from sources.config.load import load
from sources.dry_run import Expected, dry_run
from tests.cli.conftest import Community


async def expected(community: Community, *, only: tuple[str, ...] = (), is_full: bool = False) -> dict[str, Expected]:
    found = await dry_run(load(community.config_file), only=only, is_full=is_full)
    return {one.source: one for one in found}


def everything_in(folder: Path) -> set[tuple[str, int]]:
    return {(str(path), path.stat().st_mtime_ns) for path in folder.rglob("*") if path.is_file()}


async def test_before_the_first_refresh_everything_is_to_be_read(community: Community) -> None:
    before = everything_in(community.folder)
    found = await expected(community)
    assert found["repo:handbook"].put == ("bin/send", "ops/keys.md")
    assert found["notes:wiki"].put == ("guides/start.md",)
    assert everything_in(community.folder) == before


async def test_only_what_differs_from_the_index_is_to_be_read_or_removed(indexed: Community) -> None:
    assert (await expected(indexed))["repo:handbook"] == Expected(SourceId("repo:handbook"), unchanged=2)
    indexed.commit("ops/new.md", "# New\n")
    (indexed.folder / "handbook" / "bin" / "send").unlink()
    indexed.commit("README", "Read me.\n")
    found = (await expected(indexed))["repo:handbook"]
    assert (found.put, found.gone, found.unchanged) == (("README", "ops/new.md"), ("bin/send",), 1)


async def test_a_full_run_reads_everything_again(indexed: Community) -> None:
    assert (await expected(indexed, is_full=True))["repo:handbook"].put == ("bin/send", "ops/keys.md")


async def test_a_remote_is_not_asked(community: Community) -> None:
    text = community.config_file.read_text().replace('url = "handbook"', 'url = "https://localhost:9/never-asked"')
    community.config_file.write_text(text)
    found = (await expected(community))["repo:handbook"]
    assert (found.put, found.note) == ((), "nothing is known of it before the first refresh")


async def test_a_source_that_cannot_be_looked_at_is_told_and_the_others_go_on(community: Community) -> None:
    (community.folder / "wiki").rename(community.folder / "moved")
    found = await expected(community)
    assert found["notes:wiki"].note
    assert found["repo:handbook"].put
    assert set(await expected(community, only=("wiki",))) == {"notes:wiki"}
