"""A whole forge, listing and git, through `run_refresh`: what is in the index is what the forge lets be read."""

import asyncio
import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from index.errors import QueryError
from ingest.report import Outcome
from sources.app import run_refresh
from sources.cli.main import group
from sources.config.load import parse
from tests.forge.forge_place import TOKEN, Place, faults, outcomes, page
from tests.forge.forge_server import Hosted, make_forge


def test_what_is_listed_is_read_and_the_second_run_asks_nothing_but_the_listing(place: Place) -> None:
    for name in ("docs", "tools", "site"):
        place.forge.host(f"club/{name}", page(name))
    place.forge.host("club/bare", None, flags={"empty"})
    place.forge.host("club/copy", page("copy"), flags={"fork"})
    place.forge.host("others/thing", page("thing"))
    report = place.refresh()
    assert not faults(report)
    assert place.documents() == {f"club/{name}": ["README.md"] for name in ("docs", "site", "tools")}
    assert report.sources[0].skipped == {"fork": 1}
    place.forge.requests.clear()
    place.forge.api_requests.clear()
    second = place.refresh()
    assert {one.outcome for one in second.sources} == {Outcome.UNCHANGED}
    assert place.forge.requests == []
    assert len(place.forge.api_requests) == 1


def test_a_push_a_new_repository_and_a_force_push_are_read(place: Place) -> None:
    docs, tools = place.forge.host("club/docs", page("docs")), place.forge.host("club/tools", page("tools"))
    place.refresh()
    place.forge.push(docs, page("docs") | {b"more.md": b"# More\n\ntext\n"})
    place.forge.push(tools, {b"other.md": b"# Rewritten\n\ntext\n"}, is_forced=True)
    place.forge.host("club/late", page("late"))
    report = place.refresh()
    assert not faults(report)
    assert place.documents() == {
        "club/docs": ["README.md", "more.md"],
        "club/late": ["README.md"],
        "club/tools": ["other.md"],
    }


def test_a_push_that_the_time_cannot_tell_apart_is_found(place: Place) -> None:
    """Two pushes within a second have one time; the forge's word counts only once that time is past."""
    docs = place.forge.host("club/docs", page("docs"))
    place.forge.push(docs, page("first"))
    place.refresh()
    assert docs.origin is not None
    docs.origin.commit(page("second"))
    place.refresh()
    assert place.found("second")


def test_a_forge_whose_times_prove_nothing_is_asked_by_git(place: Place) -> None:
    place.forge.kind = "gitlab"
    docs = place.forge.host("club/docs", page("docs"))
    place.refresh()
    assert docs.origin is not None
    docs.origin.commit(page("silent"))
    assert outcomes(place.refresh())["club/docs"] is Outcome.UPDATED
    assert place.found("silent")


def test_the_word_of_the_forge_is_not_taken_when_the_host_says_so(place: Place) -> None:
    docs = place.forge.host("club/docs", page("docs"))
    place.settings["trust"] = '"0s"'
    place.refresh()
    assert docs.origin is not None
    docs.origin.commit(page("silent"))
    assert outcomes(place.refresh())["club/docs"] is Outcome.UPDATED


def test_no_more_repositories_are_asked_at_once_than_the_host_allows(place: Place) -> None:
    place.forge.list_only("club", 8)
    place.settings["parallel"] = "2"
    assert len(faults(place.refresh())) == 8
    assert 1 <= place.forge.most_at_once <= 2


