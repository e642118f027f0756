"""From a repository and a cursor to what the index has to do."""

import asyncio
import os
import shutil
from contextlib import aclosing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from index.errors import ForgeError
from ingest.forge.git import Git
from ingest.forge.globs import Scope
from ingest.forge.position import Position
from ingest.forge.repository import Changes, Outcome, RepoSettings, Repository, Unchanged
from ingest.forge.running import Patience
from ingest.forge.trees import Tree, compare, list_tree
from tests.forge.git_repos import FILE, LINK, SCRIPT, SUBMODULE, Content, Files, Origin, git

ALL: dict[bytes, Content] = {
    b"README.md": b"# Read me\n",
    b"docs/a.md": b"one\n",
    b"docs/b.md": b"two\n",
    b"run.sh": (SCRIPT, b"#!/bin/sh\n"),
}


def repository(tmp_path: Path, origin: Origin, **more: object) -> Repository:
    given = {"name": "wiki", "url": str(origin.path), "timeout_s": 20.0} | more
    return Repository(RepoSettings(**given), tmp_path / "clones", Git())  # type: ignore[arg-type]  # a test's shorthand


async def changed(source: Repository, cursor: str | None, known: dict[str, str] | None = None) -> Changes:
    changes = await source.changes(cursor, known)
    assert isinstance(changes, Changes)
    return changes


def paths(changes: Changes) -> list[str]:
    return sorted(entry.path for entry in changes.put)


@pytest.fixture
def origin(tmp_path: Path) -> Origin:
    made = Origin.at(tmp_path / "origin")
    made.commit(ALL)
    return made


async def test_the_first_refresh_puts_every_tracked_file_and_the_second_nothing(tmp_path: Path, origin: Origin) -> None:
    source = repository(tmp_path, origin)
    first = await changed(source, None)
    assert paths(first) == ["README.md", "docs/a.md", "docs/b.md", "run.sh"]
    assert first.kept == frozenset(paths(first))
    assert (first.commit, first.branch, first.removed, first.unchanged_count) == (origin.head(), "main", (), 0)
    assert await source.changes(first.position) == Unchanged(origin.head(), "main", first.position)


async def test_only_what_changed_between_two_commits_is_put_or_removed(tmp_path: Path, origin: Origin) -> None:
    source = repository(tmp_path, origin)
    first = await changed(source, None)
    origin.commit(
        {b"README.md": b"# Read me\n", b"docs/a.md": b"other\n", b"new.md": b"new\n", b"run.sh": (FILE, b"#!/bin/sh\n")}
    )
    second = await changed(source, first.position)
    assert (paths(second), second.removed, second.kept) == (["docs/a.md", "new.md"], ("docs/b.md",), None)
    assert second.unchanged_count == 2


async def test_the_bytes_of_entries_come_in_order_from_the_object_store(tmp_path: Path, origin: Origin) -> None:
    big = os.urandom(300_000)
    origin.commit({b"a": b"", b"big": big, b"no-feed": b"text", b"nul": b"\0\n\0"})
    source = repository(tmp_path, origin)
    changes = await changed(source, None)
    read = [(entry.path, content) async for entry, content in source.read(changes.put)]
    assert read == [("a", b""), ("big", big), ("no-feed", b"text"), ("nul", b"\0\n\0")]
    assert [entry.size for entry in changes.put] == [len(content) for _, content in read]


async def test_reading_can_stop_early(tmp_path: Path, origin: Origin) -> None:
    source = repository(tmp_path, origin)
    changes = await changed(source, None)
    async with aclosing(source.read(changes.put)) as reading:
        async for entry, _ in reading:
            assert entry.path == "README.md"
            break


async def test_links_submodules_and_large_files_are_skipped_with_a_reason(tmp_path: Path, origin: Origin) -> None:
    origin.commit(
        {
            b"link.md": (LINK, b"/etc/passwd"),
            b"module": (SUBMODULE, b"1" * 40),
            b"large.md": b"x" * 101,
            b"fine.md": b"x" * 100,
        }
    )
    changes = await changed(repository(tmp_path, origin, max_file_bytes=100), None)
    assert paths(changes) == ["fine.md"]
    assert dict(changes.skipped) == {"link.md": "symbolic link", "module": "submodule", "large.md": "over 100 bytes"}


