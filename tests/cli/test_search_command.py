"""`sources search`: an answer a person can check and a program can read, without loading what it does not need."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click import UsageError

from index.errors import QueryError
from index.store.store import open_store
from ingest.lock import write_lock
from sources.app import run_refresh
from sources.config.load import load
from sources.credentials import Credentials
from tests.cli.conftest import Community

ROOT = Path(__file__).parents[2]
NEVER = ("nio", "numpy", "onnxruntime", "rich", "structlog", "httpx", "yaml", "markdown_it", "simplemma")
STANDARD = ("dataclasses", "hashlib", "hmac", "shutil", "bz2", "lzma")
"""Brought by nothing else that a search imports: classes that take a millisecond each to make, digests, compressors."""
UNUSED = (
    "index.embed.base", "index.store.codes", "index.store.erase", "index.store.forges", "index.store.fulltext",
    "index.store.held", "index.store.nearest", "index.store.outgoing", "index.store.rooms", "index.store.vectors",
)  # fmt: skip
"""Ours, small, and together as dear as the ranking."""


def test_a_hit_is_cited_so_that_get_can_read_it(indexed: Community) -> None:
    told = json.loads(indexed.sources("search", "--json", "rotate the signing key").stdout)
    assert told["version"] == 1
    best = told["hits"][0]
    assert best["path"] == "ops/keys.md"
    assert best["origins"][0]["ranking"] == "bm25"
    assert "signing key" in indexed.sources("get", best["citation"]).stdout
    assert "signing key" in indexed.sources("get", best["ref"]).stdout


def test_a_terminal_gets_citation_snippet_and_origin(indexed: Community) -> None:
    lines = indexed.sources("search", "rotate", "signing", "key").stdout.splitlines()
    assert lines[0].startswith("1. handbook ops/keys.md:")
    assert any("bm25 #1" in line for line in lines)


def test_an_excluded_word_and_operators_are_no_options(indexed: Community) -> None:
    assert indexed.sources("search", "key", "-rotation", "-signing").return_value in (0, 1)
    assert indexed.sources("search", "reports", "repo:handbook", "-n5").return_value == 0
    assert indexed.sources("search", "reports", "repo:elsewhere").return_value == 1


def test_finding_nothing_says_so_and_has_code_1(indexed: Community) -> None:
    result = indexed.sources("search", "nobodywrotethis")
    assert result.return_value == 1
    assert result.stdout.startswith("Nothing found.")
    assert json.loads(indexed.sources("search", "--json", "nobodywrotethis").stdout)["hits"] == []


def test_an_answer_says_when_not_everything_was_read_yet(indexed: Community) -> None:
    said = "not read to the end yet: notes:wiki (run `sources refresh`; `sources status` says more)"
    assert indexed.sources("search", "nobodywrotethis").stdout == f"Nothing found.\n\nnote: {said}\n"
    assert json.loads(indexed.sources("search", "--json", "nobodywrotethis").stdout)["notes"] == [said]
    assert json.loads(indexed.sources("search", "--json", "signing key").stdout)["notes"] == []
    told = json.loads(indexed.sources("ask", "--sources-only", "--json", "nobodywrotethis").stdout)
    assert told["notes"] == [said]
    assert json.loads(indexed.sources("toc", "--json", "--tag", "nobody").stdout)["notes"] == [said]
    asyncio.run(run_refresh(load(indexed.config_file), Credentials(None)))
    assert indexed.sources("search", "nobodywrotethis").stdout == "Nothing found.\n"


def test_while_the_first_refresh_runs_an_answer_says_so(community: Community) -> None:
    config = load(community.config_file)

    async def begun() -> None:
        async with open_store(config.index_file, is_writer=True):
            pass

    asyncio.run(begun())
    result = community.sources("search", "signing key")
    assert result.return_value == 1
    assert result.stdout == "Nothing found.\n\nnote: nothing was read yet (run `sources refresh`)\n"
    with write_lock(config.state_dir / "refresh.lock"):
        waits = "nothing was read yet (a refresh is at work: ask again when it has ended)"
        assert f"note: {waits}" in community.sources("search", "signing key").stdout
        assert waits in community.sources("toc").stderr
    community.config_file.write_text('state_dir = "state"\nembed = { kind = "off" }\n')
    assert "no source is configured (add a [[repo]]" in community.sources("search", "signing key").stdout
    assert "no repository and no notes are configured" in community.sources("grep", "signing key").stderr


def test_an_explanation_names_ranks_and_scores(indexed: Community) -> None:
    assert "text 1: bm25 rank 1" in indexed.sources("search", "--explain", "signing key").stdout


def test_an_explanation_shows_which_rows_of_the_routing_table_applied(indexed: Community) -> None:
    shown = indexed.sources("search", "--explain", "what is the signing key").stdout
    assert "text 1 (what is the signing key): definition: lifts readme, manual, doc, note ×" in shown
    assert "nothing is lifted" in indexed.sources("search", "--explain", "signing key").stdout
    assert "routing" not in indexed.sources("search", "what is the signing key").stdout
    row = '[[search.route]]\nname = "definition"\nphrases = ["what is"]\nkinds = ["header"]\nfactor = 3.0\n'
    indexed.config_file.write_text(indexed.config_file.read_text() + row)
    told = json.loads(indexed.sources("search", "--explain", "--json", "what is the signing key").stdout)
    assert told["routes"] == [{"text": 1, "rule": "definition", "sections": [], "kinds": ["header"], "factor": 3.0}]


def test_operators_alone_list_what_is_newest(indexed: Community) -> None:
    told = json.loads(indexed.sources("search", "--json", "tag:security").stdout)
    assert [(hit["path"], hit["weak"], hit["origins"]) for hit in told["hits"]] == [("ops/keys.md", False, [])]
    older, newer = [indexed.folder / "wiki" / "guides" / name for name in ("aaa.md", "start.md")]
    older.write_text("# Aaa\n\nWritten long ago.\n")
    os.utime(older, (1_600_000_000, 1_600_000_000))
    asyncio.run(run_refresh(load(indexed.config_file), Credentials(None)))
    told = json.loads(indexed.sources("search", "--json", "corpus:notes corpus:forge", "-n3").stdout)
    assert [hit["path"] for hit in told["hits"]] == ["guides/start.md", "guides/aaa.md", "bin/send"]
    assert told["more"] == 1 and told["certain"]
    shown = indexed.sources("search", "--explain", "after:1h corpus:notes")
    assert shown.stdout.startswith(f"1. wiki guides/{newer.name}") and "guides/aaa.md" not in shown.stdout
    assert "operators alone, so what is newest stands first" in shown.stdout
    nothing = indexed.sources("search", "tag:nobody")
    assert (nothing.return_value, nothing.stdout) == (1, "Nothing found.\n")
    with pytest.raises(QueryError, match="text 2: holds operators alone"):
        indexed.sources("search", "signing key", "tag:security", "repo:handbook tag:security")
    with pytest.raises(QueryError, match="question: holds operators alone"):
        indexed.sources("ask", "--sources-only", "tag:security")


def test_a_question_that_cannot_be_asked_is_refused_with_the_field(indexed: Community) -> None:
    with pytest.raises(QueryError):
        indexed.sources("search", "x" * 1001)
    with pytest.raises(QueryError):
        indexed.sources("search", *(f"text {number}" for number in range(9)))
    with pytest.raises(UsageError, match="Missing"):
        indexed.sources("search")
    with pytest.raises(UsageError, match="No such option"):
        indexed.sources("search", "--lexcal", "key")


def run(community: Community, code: str) -> str:
    """`code` in a process of its own, with a search done before it."""
    head = (
        "import sys\nfrom sources.cli.main import run\n"
        f"code = run(['--config', {str(community.config_file)!r}, 'search', '--json', 'signing key'])\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", head + code], capture_output=True, text=True, timeout=60, cwd=ROOT, env=dict(os.environ)
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.splitlines()[-1]


def test_a_search_by_words_loads_nothing_heavy(indexed: Community) -> None:
    assert run(indexed, f"print(code, sorted(set({NEVER + STANDARD + UNUSED!r}) & set(sys.modules)))") == "0 []"


def test_a_search_writes_nothing(indexed: Community) -> None:
    state = indexed.folder / "state"
    before = {path.name: path.read_bytes() for path in state.glob("index.sqlite")}
    indexed.sources("search", "signing key")
    assert {path.name: path.read_bytes() for path in state.glob("index.sqlite")} == before