def test_a_renamed_and_a_transferred_repository_keep_what_is_indexed(place: Place) -> None:
    place.settings["organisations"] = '["club", "others"]'
    docs, tools = place.forge.host("club/docs", page("docs")), place.forge.host("club/tools", page("tools"))
    place.refresh()
    kept = "SELECT document.id, chunk.id, chunk_key FROM chunk JOIN document USING (document_key) ORDER BY 1"
    before, cursors = place.rows(kept), place.rows("SELECT source_key, position FROM source ORDER BY 1")
    place.forge.rename(docs, "club/handbook")
    place.forge.rename(tools, "others/docs")
    place.forge.requests.clear()
    report = place.refresh()
    assert not faults(report)
    assert sorted(report.sources[0].notes) == ["club/docs is now club/handbook", "club/tools is now others/docs"]
    assert sum(one.documents for one in report.sources) == 0
    assert place.documents() == {"club/handbook": ["README.md"], "others/docs": ["README.md"]}
    assert (place.rows(kept), place.rows("SELECT source_key, position FROM source ORDER BY 1")) == (before, cursors)
    clones = {path.name for path in (place.folder / "state/clones/forge-here").glob("*.git")}
    place.forge.push(docs, page("handbook"))
    assert outcomes(place.refresh())["club/handbook"] is Outcome.UPDATED
    assert {path.name for path in (place.folder / "state/clones/forge-here").glob("*.git")} == clones


def test_two_repositories_that_swap_their_names_swap_their_sources(place: Place) -> None:
    one, two = place.forge.host("club/one", page("apples")), place.forge.host("club/two", page("pears"))
    place.refresh()
    place.forge.rename(one, "club/between")
    place.forge.rename(two, "club/one")
    place.forge.rename(one, "club/two")
    report = place.refresh()
    assert not faults(report)
    assert place.found("apples") == ["forge:here/club/two"]
    assert place.found("pears") == ["forge:here/club/one"]


def test_a_name_that_is_given_to_a_new_repository_is_another_source(place: Place) -> None:
    place.forge.host("club/docs", page("apples"))
    place.refresh()
    place.forge.delete("club/docs")
    place.forge.host("club/docs", page("pears"))
    report = place.refresh()
    assert not faults(report)
    assert not place.found("apples")
    assert place.found("pears") == ["forge:here/club/docs"]


def test_what_vanished_or_turned_private_is_in_no_byte_of_the_index(place: Place) -> None:
    for name in ("docs", "gone", "shy", "left"):
        place.forge.host(f"club/{name}", page(f"{name}berry"))
    place.refresh()
    place.forge.hosted.remove(place.forge.one("club/gone"))
    place.forge.one("club/shy").visibility = "private"
    place.forge.rename(place.forge.one("club/left"), "others/left")
    report = place.refresh()
    assert not faults(report)
    removed = {one.source: one.notes for one in report.sources if one.outcome is Outcome.REMOVED}
    assert removed == {
        "forge:here/club/gone": ("not there any more, or not to be seen",),
        "forge:here/club/left": ("belongs to somebody else now",),
        "forge:here/club/shy": ("not there any more, or not to be seen",),
    }
    assert place.documents() == {"club/docs": ["README.md"]}
    data = b"".join(path.read_bytes() for path in (place.folder / "state").glob("index.sqlite*"))
    assert b"docsberry" in data
    assert not [word for word in (b"goneberry", b"shyberry", b"leftberry") if word in data]
    assert len(list((place.folder / "state/clones/forge-here").glob("*.git"))) == 1


def test_nothing_of_a_repository_that_is_not_public_is_in_what_everybody_may_see(place: Place) -> None:
    place.give_token()
    place.settings["visibility"] = '["public", "internal", "private"]'
    place.forge.host("club/open", page("shared open"))
    place.forge.host("club/inner", page("shared inner"), visibility="internal")
    turning = place.forge.host("club/turning", page("shared turning"))
    place.forge.host("club/shut", page("shared shut"), visibility="private")
    assert not faults(place.refresh())
    everybody = {"forge:here/club/open", "forge:here/club/turning"}
    assert set(place.found("shared")) == everybody | {"forge:here/club/inner", "forge:here/club/shut"}
    assert set(place.found("shared", public=True)) == everybody
    turning.visibility = "private"
    turning.git_fault = "500"  # even if nothing of it can be read now
    turning.pushed_at = "2026-02-02T00:00:00Z"
    assert set(faults(place.refresh())) == {"club/turning"}
    assert set(place.found("shared", public=True)) == {"forge:here/club/open"}
    turning.visibility, turning.git_fault = "public", ""
    assert not faults(place.refresh())
    assert set(place.found("shared", public=True)) == everybody


