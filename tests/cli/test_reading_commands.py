"""`status`, `toc`, `get` and `grep`: what is there, read afresh, with nothing secret in it."""

import json
import secrets

import pytest

from index.errors import ForgeError, QueryError, StoreError
from index.model import ChunkId, EventId, RoomId
from sources.reading import Reference, parse_reference
from tests.cli.conftest import Community


@pytest.mark.parametrize(
    ("text", "reference"),
    [
        ("handbook ops/keys.md:12-30", Reference(source="handbook", path="ops/keys.md", lines=(12, 30))),
        (
            "handbook ops/keys.md:12-30 › Keys › Rotation",
            Reference(source="handbook", path="ops/keys.md", lines=(12, 30)),
        ),
        ("repo:handbook ops/keys.md", Reference(source="repo:handbook", path="ops/keys.md")),
        ("handbook/ops/keys.md:7", Reference(source="handbook", path="ops/keys.md", lines=(7, 7))),
        ("notes:wiki a b.md", Reference(source="notes:wiki", path="a b.md")),
        ("123", Reference(chunk=ChunkId(123))),
        ("!room $event", Reference(room=RoomId("!room"), event=EventId("$event"))),
        (
            "https://matrix.to/#/%21room%3Ahs/%24event?via=hs",
            Reference(room=RoomId("!room:hs"), event=EventId("$event")),
        ),
    ],
)
def test_a_reference_is_what_a_hit_is_cited_with(text: str, reference: Reference) -> None:
    assert parse_reference(text) == reference


@pytest.mark.parametrize("text", ["", "handbook", "handbook a.md:9-3", "handbook a.md:0", "1" * 30, "!room event"])
def test_a_reference_that_names_nothing_is_refused(text: str) -> None:
    with pytest.raises(QueryError, match="reference"):
        parse_reference(text)


def test_status_shows_sources_counts_and_what_was_never_indexed(indexed: Community) -> None:
    told = json.loads(indexed.sources("status", "--json").stdout)
    assert [(one["source"], one["documents"], one["public"], one["fault"]) for one in told["sources"]] == [
        ("repo:handbook", 2, True, None)
    ]
    assert told["missing"] == ["notes:wiki"]
    assert told["well"] is False
    result = indexed.sources("status")
    assert result.return_value == 1
    assert "never indexed" in result.stdout


def test_status_without_an_index_says_what_to_do(community: Community) -> None:
    with pytest.raises(StoreError, match="run `sources refresh`"):
        community.sources("status")


def test_toc_lists_files_by_folder_with_their_tags(indexed: Community) -> None:
    lines = indexed.sources("toc").stdout.splitlines()
    assert "repo:handbook ops/" in lines
    assert any(line.split()[0] == "keys.md" and line.endswith("ops security") for line in lines if line)
    told = json.loads(indexed.sources("toc", "--tag", "security", "--json").stdout)
    assert [entry["path"] for entry in told["entries"]] == ["ops/keys.md"]
    assert indexed.sources("toc", "--tag", "nobody").return_value == 1
    with pytest.raises(QueryError, match="there are: repo:handbook, notes:wiki"):
        indexed.sources("toc", "--source", "handbok")


def test_get_reads_lines_of_a_file_as_they_are_now(indexed: Community) -> None:
    assert indexed.sources("get", "handbook", "ops/keys.md:8-10").stdout == (
        "## Rotation\n\nRotate the signing key once a year.\n"
    )
    indexed.commit("ops/keys.md", "# Keys\n\nNever rotate.\n")
    assert indexed.sources("get", "handbook ops/keys.md").stdout == "# Keys\n\nNever rotate.\n"
    assert indexed.sources("get", "wiki", "guides/start.md:1").stdout == "# Start\n"


def test_get_takes_the_number_of_a_chunk(indexed: Community) -> None:
    import asyncio

    from index.model import DocumentId
    from index.store.reading import document_chunks
    from index.store.store import open_store

    async def first_chunk() -> ChunkId:
        async with open_store(indexed.folder / "state" / "index.sqlite", is_writer=False) as store:
            return (await document_chunks(store.connection, DocumentId("repo:handbook bin/send")))[0].chunk.id

    told = json.loads(indexed.sources("get", str(asyncio.run(first_chunk())), "--json").stdout)
    assert told["path"] == "bin/send"
    assert "Sends the reports." in told["text"]
    with pytest.raises(QueryError, match="no chunk 12345"):
        indexed.sources("get", "12345")


@pytest.mark.parametrize(
    "path",
    [
        "../outside.md",
        "guides/../../outside.md",
        "guides/../private.md",
        r"guides/\x2e\x2e/private.md",
        "guides//start.md",
        "guides/./start.md",
        "guides/.hidden/x.md",
        r"guides/\x2ehidden/x.md",
        r"guides/st\x61rt.md",
        "private.md",
        "guides/none.md",
    ],
)
def test_get_reads_only_notes_that_are_allowed(indexed: Community, path: str) -> None:
    wiki = indexed.folder / "wiki"
    (wiki / "guides" / ".hidden").mkdir()
    for place in (indexed.folder / "outside.md", wiki / "private.md", wiki / "guides" / ".hidden" / "x.md"):
        place.write_text("x")
    with pytest.raises(ForgeError):
        indexed.sources("get", "wiki", path)


