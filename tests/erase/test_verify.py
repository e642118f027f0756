"""`sources verify` finds each way in which the tables can disagree, and a repair leaves what a refresh can build on."""

import json
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from index.store import driver, erase, fulltext, soundness
from index.text.tally import tally_of
from ingest.lock import write_lock
from sources.cli.main import group

PAGE = "# Backups\n\nHow the backups are made.\n\n## Restore\n\nRun the restore script on the standby server.\n"


class Community:
    """A repository, its configuration and its index; `change` spoils the index as no program of ours would."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "state" / "index.sqlite"
        repo = folder / "handbook"
        repo.mkdir()
        (repo / "backups.md").write_text(PAGE)
        (repo / "keys.md").write_text("# Keys\n\nKeys are rotated once a year.\n")
        identity = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
        for arguments in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "x"]):
            subprocess.run(["git", "-C", str(repo), *identity, *arguments], check=True, capture_output=True)
        (folder / "sources.toml").write_text(
            'state_dir = "state"\nembed = { kind = "hashing", dimension = 8 }\n'
            '[[repo]]\nname = "handbook"\nurl = "handbook"\n'
        )

    def sources(self, *arguments: str) -> Result:
        config = str(self.folder / "sources.toml")
        return CliRunner().invoke(
            group, ["--config", config, *arguments], standalone_mode=False, catch_exceptions=False
        )

    @contextmanager
    def index(self) -> Iterator[sqlite3.Connection]:
        with closing(driver.connector(self.file, is_writer=True)()) as connection:
            connection.execute("PRAGMA foreign_keys = OFF")
            yield connection

    def change(self, *statements: str) -> None:
        with self.index() as connection:
            for statement in statements:
                connection.execute(statement)
            for statement in fulltext.TAKE_IN:
                connection.execute(statement, (2**63 - 1,))

    def findings(self, *options: str) -> dict[str, int]:
        ended = self.sources("verify", "--json", *options)
        found = json.loads(ended.stdout)
        assert (ended.return_value == 0) == found["ok"]
        return {one["check"]: one["count"] for one in found["findings"]}

    def chunks(self) -> list[tuple[object, ...]]:
        with self.index() as connection:
            return list(connection.execute("SELECT id, title, body, keys, hex(digest) FROM chunk ORDER BY id"))


@pytest.fixture
def community(tmp_path: Path) -> Community:
    made = Community(tmp_path)
    assert made.sources("refresh").return_value == 0
    return made


ROOM = (
    "INSERT INTO room(room_key, id, title, alias, join_rule, visibility, is_joined, is_federated, outcome, findings,"
    " facts, state_ms, phase, is_stale, seen_visibility, last_order) VALUES"
    " (1, '!r:h', '', '', 'public', 'shared', 1, 0, 'admitted', '', '', 0, 'done', 0, 'shared', 0)",
    "INSERT INTO person VALUES (1, '@a:h')",
    "INSERT INTO chat_window VALUES (1, 1, '$1', '', 0, 0, 1)",
    "INSERT INTO ledger(event_key, room_key, event, person_key, type, position, claimed_ms, sent_ms, body, flags,"
    " reply_to, window_key, is_waiting) VALUES (1, 1, '$1', 1, 'm.room.message', 1, 1, 1, 'hello', 0, '', 1, 0)",
    "INSERT INTO source(source_key, id, corpus) VALUES (99, 'chat:!r:h', 'chat')",
    "INSERT INTO document(document_key, id, source_key, kind, title, room, revision, has_link, payload)"
    " VALUES (999, 'chat:!r:h $1', 99, 'window', '', '!r:h', 'r', 0, '{}')",
    "INSERT INTO chunk(chunk_key, id, document_key, ordinal, size, title, body, keys, heading, flags, messages, digest)"
    " VALUES (99 << 32 | 1, 12345, 999, 0, 2, '', 'a: hello', '', '[]', '[]', '[[\"$1\", \"@a:h\", 1, 3, 8]]', x'01')",
    f"INSERT INTO tally VALUES (99 << 32 | 1, x'{tally_of('', 'a: hello', '').hex()}')",
    "INSERT INTO chunk_sender VALUES ('@a:h', 99 << 32 | 1)",
    "INSERT INTO part(chunk_key, ordinal, first, past, digest) VALUES (99 << 32 | 1, 0, 0, 8, x'01')",
    "UPDATE source SET next_chunk = 1 WHERE source_key = 99",
)
SPOILT = {
    "words": ["INSERT INTO words(words, rowid, title, body, keys) SELECT 'delete', chunk_key, title, 'other', keys"
              " FROM chunk LIMIT 1"],
    "grams": ["INSERT INTO grams(rowid, title, body) VALUES (77, 'nothing', 'there')"],
    "chunk_without_document": ["UPDATE chunk SET document_key = 777 "
                               "WHERE chunk_key IN (SELECT max(chunk_key) FROM chunk)"],
    "document_without_source": ["INSERT INTO document SELECT 500, 'x', 77, kind, title, path, room, revision, first_ms,"
                                " last_ms, has_link, payload FROM document LIMIT 1"],
    "part_without_chunk": ["INSERT INTO part(chunk_key, ordinal, first, past, digest) VALUES (7, 0, 0, 1, x'')"],
    "chunk_without_part": ["DELETE FROM vector WHERE chunk_key = (SELECT min(chunk_key) FROM chunk)",
                           "DELETE FROM part WHERE chunk_key = (SELECT min(chunk_key) FROM chunk)"],
    "part_without_vector": ["DELETE FROM vector WHERE part_key = (SELECT min(part_key) FROM part)"],
    "vector_without_part": ["INSERT INTO vector VALUES (7, 7777, zeroblob(8))"],
    "vector_of_other_length": ["UPDATE vector SET data = zeroblob(9) "
                               "WHERE part_key = (SELECT min(part_key) FROM part)"],
    "tallies": ["UPDATE tally SET data = zeroblob(8) WHERE chunk_key = (SELECT min(chunk_key) FROM tally)"],
    "codes": ["UPDATE code SET vectors = vectors + 1"],
    "young_without_chunk": ["INSERT INTO young VALUES (7, 1)"],
    "sender_without_chunk": ["INSERT INTO chunk_sender VALUES ('@a:h', 7)"],
    "senders_of_chunk": ["INSERT INTO chunk_sender SELECT '@b:h', max(chunk_key) FROM chunk"],
    "label_without_document": ["INSERT INTO document_label VALUES (7, 'tag', 'x')"],
    "file_without_source": ["INSERT INTO file_state VALUES (7, 'x', '')"],
    "counts": ["UPDATE source SET chunks = chunks + 1"],
    "next_chunk": ["UPDATE source SET next_chunk = 0"],
    "room_shown": ["UPDATE room SET outcome = 'refused'"],
    "buried_message": ["INSERT INTO tombstone VALUES (1, '$1', 'purged')"],
    "message_not_indexed": ["INSERT INTO ledger(room_key, event, person_key, type, position, claimed_ms, sent_ms, body,"
                            " flags, reply_to, window_key, is_waiting)"
                            " VALUES (1, '$2', 1, 'm', 2, 2, 2, 'lost', 0, '', 1, 0)"],
    "window_without_message": ["UPDATE ledger SET event = '$9'"],
    "lost_window": ["UPDATE ledger SET window_key = 5"],
    "lost_edit": ["UPDATE ledger SET winner = '$7'"],
    "person_without_message": ["INSERT INTO person VALUES (2, '@gone:h')"],
    "answers_not_known": ["UPDATE ledger SET reply_to = NULL"],
    "order_not_carried_out": ["INSERT INTO purge(sender, ordered_ms, ordered_by, reason) VALUES ('@a:h', 1, 'x', '')"],
    "wipe_owed": [f"UPDATE meta SET value = '1' WHERE name = '{erase.DEBT}'"],
}  # fmt: skip


def test_every_check_is_spoilt_here() -> None:
    assert {check.name for check in soundness.CHECKS} | {
        "words",
        "grams",
        "codes",
        "tallies",
        "wipe_owed",
    } == SPOILT.keys()


def test_a_sound_index_has_no_findings(community: Community) -> None:
    assert community.findings() == {}
    assert community.findings("--deep") == {}
    community.change(*ROOM)
    assert community.findings() == {}
    assert json.loads(community.sources("verify", "--deep", "--json").stdout)["remade"]["documents"] == 2


def test_one_fault_is_told_as_one(community: Community) -> None:
    community.change("INSERT INTO file_state VALUES (7, 'x', '')", *SPOILT["grams"])
    told = community.sources("verify").stdout
    assert "1 record of a file whose source is not known  →" in told
    assert "1 index of parts of words that is not what the texts say  →" in told
    community.change("INSERT INTO file_state VALUES (7, 'y', '')")
    assert "2 records of files whose source is not known  →" in community.sources("verify").stdout


@pytest.mark.parametrize("check", SPOILT)
def test_what_is_out_of_step_is_found_and_mended(community: Community, check: str) -> None:
    before = community.chunks()
    community.change(*ROOM, *SPOILT[check])
    assert check in community.findings()
    told = community.sources("verify").stdout
    assert "→" in told
    if check in ("order_not_carried_out", "answers_not_known"):
        return
    left = community.findings("--repair")
    # What a refresh makes anew stays told until then.
    again = {"chunk_without_part", "message_not_indexed", "window_without_message", "lost_window", "lost_edit"}
    assert left.keys() <= again
    if not left:
        assert community.findings() == {}
    community.change("DELETE FROM source WHERE corpus = 'chat'", "DELETE FROM document WHERE source_key = 99")
    with community.index() as connection:
        connection.execute("DELETE FROM chunk WHERE chunk_key >> 32 = 99")
    assert community.sources("refresh").return_value == 0
    assert community.chunks() == before


@pytest.mark.parametrize(
    ("reply_to", "body", "why", "is_found"),
    [
        ("$gone", "hello", "purged with replies", True),
        ("$gone", "> quoted", "purged", True),
        ("$gone", "hello\n  > quoted", "purged", True),
        ("$gone", "hello > you", "purged", False),
        ("$gone", "> quoted", "redacted", False),
        ("$other", "> quoted", "purged with replies", False),
    ],
)
def test_what_answers_a_purged_message_is_held_to_the_order(
    community: Community, reply_to: str, body: str, why: str, is_found: bool
) -> None:
    community.change(
        *ROOM,
        f"INSERT INTO tombstone VALUES (1, '$gone', '{why}')",
        f"UPDATE ledger SET reply_to = '{reply_to}', body = '{body}'",
    )
    assert ("buried_message" in community.findings()) == is_found
    if is_found:
        assert community.findings("--repair") == {}
        with community.index() as index:
            assert index.execute("SELECT count(*) FROM ledger").fetchone() == (0,)
            assert index.execute("SELECT is_stale FROM room").fetchone() == (1,)


def test_a_damaged_file_is_told_with_its_remedy(community: Community) -> None:
    with community.index() as connection:
        (root,) = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'chunk_sender_chunk'").fetchone()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with community.file.open("r+b") as file:
        file.seek((root - 1) * 4096)
        file.write(b"\x0a" + b"\xff" * 200)
    assert "damage" in community.findings()
    assert "delete index.sqlite and run sources refresh" in community.sources("verify").stdout


def test_deep_tells_a_text_that_is_not_what_the_repository_says(community: Community) -> None:
    community.change("UPDATE chunk SET body = replace(body, 'standby', 'primary')")
    assert community.findings() == {"tallies": 1}, "the tally goes with the text that it was made of"
    assert community.findings("--repair") == {}
    assert community.findings("--deep") == {"remade": 1}


def test_while_a_refresh_runs_nothing_can_be_compared(community: Community) -> None:
    from index.errors import BusyError

    with write_lock(community.file.parent / "refresh.lock"), pytest.raises(BusyError):
        community.sources("verify")


def test_without_an_index_none_is_made(tmp_path: Path) -> None:
    from index.errors import StoreError

    made = Community(tmp_path)
    with pytest.raises(StoreError, match="no index yet"):
        made.sources("verify")
    assert not made.file.exists()