def test_a_listing_that_fails_deletes_nothing_and_says_why(place: Place) -> None:
    place.forge.host("club/docs", page("docs"))
    place.forge.list_only("club", 60)
    for hosted in place.forge.hosted[1:]:
        hosted.flags.add("empty")
    place.refresh()
    before = place.documents()
    place.source_timeout = "1s"  # it takes no longer to fail when nothing is answered at all
    place.forge.api_only_for = "page=2"
    for fault, said in (
        ("401", "wants a login"),
        ("404", "has no organisation"),
        ("429", "rate limit"),
        ("503", "asks to wait"),
        ("hang", "not done after 1 s"),
    ):
        place.forge.api_fault, place.forge.api_headers = fault, {"Retry-After": "600"}
        report = place.refresh()
        assert [one.outcome for one in report.sources] == [Outcome.FAILED]
        assert str(report.sources[0].fault).startswith("forge here (http://127.0.0.1:")
        assert said in str(report.sources[0].fault)
        assert place.documents() == before
    place.forge.api_fault, place.source_timeout = "", "30s"
    assert not faults(place.refresh())
    assert place.rows("SELECT fault FROM source WHERE id = 'forge:here'") == [(None,)]


def test_one_owner_whose_listing_fails_stops_no_other_and_loses_nothing(place: Place) -> None:
    place.settings["organisations"] = '["club", "others"]'
    docs, gone = place.forge.host("club/docs", page("docs")), place.forge.host("club/gone", page("gone"))
    place.forge.host("others/thing", page("thing"))
    place.refresh()
    place.forge.hosted.remove(gone)
    place.forge.push(docs, page("fresh"))
    place.forge.api_fault, place.forge.api_only_for = "404", "/others/"
    report = place.refresh()
    assert "nothing was removed" in faults(report)["forge:here"]
    assert place.found("fresh")
    assert set(place.documents()) == {"club/docs", "club/gone", "others/thing"}


def test_one_that_left_the_listing_and_cannot_be_looked_up_is_hidden_until_it_can(place: Place) -> None:
    place.forge.host("club/docs", page("docs"))
    place.forge.host("club/lost", page("lostberry"))
    place.refresh()
    lost = place.forge.one("club/lost")
    lost.visibility = "private"
    place.forge.api_fault, place.forge.api_only_for = "403", "/repositories/"
    assert "hidden until" in faults(place.refresh())["forge:here"]
    assert not place.found("lostberry")
    assert place.rows("SELECT count(*) FROM document") == [(2,)]
    place.forge.api_fault, lost.visibility = "", "public"
    assert not faults(place.refresh())
    assert place.found("lostberry")


def test_every_fault_of_a_repository_is_its_own_line_and_the_rest_is_indexed(place: Place) -> None:
    hangs = place.forge.host("club/hangs", page("hangs"))
    place.forge.host("club/well", page("well"))
    for name, fault in (("fails", "500"), ("missing", "404"), ("locked", "401")):
        place.forge.host(f"club/{name}", page(name), git_fault=fault)
    place.forge.hosted.append(Hosted(900, "club", "nowhere", None))
    broken = {f"club/{name}" for name in ("fails", "missing", "locked", "nowhere")}
    report = place.refresh()
    assert set(faults(report)) == broken
    assert all("\n" not in fault and fault.endswith(")") for fault in faults(report).values())
    assert set(place.documents()) == {"club/hangs", "club/well"}
    hangs.git_fault, hangs.pushed_at, place.settings["timeout"] = "hang", "2026-02-02T00:00:00Z", '"2s"'
    assert set(faults(place.refresh())) >= {"club/hangs"}
    assert set(place.documents()) == {"club/hangs", "club/well"}
    for hosted in place.forge.hosted:
        hosted.git_fault = ""
    place.forge.hosted.pop()
    del place.settings["timeout"]
    assert not faults(place.refresh())
    assert len(place.documents()) == 5


