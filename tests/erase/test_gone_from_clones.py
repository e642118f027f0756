"""What was taken out of a repository is in no object of its clone after the refresh that follows."""

import json
import subprocess
from pathlib import Path

import pytest

from ingest.forge import clone
from tests.cli.conftest import Community, community, git

__all__ = ["community"]

SECRET = "xylophonic"


def objects(community: Community) -> str:
    """Everything that the clones of an index hold, spelt out: packed objects are compressed."""
    found = []
    for packs in (community.folder / "state" / "clones").rglob("objects"):
        listed = subprocess.run(
            ["git", "-C", str(packs.parent), "cat-file", "--batch", "--batch-all-objects"],
            check=True, capture_output=True, timeout=30,
        )  # fmt: skip
        found.append(listed.stdout.decode(errors="replace"))
    assert found
    return "\n".join(found)


def take_back(community: Community, *, is_forced: bool) -> None:
    if is_forced:
        git(community.folder / "handbook", "reset", "--hard", "-q", "HEAD~1")
    else:
        git(community.folder / "handbook", "rm", "-q", "regret.md")
        git(community.folder / "handbook", "commit", "-q", "-m", "x")


@pytest.mark.parametrize("is_forced", [True, False])
def test_a_file_that_was_taken_back_is_in_no_object(community: Community, is_forced: bool) -> None:
    community.commit("regret.md", f"# Regret\n\nSomething {SECRET}.\n")
    assert community.sources("refresh").return_value == 0
    assert SECRET in objects(community)
    take_back(community, is_forced=is_forced)
    assert community.sources("refresh").return_value == 0
    assert SECRET not in objects(community)
    assert "Rotate the signing key" in community.sources("get", "handbook/ops/keys.md").stdout
    assert not any(SECRET.encode() in file.read_bytes() for file in files(community.folder / "state"))


def test_what_a_killed_run_left_in_a_clone_goes_with_the_next_although_nothing_changed(
    community: Community, monkeypatch: pytest.MonkeyPatch
) -> None:
    community.commit("regret.md", f"# Regret\n\nSomething {SECRET}.\n")
    community.sources("refresh")
    for pack in (community.folder / "state" / "clones").rglob("*.pack"):
        pack.with_suffix(".keep").touch()  # as of a fetch that was killed
    take_back(community, is_forced=True)
    monkeypatch.setattr(clone, "_MOST_REPACKED_BYTES", 0)
    community.sources("refresh")
    assert SECRET in objects(community)
    monkeypatch.undo()
    community.sources("refresh")
    assert SECRET not in objects(community)


def test_what_only_a_look_into_the_repository_fetched_goes_as_well(community: Community) -> None:
    community.sources("refresh")
    community.commit("regret.md", f"# Regret\n\nSomething {SECRET}.\n")
    assert SECRET in community.sources("get", "handbook/regret.md").stdout
    take_back(community, is_forced=True)
    assert community.sources("refresh").return_value == 0
    assert SECRET not in objects(community)
    assert json.loads(community.sources("verify", "--deep", "--json").stdout)["remade"]["notes"] == []


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]