def test_get_beyond_the_end_says_how_long_the_file_is(indexed: Community) -> None:
    with pytest.raises(QueryError, match="has 4 lines, not 90"):
        indexed.sources("get", "handbook", "bin/send:90")


def test_get_of_a_dead_remote_gives_what_is_cloned_and_says_so(indexed: Community) -> None:
    (indexed.folder / "handbook").rename(indexed.folder / "moved")
    result = indexed.sources("get", "handbook", "bin/send:1")
    assert result.stdout == "#!/bin/sh\n"
    assert "as of the last refresh" in result.stderr


def test_grep_finds_code_and_notes_and_is_never_stale(indexed: Community) -> None:
    assert indexed.sources("grep", "sendreports").stdout == 'handbook bin/send:4: exec sendreports --now "$@"\n'
    assert (
        "wiki guides/start.md:3: Read about the signing key first.\n" in indexed.sources("grep", "signing key").stdout
    )
    indexed.commit("bin/new", "brandnewword\n")
    assert indexed.sources("grep", "brandnewword").return_value == 0
    assert indexed.sources("grep", "nobodywrotethis").return_value == 1


def test_grep_knows_case_expressions_and_limits(indexed: Community) -> None:
    assert indexed.sources("grep", "ROTATE THE").return_value == 1
    assert indexed.sources("grep", "-i", "ROTATE THE").return_value == 0
    assert indexed.sources("grep", "-E", "sign(ing|ed) key").return_value == 0
    assert indexed.sources("grep", "sign(ing|ed) key").return_value == 1
    assert json.loads(indexed.sources("grep", "-n", "1", "e", "--json").stdout)["cut"] is True
    with pytest.raises(QueryError, match="not a regular expression"):
        indexed.sources("grep", "-E", "(")


@pytest.mark.parametrize("pattern", ["", "Read\nnothing", "x" * 1001])
def test_grep_refuses_for_notes_what_it_refuses_for_repositories(indexed: Community, pattern: str) -> None:
    with pytest.raises(QueryError, match=r"^pattern: .*\(.+\)$"):
        indexed.sources("grep", pattern, "--source", "wiki")


def test_grep_reads_sets_alike_everywhere_and_refuses_for_notes_what_could_take_for_ever(indexed: Community) -> None:
    assert indexed.sources("grep", "-E", "send[[:alpha:]]+", "--source", "handbook").return_value == 0
    assert indexed.sources("grep", "-E", "sign[[:alpha:]]+ key", "--source", "wiki").return_value == 0
    (indexed.folder / "wiki" / "guides" / "long.md").write_text("a" * 5_000 + "b\n")
    assert indexed.sources("grep", "-E", "(a+)+$", "--source", "wiki").return_value == 1
    for pattern in (r"(a)\1", "a{99999999}"):
        with pytest.raises(QueryError, match=r"^pattern: is not a regular expression that notes .* \(leave .*\)$"):
            indexed.sources("grep", "-E", pattern, "--source", "wiki")


def test_a_secret_in_a_source_is_not_shown(indexed: Community) -> None:
    word = "zebra" + secrets.token_hex(8)
    indexed.commit("deploy.env", f"# for deploy\nDATABASE_URL=postgres://app:{word}@db.example.org/app\n")
    for arguments in (["get", "handbook", "deploy.env"], ["grep", "DATABASE_URL"], ["grep", word, "--json"]):
        assert word not in indexed.sources(*arguments).output


def test_hostile_text_gives_the_terminal_no_orders(indexed: Community) -> None:
    indexed.commit("hostile.txt", "needle \x1b[2J\x1b]0;owned\x07 \u202eevil\n")
    for arguments in (["get", "handbook", "hostile.txt"], ["grep", "needle"]):
        assert "\x1b" not in indexed.sources(*arguments).output
        assert "\u202e" not in indexed.sources(*arguments).output


@pytest.mark.parametrize("command", [("status",), ("search", "signing key"), ("toc",), ("rooms",), ("audit",)])
def test_a_damaged_index_is_told_in_one_line_with_what_to_do(indexed: Community, command: tuple[str, ...]) -> None:
    """Its first pages are sound, as after a disk that lost some writes."""
    file = indexed.folder / "state" / "index.sqlite"
    sound, damaged = file.read_bytes()[:8192], len(file.read_bytes()) - 8192
    file.write_bytes(sound + b"\x55" * damaged)
    with pytest.raises(StoreError, match=r"index\.sqlite: cannot be read: .* \(look with `sources verify`"):
        indexed.sources(*command)


def test_rooms_without_chat_names_the_table_that_is_missing(indexed: Community) -> None:
    told = indexed.sources("rooms")
    assert (told.return_value, told.stdout) == (
        0,
        "no rooms: there is no [chat] in the configuration (see docs/chat.md)\n",
    )