async def test_a_file_that_becomes_a_link_or_too_large_is_removed(tmp_path: Path, origin: Origin) -> None:
    source = repository(tmp_path, origin, max_file_bytes=100)
    first = await changed(source, None)
    origin.commit(ALL | {b"docs/a.md": (LINK, b"one\n"), b"docs/b.md": b"x" * 200})
    second = await changed(source, first.position)
    assert (paths(second), sorted(second.removed)) == ([], ["docs/a.md", "docs/b.md"])
    origin.commit(ALL)
    third = await changed(source, second.position)
    assert (paths(third), third.removed, third.unchanged_count) == (["docs/a.md", "docs/b.md"], (), 2)


async def test_names_that_differ_only_a_little_are_different_files(tmp_path: Path, origin: Origin) -> None:
    names = [
        b"my file.md",
        b"my-file.md",
        b"README.md",
        b"readme.md",
        b"caf\xe9.md",
        "café.md".encode(),
        b"caf\\xe9.md",
        b"a\nb.md",
    ]
    origin.commit({name: name for name in names})
    source = repository(tmp_path, origin)
    changes = await changed(source, None)
    assert len({entry.path for entry in changes.put}) == len(names)
    read = {entry.path: content async for entry, content in source.read(changes.put)}
    assert read["caf\\xe9.md"] == b"caf\xe9.md"
    assert read["caf\\x5cxe9.md"] == b"caf\\xe9.md"
    assert read["a\\x0ab.md"] == b"a\nb.md"
    for path, content in read.items():
        assert path.isprintable()
        assert await source.show(path) == content


async def test_include_and_exclude_decide_and_a_changed_scope_rereads_only_the_difference(
    tmp_path: Path, origin: Origin
) -> None:
    first = await changed(repository(tmp_path, origin, include=("*.md",)), None)
    assert paths(first) == ["README.md", "docs/a.md", "docs/b.md"]
    known = {entry.path: entry.blob for entry in first.put}
    wider = repository(tmp_path, origin, exclude=("docs/a.md",))
    assert (await wider.probe(first.position)).outcome is Outcome.CHANGED
    second = await changed(wider, first.position, known)
    assert (paths(second), second.removed, second.unchanged_count) == (["run.sh"], ("docs/a.md",), 2)
    assert second.kept == frozenset({"README.md", "docs/b.md", "run.sh"})
    assert isinstance(await wider.changes(second.position), Unchanged)


async def test_a_force_push_and_a_renamed_default_branch_are_followed(tmp_path: Path, origin: Origin) -> None:
    source = repository(tmp_path, origin)
    first = await changed(source, None)
    origin.commit({b"other.md": b"other"}, is_forced=True)
    second = await changed(source, first.position)
    assert (paths(second), len(second.removed)) == (["other.md"], 4)
    git(origin.path, "branch", "-m", "main", "trunk")
    git(origin.path, "symbolic-ref", "HEAD", "refs/heads/trunk")
    assert (await source.probe(second.position)).outcome is Outcome.UNCHANGED
    origin.commit({b"third.md": b"3"}, branch="trunk")
    third = await changed(source, second.position)
    assert (third.branch, paths(third), third.removed) == ("trunk", ["third.md"], ("other.md",))


async def test_a_commit_that_removes_all_files_removes_all(tmp_path: Path, origin: Origin) -> None:
    source = repository(tmp_path, origin)
    first = await changed(source, None)
    origin.commit({})
    second = await changed(source, first.position)
    assert (second.put, len(second.removed), second.unchanged_count) == ((), 4, 0)


async def test_a_repository_that_lost_its_commits_deletes_nothing(tmp_path: Path, origin: Origin) -> None:
    source = repository(tmp_path, origin)
    first = await changed(source, None)
    git(origin.path, "update-ref", "-d", "refs/heads/main")
    assert (await source.probe(first.position)).outcome is Outcome.EMPTY
    with pytest.raises(ForgeError, match="no commits any more; what is indexed stays"):
        await source.changes(first.position)


async def test_a_repository_that_never_had_a_commit_is_no_fault(tmp_path: Path) -> None:
    source = repository(tmp_path, Origin.at(tmp_path / "empty"))
    assert (await source.probe()).outcome is Outcome.EMPTY
    assert await source.changes(None) == Unchanged(None, None, None)


async def test_a_head_without_branch_names_the_branches_there_are(tmp_path: Path, origin: Origin) -> None:
    git(origin.path, "symbolic-ref", "HEAD", "refs/heads/gone")
    with pytest.raises(ForgeError, match=r"HEAD names a branch that does not exist.*set branch to one of: main"):
        await repository(tmp_path, origin).changes(None)
    with pytest.raises(ForgeError, match=r"has no branch 'dev'.*main"):
        await repository(tmp_path, origin, branch="dev").changes(None)
    assert (await changed(repository(tmp_path, origin, branch="main"), None)).branch == "main"


