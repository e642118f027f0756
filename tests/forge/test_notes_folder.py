"""A folder of notes: what is read, what changed, and what is never taken for deleted."""

import asyncio
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from index.errors import ForgeError
from ingest.forge.coverage import Uncovered, coverage
from ingest.forge.note_files import NoteState
from ingest.forge.notes import NoteChanges, NotesFolder, NotesSettings
from ingest.forge.notes_worker import remarks

FILES = {
    "a.md": "one",
    "work/b.md": "two",
    "work/deep/c.md": "three",
    "work/c.txt": "no note",
    ".hidden/d.md": "private",
}
NOBODY = 65534
SOME = {name for name in FILES if name.endswith(".md") and not name.startswith(".")}


def later_ns() -> int:
    """A clock that finds every file old enough to trust its times."""
    return time.time_ns() + 10**10


def write(root: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(os.fsencode(text))


def lock(path: Path) -> None:
    path.chmod(0)


def move(old: Path, new: Path) -> None:
    old.rename(new)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write(tmp_path / "notes", FILES)
    return tmp_path / "notes"


def folder(root: Path, **more: object) -> NotesFolder:
    given = {"name": "n", "root": root, "paths": (".",)} | more
    return NotesFolder(NotesSettings(**given), later_ns)  # type: ignore[arg-type]  # a test's shorthand


async def follow(source: NotesFolder, known: Mapping[str, NoteState]) -> tuple[NoteChanges, dict[str, NoteState]]:
    """A run of a refresh: the changes, and the states that go into the cursor."""
    changes = await source.changes(known)
    read = {note.path: note.state async for note, _ in source.read(changes.put)}
    return changes, {**changes.states, **read}


def put(changes: NoteChanges) -> set[str]:
    return {note.path for note in changes.put}


async def test_the_first_run_puts_every_note_and_the_second_reads_nothing(root: Path) -> None:
    source = folder(root)
    first, states = await follow(source, {})
    assert (put(first), first.removed, first.unchanged_count) == (SOME, (), 0)
    contents = {note.path: content.decode() async for note, content in source.read(first.put)}
    assert contents == {name: FILES[name] for name in SOME}
    # A digest that is wrong is not noticed, since size and times are as they were: nothing was opened.
    wrong = {path: replace(state, digest="") for path, state in states.items()}
    second = await source.changes(wrong)
    assert (second.put, second.removed, second.unchanged_count, second.states) == ((), (), 3, wrong)


async def test_a_touched_file_is_unchanged_and_an_edited_one_of_the_same_size_and_time_is_not(root: Path) -> None:
    source = folder(root)
    _, states = await follow(source, {})
    os.utime(root / "a.md")
    edited = root / "work" / "b.md"
    times = (edited.stat().st_atime_ns, edited.stat().st_mtime_ns)
    edited.write_text("TWO")
    os.utime(edited, ns=times)
    changes, states = await follow(source, states)
    assert (put(changes), changes.unchanged_count) == ({"work/b.md"}, 2)
    assert (await source.changes(states)).put == ()


async def test_a_file_that_changed_just_now_is_looked_at_again(root: Path) -> None:
    source = NotesFolder(NotesSettings("n", root, (".",)))
    _, states = await follow(source, {})
    assert {state.mtime_ns for state in states.values()} == {-1}
    assert (await source.changes(states)).unchanged_count == 3


async def test_paths_then_include_then_exclude_decide(root: Path) -> None:
    write(root, {"work/draft-x.md": "x", "work/keep.txt": "x", "other/o.md": "x"})
    source = folder(
        root, paths=("work", "./.hidden/", "a.md"), include=("*.md", "keep.*"), exclude=("draft-*", "deep/")
    )
    changes, states = await follow(source, {})
    assert put(changes) == {"work/b.md", "work/keep.txt", ".hidden/d.md", "a.md"}
    narrower = folder(root, paths=("work",), exclude=("b.md",), include=("*.md",))
    second = await narrower.changes(states)
    assert set(second.removed) == {"work/b.md", "work/keep.txt", ".hidden/d.md", "a.md"}
    assert put(second) == {"work/draft-x.md", "work/deep/c.md"}


@pytest.mark.parametrize("paths", [(), ("../x",), ("/etc",), ("a/../../b",), ("a\0b",)])
async def test_paths_that_name_nothing_or_lead_out_are_refused(root: Path, paths: tuple[str, ...]) -> None:
    with pytest.raises(ForgeError, match=r"^notes n .*paths.*\(.+\)$"):
        await folder(root, paths=paths).changes({})


async def test_links_are_not_followed_not_even_when_put_there_in_between(root: Path, tmp_path: Path) -> None:
    write(tmp_path / "outside", {"secret.md": "secret", "b.md": "secret"})
    (root / "link.md").symlink_to(tmp_path / "outside" / "secret.md")
    (root / "linked").symlink_to(tmp_path / "outside")
    os.mkfifo(root / "pipe.md")
    source = folder(root, paths=(".", "linked", "link.md"))
    changes, _ = await follow(source, {})
    assert put(changes) == SOME
    assert dict(changes.skipped) == {"link.md": "symbolic link", "pipe.md": "not a file", "linked": "symbolic link"}
    (root / "work").rename(root / "gone")
    (root / "work").symlink_to(tmp_path / "outside")
    (root / "a.md").unlink()
    (root / "a.md").symlink_to(tmp_path / "outside" / "secret.md")
    assert [note async for note in source.read(changes.put)] == []


async def test_what_is_read_is_what_the_revision_says_though_the_file_changed_meanwhile(root: Path) -> None:
    source = folder(root)
    changes = await source.changes({})
    (root / "a.md").write_text("written in between")
    read = {note.path: (note, content) async for note, content in source.read(changes.put)}
    note, content = read["a.md"]
    assert content == b"written in between"
    assert note.digest not in {one.digest for one in changes.put}
    assert (note.size, note.state.digest) == (len(content), note.digest)


async def test_a_file_that_went_before_it_was_read_is_gone_in_the_next_run(root: Path) -> None:
    source = folder(root)
    _, states = await follow(source, {})
    (root / "a.md").write_text("new text")
    changes = await source.changes(states)
    (root / "a.md").unlink()
    read = {note.path: note.state async for note, _ in source.read(changes.put)}
    assert (read, changes.states["a.md"]) == ({}, states["a.md"])
    assert (await source.changes(changes.states)).removed == ("a.md",)


async def test_a_note_that_grew_too_large_is_removed_and_named(root: Path) -> None:
    source = folder(root, max_file_bytes=10)
    _, states = await follow(source, {})
    (root / "a.md").write_text("x" * 11)
    changes = await source.changes(states)
    assert (changes.removed, changes.skipped) == (("a.md",), (("a.md", "over 10 bytes"),))


async def test_an_empty_or_missing_root_removes_nothing(root: Path) -> None:
    source = folder(root)
    _, states = await follow(source, {})
    move(root, root.with_name("elsewhere"))
    with pytest.raises(ForgeError, match=r"^notes n .*mount the folder, or mend root\)$"):
        await source.changes(states)
    write(root, {".keep": ""})
    with pytest.raises(ForgeError, match="3 of 3 notes are gone at once; nothing was removed"):
        await source.changes(states)
    assert len((await source.changes(states, may_drop=True)).removed) == 3
    assert len((await folder(root, max_drop_percent=100).changes(states)).removed) == 3
    assert (await source.changes({})).put == ()


async def test_more_than_the_allowed_share_gone_removes_nothing(root: Path) -> None:
    source = folder(root, max_drop_percent=33)
    _, states = await follow(source, {})
    (root / "a.md").unlink()
    with pytest.raises(ForgeError, match="1 of 3 notes are gone"):
        await source.changes(states)
    write(root, {"a.md": "one", "d.md": "4"})
    _, four = await follow(source, states)
    assert len(four) == 4
    (root / "a.md").unlink()
    assert (await source.changes(four)).removed == ("a.md",)


async def test_an_allowed_path_that_is_missing_is_named_before_anything_is_removed(root: Path) -> None:
    write(root, {f"{n}.md": "x" for n in range(9)})
    source = folder(root, paths=(".", "work", "never"))
    _, states = await follow(source, {})
    shutil.rmtree(root / "work")
    with pytest.raises(ForgeError, match=r"work is gone; nothing was removed \(mount it, or take it out of paths\)"):
        await source.changes(states)
    changes = await folder(root).changes(states)
    assert set(changes.removed) == {"work/b.md", "work/deep/c.md"}


@pytest.fixture
def locked_out() -> Iterator[Path]:
    """A folder with notes in which permissions count, also where the tests run as root."""
    made = Path(tempfile.mkdtemp())
    is_root = os.geteuid() == 0
    write(made, FILES)
    try:
        if is_root:
            for path in [made, *made.rglob("*")]:
                os.chown(path, NOBODY, NOBODY)
            os.seteuid(NOBODY)
        yield made
    finally:
        if is_root:
            os.seteuid(0)
        for path in [made, made / "work", made / "work" / "deep"]:
            path.chmod(0o755)
        shutil.rmtree(made)


async def test_what_cannot_be_read_is_skipped_with_its_errno_and_never_taken_for_deleted(locked_out: Path) -> None:
    source = folder(locked_out)
    _, states = await follow(source, {})
    (locked_out / "a.md").write_text("changed, then locked away")
    (locked_out / "a.md").chmod(0)
    (locked_out / "work" / "deep").chmod(0)
    changes = await source.changes(states)
    assert (changes.put, changes.removed, changes.unchanged_count) == ((), (), 1)
    assert dict(changes.skipped) == {"work/deep/": "EACCES Permission denied", "a.md": "EACCES Permission denied"}
    assert changes.states == states
    [told] = remarks(changes)
    assert "a.md: EACCES Permission denied" in told and "work/deep/: EACCES" in told and told.endswith("exclude them)")
    lock(locked_out)
    with pytest.raises(ForgeError, match="Permission denied"):
        await source.changes(states)


def test_of_what_cannot_be_read_a_few_are_named_and_nothing_else_is_a_remark() -> None:
    fine = (("a.md", "symbolic link"), ("b.md", "over 100 bytes"), ("c/", "more than 40 folders deep"))
    locked = tuple((f"{number}.md", "EIO Input/output error") for number in range(7))
    assert remarks(NoteChanges((), (), 0, fine, {})) == ()
    [told] = remarks(NoteChanges((), (), 0, (*fine, *locked), {}))
    assert "4.md" in told and "5.md" not in told and "and 2 more" in told and "a.md" not in told


async def test_odd_names_are_notes_like_others(root: Path) -> None:
    names = [b"caf\xe9.md", b"a\nb.md", b"my file.md", b"my-file.md", b"README.md", b"readme.md"]
    write(root, {os.fsdecode(name): os.fsdecode(name) for name in names})
    source = folder(root)
    changes = await source.changes({})
    contents = {note.path: content async for note, content in source.read(changes.put)}
    assert contents["caf\\xe9.md"] == b"caf\xe9.md"
    assert contents["a\\x0ab.md"] == b"a\nb.md"
    assert len(contents) == len(SOME) + len(names)


def test_folders_with_markdown_that_nothing_covers_are_reported_by_the_topmost(root: Path, tmp_path: Path) -> None:
    write(
        root,
        {"old/2020/x.md": "x", "old/2021/y.MD": "y", "work/side/z.md": "z", "repo/README.md": "r", "empty/x.txt": "x"},
    )
    write(root, {"private/p.md": "p"})
    some = NotesSettings("n", root, ("work",), exclude=("private/", "side/"))
    assert coverage([some], elsewhere=[root / "repo"]) == (
        Uncovered(root, ".", 1),
        Uncovered(root, "old", 2),
    )
    more = NotesSettings("m", root / "old", ("2020",))
    assert coverage([some, more])[1:] == (Uncovered(root, "repo", 1), Uncovered(root, "old/2021", 1)) or coverage(
        [some, more]
    )
    assert coverage([NotesSettings("all", root, (".",), ("*.md", "*.MD"))]) == ()
    assert coverage([NotesSettings("none", tmp_path / "missing", (".",))]) == ()


NAMES = st.sampled_from(
    ["a.md", "b.md", "d/a.md", "d/e/a.md", "d/skip/a.md", ".h/a.md", "c.txt", "out/a.md", "d/.h/a.md"]
)
ACTS = st.lists(
    st.tuples(
        st.sampled_from(["write", "write", "remove", "link", "touch", "run"]),
        NAMES,
        st.sampled_from(["x", "y", "long text"]),
    ),
    max_size=25,
)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(ACTS)
def test_whatever_happens_to_the_folder_the_index_ends_as_the_folder_is(
    tmp_path_factory: pytest.TempPathFactory, acts: list[tuple[str, str, str]]
) -> None:
    root = tmp_path_factory.mktemp("notes")
    source = NotesFolder(
        NotesSettings("n", root, (".",), exclude=("skip/", "/out"), max_file_bytes=5, max_drop_percent=100)
    )
    index: dict[str, bytes] = {}
    states: dict[str, NoteState] = {}

    async def run() -> None:
        nonlocal states
        changes = await source.changes(states)
        for path in changes.removed:
            index.pop(path, None)
        states = dict(changes.states)
        async for note, content in source.read(changes.put):
            assert index.get(note.path) != content
            index[note.path] = content
            states[note.path] = note.state

    for act, name, text in [*acts, ("run", "a.md", "")]:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if act == "run":
            asyncio.run(run())
            whole = {
                str(path.relative_to(root)): path.read_bytes()
                for path in root.rglob("*.md")
                if path.is_file() and not path.is_symlink() and path.stat().st_size <= 5
            }
            assert index == {
                name: content
                for name, content in whole.items()
                if not any(part in name for part in ("skip/", "out/", ".h/"))
            }
        elif act == "write":
            path.unlink(missing_ok=True) if path.is_symlink() else None
            path.write_text(text)
        elif act == "remove":
            path.unlink(missing_ok=True)
        elif act == "link" and not path.exists():
            path.unlink(missing_ok=True)
            path.symlink_to(root / "a.md")
        elif act == "touch" and path.is_file():
            os.utime(path)
