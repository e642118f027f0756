"""File names as text, patterns over them, and addresses as they may be shown."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.forge.globs import Scope, matches
from ingest.forge.names import path_bytes, path_text
from ingest.forge.remote import has_password, local_path, origin, shown


@given(st.binary(max_size=30))
def test_every_name_becomes_text_that_can_be_stored_and_turned_back(raw: bytes) -> None:
    text = path_text(raw)
    assert path_bytes(text) == raw
    assert not re.search(r"[\x00-\x1f\x7f-\x9f]", text)
    text.encode("utf-8")


@given(
    st.lists(st.sampled_from([b"\\", b"x", b"5c", b"e9", b"\xe9", "é".encode(), b"\n", b"0"]), max_size=8).map(b"".join)
)
def test_a_name_that_looks_like_an_escape_stays_apart_from_what_it_looks_like(raw: bytes) -> None:
    assert path_bytes(path_text(raw)) == raw


def test_ordinary_names_stay_as_they_are() -> None:
    for name in ("README.md", "příliš žluťoučký.md", "日本語/メモ.md", "a b.md", "C:\\x.md", "🙂.md"):
        assert path_text(name.encode()) == name


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("*.md", ["a.md", "x/y/a.md"], ["a.mdx", "a.MD", "a.md.txt"]),
        ("/README.md", ["README.md"], ["docs/README.md"]),
        ("docs", ["docs/a", "x/docs/a", "docs"], ["docs2/a", "mydocs/a"]),
        ("docs/", ["docs/a", "x/docs/a"], ["docs", "x/docs"]),
        ("docs/*.md", ["docs/a.md"], ["x/docs/a.md", "docs/b/a.md"]),
        ("docs/**", ["docs/a", "docs/b/c"], ["docs", "x/docs/a"]),
        ("docs/**/*.md", ["docs/a.md", "docs/b/c/a.md"], ["docs/a.txt", "a.md"]),
        ("**/*.md", ["a.md", "b/a.md"], ["a.txt"]),
        ("**", ["a", "b/c"], []),
        ("**/x/**/y", ["x/y", "a/x/b/c/y", "x/y/z"], ["x", "y/x", "x/b"]),
        ("a?c", ["abc", "x/a-c"], ["ac", "a/c"]),
        ("[ab].md", ["a.md", "b.md"], ["c.md", "ab.md"]),
        ("[!ab].md", ["c.md"], ["a.md"]),
        ("[", ["["], ["a"]),
        ("a*b*c", ["abc", "aXbYc"], ["a/b/c"]),
        ("", [], ["a", ""]),
        ("/", [], ["a"]),
        ("my file.md", ["my file.md"], ["my-file.md"]),
    ],
)
def test_patterns_are_read_as_in_gitignore(pattern: str, yes: list[str], no: list[str]) -> None:
    assert [path for path in yes + no if matches(pattern, path)] == yes


PARTS = st.sampled_from(["a", "b", "*", "?", "**", "a*", "ab"])


@given(
    st.lists(PARTS, min_size=1, max_size=5),
    st.lists(st.sampled_from(["a", "b", "ab"]), min_size=1, max_size=5),
    st.booleans(),
)
def test_patterns_agree_with_a_plain_regular_expression(steps: list[str], names: list[str], is_tied: bool) -> None:
    pattern = ("/" if is_tied else "") + "/".join(steps)
    parts = steps if is_tied or len(steps) > 1 else ["**", *steps]
    expression = "".join(
        {"**": "(?:[^/]+/)*"}.get(step, step.replace("*", "[^/]*").replace("?", "[^/]") + "/") for step in parts[:-1]
    )
    last = parts[-1]
    expression += "[^/]+(?:/.*)?" if last == "**" else last.replace("*", "[^/]*").replace("?", "[^/]") + "(?:/.*)?"
    assert matches(pattern, "/".join(names)) is bool(re.fullmatch(expression, "/".join(names)))


def test_a_hostile_pattern_and_path_take_no_time() -> None:
    assert not matches("/".join(["**", "a*a*a*a*a*b"] * 10), "/".join(["a" * 200] * 500))


def test_exclude_wins_over_include_and_the_digest_tells_scopes_apart() -> None:
    scope = Scope(("*.md",), ("draft*",))
    assert [scope.covers(path) for path in ("a.md", "a.txt", "draft.md", "drafts/a.md")] == [True, False, False, False]
    scopes = [Scope(), Scope(("a",)), Scope((), ("a",)), Scope(("a", "b")), Scope(("a, b",)), scope]
    assert len({one.digest() for one in scopes} | {Scope().digest(1), Scope().digest(2)}) == len(scopes) + 2


def test_addresses_are_shown_without_user_password_and_query_values() -> None:
    assert shown("https://me:pw@h/x?access_token=abc&a=b c") == "https://h/x?access_token=…&a=… c"
    assert shown("git@h:x/y.git") == "git@h:x/y.git"
    assert all(has_password(url) for url in ("https://u:p@h/x", "https://t@h/x", "ssh://u:p@h/x"))
    assert not any(has_password(url) for url in ("ssh://git@h/x", "git@h:x", "/a@b:c", "https://h/a@b"))


def test_which_addresses_are_on_this_machine() -> None:
    assert all(local_path(url) for url in ("/a/b", "a/b", "./a:b", "file:///a"))
    assert not any(local_path(url) for url in ("h:a", "https://h/a", "u@h:a/b", "ext::x", "file://h/a"))
    assert str(local_path("file:///a%20b")) == "/a b"
    assert (origin("https://u@Host:8/x"), origin("ssh://h/x"), origin("/x")) == ("https://Host:8", "", "")