async def test_a_vanished_repository_is_an_error_and_not_a_deletion(tmp_path: Path, origin: Origin) -> None:
    source = repository(tmp_path, origin)
    first = await changed(source, None)
    origin.remove()
    probe = await source.probe(first.position)
    assert probe.outcome is Outcome.UNKNOWN
    with pytest.raises(ForgeError, match="no git repository there"):
        await source.changes(first.position)


async def test_sha256_repositories_and_a_change_of_the_object_format(tmp_path: Path, origin: Origin) -> None:
    source = repository(tmp_path, origin)
    first = await changed(source, None)
    origin.remove()
    again = Origin.at(tmp_path / "origin", object_format="sha256")
    again.commit({b"README.md": b"# Read me\n", b"new.md": b"new"})
    second = await changed(source, first.position, {entry.path: entry.blob for entry in first.put})
    assert len(second.commit) == 64
    assert (paths(second), len(second.removed)) == (["README.md", "new.md"], 3)
    again.commit({b"new.md": b"newer"})
    third = await changed(source, second.position)
    assert (paths(third), third.removed, third.kept) == (["new.md"], ("README.md",), None)


async def test_a_tree_that_could_never_be_checked_out_is_read_like_others(tmp_path: Path, origin: Origin) -> None:
    blob = git(origin.path, "hash-object", "-w", "--stdin", stdin=b"text").decode().strip()
    lines = "".join(f"100644 blob {blob}\t{name}\n" for name in (".git", "..", "a.md"))
    tree = git(origin.path, "mktree", stdin=lines.encode()).decode().strip()
    commit = git(origin.path, "commit-tree", tree, "-m", "odd").decode().strip()
    git(origin.path, "update-ref", "refs/heads/main", commit)
    source = repository(tmp_path, origin)
    changes = await changed(source, None)
    assert {entry.path: content async for entry, content in source.read(changes.put)} == dict.fromkeys(
        (".git", "..", "a.md"), b"text"
    )