def test_a_forge_that_is_no_longer_configured_leaves_the_index_with_its_clones(place: Place) -> None:
    place.forge.host("club/docs", page("docs"))
    place.refresh()
    config = parse('state_dir = "state"\nembed = { kind = "off" }\n', name="sources.toml", base=place.folder)
    report = asyncio.run(run_refresh(config, place.credentials))
    assert {one.outcome for one in report.sources} == {Outcome.REMOVED}
    assert place.rows("SELECT count(*) FROM source") == [(0,)]
    assert place.rows("SELECT count(*) FROM forge_repo") == [(0,)]
    assert not list((place.folder / "state/clones").glob("forge-*"))
    assert not faults(place.refresh())
    assert place.documents() == {"club/docs": ["README.md"]}


def test_another_forge_under_the_same_name_shares_nothing_with_the_old_one(place: Place, tmp_path: Path) -> None:
    place.forge.host("club/docs", page("apples"))
    place.refresh()
    with make_forge(tmp_path / "second") as other:
        other.host("club/docs", page("pears"))
        second = Place(tmp_path, other)
        assert not faults(second.refresh())
        assert not second.found("apples")
        assert second.found("pears")


def test_a_full_run_reads_everything_again_and_changes_nothing(place: Place) -> None:
    place.forge.has_etags = True
    place.forge.host("club/docs", page("docs"))
    place.refresh()
    before = place.rows("SELECT id, digest FROM chunk")
    place.forge.requests.clear()
    report = place.refresh(is_full=True)
    assert not faults(report)
    assert outcomes(report)["club/docs"] is Outcome.UPDATED
    assert place.forge.requests
    assert place.rows("SELECT id, digest FROM chunk") == before


def test_nothing_is_public_on_a_forge_that_answers_nobody_without_an_account(place: Place) -> None:
    place.give_token()
    place.settings["visibility"] = '["public", "internal"]'
    place.forge.has_etags = True
    place.forge.host("club/docs", page("docs"))
    place.refresh()
    assert place.found("docs", public=True)
    place.forge.wants_login = True
    assert not faults(place.refresh())
    assert place.found("docs")
    assert not place.found("docs", public=True)
    place.settings["visibility"] = '["public"]'
    assert place.refresh().sources[0].skipped == {"internal": 1}
    assert place.documents() == {}


@pytest.mark.parametrize("kind", ["forgejo", "github"])
def test_the_token_is_in_no_argument_file_log_or_database(place: Place, kind: str) -> None:
    place.forge.kind = kind
    place.give_token()
    place.settings["visibility"] = '["public", "private"]'
    place.forge.has_etags = True
    place.forge.host("club/open", page("open"))
    place.forge.host("club/shut", page("shut"), visibility="private")
    place.forge.host("club/broken", page("broken"), visibility="private", git_fault="500")
    file = place.folder / "sources.toml"
    file.write_text(place.text)
    with Watch() as watch:
        result = CliRunner().invoke(
            group,
            ["--config", str(file), "--credentials-dir", str(place.credentials.directory), "refresh", "-vv"],
            standalone_mode=False,
            catch_exceptions=False,
        )
    assert result.return_value == 3, result.output
    assert set(place.documents()) == {"club/open", "club/shut"}
    assert place.forge.tokens_seen, "the listing was asked without a token"
    assert place.forge.logins_seen, "git was never asked for a login"
    assert watch.count, "no process of git was seen"
    assert TOKEN not in watch.seen
    assert TOKEN not in result.output
    kept = [path for path in (place.folder / "state").rglob("*") if path.is_file()]
    assert any(path.name == "config" for path in kept)
    assert [path for path in kept if TOKEN.encode() in path.read_bytes()] == []


