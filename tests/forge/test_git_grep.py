"""Exact search and fresh reading, over what is tracked."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.errors import ForgeError, QueryError
from ingest.forge.git import Git
from ingest.forge.grep import GrepLine, _Scanner
from ingest.forge.repository import RepoSettings, Repository
from tests.forge.git_repos import LINK, Files, Origin, git

FILES: Files = {
    b"code.py": b"def send():\n    return 'needle'\n",
    b"docs/a.md": b"a needle in a\r\nhay stack\nNEEDLE\n",
    b"odd\nname \xff.md": b"needle\n",
    b"bin": b"\0\0needle\0",
    b"link": (LINK, b"needle"),
    b"dash.txt": b"use --needle or -e\n",
    b"long.txt": b"needle" + b"x" * 500_000 + b"\nsecond needle\n",
    b"private/a.md": b"needle\n",
}


@pytest.fixture
async def source(tmp_path: Path) -> Repository:
    origin = Origin.at(tmp_path / "origin")
    origin.commit(FILES)
    made = Repository(
        RepoSettings("wiki", str(origin.path), include=("*.md",), exclude=("private/",), timeout_s=20.0),
        tmp_path / "clones",
        Git(),
    )
    await made.freshen()
    return made


async def test_grep_sees_code_and_odd_names_but_no_excluded_file_and_no_link(source: Repository) -> None:
    result = await source.grep("needle")
    found = [(line.path, line.line_no) for line in result.lines]
    assert found == [
        ("code.py", 2),
        ("dash.txt", 1),
        ("docs/a.md", 1),
        ("long.txt", 1),
        ("long.txt", 2),
        ("odd\\x0aname \\xff.md", 1),
    ]
    assert result.lines[2] == GrepLine("wiki", "docs/a.md", 1, "a needle in a")
    assert (result.binaries, result.is_cut) == (("bin",), False)
    assert all(len(line.text) <= 2000 for line in result.lines)


async def test_a_pattern_is_plain_text_unless_a_regular_expression_is_asked_for(source: Repository) -> None:
    assert [line.path for line in (await source.grep("--needle")).lines] == ["dash.txt"]
    assert [line.path for line in (await source.grep("-e")).lines] == ["dash.txt"]
    assert (await source.grep("s.nd")).lines == ()
    assert len((await source.grep("^def s.nd", is_regex=True)).lines) == 1
    assert [
        line.line_no for line in (await source.grep("needle", ignore_case=True)).lines if line.path == "docs/a.md"
    ] == [1, 3]
    assert (await source.grep("nowhere")).lines == ()


@pytest.mark.parametrize(
    ("pattern", "is_regex"),
    [
        ("", False),
        ("a\0b", False),
        ("a\nb", False),
        ("a\n", True),
        ("\ud800", False),
        ("x" * 1001, False),
        ("(", True),
        ("[", True),
        ("a\\", True),
    ],
)
async def test_a_pattern_that_cannot_be_searched_is_refused_by_name(
    source: Repository, pattern: str, is_regex: bool
) -> None:
    with pytest.raises(QueryError, match=r"^pattern: .*\(.+\)$"):
        await source.grep(pattern, is_regex=is_regex)


async def test_more_lines_than_wanted_are_cut_and_it_is_said(source: Repository) -> None:
    result = await source.grep("needle", limit=3)
    assert (len(result.lines) + len(result.binaries), result.is_cut) == (3, True)


async def test_show_reads_the_newest_or_the_named_commit(tmp_path: Path) -> None:
    origin = Origin.at(tmp_path / "origin")
    old = origin.commit({b"a.md": b"old"})
    source = Repository(RepoSettings("wiki", str(origin.path), timeout_s=20.0), tmp_path / "clones", Git())
    with pytest.raises(ForgeError, match=r"not fetched yet \(run `sources refresh`\)"):
        await source.show("a.md")
    await source.freshen()
    origin.commit({b"a.md": b"new", b"large": b"x" * (1 << 21), b"link": (LINK, b"a.md"), b"d/a": b"1"})
    await source.freshen()
    assert (await source.show("a.md"), await source.show("a.md", old)) == (b"new", b"old")
    with pytest.raises(ForgeError, match=r"over max_file \(raise it\)"):
        await source.show("large")
    for path in ("b.md", "link", "d", "../a.md", "*.md", "", ":(top)a.md", "--help", "d/"):
        with pytest.raises(ForgeError, match="no such file"):
            await source.show(path)
    for commit in ("HEAD", "--all", old[:8], "f" * 40):
        with pytest.raises(ForgeError, match=r"is no commit|is not kept here"):
            await source.show("a.md", commit)
    assert git(origin.path, "cat-file", "-t", old) == b"commit\n"


@given(st.lists(st.integers(1, 30), max_size=40))
def test_grep_output_is_understood_in_whatever_slices_it_arrives(sizes: list[int]) -> None:
    prefix = b"c0ffee:"
    lines = [
        (b"a\nb", 1, b"one"),
        (b"bin", None, b""),
        (b"c d", 20, b"x" * 2500),
        (b"e", 3, b"Binary file c0ffee:x"),
        (b"f", 4, b""),
    ]
    output = b"".join(
        b"Binary file " + prefix + name + b" matches\n"
        if number is None
        else prefix + name + b"\0%d\0" % number + text + b"\n"
        for name, number, text in lines
    )
    scanner, found = _Scanner(prefix), []
    for size in [*sizes, len(output)]:
        found += scanner.take(output[:size])
        output = output[size:]
    assert found == [(name, number, text[:2000]) for name, number, text in lines]


async def test_show_gives_code_but_no_excluded_file_however_its_path_is_written(source: Repository) -> None:
    assert b"needle" in await source.show("code.py")
    assert await source.show("odd\\x0aname \\xff.md")
    for path in ("private/a.md", r"priv\x61te/a.md", r"c\x6fde.py"):
        with pytest.raises(ForgeError, match="no such file"):
            await source.show(path)