async def test_a_work_tree_is_read_as_committed_and_left_alone(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    git(work, "init", "--quiet", "--initial-branch=main")
    (work / "a.md").write_text("committed")
    git(work, "add", "a.md")
    git(work, "commit", "--quiet", "-m", "a")
    (work / "a.md").write_text("being written")
    (work / "untracked.md").write_text("private")
    before = sorted((path, path.stat().st_mtime_ns) for path in work.rglob("*"))
    source = Repository(RepoSettings("work", str(work)), tmp_path / "clones", Git())
    changes = await changed(source, None)
    assert [content async for _, content in source.read(changes.put)] == [b"committed"]
    assert sorted((path, path.stat().st_mtime_ns) for path in work.rglob("*")) == before


async def test_a_linked_work_tree_a_shallow_clone_and_a_bundle_are_repositories_too(
    tmp_path: Path, origin: Origin
) -> None:
    git(origin.path, "worktree", "add", "--quiet", "--detach", str(tmp_path / "linked"), "main")
    git(tmp_path, "clone", "--quiet", "--depth=1", origin.path.as_uri(), "shallow")
    git(origin.path, "bundle", "create", "--quiet", str(tmp_path / "some.bundle"), "HEAD", "main")
    for url in (
        str(tmp_path / "linked"),
        str(tmp_path / "shallow"),
        str(tmp_path / "some.bundle"),
        origin.path.as_uri(),
    ):
        source = Repository(RepoSettings("any", url), tmp_path / "clones", Git())
        changes = await changed(source, None)
        assert (changes.commit, len(changes.put)) == (origin.head(), 4)
        assert isinstance(await source.changes(changes.position), Unchanged)


async def test_an_unchanged_local_repository_costs_no_process_however_its_refs_are_kept(
    tmp_path: Path, origin: Origin
) -> None:
    first = await changed(repository(tmp_path, origin), None)
    settled = RepoSettings("wiki", str(origin.path), timeout_s=20.0)
    for prepare in ([], ["pack-refs", "--all"]):
        if prepare:
            git(origin.path, *prepare)
        probe = await Repository(settled, tmp_path / "clones", Git("no-such-program")).probe(first.position)
        assert probe.outcome is Outcome.UNCHANGED
    origin.commit({b"new.md": b"loose over packed"})
    assert (await repository(tmp_path, origin).probe(first.position)).outcome is Outcome.CHANGED


@pytest.mark.parametrize(
    "cursor", ["", "garbage", "[]", "{}", '{"commit": "abc"}', "null", '{"commit": 1, "branch": 2}']
)
async def test_a_cursor_that_cannot_be_read_means_a_whole_comparison(
    tmp_path: Path, origin: Origin, cursor: str
) -> None:
    changes = await changed(repository(tmp_path, origin), cursor)
    assert len(changes.kept or ()) == 4


async def test_a_commit_that_is_gone_means_a_whole_comparison(tmp_path: Path, origin: Origin) -> None:
    source = repository(tmp_path, origin)
    first = await changed(source, None)
    position = Position.parse(first.position)
    assert position is not None
    lost = Position("0" * 39 + "1", position.branch, position.scope, position.files).text()
    known = {entry.path: entry.blob for entry in first.put} | {"ghost.md": "1" * 40}
    changes = await changed(source, lost, known)
    assert (changes.put, changes.removed, len(changes.kept or ())) == ((), ("ghost.md",), 4)


NAMES = [b"a.md", b"b.md", b"d/a.md", b"d/e/c.md", b"x\xff.md", b"skip/s.md", b"d"]
CONTENTS: st.SearchStrategy[bytes | tuple[str, bytes]] = st.one_of(
    st.sampled_from([b"one", b"two", b"three", b"large" * 10]),
    st.sampled_from([(SCRIPT, b"one"), (LINK, b"one"), (SUBMODULE, b"2" * 40)]),
)


def is_a_tree(files: Files) -> bool:
    return not (b"d" in files and any(name.startswith(b"d/") for name in files))


TREES = st.dictionaries(st.sampled_from(NAMES), CONTENTS, max_size=6).filter(is_a_tree)


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(TREES, min_size=2, max_size=7))
def test_the_difference_of_any_two_commits_equals_the_comparison_of_their_lists(
    tmp_path_factory: pytest.TempPathFactory, states: list[Files]
) -> None:
    origin = Origin.at(tmp_path_factory.mktemp("history") / "origin")
    git(origin.path, "fast-import", "--quiet", "--force", stdin=b"".join(origin.stream(files) for files in states))
    commits = git(origin.path, "rev-list", "--reverse", "main").decode().split()
    tree = Tree(Git(), origin.path, "test", Patience(20, 20), Scope((), ("skip",)), 20)

    async def check() -> None:
        lists = [await list_tree(tree, commit) for commit in commits]
        for old, new in [(0, -1), (-1, 0), *((n, n + 1) for n in range(len(commits) - 1))]:
            was = {entry.path: entry for entry in lists[old].entries}
            now = {entry.path: entry for entry in lists[new].entries}
            difference = await compare(tree, commits[old], commits[new])
            assert difference is not None
            put = {p for p, entry in now.items() if p not in was or was[p].blob != entry.blob}
            assert {entry.path: entry for entry in difference.put} == {p: now[p] for p in put}
            assert set(difference.removed) == was.keys() - now.keys()
            assert difference.growth == len(now) - len(was)

    asyncio.run(check())


STEPS = st.lists(
    st.tuples(TREES, st.sampled_from(["push", "force", "lose clone", "not indexed"])), min_size=1, max_size=4
)


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(STEPS)
def test_whatever_is_pushed_the_index_ends_as_the_tree_is(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[Files, str]]
) -> None:
    folder = tmp_path_factory.mktemp("pushes")
    origin = Origin.at(folder / "origin")
    source = repository(folder, origin, exclude=("skip/",), max_file_bytes=20)

    async def follow() -> None:
        cursor: str | None = None
        index: dict[str, str] = {}
        for files, how in steps:
            origin.commit(files, is_forced=how == "force")
            if how == "lose clone":
                shutil.rmtree(folder / "clones", ignore_errors=True)
            changes = await source.changes(cursor, index)
            if how == "not indexed" or isinstance(changes, Unchanged):
                continue
            for path in changes.removed:
                index.pop(path)
            index |= {entry.path: entry.blob for entry in changes.put}
            cursor = changes.position
            tree = Tree(Git(), origin.path, "test", Patience(20, 20), Scope((), ("skip/",)), 20)
            whole = {entry.path: entry.blob for entry in (await list_tree(tree, origin.head())).entries}
            assert index == whole
            assert changes.kept in (None, whole.keys())
            assert changes.unchanged_count == len(whole) - len(changes.put)

    asyncio.run(follow())