def test_the_token_is_told_to_no_other_server_that_a_clone_address_names(place: Place, tmp_path: Path) -> None:
    place.give_token()
    place.settings["visibility"] = '["public", "private"]'
    with make_forge(tmp_path / "elsewhere") as other:
        other.token = "another"
        elsewhere = other.host("club/docs", page("docs"), visibility="private")
        hosted = place.forge.host("club/docs", page("docs"), visibility="private")
        place.forge.clone_origin = other.origin
        assert "asks for a login" in faults(place.refresh())["club/docs"]
        assert other.logins_seen == []
        elsewhere.visibility = "public"
        hosted.pushed_at = "2026-02-02T00:00:00Z"
        assert not faults(place.refresh())


class Watch:
    """Reads the arguments and the environment of every process of this user, over and over, while it is open."""

    def __enter__(self) -> "Watch":
        self.seen, self.count, self._is_over = "", 0, threading.Event()
        self._known: set[bytes] = set()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()
        self.seen = b"\n".join(self._known).decode("utf-8", "replace")

    def _watch(self) -> None:
        while not self._is_over.wait(0.002):
            for name in os.listdir("/proc"):  # noqa: PTH208 # a Path for each would be too slow to see anything
                if name.isdigit():
                    self._read(f"/proc/{name}")

    def _read(self, process: str) -> None:
        try:
            with open(f"{process}/cmdline", "rb") as file:  # noqa: PTH123
                arguments = file.read()
            if b"git" not in arguments:
                return
            with open(f"{process}/environ", "rb") as file:  # noqa: PTH123
                environment = file.read()
        except OSError:
            return
        self.count += 1
        self._known |= {arguments, environment}


def test_status_and_check_know_the_forge(place: Place) -> None:
    place.forge.host("club/docs", page("docs"))
    file = place.folder / "sources.toml"
    file.write_text(place.text)

    def run(*arguments: str) -> Any:
        result = CliRunner().invoke(
            group, ["--config", str(file), *arguments, "--json"], standalone_mode=False, catch_exceptions=False
        )
        return json.loads(result.stdout)

    findings = {one["name"]: one for one in run("check")["findings"]}
    assert findings["forge here"]["verdict"] == "ok"
    assert "1 repository" in findings["forge here"]["detail"]
    place.forge.api_fault = "500"
    place.forge.api_headers = {"Retry-After": "600"}
    findings = {one["name"]: one for one in run("check")["findings"]}
    assert findings["forge here"]["verdict"] == "fail"


def test_a_hit_can_be_read_afresh_listed_and_grepped_under_each_of_its_names(place: Place) -> None:
    place.give_token()
    place.settings["visibility"] = '["public", "private"]'
    docs = place.forge.host("club/docs", {b"guide/keys.md": b"# Keys\n\nKept well.\n"}, visibility="private")
    place.forge.host("others/docs", page("docs"))
    place.settings["organisations"] = '["club", "others"]'
    place.refresh()
    file = place.folder / "sources.toml"
    file.write_text(place.text)

    def run(*arguments: str) -> Any:
        options = ["--config", str(file), "--credentials-dir", str(place.credentials.directory)]
        return CliRunner().invoke(group, [*options, *arguments], standalone_mode=False, catch_exceptions=False)

    hit = json.loads(run("search", "kept", "--json").stdout)["hits"][0]
    assert docs.origin is not None
    docs.origin.commit({b"guide/keys.md": b"# Keys\n\nKept better.\n"})
    for reference in (
        str(hit["ref"]),
        "forge:here/club/docs guide/keys.md:1-3 › Keys",
        "club/docs/guide/keys.md",
    ):
        assert "Kept better." in run("get", reference).stdout
    with pytest.raises(QueryError, match="could be forge:here/club/docs or forge:here/others/docs"):
        run("get", "docs guide/keys.md")
    with pytest.raises(QueryError, match="is not configured"):
        run("get", "club/other guide/keys.md")
    assert run("grep", "better", "--source", "club/docs").stdout == "club/docs guide/keys.md:3: Kept better.\n"
    assert "others/docs README.md" in run("grep", "about docs").stdout
    assert "keys.md" in run("toc", "--source", "club/docs").stdout
    assert "is not asked" in run("refresh", "--dry-run").stdout
