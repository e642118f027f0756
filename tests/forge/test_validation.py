"""A source whose front matter breaks its rules stays as it was, and says which file and field it is."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.model import SourceId
from ingest.forge.validation import Validation, stop
from ingest.report import Outcome, Report
from sources.app import run_refresh
from sources.config.load import parse
from sources.credentials import Credentials
from tests.forge.git_repos import Origin

RULES = Validation(required=("title", "level"), allowed={"level": ("intro", "advanced"), "tags": ("ops", "web")})
GOOD = b"---\ntitle: Keys\nlevel: intro\ntags: [ops]\n---\n# Keys\n\nText.\n"


def told(text: str, path: str = "docs/a.md") -> list[str]:
    return RULES.violations(path, text.encode(), str)


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("---\ntitle: x\nlevel: intro\n---\ntext\n", []),
        ("+++\ntitle = 'x'\nlevel = 'intro'\n+++\ntext\n", []),
        ("---\ntitle: x\nlevel: intro\ntags: ops, web\nother: {a: 1}\n---\n", []),
        ("# No front matter\n", ["title: is missing", "level: is missing"]),
        ("---\ntitle:\nlevel: ~\n---\n", ["title: is missing", "level: is missing"]),
        ("---\ntitle: []\nlevel: intro\n---\n", ["title: is missing"]),
        ("---\ntitle: x\nlevel: expert\n---\n", ["level: 'expert' is not one of intro, advanced"]),
        ("---\ntitle: x\nlevel: Intro\n---\n", ["level: 'Intro' is not one of intro, advanced"]),
        ("---\ntitle: x\nlevel: [intro, expert]\n---\n", ["level: 'expert' is not one of intro, advanced"]),
        ("---\ntitle: x\nlevel: {a: b}\n---\n", ["level: 'a mapping' is not one of intro, advanced"]),
        ("---\ntitle: x\nlevel: intro\ntags: [ops, cats]\n---\n", ["tags: 'cats' is not one of ops, web"]),
        ("---\ntitle: [x\nlevel: intro\n---\n", ["front matter: not valid YAML in line 3"]),
        (f"---\ntitle: {'long ' * 100}\nlevel: intro\n---\n", []),
    ],
)
def test_each_rule_that_a_file_breaks_is_named_with_file_and_field(text: str, problems: list[str]) -> None:
    assert told(text) == [f"docs/a.md: {problem}" for problem in problems]


def test_only_markdown_is_held_to_the_rules() -> None:
    for path in ("run.sh", "notes.txt", "x.md.j2", "picture.png"):
        assert told("#!/bin/sh\n", path) == []
    assert RULES.violations("a.md", b"\x00\x01\x02", str) == []


def test_what_a_message_quotes_is_scrubbed_short_and_on_one_line() -> None:
    def scrub(text: str) -> str:
        return text.replace("hidden", "‹secret›")

    value = "hidden" + "x" * 100
    (line,) = Validation(allowed={"a": ("b",)}).violations("hidden.md", f"---\na: {value}\n---\n".encode(), scrub)
    assert "hidden" not in line
    assert len(line) < 100
    (line,) = Validation(allowed={"a": ("b",)}).violations("x.md", b'---\na: "c\\e[31md"\n---\n', str)
    assert line.isprintable()


def test_an_error_names_the_first_few_and_counts_the_rest() -> None:
    error = str(stop("repo docs", [f"{n}.md: title: is missing" for n in range(9)]))
    assert error.startswith("repo docs: 0.md: title: is missing; 1.md")
    assert "and 4 more" in error


@given(st.binary(max_size=200), st.sampled_from(["a.md", "b.mdx", "c", "d.txt"]))
def test_no_file_makes_it_fail(data: bytes, path: str) -> None:
    RULES.violations(path, b"---\n" + data + b"\n---\n", str)
    RULES.violations(path, data, str)


def refresh(folder: Path, rules: str) -> Report:
    text = (
        'state_dir = "state"\nembed = { kind = "off" }\n'
        f'[[repo]]\nname = "docs"\nurl = "origin"\n[repo.validate]\n{rules}\n'
        f'[[notes]]\nname = "wiki"\nroot = "wiki"\npaths = ["."]\n[notes.validate]\n{rules}\n'
    )
    config = parse(text, name="sources.toml", base=folder)
    return asyncio.run(run_refresh(config, Credentials(None)))


def stored(folder: Path) -> list[tuple[str, str]]:
    with closing(sqlite3.connect(folder / "state" / "index.sqlite")) as index:
        return index.execute("SELECT id, revision FROM document ORDER BY id").fetchall()


def test_a_fault_stops_repository_and_notes_before_anything_is_written(tmp_path: Path) -> None:
    origin = Origin.at(tmp_path / "origin")
    origin.commit({b"good.md": GOOD})
    (tmp_path / "wiki").mkdir()
    (tmp_path / "wiki" / "good.md").write_bytes(GOOD)
    rules = 'required = ["title"]\nallowed = { level = ["intro"] }'
    assert not refresh(tmp_path, rules).failed
    before = stored(tmp_path)
    assert [name for name, _ in before] == ["notes:wiki good.md", "repo:docs good.md"]

    bad, newer = GOOD.replace(b"intro", b"expert"), GOOD.replace(b"Text", b"More text")
    origin.commit({b"good.md": newer, b"bad.md": bad, b"other.md": b"# x\n\ntext\n"})
    (tmp_path / "wiki" / "good.md").write_bytes(newer)
    (tmp_path / "wiki" / "sub").mkdir()
    (tmp_path / "wiki" / "sub" / "bad.md").write_bytes(bad)
    docs, wiki = SourceId("repo:docs"), SourceId("notes:wiki")
    for _ in range(2):  # the next run says it again
        failed = {one.source: str(one.fault) for one in refresh(tmp_path, rules).failed}
        assert set(failed) == {docs, wiki}
        assert "bad.md: level: 'expert' is not one of intro; other.md: title: is missing" in failed[docs]
        assert "sub/bad.md: level: 'expert' is not one of intro" in failed[wiki]
        assert stored(tmp_path) == before

    origin.commit({b"good.md": newer, b"bad.md": GOOD})
    (tmp_path / "wiki" / "sub" / "bad.md").write_bytes(GOOD)
    assert not refresh(tmp_path, rules).failed
    assert len(stored(tmp_path)) == 4


def test_other_rules_are_held_against_what_did_not_change(tmp_path: Path) -> None:
    Origin.at(tmp_path / "origin").commit({b"good.md": GOOD})
    (tmp_path / "wiki").mkdir()
    (tmp_path / "wiki" / "good.md").write_bytes(GOOD)
    assert not refresh(tmp_path, "").failed
    strict = 'required = ["last_verified"]'
    assert {one.source for one in refresh(tmp_path, strict).failed} == {"repo:docs", "notes:wiki"}
    assert {one.source for one in refresh(tmp_path, strict).failed} == {"repo:docs", "notes:wiki"}
    assert {one.outcome for one in refresh(tmp_path, "").sources} == {Outcome.UNCHANGED}
    assert not refresh(tmp_path, 'required = ["title"]').failed
    assert {one.outcome for one in refresh(tmp_path, 'required = ["title"]').sources} == {Outcome.UNCHANGED}
